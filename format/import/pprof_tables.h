/* The messages of a pprof profile, and the tables by which they refer to each other. */
#ifndef EBPROF_PPROF_TABLES_H
#define EBPROF_PPROF_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/err.h"
#include "format/base/map.h"

struct pprof_text { /* borrowed, not terminated */
	const char *bytes;
	size_t len;
};

struct pprof_type {          /* of values */
	uint64_t name, unit; /* strings */
};

struct pprof_map {
	uint64_t id, start, offset, path, build_id; /* the last two: strings */
};

struct pprof_code { /* a function */
	uint64_t id, name, system_name, file;
	uint64_t line;
};

struct pprof_place { /* a location */
	uint64_t id, map, address;
	struct bytes_cursor lines; /* the whole message: its fields of lines are read from it */
};

struct pprof_tables {
	VEC(struct pprof_text) strings;
	VEC(struct pprof_type) types;
	VEC(struct pprof_map) maps;
	VEC(struct pprof_code) functions;
	VEC(struct pprof_place) places;
	VEC(struct bytes_cursor) samples;
	struct map maps_by_id, functions_by_id, places_by_id; /* -> index plus 1 */
	uint64_t time_ns, duration_ns, period;
	struct pprof_type period_type;
};

/* A field of a message: a number, or bytes. */
struct pprof_field {
	uint32_t number;
	bool is_number;
	uint64_t value;
	struct bytes_cursor bytes;
};

/* False: there are no more, or what follows is no field; then the cursor is at its overrun. */
bool pprof_field_next(struct bytes_cursor *message, struct pprof_field *ret);
/* The next of the numbers of a field that is repeated, packed or single. */
bool pprof_number_next(struct pprof_field *field, uint64_t *ret);

/* Borrows the bytes. An error says at which offset they are damaged. */
struct err *pprof_tables_read(
	struct pprof_tables *tables, const uint8_t *bytes, size_t len) ERR_MUST_CHECK;
void pprof_tables_deinit(struct pprof_tables *tables);

/* "" where there is none of this number. */
struct pprof_text pprof_tables_text(const struct pprof_tables *tables, uint64_t string);
/* NULL: there is none of this id. */
const struct pprof_map *pprof_tables_map(const struct pprof_tables *tables, uint64_t id);
const struct pprof_code *pprof_tables_function(const struct pprof_tables *tables, uint64_t id);
const struct pprof_place *pprof_tables_place(const struct pprof_tables *tables, uint64_t id);

#endif
