/* The recording that a command works on, or several that it takes as one. */
#ifndef EBPROF_INPUT_H
#define EBPROF_INPUT_H

#include "cmd/opt.h"
#include "cmd/ring_input.h"
#include "format/base/err.h"
#include "format/import/import.h"
#include "report/load/load.h"
#include "report/model/profile.h"
#include "report/name/symbol/symbol_file.h"

#define INPUT_USUAL "ebprof.data" /* the recording, where none is named */

struct input_option {
	const char *path;
	bool is_given;
	bool from_rows; /* of commands that have --from-rows: files are rows and nothing else */
	struct ring_option ring; /* of commands that have RING_ROWS */
};

opt_parse_fn input_parse; /* struct input_option */

/* The row of -i; `member` is that of the command's options. */
#define INPUT_ROW(type, member, argument, heading) \
	{ \
		"input", 'i', argument, input_parse, offsetof(type, member), \
			.help = "the recording", .group = (heading), .standard = INPUT_USUAL \
	}

struct input {
	char *name; /* "a.data + b.data" */
	int fd;
	const char *const *paths; /* borrowed: what -i and the operands named, or INPUT_USUAL */
	size_t nr_paths;
	const char *path;             /* where they stand if it is one */
	struct ring_input_files ring; /* what `paths` points to, of a ring */
	enum import_as as;            /* what they are read as */
	bool is_damaged;              /* of several: one is */
};

/*
 * Opens the file of -i if it is given, or those of the operands from argv[rest] on, or INPUT_USUAL;
 * "-" is standard input. `option` may be NULL. Several are merged in memory, and what is damaged of
 * them is said. `ret` must stay where it is.
 */
struct err *input_open_all(const struct input_option *option, int argc, char **argv, int rest,
	struct input *ret) ERR_MUST_CHECK;
/* Those that are named: at least one. */
struct err *input_open_paths(
	const char *const *paths, size_t count, struct input *ret) ERR_MUST_CHECK;
/* A span of a ring. */
struct err *input_open_ring(const struct ring_option *option, struct input *ret) ERR_MUST_CHECK;
/* Several, FROM..TO, each of which is a recording; they are merged. */
struct err *input_open_spans(
	const char *ring, const char *const *spans, size_t count, struct input *ret) ERR_MUST_CHECK;
void input_deinit(struct input *input);
/* Without folders, where it is one; borrowed. */
const char *input_short_name(const struct input *input);
/* Says on stderr what is damaged or cut. `files` may be NULL, see profile_load(). */
struct err *input_load(const struct input *input, const struct symbol_file_options *files,
	struct profile **ret) ERR_MUST_CHECK;
/* The same by other options of profile_load() than the usual ones. */
struct err *input_load_with(const struct input *input, const struct profile_options *options,
	struct profile **ret) ERR_MUST_CHECK;

/* Refuses what is damaged or cut: the samples that are left may be others than those of a whole. */
struct err *input_check_whole(
	const struct input *input, const struct profile *profile) ERR_MUST_CHECK;

/* The parts of it, for commands that do more with the file (see input_file.h). */
struct err *input_choose(const struct input_option *option, int argc, char **argv, int rest,
	const char **ret) ERR_MUST_CHECK;
struct err *input_load_open(const char *path, int fd, const struct symbol_file_options *files,
	struct profile **ret) ERR_MUST_CHECK;

#endif
