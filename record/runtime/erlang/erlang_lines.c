/*
 * A module's head has the functions' addresses, each that of a function's code info, and a table of
 * lines: for each function the addresses where a location begins, for each of these a word, line
 * and file.
 *
 * Sources: BeamCodeHeader and BeamCodeLineTab of erts/emulator/beam/beam_code.h, LOC_FILE and
 * LOC_LINE of beam_file.h, struct atom of atom.h, OTP 25 to 27; what differs in 29 was seen there.
 */
#include "record/runtime/erlang/erlang_lines.h"

#include <string.h>

#include "bpf/runtime/erlang/erlang_row.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "record/runtime/runtime_inlined.h"
#include "record/runtime/runtime_memory.h"

enum {
	HEAD_LINES = 72,
	MAX_FUNCTIONS = 1 << 16,
	MAX_LOCATIONS = 1 << 16, /* of a function */
	MAX_FILES = 64,          /* of a function: others have no name */
	INFO_MFA = 16,           /* of a code info: module, function, arity */
	MAX_ARITY = 255,

	ATOM_SHIFT = 6,
	ATOM_TAG = 0xb,
	ATOM_TAG_MASK = 0x3f,
	ATOM_SEGMENT_SHIFT = 10,
	ATOM_LEN = 24,
	ATOM_TEXT = 32,
	ATOM_BYTES = 40,
	MAX_ATOM_BYTES = 1020,
	BOXED_TEXT = 16,

	LIST_TAG = 1, /* of the low two bits */
	CHARACTER_SHIFT = 4,
	MAX_FILE_CHARACTERS = 1024,

	LINE_BITS = 24, /* of a location of four bytes, below its file */
};

struct line_table {
	uint64_t files; /* of terms, from the second file on */
	int32_t location_bytes;
	uint32_t zero;
	uint64_t locations, functions;
};

_Static_assert(sizeof(struct line_table) == 32, "it is read at once, but for functions");

struct reader {
	uint32_t pid;
	struct erlang_function of;
	struct str module, name; /* "lists", "lists:map/2" */
	uint32_t index;          /* of the function */
	uint64_t end;            /* of its code */
	VEC(struct file {
		uint32_t number;
		char *name; /* yours */
	}) files;
};

static bool erlang_read_u64(const struct reader *reader, uint64_t address, uint64_t *ret)
{
	return runtime_read_process(reader->pid, address, ret, sizeof(*ret));
}

/* ---- texts ---- */

static bool put_atom(const struct reader *reader, uint64_t term, struct str *out)
{
	uint64_t segments, segment, atom, text, index = term >> ATOM_SHIFT;
	uint8_t bytes[ATOM_BYTES];
	int16_t len;
	if ((term & ATOM_TAG_MASK) != ATOM_TAG || term >> 32 ||
		!erlang_read_u64(reader, reader->of.atoms, &segments) ||
		!erlang_read_u64(reader, segments + (index >> ATOM_SEGMENT_SHIFT) * 8, &segment) ||
		!erlang_read_u64(
			reader, segment + (index & ((1 << ATOM_SEGMENT_SHIFT) - 1)) * 8, &atom) ||
		!runtime_read_process(reader->pid, atom, bytes, sizeof(bytes)))
		return false;
	memcpy(&len, bytes + ATOM_LEN, sizeof(len));
	memcpy(&text, bytes + ATOM_TEXT, sizeof(text));
	if (reader->of.flags & ERLANG_BOXED_ATOMS)
		text = (text & ~3ULL) + BOXED_TEXT;
	char characters[MAX_ATOM_BYTES];
	if (len < 0 || len > MAX_ATOM_BYTES ||
		!runtime_read_process(reader->pid, text, characters, (size_t)len))
		return false;
	str_write(out, characters, (size_t)len);
	return true;
}

/* A file's name is an atom, or a list of characters. */
static bool put_file(const struct reader *reader, uint64_t term, struct str *out)
{
	if ((term & 3) != LIST_TAG)
		return put_atom(reader, term, out);
	for (int i = 0; (term & 3) == LIST_TAG && i < MAX_FILE_CHARACTERS; i++) {
		uint64_t pair[2];
		if (!runtime_read_process(reader->pid, term & ~7ULL, pair, sizeof(pair)))
			return false;
		str_put_code_point(out, (uint32_t)(pair[0] >> CHARACTER_SHIFT));
		term = pair[1];
	}
	return true;
}

/* ---- the function ---- */

static bool is_same_module(const struct reader *reader)
{
	uint64_t md5[2];
	return runtime_read_process(reader->pid, reader->of.md5_at, md5, sizeof(md5)) &&
	       memcmp(md5, reader->of.md5, sizeof(md5)) == 0;
}

static bool find_function(struct reader *reader)
{
	uint64_t count, table = reader->of.module + reader->of.functions_at;
	if (!erlang_read_u64(reader, reader->of.module, &count) || !count || count > MAX_FUNCTIONS)
		return false;
	CLEANUP_FREE uint64_t *functions = mem_alloc((count + 1) * sizeof(*functions));
	if (!runtime_read_process(reader->pid, table, functions, (count + 1) * sizeof(*functions)))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (functions[i] != reader->of.info)
			continue;
		reader->index = i;
		reader->end = functions[i + 1];
		return reader->end > reader->of.info &&
		       reader->end - reader->of.info < RUNTIME_FRAME_IS_LEAF;
	}
	return false;
}

static bool erlang_read_name(struct reader *reader)
{
	uint64_t mfa[3];
	if (!runtime_read_process(reader->pid, reader->of.info + INFO_MFA, mfa, sizeof(mfa)) ||
		mfa[2] > MAX_ARITY || !put_atom(reader, mfa[0], &reader->module))
		return false;
	str_printf(&reader->name, "%s:", str_text(&reader->module));
	if (!put_atom(reader, mfa[1], &reader->name))
		return false;
	str_printf(&reader->name, "/%u", (unsigned)mfa[2]);
	return true;
}

/* ---- lines ---- */

/* The name of a file of the module: the first is the one that modules have by themselves. */
static char *name_file(const struct reader *reader, uint64_t files, uint32_t number)
{
	CLEANUP(str_deinit) struct str name = {0};
	uint64_t term;
	if (!number)
		str_printf(&name, "%s.erl", str_text(&reader->module));
	else if (!erlang_read_u64(reader, files + (number - 1) * 8ULL, &term) ||
		 !put_file(reader, term, &name))
		str_truncate(&name, 0);
	return mem_strdup(str_text(&name));
}

/* The index of a file in reader->files, and of the function in its file in ret->functions. */
static uint32_t find_file(
	struct reader *reader, uint64_t files, uint32_t number, struct runtime_inlined *ret)
{
	for (uint32_t i = 0; i < reader->files.len; i++)
		if (reader->files.data[i].number == number)
			return i;
	if (reader->files.len == MAX_FILES)
		return 0;
	struct file file = {.number = number, .name = name_file(reader, files, number)};
	vec_push(&reader->files, file);
	struct runtime_inlined_function function = {.name = str_text(&reader->name),
		.name_len = reader->name.len,
		.file = file.name,
		.file_len = strlen(file.name)};
	vec_push(&ret->functions, function);
	return (uint32_t)reader->files.len - 1;
}

static void erlang_put_place(
	struct reader *reader, uint64_t behind, uint32_t scope, struct runtime_inlined *ret)
{
	struct runtime_inlined_place place = {
		.offset = (uint32_t)(behind - reader->of.info - 1), .scope = scope};
	vec_push(&ret->places, place);
}

static uint32_t erlang_put_location(
	struct reader *reader, uint64_t files, uint32_t location, struct runtime_inlined *ret)
{
	if (!location) /* code that no line is known of */
		return RUNTIME_INLINED_NONE;
	struct runtime_inlined_scope scope = {
		.function = find_file(reader, files, location >> LINE_BITS, ret),
		.line = location & ((1U << LINE_BITS) - 1)};
	vec_push(&ret->scopes, scope);
	return (uint32_t)ret->scopes.len;
}

static uint32_t location_at(const uint8_t *at, size_t bytes)
{
	uint16_t two = 0;
	uint32_t four = 0;
	if (bytes == sizeof(two))
		memcpy(&two, at, sizeof(two));
	else
		memcpy(&four, at, sizeof(four));
	return two | four;
}

static bool erlang_read_lines(struct reader *reader, uint64_t at, struct runtime_inlined *ret)
{
	struct line_table table;
	uint64_t bounds[2];
	if (!runtime_read_process(reader->pid, at, &table, sizeof(table)) ||
		!runtime_read_process(reader->pid,
			at + offsetof(struct line_table, functions) + reader->index * 8ULL, bounds,
			sizeof(bounds)) ||
		(table.location_bytes != 2 && table.location_bytes != 4) || bounds[1] < bounds[0] ||
		bounds[0] < table.functions || (bounds[1] - bounds[0]) / 8 > MAX_LOCATIONS)
		return false;
	size_t count = (bounds[1] - bounds[0]) / 8, bytes = (size_t)table.location_bytes;
	CLEANUP_FREE uint64_t *starts = mem_alloc((count + 1) * sizeof(*starts));
	CLEANUP_FREE uint8_t *locations = mem_alloc(count * bytes + 1);
	uint64_t first = (bounds[0] - table.functions) / 8 * bytes;
	if (!runtime_read_process(reader->pid, bounds[0], starts, (count + 1) * sizeof(*starts)) ||
		!runtime_read_process(
			reader->pid, table.locations + first, locations, count * bytes))
		return !count;
	uint64_t behind = count ? starts[0] : reader->end;
	if (behind < reader->of.info)
		return false;
	if (behind > reader->of.info)
		erlang_put_place(reader, behind, RUNTIME_INLINED_NONE, ret);
	for (size_t i = 0; i < count; i++) {
		uint64_t end = i + 1 < count ? starts[i + 1] : reader->end;
		if (end < behind || end > reader->end)
			return false;
		uint32_t scope = erlang_put_location(
			reader, table.files, location_at(locations + i * bytes, bytes), ret);
		if (end > behind)
			erlang_put_place(reader, end, scope, ret);
		behind = end;
	}
	return true;
}

static bool read_function(struct reader *reader, struct runtime_inlined *ret)
{
	uint64_t lines;
	if (!is_same_module(reader) || !find_function(reader) || !erlang_read_name(reader) ||
		!erlang_read_u64(reader, reader->of.module + HEAD_LINES, &lines))
		return false;
	ret->has_ranges = ret->knows_leaves = true;
	/* The module may have been replaced meanwhile. */
	return lines && erlang_read_lines(reader, lines, ret) && is_same_module(reader);
}

bool erlang_lines_read(
	void **kept, uint32_t pid, const void *given, size_t len, struct bytes_buf *ret)
{
	(void)kept;
	struct reader reader = {.pid = pid};
	struct runtime_inlined inlined = {0};
	if (len != sizeof(reader.of))
		return false;
	memcpy(&reader.of, given, sizeof(reader.of));
	bool is_read = read_function(&reader, &inlined);
	if (is_read)
		runtime_inlined_put(ret, &inlined);
	runtime_inlined_deinit(&inlined);
	vec_each(&reader.files, file)
		mem_free(file->name);
	vec_deinit(&reader.files);
	str_deinit(&reader.module);
	str_deinit(&reader.name);
	return is_read;
}

bool erlang_lines_next(const struct runtime_lines *lines, struct runtime_line_entry *entry)
{
	(void)lines, (void)entry;
	return false;
}
