#include "record/unwind/frame_search.h"

#include <unistd.h>

#include "format/base/err.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/dwarf/cfi_file.h"
#include "format/machine/machine.h"
#include "record/runtime/runtime.h"
#include "record/unwind/cfi_rule.h"
#include "record/unwind/unwind_epilogue.h"
#include "record/unwind/unwind_functions.h"
#include "record/unwind/unwind_ready.h"

enum {
	MAX_FILES = 64,     /* open at once, until their tables are made */
	MAX_LOOKUPS = 4096, /* of a file: 0.1 s, or 1 s if it was made for that */
};

struct searched_file {
	uint32_t serial;
	int fd;                     /* -1: it could not be opened */
	struct elf_file *elf;       /* or NULL */
	struct unwind_ready *ready; /* or NULL */
	struct unwind_managed managed;
	bool is_without_loop; /* of an interpreter */
	struct map rule_at;   /* offset -> 1 + the index of its rule; 0: it has none */
	VEC(struct unwind_rule) rules;
};

static void searched_file_close(struct searched_file *file)
{
	unwind_ready_destroy(file->ready);
	elf_file_destroy(file->elf);
	mem_close_fd(&file->fd);
	map_deinit(&file->rule_at);
	vec_deinit(&file->rules);
}

void frame_search_deinit(struct frame_search *search)
{
	vec_each(&search->files, file)
		searched_file_close(file);
	vec_deinit(&search->files);
}

void frame_search_forget(struct frame_search *search, uint32_t serial)
{
	vec_each(&search->files, file) {
		if (file->serial != serial)
			continue;
		searched_file_close(file);
		*file = search->files.data[--search->files.len];
		return;
	}
}

static bool detects_no_loop(struct elf_file *elf)
{
	struct runtime_file file;
	struct err *err = runtime_detect(elf, &file);
	bool is_known = !err;
	err_destroy(err);
	return is_known && !runtime_has_loop(file.row.kind);
}

static struct searched_file *frame_search_file(struct frame_search *search, struct object *object)
{
	vec_each(&search->files, known)
		if (known->serial == object->serial)
			return known;
	if (search->files.len == MAX_FILES)
		return NULL;
	struct searched_file file = {.serial = object->serial, .fd = -1};
	if (object_open(object, &object->where, &file.fd, &file.elf)) {
		file.ready = unwind_ready_open(file.elf);
		file.managed = unwind_epilogue_find_managed(file.elf);
		file.is_without_loop = detects_no_loop(file.elf);
	}
	vec_push(&search->files, file);
	return &search->files.data[search->files.len - 1];
}

bool frame_search_is_without_loop(struct frame_search *search, struct object *object)
{
	const struct searched_file *file = frame_search_file(search, object);
	return file && file->is_without_loop;
}

/* ---- one place ---- */

struct sought {
	uint64_t address;
	const struct unwind_machine *machine;
	struct unwind_rule rule; /* of the last row at or before it: they ascend */
	bool is_found;
};

static void frame_search_on_rule(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct sought *sought = context;
	if (address > sought->address)
		return;
	sought->rule = *rule;
	sought->is_found = true;
}

static void frame_search_on_row(void *context, uint64_t address, const struct cfi_row *row)
{
	const struct sought *sought = context;
	struct unwind_rule rule = cfi_rule(row, sought->machine);
	frame_search_on_rule(context, address, &rule);
}

static void search_section(const struct cfi_section *section, struct sought *sought)
{
	struct cfi_function function;
	struct cfi_reader *reader = cfi_reader_create(section);
	sought->machine = section->machine;
	if (cfi_reader_next(reader, &function) && function.start <= sought->address &&
		sought->address < function.end) {
		uint64_t end = cfi_reader_run(reader, function.entry, frame_search_on_row, sought);
		sought->is_found = sought->is_found && sought->address < end;
	}
	cfi_reader_destroy(reader);
}

static void search_ready(struct unwind_ready *ready, struct sought *sought)
{
	uint32_t index;
	if (unwind_ready_find(ready, sought->address, &index))
		unwind_ready_run(ready, index, frame_search_on_rule, sought);
}

/* Of what nothing else describes. */
static void search_entry(struct elf_file *elf, struct sought *sought)
{
	static const struct unwind_rule outermost = {
		.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_UNDEFINED};
	uint64_t start, end;
	if (unwind_functions_entry(elf, &start, &end) && sought->address < end)
		frame_search_on_rule(sought, start, &outermost);
}

static bool frame_search_in(struct searched_file *file, uint64_t offset, struct unwind_rule *ret)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct sought sought = {0};
	struct cfi_section section;
	size_t count;
	const struct elf_segment *segments = elf_file_segments(file->elf, &count);
	if (!elf_segments_offset_to_vaddr(segments, count, offset, &sought.address))
		return false;
	/* Epilogues would get the body's rule: the table alone has rows that were read in code. */
	bool is_managed =
		sought.address >= file->managed.start && sought.address < file->managed.end;
	if (!is_managed)
		err_destroy(cfi_file_read_function(file->elf, sought.address, &bytes, &section));
	if (bytes)
		search_section(&section, &sought);
	if (!sought.is_found && file->ready)
		search_ready(file->ready, &sought);
	if (!sought.is_found)
		search_entry(file->elf, &sought);
	*ret = sought.rule;
	return sought.is_found;
}

const struct unwind_rule *frame_search_find(
	struct frame_search *search, struct object *object, uint64_t offset)
{
	struct searched_file *file = frame_search_file(search, object);
	if (!file || !file->elf)
		return NULL;
	uint64_t *known = map_get(&file->rule_at, offset);
	if (!known && file->rule_at.len == MAX_LOOKUPS)
		return NULL;
	if (!known) {
		struct unwind_rule rule;
		known = map_put(&file->rule_at, offset, NULL);
		if (frame_search_in(file, offset, &rule)) {
			vec_push(&file->rules, rule);
			*known = file->rules.len;
		}
	}
	return *known ? &file->rules.data[*known - 1] : NULL;
}
