#include "record/event/heap_go.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/event.h"
#include "format/base/mem.h"
#include "format/elf/go_pclntab.h"

/*
 * Sources: runtime/mprof.go, mProf_Malloc(), (p, size) in Go 1.19, (m, p, size) since 1.23;
 * runtime/malloc.go, mallocgc(size, type, zeroed), which since 1.26 is not the only one that
 * allocates; cmd/link, which clears the rate where no function that reads the samples is linked;
 * and debug/buildinfo: since 1.18 the version stands in the file as it is.
 */
static const char rate_name[] = "runtime.MemProfileRate";

enum {
	FIRST_WITH_M = 23,
	FIRST_WITH_MANY = 26,  /* functions that allocate */
	BUILD_INFO_BYTES = 64, /* of which the version is in the first ones */
	VERSION_AT = 32,
	FLAGS_AT = 15,
	IS_INLINE = 2, /* the version is here; else a pointer to it */
	SYMBOLS_A_TIME = 512,
};

/* The NN of "go1.NN", also of a development version; 0: it is not here. */
static unsigned minor_version(struct elf_file *elf)
{
	const struct elf_section *section = elf_file_find_section(elf, ".go.buildinfo");
	char bytes[BUILD_INFO_BYTES + 1] = {0};
	if (!section || section->size < BUILD_INFO_BYTES)
		return 0;
	struct err *err = elf_file_read_into(elf, section->offset, bytes, BUILD_INFO_BYTES);
	bool is_read = !err;
	err_destroy(err);
	if (!is_read || !(bytes[FLAGS_AT] & IS_INLINE))
		return 0;
	const char *at = strstr(bytes + VERSION_AT + 1, "go1.");
	return at ? (unsigned)strtoul(at + 4, NULL, 10) : 0;
}

enum heap_go_name {
	ALLOCATES,
	TAKES_SAMPLE,
	READS_SAMPLES,
	READS_SAMPLES_INTERNALLY, /* since 1.23 */
	HEAP_GO_NAMES,
};

static const char *const go_names[HEAP_GO_NAMES] = {
	[ALLOCATES] = "runtime.mallocgc",
	[TAKES_SAMPLE] = "runtime.mProf_Malloc",
	[READS_SAMPLES] = "runtime.MemProfile",
	[READS_SAMPLES_INTERNALLY] = "runtime.memProfileInternal",
};

/* Their addresses; 0: there is none, or no table that can be read. */
static void find_go_functions(struct elf_file *elf, uint64_t ret[HEAP_GO_NAMES])
{
	struct go_pclntab *table = NULL;
	struct go_function function;
	struct err *err = go_pclntab_open(elf, &table);
	uint32_t count = !err && table ? go_pclntab_count(table) : 0;
	err_destroy(err);
	for (uint32_t i = 0; i < count; i++) {
		if (!go_pclntab_function(table, i, &function))
			continue;
		const char *name = go_pclntab_name(table, function.name);
		for (int k = 0; k < HEAP_GO_NAMES; k++)
			if (strcmp(name, go_names[k]) == 0)
				ret[k] = function.start;
	}
	go_pclntab_destroy(table);
}

struct go_symbols {
	struct elf_section symbols, names;
};

static bool find_go_symbols(struct elf_file *elf, struct go_symbols *ret)
{
	const struct elf_section *symbols = elf_file_find_section(elf, ".symtab");
	const struct elf_section *names = elf_file_find_section(elf, ".strtab");
	if (!symbols || !names)
		return false;
	*ret = (struct go_symbols){*symbols, *names};
	return true;
}

static bool is_symbol_of_rate(
	struct elf_file *elf, const struct go_symbols *in, const Elf64_Sym *symbol)
{
	char name[sizeof(rate_name)];
	if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_size != sizeof(uint64_t) ||
		in->names.size < sizeof(name) || symbol->st_name > in->names.size - sizeof(name))
		return false;
	struct err *err =
		elf_file_read_into(elf, in->names.offset + symbol->st_name, name, sizeof(name));
	bool is_it = !err && memcmp(name, rate_name, sizeof(name)) == 0;
	err_destroy(err);
	return is_it;
}

/* Variables, which elf_symbols.h leaves out. 0: stripped. */
static uint64_t find_rate(struct elf_file *elf)
{
	struct go_symbols in;
	if (!find_go_symbols(elf, &in))
		return 0;
	CLEANUP_FREE Elf64_Sym *symbols = mem_zalloc_array(SYMBOLS_A_TIME, sizeof(*symbols));
	uint64_t count = in.symbols.size / sizeof(*symbols);
	for (uint64_t first = 0; first < count; first += SYMBOLS_A_TIME) {
		size_t some = count - first < SYMBOLS_A_TIME ? count - first : SYMBOLS_A_TIME;
		struct err *err =
			elf_file_read_into(elf, in.symbols.offset + first * sizeof(*symbols),
				symbols, some * sizeof(*symbols));
		bool is_read = !err;
		err_destroy(err);
		for (size_t i = 0; is_read && i < some; i++)
			if (is_symbol_of_rate(elf, &in, &symbols[i]))
				return symbols[i].st_value;
	}
	return 0;
}

static const char *why_none_of_go(struct elf_file *elf, const struct heap_go *go, unsigned minor)
{
	if (elf_file_machine(elf) != EM_X86_64 && elf_file_machine(elf) != EM_AARCH64)
		return "of Go's programs, only those of x86-64 and arm64 are known";
	if (!minor)
		return "it was built by a Go older than 1.18";
	if (go->sampled.address || go->all.address)
		return NULL;
	return "it has no samples of its own (nothing in it calls runtime.MemProfile, as "
	       "net/http/pprof does, or it was stripped), and no single function that allocates";
}

void heap_go_find(struct elf_file *elf, struct heap_go *ret)
{
	uint64_t addresses[HEAP_GO_NAMES] = {0};
	*ret = (struct heap_go){.is_go = elf_file_find_section(elf, ".go.buildinfo") != NULL};
	if (!ret->is_go)
		return;
	unsigned minor = minor_version(elf);
	find_go_functions(elf, addresses);
	ret->rate = find_rate(elf);
	if (ret->rate && (addresses[READS_SAMPLES] || addresses[READS_SAMPLES_INTERNALLY]))
		ret->sampled = (struct heap_go_function){addresses[TAKES_SAMPLE],
			go_names[TAKES_SAMPLE],
			EVENT_HEAP_IS_CHOSEN | (minor < FIRST_WITH_M ? EVENT_HEAP_GO_SECOND
								     : EVENT_HEAP_GO_THIRD)};
	if (minor < FIRST_WITH_MANY)
		ret->all = (struct heap_go_function){
			addresses[ALLOCATES], go_names[ALLOCATES], EVENT_HEAP_GO_FIRST};
	ret->why = why_none_of_go(elf, ret, minor);
}
