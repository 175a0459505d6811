/* A span of time of a ring, see format/base/ring_folder.h, as the recording that a command reads.
 */
#ifndef EBPROF_RING_INPUT_H
#define EBPROF_RING_INPUT_H

#include "cmd/opt.h"
#include "format/base/err.h"
#include "format/base/str.h"
#include "format/merge/merge.h"

struct ring_option {
	const char *folder; /* NULL: it is none */
	struct merge_span span;
	const char *until; /* as it was given, borrowed; NULL: it was not */
};

opt_parse_fn ring_input_parse_since, ring_input_parse_until; /* struct ring_option */

/* The rows of a command that reads recordings. */
#define RING_ROWS(type, member) \
	{"ring", 0, "DIR", opt_string, offsetof(type, member.folder), \
		.help = "of the files that record --ring wrote there ..."}, \
		{"since", 0, "TIME", ring_input_parse_since, offsetof(type, member), \
			.help = "... only what was sampled since then: 14:05, 30m, " \
				"2026-11-26T14:05"}, \
	{ \
		"until", 0, "TIME", ring_input_parse_until, offsetof(type, member), \
			.help = "... and before that; likewise" \
	}

/* "FROM..TO", as both options have them; either may be left out. */
struct err *ring_input_parse_span(const char *text, struct merge_span *ret) ERR_MUST_CHECK;

/*
 * The files that may have samples of that span, in order, and open: the recorder may remove or
 * rename them now.
 */
struct ring_input_files {
	VEC(char *) paths;
	VEC(int) fds;
};

/* ERR_USAGE: there are none. */
struct err *ring_input_open(
	const struct ring_option *option, struct ring_input_files *ret) ERR_MUST_CHECK;
void ring_input_files_deinit(struct ring_input_files *files);
/* "DIR from 2026-11-26 14:05:00 to 14:10:00" */
void ring_input_put_name(const struct ring_option *option, struct str *out);

#endif
