/* A portable PDB made by hand, of forged_clr.h's image: method 2 has lines in one file, the first
 * of them hidden; method 3 in two. */
#ifndef EBPROF_FORGED_PDB_H
#define EBPROF_FORGED_PDB_H

#include <string.h>

#include "format/base/bytes.h"

/* Puts a blob; where it is in the heap. */
static inline uint16_t forged_pdb_blob(struct bytes_buf *blobs, const void *bytes, size_t len)
{
	uint16_t at = (uint16_t)blobs->len;
	bytes_put_u8(blobs, (uint8_t)len);
	bytes_put(blobs, bytes, len);
	return at;
}

/* "/src/NAME" */
static inline uint16_t forged_pdb_document(struct bytes_buf *blobs, const char *name)
{
	uint8_t parts[4] = {'/', 0};
	parts[2] = (uint8_t)forged_pdb_blob(blobs, "src", 3);
	parts[3] = (uint8_t)forged_pdb_blob(blobs, name, strlen(name));
	return forged_pdb_blob(blobs, parts, 4);
}

static inline void forged_pdb_put_tables(struct bytes_buf *out, struct bytes_buf *blobs)
{
	/* A document, or 0; then IL, lines, columns, and where: the first whole, then by steps. */
	static const uint8_t one[] = {0, 0, 0, 0, /* hidden */
		5, 0, 3, 10, 9,                   /* IL 5: line 10, column 9 */
		7, 0, 3, 4, 0,                    /* IL 12: two lines on */
		0x80, 0x90, 1, 0, 0x7f, 0};       /* IL 156: a line back, to the next one */
	static const uint8_t two[] = {0, 1, 0, 0, 3, 20, 1, /* in the first file: IL 0, line 20 */
		0, 2,                                       /* from here on in the second one */
		4, 0, 3, 10, 0};                            /* IL 4: line 25 */
	bytes_put_u32(out, 0);
	bytes_put(out, "\x02\x00\x00\x01", 4);
	bytes_put_u64(out, 1ULL << 0x30 | 1ULL << 0x31 | 1ULL << 0x36);
	bytes_put_u64(out, 0);
	bytes_put_u32(out, 2);
	bytes_put_u32(out, 3);
	bytes_put_u32(out, 1);
	static const char *const files[] = {"a.cs", "b.cs"};
	for (size_t i = 0; i < 2; i++) {
		bytes_put_u16(out, forged_pdb_document(blobs, files[i]));
		bytes_put_u16(out, 0);
		bytes_put_u32(out, 0);
	}
	bytes_put_u32(out, 0);
	bytes_put_u16(out, 1);
	bytes_put_u16(out, forged_pdb_blob(blobs, one, sizeof(one)));
	bytes_put_u16(out, 0);
	bytes_put_u16(out, forged_pdb_blob(blobs, two, sizeof(two)));
	bytes_put_u16(out, 4); /* method 4 moves on what was method 1 */
	bytes_put_u16(out, 1);
}

static inline void forged_pdb_put_stream(
	struct bytes_buf *out, uint32_t *at, size_t len, const char *name, size_t name_bytes)
{
	bytes_put_u32(out, *at);
	bytes_put_u32(out, (uint32_t)len);
	bytes_put(out, name, name_bytes);
	*at += (uint32_t)len;
}

/* `stamp` is the last part of its identity. */
static inline struct bytes_buf forged_pdb_make(uint32_t stamp)
{
	struct bytes_buf out = {0}, tables = {0}, blobs = {0}, head = {0};
	bytes_put_u8(&blobs, 0);
	forged_pdb_put_tables(&tables, &blobs);
	bytes_put(&head, "fedcba9876543210", 16);
	bytes_put_u32(&head, stamp);
	bytes_put_u32(&head, 0);         /* no entry point */
	bytes_put_u64(&head, 1ULL << 6); /* it refers to */
	bytes_put_u32(&head, 4);         /* ... as many methods */
	uint32_t at = 0x80;
	bytes_put(&out, "BSJB\x01\x00\x01\x00\0\0\0\0\x0c\0\0\0PDB v1.0\0\0\0\0", 28);
	bytes_put_u16(&out, 0);
	bytes_put_u16(&out, 3);
	forged_pdb_put_stream(&out, &at, head.len, "#Pdb\0\0\0", 8);
	forged_pdb_put_stream(&out, &at, tables.len, "#~\0\0", 4);
	forged_pdb_put_stream(&out, &at, blobs.len, "#Blob\0\0\0", 8);
	while (out.len < 0x80)
		bytes_put_u8(&out, 0);
	bytes_put(&out, head.data, head.len);
	bytes_put(&out, tables.data, tables.len);
	bytes_put(&out, blobs.data, blobs.len);
	bytes_buf_deinit(&head);
	bytes_buf_deinit(&tables);
	bytes_buf_deinit(&blobs);
	return out;
}

#endif
