# ebprof: one non-recursive Makefile. `make help` lists the targets.
#   O=build          where everything built goes
#   WERROR=1         warnings are errors (CI)
#   SAN=1            address and undefined-behaviour sanitizers, in a build folder of their own
#   STATIC=1         a static binary, in a build folder of its own
#   ARCH=arm64       built for 64-bit ARM on another machine, in a build folder of its own
#   PREFIX, DESTDIR  for `make install`
#   FUZZ_SECONDS=60  for each target of `make fuzz`
#   ONLY=PATTERN     `make check`: only the suites whose name matches the shell pattern
#   KERNELS=LIST     `make check-kernel`: of 5.10 6.1 6.12 sid running; all of them
#   LANGUAGES=LIST   `make check-languages`: patterns of its rows, 'python*' '*-trixie'; all of them

PREFIX  ?= /usr/local
VERSION := 0.1.0
CC      ?= cc
CLANG   ?= clang
LLVM_STRIP ?= llvm-strip
LLVM_OBJDUMP ?= llvm-objdump
PKG_CONFIG ?= pkg-config
# Ubuntu keeps it beside its kernel's tools, Debian in the administrator's folder.
BPFTOOL ?= $(shell for tool in bpftool /usr/sbin/bpftool /usr/lib/linux-tools/*/bpftool; do \
	$$tool version >/dev/null 2>&1 && echo $$tool && break; done)
FUZZ_SECONDS ?= 60

# All CPUs build, unless -j says otherwise; not where the recipes of several goals would run at once.
GOALS := $(or $(MAKECMDGOALS),all)
ifneq ($(and $(filter 0,$(MAKELEVEL)),$(filter 1,$(words $(GOALS))),$(filter all check lint,$(GOALS))),)
MAKEFLAGS += -j$(shell nproc)
endif

# As Linux and libbpf call machines.
HOST_ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(shell uname -m)))
ARCH ?= $(HOST_ARCH)
DEBIAN_ARCH := $(patsubst x86,amd64,$(ARCH))
CROSS := $(filter-out $(HOST_ARCH),$(ARCH))
O ?= build$(if $(CROSS),-$(ARCH))$(if $(SAN),-san)$(if $(STATIC),-static)

all: $(O)/ebprof

# ---- building for another machine: Debian 12's libraries of it, unpacked into a folder ----

ifneq ($(CROSS),)
ifneq ($(ARCH),arm64)
$(error ARCH=$(ARCH): there are $(HOST_ARCH), this machine, and arm64)
endif
SYSROOT ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ebprof/sysroots/bookworm-arm64
MULTIARCH := aarch64-linux-gnu
CC := $(MULTIARCH)-gcc --sysroot=$(SYSROOT)
AR := $(MULTIARCH)-ar
PKG_CONFIG_ENVIRONMENT := PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) \
	PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(MULTIARCH)/pkgconfig
CROSS_PACKAGES := gcc-aarch64-linux-gnu libc6-dev-arm64-cross debian-archive-keyring
SYSROOT_PACKAGES := libc6-dev libbpf-dev libelf-dev libdw-dev zlib1g-dev libzstd-dev libdeflate-dev \
	liblzma-dev libncurses-dev libiberty-dev libbz2-dev nettle-dev

$(SYSROOT):
	@mkdir -p $(@D)
	DEBIAN_ARCH=$(DEBIAN_ARCH) bash -c '. tests/debian_suite.bash && debian_root $@ bookworm $(SYSROOT_PACKAGES)'
endif

# ---- flags ----

WARNINGS := -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 \
	-Wimplicit-fallthrough $(if $(WERROR),-Werror)
, := ,
SANITIZE := $(if $(SAN),-fsanitize=address$(,)undefined -fno-sanitize-recover=undefined)
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=gnu11 $(WARNINGS) $(SANITIZE) -fno-omit-frame-pointer -pthread $(CFLAGS)
ALL_CPPFLAGS = -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DEBPROF_VERSION='"$(VERSION)"' -I. -I$(O) \
	-MMD -MP $(if $(STATIC),-DEBPROF_STATIC) $(CPPFLAGS)
ALL_LDFLAGS = $(SANITIZE) -pthread $(if $(STATIC),-static) $(LDFLAGS)

pkg_libs = $(shell $(PKG_CONFIG_ENVIRONMENT) $(PKG_CONFIG) $(if $(STATIC),--static) --libs $(1))
STATIC_OBJS := $(if $(STATIC),$(O)/record/static_libelf.o)
# format/base/inflate.c and format/elf/elf_inflate.c take what is there.
UNPACK_LIBS = $(call pkg_libs,zlib $(shell for library in libdeflate libzstd; do \
	$(PKG_CONFIG_ENVIRONMENT) $(PKG_CONFIG) --exists $$library && echo $$library; done))
RECORD_LIBS = $(STATIC_OBJS) $(call pkg_libs,libbpf libelf) $(UNPACK_LIBS) -lm
REPORT_LIBS = -liberty -lm $(call pkg_libs,liblzma ncursesw) $(UNPACK_LIBS)
FORMAT_LIBS = $(UNPACK_LIBS)

# Other flags than those of the last time (WERROR=1, CFLAGS=...) build everything again.
$(O)/flags: FORCE
	@mkdir -p $(O)
	@echo '$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS)' | cmp -s - $@ || \
		echo '$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS)' >$@

# ---- layers: each an archive, linked only against what it may call ----

sources = $(sort $(wildcard $(addsuffix /*.c,$(1))))
objects = $(patsubst %.c,$(O)/%.o,$(call sources,$(1)))

FORMAT_DIRS := format/base format/machine format/elf format/clr format/dwarf format/file format/merge format/import
# The rooms of record/, from the top down, see tests/lint/layers.awk.
RECORD_ROOMS := script generated unwind source event label cgroup task runtime host
RECORD_DIRS := record $(RECORD_ROOMS:%=record/%) $(patsubst %/,%,$(wildcard record/runtime/*/))
# The rooms of report/, from the top down: each is linked only against those behind it.
REPORT_ROOMS := tui write compare analyse load name model
room_dirs = $(patsubst %/,%,$(sort $(dir $(wildcard report/$(1)/*.c report/$(1)/*/*.c))))
FORMAT_OBJS := $(call objects,$(FORMAT_DIRS))
RECORD_OBJS := $(filter-out %/static_libelf.o,$(call objects,$(RECORD_DIRS)))
REPORT_OBJS := $(foreach room,$(REPORT_ROOMS),$(call objects,$(call room_dirs,$(room))))
REPORT_ARCHIVES := $(REPORT_ROOMS:%=$(O)/report_%.a)
CMD_OBJS    := $(call objects,cmd)

$(O)/format.a: $(FORMAT_OBJS)
$(O)/record.a: $(RECORD_OBJS) | $(STATIC_OBJS)
$(foreach room,$(REPORT_ROOMS),$(eval \
	$(O)/report_$(room).a: $(call objects,$(call room_dirs,$(room)))))
$(O)/%.a:
	@rm -f $@
	$(AR) rcs $@ $^

$(O)/ebprof: $(CMD_OBJS) $(O)/record.a $(REPORT_ARCHIVES) $(O)/format.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(REPORT_LIBS) $(RECORD_LIBS)

$(O)/%.o: %.c $(O)/flags | $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

# ---- the page of `convert --html`: one file, as the bytes in front of its data and behind it ----

PAGE := report/write/export/html
PAGE_SCRIPT := $(PAGE)/page_data.js $(PAGE)/page_tree.js report/write/export/distinct_names.js $(addprefix $(PAGE)/,page_numbers.js page_link.js page_model.js page_scripts.js page_groups.js \
	page_order.js page_fold.js page_diff.js page_diff_text.js page_colors.js page_chart.js page_table.js page_time.js \
	page_tracks.js page_source.js page_changes.js page_waits.js page_facts.js page_summary.js page_controls.js page_keys.js page.js)
PAGE_PARTS := $(O)/$(PAGE)/page_head.inc $(O)/$(PAGE)/page_tail.inc
$(PAGE_PARTS) &: $(PAGE)/make_page.sh $(PAGE)/page.html $(PAGE)/page.css $(PAGE_SCRIPT)
	@mkdir -p $(@D)
	$(PAGE)/make_page.sh $(PAGE)/page.html $(PAGE)/page.css $(O)/$(PAGE) $(PAGE_SCRIPT)
$(O)/report/write/export/export_html.o $(O)/fuzz/report/write/export/export_html.o: $(PAGE_PARTS)

# ---- scripts of pictures: JavaScript as a string of C ----

SCRIPTS := $(patsubst %.js,$(O)/%.inc,$(wildcard report/write/export/*.js))
$(O)/%.inc: %.js
	@mkdir -p $(@D)
	@{ echo 'static const char $(*F)_script[] ='; sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/' $<; \
		echo ';'; } >$@.tmp && mv $@.tmp $@
$(O)/report/write/export/flame_svg.o $(O)/fuzz/report/write/export/flame_svg.o: $(SCRIPTS)

# ---- what is preloaded into programs: a library as bytes, linked with nothing ----

HEAP_SAMPLER := $(O)/record/preload/heap_sampler.inc
$(O)/record/preload/%.so: record/preload/%.c $(O)/flags | $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(WARNINGS) -O2 -fPIC -shared -nostdlib -fvisibility=hidden -fno-builtin \
		-fno-stack-protector $(if $(filter x86,$(ARCH)),-fcf-protection=none) -Wl,-z,noexecstack \
		-Wl,--build-id=sha1 -o $@ $<
$(O)/record/preload/%.inc: $(O)/record/preload/%.so
	@od -An -v -tx1 $< | sed 's/ \(..\)/0x\1,/g' >$@.tmp && mv $@.tmp $@
$(O)/record/event/heap_preload.o $(O)/fuzz/record/event/heap_preload.o: $(HEAP_SAMPLER)
.SECONDARY: $(HEAP_SAMPLER:.inc=.so)

# ---- BPF: each program becomes a skeleton header ----

BPF_SKELETONS := $(patsubst bpf/%.bpf.c,$(O)/bpf/%.skel.h,$(wildcard bpf/*.bpf.c))
# Where Debian and Ubuntu keep asm/types.h; clang -target bpf does not look there.
BPF_INCLUDE = $(addprefix -idirafter $(SYSROOT)/usr/include/,$(or $(MULTIARCH),$(shell $(CC) -print-multiarch 2>/dev/null)))

# Loops that old kernels refuse depend on how clang lays out what is written, for each machine.
$(O)/bpf/%.bpf.o: bpf/%.bpf.c bpf/back_edges.awk $(O)/flags | $(O)/have-deps
	@mkdir -p $(@D)
	$(CLANG) -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Wno-unused-parameter $(if $(WERROR),-Werror) \
		-D__TARGET_ARCH_$(ARCH) -I. $(BPF_INCLUDE) -MMD -MP -c -o $@ $<
	$(LLVM_STRIP) -g -R .rel.BTF.ext $@
	@$(LLVM_OBJDUMP) -d --no-show-raw-insn $@ | awk -f bpf/back_edges.awk >$@.loops || \
		{ sed 's|^|$@: warning: |' $@.loops >&2; $(if $(WERROR),rm -f $@; exit 1) :; }
	@rm -f $@.loops

$(O)/bpf/%.skel.h: $(O)/bpf/%.bpf.o bpf/pack_skeleton.awk
	$(BPFTOOL) gen skeleton $< name $(subst .,_,$*)_bpf > $@.whole
	gzip -9 -n -c $< | od -An -v -to1 > $@.packed
	@LC_ALL=C awk -v name=$(subst .,_,$*)_bpf -v bytes=$$(wc -c < $<) -v packed=$@.packed \
		-f bpf/pack_skeleton.awk $@.whole > $@.tmp && rm $@.whole $@.packed && mv $@.tmp $@

$(RECORD_OBJS) $(call objects,tests/unit): | $(BPF_SKELETONS)
.SECONDARY: $(BPF_SKELETONS:.skel.h=.bpf.o)

# ---- what building and testing need ----

BUILD_PACKAGES := gcc libc6-dev make clang llvm libbpf-dev libelf-dev zlib1g-dev \
	liblzma-dev libncurses-dev libiberty-dev libdeflate-dev libzstd-dev pkg-config
# A test that lacks one of these is skipped and says so.
TEST_PACKAGES := golang-go musl-tools g++ gdc rustc lld binutils dwz elfutils libdw-dev gdb clang-format clang-tidy cppcheck shellcheck \
	libclang-rt-dev ruby perl lua5.4 luajit \
	zsh fish libdevel-nytprof-perl \
	procps strace util-linux python3 php-cli jq tmux mandoc debuginfod libdebuginfod1 xz-utils zstd \
	chromium valgrind libjemalloc2 libtcmalloc-minimal4 libxml2-utils lintian cmark-gfm protobuf-compiler curl openssl $(if $(shell command -v npm),,nodejs npm) \
	$(if $(shell command -v javac),,default-jdk-headless)
KERNEL_TEST_PACKAGES := $(if $(CROSS),qemu-system-arm qemu-user,qemu-system-x86) busybox-static cpio jq debian-archive-keyring
HEADERS_NEEDED := stdlib.h bpf/libbpf.h libelf.h zlib.h lzma.h ncurses.h libiberty/demangle.h

missing_packages = for package in $(1); do \
	dpkg-query -W -f '$${db:Status-Status}' $$package 2>/dev/null | grep -q '^installed' || \
	printf ' %s' $$package; done
# apt knows bpftool where it is a package of its own (Debian, Ubuntu from 24.10 on).
bpftool_package = if [ -z "$(BPFTOOL)" ]; then if apt-cache show bpftool 2>/dev/null | \
	grep -q '^Filename:'; then printf ' bpftool'; else printf ' linux-tools-generic'; fi; fi
AS_ROOT := $(if $(filter-out 0,$(shell id -u)),sudo)
APT_GET := $(AS_ROOT) env DEBIAN_FRONTEND=noninteractive apt-get -q

# $(1): packages, $(2): a command that prints more of them.
define install_missing
if ! command -v apt-get >/dev/null 2>&1; then \
	echo "no apt-get here; what is needed, by its Debian names: $(1)"; exit 0; fi; \
missing="$$($(call missing_packages,$(1)))"; \
[ -z "$$missing$$($(2))" ] && exit 0; \
$(APT_GET) update || echo "apt-get update failed, trying with the lists that are here" >&2; \
echo "installing$$missing$$($(2))"; \
$(APT_GET) install -y --no-install-recommends $$missing$$($(2))
endef

deps: ## install what building needs (apt-get, with sudo when not root)
	@$(call install_missing,$(BUILD_PACKAGES) $(CROSS_PACKAGES),$(bpftool_package))

test-deps: deps ## install what tests and lint need too
	@$(call install_missing,$(TEST_PACKAGES),true) || \
		echo "not everything could be installed; the tests that need it are skipped" >&2

kernel-test-deps: deps
	@$(call install_missing,$(KERNEL_TEST_PACKAGES),true)

$(O)/have-deps: | $(if $(CROSS),$(SYSROOT))
	@missing=$$( \
		for tool in $(firstword $(CC)) $(CLANG) $(LLVM_STRIP) $(LLVM_OBJDUMP) $(PKG_CONFIG); do \
			command -v $$tool >/dev/null 2>&1 || printf ' %s' $$tool; done; \
		[ -n "$(BPFTOOL)" ] || printf ' bpftool'; \
		for header in $(HEADERS_NEEDED); do \
			echo "#include <$$header>" | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1 || \
			printf ' <%s>' $$header; done); \
	[ -z "$$missing" ] || { echo "ebprof cannot be built here, missing:$$missing; \
	run: make deps" >&2; exit 1; }
	@mkdir -p $(O) && touch $@

# Asked for together with a build, they come first, also under -j.
ifneq ($(filter check check-bounds check-kill demo deps test-deps fuzz kernel-programs lint,$(MAKECMDGOALS)),)
$(O)/have-deps: | deps $(if $(filter check check-bounds check-kill lint fuzz,$(MAKECMDGOALS)),test-deps)
endif

# ---- tests ----

unit_objects = $(patsubst %.c,$(O)/%.o,$(wildcard tests/unit/$(1)_*.c))
# Another machine's are run by qemu-user, which cannot read other processes. Its option -L would show
# the libraries' folder as "/".
UNIT_BASE := $(O)/tests/unit/unit.o
ifneq ($(CROSS),)
UNIT_BASE += $(O)/tests/unit/proc_mem.o
$(O)/tests/unit_%: private ALL_LDFLAGS += -Wl,--wrap=process_vm_readv \
	-Wl,--dynamic-linker=$(SYSROOT)/lib/ld-linux-aarch64.so.1 \
	-Wl,--disable-new-dtags,-rpath,$(SYSROOT)/usr/lib/$(MULTIARCH)
endif
UNIT_TESTS := $(foreach layer,format bpf runtime record report cmd walk, \
	$(if $(call unit_objects,$(layer)),$(O)/tests/unit_$(layer)))

$(O)/tests/unit_format: $(UNIT_BASE) $(call unit_objects,format) $(O)/format.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(FORMAT_LIBS)
# The BPF programs over an emulated kernel, whose headers stand for libbpf's.
$(O)/tests/unit/bpf_%.o $(O)/tests/unit/runtime_%.o $(O)/tests/unit/walk_%.o $(O)/tests/unit/emulate/%.o \
$(O)/fuzz/tests/unit/emulate/%.o: private ALL_CPPFLAGS += \
	-Itests/unit/emulate -D__TARGET_ARCH_$(ARCH)
# Nothing but rules can unwind this: what is compared there are rules.
$(O)/tests/unit/bpf_unwind_self.o: private ALL_CFLAGS += -O2 -fomit-frame-pointer
$(O)/tests/unit_bpf: $(UNIT_BASE) $(call unit_objects,bpf) \
		$(call objects,tests/unit/emulate) $(O)/record.a $(O)/format.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(RECORD_LIBS)
# The same programs, and the recorder, with a row more in their table of runtimes.
$(O)/tests/unit_runtime: $(UNIT_BASE) $(call unit_objects,runtime) $(O)/tests/unit/bpf_runtime_fixture.o \
		$(filter-out %/program.o,$(call objects,tests/unit/emulate)) $(O)/record.a $(O)/format.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(RECORD_LIBS)
$(O)/tests/unit_record: $(UNIT_BASE) $(call unit_objects,record) $(O)/record.a $(O)/format.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(RECORD_LIBS)
$(O)/tests/unit_report: $(UNIT_BASE) $(call unit_objects,report) $(REPORT_ARCHIVES) $(O)/format.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(REPORT_LIBS)
$(O)/tests/unit_cmd: $(UNIT_BASE) $(call unit_objects,cmd) \
		$(filter-out $(O)/cmd/main.o,$(CMD_OBJS)) $(O)/record.a $(REPORT_ARCHIVES) $(O)/format.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(REPORT_LIBS) $(RECORD_LIBS)

# What the kernel's side and the report must agree on.
$(O)/tests/unit_walk: $(UNIT_BASE) $(call unit_objects,walk) $(call objects,tests/unit/emulate) \
		$(O)/record.a $(REPORT_ARCHIVES) $(O)/format.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(REPORT_LIBS) $(RECORD_LIBS)

# Probes whose stack frames are described as those of distributions' interpreters are.
$(O)/tests/unit/record_script_probes.o: private ALL_CFLAGS += -O2 -fomit-frame-pointer -fno-sanitize=all
# What is unwound must need its unwind rules, and so must all between.
$(O)/tests/unit/report_unwind_subject.o: ALL_CFLAGS += -O2 -fomit-frame-pointer -fno-sanitize=all

# Programs that end-to-end tests sample; never sanitized, their shape is what counts.
WORKLOADS := $(patsubst %.c,$(O)/%,$(wildcard tests/e2e/*.c))
$(O)/tests/e2e/%: tests/e2e/%.c | $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -pthread -Wall -Wextra -o $@ $<

# One that allocates, and the same with its allocator in it.
WORKLOADS += $(O)/tests/e2e/heap_static
$(O)/tests/e2e/heap $(O)/tests/e2e/heap_static: tests/e2e/heap.c | $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -pthread -Wall -Wextra \
		$(if $(filter %_static,$@),-static) -o $@ $<

# Two programs that differ in a function; their stacks have no frame pointers.
UNWIND_SHAPES := $(O)/tests/e2e/unwind_shapes $(O)/tests/e2e/unwind_shapes_a
WORKLOADS += $(O)/tests/e2e/unwind_shapes_a
$(UNWIND_SHAPES): tests/e2e/unwind_shapes.c | $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -fomit-frame-pointer -pthread -Wall -Wextra \
		$(if $(filter %_a,$@),-DONLY_A) -o $@ $< -ldl

# One with all kinds of frames, with unwind rules and without.
FRAME_SHAPES := $(O)/tests/e2e/frame_shapes $(O)/tests/e2e/frame_shapes_bare
WORKLOADS += $(O)/tests/e2e/frame_shapes_bare
$(FRAME_SHAPES): tests/e2e/frame_shapes.c | $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -fomit-frame-pointer -pthread -Wall -Wextra \
		$(if $(filter %_bare,$@),-fno-asynchronous-unwind-tables -fno-unwind-tables) -o $@ $<

# A program with probes, and the same as a library.
WORKLOADS += $(O)/tests/e2e/usdt.so
$(O)/tests/e2e/usdt $(O)/tests/e2e/usdt.so $(O)/tests/kernel/usdt: tests/e2e/usdt.c tests/e2e/usdt_probe.h \
		| $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -pthread -Wall -Wextra \
		$(if $(filter %.so,$@),-shared -fPIC) -o $@ $< -ldl

# Threads that publish what they work at: by the program's own variable, and by a library's, which is
# reached in each way that the psABI has.
THREAD_CONTEXTS := $(addprefix $(O)/tests/e2e/thread_context,_own _desc.so _gd.so _ie.so)
WORKLOADS += $(THREAD_CONTEXTS)
# How the machines' compilers call the two ways to a thread's variables.
TLS_DESCRIPTORS_x86 := gnu2
TLS_CALLS_x86 := gnu
TLS_DESCRIPTORS_arm64 := desc
TLS_CALLS_arm64 := trad
$(THREAD_CONTEXTS): tests/e2e/thread_context.c | $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -pthread -Wall -Wextra \
		$(if $(filter %_own,$@),-DIN_PROGRAM -rdynamic,-DIN_LIBRARY -shared -fPIC) \
		$(if $(filter %_desc.so,$@),-mtls-dialect=$(TLS_DESCRIPTORS_$(ARCH))) \
		$(if $(filter %_gd.so,$@),-mtls-dialect=$(TLS_CALLS_$(ARCH))) \
		$(if $(filter %_ie.so,$@),-ftls-model=initial-exec) -o $@ $< -ldl

# One whose probes tell of functions of a script.
$(O)/tests/e2e/script_probes $(O)/tests/kernel/script: tests/e2e/script_probes.c tests/e2e/usdt_probe.h \
		| $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -fomit-frame-pointer -Wall -Wextra \
		$(if $(filter %/script,$@),-static) -o $@ $<

# Attacks on a recorder, and memory of interpreters that becomes garbage.
HOSTILE := $(patsubst %.c,$(O)/%,$(filter-out %/garbage_memory.c,$(wildcard tests/hostile/*.c))) \
	$(O)/tests/hostile/garbage_memory.so
$(O)/tests/hostile/%: tests/hostile/%.c | $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -pthread -rdynamic -I. -Wall -Wextra -o $@ $<
$(patsubst %.c,$(O)/%,$(wildcard tests/hostile/false_*.c)): tests/hostile/false_runtime.h
$(O)/tests/hostile/%.so: tests/hostile/%.c | $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -fno-stack-protector -Wall -Wextra -shared -fPIC -o $@ $<

# Comparisons with other people's libraries; the tests that want one skip where it was not built.
# unwind_live.c unwinds once more, on its own, with the registers of x86-64.
ORACLES := $(patsubst %.c,$(O)/%,$(filter-out $(if $(filter arm64,$(ARCH)),%/unwind_live.c),$(wildcard tests/oracle/*.c)))
$(ORACLES): $(O)/%: %.c $(O)/record.a $(REPORT_ARCHIVES) $(O)/format.a $(O)/flags | $(O)/have-deps
	@mkdir -p $(@D)
	@if echo '#include <elfutils/libdw.h>' | $(CC) -E - >/dev/null 2>&1; then \
		$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(O)/record.a \
			$(REPORT_ARCHIVES) $(O)/format.a -ldw -lelf $(REPORT_LIBS) $(RECORD_LIBS); \
	else echo "no libdw-dev: $@ is not built"; fi

# Fuzz targets see every layer; a linker takes out of the archive what a target calls.
FUZZ_NAMES := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
REPLAYS := $(FUZZ_NAMES:%=$(O)/tests/replay_%)
$(O)/all.a: $(filter-out $(O)/cmd/main.o,$(CMD_OBJS)) $(RECORD_OBJS) $(REPORT_OBJS) $(FORMAT_OBJS)
$(O)/tests/replay_%: $(O)/tests/fuzz/replay.o $(O)/tests/fuzz/fuzz_%.o $(O)/all.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(REPORT_LIBS) $(RECORD_LIBS)

# Of the programs that walk, over the emulated kernel of the unit tests.
$(O)/tests/replay_walk: $(call objects,tests/unit/emulate)

.SECONDARY: $(O)/tests/fuzz/replay.o $(FUZZ_NAMES:%=$(O)/tests/fuzz/fuzz_%.o)

TEST_PROGRAMS := $(O)/ebprof $(UNIT_TESTS) $(WORKLOADS) $(HOSTILE) $(REPLAYS) $(ORACLES)

test-programs: $(TEST_PROGRAMS)

check: test-deps $(TEST_PROGRAMS) ## every test; the last line is "N passed, M failed, K skipped"
	@O=$(O) SAN=$(SAN) tests/run.sh $(if $(ONLY),'$(ONLY)')

check-kill: test-deps $(TEST_PROGRAMS) ## kill -9 at 200 random moments instead of 20
	@O=$(O) SAN=$(SAN) KILLS=200 tests/run.sh e2e/kill

check-soak: test-deps $(TEST_PROGRAMS) ## a day of an endless recording: 1,440 files, memory and descriptors (4 min; an hour with SWITCH_MS=2500)
	@O=$(O) SAN=$(SAN) SWITCH_MS=$(SWITCH_MS) ONLY_TEST=switches_without_growth SWITCHES=1440 tests/run.sh e2e/ring

check-outage: test-deps $(TEST_PROGRAMS) ## a server that is away for 10 minutes: what was pushed, by sums (12 min)
	@O=$(O) SAN=$(SAN) ONLY_TEST=server_is_away_pyroscope AWAY=600 tests/run.sh e2e/push_ring

check-bounds: test-deps $(TEST_PROGRAMS) ## what 1,000 damaged recordings make each reader do, instead of 24
	@O=$(O) SAN=$(SAN) BOUNDS=$${BOUNDS:-1000} tests/run.sh e2e/bounds

check-symbols: test-deps $(TEST_PROGRAMS) ## names and lines beside other symbolizers', programs of more compilers' options
	@O=$(O) SAN=$(SAN) COUNT=1000 ROWS=all tests/run.sh e2e/vote

check-hostile: test-deps $(O)/ebprof $(WORKLOADS) $(HOSTILE) ## attacks of an unprivileged user on record -a (root)
	@EBPROF=$(O)/ebprof WORKLOADS=$(O)/tests/e2e HOSTILE=$(O)/tests/hostile tests/hostile/check_hostile.py \
		$(if $(ONLY),--only '$(ONLY)')

check-fresh: ## build, demo and tests in fresh Debian 12 and 13 systems (root, debootstrap)
	@tests/fresh/check_fresh.sh

otel-collector: ## build a real OpenTelemetry Collector for the tests (downloads 0.35 GB)
	@tests/oracle/otel_collector.sh $(O)/tests/otelcol $(O)/tests/otel-collector

# What goes into the guests: programs of known stacks, and ebprof as STATIC=1 makes it, but for a
# way to ask it for the verifier's figures.
KERNEL_TEST := $(O)/tests/kernel
KERNEL_PROGRAMS := $(addprefix $(KERNEL_TEST)/,ebprof limited usdt script waits counted shape_fp shape_static shape_dynamic shape_bare \
	context context_own context.so registered)
$(KERNEL_TEST)/ebprof: $(CMD_OBJS) $(KERNEL_TEST)/bpf_stats.o $(O)/record.a $(REPORT_ARCHIVES) $(O)/format.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -Wl,--wrap=syscall -o $@ $^ $(REPORT_LIBS) $(RECORD_LIBS)
$(KERNEL_TEST)/limited: $(KERNEL_TEST)/limited.o
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^
$(KERNEL_TEST)/waits $(KERNEL_TEST)/counted: $(KERNEL_TEST)/%: tests/e2e/%.c | $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -static -pthread -fno-omit-frame-pointer -Wall -Wextra -o $@ $<
# Code that a process registers, which needs libgcc's library.
$(KERNEL_TEST)/registered: tests/e2e/registered_code.c tests/e2e/debug_image.h tests/e2e/spin_functions.h | $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -pthread -Wall -Wextra -o $@ $< -ldl
# Threads that publish what they work at, by a variable of the program or of a library.
$(KERNEL_TEST)/context_own: CONTEXT := -DIN_PROGRAM -rdynamic
$(KERNEL_TEST)/context.so: CONTEXT := -DIN_LIBRARY -fPIC -shared
$(KERNEL_TEST)/context $(KERNEL_TEST)/context_own $(KERNEL_TEST)/context.so: tests/e2e/thread_context.c | $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -pthread $(CONTEXT) -Wall -Wextra -o $@ $<
$(KERNEL_TEST)/shape_fp: SHAPE := -static -fno-omit-frame-pointer
$(KERNEL_TEST)/shape_static: SHAPE := -static -fomit-frame-pointer
$(KERNEL_TEST)/shape_dynamic: SHAPE := -fomit-frame-pointer
# Without rules: its code has to be read.
$(KERNEL_TEST)/shape_bare: SHAPE := -g0 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables
$(KERNEL_TEST)/shape_%: tests/kernel/shape.c | $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -O2 -g $(SHAPE) $(SIGNS_$(ARCH)) -Wall -Wextra -o $@ $<
# Pointer authentication and landing pads, as Debian 13 has them in all its code.
SIGNS_arm64 := -mbranch-protection=standard

# A program of Go, where there is its compiler.
GO_ARCH_x86 := amd64
GO_ARCH_arm64 := arm64
$(KERNEL_TEST)/chain_go: tests/kernel/chains/chain.go
	@mkdir -p $(@D)
	@if command -v go >/dev/null; then GOARCH=$(GO_ARCH_$(ARCH)) GO111MODULE=off GOFLAGS= go build -o $@ $<; \
	else echo "no go: $@ is not built"; fi

# ... and of Java, for the oldest one that guests have.
$(KERNEL_TEST)/Chain.class: tests/kernel/chains/Chain.java
	@mkdir -p $(@D)
	@if command -v javac >/dev/null; then javac --release 17 -d $(@D) $<; \
	else echo "no javac: $@ is not built"; fi

# Loaded by the emulator of this version and later ones.
$(KERNEL_TEST)/chain.beam: tests/kernel/chains/chain.erl
	@mkdir -p $(@D)
	@if command -v erlc >/dev/null; then erlc -o $(@D) $<; \
	else echo "no erlc: $@ is not built"; fi

kernel-programs: $(KERNEL_PROGRAMS) $(KERNEL_TEST)/chain_go $(KERNEL_TEST)/Chain.class $(KERNEL_TEST)/chain.beam

STATIC_O := $(O:%-static=%)-static
check-kernel: kernel-test-deps ## load, sample and unwind on Linux 5.10, 6.1, 6.12, sid's, this one
	@$(MAKE) STATIC=1 O=$(STATIC_O) kernel-programs
	@PROGRAMS=$(STATIC_O)/tests/kernel DEBIAN_ARCH=$(DEBIAN_ARCH) \
		tests/kernel/check_kernel.sh $(KERNELS)

check-arm64: ## unit tests of arm64 by qemu-user; then the same in virtual machines of it
	@$(MAKE) ARCH=arm64 check-units-emulated
	@$(MAKE) ARCH=arm64 check-kernel

check-units-emulated: kernel-test-deps $(UNIT_TESTS)
	@O=$(O) RUNNER=qemu-aarch64 UNIT_SKIPS=$(abspath tests/unit/qemu_user.skips) tests/run.sh 'unit/*'

check-languages: deps $(O)/ebprof $(O)/tests/e2e/ip_sampler ## script frames of each interpreter in Debian's suites (root, downloads 0.3 GB)
	@EBPROF=$(abspath $(O)/ebprof) tests/languages/check_languages.sh $(LANGUAGES)

lint: test-deps $(BPF_SKELETONS) $(PAGE_PARTS) $(SCRIPTS) $(HEAP_SAMPLER) $(O)/ebprof ## layer law, circles, BPF stacks, headers alone, format, clang-tidy, cppcheck
	@OBJECTS='$(CMD_OBJS) $(RECORD_OBJS) $(REPORT_OBJS) $(FORMAT_OBJS)' O=$(O) CC='$(CC)' CLANG='$(CLANG)' BPF_FLAGS='-D__TARGET_ARCH_$(ARCH) $(BPF_INCLUDE)' \
		tests/lint/lint.sh

# ---- fuzzing: clang's libFuzzer, everything compiled again with its sanitizers ----

FUZZ_O := $(O)/fuzz
FUZZ_CFLAGS := -std=gnu11 -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=undefined
FUZZERS := $(FUZZ_NAMES:%=$(FUZZ_O)/fuzz_%)

$(FUZZ_O)/%.o: %.c | $(O)/have-deps $(BPF_SKELETONS)
	@mkdir -p $(@D)
	$(CLANG) $(ALL_CPPFLAGS) $(FUZZ_CFLAGS) -c -o $@ $<
$(FUZZ_O)/all.a: $(patsubst $(O)/%,$(FUZZ_O)/%,$(filter-out $(O)/cmd/main.o,$(CMD_OBJS)) \
	$(RECORD_OBJS) $(REPORT_OBJS) $(FORMAT_OBJS))
$(FUZZ_O)/fuzz_walk: $(patsubst $(O)/%,$(FUZZ_O)/%,$(call objects,tests/unit/emulate))
.SECONDARY: $(FUZZ_NAMES:%=$(FUZZ_O)/tests/fuzz/fuzz_%.o)
$(FUZZ_O)/fuzz_%: $(FUZZ_O)/tests/fuzz/fuzz_%.o $(FUZZ_O)/all.a
	$(CLANG) -fsanitize=fuzzer,address,undefined -o $@ $^ $(REPORT_LIBS) $(RECORD_LIBS)

fuzz: test-deps $(FUZZERS) ## run every fuzz target for FUZZ_SECONDS
	@set -e; for name in $(FUZZ_NAMES); do \
		found=$(FUZZ_O)/corpus/$$name; mkdir -p $$found tests/fuzz/corpus/$$name; \
		echo "== $$name"; \
		$(FUZZ_O)/fuzz_$$name -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=1024 \
			-artifact_prefix=$(FUZZ_O)/$$name- -print_final_stats=1 \
			$$found tests/fuzz/corpus/$$name 2>$(FUZZ_O)/$$name.log || \
			{ tail -n 40 $(FUZZ_O)/$$name.log; exit 1; }; \
		grep -E 'number_of_executed_units|peak_rss' $(FUZZ_O)/$$name.log; done

# ---- benchmarks: a person reads them, nothing is asserted ----

BENCHES := $(patsubst %.c,$(O)/%,$(filter-out tests/bench/small.c tests/bench/brief.c,$(wildcard tests/bench/*.c)))
$(BENCHES): $(O)/%: $(O)/%.o $(O)/record.a $(REPORT_ARCHIVES) $(O)/format.a
	$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(REPORT_LIBS) $(RECORD_LIBS)

bench: test-deps $(O)/ebprof $(BENCHES) $(WORKLOADS) $(ORACLES) ## figures beside perf's, as ratios (root)
	@EBPROF=$(abspath $(O)/ebprof) BUILD=$(abspath $(O)) tests/bench/bench.sh
	@EBPROF=$(abspath $(O)/ebprof) BUILD=$(abspath $(O)) tests/bench/unwind.sh

bench-symbols: $(O)/ebprof $(O)/tests/oracle/symbols $(addprefix $(O)/tests/bench/,symbol_index address_index kept_chains) ## naming addresses, beside other symbolizers (downloads)
	@EBPROF=$(abspath $(O)/ebprof) BUILD=$(abspath $(O)) tests/bench/symbols.sh

bench-tui: $(O)/ebprof $(O)/tests/bench/gen_recording ## how fast the terminal interface answers
	@EBPROF=$(abspath $(O)/ebprof) BUILD=$(abspath $(O)) tests/bench/tui.sh

bench-languages: $(O)/ebprof ## script frames: how complete, what they cost (root)
	@EBPROF=$(abspath $(O)/ebprof) tests/bench/languages.sh

bench-exports: $(O)/ebprof $(O)/tests/bench/gen_recording ## seconds, memory and bytes of each export format
	@EBPROF=$(abspath $(O)/ebprof) BUILD=$(abspath $(O)) tests/bench/exports.sh

bench-events: $(O)/ebprof $(O)/tests/bench/switches $(O)/tests/bench/empty_program $(O)/tests/e2e/waits $(O)/tests/e2e/counted $(O)/tests/e2e/heap $(O)/tests/e2e/heap_static ## waits, page faults and allocations: are their sums right, what do they cost (root)
	@EBPROF=$(abspath $(O)/ebprof) BUILD=$(abspath $(O)) tests/bench/events.sh

$(O)/tests/bench/brief: tests/bench/brief.c | $(O)/have-deps
	@mkdir -p $(@D)
	$(CC) -std=gnu11 $(WARNINGS) -Os -static -nostdlib -s -fno-stack-protector -fno-asynchronous-unwind-tables \
		$(if $(filter x86,$(ARCH)),-fcf-protection=none) -Wl,--build-id=none,-z,noseparate-code,-z,noexecstack -o $@ $<

bench-always-on: $(O)/ebprof $(O)/tests/bench/brief $(O)/tests/bench/short_processes ## a recorder that runs all day: its cost, short processes, upgrades (root)
	@EBPROF=$(abspath $(O)/ebprof) BUILD=$(abspath $(O)) tests/bench/always_on.sh

bench-functions: $(O)/ebprof ## functions of stripped files: leaves without one, the hottest one (root)
	@EBPROF=$(abspath $(O)/ebprof) tests/bench/functions.sh

bench-zoo: $(O)/ebprof ## how many stacks of real programs in many languages are whole (root; ZOO="ffmpeg mono")
	tests/bench/zoo.sh $(O)/ebprof

bench-judge: $(O)/ebprof $(O)/tests/e2e/stepped ## how many stacks are wrong: by stepping, rules hidden, and against gdb at stops (root; JUDGE="sqlite xz")
	tests/bench/judge_steps.sh $(O)/ebprof $(O)/tests/e2e/stepped tests/e2e/frame_shapes.c
	tests/bench/judge_gdb.sh $(O)/ebprof

bench-ci: $(O)/ebprof $(addprefix $(O)/tests/bench/,ab_trials gen_recording) $(O)/tests/e2e/slower ## how often diff is wrong, what it misses, how long it takes (root)
	@EBPROF=$(abspath $(O)/ebprof) BUILD=$(abspath $(O)) tests/bench/ci.sh

# ---- a first look ----

DEMO := $(O)/demo
RECORD_AS_ROOT := $(if $(AS_ROOT),sudo)
demo: deps $(O)/ebprof $(O)/tests/e2e/workload ## record a program of known shape and report it
	@mkdir -p $(DEMO) && rm -f $(DEMO)/ebprof.data $(DEMO)/ebprof.data.old
	@echo "A program that spends 60 % in heavy(), 30 % in medium() and 10 % in light(), for 5 s:"
	$(RECORD_AS_ROOT) $(O)/ebprof record -o $(DEMO)/ebprof.data -- $(O)/tests/e2e/workload 5
	$(O)/ebprof report --stdio -i $(DEMO)/ebprof.data | head -n 30
	$(O)/ebprof convert --pprof -i $(DEMO)/ebprof.data -o $(DEMO)/profile.pb.gz
	@echo "pprof profile: $(DEMO)/profile.pb.gz"

# ---- installing ----

BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
COMPLETIONDIR ?= $(PREFIX)/share/bash-completion/completions
ZSH_COMPLETIONDIR ?= $(PREFIX)/share/zsh/site-functions
FISH_COMPLETIONDIR ?= $(PREFIX)/share/fish/vendor_completions.d
INSTALL ?= install
MAN_PAGES := $(wildcard man/*.[157])
man_target = $(DESTDIR)$(MANDIR)/man$(patsubst .%,%,$(suffix $(1)))/$(notdir $(1))

BASH_SCRIPT = $(DESTDIR)$(COMPLETIONDIR)/ebprof
ZSH_SCRIPT = $(DESTDIR)$(ZSH_COMPLETIONDIR)/_ebprof
FISH_SCRIPT = $(DESTDIR)$(FISH_COMPLETIONDIR)/ebprof.fish
# $(1): the shell, $(2): the file
install_completion = $(INSTALL) -d $(dir $(2)) && $(O)/ebprof help --completion $(1) >$(2)

SERVICE = $(DESTDIR)$(PREFIX)/lib/systemd/system/ebprof.service

install: $(O)/ebprof ## binary, man pages, completion of shells, systemd's unit into DESTDIR PREFIX
	$(INSTALL) -D -m 755 $(O)/ebprof $(DESTDIR)$(BINDIR)/ebprof
	$(call install_completion,bash,$(BASH_SCRIPT))
	$(call install_completion,zsh,$(ZSH_SCRIPT))
	$(call install_completion,fish,$(FISH_SCRIPT))
	$(foreach page,$(MAN_PAGES),$(INSTALL) -D -m 644 $(page) $(call man_target,$(page)) &&) true
	$(INSTALL) -d $(dir $(SERVICE)) && sed 's|@BINDIR@|$(BINDIR)|' record/ebprof.service >$(SERVICE)

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(BINDIR)/ebprof $(SERVICE) $(BASH_SCRIPT) $(ZSH_SCRIPT) $(FISH_SCRIPT) \
		$(foreach page,$(MAN_PAGES),$(call man_target,$(page)))

version:
	@echo $(VERSION)

deb: $(O)/ebprof ## a Debian package for this system, checked by lintian where that is installed
	@deb=$$(.github/release/make_deb.sh $(O) $(VERSION) $(O)/deb) && echo "$$deb" && \
		{ ! command -v lintian >/dev/null || lintian --allow-root --fail-on error,warning "$$deb"; }

release: deps ## what a release holds, in $(O)/release: static programs of both machines, package, manual, checksums
	@$(MAKE)
	@$(MAKE) STATIC=1 O=build-static build-static/ebprof
	@$(MAKE) ARCH=arm64 STATIC=1
	@.github/release/make_release.sh $(VERSION) $(O)/release

pictures: $(O)/ebprof ## the pictures of the README, from a recording (root, tmux, chromium, node)
	@.github/pictures/make_pictures.sh $(O)/ebprof

compile_commands.json: ## for clangd and other tools, by jq
	@$(MAKE) -Bn all 2>/dev/null | sed 's/\t/ /g' | grep -E -- ' -c ' | \
		jq -Rn '[inputs | {directory: "$(CURDIR)", command: ., file: (split(" ") | last)}]' >$@
	@echo "$@: $$(jq length $@) files"

clean: ## remove what was built
	rm -rf build build-san build-static build-san-static build-arm64 build-arm64-static

help: ## list the targets
	@echo "make [TARGET] [VARIABLE=VALUE]"; echo
	@printf '  %-12s %s\n' all 'build $(O)/ebprof (the default)'
	@sed -n 's/^\([a-z_.-]*\):.*## \(.*\)/\1\t\2/p' Makefile | \
		while IFS="$$(printf '\t')" read -r target text; do \
			printf '  %-12s %s\n' "$$target" "$$text"; done
	@echo; sed -n '2,/^$$/s/^#   /  /p' Makefile

-include $(shell find $(O) -name '*.d' 2>/dev/null)

.DELETE_ON_ERROR:
.PHONY: all compile_commands.json pictures bench bench-always-on bench-ci bench-events bench-exports bench-functions bench-judge bench-languages bench-symbols bench-tui bench-zoo check check-arm64 check-units-emulated check-bounds check-fresh check-hostile check-kernel check-kill check-languages check-outage check-soak check-symbols clean deb demo deps \
	fuzz help install kernel-programs kernel-test-deps lint otel-collector test-deps test-programs \
	uninstall FORCE
