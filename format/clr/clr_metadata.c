#include "format/clr/clr_metadata.h"

#include <string.h>

/* What a column holds. Below CLR_TABLES: a row of that table. */
enum column {
	END = 0x40, /* there are no more columns */
	U16,
	U32,
	STRING,
	GUID,
	BLOB,
	/* A row of one of several tables: */
	TYPE_DEF_OR_REF,
	HAS_CONSTANT,
	HAS_CUSTOM_ATTRIBUTE,
	HAS_FIELD_MARSHAL,
	HAS_DECL_SECURITY,
	MEMBER_REF_PARENT,
	HAS_SEMANTICS,
	METHOD_DEF_OR_REF,
	MEMBER_FORWARDED,
	IMPLEMENTATION,
	CUSTOM_ATTRIBUTE_TYPE,
	RESOLUTION_SCOPE,
	TYPE_OR_METHOD_DEF,
	HAS_CUSTOM_DEBUG_INFORMATION,
	COLUMNS_END
};

/* II.22; the tables from 0x30 on are those of portable PDBs. */
static const uint8_t schema[CLR_TABLES][CLR_COLUMNS + 1] = {
	[0x00] = {U16, STRING, GUID, GUID, GUID, END},
	[0x01] = {RESOLUTION_SCOPE, STRING, STRING, END},
	[0x02] = {U32, STRING, STRING, TYPE_DEF_OR_REF, 0x04, 0x06, END},
	[0x03] = {0x04, END},
	[0x04] = {U16, STRING, BLOB, END},
	[0x05] = {0x06, END},
	[0x06] = {U32, U16, U16, STRING, BLOB, 0x08, END},
	[0x07] = {0x08, END},
	[0x08] = {U16, U16, STRING, END},
	[0x09] = {0x02, TYPE_DEF_OR_REF, END},
	[0x0a] = {MEMBER_REF_PARENT, STRING, BLOB, END},
	[0x0b] = {U16, HAS_CONSTANT, BLOB, END},
	[0x0c] = {HAS_CUSTOM_ATTRIBUTE, CUSTOM_ATTRIBUTE_TYPE, BLOB, END},
	[0x0d] = {HAS_FIELD_MARSHAL, BLOB, END},
	[0x0e] = {U16, HAS_DECL_SECURITY, BLOB, END},
	[0x0f] = {U16, U32, 0x02, END},
	[0x10] = {U32, 0x04, END},
	[0x11] = {BLOB, END},
	[0x12] = {0x02, 0x14, END},
	[0x13] = {0x14, END},
	[0x14] = {U16, STRING, TYPE_DEF_OR_REF, END},
	[0x15] = {0x02, 0x17, END},
	[0x16] = {0x17, END},
	[0x17] = {U16, STRING, BLOB, END},
	[0x18] = {U16, 0x06, HAS_SEMANTICS, END},
	[0x19] = {0x02, METHOD_DEF_OR_REF, METHOD_DEF_OR_REF, END},
	[0x1a] = {STRING, END},
	[0x1b] = {BLOB, END},
	[0x1c] = {U16, MEMBER_FORWARDED, STRING, 0x1a, END},
	[0x1d] = {U32, 0x04, END},
	[0x1e] = {U32, U32, END},
	[0x1f] = {U32, END},
	[0x20] = {U32, U16, U16, U16, U16, U32, BLOB, STRING, STRING, END},
	[0x21] = {U32, END},
	[0x22] = {U32, U32, U32, END},
	[0x23] = {U16, U16, U16, U16, U32, BLOB, STRING, STRING, BLOB, END},
	[0x24] = {U32, 0x23, END},
	[0x25] = {U32, U32, U32, 0x23, END},
	[0x26] = {U32, STRING, BLOB, END},
	[0x27] = {U32, U32, STRING, STRING, IMPLEMENTATION, END},
	[0x28] = {U32, U32, STRING, IMPLEMENTATION, END},
	[0x29] = {0x02, 0x02, END},
	[0x2a] = {U16, U16, TYPE_OR_METHOD_DEF, STRING, END},
	[0x2b] = {METHOD_DEF_OR_REF, BLOB, END},
	[0x2c] = {0x2a, TYPE_DEF_OR_REF, END},
	[0x2d] = {END},
	[0x2e] = {END},
	[0x2f] = {END},
	[0x30] = {BLOB, GUID, BLOB, GUID, END},
	[0x31] = {0x30, BLOB, END},
	[0x32] = {0x06, 0x35, 0x33, 0x34, U32, U32, END},
	[0x33] = {U16, U16, STRING, END},
	[0x34] = {STRING, BLOB, END},
	[0x35] = {0x35, BLOB, END},
	[0x36] = {0x06, 0x06, END},
	[0x37] = {HAS_CUSTOM_DEBUG_INFORMATION, GUID, BLOB, END},
};

#define TABLE(number) (1ULL << (number))

/* II.24.2.6: how many bits say which table it is, and which tables there are. */
static const struct coded {
	uint8_t bits;
	uint64_t tables;
} coded[COLUMNS_END] = {
	[TYPE_DEF_OR_REF] = {2, TABLE(0x02) | TABLE(0x01) | TABLE(0x1b)},
	[HAS_CONSTANT] = {2, TABLE(0x04) | TABLE(0x08) | TABLE(0x17)},
	[HAS_CUSTOM_ATTRIBUTE] = {5, TABLE(0x06) | TABLE(0x04) | TABLE(0x01) | TABLE(0x02) |
					     TABLE(0x08) | TABLE(0x09) | TABLE(0x0a) | TABLE(0x00) |
					     TABLE(0x0e) | TABLE(0x17) | TABLE(0x14) | TABLE(0x11) |
					     TABLE(0x1a) | TABLE(0x1b) | TABLE(0x20) | TABLE(0x23) |
					     TABLE(0x26) | TABLE(0x27) | TABLE(0x28) | TABLE(0x2a) |
					     TABLE(0x2c) | TABLE(0x2b)},
	[HAS_FIELD_MARSHAL] = {1, TABLE(0x04) | TABLE(0x08)},
	[HAS_DECL_SECURITY] = {2, TABLE(0x02) | TABLE(0x06) | TABLE(0x20)},
	[MEMBER_REF_PARENT] = {3,
		TABLE(0x02) | TABLE(0x01) | TABLE(0x1a) | TABLE(0x06) | TABLE(0x1b)},
	[HAS_SEMANTICS] = {1, TABLE(0x14) | TABLE(0x17)},
	[METHOD_DEF_OR_REF] = {1, TABLE(0x06) | TABLE(0x0a)},
	[MEMBER_FORWARDED] = {1, TABLE(0x04) | TABLE(0x06)},
	[IMPLEMENTATION] = {2, TABLE(0x26) | TABLE(0x23) | TABLE(0x27)},
	[CUSTOM_ATTRIBUTE_TYPE] = {3, TABLE(0x06) | TABLE(0x0a)},
	[RESOLUTION_SCOPE] = {2, TABLE(0x00) | TABLE(0x1a) | TABLE(0x23) | TABLE(0x01)},
	[TYPE_OR_METHOD_DEF] = {1, TABLE(0x02) | TABLE(0x06)},
	/* The same as of custom attributes, and those of PDBs. */
	[HAS_CUSTOM_DEBUG_INFORMATION] = {5,
		TABLE(0x06) | TABLE(0x04) | TABLE(0x01) | TABLE(0x02) | TABLE(0x08) | TABLE(0x09) |
			TABLE(0x0a) | TABLE(0x00) | TABLE(0x0e) | TABLE(0x17) | TABLE(0x14) |
			TABLE(0x11) | TABLE(0x1a) | TABLE(0x1b) | TABLE(0x20) | TABLE(0x23) |
			TABLE(0x26) | TABLE(0x27) | TABLE(0x28) | TABLE(0x2a) | TABLE(0x2c) |
			TABLE(0x2b) | TABLE(0x30) | TABLE(0x32) | TABLE(0x33) | TABLE(0x34) |
			TABLE(0x35)},
};

enum {
	MAGIC = 0x424a5342, /* "BSJB" */
	MAX_VERSION_BYTES = 255,
	MAX_STREAMS = 16,
	STREAM_NAME_BYTES = 32,

	/* Columns. */
	TYPE_NAME = 1,
	TYPE_NAMESPACE = 2,
	TYPE_FIRST_METHOD = 5,
	MODULE_ID = 2,
	NESTED_TYPE = 0,
	NESTED_OUTER = 1,
	STATE_MACHINE_MOVE_NEXT = 0,
	STATE_MACHINE_KICKOFF = 1,

	/* Of the heads of tables and of a PDB. */
	TABLES_HEAP_SIZES = 6,
	TABLES_VALID = 8,
	TABLES_ROWS = 24,
	HEAP_IS_WIDE_STRING = 1,
	HEAP_IS_WIDE_GUID = 2,
	HEAP_IS_WIDE_BLOB = 4,
	HEAP_HAS_EXTRA = 0x40,
	PDB_REFERENCED = 24,
};

/* ---- opening ---- */

struct streams {
	uint64_t tables; /* 0: there are none */
};

static void take_stream(struct clr_metadata *metadata, struct streams *streams, const char *name,
	uint64_t at, uint32_t len)
{
	if (strcmp(name, "#~") == 0 || strcmp(name, "#-") == 0) {
		streams->tables = at;
	} else if (strcmp(name, "#Strings") == 0) {
		metadata->strings = at;
		metadata->strings_end = at + len;
	} else if (strcmp(name, "#Blob") == 0) {
		metadata->blobs = at;
		metadata->blobs_end = at + len;
	} else if (strcmp(name, "#GUID") == 0) {
		metadata->guids = at;
		metadata->guids_end = at + len;
	} else if (strcmp(name, "#Pdb") == 0) {
		metadata->pdb = at;
	}
}

/* II.24.2.1 */
static bool take_streams(struct clr_metadata *metadata, uint64_t root, struct streams *streams)
{
	struct clr_bytes *bytes = metadata->bytes;
	uint32_t version_bytes = clr_bytes_u32(bytes, root + 12);
	if (clr_bytes_u32(bytes, root) != MAGIC || version_bytes > MAX_VERSION_BYTES)
		return false;
	uint64_t at = root + 16 + version_bytes;
	uint32_t count = clr_bytes_u16(bytes, at + 2);
	at += 4;
	for (uint32_t i = 0; i < count && i < MAX_STREAMS; i++) {
		uint64_t offset = clr_bytes_u32(bytes, at);
		uint32_t len = clr_bytes_u32(bytes, at + 4);
		char name[STREAM_NAME_BYTES + 1] = "";
		size_t name_len = 0;
		while (name_len < STREAM_NAME_BYTES &&
			(name[name_len] = (char)clr_bytes_u8(bytes, at + 8 + name_len)))
			name_len++;
		at += 8 + (name_len / 4 + 1) * 4;
		take_stream(metadata, streams, name, root + offset, len);
	}
	return streams->tables && !bytes->is_bad;
}

/* Of a PDB: how many rows the tables have that it refers to, which are another file's. */
static void take_referenced(struct clr_bytes *bytes, uint64_t pdb, uint32_t rows[CLR_TABLES])
{
	uint64_t tables = clr_bytes_u64(bytes, pdb + PDB_REFERENCED);
	uint64_t at = pdb + PDB_REFERENCED + 8;
	for (uint32_t i = 0; i < CLR_TABLES; i++)
		if (tables >> i & 1) {
			rows[i] = clr_bytes_u32(bytes, at);
			at += 4;
		}
}

static uint32_t most_rows(const uint32_t rows[CLR_TABLES], uint64_t tables)
{
	uint32_t most = 0;
	for (uint32_t i = 0; i < CLR_TABLES; i++)
		if (tables >> i & 1 && rows[i] > most)
			most = rows[i];
	return most;
}

static uint8_t column_bytes(const uint32_t rows[CLR_TABLES], uint8_t column, uint8_t heaps)
{
	if (column < CLR_TABLES)
		return rows[column] >> 16 ? 4 : 2;
	switch (column) {
	case U16:
		return 2;
	case U32:
		return 4;
	case STRING:
		return heaps & HEAP_IS_WIDE_STRING ? 4 : 2;
	case GUID:
		return heaps & HEAP_IS_WIDE_GUID ? 4 : 2;
	case BLOB:
		return heaps & HEAP_IS_WIDE_BLOB ? 4 : 2;
	default:
		return most_rows(rows, coded[column].tables) >> (16 - coded[column].bits) ? 4 : 2;
	}
}

static bool take_tables(struct clr_metadata *metadata, const struct streams *streams)
{
	struct clr_bytes *bytes = metadata->bytes;
	uint8_t heaps = clr_bytes_u8(bytes, streams->tables + TABLES_HEAP_SIZES);
	uint64_t valid = clr_bytes_u64(bytes, streams->tables + TABLES_VALID);
	uint64_t at = streams->tables + TABLES_ROWS;
	uint32_t counted[CLR_TABLES] = {0}; /* also those of another file */
	if (metadata->pdb)
		take_referenced(bytes, metadata->pdb, counted);
	for (uint32_t i = 0; i < CLR_TABLES; i++) {
		if (!(valid >> i & 1))
			continue;
		counted[i] = metadata->rows[i] = clr_bytes_u32(bytes, at);
		at += 4;
	}
	at += heaps & HEAP_HAS_EXTRA ? 4 : 0;
	for (uint32_t i = 0; i < CLR_TABLES; i++) {
		if (!metadata->rows[i])
			continue;
		if (!schema[i][0] && !schema[i][1]) /* of no table that is known */
			return false;
		for (uint32_t k = 0; schema[i][k] != END; k++) {
			metadata->columns[i][k] = column_bytes(counted, schema[i][k], heaps);
			metadata->row_bytes[i] += metadata->columns[i][k];
		}
		metadata->at[i] = at;
		at += (uint64_t)metadata->rows[i] * metadata->row_bytes[i];
	}
	return !bytes->is_bad && at <= bytes->size;
}

bool clr_metadata_open(struct clr_bytes *bytes, uint64_t root, struct clr_metadata *ret)
{
	struct clr_metadata metadata = {.bytes = bytes};
	struct streams streams = {0};
	if (!take_streams(&metadata, root, &streams) || !take_tables(&metadata, &streams))
		return false;
	*ret = metadata;
	return true;
}

/* ---- rows ---- */

uint32_t clr_metadata_count(const struct clr_metadata *metadata, uint32_t table)
{
	return metadata->rows[table];
}

uint32_t clr_metadata_get(
	const struct clr_metadata *metadata, uint32_t table, uint32_t row, uint32_t column)
{
	if (!row || row > metadata->rows[table])
		return 0;
	uint64_t at = metadata->at[table] + (uint64_t)(row - 1) * metadata->row_bytes[table];
	for (uint32_t i = 0; i < column; i++)
		at += metadata->columns[table][i];
	return metadata->columns[table][column] == 4 ? clr_bytes_u32(metadata->bytes, at)
						     : clr_bytes_u16(metadata->bytes, at);
}

void clr_metadata_put_string(const struct clr_metadata *metadata, uint32_t string, struct str *out)
{
	uint64_t left = metadata->strings_end - metadata->strings;
	if (string >= left)
		return;
	left -= string;
	clr_bytes_put_text(metadata->bytes, metadata->strings + string,
		left < CLR_MAX_NAME_BYTES ? (size_t)left : CLR_MAX_NAME_BYTES, out);
}

uint64_t clr_metadata_blob(const struct clr_metadata *metadata, uint32_t blob, uint32_t *len)
{
	uint64_t at = metadata->blobs + blob;
	*len = 0;
	if (at >= metadata->blobs_end)
		return at;
	uint32_t bytes = clr_bytes_packed(metadata->bytes, &at);
	*len = bytes <= metadata->blobs_end - at ? bytes : 0;
	return at;
}

bool clr_metadata_module_id(const struct clr_metadata *metadata, uint8_t ret[16])
{
	uint32_t number = clr_metadata_get(metadata, CLR_MODULE, 1, MODULE_ID);
	uint64_t at = metadata->guids + (uint64_t)(number - 1) * 16;
	return number && at + 16 <= metadata->guids_end &&
	       clr_bytes_copy(metadata->bytes, at, ret, 16);
}

/* The last of the rows, which ascend by a column, whose value is at most that; 0: none. */
static uint32_t search_rows(
	const struct clr_metadata *metadata, uint32_t table, uint32_t column, uint32_t value)
{
	uint32_t low = 0, high = metadata->rows[table]; /* rows up to `low` are not above */
	while (low < high) {
		uint32_t mid = low + (high - low + 1) / 2;
		if (clr_metadata_get(metadata, table, mid, column) <= value)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

uint32_t clr_metadata_type_of_method(const struct clr_metadata *metadata, uint32_t method)
{
	return search_rows(metadata, CLR_TYPE_DEF, TYPE_FIRST_METHOD, method);
}

uint32_t clr_metadata_outer_type(const struct clr_metadata *metadata, uint32_t type)
{
	uint32_t row = search_rows(metadata, CLR_NESTED_CLASS, NESTED_TYPE, type);
	return clr_metadata_get(metadata, CLR_NESTED_CLASS, row, NESTED_TYPE) == type
		       ? clr_metadata_get(metadata, CLR_NESTED_CLASS, row, NESTED_OUTER)
		       : 0;
}

uint32_t clr_metadata_kickoff_method(const struct clr_metadata *pdb, uint32_t move_next)
{
	uint32_t row = search_rows(pdb, CLR_PDB_STATE_MACHINE, STATE_MACHINE_MOVE_NEXT, move_next);
	return clr_metadata_get(pdb, CLR_PDB_STATE_MACHINE, row, STATE_MACHINE_MOVE_NEXT) ==
			       move_next
		       ? clr_metadata_get(pdb, CLR_PDB_STATE_MACHINE, row, STATE_MACHINE_KICKOFF)
		       : 0;
}
