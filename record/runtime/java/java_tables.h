/*
 * The tables by which HotSpot tells debuggers where it keeps what: gHotSpotVMStructs has a row a
 * field of each structure. They are in the memory of a process that runs; the file says where.
 *
 * Source: src/hotspot/share/runtime/vmStructs.hpp of 11, 17, 21, 25.
 */
#ifndef EBPROF_JAVA_TABLES_H
#define EBPROF_JAVA_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/runtime/java/java_row.h"
#include "record/runtime/runtime_pages.h"

enum {
	JAVA_TABLES_MAX_ENTRIES = 1 << 14,
	JAVA_TABLES_MAX_NAME_BYTES = 128,
	JAVA_TABLES_MAX_STRIDE = 256,
};

struct java_tables {
	uint32_t pid;
	uint64_t delta;               /* address + delta is a place as in the row */
	const struct java_row *files; /* the row as the file alone has it; borrowed */
	struct runtime_pages *pages;  /* tables and texts lie close */
};

void java_tables_init(
	struct java_tables *tables, uint32_t pid, uint64_t delta, const struct java_row *files);
void java_tables_deinit(struct java_tables *tables);

/* Memory of the process. False: it cannot be read, or too much was. */
bool java_tables_read(struct java_tables *tables, uint64_t address, void *to, size_t len);
bool java_tables_read_u64(struct java_tables *tables, uint64_t address, uint64_t *ret);
/* A text up to its NUL; false also where it is longer. */
bool java_tables_read_name(
	struct java_tables *tables, uint64_t address, char ret[JAVA_TABLES_MAX_NAME_BYTES]);

/* The value of one of the symbols; the same of an offset in an entry, which is bounded. */
bool java_tables_read_symbol(struct java_tables *tables, enum java_symbol symbol, uint64_t *ret);
bool java_tables_read_offset(struct java_tables *tables, enum java_symbol symbol, uint64_t *ret);

/* A field: where it is in its structure; of a static one its address. */
typedef void java_field_fn(
	void *context, const char *type, const char *field, bool is_static, uint64_t value);

/* Calls the function for each. False: they cannot be read, or are not there yet. */
bool java_tables_each_field(struct java_tables *tables, java_field_fn *fn, void *context);

#endif
