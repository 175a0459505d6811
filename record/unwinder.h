/*
 * The recorder's part in unwinding: makes the tables that the BPF side asks
 * for, and goes on where it could not, over snapshots of the stack.
 */
#ifndef EBPROF_UNWINDER_H
#define EBPROF_UNWINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/err.h"
#include "record/object.h"
#include "record/table_store.h"

struct unwinder_statistics {
	uint64_t built, cached, absent; /* tables */
	uint64_t build_ns;
};

struct unwinder {
	struct table_store *store;
	struct unwinder_statistics statistics;
};

/* `vdso`: examined, with the image that every process maps; NULL: there is none. */
struct err *unwinder_init(struct unwinder *unwinder, const struct table_store_maps *maps,
	uint64_t max_bytes, struct object *vdso);
void unwinder_deinit(struct unwinder *unwinder);

/* The BPF side calls this file by that number and wants its table. */
void unwinder_provide(struct unwinder *unwinder, uint32_t file, struct object *object);

/*
 * The rule for an offset in an object, whose table is made where needed.
 * EVENT_END_COMPLETE: *rule is set.
 */
enum event_stack_end unwinder_rule(struct unwinder *unwinder, struct object *object,
	uint64_t offset, const struct unwind_rule **rule);
/* The same, or where there is none but the frame pointer may serve, its rule; *guess: for want of
 * a better one. */
enum event_stack_end unwinder_choose_rule(struct unwinder *unwinder, struct object *object,
	uint64_t offset, const struct unwind_registers *regs, const struct unwind_rule **rule,
	bool *guess);

#endif
