/*
 * Two sides compared, from the files to the reports and the verdict: for `diff`, and for `ci run`,
 * which gates by it.
 */
#ifndef EBPROF_DIFF_RUN_H
#define EBPROF_DIFF_RUN_H

#include "cmd/opt.h"
#include "cmd/select.h"
#include "report/compare/difference.h"
#include "report/write/diff/diff_writer.h"

enum diff_gate { /* what ends with an exit code other than 0 */
	DIFF_GATE_NONE,
	DIFF_GATE_REGRESSION,   /* also what is inconclusive */
	DIFF_GATE_INCONCLUSIVE, /* that alone */
};

enum diff_exit {
	DIFF_EXIT_OK = 0,
	DIFF_EXIT_REGRESSION = 1,
	DIFF_EXIT_ERROR = 2,
	DIFF_EXIT_INCONCLUSIVE = 3,
};

struct diff_run_options {
	struct diff_options diff;
	enum diff_gate fail_on;
	uint32_t limit;                       /* rows of each list in texts; 0: all */
	const char *files[DIFF_FORMAT_COUNT]; /* reports beside the main one; NULL: none */
	const char *base_name, *new_name;     /* in reports; NULL: by their paths */
	const char *html, *svg;               /* pictures; NULL: none */
	struct select_options select;
};

/* What the rows have no standard for. */
#define DIFF_RUN_DEFAULTS \
	{ \
		.diff = DIFF_OPTIONS_DEFAULT \
	}

opt_parse_fn diff_run_parse_by;       /* enum diff_by */
opt_parse_fn diff_run_parse_metric;   /* enum diff_metric */
opt_parse_fn diff_run_parse_fraction; /* double: "5%", "5", "0.5%" -> .05, .05, .005 */
opt_parse_fn diff_run_parse_alpha;    /* double: .01 */
opt_parse_fn diff_run_parse_gate;     /* enum diff_gate */
opt_parse_fn diff_run_parse_log;      /* const char *: a file, or standard output */

/* Rows to be placed among a command's own, ahead of select's; `member` is that of its options. */
#define DIFF_RUN_ROWS(type, member) \
	{"by", 0, "WHAT", diff_run_parse_by, offsetof(type, member.diff.by), \
		"a row for each function, module, line, stack (function)", "Comparison", NULL}, \
		{"metric", 0, "METRIC", diff_run_parse_metric, offsetof(type, member.diff.metric), \
			"share of the samples, or cpu-s: CPU seconds of a run (share)", NULL, \
			NULL}, \
		{"alpha", 0, "P", diff_run_parse_alpha, offsetof(type, member.diff.alpha), \
			"how often a report may be a false alarm (0.01)", NULL, NULL}, \
		{"min-effect", 0, "PERCENT", diff_run_parse_fraction, \
			offsetof(type, member.diff.min_effect), "smaller changes are none (5%)", \
			NULL, NULL}, \
		{"min-share", 0, "PERCENT", diff_run_parse_fraction, \
			offsetof(type, member.diff.min_share), \
			"what takes less on both sides is no finding (0.5%)", NULL, NULL}, \
		{"fail-on", 0, "WHAT", diff_run_parse_gate, offsetof(type, member.fail_on), \
			"regression: exit 1 after one, 3 if inconclusive; or inconclusive, none", \
			NULL, NULL}, \
		{"force", 0, NULL, opt_flag, offsetof(type, member.diff.is_forced), \
			"compare other events, CPU models, architectures, damaged files, too", \
			NULL, NULL}, \
		DIFF_FILE_ROWS(type, member), \
	{ \
		"limit", 0, "N", opt_u32, offsetof(type, member.limit), \
			"rows of each list, 0 for all", NULL, "20" \
	}

/* One for each report that is written beside the main one. */
#define DIFF_FILE_ROWS(type, member) \
	{"json", 0, "FILE|-", opt_string, offsetof(type, member.files[DIFF_JSON]), \
		"also: for programs", "Reports", NULL}, \
		{"markdown", 0, "FILE|-", opt_string, offsetof(type, member.files[DIFF_MARKDOWN]), \
			"for $GITHUB_STEP_SUMMARY, and comments", NULL, NULL}, \
		{"junit", 0, "FILE|-", opt_string, offsetof(type, member.files[DIFF_JUNIT]), \
			"a testcase a function, for what shows tests", NULL, NULL}, \
		{"github", 0, "[FILE|-]", diff_run_parse_log, \
			offsetof(type, member.files[DIFF_GITHUB]), \
			"annotations of source lines, by GitHub's workflow commands (-)", NULL, \
			NULL}, \
		{"gitlab", 0, "FILE|-", opt_string, offsetof(type, member.files[DIFF_GITLAB]), \
			"regressions as GitLab's code quality", NULL, NULL}, \
		{"csv", 0, "FILE|-", opt_string, offsetof(type, member.files[DIFF_CSV]), \
			"for spreadsheets", NULL, NULL}, \
		{"html", 0, "FILE|-", opt_string, offsetof(type, member.html), \
			"a page with both flame graphs in one, as of convert --baseline", NULL, \
			NULL}, \
	{ \
		"svg", 0, "FILE|-", opt_string, offsetof(type, member.svg), \
			"that flame graph as a picture", NULL, NULL \
	}

/* Files of a side: recordings, each one run, or merged ones and baselines, which are several. */
struct diff_run_files {
	const char *const *paths;
	size_t count;
};

/*
 * Loads both, compares, writes options->files, and the main report as `format` to `output`
 * ("-": standard output). Says on stderr what is damaged. *ret is the verdict of the whole.
 */
struct err *diff_run(struct diff_run_options *options, const struct diff_run_files *base,
	const struct diff_run_files *new, enum diff_format format, const char *output,
	enum diff_verdict *ret) ERR_MUST_CHECK;
/* The exit code for it; errors are DIFF_EXIT_ERROR. */
enum diff_exit diff_run_exit(const struct diff_run_options *options, enum diff_verdict verdict);
/* Whether there are any beside the main report. */
bool diff_run_writes_files(const struct diff_run_options *options);
void diff_run_deinit(struct diff_run_options *options);

#endif
