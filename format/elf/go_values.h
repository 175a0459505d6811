/*
 * The tables that say something of each instruction of a Go function: a value
 * holds from an address on up to the next one. They are read as far as a caller
 * asks, and kept, because a chain of inlined functions needs them several times.
 *
 * Source: runtime/symtab.go (pcvalue, step) of Go 1.15 to 1.27.
 */
#ifndef EBPROF_GO_VALUES_H
#define EBPROF_GO_VALUES_H

#include "format/base/bytes.h"
#include "format/elf/go_pclntab.h"

struct go_row {
	uint32_t end;  /* the first byte of the function that is not meant */
	int32_t value; /* from the end of the previous row on */
};

/* {0} is a table of nothing. */
struct go_values {
	struct go_pclntab *table;
	struct bytes_cursor cursor;
	uint64_t at;        /* an offset in the table: where the cursor starts */
	uint32_t size;      /* of the function, bytes */
	struct go_row last; /* the row that was read last; its end is 0 before the first */
	bool is_ended;
	VEC(struct go_row) rows; /* the first ones, ascending */
	uint64_t nr_read;        /* rows since the beginning, of all tables that this one was */
};

/* `offset` is a function's sp_table, file_table...; memory is used again. */
void go_values_start(struct go_values *values, struct go_pclntab *table,
	const struct go_function *function, uint32_t offset);
void go_values_deinit(struct go_values *values);

/* The next row is values->last then; false at the end, and where the table makes no sense. */
bool go_values_next(struct go_values *values);

/* The value `into` bytes into the function, -1 when there is none. Not for use with the above. */
int32_t go_values_at(struct go_values *values, uint32_t into);

#endif
