/*
 * The formats of a diff. A writer is a row here and a file with one function; `ebprof diff`'s
 * formats come from the rows.
 */
#ifndef EBPROF_DIFF_WRITER_H
#define EBPROF_DIFF_WRITER_H

#include "report/compare/difference.h"
#include "report/write/export/export.h"

struct diff_writer_options {
	size_t limit;   /* rows of each list; 0: all. What is for programs has all of them */
	unsigned width; /* of text, in columns */
	const char *base_name, *new_name;
	const char *source_root; /* annotations name files below it relative to it; NULL: none */
};

/* X(enum, function, name, help) */
#define DIFF_FORMATS(X) \
	X(DIFF_TEXT, diff_text, "text", "for people") \
	X(DIFF_JSON, diff_json, "json", "for programs; schema in ebprof-diff(1)") \
	X(DIFF_MARKDOWN, diff_markdown, "markdown", "for $GITHUB_STEP_SUMMARY, comments") \
	X(DIFF_JUNIT, diff_junit, "junit", "for what shows tests: a testcase a function") \
	X(DIFF_GITHUB, diff_github, "github", "for GitHub: annotations of source lines") \
	X(DIFF_GITLAB, diff_gitlab, "gitlab", "for GitLab: code quality of source lines") \
	X(DIFF_CSV, diff_csv, "csv", "for spreadsheets: a line a row")

enum diff_format {
#define X(format, function, name, help) format,
	DIFF_FORMATS(X)
#undef X
	DIFF_FORMAT_COUNT,
};

struct diff_writer {
	const char *name, *help;
	struct err *(*write)(const struct difference *diff,
		const struct diff_writer_options *options, struct byte_sink sink)ERR_MUST_CHECK;
};

extern const struct diff_writer diff_writers[DIFF_FORMAT_COUNT];

#define X(format, function, name, help) \
	struct err *function(const struct difference *diff, \
		const struct diff_writer_options *options, struct byte_sink sink) ERR_MUST_CHECK;
DIFF_FORMATS(X)
#undef X

#endif
