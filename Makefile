# ebprof: one non-recursive Makefile. `make help` lists the targets.
#   O=build          where everything built goes
#   WERROR=1         warnings are errors (CI)
#   SAN=1            address and undefined-behaviour sanitizers, in a build folder of their own
#   STATIC=1         a static binary
#   PREFIX, DESTDIR  for `make install`

PREFIX  ?= /usr/local
VERSION := 0.1.0
CC      ?= cc
CLANG   ?= clang
LLVM_STRIP ?= llvm-strip
PKG_CONFIG ?= pkg-config
# Ubuntu keeps it beside its kernel's tools.
BPFTOOL ?= $(shell for tool in bpftool /usr/sbin/bpftool /usr/lib/linux-tools/*/bpftool; do \
	$$tool version >/dev/null 2>&1 && echo $$tool && break; done)

O ?= build$(if $(SAN),-san)$(if $(STATIC),-static)

all: $(O)/ebprof

# ---- flags ----

WARNINGS := -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 \
	-Wimplicit-fallthrough $(if $(WERROR),-Werror)
, := ,
SANITIZE := $(if $(SAN),-fsanitize=address$(,)undefined -fno-sanitize-recover=undefined)
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(SANITIZE) -fno-omit-frame-pointer -pthread $(CFLAGS)
ALL_CPPFLAGS = -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DEBPROF_VERSION='"$(VERSION)"' -I. -I$(O) \
	-MMD -MP $(CPPFLAGS)
ALL_LDFLAGS = $(SANITIZE) -pthread $(if $(STATIC),-static) $(LDFLAGS)

RECORD_LIBS = $(shell $(PKG_CONFIG) $(if $(STATIC),--static) --libs libbpf libelf zlib)
REPORT_LIBS = -liberty $(shell $(PKG_CONFIG) $(if $(STATIC),--static) --libs zlib)
FORMAT_LIBS = $(shell $(PKG_CONFIG) $(if $(STATIC),--static) --libs zlib)

# ---- layers: each an archive, linked only against what it may call ----

sources = $(sort $(wildcard $(addsuffix /*.c,$(1))))
objects = $(patsubst %.c,$(O)/%.o,$(call sources,$(1)))

FORMAT_DIRS := format/base format/elf format/file
RECORD_DIRS := record
REPORT_DIRS := report report/symbol report/export
FORMAT_OBJS := $(call objects,$(FORMAT_DIRS))
RECORD_OBJS := $(call objects,$(RECORD_DIRS))
REPORT_OBJS := $(call objects,$(REPORT_DIRS))
CMD_OBJS    := $(call objects,cmd)

$(O)/format.a: $(FORMAT_OBJS)
$(O)/record.a: $(RECORD_OBJS)
$(O)/report.a: $(REPORT_OBJS)
$(O)/%.a:
	@rm -f $@
	$(AR) rcs $@ $^

$(O)/ebprof: $(CMD_OBJS) $(O)/record.a $(O)/report.a $(O)/format.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(REPORT_LIBS) $(RECORD_LIBS)

$(O)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

# ---- BPF: each program becomes a skeleton header ----

BPF_SKELETONS := $(patsubst bpf/%.bpf.c,$(O)/bpf/%.skel.h,$(wildcard bpf/*.bpf.c))
BPF_ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(shell uname -m)))

$(O)/bpf/%.bpf.o: bpf/%.bpf.c
	@mkdir -p $(@D)
	$(CLANG) -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Wno-unused-parameter $(if $(WERROR),-Werror) \
		-D__TARGET_ARCH_$(BPF_ARCH) -I. -MMD -MP -c -o $@ $<
	$(LLVM_STRIP) -g $@

$(O)/bpf/%.skel.h: $(O)/bpf/%.bpf.o
	$(BPFTOOL) gen skeleton $< name $(subst .,_,$*)_bpf > $@.tmp
	@mv $@.tmp $@

$(RECORD_OBJS): | $(BPF_SKELETONS)
.SECONDARY:

# ---- tests ----

UNIT_BASE := $(O)/tests/unit/unit.o
unit_objects = $(patsubst %.c,$(O)/%.o,$(wildcard tests/unit/$(1)_*.c))

$(O)/tests/unit_format: $(UNIT_BASE) $(call unit_objects,format) $(O)/format.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(FORMAT_LIBS)
$(O)/tests/unit_record: $(UNIT_BASE) $(call unit_objects,record) $(O)/record.a $(O)/format.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(RECORD_LIBS)
$(O)/tests/unit_report: $(UNIT_BASE) $(call unit_objects,report) $(O)/report.a $(O)/format.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(REPORT_LIBS)
UNIT_TESTS := $(O)/tests/unit_format $(O)/tests/unit_record $(O)/tests/unit_report

clean:
	rm -rf build build-san build-static

-include $(shell find $(O) -name '*.d' 2>/dev/null)

.PHONY: all clean
