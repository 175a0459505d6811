#include "format/clr/clr_pdb.h"

#include <string.h>

#include "format/base/bisect.h"
#include "format/base/inflate.h"
#include "format/base/mem.h"
#include "format/clr/clr_debug_map.h"

enum {
	MAX_POINTS = 1 << 16,
	MAX_PACKED_BYTES = 8 << 20, /* the recorder unpacks them on behalf of any process */
	MAX_BYTES = 32 << 20,
	MAX_PATH_BYTES = 1024,
	MAX_PARTS = 128,
	HIDDEN_LINE = 0xfeefee,

	/* Columns. */
	DOCUMENT_NAME = 0,
	METHOD_DOCUMENT = 0,
	METHOD_POINTS = 1,

	PACKED_MAGIC = 0x4244504d, /* "MPDB" */
	PACKED_HEAD_BYTES = 8,
};

bool clr_pdb_open(struct clr_bytes *bytes, const struct clr_image *image, struct clr_pdb *ret)
{
	uint8_t wanted[CLR_PDB_ID_BYTES], id[CLR_PDB_ID_BYTES];
	struct clr_pdb pdb;
	if (!clr_image_pdb_id(image, wanted) || !clr_metadata_open(bytes, 0, &pdb.metadata) ||
		!pdb.metadata.pdb || !clr_bytes_copy(bytes, pdb.metadata.pdb, id, sizeof(id)) ||
		memcmp(id, wanted, sizeof(id)) != 0)
		return false;
	*ret = pdb;
	return true;
}

/* ---- lines ---- */

struct sequence {
	struct clr_bytes *bytes;
	uint64_t at, end;
	struct clr_pdb_point point;
	uint32_t column;
	bool has_line; /* one was said before: lines count from that */
};

static void take_line(struct sequence *sequence)
{
	struct clr_bytes *bytes = sequence->bytes;
	if (sequence->has_line) {
		sequence->point.line += (uint32_t)clr_bytes_packed_signed(bytes, &sequence->at);
		clr_bytes_packed_signed(bytes, &sequence->at);
	} else {
		sequence->point.line = clr_bytes_packed(bytes, &sequence->at);
		clr_bytes_packed(bytes, &sequence->at);
	}
	sequence->has_line = true;
}

/* A point, or the document that the next ones are of. */
static void take_record(struct sequence *sequence, struct clr_pdb_points *ret)
{
	struct clr_bytes *bytes = sequence->bytes;
	uint32_t step = clr_bytes_packed(bytes, &sequence->at);
	if (ret->list.len && !step) {
		sequence->point.document = clr_bytes_packed(bytes, &sequence->at);
		return;
	}
	sequence->point.il += step;
	uint32_t lines = clr_bytes_packed(bytes, &sequence->at);
	int32_t columns = lines ? clr_bytes_packed_signed(bytes, &sequence->at)
				: (int32_t)clr_bytes_packed(bytes, &sequence->at);
	struct clr_pdb_point point = sequence->point;
	if (lines || columns) {
		take_line(sequence);
		point = sequence->point;
	} else {
		point.line = 0;
	}
	if (point.line == HIDDEN_LINE)
		point.line = 0;
	vec_push(&ret->list, point);
}

void clr_pdb_read_points(const struct clr_pdb *pdb, uint32_t method, struct clr_pdb_points *ret)
{
	struct sequence sequence = {.bytes = pdb->metadata.bytes};
	uint32_t blob = clr_metadata_get(&pdb->metadata, CLR_PDB_METHOD, method, METHOD_POINTS),
		 len;
	*ret = (struct clr_pdb_points){0};
	if (!blob)
		return;
	sequence.at = clr_metadata_blob(&pdb->metadata, blob, &len);
	sequence.end = sequence.at + len;
	sequence.point.document =
		clr_metadata_get(&pdb->metadata, CLR_PDB_METHOD, method, METHOD_DOCUMENT);
	clr_bytes_packed(sequence.bytes, &sequence.at); /* the signature of locals */
	if (!sequence.point.document)
		sequence.point.document = clr_bytes_packed(sequence.bytes, &sequence.at);
	while (sequence.at < sequence.end && !sequence.bytes->is_bad && ret->list.len < MAX_POINTS)
		take_record(&sequence, ret);
}

void clr_pdb_points_deinit(struct clr_pdb_points *points)
{
	vec_deinit(&points->list);
}

const struct clr_pdb_point *clr_pdb_points_find(const struct clr_pdb_points *points, uint32_t il)
{
	size_t at = bisect(points->list.len, i, points->list.data[i].il <= il);
	while (at && !points->list.data[at - 1].line)
		at--;
	return at ? &points->list.data[at - 1] : NULL;
}

const struct clr_pdb_point *clr_pdb_points_find_code(
	const struct clr_pdb_points *points, int32_t il)
{
	if (il == CLR_IL_NONE)
		return NULL;
	if (il == CLR_IL_EPILOGUE)
		return clr_pdb_points_find(points, UINT32_MAX);
	return clr_pdb_points_find(points, il < 0 ? 0 : (uint32_t)il);
}

/* ---- files ---- */

/* A separator, and blobs that it stands between. */
void clr_pdb_put_document(const struct clr_pdb *pdb, uint32_t document, struct str *out)
{
	struct clr_bytes *bytes = pdb->metadata.bytes;
	uint32_t name = clr_metadata_get(&pdb->metadata, CLR_PDB_DOCUMENT, document, DOCUMENT_NAME);
	uint32_t len, part_len;
	uint64_t at = clr_metadata_blob(&pdb->metadata, name, &len), end = at + len;
	char separator = len ? (char)clr_bytes_u8(bytes, at) : 0;
	size_t first = out->len;
	at += len != 0;
	for (int i = 0; i < MAX_PARTS && at < end && out->len - first < MAX_PATH_BYTES; i++) {
		if (i && separator)
			str_putc(out, separator);
		uint32_t part = clr_bytes_packed(bytes, &at);
		uint64_t text = clr_metadata_blob(&pdb->metadata, part, &part_len);
		clr_bytes_put_text(bytes, text, part_len < MAX_PATH_BYTES ? part_len : 0, out);
	}
}

/* ---- within an image ---- */

uint8_t *clr_pdb_unpack(const struct clr_image *image, size_t *len)
{
	uint64_t at;
	uint32_t packed_bytes;
	if (!clr_image_packed_pdb(image, &at, &packed_bytes) || packed_bytes <= PACKED_HEAD_BYTES ||
		packed_bytes > MAX_PACKED_BYTES || clr_bytes_u32(image->bytes, at) != PACKED_MAGIC)
		return NULL;
	uint32_t bytes = clr_bytes_u32(image->bytes, at + 4);
	size_t packed_len = packed_bytes - PACKED_HEAD_BYTES;
	if (!bytes || bytes > MAX_BYTES)
		return NULL;
	CLEANUP_FREE uint8_t *packed = mem_alloc(packed_len);
	CLEANUP_FREE uint8_t *out = mem_alloc(bytes);
	if (!clr_bytes_copy(image->bytes, at + PACKED_HEAD_BYTES, packed, packed_len) ||
		!inflate_raw(packed, packed_len, out, bytes))
		return NULL;
	*len = bytes;
	return steal_ptr(out);
}
