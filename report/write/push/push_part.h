/* Spans of a profile's samples, and by what a recording is known again. */
#ifndef EBPROF_PUSH_PART_H
#define EBPROF_PUSH_PART_H

#include <stdint.h>

#include "report/model/profile.h"
#include "report/write/push/push_ledger.h"

enum {
	PUSH_KEY_BYTES = 16,
};

/*
 * The profile with these samples alone, and from the first to behind the last of them. Everything
 * is borrowed: it must not be destroyed.
 */
struct profile push_part(const struct profile *profile, struct push_span span);

/* The first sample of the later half, by time or, where that has no middle, by number. */
uint32_t push_part_middle(const struct profile *profile, struct push_span span);

/*
 * The same for the same samples of the same recording, also when their functions have other names
 * today; `salt` are words that matter as well, NULL ends them. No protection against forgery.
 */
void push_part_key(const struct profile *profile, struct push_span span, const char *const *salt,
	uint8_t ret[PUSH_KEY_BYTES]);

#endif
