/* Inside of rust_v0.h: what all of its rules read and print by. */
#ifndef EBPROF_RUST_V0_READER_H
#define EBPROF_RUST_V0_READER_H

#include "report/name/demangle/demangle_sink.h"

struct rust_v0 {
	const char *text; /* behind _R: places count from there */
	size_t len, pos;
	struct demangle_sink *sink;
	bool is_quiet; /* what is read is not shown */
	bool has_failed;
	uint32_t depth, nodes;
	uint64_t bound_lifetimes; /* by the binders that are open: for<'a, 'b> */
};

/* Either part may be empty; without Punycode all of it is `ascii`. */
struct rust_v0_identifier {
	const char *ascii, *punycode;
	size_t len, punycode_len;
};

/* Where reading goes on behind a back reference. */
struct rust_v0_reference {
	size_t pos;
};

/* The text ends at the first byte that no name has: a suffix, or its end. */
void rust_v0_begin(struct rust_v0 *v0, const char *text, size_t len, struct demangle_sink *sink);

/* ---- reading ---- */

void rust_v0_fail(struct rust_v0 *v0);
bool rust_v0_at_end(const struct rust_v0 *v0);
/* The next byte; NUL, and failure, at the end. */
char rust_v0_next(struct rust_v0 *v0);
/* Steps back before what rust_v0_next() returned. */
void rust_v0_unread(struct rust_v0 *v0);
bool rust_v0_eat(struct rust_v0 *v0, char c);
/* base-62-number: "_" is 0, "0_" is 1. */
uint64_t rust_v0_integer_62(struct rust_v0 *v0);
/* disambiguator: 0 where there is none, else one more than its number. */
uint64_t rust_v0_disambiguator(struct rust_v0 *v0);
/* undisambiguated-identifier */
struct rust_v0_identifier rust_v0_identifier(struct rust_v0 *v0);

/* Every path, type and constant begins with enter() and, where that was true, ends with leave(). */
bool rust_v0_enter(struct rust_v0 *v0);
void rust_v0_leave(struct rust_v0 *v0);

/*
 * Behind the B of a back reference: goes to its target. False when there is
 * nothing to read there, or nothing that would be shown.
 */
bool rust_v0_follow(struct rust_v0 *v0, struct rust_v0_reference *back);
void rust_v0_return(struct rust_v0 *v0, const struct rust_v0_reference *back);

/* Reads items up to an E, with `separator` shown in between; returns how many. */
size_t rust_v0_list(
	struct rust_v0 *v0, void (*read_item)(struct rust_v0 *v0), const char *separator);

/*
 * binder: shows for<'a, 'b> and opens the lifetimes, which the caller takes off
 * bound_lifetimes again when what they are bound in ends. Returns how many.
 */
uint64_t rust_v0_open_binder(struct rust_v0 *v0);

/* ---- printing, unless quiet ---- */

void rust_v0_put(struct rust_v0 *v0, const char *text, size_t len);
void rust_v0_puts(struct rust_v0 *v0, const char *text);
void rust_v0_put_number(struct rust_v0 *v0, uint64_t number);
void rust_v0_put_code_point(struct rust_v0 *v0, uint32_t code);
void rust_v0_put_identifier(struct rust_v0 *v0, const struct rust_v0_identifier *identifier);
/* By its number: 0 is '_, 1 the one that was bound last. */
void rust_v0_put_lifetime(struct rust_v0 *v0, uint64_t number);

#endif
