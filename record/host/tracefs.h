/* The kernel's tracepoints, as tracefs tells of them. Where it is not mounted, it is mounted for
 * this process alone, in no folder. */
#ifndef EBPROF_TRACEFS_H
#define EBPROF_TRACEFS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"

/* A folder of its root: yours. */
struct err *tracefs_open(int *ret) ERR_MUST_CHECK;

/* "SYSTEM:NAME" of each tracepoint, in no order. */
typedef void tracefs_fn(void *context, const char *name);
void tracefs_each(int root, tracefs_fn *fn, void *context);

struct tracepoints {
	struct tracepoint {
		char *name; /* SYSTEM:NAME */
		uint64_t id;
	} * data;
	size_t len, cap;
};

/* Appends those that match, in the order of their names. ERR_USAGE: there is none, and the message
 * has the nearest. */
struct err *tracefs_find(int root, const char *pattern, struct tracepoints *ret) ERR_MUST_CHECK;
void tracepoints_deinit(struct tracepoints *tracepoints);

struct tracepoint_field {
	char *name;
	uint32_t offset, bytes; /* in a record */
	bool is_signed;
	bool is_text;    /* it has a text in place */
	bool is_located; /* it says where in the record the text is: __data_loc */
};

struct tracepoint_fields {
	struct tracepoint_field *data;
	size_t len, cap;
};

struct err *tracefs_fields(int root, const struct tracepoint *tracepoint,
	struct tracepoint_fields *ret) ERR_MUST_CHECK;
/* "ns" of a field that the kernel prints with "[ns]" behind it, "bytes" of one that is called so;
 * else its name, borrowed. */
struct err *tracefs_unit(int root, const struct tracepoint *tracepoint, const char *field,
	const char **ret) ERR_MUST_CHECK;
/* The same of the text of a "format" file. */
const char *tracepoint_unit_parse(const char *format, const char *field);
/* Fields as above, of such a text. */
void tracepoint_fields_parse(const char *format, struct tracepoint_fields *ret);
void tracepoint_fields_deinit(struct tracepoint_fields *fields);

#endif
