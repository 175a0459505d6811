#include "cmd/diff_run.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/console.h"
#include "cmd/export_file.h"
#include "cmd/input.h"
#include "report/analyse/refine_stacks.h"
#include "report/model/text/byte_sink.h"
#include "report/name/symbol/symbolizer.h"

/* ---- options ---- */

const struct opt_word diff_run_bys[] = {
#define X(name, word) {word, name, false},
	DIFF_BYS(X)
#undef X
	/* as report -s has them */
	{"sym", DIFF_BY_FUNCTION, true},
	{"symbol", DIFF_BY_FUNCTION, true},
	{"dso", DIFF_BY_FILE, true},
	{"module", DIFF_BY_FILE, true}, /* what it was called before */
	{0},
};

const struct opt_word diff_run_metrics[] = {
#define X(name, word) {word, name, false},
	DIFF_METRICS(X)
#undef X
		{"amount", DIFF_CPU_S, false}, /* of waits and memory */
	{0},
};

const struct opt_word diff_run_gates[] = {
	{"regression", DIFF_GATE_REGRESSION, false},
	{"inconclusive", DIFF_GATE_INCONCLUSIVE, false},
	{"none", DIFF_GATE_NONE, false},
	{0},
};

struct err *diff_run_parse_fraction(const struct opt *row, const char *text, void *member)
{
	double percent;
	try(opt_percent(row, text, &percent));
	*(double *)member = percent / 100;
	return NULL;
}

struct err *diff_run_parse_log(const struct opt *row, const char *text, void *member)
{
	(void)row;
	*(const char **)member = text ? text : "-";
	return NULL;
}

enum diff_exit diff_run_exit(const struct diff_run_options *options, enum diff_verdict verdict)
{
	if (options->fail_on == DIFF_GATE_NONE || verdict == DIFF_SAME)
		return DIFF_EXIT_OK;
	if (verdict != DIFF_INCONCLUSIVE)
		return DIFF_EXIT_REGRESSION;
	return options->fail_on == DIFF_GATE_INCONCLUSIVE ? DIFF_EXIT_INCONCLUSIVE : DIFF_EXIT_OK;
}

bool diff_run_writes_files(const struct diff_run_options *options)
{
	bool writes = options->html || options->svg;
	for (int i = 0; i < DIFF_FORMAT_COUNT; i++)
		writes |= options->files[i] != NULL;
	return writes;
}

void diff_run_deinit(struct diff_run_options *options)
{
	select_deinit(&options->select);
}

/* ---- loading ---- */

struct loading {
	const struct input *input;
	struct select_options *select;
	bool is_forced;
	struct profile *profile;
	struct err *err;
};

static struct err *load_side(struct loading *loading)
{
	struct filter filter = select_filter(loading->select);
	const struct symbolize_options *naming = &loading->select->naming.symbolize;
	try(select_load(loading->select, loading->input, true, &loading->profile));
	if (!loading->is_forced)
		try(input_check_whole(loading->input, loading->profile));
	symbolize(loading->profile, naming);
	refine_stacks(loading->profile);
	filter_samples(loading->profile, &filter);
	filter_stacks(loading->profile, &filter);
	return NULL;
}

static void *run_loading(void *context)
{
	struct loading *loading = context;
	loading->err = load_side(loading);
	return NULL;
}

/* Side by side; but one at a time where the network is asked. */
static struct err *load_both(struct loading *base, struct loading *new)
{
	pthread_t thread;
	bool is_alone = base->select->naming.symbolize.files.debuginfod ||
			pthread_create(&thread, NULL, run_loading, base);
	if (is_alone)
		run_loading(base);
	run_loading(new);
	if (!is_alone)
		pthread_join(thread, NULL);
	if (base->err) {
		err_destroy(new->err);
		return base->err;
	}
	return new->err;
}

/* ---- writing ---- */

struct reports {
	const struct difference *diff;
	const struct profile *new;
	struct diff_writer_options options;
	struct export_baseline baseline;
	const char **inputs; /* paths of both sides: no report replaces them */
	size_t nr_inputs;
};

static unsigned find_width(const char *output)
{
	enum {
		WIDTH_USUAL = 100,
		WIDTH_MIN = 80,
	};
	unsigned columns = strcmp(output, "-") == 0 ? console_columns() : 0;
	if (!columns)
		return WIDTH_USUAL;
	return columns < WIDTH_MIN ? WIDTH_MIN : columns;
}

/* Other commands of a step write into GitHub's file, too. */
static bool is_shared(enum diff_format format, const char *path)
{
	const char *summary = getenv("GITHUB_STEP_SUMMARY");
	return format == DIFF_MARKDOWN && summary && strcmp(path, summary) == 0;
}

/* A blank line, so that the heading is one, also behind other text. */
static struct err *append_report(const struct reports *reports, enum diff_format format,
	const struct diff_writer_options *options, const char *path)
{
	CLEANUP(str_deinit) struct str text = {0};
	str_putc(&text, '\n');
	try(diff_writers[format].write(reports->diff, options, byte_sink_to_text(&text)));
	return export_file_append(path, reports->inputs, reports->nr_inputs, text.data, text.len);
}

static struct err *write_report(
	const struct reports *reports, enum diff_format format, const char *path)
{
	struct export_file file;
	struct diff_writer_options options = reports->options;
	options.width = find_width(path);
	if (is_shared(format, path))
		return append_report(reports, format, &options, path);
	try(export_file_open(path, reports->inputs, reports->nr_inputs, &file));
	return export_file_end(&file,
		diff_writers[format].write(reports->diff, &options, export_file_sink(&file)));
}

/* What `convert --baseline` writes. */
static struct err *write_picture(
	const struct reports *reports, enum export_format format, const char *path)
{
	size_t count;
	struct export_file file;
	struct export_options options = {.baseline = &reports->baseline};
	if (!path)
		return NULL;
	try(export_file_open(path, reports->inputs, reports->nr_inputs, &file));
	return export_file_end(&file,
		export_all(&count)[format].write(reports->new, &options, export_file_sink(&file)));
}

static bool is_stdout(const char *path)
{
	return path && strcmp(path, "-") == 0;
}

/* How many of the reports beside the main one go to standard output: they are for programs, which
 * would not find theirs among others. But GitHub's runner does, in all that a step prints. */
static int count_on_stdout(const struct diff_run_options *options)
{
	int count = is_stdout(options->html) + is_stdout(options->svg);
	for (int i = 0; i < DIFF_FORMAT_COUNT; i++)
		count += i != DIFF_GITHUB && is_stdout(options->files[i]);
	return count;
}

struct err *diff_run_check_files(const struct diff_run_options *options)
{
	int count = count_on_stdout(options);
	return count + (count && is_stdout(options->files[DIFF_GITHUB])) > 1
		       ? err_new(ERR_USAGE,
				 "one report can go to standard output, give the others files")
		       : NULL;
}

static struct err *write_reports(const struct reports *reports,
	const struct diff_run_options *options, enum diff_format format, const char *output)
{
	for (int i = 0; i < DIFF_FORMAT_COUNT; i++)
		if (options->files[i])
			try(write_report(reports, (enum diff_format)i, options->files[i]));
	try(write_picture(reports, EXPORT_HTML, options->html));
	try(write_picture(reports, EXPORT_SVG, options->svg));
	return is_stdout(output) && count_on_stdout(options)
		       ? NULL
		       : write_report(reports, format, output);
}

/* Where the repository is, as GitHub's runner and GitLab's say. */
static const char *find_source_root(void)
{
	const char *github = getenv("GITHUB_WORKSPACE");
	return github ? github : getenv("CI_PROJECT_DIR");
}

static const char **join_paths(const struct input *base, const struct input *new)
{
	const char **paths = mem_zalloc_array(base->nr_paths + new->nr_paths, sizeof(*paths));
	memcpy(paths, base->paths, base->nr_paths * sizeof(*paths));
	memcpy(paths + base->nr_paths, new->paths, new->nr_paths * sizeof(*paths));
	return paths;
}

/* ---- all of it ---- */

static struct err *compare_and_write(struct diff_run_options *options, const struct input *base,
	const struct input *new, enum diff_format format, const char *output,
	enum diff_verdict *ret)
{
	bool is_forced = options->diff.is_forced;
	struct loading of_base = {base, &options->select, is_forced, NULL, NULL};
	struct loading of_new = {new, &options->select, is_forced, NULL, NULL};
	struct difference *diff = NULL;
	struct filter filter = select_filter(&options->select);
	options->diff.is_part = !filter_wants_all_of_event(&filter);
	struct err *err = load_both(&of_base, &of_new);
	console_show_end();
	if (!err)
		err = difference_create(of_base.profile, of_new.profile, &options->diff, &diff);
	if (!err) {
		CLEANUP_FREE const char **inputs = join_paths(base, new);
		struct reports reports = {
			.diff = diff,
			.new = of_new.profile,
			.options = {.limit = options->limit,
				.base_name = base->name,
				.new_name = new->name,
				.source_root = find_source_root()},
			.baseline = {.profile = of_base.profile,
				.name = input_short_name(base),
				.profile_name = input_short_name(new),
				.judging = &options->diff},
			.inputs = inputs,
			.nr_inputs = base->nr_paths + new->nr_paths,
		};
		err = write_reports(&reports, options, format, output);
	}
	if (!err)
		*ret = diff->verdict;
	difference_destroy(diff);
	profile_destroy(of_base.profile);
	profile_destroy(of_new.profile);
	return err;
}

struct err *diff_run_open(const struct diff_run_files *files, struct input *ret)
{
	return files->ring ? input_open_spans(files->ring, files->paths, files->count, ret)
			   : input_open_paths(files->paths, files->count, ret);
}

static void rename_input(struct input *input, const char *name)
{
	if (!name)
		return;
	mem_free(input->name);
	input->name = mem_strdup(name);
}

struct err *diff_run(struct diff_run_options *options, const struct diff_run_files *base,
	const struct diff_run_files *new, enum diff_format format, const char *output,
	enum diff_verdict *ret)
{
	CLEANUP(input_deinit) struct input of_base = {0}, of_new = {0};
	if (count_on_stdout(options) > 1)
		return err_new(
			ERR_USAGE, "one report can go to standard output, give the others files");
	try(diff_run_open(base, &of_base));
	try(diff_run_open(new, &of_new));
	rename_input(&of_base, options->base_name);
	rename_input(&of_new, options->new_name);
	naming_begin(&options->select.naming);
	struct err *err = compare_and_write(options, &of_base, &of_new, format, output, ret);
	naming_end(&options->select.naming);
	return err;
}
