/* The option rows by which commands choose and name samples: the same words for all. */
#ifndef EBPROF_SELECT_H
#define EBPROF_SELECT_H

#include "cmd/input.h"
#include "cmd/naming.h"
#include "cmd/opt.h"
#include "report/analyse/filter.h"

struct select_options {
	struct opt_string_list comms, files, symbols, events, containers, languages, labels;
	struct opt_string_list hidden_reasons; /* for wait_reasons_hide() */
	bool no_native, no_kernel;
	bool leaks; /* without the samples of the last tenth of the recording */
	struct opt_u32_list pids, tids, cpus;
	struct {
		uint64_t from_ns, to_ns;
	} time;
	struct naming_options naming;
};

opt_parse_fn select_parse_words;   /* struct opt_string_list: comma-separated, repeatable */
opt_parse_fn select_parse_names;   /* the same; "/EXPRESSION/" is checked: see filter.h */
opt_parse_fn select_parse_tasks;   /* struct opt_u32_list; names are refused: --comms has them */
opt_parse_fn select_parse_reasons; /* the same, of words of report/analyse/wait_reasons.h */
opt_parse_fn select_parse_label;   /* struct opt_string_list: repeatable */
opt_parse_fn select_parse_trace;   /* the same list: the ID in digits, 32 of them */
opt_parse_fn select_parse_leaks;   /* select_options: the event inuse_space, and `leaks` */
opt_parse_fn select_parse_peak;    /* select_options: the event peak_space */
opt_parse_fn select_parse_time; /* select_options.time: FROM,TO in seconds, either may be empty */

/* Rows to be placed among a command's own; `member` is that of its options struct. */
#define SELECT_ROWS(type, member) \
	SELECT_TASK_ROWS(type, member), \
		{"files", 'd', "FILE[,..]", select_parse_names, offsetof(type, member.files), \
			.help = "only code of these files: name or end of path", .alias = "dsos"}, \
		{"symbols", 'S', "SYM[,..]", select_parse_names, offsetof(type, member.symbols), \
			.help = "only these functions; '/EXPRESSION/' matches names, also of -c, " \
				"-d"}, \
		{"event", 'e', "EVENT[,..]", select_parse_words, offsetof(type, member.events), \
			.help = "only samples of these events"}, \
		NAMING_FILE_ROWS(type, member.naming), NAMING_SHOW_ROWS(type, member.naming), \
		SELECT_HIDDEN_ROWS(type, member)

/* By what ran, where and when, whatever the samples' event and functions are. */
#define SELECT_TASK_ROWS(type, member) \
	{"comms", 'c', "COMM[,..]", select_parse_names, offsetof(type, member.comms), \
		.help = "only these commands (thread names)", .group = "Which samples"}, \
		{"lang", 0, "LANG[,..]", select_parse_words, offsetof(type, member.languages), \
			.help = "only where a script of this language runs: python ..."}, \
		{"container", 0, "NAME|ID[,..]", select_parse_words, \
			offsetof(type, member.containers), \
			.help = "only these containers, units, pods or cgroups: /system.slice"}, \
		{"label", 0, "KEY[=VALUE]", select_parse_label, offsetof(type, member.labels), \
			.help = "only samples with this label; repeatable"}, \
		{"trace", 0, "ID", select_parse_trace, offsetof(type, member.labels), \
			.help = "only samples of this trace; repeatable"}, \
		{"pid", 0, "PID[,..]", select_parse_tasks, offsetof(type, member.pids), \
			.help = "only these processes"}, \
		{"tid", 0, "TID[,..]", select_parse_tasks, offsetof(type, member.tids), \
			.help = "only these threads"}, \
		{"cpu", 'C', "CPU[,..]", opt_u32_list, offsetof(type, member.cpus), \
			.help = "only these CPUs"}, \
	{ \
		"time", 0, "FROM,TO", select_parse_time, offsetof(type, member.time), \
			.help = "only this span, in seconds from the beginning" \
	}

/* What is left out of stacks. */
#define SELECT_HIDDEN_ROWS(type, member) \
	{"no-native", 0, NULL, opt_flag, offsetof(type, member.no_native), \
		.help = "of stacks with scripts, only their functions"}, \
	{ \
		"no-kernel", 0, NULL, opt_flag, offsetof(type, member.no_kernel), \
			.help = "of programs' stacks, not the kernel's functions" \
	}

/*
 * Loads a recording to choose samples of it. Fails where an event, a language, a container, a label
 * or, unless it is one of several that are compared, a thread or file was chosen that the recording
 * does not have: the message lists what it has.
 */
struct err *select_load(const struct select_options *options, const struct input *input,
	bool is_one_of_several, struct profile **ret) ERR_MUST_CHECK;
/* Borrows from the options. */
struct filter select_filter(const struct select_options *options);
void select_deinit(struct select_options *options);

#endif
