#include "record/unwind/rule_set.h"

#include <string.h>

void rule_set_init(struct rule_set *set, uint32_t max)
{
	static const struct unwind_rule none = {0};
	*set = (struct rule_set){.max = max};
	rule_set_intern(set, &none);
}

void rule_set_deinit(struct rule_set *set)
{
	vec_deinit(&set->rules);
	vec_deinit(&set->next);
	map_deinit(&set->heads);
}

static bool is_rule(const struct rule_set *set, uint32_t number, const struct unwind_rule *rule)
{
	return number < set->rules.len &&
	       memcmp(&set->rules.data[number], rule, sizeof(*rule)) == 0;
}

static uint32_t intern_slowly(struct rule_set *set, const struct unwind_rule *rule)
{
	uint64_t hash = map_hash_bytes(rule, sizeof(*rule), 0);
	uint64_t *head = map_put(&set->heads, hash, NULL);
	for (uint32_t i = (uint32_t)*head; i; i = set->next.data[i - 1])
		if (is_rule(set, i - 1, rule))
			return i - 1;
	if (set->rules.len >= set->max)
		return RULE_SET_FULL;
	vec_push(&set->rules, *rule);
	vec_push(&set->next, (uint32_t)*head);
	*head = set->rules.len;
	return (uint32_t)set->rules.len - 1;
}

/* Some dozens of a file's rules make up nearly all of its rows. */
uint32_t rule_set_intern(struct rule_set *set, const struct unwind_rule *rule)
{
	uint64_t words[2];
	_Static_assert(sizeof(words) == sizeof(*rule), "all of a rule");
	memcpy(words, rule, sizeof(words));
	uint64_t mixed = (words[0] ^ words[1] * 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd;
	uint32_t *memo = &set->memo[mixed >> 56];
	if (!is_rule(set, *memo, rule))
		*memo = intern_slowly(set, rule);
	return *memo;
}
