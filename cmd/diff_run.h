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
	DIFF_GATE_REGRESSION,
	DIFF_GATE_INCONCLUSIVE, /* and after a regression */
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

opt_parse_fn diff_run_parse_fraction; /* double: "5%", "5", "0.5%" -> .05, .05, .005 */
opt_parse_fn diff_run_parse_log;      /* const char *: a file, or standard output */
extern const struct opt_word diff_run_bys[], diff_run_metrics[], diff_run_gates[];

#define DIFF_RUN_TEXT(number)    DIFF_RUN_TEXT_OF(number)
#define DIFF_RUN_TEXT_OF(number) #number

/*
 * Rows to be placed among a command's own, ahead of select's; `member` is that of its options,
 * `gate` the word of --fail-on where that is not given.
 */
#define DIFF_RUN_ROWS(type, member, gate) \
	{"by", 0, "WHAT", opt_word, offsetof(type, member.diff.by), .help = "a row for each *", \
		.standard = "function", .words = diff_run_bys, .group = "Comparison"}, \
		{"metric", 0, "METRIC", opt_word, offsetof(type, member.diff.metric), \
			.help = "shares of the samples, or seconds (bytes, ...) of a run: *", \
			.standard = "auto", .words = diff_run_metrics}, \
		{"alpha", 0, "P", opt_number, offsetof(type, member.diff.alpha), \
			.help = "how often a report may be a false alarm", \
			.standard = DIFF_RUN_TEXT(DIFF_ALPHA), .least = "1e-9", .most = "0.5"}, \
		{"min-effect", 0, "PERCENT", diff_run_parse_fraction, \
			offsetof(type, member.diff.min_effect), \
			.help = "smaller changes are none", \
			.standard = DIFF_RUN_TEXT(DIFF_MIN_EFFECT_PERCENT) "%"}, \
		{"min-share", 0, "PERCENT", diff_run_parse_fraction, \
			offsetof(type, member.diff.min_share), \
			.help = "what takes less on both sides is not reported", \
			.standard = DIFF_RUN_TEXT(DIFF_MIN_SHARE_PERCENT) "%"}, \
		{"fail-on", 0, "WHAT", opt_word, offsetof(type, member.fail_on), \
			.help = "exit 1 after a regression; inconclusive: also 3 where it " \
				"cannot be told: *", \
			.standard = (gate), .words = diff_run_gates}, \
		{"force", 0, NULL, opt_flag, offsetof(type, member.diff.is_forced), \
			.help = "compare other events, CPU models, architectures, damaged files, " \
				"too"}, \
		DIFF_FILE_ROWS(type, member), \
	{ \
		"limit", 0, "N", opt_u32, offsetof(type, member.limit), \
			.help = "rows of each list, 0 for all", .standard = "20" \
	}

/* One for each report that is written beside the main one. */
#define DIFF_FILE_ROWS(type, member) \
	{"json", 0, "FILE|-", opt_string, offsetof(type, member.files[DIFF_JSON]), \
		.help = "also: for programs", .group = "Reports"}, \
		{"markdown", 0, "FILE|-", opt_string, offsetof(type, member.files[DIFF_MARKDOWN]), \
			.help = "for $GITHUB_STEP_SUMMARY, and comments"}, \
		{"junit", 0, "FILE|-", opt_string, offsetof(type, member.files[DIFF_JUNIT]), \
			.help = "a testcase a function, for what shows tests"}, \
		{"github", 0, "[FILE|-]", diff_run_parse_log, \
			offsetof(type, member.files[DIFF_GITHUB]), \
			.help = "annotations of source lines, by GitHub's workflow commands (-)"}, \
		{"gitlab", 0, "FILE|-", opt_string, offsetof(type, member.files[DIFF_GITLAB]), \
			.help = "regressions as GitLab's code quality"}, \
		{"csv", 0, "FILE|-", opt_string, offsetof(type, member.files[DIFF_CSV]), \
			.help = "for spreadsheets"}, \
		{"html", 0, "FILE|-", opt_string, offsetof(type, member.html), \
			.help = "a page with both flame graphs in one, as of convert --baseline"}, \
	{ \
		"svg", 0, "FILE|-", opt_string, offsetof(type, member.svg), \
			.help = "that flame graph as a picture" \
	}

/* Files of a side: recordings, each one run, or merged ones and baselines, which are several. */
struct diff_run_files {
	const char *const *paths; /* or, with a ring, spans of its time, FROM..TO: a run each */
	size_t count;
	const char *ring;
};

/* As one recording. */
struct err *diff_run_open(const struct diff_run_files *files, struct input *ret) ERR_MUST_CHECK;

/*
 * Loads both, compares, writes options->files, and the main report as `format` to `output`
 * ("-": standard output). Says on stderr what is damaged. *ret is the verdict of the whole.
 */
struct err *diff_run(struct diff_run_options *options, const struct diff_run_files *base,
	const struct diff_run_files *new, enum diff_format format, const char *output,
	enum diff_verdict *ret) ERR_MUST_CHECK;
/* The exit code for it; errors are DIFF_EXIT_ERROR. */
enum diff_exit diff_run_exit(const struct diff_run_options *options, enum diff_verdict verdict);
/* Whether these can be written; diff_run() asks as well. */
struct err *diff_run_check_files(const struct diff_run_options *options) ERR_MUST_CHECK;
/* Whether there are any beside the main report. */
bool diff_run_writes_files(const struct diff_run_options *options);
void diff_run_deinit(struct diff_run_options *options);

#endif
