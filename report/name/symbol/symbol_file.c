#include "report/name/symbol/symbol_file.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "format/base/str.h"
#include "format/dwarf/dwarf_split.h"
#include "format/elf/go_pclntab.h"
#include "report/name/debugfile/debuginfod.h"
#include "report/name/debugfile/minidebug.h"
#include "report/name/symbol/clr_lines.h"
#include "report/name/symbol/clr_symbols.h"
#include "report/name/symbol/line_sections.h"
#include "report/name/symbol/native_aot.h"
#include "report/name/symbol/symbol_sections.h"

static struct debug_identity identity_of(const struct layout_object *info)
{
	return (struct debug_identity){
		.build_id = info->build_id,
		.build_id_len = info->build_id_len,
		.size_bytes = info->size_bytes,
		.mtime_ns = info->mtime_ns,
		.may_be_packed = info->kind == LAYOUT_OBJECT_MODULE,
	};
}

bool symbol_file_is_kept(
	const struct profile_object *object, const struct symbol_file_options *options)
{
	struct debug_identity identity = identity_of(&object->info);
	return debug_search_has_kept(options, &identity);
}

static enum symbol_level symbol_file_level_of(struct elf_file *elf)
{
	if (debug_file_has_dwarf(elf))
		return SYMBOL_LEVEL_DWARF;
	if (clr_symbols_are_in(elf))
		return SYMBOL_LEVEL_SYMTAB;
	if (elf_file_find_section(elf, ".symtab"))
		return SYMBOL_LEVEL_SYMTAB;
	if (elf_file_find_section(elf, ".gnu_debugdata"))
		return SYMBOL_LEVEL_MINI;
	return elf_file_find_section(elf, ".dynsym") ? SYMBOL_LEVEL_DYNSYM : SYMBOL_LEVEL_NONE;
}

/* ---- what is accepted ---- */

/* Debug files have the sections of code, but nothing in them. */
static bool symbol_file_has_code(struct elf_file *elf)
{
	const struct elf_section *sections;
	size_t count = 0;
	err_destroy(elf_file_sections(elf, &sections, &count));
	return !count || elf_file_find_section(elf, ".text");
}

/* Needs files of its own, since the same one may be that with the debug information. */
static void take_part(
	int fd, bool (*is_in)(struct elf_file *elf), struct elf_file **ret, int *ret_fd)
{
	CLEANUP_FD int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct elf_file *elf;
	struct err *err = elf_file_open(copy, &elf);
	err_destroy(err);
	if (err)
		return;
	if (is_in(elf)) {
		*ret = steal_ptr(elf);
		*ret_fd = steal_fd(copy);
	}
	elf_file_destroy(elf);
}

static void symbol_file_take_segments(struct symbol_file *file, const struct elf_file *elf)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	if (!file->segments.len)
		vec_append(&file->segments, segments, count);
}

static bool take_file(
	void *context, const struct debug_attempt *attempt, struct elf_file *elf, int fd)
{
	struct symbol_file *file = context;
	enum symbol_level level = symbol_file_level_of(elf);
	vec_push(&file->unread, (struct symbol_source){elf, fd, level});
	symbol_file_take_segments(file, elf);
	if (!file->go)
		take_part(fd, go_pclntab_is_in, &file->go, &file->go_fd);
	if (!file->code)
		take_part(fd, symbol_file_has_code, &file->code, &file->code_fd);
	if (!file->path || level > file->level) {
		mem_free(file->path);
		file->path = mem_strdup(attempt->path);
	}
	if (level > file->level)
		file->level = level;
	if (level != SYMBOL_LEVEL_DWARF || file->debug)
		return false;
	file->debug = elf;
	file->debug_fd = fd;
	file->debug_path = mem_strdup(attempt->path);
	return true;
}

/* ---- symbols ---- */

static void take_symbols(struct symbol_file *file, const struct symbol_source *source)
{
	struct elf_symbols symbols = {0};
	clr_symbols_add(source->elf, file->index);
	if (elf_file_pe(source->elf))
		return;
	struct err *err = elf_symbols_read(source->elf, &symbols);
	file->is_symtab_cut |= symbols.is_cut;
	if (!err)
		native_aot_add(source->elf, &symbols, file->path, file->index);
	if (err)
		err_destroy(err); /* a broken table is no table */
	else
		symbol_index_add_elf(file->index, &symbols);
	elf_symbols_deinit(&symbols);
	if (source->level == SYMBOL_LEVEL_MINI && !file->mini.symbols.len)
		minidebug_read(source->elf, &file->mini);
}

static void symbol_file_close_source(const struct symbol_file *file, struct symbol_source *source)
{
	if (source->elf == file->debug)
		return;
	elf_file_destroy(source->elf);
	mem_close_fd(&source->fd);
}

static void symbol_file_read_sources(struct symbol_file *file)
{
	vec_each(&file->unread, source) {
		take_symbols(file, source);
		symbol_file_close_source(file, source);
	}
	file->unread.len = 0;
}

const struct symbol_index *symbol_file_index(struct symbol_file *file)
{
	if (file->is_indexed)
		return file->index;
	symbol_file_read_sources(file);
	if (file->mini.symbols.len && file->level <= SYMBOL_LEVEL_MINI)
		symbol_index_add_elf(file->index, &file->mini);
	elf_symbols_deinit(&file->mini);
	symbol_index_build(file->index);
	file->is_indexed = true;
	return file->index;
}

/* ---- debuginfod ---- */

void symbol_file_fetch(struct debuginfod *debuginfod, const struct layout_object *info,
	enum symbol_level level, bool is_hot)
{
	enum debuginfod_mode mode = debuginfod_mode(debuginfod);
	bool wants_whole = mode == DEBUGINFOD_FULL || is_hot;
	struct debuginfod_want want = {
		.build_id = info->build_id,
		.build_id_len = info->build_id_len,
		.parts = {[DEBUGINFOD_PART_NAMES] = level < SYMBOL_LEVEL_SYMTAB,
			[DEBUGINFOD_PART_LINES] =
				mode == DEBUGINFOD_LINES && level < SYMBOL_LEVEL_DWARF,
			[DEBUGINFOD_PART_WHOLE] = wants_whole && level < SYMBOL_LEVEL_DWARF},
	};
	debuginfod_fetch(debuginfod, &want);
}

/* Two parts of a file may fail alike; that is said once. */
static void note_answer(struct symbol_file *file, const struct debuginfod *debuginfod,
	const struct debuginfod_answer *answer, const char *path)
{
	struct debug_attempt attempt = {.place = DEBUG_PLACE_DEBUGINFOD,
		.verdict = answer->verdict,
		.errnum = answer->errnum,
		.path = path ? path : debuginfod_urls(debuginfod)};
	vec_each(&file->attempts.list, other)
		if (other->place == attempt.place && other->verdict == attempt.verdict &&
			strcmp(other->path, attempt.path) == 0)
			return;
	debug_attempts_add(&file->attempts, &attempt);
}

/* What was fetched as a whole is checked like any other file. */
static void take_fetched(struct symbol_file *file, const struct debuginfod *debuginfod,
	struct debuginfod_answer *answer, const struct debug_identity *identity)
{
	struct elf_file *elf = NULL;
	int fd = -1;
	if (!answer->is_wanted)
		return;
	if (answer->verdict == DEBUG_ACCEPTED)
		answer->verdict = debug_file_open(answer->files[0], NULL, identity, &fd, &elf);
	note_answer(file, debuginfod, answer, answer->files[0]);
	struct debug_attempt attempt = {.path = answer->files[0]};
	if (answer->verdict == DEBUG_ACCEPTED)
		take_file(file, &attempt, elf, fd);
}

static void take_fetched_names(struct symbol_file *file, const struct debuginfod *debuginfod,
	struct debuginfod_answer *answer)
{
	if (!answer->is_wanted || file->level >= SYMBOL_LEVEL_SYMTAB)
		return;
	symbol_file_read_sources(file); /* they come first in the index */
	if (answer->verdict == DEBUG_ACCEPTED &&
		!symbol_sections_read(answer->files[0], answer->files[1], file->index))
		answer->verdict = DEBUG_DAMAGED;
	note_answer(file, debuginfod, answer, answer->files[0]);
	if (answer->verdict != DEBUG_ACCEPTED)
		return;
	file->level = SYMBOL_LEVEL_SYMTAB;
	mem_free(file->path);
	file->path = mem_strdup(answer->files[0]);
}

static void take_fetched_lines(struct symbol_file *file, const struct debuginfod *debuginfod,
	struct debuginfod_answer *answer, const struct layout_object *info)
{
	if (!answer->is_wanted || file->debug)
		return;
	if (answer->verdict == DEBUG_ACCEPTED && !(file->lines = line_sections_open(answer->files)))
		answer->verdict = DEBUG_DAMAGED;
	note_answer(file, debuginfod, answer, answer->files[0]);
	for (uint32_t i = 0; file->lines && i < info->nr_segments; i++) {
		const struct layout_segment *segment = &info->segments[i];
		if (segment->flags & PF_X)
			line_sections_add_code(
				file->lines, segment->vaddr, segment->vaddr + segment->filesz);
	}
}

static void ask_debuginfod(struct symbol_file *file, struct debuginfod *debuginfod,
	const struct layout_object *info, const struct debug_identity *identity)
{
	if (!debuginfod || !info->build_id_len || file->level == SYMBOL_LEVEL_DWARF)
		return;
	symbol_file_fetch(debuginfod, info, file->level, false);
	struct debuginfod_answer answers[DEBUGINFOD_PART_COUNT];
	debuginfod_wait(debuginfod, info->build_id, info->build_id_len, answers);
	take_fetched(file, debuginfod, &answers[DEBUGINFOD_PART_WHOLE], identity);
	take_fetched_names(file, debuginfod, &answers[DEBUGINFOD_PART_NAMES]);
	take_fetched_lines(file, debuginfod, &answers[DEBUGINFOD_PART_LINES], info);
}

/* ---- what dwz moved out ---- */

/* Closes what it is given: all that is wanted is the path. */
static bool take_path(
	void *context, const struct debug_attempt *attempt, struct elf_file *elf, int fd)
{
	char **path = context;
	*path = mem_strdup(attempt->path);
	elf_file_destroy(elf);
	close(fd);
	return true;
}

static char *fetch_alt(struct debuginfod *debuginfod, const struct debug_identity *identity,
	struct symbol_file *file)
{
	struct debuginfod_want want = {.build_id = identity->build_id,
		.build_id_len = identity->build_id_len,
		.parts = {[DEBUGINFOD_PART_WHOLE] = true}};
	debuginfod_fetch(debuginfod, &want);
	struct debuginfod_answer answers[DEBUGINFOD_PART_COUNT];
	debuginfod_wait(debuginfod, identity->build_id, identity->build_id_len, answers);
	struct debuginfod_answer *whole = &answers[DEBUGINFOD_PART_WHOLE];
	char *path = NULL;
	struct elf_file *elf;
	int fd;
	if (!whole->is_wanted)
		return NULL;
	if (whole->verdict == DEBUG_ACCEPTED)
		whole->verdict = debug_file_open(whole->files[0], NULL, identity, &fd, &elf);
	note_answer(file, debuginfod, whole, whole->files[0]);
	if (whole->verdict == DEBUG_ACCEPTED)
		take_path(&path, &(struct debug_attempt){.path = whole->files[0]}, elf, fd);
	return path;
}

static void find_alt(struct symbol_file *file, const struct symbol_file_options *options)
{
	CLEANUP_FREE char *name = NULL;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	struct debug_identity identity = {.build_id = build_id};
	if (!file->debug ||
		!dwarf_split_alt_link(file->debug, &name, build_id, &identity.build_id_len) ||
		!name[0])
		return;
	struct debug_search search = {.options = options,
		.take = take_path,
		.context = &file->alt_path,
		.root = file->root,
		.attempts = &file->attempts};
	debug_search_alt(&search, file->debug_path, name, &identity);
	if (!file->alt_path && options->debuginfod && identity.build_id_len)
		file->alt_path = fetch_alt(options->debuginfod, &identity, file);
}

/* ---- .NET's PDBs ---- */

static void find_clr_lines(struct symbol_file *file)
{
	if (!file->code || !file->path || file->debug)
		return;
	struct clr_lines_place place = {file->code, file->path, file->root, file->rules};
	struct clr_lines *lines = clr_lines_open(&place);
	if (lines)
		file->clr_pdb_path = mem_strdup(clr_lines_pdb_path(lines));
	clr_lines_close(lines);
}

/* ---- an object ---- */

/* Of the object's own file, or else of the first that was refused. */
static const char *symbol_file_problem_of(const struct debug_attempts *attempts)
{
	static const char *const problems[] = {
		[DEBUG_ABSENT] = "the file is not on this machine",
		[DEBUG_UNREADABLE] = "the file may not be read",
		[DEBUG_REMOTE] = "it is on a file system of another user that may hang",
		[DEBUG_NOT_REGULAR] = "what is at its path is not a regular file",
		[DEBUG_NOT_ELF] = "not an ELF file",
		[DEBUG_OTHER_BITS] = "32-bit programs are not named",
		[DEBUG_OTHER_ORDER] = "programs of big-endian machines are not named",
		[DEBUG_DAMAGED] = "the file is cut off or damaged",
		[DEBUG_OTHER_TIME] = "the file here was changed since it was recorded",
		[DEBUG_OTHER_BUILD] = "the file here is another build",
	};
	enum debug_verdict verdict =
		attempts->list.len && attempts->list.data[0].place == DEBUG_PLACE_OWN
			? attempts->list.data[0].verdict
			: DEBUG_ABSENT;
	return problems[verdict <= DEBUG_OTHER_BUILD ? verdict : DEBUG_ABSENT];
}

void symbol_file_find(const struct profile_object *object,
	const struct symbol_file_options *options, struct symbol_file *ret)
{
	*ret = (struct symbol_file)SYMBOL_FILE_NONE;
	ret->index = symbol_index_create();
	struct debug_identity identity = identity_of(&object->info);
	struct debug_search search = {
		.options = options, .take = take_file, .context = ret, .attempts = &ret->attempts};
	ret->root = debug_search_root(options, &identity);
	ret->rules = options->rules;
	debug_search_object(&search, object->path, &identity);
	ask_debuginfod(ret, options->debuginfod, &object->info, &identity);
	find_alt(ret, options);
	find_clr_lines(ret);
	if (!ret->path)
		ret->problem = symbol_file_problem_of(&ret->attempts);
}

void symbol_file_keep_attempts(
	const struct symbol_file *file, struct arena *arena, struct profile_object *object)
{
	size_t count = file->attempts.list.len;
	struct debug_attempt *kept = arena_alloc(arena, (count + 1) * sizeof(*kept));
	for (size_t i = 0; i < count; i++) {
		kept[i] = file->attempts.list.data[i];
		kept[i].path = arena_strndup(arena, kept[i].path, strlen(kept[i].path));
	}
	object->attempts = kept;
	object->nr_attempts = (uint32_t)count;
	object->symbols_level = file->level;
	object->is_symtab_cut = file->is_symtab_cut;
}

void symbol_file_close(struct symbol_file *file)
{
	symbol_index_destroy(file->index);
	file->index = NULL;
	vec_each(&file->unread, source)
		symbol_file_close_source(file, source);
	vec_deinit(&file->unread);
	elf_symbols_deinit(&file->mini);
	elf_file_destroy(file->debug);
	file->debug = NULL;
	line_sections_destroy(file->lines);
	file->lines = NULL;
	mem_close_fd(&file->debug_fd);
	elf_file_destroy(file->go);
	file->go = NULL;
	mem_close_fd(&file->go_fd);
	elf_file_destroy(file->code);
	file->code = NULL;
	mem_close_fd(&file->code_fd);
}

void symbol_file_deinit(struct symbol_file *file)
{
	symbol_file_close(file);
	mem_free(file->path);
	vec_deinit(&file->segments);
	mem_free(file->debug_path);
	mem_free(file->alt_path);
	mem_free(file->clr_pdb_path);
	debug_attempts_deinit(&file->attempts);
	*file = (struct symbol_file)SYMBOL_FILE_NONE;
}

uint64_t symbol_file_address(
	const struct profile_object *object, const struct symbol_file *file, uint64_t offset)
{
	const struct layout_object *info = &object->info;
	uint64_t address;
	for (uint32_t i = 0; i < info->nr_segments; i++) {
		const struct layout_segment *segment = &info->segments[i];
		if (segment->flags & PF_X && offset - segment->offset < segment->filesz)
			return offset - segment->offset + segment->vaddr;
	}
	if (!info->nr_segments && file &&
		elf_segments_offset_to_vaddr(
			file->segments.data, file->segments.len, offset, &address))
		return address;
	return offset;
}

/* ---- a file by its kind ---- */

struct opening {
	enum symbol_file_kind kind;
	int fd;
};

static bool take_descriptor(
	void *context, const struct debug_attempt *attempt, struct elf_file *elf, int fd)
{
	struct opening *opening = context;
	bool is_own = attempt->place == DEBUG_PLACE_OWN;
	bool is_wanted = is_own == (opening->kind == SYMBOL_FILE_OWN);
	elf_file_destroy(elf);
	if (is_wanted)
		opening->fd = fd;
	else
		close(fd);
	return is_wanted || opening->kind == SYMBOL_FILE_OWN;
}

int symbol_file_open(const struct profile_object *object, const struct symbol_file_options *options,
	enum symbol_file_kind kind)
{
	struct debug_identity identity = identity_of(&object->info);
	struct debug_attempts attempts = {0};
	struct opening opening = {.kind = kind, .fd = -1};
	struct debug_search search = {.options = options,
		.take = take_descriptor,
		.context = &opening,
		.attempts = &attempts};
	debug_search_object(&search, object->path, &identity);
	debug_attempts_deinit(&attempts);
	return opening.fd;
}

/* ---- its level alone ---- */

static bool take_level(
	void *context, const struct debug_attempt *attempt, struct elf_file *elf, int fd)
{
	enum symbol_level *level = context, found = symbol_file_level_of(elf);
	(void)attempt;
	if (found > *level)
		*level = found;
	elf_file_destroy(elf);
	close(fd);
	return found == SYMBOL_LEVEL_DWARF;
}

enum symbol_level symbol_file_level_here(
	const struct profile_object *object, const struct symbol_file_options *options)
{
	struct debug_identity identity = identity_of(&object->info);
	struct debug_attempts attempts = {0};
	enum symbol_level level = SYMBOL_LEVEL_NONE;
	struct debug_search search = {
		.options = options, .take = take_level, .context = &level, .attempts = &attempts};
	debug_search_object(&search, object->path, &identity);
	debug_attempts_deinit(&attempts);
	return level;
}
