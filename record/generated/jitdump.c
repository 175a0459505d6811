/*
 * A dump holds all code that was ever made, machine code included, and a profile
 * needs little of it. So it is read record by record, heads only, two times:
 * first to learn which code was moved to where samples are (a move names the
 * code by its number alone), then to collect what stood at the addresses.
 */
#include "record/generated/jitdump.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/base/bisect.h"
#include "format/base/bytes.h"
#include "format/base/clock.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "record/generated/sampled_addresses.h"

enum {
	DUMP_MAGIC = 0x4a695444,
	DUMP_VERSION = 1,
	DUMP_HEADER_BYTES = 40,
	DUMP_FLAG_ARCH_TIME = 1, /* times are not of CLOCK_MONOTONIC */
	RECORD_HEADER_BYTES = 16,
	RECORD_MAX_HEAD = 56 + 4096, /* of a load, with its name */

	MAX_RECORDS = 1 << 20,
	MAX_CODES = 64 << 10,
	MAX_PLACES = 256 << 10,
	MAX_ROWS = 4 << 20, /* of lines that are looked at */
	MAX_ROWS_OF_CODE = 256 << 10,
	MAX_NAME_BYTES = 4096,
	WINDOW_BYTES = 64 << 10,
	ELF_HEADER_BYTES = 64,
};

enum record_id {
	RECORD_LOAD = 0,
	RECORD_MOVE = 1,
	RECORD_LINES = 2,
	RECORD_CLOSE = 3,
};

/* What stands in the file around where it is read. */
struct window {
	int fd;
	uint64_t offset;
	size_t len;
	uint8_t *bytes;
};

struct record {
	uint32_t id;
	uint64_t offset, bytes, time_ns;
};

/* Code at one place from one time on. */
struct code {
	uint64_t start, size, time_ns;
	uint64_t name;           /* where it stands in the file */
	uint64_t lines, at_load; /* the record of its lines, 0: none; where it was loaded */
};

/* Of a code's lines; it holds from its address on. */
struct row {
	uint64_t address;
	uint64_t file;   /* where its file's name stands in the dump; 0: unknown */
	uint32_t number; /* of the line */
	uint32_t index;  /* in the dump's order: of rows at one address the last counts */
};

struct dump {
	struct window window;
	const uint64_t *addresses;
	size_t count;
	bool has_times;
	struct map moved;         /* numbers of code that was moved to an address -> code plus 1 */
	VEC(struct code) codes;   /* at some address, or to be moved there */
	VEC(uint32_t) found;      /* indices of codes, in the file's order */
	uint64_t lines, lines_of; /* the last record of lines, and of which code */
	uint64_t least_line;      /* how far behind its code any line begins */
	uint64_t nr_places, nr_rows; /* so far */
	VEC(struct row) rows;        /* of the code at hand */
	uint64_t until_ns;           /* of CPU time */
	uint32_t nr_looks;           /* at that time */
	bool is_over;                /* it was used up */
};

/* To be asked before each piece of work of about a microsecond. */
static bool is_over(struct dump *dump)
{
	enum {
		PIECES = 256
	};
	if (dump->nr_looks++ % PIECES == 0)
		dump->is_over |= clock_read_ns(CLOCK_THREAD_CPUTIME_ID) >= dump->until_ns;
	return dump->is_over;
}

bool jitdump_is_marker(const char *path)
{
	const char *name = strrchr(path, '/');
	if (strncmp(name ? ++name : path, "jit-", 4) != 0)
		return false;
	const char *at = (name ? name : path) + 4;
	const char *digits = at;
	while (isdigit((unsigned char)*at))
		at++;
	return at > digits && strcmp(at, ".dump") == 0;
}

/* ---- reading ---- */

/* A cursor over what stands at `offset`: `len` bytes, or fewer at the file's end. */
static struct bytes_cursor jitdump_look(struct window *window, uint64_t offset, size_t len)
{
	bool is_inside = offset >= window->offset && offset - window->offset <= window->len &&
			 window->len - (offset - window->offset) >= len;
	if (!is_inside) {
		ssize_t got = pread(window->fd, window->bytes, WINDOW_BYTES, (off_t)offset);
		window->offset = offset;
		window->len = got < 0 ? 0 : (size_t)got;
	}
	size_t at = (size_t)(offset - window->offset), left = window->len - at;
	return bytes_cursor(window->bytes + at, left < len ? left : len);
}

static bool jitdump_read_header(struct dump *dump)
{
	struct bytes_cursor cursor = jitdump_look(&dump->window, 0, DUMP_HEADER_BYTES);
	uint32_t magic = bytes_get_u32(&cursor), version = bytes_get_u32(&cursor);
	bytes_get(&cursor, 4 + 4 + 4 + 4 + 8); /* size, machine, padding, pid, time */
	uint64_t flags = bytes_get_u64(&cursor);
	dump->has_times = !(flags & DUMP_FLAG_ARCH_TIME);
	return !cursor.overrun && magic == DUMP_MAGIC && version == DUMP_VERSION;
}

/* False: there is none, or the dump ends. */
static bool get_record(struct dump *dump, uint64_t offset, struct record *ret)
{
	struct bytes_cursor cursor = jitdump_look(&dump->window, offset, RECORD_HEADER_BYTES);
	ret->offset = offset;
	ret->id = bytes_get_u32(&cursor);
	ret->bytes = bytes_get_u32(&cursor);
	ret->time_ns = bytes_get_u64(&cursor);
	if (!dump->has_times)
		ret->time_ns = 0;
	return !cursor.overrun && ret->bytes >= RECORD_HEADER_BYTES && ret->id != RECORD_CLOSE;
}

/* What follows on the record's header. */
static struct bytes_cursor body_of(struct dump *dump, const struct record *record)
{
	uint64_t len = record->bytes - RECORD_HEADER_BYTES;
	return jitdump_look(&dump->window, record->offset + RECORD_HEADER_BYTES,
		len < RECORD_MAX_HEAD ? (size_t)len : RECORD_MAX_HEAD);
}

typedef void record_fn(struct dump *dump, const struct record *record);

static void each_record(struct dump *dump, record_fn *fn)
{
	uint64_t offset = DUMP_HEADER_BYTES;
	struct record record;
	for (int i = 0; i < MAX_RECORDS && !is_over(dump) && get_record(dump, offset, &record);
		i++) {
		fn(dump, &record);
		offset += record.bytes;
	}
}

/* ---- what stood at the addresses ---- */

static bool has_address(const struct dump *dump, uint64_t start, uint64_t size)
{
	size_t first = sampled_addresses_below(dump->addresses, dump->count, start);
	return first < dump->count && dump->addresses[first] - start < size;
}

struct move {
	uint64_t start, size, number;
};

static bool get_move(struct dump *dump, const struct record *record, struct move *ret)
{
	struct bytes_cursor cursor = body_of(dump, record);
	bytes_get(&cursor, 4 + 4 + 8 + 8); /* pid, tid, vma, old address */
	ret->start = bytes_get_u64(&cursor);
	ret->size = bytes_get_u64(&cursor);
	ret->number = bytes_get_u64(&cursor);
	return !cursor.overrun && has_address(dump, ret->start, ret->size);
}

static void note_move(struct dump *dump, const struct record *record)
{
	struct move move;
	if (record->id == RECORD_MOVE && get_move(dump, record, &move) &&
		dump->moved.len < MAX_CODES)
		map_put(&dump->moved, move.number, NULL);
}

static void jitdump_take_code(struct dump *dump, const struct code *code, uint64_t *moved)
{
	if (dump->codes.len >= MAX_CODES)
		return;
	vec_push(&dump->codes, *code);
	if (moved)
		*moved = dump->codes.len;
	if (has_address(dump, code->start, code->size))
		vec_push(&dump->found, (uint32_t)dump->codes.len - 1);
}

static void take_load(struct dump *dump, const struct record *record)
{
	enum {
		NAME_AT = RECORD_HEADER_BYTES + 4 + 4 + 4 * 8
	};
	struct bytes_cursor cursor = body_of(dump, record);
	struct code code = {.time_ns = record->time_ns, .name = record->offset + NAME_AT};
	bytes_get(&cursor, 4 + 4 + 8); /* pid, tid, vma */
	code.start = code.at_load = bytes_get_u64(&cursor);
	code.size = bytes_get_u64(&cursor);
	uint64_t number = bytes_get_u64(&cursor);
	if (cursor.overrun)
		return;
	uint64_t *moved = map_get(&dump->moved, number);
	if (dump->lines && dump->lines_of == code.start)
		code.lines = dump->lines;
	dump->lines = 0;
	if (moved || has_address(dump, code.start, code.size))
		jitdump_take_code(dump, &code, moved);
}

static void take_move(struct dump *dump, const struct record *record)
{
	struct move move;
	uint64_t *moved = get_move(dump, record, &move) ? map_get(&dump->moved, move.number) : NULL;
	if (!moved || !*moved)
		return;
	struct code code = dump->codes.data[*moved - 1];
	code.start = move.start;
	code.size = move.size;
	code.time_ns = record->time_ns;
	jitdump_take_code(dump, &code, NULL);
}

/* Lines come before the load of their code. */
static void jitdump_take_lines(struct dump *dump, const struct record *record)
{
	struct bytes_cursor cursor = body_of(dump, record);
	uint64_t code = bytes_get_u64(&cursor), count = bytes_get_u64(&cursor);
	uint64_t first = bytes_get_u64(&cursor);
	if (cursor.overrun || !count)
		return;
	dump->lines = record->offset;
	dump->lines_of = code;
	if (first - code < dump->least_line)
		dump->least_line = first - code;
}

static void jitdump_take_record(struct dump *dump, const struct record *record)
{
	switch (record->id) {
	case RECORD_LOAD:
		take_load(dump, record);
		break;
	case RECORD_MOVE:
		take_move(dump, record);
		break;
	case RECORD_LINES:
		jitdump_take_lines(dump, record);
		break;
	default: /* unwind rules, and what other versions have */
		break;
	}
}

/* ---- telling ---- */

/* A text with a NUL behind it at most MAX_NAME_BYTES further; empty when there is none. */
static void jitdump_get_text(struct dump *dump, uint64_t offset, struct str *ret)
{
	struct bytes_cursor cursor = jitdump_look(&dump->window, offset, MAX_NAME_BYTES);
	size_t len = strnlen((const char *)cursor.pos, bytes_left(&cursor));
	str_truncate(ret, 0);
	str_write(ret, cursor.pos, len);
}

static int jitdump_compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

/*
 * All rows of a code, by address: it may have many addresses, and its rows are gone through once.
 * None where there are too many, as the missing ones may be those that hold.
 */
static void jitdump_read_rows(struct dump *dump, const struct code *code)
{
	static const char same_file[] = "\xff";
	CLEANUP(str_deinit) struct str text = {0};
	struct record record;
	dump->rows.len = 0;
	if (!code->lines || !get_record(dump, code->lines, &record))
		return;
	uint64_t offset = record.offset + RECORD_HEADER_BYTES + 8, file = 0,
		 end = record.offset + record.bytes;
	struct bytes_cursor cursor = jitdump_look(&dump->window, offset, 8);
	uint64_t count = bytes_get_u64(&cursor);
	offset += 8;
	if (count > MAX_ROWS_OF_CODE)
		return;
	for (uint64_t i = 0; i < count && offset < end; i++) {
		if (dump->nr_rows++ == MAX_ROWS || is_over(dump)) {
			dump->nr_rows = MAX_ROWS;
			dump->rows.len = 0;
			return;
		}
		cursor = jitdump_look(&dump->window, offset, 16 + MAX_NAME_BYTES);
		struct row row = {.address = bytes_get_u64(&cursor), .index = (uint32_t)i};
		row.number = bytes_get_u32(&cursor);
		bytes_get_u32(&cursor); /* discriminator */
		if (cursor.overrun)
			break;
		jitdump_get_text(dump, offset + 16, &text);
		if (strcmp(str_text(&text), same_file) != 0)
			file = offset + 16;
		offset += 16 + text.len + 1;
		row.file = file;
		vec_push(&dump->rows, row);
	}
	if (dump->rows.len)
		qsort(dump->rows.data, dump->rows.len, sizeof(struct row), jitdump_compare_rows);
}

/*
 * The last row that is not behind the address; NULL: there is none. V8 counts lines from where the
 * code will be in the ELF file that perf makes of it, 64 bytes further: so does a dump in which no
 * line begins earlier.
 */
static const struct row *jitdump_find_row(
	const struct dump *dump, const struct code *code, uint64_t address)
{
	uint64_t shift = dump->least_line >= ELF_HEADER_BYTES ? ELF_HEADER_BYTES : 0;
	uint64_t wanted = address - code->start + code->at_load + shift;
	size_t end = bisect(dump->rows.len, i, dump->rows.data[i].address <= wanted);
	return end ? &dump->rows.data[end - 1] : NULL;
}

static void tell_code(struct dump *dump, const struct code *code, code_place_fn *fn, void *context)
{
	CLEANUP(str_deinit) struct str name = {0}, file = {0};
	uint64_t file_at = 0; /* which `file` is */
	jitdump_get_text(dump, code->name, &name);
	if (!name.len)
		return;
	jitdump_read_rows(dump, code);
	for (size_t i = sampled_addresses_below(dump->addresses, dump->count, code->start);
		i < dump->count && dump->addresses[i] - code->start < code->size &&
		dump->nr_places < MAX_PLACES && !is_over(dump);
		i++, dump->nr_places++) {
		const struct row *row = jitdump_find_row(dump, code, dump->addresses[i]);
		if (row && row->file != file_at)
			jitdump_get_text(dump, row->file, &file);
		file_at = row ? row->file : file_at;
		struct code_place place = {
			.index = i,
			.address = dump->addresses[i],
			.start = code->start,
			.time_ns = code->time_ns,
			.name = str_text(&name),
			.file = row && row->file && file.len ? str_text(&file) : NULL,
			.line = row ? row->number : 0,
		};
		fn(context, &place);
	}
}

bool jitdump_read(int fd, const uint64_t *addresses, size_t count, uint64_t max_ns,
	code_place_fn *fn, void *context)
{
	CLEANUP_FREE uint8_t *bytes = mem_alloc(WINDOW_BYTES);
	struct dump dump = {
		.window = {.fd = fd, .bytes = bytes},
		.addresses = addresses,
		.count = count,
		.least_line = UINT64_MAX,
		.until_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + max_ns,
	};
	if (count && jitdump_read_header(&dump)) {
		each_record(&dump, note_move);
		each_record(&dump, jitdump_take_record);
		vec_each(&dump.found, index)
			tell_code(&dump, &dump.codes.data[*index], fn, context);
	}
	map_deinit(&dump.moved);
	vec_deinit(&dump.codes);
	vec_deinit(&dump.found);
	vec_deinit(&dump.rows);
	return !dump.is_over;
}
