#include "format/clr/clr_mdb.h"

#include <string.h>

enum {
	MAJOR = 50,
	GUID_BYTES = 16,
	MAX_ENTRIES = 1 << 20,
	MAX_POINTS = 1 << 16,
	MAX_STEPS = 1 << 18, /* of one line program */
	MAX_PATH_BYTES = 1024,

	/* Offsets in the file's head. */
	HEAD_MAJOR = 8,
	HEAD_GUID = 16,
	HEAD_NR_SOURCES = 56,
	HEAD_SOURCES = 60,
	HEAD_NR_METHODS = 68,
	HEAD_METHODS = 72,
	HEAD_LINE_BASE = 96,
	HEAD_LINE_RANGE = 100,
	HEAD_OPCODE_BASE = 104,

	SOURCE_BYTES = 8, /* number, where its text is */
	SOURCE_TEXT = 4,
	METHOD_BYTES = 12, /* token, where its data are, where its line program is */
	METHOD_PROGRAM = 8,
	METHOD_TOKEN = 0x06000000,

	/* What a line program consists of, besides steps in line and IL at once. */
	OP_EXTENDED = 0,
	OP_COPY = 1,
	OP_ADVANCE_IL = 2,
	OP_ADVANCE_LINE = 3,
	OP_SET_FILE = 4,
	OP_ADD_MOST_IL = 8,
	EXTENDED_END = 1,
	EXTENDED_HIDDEN = 0x40, /* lines are hidden from here on, or no longer */
	LAST_OPCODE = 255,
};

static const uint64_t magic = 0x45e82623fd7fa614;

bool clr_mdb_open(struct clr_bytes *bytes, const struct clr_image *image, struct clr_mdb *ret)
{
	uint8_t wanted[GUID_BYTES], id[GUID_BYTES];
	struct clr_mdb mdb = {
		.bytes = bytes,
		.sources = clr_bytes_u32(bytes, HEAD_SOURCES),
		.nr_sources = clr_bytes_u32(bytes, HEAD_NR_SOURCES),
		.methods = clr_bytes_u32(bytes, HEAD_METHODS),
		.nr_methods = clr_bytes_u32(bytes, HEAD_NR_METHODS),
		.line_base = (int32_t)clr_bytes_u32(bytes, HEAD_LINE_BASE),
		.line_range = clr_bytes_u32(bytes, HEAD_LINE_RANGE),
		.opcode_base = clr_bytes_u32(bytes, HEAD_OPCODE_BASE),
	};
	if (clr_bytes_u64(bytes, 0) != magic || clr_bytes_u32(bytes, HEAD_MAJOR) != MAJOR ||
		mdb.nr_methods > MAX_ENTRIES || mdb.nr_sources > MAX_ENTRIES || !mdb.line_range ||
		mdb.opcode_base > LAST_OPCODE ||
		!clr_metadata_module_id(&image->metadata, wanted) ||
		!clr_bytes_copy(bytes, HEAD_GUID, id, sizeof(id)) ||
		memcmp(id, wanted, sizeof(id)) != 0)
		return false;
	*ret = mdb;
	return true;
}

/* ---- lines ---- */

/* 32 bits, seven in a byte, the lowest first; a negative number takes five. */
static uint32_t mdb_uleb(struct clr_bytes *bytes, uint64_t *at)
{
	uint64_t value = 0;
	for (int shift = 0; shift < 35; shift += 7) {
		uint8_t byte = clr_bytes_u8(bytes, (*at)++);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return (uint32_t)value;
	}
	bytes->is_bad = true;
	return 0;
}

/* Where the method's line program is; 0: it has none. Methods ascend by their tokens. */
static uint32_t find_line_program(const struct clr_mdb *mdb, uint32_t method)
{
	uint32_t low = 0, high = mdb->nr_methods, token = METHOD_TOKEN | method;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		uint64_t at = mdb->methods + (uint64_t)mid * METHOD_BYTES;
		uint32_t found = clr_bytes_u32(mdb->bytes, at);
		if (found == token)
			return clr_bytes_u32(mdb->bytes, at + METHOD_PROGRAM);
		if (found < token)
			low = mid + 1;
		else
			high = mid;
	}
	return 0;
}

struct line_program {
	const struct clr_mdb *mdb;
	uint64_t at;
	struct clr_pdb_point point;
	bool is_hidden;
};

static void add_mdb_point(const struct line_program *program, struct clr_pdb_points *ret)
{
	struct clr_pdb_point point = program->point;
	if (program->is_hidden)
		point.line = 0;
	vec_push(&ret->list, point);
}

/* False: the program ends. */
static bool take_extended(struct line_program *program)
{
	struct clr_bytes *bytes = program->mdb->bytes;
	uint8_t len = clr_bytes_u8(bytes, program->at++);
	uint8_t opcode = clr_bytes_u8(bytes, program->at);
	program->at += len;
	program->is_hidden ^= opcode == EXTENDED_HIDDEN;
	return len && opcode != EXTENDED_END;
}

/* False: the program ends, or makes no sense. */
static bool take_step(struct line_program *program, struct clr_pdb_points *ret)
{
	const struct clr_mdb *mdb = program->mdb;
	struct clr_bytes *bytes = mdb->bytes;
	uint8_t opcode = clr_bytes_u8(bytes, program->at++);
	if (opcode >= mdb->opcode_base) {
		uint32_t step = opcode - mdb->opcode_base;
		program->point.il += step / mdb->line_range;
		program->point.line += (uint32_t)mdb->line_base + step % mdb->line_range;
		add_mdb_point(program, ret);
		return true;
	}
	switch (opcode) {
	case OP_EXTENDED:
		return take_extended(program);
	case OP_COPY:
		add_mdb_point(program, ret);
		return true;
	case OP_ADVANCE_IL:
		program->point.il += mdb_uleb(bytes, &program->at);
		return true;
	case OP_ADVANCE_LINE:
		program->point.line += mdb_uleb(bytes, &program->at);
		return true;
	case OP_SET_FILE:
		program->point.document = mdb_uleb(bytes, &program->at);
		return true;
	case OP_ADD_MOST_IL:
		program->point.il += (LAST_OPCODE - mdb->opcode_base) / mdb->line_range;
		return true;
	default:
		return false;
	}
}

void clr_mdb_read_points(const struct clr_mdb *mdb, uint32_t method, struct clr_pdb_points *ret)
{
	struct line_program program = {.mdb = mdb,
		.at = find_line_program(mdb, method),
		.point = {.line = 1, .document = 1}};
	*ret = (struct clr_pdb_points){0};
	if (!program.at)
		return;
	for (int i = 0; i < MAX_STEPS && ret->list.len < MAX_POINTS && !mdb->bytes->is_bad; i++)
		if (!take_step(&program, ret))
			return;
}

void clr_mdb_put_document(const struct clr_mdb *mdb, uint32_t document, struct str *out)
{
	if (!document || document > mdb->nr_sources)
		return;
	uint64_t entry = mdb->sources + (uint64_t)(document - 1) * SOURCE_BYTES;
	uint64_t at = clr_bytes_u32(mdb->bytes, entry + SOURCE_TEXT);
	uint32_t len = mdb_uleb(mdb->bytes, &at);
	clr_bytes_put_text(mdb->bytes, at, len < MAX_PATH_BYTES ? len : 0, out);
}
