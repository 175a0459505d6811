/*
 * What was delivered of a recording to a server, so that a push that is repeated, after a crash or
 * by mistake, delivers nothing twice: spans of its samples, in a file that is written anew whenever
 * the server has taken a part.
 *
 * What a server took while the answer got lost is not known here, and is pushed again.
 */
#ifndef EBPROF_PUSH_LEDGER_H
#define EBPROF_PUSH_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"

struct push_span {
	uint32_t from, to; /* indices of samples, `to` behind the last one */
};

struct push_ledger {
	struct cache *files; /* NULL: nothing is kept */
	char name[33];
	VEC(struct push_span) done; /* in order; none touches the next */
};

/*
 * `folder`: NULL is $XDG_STATE_HOME/ebprof/push, else /var/lib/ebprof/push for root and
 * ~/.local/state/ebprof/push for others; "" keeps nothing. `key` tells apart what is pushed, and
 * where to. What was noted of other than `count` samples is refused; with `is_forced` none is read.
 */
struct err *push_ledger_open(const char *folder, const uint8_t key[16], uint32_t count,
	bool is_forced, struct push_ledger *ret) ERR_MUST_CHECK;
void push_ledger_close(struct push_ledger *ledger);

/* The first span at or behind `from` that was not delivered; false when there is none. */
bool push_ledger_next(
	const struct push_ledger *ledger, uint32_t from, uint32_t count, struct push_span *ret);
struct err *push_ledger_add(struct push_ledger *ledger, struct push_span span) ERR_MUST_CHECK;

#endif
