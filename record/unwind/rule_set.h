/*
 * A set of unwind rules, each once, by number. Rows name rules by these
 * numbers: those of one file, and those of all files in the kernel.
 */
#ifndef EBPROF_RULE_SET_H
#define EBPROF_RULE_SET_H

#include <stdint.h>

#include "bpf/event.h"
#include "format/base/map.h"
#include "format/base/vec.h"

enum {
	RULE_SET_FULL = UINT32_MAX,
	RULE_SET_MEMO = 256,
};

struct rule_set {
	VEC(struct unwind_rule) rules;
	uint32_t max;                 /* of rules */
	struct map heads;             /* hash -> number + 1 of the first rule that has it */
	VEC(uint32_t) next;           /* number + 1 of another rule with the same hash */
	uint32_t memo[RULE_SET_MEMO]; /* the rule seen last, by a few bits of its bytes */
};

/* The set with rule 0, that of UNWIND_CFA_NONE. */
void rule_set_init(struct rule_set *set, uint32_t max);
void rule_set_deinit(struct rule_set *set);

/* Its number, or RULE_SET_FULL. */
uint32_t rule_set_intern(struct rule_set *set, const struct unwind_rule *rule);

#endif
