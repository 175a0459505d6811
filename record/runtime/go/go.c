/*
 * Go programs, for the labels of their goroutines: nothing of their stacks needs more than unwind
 * tables. Functions are found by the table that every Go program has, stripped or not.
 *
 * Sources: runtime/pprof/label.go of Go 1.15, 1.19, 1.24, 1.26 and 1.27.
 */
#include <elf.h>
#include <string.h>

#include "bpf/runtime/go/go_row.h"
#include "format/base/mem.h"
#include "format/elf/go_pclntab.h"
#include "record/runtime/go/go_offsets.h"
#include "record/runtime/runtime.h"
#include "record/runtime/thread_variable.h"

enum function {
	SYSTEMSTACK,
	CASGSTATUS,
	NEWPROC1,
	SET_LABELS,
	WITH_LABELS,
	MERGE_LABELS, /* sets of labels are slices */
	LOAD_G,       /* of arm64: from the thread's variable, where there is C code */
	FUNCTIONS
};

static const char *const names[FUNCTIONS] = {
	[SYSTEMSTACK] = "runtime.systemstack",
	[CASGSTATUS] = "runtime.casgstatus",
	[NEWPROC1] = "runtime.newproc1",
	[SET_LABELS] = "runtime/pprof.runtime_setProfLabel",
	[WITH_LABELS] = "runtime/pprof.WithLabels",
	[MERGE_LABELS] = "runtime/pprof.mergeLabelSets",
	[LOAD_G] = "runtime.load_g",
};

struct found {
	struct go_function functions[FUNCTIONS]; /* `end` 0: there is none */
	bool has_new_maps;                       /* those of 1.24 and later */
};

enum {
	MAX_CODE_BYTES = 16 << 10,
	CREATOR_TO_LABELS = 64, /* from gopc, in all versions from 1.15 to 1.27 */
};

static void go_find_functions(struct elf_file *elf, struct go_pclntab *table, struct found *ret)
{
	static const char maps[] = "internal/runtime/maps.", start[] = "runtime";
	uint32_t count = go_pclntab_count(table);
	struct go_function function;
	*ret = (struct found){0};
	for (uint32_t i = 0; i < count && !elf_file_is_stopped(elf); i++) {
		if (!go_pclntab_function(table, i, &function))
			continue;
		const char *name = go_pclntab_name(table, function.name);
		ret->has_new_maps |= strncmp(name, maps, sizeof(maps) - 1) == 0;
		if (strncmp(name, start, sizeof(start) - 1) != 0)
			continue;
		for (int k = 0; k < FUNCTIONS; k++)
			if (strcmp(name, names[k]) == 0)
				ret->functions[k] = function;
	}
}

/* The function's code, in the caller's room. */
static struct go_code go_read_code(
	struct elf_file *elf, const struct go_function *function, uint8_t room[MAX_CODE_BYTES])
{
	uint64_t len = function->end - function->start;
	if (len > MAX_CODE_BYTES)
		len = MAX_CODE_BYTES;
	if (!function->end || !runtime_file_read(elf, function->start, room, len))
		return (struct go_code){0};
	return (struct go_code){room, len, function->start, elf_file_machine(elf)};
}

/*
 * Where arm64 has the goroutine of a thread: in x28, but for programs with C code, which uses that
 * register, in a variable, too. Which of both it is says a byte that load_g() begins with, and that
 * has a value in the file if it is set.
 */
static bool go_find_thread_of_arm64(
	struct elf_file *elf, const struct found *found, uint8_t room[MAX_CODE_BYTES], int32_t *tls)
{
	struct go_code code = go_read_code(elf, &found->functions[LOAD_G], room);
	struct thread_variable variable;
	uint64_t flag = go_address_of_cgo(&code);
	uint8_t has_c = 0;
	*tls = 0;
	if (!flag)
		return false;
	if (!runtime_file_read(elf, flag, &has_c, 1) || !has_c)
		return true;
	bool is_found = thread_variable_of_code(
				EM_AARCH64, code.bytes, code.len, code.address, &variable) &&
			variable.kind == THREAD_VARIABLE_AT && variable.place <= INT32_MAX;
	*tls = is_found ? (int32_t)variable.place : 0;
	return *tls;
}

static enum go_labels go_layout_of(const struct found *found)
{
	if (found->functions[MERGE_LABELS].end)
		return GO_LABELS_SLICE;
	bool are_old = found->functions[WITH_LABELS].end && !found->has_new_maps;
	return are_old ? GO_LABELS_MAP : GO_LABELS_NONE;
}

/* What is not as it should be leaves all of it unknown: better no labels than wrong ones. */
static void go_read_offsets(struct elf_file *elf, const struct found *found, struct go_row *row)
{
	CLEANUP_FREE uint8_t *room = mem_alloc(MAX_CODE_BYTES);
	struct go_code code = go_read_code(elf, &found->functions[SYSTEMSTACK], room);
	struct go_row known = {.is_known = true};
	bool is_arm64 = elf_file_machine(elf) == EM_AARCH64;
	if (!go_offsets_of_thread(&code, &known.tls, &known.m, &known.curg) ||
		(is_arm64 && !go_find_thread_of_arm64(elf, found, room, &known.tls)))
		return;
	code = go_read_code(elf, &found->functions[CASGSTATUS], room);
	known.goid = go_offset_of_goid(&code);
	code = go_read_code(elf, &found->functions[NEWPROC1], room);
	known.creator = go_offset_of_creator(&code);
	code = go_read_code(elf, &found->functions[SET_LABELS], room);
	known.labels = go_offset_of_labels(&code);
	known.layout = go_layout_of(found);
	bool sets_labels = found->functions[SET_LABELS].end;
	if (!known.goid || (sets_labels && (!known.labels || known.layout == GO_LABELS_NONE)))
		return;
	if (!sets_labels)
		known.layout = GO_LABELS_NONE;
	if (sets_labels && known.labels != known.creator + CREATOR_TO_LABELS)
		known.creator = 0; /* one of both would be wrong */
	*row = known;
}

static struct err *go_detect(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	struct go_pclntab *table = NULL;
	struct found found;
	uint16_t machine = elf_file_machine(elf);
	if ((machine != EM_X86_64 && machine != EM_AARCH64) || !go_pclntab_is_in(elf))
		return NULL;
	try(go_pclntab_open(elf, &table));
	if (!table)
		return NULL;
	go_find_functions(elf, table, &found);
	go_pclntab_destroy(table);
	file->is_runtime = *is_found = true;
	go_read_offsets(elf, &found, (void *)file->row.words);
	return NULL;
}

static void go_place_of(struct runtime_row *row, uint64_t address_to_file)
{
	(void)row, (void)address_to_file; /* all are offsets */
}

static bool go_is_sound(const struct runtime_row *it)
{
	const struct go_row *row = (const void *)it->words;
	static const struct go_row none;
	if (!row->is_known)
		return memcmp(row, &none, sizeof(none)) == 0;
	return row->is_known == 1 && row->m && row->goid && row->layout <= GO_LABELS_SLICE &&
	       !row->labels == !row->layout;
}

const struct runtime go_runtime = {
	.version = 2,
	.name = "go",
	.has_no_frames = true,
	.detect = go_detect,
	.place = go_place_of,
	.is_sound = go_is_sound,
};
