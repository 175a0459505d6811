/*
 * Shadow stacks, from the recorder's side: places the probes that change them, and says what that
 * costs.
 */
#ifndef EBPROF_SHADOW_H
#define EBPROF_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/runtime_row.h"
#include "bpf/runtime/shadow_place.h"
#include "format/base/err.h"
#include "format/base/vec.h"
#include "record/host/uprobe.h"
#include "record/script/script_probes.h"

struct shadow_fds {
	int program, places, counters; /* of the BPF side; borrowed */
};

struct shadow {
	struct shadow_fds fds;
	VEC(struct uprobe) uprobes;
	uint64_t around_ns; /* that a hit takes besides the program, as tried out; 0: unknown */
	int statistics_fd;  /* as long as it is open the kernel measures BPF programs; -1 */
};

enum shadow_clock {
	SHADOW_CLOCK_KERNEL, /* its statistics of BPF programs */
	SHADOW_CLOCK_OWN,    /* the program looks at the clock itself */
};

struct shadow_cost {
	struct shadow_counters counted;
	enum shadow_clock clock;
	uint64_t program_ns; /* in the BPF program, by that clock */
	uint64_t around_ns;  /* of all hits: in the traps, as tried out; 0: that failed */
};

/* Before the programs are loaded. False: they have to look at the clock themselves. */
bool shadow_init(struct shadow *shadow);
/* ERR_UNSUPPORTED: this kernel has no such probes. */
struct err *shadow_attach(struct shadow *shadow, const struct shadow_fds *fds,
	const struct script_probes *probes) ERR_MUST_CHECK;
/* The places from `first` on, in files that turned up later. */
struct err *shadow_attach_more(
	struct shadow *shadow, const struct script_probes *probes, size_t first) ERR_MUST_CHECK;
/* When it returns nothing is traced any more. */
void shadow_detach(struct shadow *shadow);
void shadow_read_cost(const struct shadow *shadow, struct shadow_cost *ret);
void shadow_deinit(struct shadow *shadow);

#endif
