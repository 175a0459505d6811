/* Any bytes as code between two functions: rules come in order, within it, and are sound. */
#include <stdint.h>
#include <stdlib.h>

#include "format/machine/x86_64_gap.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum {
	OFFSET = 0x100000,
};

struct seen {
	uint64_t next, end;
};

/* Around the gap, a frame of some size at every few bytes, and outermost ones. */
static bool rule_at(void *context, uint64_t offset, struct unwind_rule *ret)
{
	(void)context;
	*ret = (struct unwind_rule){.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = UNWIND_SP,
		.cfa_offset = 8 + (int)(offset & 0x18),
		.ra = offset & 4 ? UNWIND_UNDEFINED : UNWIND_AT_CFA,
		.ra_offset = -8};
	return offset & 3;
}

static void on_rule(void *context, uint64_t offset, const struct unwind_rule *rule)
{
	struct seen *seen = context;
	bool is_sound = !rule || rule->ra == UNWIND_UNDEFINED ||
			(rule->cfa == UNWIND_CFA_REGISTER && rule->cfa_offset >= 8);
	if (offset < seen->next || offset > seen->end || !is_sound)
		abort();
	seen->next = offset + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct seen seen = {OFFSET, OFFSET + len};
	struct machine_gap gap = {bytes, len, OFFSET, rule_at, on_rule, &seen};
	x86_64_find_gap_rules(&gap);
	return 0;
}
