#include "record/event/heap_functions.h"

#include <elf.h>
#include <string.h>

#include "bpf/event.h"
#include "format/base/mem.h"
#include "format/elf/elf_file.h"
#include "format/elf/elf_symbols.h"
#include "record/event/probe_place.h"

/* Of the stubs of record/preload/heap_sampler.c. */
#define PRELOADED "ebprof_heap_"

/*
 * Names of C, those that jemalloc, tcmalloc and mimalloc have beside them or instead of them, and
 * the mangled ones of C++'s operators. What other functions of an allocator are made of is marked:
 * calls that they make are not calls of the program.
 */
static const struct heap_name {
	const char *name;
	uint32_t call;
	bool is_operator; /* of C++ */
} heap_names[] = {
	{"malloc", EVENT_HEAP_MALLOC, false},
	{"__libc_malloc", EVENT_HEAP_MALLOC, false},
	{"tc_malloc", EVENT_HEAP_MALLOC, false},
	{"je_malloc", EVENT_HEAP_MALLOC, false},
	{"_rjem_malloc", EVENT_HEAP_MALLOC, false},
	{"mi_malloc", EVENT_HEAP_MALLOC, false},
	{"mallocx", EVENT_HEAP_MALLOC | EVENT_HEAP_NESTS, false},
	{"je_mallocx", EVENT_HEAP_MALLOC | EVENT_HEAP_NESTS, false},
	{"_rjem_mallocx", EVENT_HEAP_MALLOC | EVENT_HEAP_NESTS, false},
	{"valloc", EVENT_HEAP_MALLOC | EVENT_HEAP_NESTS, false},
	{"pvalloc", EVENT_HEAP_MALLOC | EVENT_HEAP_NESTS, false},
	{"calloc", EVENT_HEAP_CALLOC | EVENT_HEAP_NESTS, false},
	{"__libc_calloc", EVENT_HEAP_CALLOC | EVENT_HEAP_NESTS, false},
	{"tc_calloc", EVENT_HEAP_CALLOC | EVENT_HEAP_NESTS, false},
	{"je_calloc", EVENT_HEAP_CALLOC | EVENT_HEAP_NESTS, false},
	{"_rjem_calloc", EVENT_HEAP_CALLOC | EVENT_HEAP_NESTS, false},
	{"mi_calloc", EVENT_HEAP_CALLOC | EVENT_HEAP_NESTS, false},
	{"realloc", EVENT_HEAP_REALLOC | EVENT_HEAP_NESTS, false},
	{"__libc_realloc", EVENT_HEAP_REALLOC | EVENT_HEAP_NESTS, false},
	{"tc_realloc", EVENT_HEAP_REALLOC | EVENT_HEAP_NESTS, false},
	{"je_realloc", EVENT_HEAP_REALLOC | EVENT_HEAP_NESTS, false},
	{"_rjem_realloc", EVENT_HEAP_REALLOC | EVENT_HEAP_NESTS, false},
	{"rallocx", EVENT_HEAP_REALLOC | EVENT_HEAP_NESTS, false},
	{"_rjem_rallocx", EVENT_HEAP_REALLOC | EVENT_HEAP_NESTS, false},
	{"mi_realloc", EVENT_HEAP_REALLOC | EVENT_HEAP_NESTS, false},
	{"memalign", EVENT_HEAP_ALIGNED | EVENT_HEAP_NESTS, false},
	{"__libc_memalign", EVENT_HEAP_ALIGNED | EVENT_HEAP_NESTS, false},
	{"aligned_alloc", EVENT_HEAP_ALIGNED | EVENT_HEAP_NESTS, false},
	{"tc_memalign", EVENT_HEAP_ALIGNED | EVENT_HEAP_NESTS, false},
	{"posix_memalign", EVENT_HEAP_POSIX_MEMALIGN | EVENT_HEAP_NESTS, false},
	{"__posix_memalign", EVENT_HEAP_POSIX_MEMALIGN | EVENT_HEAP_NESTS, false},
	{"tc_posix_memalign", EVENT_HEAP_POSIX_MEMALIGN | EVENT_HEAP_NESTS, false},
	{"je_posix_memalign", EVENT_HEAP_POSIX_MEMALIGN | EVENT_HEAP_NESTS, false},
	{"_rjem_posix_memalign", EVENT_HEAP_POSIX_MEMALIGN | EVENT_HEAP_NESTS, false},
	{"free", EVENT_HEAP_FREE, false},
	{"__libc_free", EVENT_HEAP_FREE, false},
	{"cfree", EVENT_HEAP_FREE, false},
	{"tc_free", EVENT_HEAP_FREE, false},
	{"je_free", EVENT_HEAP_FREE, false},
	{"_rjem_free", EVENT_HEAP_FREE, false},
	{"mi_free", EVENT_HEAP_FREE, false},
	{"dallocx", EVENT_HEAP_FREE, false},
	{"sdallocx", EVENT_HEAP_FREE, false},
	{"je_sdallocx", EVENT_HEAP_FREE, false},
	{"_rjem_sdallocx", EVENT_HEAP_FREE, false},
	{PRELOADED "malloc", EVENT_HEAP_MALLOC | EVENT_HEAP_IS_CHOSEN, false},
	{PRELOADED "_Znwm", EVENT_HEAP_MALLOC | EVENT_HEAP_IS_CHOSEN, false},
	{PRELOADED "_Znam", EVENT_HEAP_MALLOC | EVENT_HEAP_IS_CHOSEN, false},
	{PRELOADED "_ZnwmRKSt9nothrow_t", EVENT_HEAP_MALLOC | EVENT_HEAP_IS_CHOSEN, false},
	{PRELOADED "_ZnamRKSt9nothrow_t", EVENT_HEAP_MALLOC | EVENT_HEAP_IS_CHOSEN, false},
	{PRELOADED "calloc", EVENT_HEAP_CALLOC | EVENT_HEAP_IS_CHOSEN, false},
	{PRELOADED "realloc", EVENT_HEAP_REALLOC | EVENT_HEAP_IS_CHOSEN, false},
	{PRELOADED "aligned", EVENT_HEAP_ALIGNED | EVENT_HEAP_IS_CHOSEN, false},
	{PRELOADED "posix_memalign", EVENT_HEAP_POSIX_MEMALIGN | EVENT_HEAP_IS_CHOSEN, false},
	{PRELOADED "gone", EVENT_HEAP_FREE | EVENT_HEAP_IS_CHOSEN, false},
	{PRELOADED "given", EVENT_HEAP_GIVEN | EVENT_HEAP_IS_CHOSEN, false},
	{PRELOADED "passed", EVENT_HEAP_PASSED | EVENT_HEAP_IS_CHOSEN, false},
	{"_Znwm", EVENT_HEAP_MALLOC | EVENT_HEAP_NESTS, true},
	{"_Znam", EVENT_HEAP_MALLOC | EVENT_HEAP_NESTS, true},
	{"_ZnwmRKSt9nothrow_t", EVENT_HEAP_MALLOC | EVENT_HEAP_NESTS, true},
	{"_ZnamRKSt9nothrow_t", EVENT_HEAP_MALLOC | EVENT_HEAP_NESTS, true},
	{"_ZnwmSt11align_val_t", EVENT_HEAP_MALLOC | EVENT_HEAP_NESTS, true},
	{"_ZnamSt11align_val_t", EVENT_HEAP_MALLOC | EVENT_HEAP_NESTS, true},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", EVENT_HEAP_MALLOC | EVENT_HEAP_NESTS, true},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", EVENT_HEAP_MALLOC | EVENT_HEAP_NESTS, true},
	{"_ZdlPv", EVENT_HEAP_FREE, true},
	{"_ZdaPv", EVENT_HEAP_FREE, true},
	{"_ZdlPvm", EVENT_HEAP_FREE, true},
	{"_ZdaPvm", EVENT_HEAP_FREE, true},
	{"_ZdlPvSt11align_val_t", EVENT_HEAP_FREE, true},
	{"_ZdaPvSt11align_val_t", EVENT_HEAP_FREE, true},
	{"_ZdlPvmSt11align_val_t", EVENT_HEAP_FREE, true},
	{"_ZdaPvmSt11align_val_t", EVENT_HEAP_FREE, true},
	{"_ZdlPvRKSt9nothrow_t", EVENT_HEAP_FREE, true},
	{"_ZdaPvRKSt9nothrow_t", EVENT_HEAP_FREE, true},
};

static const struct heap_name *find_heap_name(const char *name)
{
	for (size_t i = 0; i < sizeof(heap_names) / sizeof(*heap_names); i++)
		if (strcmp(heap_names[i].name, name) == 0)
			return &heap_names[i];
	return NULL;
}

/* ---- finding ---- */

static bool entry_of_address(const struct elf_file *elf, uint64_t address, uint64_t *ret)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t at = address - segments[i].vaddr;
		if (address < segments[i].vaddr || at >= segments[i].filesz ||
			!(segments[i].flags & PF_X))
			continue;
		*ret = segments[i].offset + at;
		return true;
	}
	return false;
}

/* Several names may be those of one function: calls that nest do it under any of them. */
static void add_heap_place(struct heap_functions *functions, const struct heap_place *place)
{
	vec_each(&functions->places, it)
		if (it->entry == place->entry) {
			it->call &= place->call | ~(uint64_t)EVENT_HEAP_NESTS;
			return;
		}
	vec_push(&functions->places, *place);
}

struct heap_file_kind {
	bool is_c_library, is_sampler;
};

/* The GNU C library's: C++'s operators in the same file are made of it. */
static bool is_name_of_c_library(const char *name)
{
	return strcmp(name, "__libc_malloc") == 0;
}

/* A sampler's own functions are no allocator's. */
static bool is_wanted_row(const struct heap_name *row, const struct heap_file_kind *kind)
{
	bool is_stub = row->call & EVENT_HEAP_IS_CHOSEN;
	return is_stub == kind->is_sampler && !(row->is_operator && kind->is_c_library);
}

static void find_heap_places(const struct elf_file *elf, const struct elf_symbols *symbols,
	const struct heap_file_kind *kind, struct heap_functions *ret)
{
	vec_each(&symbols->symbols, symbol) {
		const struct heap_name *row = find_heap_name(elf_symbols_name(symbols, symbol));
		struct heap_place place = {0};
		if (!row || !is_wanted_row(row, kind) || symbol->type != STT_FUNC ||
			!entry_of_address(elf, symbol->address, &place.entry))
			continue;
		place.call = row->call;
		place.name = row->name;
		place.probed = probe_place_cheap(elf, place.entry);
		add_heap_place(ret, &place);
	}
}

/* ---- Go's own, beside that of C code in the same program ---- */

static struct heap_place place_of_go(
	struct elf_file *elf, const struct heap_go_function *function, uint64_t rate)
{
	struct heap_place place = {.name = function->name, .call = function->call};
	if (!function->address || !entry_of_address(elf, function->address, &place.entry))
		return (struct heap_place){0};
	if (!(place.call & EVENT_HEAP_IS_CHOSEN)) { /* often */
		place.probed = probe_place_cheap(elf, place.entry);
		return place;
	}
	place.probed = probe_place_once(elf, place.entry);
	uint64_t probed = function->address + (place.probed - place.entry);
	place.call |= (rate - probed) << EVENT_HEAP_RATE_SHIFT;
	return place;
}

static void find_places_of_go(struct elf_file *elf, struct heap_functions *ret)
{
	const struct heap_go *go = &ret->go;
	heap_go_find(elf, &ret->go);
	if (!go->is_go || go->why)
		return;
	ret->go_sampled = place_of_go(elf, &go->sampled, go->rate);
	ret->go_all = place_of_go(elf, &go->all, 0);
	if (ret->go_sampled.entry)
		vec_push(&ret->places, ret->go_sampled);
	else if (ret->go_all.entry)
		vec_push(&ret->places, ret->go_all);
}

void heap_functions_take_all_of_go(struct heap_functions *functions)
{
	functions->places.len--;
	if (functions->go_all.entry)
		vec_push(&functions->places, functions->go_all);
	functions->go_sampled = (struct heap_place){0};
	functions->has_allocator = functions->places.len > 0;
}

static struct err *find_in_elf(struct elf_file *elf, struct heap_functions *ret)
{
	struct elf_symbols symbols = {0};
	struct heap_file_kind kind = {0};
	bool allocates = false;
	try(elf_symbols_read(elf, &symbols));
	vec_each(&symbols.symbols, symbol) {
		const char *name = elf_symbols_name(&symbols, symbol);
		const struct heap_name *row = find_heap_name(name);
		bool is_function = row && symbol->type == STT_FUNC && symbol->address;
		allocates |= is_function && !row->is_operator &&
			     (row->call & EVENT_HEAP_CALL_MASK) == EVENT_HEAP_MALLOC;
		kind.is_sampler |= is_function && row->call & EVENT_HEAP_IS_CHOSEN;
		kind.is_c_library |= is_name_of_c_library(name);
	}
	if (allocates)
		find_heap_places(elf, &symbols, &kind, ret);
	find_places_of_go(elf, ret);
	ret->has_allocator = ret->places.len > 0;
	elf_symbols_deinit(&symbols);
	return NULL;
}

struct err *heap_functions_find(int fd, struct heap_functions *ret)
{
	struct elf_file *elf;
	try(elf_file_open(fd, &elf));
	struct err *err = find_in_elf(elf, ret);
	elf_file_destroy(elf);
	return err;
}

void heap_functions_deinit(struct heap_functions *functions)
{
	vec_deinit(&functions->places);
}
