/*
 * Events as -e names them, in perf's syntax: names with modifiers (cycles:u), raw ones (r1a8),
 * those of a PMU (cpu/event=0x3c,period=1000/), data breakpoints (mem:0x1000/8:w), tracepoints
 * (sched:sched_switch), groups ({a,b}:S); and this program's own: waits, probes of user code.
 * Nothing is looked up here: neither files nor the kernel.
 */
#ifndef EBPROF_EVENT_SPEC_H
#define EBPROF_EVENT_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"
#include "record/session_options.h"

enum event_spec_kind {
	EVENT_SPEC_TIMER,
	EVENT_SPEC_WAITS,
	EVENT_SPEC_USDT,       /* text: PATH:PROVIDER:NAME */
	EVENT_SPEC_UPROBE,     /* text: PATH:FUNCTION */
	EVENT_SPEC_URETPROBE,  /* likewise, where it returns */
	EVENT_SPEC_CALL,       /* likewise, from its entry to its return */
	EVENT_SPEC_SYSCALLS,   /* text: the name of one; NULL: all */
	EVENT_SPEC_LOCKS,      /* of the kernel */
	EVENT_SPEC_BLOCK_IO,   /* requests to disks */
	EVENT_SPEC_TRACEPOINT, /* text: SYSTEM:NAME, with * and ?; value_field */
	EVENT_SPEC_COUNTER,    /* type, config and what follows */
	EVENT_SPEC_PMU, /* text: its name; terms that sysfs explains, see record/event/pmu.h */
};

/* "name=value", or a name alone. */
struct event_term {
	char *name, *value; /* value NULL: there is none */
};

struct event_modifiers {
	bool user, kernel, hypervisor, guest, host; /* only there; none of the first three: all */
	bool excludes_idle, is_pinned, is_exclusive;
	uint32_t precise; /* wanted of the processor: 0 to 3 */
	bool is_most_precise;
	bool is_read_with_group; /* ":S": the group's first is sampled, others counted with it */
};

struct event_spec {
	enum event_spec_kind kind;
	char *name;       /* what the event is called */
	char *text;       /* see the kind; else NULL */
	const char *unit; /* static; what is counted */
	enum session_event timer;
	uint32_t waits; /* enum session_wait */
	bool has_timer; /* ... and the timer is wanted beside */
	uint32_t type;  /* as struct perf_event_attr has them: */
	uint64_t config, config1, config2;
	uint32_t breakpoint_type;
	VEC(struct event_term) terms;
	char *value_field;     /* of a tracepoint, what its hits weigh; NULL: one */
	uint64_t period;       /* 0: not given */
	uint32_t frequency_hz; /* likewise */
	struct event_modifiers modifiers;
	const char *filter; /* of a tracepoint's fields; borrowed of who sets it. NULL: none */
	bool is_left_out;   /* it is not wanted any more */
	uint32_t group;     /* equal numbers are counted together; 0: alone */
};

struct event_specs {
	struct event_spec *data;
	size_t len, cap;
	uint32_t nr_groups;
};

/*
 * Appends the events that the text names, separated by commas. ERR_USAGE: what is wrong with it;
 * event_specs_deinit() frees what was appended before.
 */
struct err *event_specs_parse(struct event_specs *specs, const char *text) ERR_MUST_CHECK;
/*
 * Of a group that is read together: the index of its first event, whose samples have the counts of
 * the others. Of any other event, and of that one, `index` itself.
 */
size_t event_spec_leader(const struct event_spec *specs, size_t index);
/*
 * Whether the kernel itself counts it, all the time, so that a group of such events is its members.
 * The processor has few counters, which are shared by turns.
 */
bool event_spec_is_always_counted(const struct event_spec *spec);
void event_specs_deinit(struct event_specs *specs);

#endif
