/* From a row of call frame information to the rule that the kernel's side follows. */
#ifndef EBPROF_CFI_RULE_H
#define EBPROF_CFI_RULE_H

#include "bpf/event.h"
#include "format/dwarf/cfi.h"

/*
 * Equal rules have equal bytes: what does not matter is zero. What a rule cannot say is
 * UNWIND_UNSUPPORTED, or UNWIND_CFA_UNSUPPORTED as a whole.
 */
struct unwind_rule cfi_rule(const struct cfi_row *row, const struct unwind_machine *machine);

#endif
