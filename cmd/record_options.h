/*
 * What ebprof record takes: its option rows, the options of other profilers that are no such
 * rows, and what may not go together. Nothing is attached or written here: only /etc/passwd is
 * read, for -u NAME, and the kernel's greatest rate, for -F max.
 */
#ifndef EBPROF_RECORD_OPTIONS_H
#define EBPROF_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/cgroup_option.h"
#include "cmd/opt.h"
#include "cmd/push_child.h"
#include "format/base/vec.h"
#include "record/event/event_spec.h"
#include "record/host/cpu.h"
#include "record/session_options.h"

struct record_call_graph {
	enum session_call_graph how;
	uint32_t snapshot_bytes; /* 0: the default */
};

struct record_events {
	enum session_event timer;
	bool is_timer_given;
	struct event_specs specs; /* all that were given */
	VEC(const char *) usdt;   /* "PATH:PROVIDER:NAME", borrowed of these */
	uint32_t waits;           /* enum session_wait */
	bool has_counters, has_tracepoints, has_functions, has_syscalls;
};

struct record_options {
	struct opt_u32_list pids, tids;
	struct cgroup_option cgroups;
	VEC(const char *) label_variables;
	const char *label_file;
	bool targets_only; /* of the system, those of the file */
	bool all, of_user, all_user, all_kernel, call_stacks, no_inherit, tree, quiet, verbose,
		with_args;
	bool frequency_given, frequency_is_max, skips_missing, dry_run, with_wakers, archives,
		archives_nothing, opens, opens_with_source;
	uint32_t uid;          /* with of_user */
	uint32_t frequency_hz; /* 0, after record_options_check(): by period, or no timer */
	uint64_t period;       /* in the event's unit; 0: by frequency_hz */
	struct record_events events;
	const char *listed_path;
	const char *usdt_stacks;
	struct record_call_graph call_graph;
	uint64_t table_bytes;
	uint32_t unwanted_runtimes, label_sources;
	const char *output, *cache_folder;
	uint64_t wait_period_ns, heap_bytes;
	uint32_t max_overhead_percent;
	uint64_t delay_ns, duration_ns, max_bytes, ring_bytes, stall_ns, gone_names_ns;
	struct session_switch switching;
	struct session_ring ring;
	struct push_child_options push;
	const char *metrics;
	struct cpu_list cpus;
};

/* Samples a second of a command or pids: off the beat of what runs at 1000 Hz. */
#define RECORD_OPTIONS_HZ "999"

extern const struct opt_word record_options_rates[], record_options_events[]; /* the timer's */
extern const struct opt record_options_rows[]; /* of a struct record_options */
extern const struct opt_foreign record_options_foreign[];

/* Whom to profile, with `operands` words of a command behind the options. ERR_USAGE: no
 * target was named, or two kinds of them. */
struct err *record_options_choose_target(const struct record_options *options, int operands,
	enum session_target *ret) ERR_MUST_CHECK;
/* Fills in what was left to us: the rate, and that probes without -e have no timer. ERR_USAGE:
 * options exclude each other, or make no useful recording. */
struct err *record_options_check(
	struct record_options *options, enum session_target target) ERR_MUST_CHECK;
/* Whether names are put into the recording at its end, at least of files that will be gone. */
bool record_options_keep_files(const struct record_options *options);
void record_options_deinit(struct record_options *options);

#endif
