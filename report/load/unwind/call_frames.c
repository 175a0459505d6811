#include "report/load/unwind/call_frames.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "format/base/bisect.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/dwarf/cfi_file.h"
#include "format/elf/elf_file.h"

enum {
	KEPT_MAX = 16384, /* outcomes; each takes some 300 bytes */
};

/* The functions that a section of a file describes. */
struct table {
	struct cfi_section section;
	uint8_t *bytes;                     /* the section's, NULL: there is none */
	struct cfi_reader *reader;          /* or NULL */
	VEC(struct cfi_function) functions; /* by start */
};

/* One file: the object's own, or that of its debug package. */
struct source {
	int fd;
	struct elf_file *elf; /* NULL: there is none that will do */
};

struct call_frames {
	struct source own, debug;
	struct table eh_frame, debug_frames[2]; /* the latter of own, debug */
	bool has_looked;                        /* for debug_frames */
	VEC(struct layout_segment) segments;    /* the file's, for recordings that lack them */
	struct map by_address;                  /* virtual address -> index of kept */
	VEC(struct call_frames_row) kept;
};

/* ---- files ---- */

/* Takes both; `err` is why there is no file. */
static struct source make_source(
	int fd, struct elf_file *elf, struct err *err, uint16_t elf_machine)
{
	struct source source = {.fd = fd, .elf = err ? NULL : elf};
	err_destroy(err);
	if (source.elf && elf_file_machine(elf) != elf_machine) {
		elf_file_destroy(elf);
		source.elf = NULL;
	}
	return source;
}

static struct source call_frames_open_source(const struct profile_object *object,
	const struct symbol_file_options *files, enum symbol_file_kind kind, uint16_t elf_machine)
{
	struct elf_file *elf = NULL;
	int fd = symbol_file_open(object, files, kind);
	struct err *err = fd < 0 ? NULL : elf_file_open(fd, &elf);
	return make_source(fd, elf, err, elf_machine);
}

/* The bytes of our own vDSO, whose section headers stand at its end; NULL when it has none. */
static const char *own_vdso(size_t *len)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */
	Elf64_Ehdr header;
	if (!image)
		return NULL;
	memcpy(&header, image, sizeof(header));
	*len = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
	return header.e_shoff ? image : NULL;
}

/* It stands in no file; but where the kernel is the one that was recorded, ours is the same. */
static struct source open_vdso(const struct layout_object *info, uint16_t elf_machine)
{
	size_t len, build_id_len;
	const char *image = own_vdso(&len);
	struct elf_file *elf = NULL;
	struct err *err = image ? elf_file_open_memory(image, len, &elf) : NULL;
	struct source source = make_source(-1, elf, err, elf_machine);
	if (!source.elf)
		return source;
	const uint8_t *build_id = elf_file_build_id(source.elf, &build_id_len);
	bool is_same = build_id_len && build_id_len == info->build_id_len &&
		       memcmp(build_id, info->build_id, build_id_len) == 0;
	if (is_same)
		return source;
	elf_file_destroy(source.elf);
	return (struct source){.fd = -1};
}

static void call_frames_close_source(struct source *source)
{
	elf_file_destroy(source->elf);
	mem_close_fd(&source->fd);
}

/* ---- the functions that they describe ---- */

static int call_frames_compare_functions(const void *a, const void *b)
{
	const struct cfi_function *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static void call_frames_read_table(
	struct table *table, const struct source *source, enum cfi_section_kind kind)
{
	struct cfi_function function;
	if (!source->elf)
		return;
	err_destroy(cfi_file_read(source->elf, kind, &table->bytes, &table->section));
	if (!table->bytes) /* nothing, or nothing that makes sense */
		return;
	table->reader = cfi_reader_create(&table->section);
	while (cfi_reader_next(table->reader, &function))
		vec_push(&table->functions, function);
	if (table->functions.len)
		qsort(table->functions.data, table->functions.len, sizeof(function),
			call_frames_compare_functions);
}

static void table_deinit(struct table *table)
{
	cfi_reader_destroy(table->reader);
	vec_deinit(&table->functions);
	mem_free(table->bytes);
}

static void read_segments(struct call_frames *frames, const struct layout_object *info)
{
	size_t count = 0;
	vec_append(&frames->segments, info->segments, info->nr_segments);
	if (frames->segments.len || !frames->own.elf)
		return;
	const struct elf_segment *segments = elf_file_segments(frames->own.elf, &count);
	for (size_t i = 0; i < count && i < LAYOUT_MAX_SEGMENTS; i++) {
		const struct elf_segment *it = &segments[i];
		vec_push(&frames->segments, (struct layout_segment){it->vaddr, it->offset,
						    it->filesz, it->memsz, it->flags});
	}
}

struct call_frames *call_frames_create(const struct profile_object *object,
	const struct symbol_file_options *files, uint16_t elf_machine)
{
	struct call_frames *frames = mem_zalloc(sizeof(*frames));
	frames->own.fd = frames->debug.fd = -1;
	if (object->info.kind == LAYOUT_OBJECT_VDSO) {
		frames->own = open_vdso(&object->info, elf_machine);
	} else if (object->info.kind == LAYOUT_OBJECT_FILE) {
		frames->own = call_frames_open_source(object, files, SYMBOL_FILE_OWN, elf_machine);
		frames->debug =
			call_frames_open_source(object, files, SYMBOL_FILE_DEBUG, elf_machine);
	}
	call_frames_read_table(&frames->eh_frame, &frames->own, CFI_EH_FRAME);
	read_segments(frames, &object->info);
	return frames;
}

void call_frames_destroy(struct call_frames *frames)
{
	if (!frames)
		return;
	vec_deinit(&frames->kept);
	map_deinit(&frames->by_address);
	vec_deinit(&frames->segments);
	table_deinit(&frames->eh_frame);
	table_deinit(&frames->debug_frames[0]);
	table_deinit(&frames->debug_frames[1]);
	call_frames_close_source(&frames->own);
	call_frames_close_source(&frames->debug);
	mem_free(frames);
}

/* ---- lookups ---- */

static bool to_vaddr(const struct call_frames *frames, uint64_t offset, uint64_t *ret)
{
	vec_each(&frames->segments, segment) {
		if (segment->flags & PF_X && offset - segment->offset < segment->filesz) {
			*ret = offset - segment->offset + segment->vaddr;
			return true;
		}
	}
	return false;
}

/* Of functions that begin at one address the first in the section counts. */
static const struct cfi_function *call_frames_function_at(const struct table *table, uint64_t vaddr)
{
	const struct cfi_function *list = table->functions.data;
	size_t i = bisect(table->functions.len, k, list[k].start <= vaddr);
	if (!i || vaddr >= list[i - 1].end)
		return NULL;
	for (i--; i && list[i - 1].start == list[i].start; i--)
		;
	return vaddr < list[i].end ? &list[i] : NULL;
}

/* The row of a function that holds at an address, while its rows are gone through. */
struct row_search {
	uint64_t vaddr;
	struct cfi_row *row;
	bool is_found;
};

static void call_frames_on_row(void *context, uint64_t address, const struct cfi_row *row)
{
	struct row_search *search = context;
	if (address > search->vaddr)
		return;
	*search->row = *row;
	search->is_found = true;
}

static bool find_in(const struct table *table, uint64_t vaddr, struct call_frames_row *ret)
{
	struct row_search search = {.vaddr = vaddr, .row = &ret->cfi};
	const struct cfi_function *function = call_frames_function_at(table, vaddr);
	if (!function)
		return false;
	uint64_t end = cfi_reader_run(table->reader, function->entry, call_frames_on_row, &search);
	if (!search.is_found || vaddr >= end)
		return false;
	ret->section = &table->section;
	return true;
}

/* Debug files are large, and seldom needed. */
static void look_for_debug_frames(struct call_frames *frames)
{
	if (frames->has_looked)
		return;
	frames->has_looked = true;
	call_frames_read_table(&frames->debug_frames[0], &frames->own, CFI_DEBUG_FRAME);
	call_frames_read_table(&frames->debug_frames[1], &frames->debug, CFI_DEBUG_FRAME);
}

static struct call_frames_row call_frames_look_up(struct call_frames *frames, uint64_t vaddr)
{
	struct call_frames_row row = {0};
	if (find_in(&frames->eh_frame, vaddr, &row))
		return row;
	look_for_debug_frames(frames);
	if (!find_in(&frames->debug_frames[0], vaddr, &row))
		find_in(&frames->debug_frames[1], vaddr, &row);
	return row;
}

enum event_stack_end call_frames_find(
	struct call_frames *frames, uint64_t offset, const struct call_frames_row **ret)
{
	uint64_t vaddr;
	if (!to_vaddr(frames, offset, &vaddr))
		return frames->own.elf ? EVENT_END_NO_RULE : EVENT_END_NO_TABLE;
	if (frames->kept.len == KEPT_MAX) {
		frames->kept.len = 0;
		map_clear(&frames->by_address);
	}
	bool added;
	uint64_t *index = map_put(&frames->by_address, vaddr, &added);
	if (added) {
		*index = frames->kept.len;
		vec_push(&frames->kept, call_frames_look_up(frames, vaddr));
	}
	*ret = &frames->kept.data[*index];
	if ((*ret)->section)
		return EVENT_END_COMPLETE;
	bool has_rules = frames->eh_frame.functions.len || frames->debug_frames[0].functions.len ||
			 frames->debug_frames[1].functions.len;
	return has_rules ? EVENT_END_NO_RULE : EVENT_END_NO_TABLE;
}
