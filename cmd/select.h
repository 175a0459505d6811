/* The option rows by which report and convert choose and name samples: the same words for both. */
#ifndef EBPROF_SELECT_H
#define EBPROF_SELECT_H

#include "cmd/opt.h"
#include "report/filter.h"
#include "report/symbol/symbolize.h"

struct select_options {
	struct opt_string_list comms, dsos, symbols;
	struct opt_u32_list pids, tids, cpus;
	struct {
		uint64_t from_ns, to_ns;
	} time;
	struct symbolize_options symbolize;
};

opt_parse_fn select_parse_words;       /* struct opt_string_list: comma-separated, repeatable */
opt_parse_fn select_parse_demangle;    /* enum demangle_mode; full without an argument */
opt_parse_fn select_parse_no_demangle; /* enum demangle_mode: none */
opt_parse_fn select_parse_time; /* select_options.time: FROM,TO in seconds, either may be empty */

/* Where names come from: of a struct symbolize_options, for archive too. */
#define SYMBOL_FILE_ROWS(type, member) \
	{"symfs", 0, "DIR", opt_string, offsetof(type, member.files.symfs), \
		"look for binaries below DIR", "Symbols"}, \
	{ \
		"symbol-cache", 0, "DIR", opt_cache_folder, offsetof(type, member.cache_folder), \
			"where names and lines are kept, or \"none\"", NULL \
	}

/* Rows to be placed among a command's own; `member` is that of its options struct. */
#define SELECT_ROWS(type, member) \
	{"comms", 'c', "COMM[,..]", select_parse_words, offsetof(type, member.comms), \
		"only these commands (thread names)", "Which samples"}, \
		{"dsos", 'd', "DSO[,..]", select_parse_words, offsetof(type, member.dsos), \
			"only these files: name or path", NULL}, \
		{"symbols", 'S', "SYM[,..]", select_parse_words, offsetof(type, member.symbols), \
			"only these functions", NULL}, \
		{"pid", 0, "PID[,..]", opt_u32_list, offsetof(type, member.pids), \
			"only these processes", NULL}, \
		{"tid", 0, "TID[,..]", opt_u32_list, offsetof(type, member.tids), \
			"only these threads", NULL}, \
		{"cpu", 'C', "CPU[,..]", opt_u32_list, offsetof(type, member.cpus), \
			"only these CPUs", NULL}, \
		{"time", 0, "FROM,TO", select_parse_time, offsetof(type, member.time), \
			"only this span, in seconds from the beginning", NULL}, \
		SYMBOL_FILE_ROWS(type, member.symbolize), \
		{"demangle", 0, "[MODE]", select_parse_demangle, \
			offsetof(type, member.symbolize.demangle), \
			"names in full, or templates, simplified, none (full)", NULL}, \
		{"no-demangle", 0, NULL, select_parse_no_demangle, \
			offsetof(type, member.symbolize.demangle), \
			"show names as the linker has them", NULL}, \
	{ \
		"no-inline", 0, NULL, opt_flag, offsetof(type, member.symbolize.no_inline), \
			"leave out functions that were inlined", NULL \
	}

/* Borrows from the options. */
struct filter select_filter(const struct select_options *options);
void select_deinit(struct select_options *options);

#endif
