#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/bounded_export.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/export_file.h"
#include "cmd/export_labels.h"
#include "cmd/import_input.h"
#include "cmd/input.h"
#include "cmd/select.h"
#include "cmd/select_check.h"
#include "format/base/mem.h"
#include "format/base/path.h"
#include "report/analyse/refine_stacks.h"
#include "report/analyse/roots.h"
#include "report/analyse/wait_reasons.h"
#include "report/analyse/wakers.h"
#include "report/model/label_sets.h"
#include "report/model/main_event.h"
#include "report/model/regular_file.h"
#include "report/name/script_frames.h"
#include "report/name/symbol/symbolizer.h"
#include "report/write/export/export.h"
#include "report/write/export/gzip.h"

struct convert_options {
	struct input_option input;
	const char *baseline, *output;
	bool list, with_wakers, with_source;
	struct debug_dirs source_dirs;
	struct export_code code;
	bool formats[EXPORT_FORMAT_COUNT];
	struct export_options export;
	struct roots roots;
	struct select_options select;
};

/* ---- --by: whose a sample is becomes outermost in its stack ---- */

static const struct opt_word export_roots_words[] = {
#define X(kind, word) {word, kind, false},
	ROOT_KINDS(X)
#undef X
		{0},
};

static bool is_same_root(const struct roots *roots, uint32_t index, uint32_t kind, const char *key)
{
	const char *other = roots->keys[index];
	return roots->kinds[index] == kind && !key == !other && (!key || !strcmp(key, other));
}

/* A key of labels, or one of the words. */
static struct err *export_roots_add(const struct opt *row, const char *word, struct roots *roots)
{
	uint32_t kind = ROOT_LABEL;
	size_t len = strlen(word);
	const char *key = label_key_of_word(word, &len);
	if (!key)
		try(opt_find_word(row, word, strlen(word), &kind));
	for (uint32_t i = 0; i < roots->count; i++)
		if (is_same_root(roots, i, kind, key))
			return err_new(ERR_USAGE, "%s is given twice", word);
	if (roots->count == ROOTS_MAX)
		return err_new(ERR_USAGE, "there is no room for so many");
	roots->keys[roots->count] = key ? mem_strdup(key) : NULL;
	roots->kinds[roots->count++] = (enum root_kind)kind;
	return NULL;
}

static struct err *export_roots_parse(const struct opt *row, const char *text, void *member)
{
	CLEANUP(roots_deinit) struct roots roots = {0};
	CLEANUP_FREE char *copy = mem_strdup(text);
	char *rest = copy;
	for (char *word; (word = strsep(&rest, ","));)
		try(export_roots_add(row, word, &roots));
	roots_deinit(member);
	*(struct roots *)member = roots;
	roots.count = 0;
	return NULL;
}

/* ---- options ---- */

#define FIELD(name) offsetof(struct convert_options, name)

static const struct opt rows[] = {
	{"list", 0, NULL, opt_flag, FIELD(list), .help = "list the formats",
		.group = "Format (exactly one)"},
#define X(format, function, name, suffix, traits, text) \
	{name, 0, NULL, opt_flag, FIELD(formats[format]), .help = text},
	EXPORT_FORMATS(X)
#undef X
		{"labels", 0, "LIST", export_labels_parse, FIELD(export.labels),
			.help = "pprof, json, otlp: labels of samples: *",
			.standard = "comm,thread,pid,tid,container,cgroup,unit,pod,origin,label",
			.words = export_labels_words},
	{"wakers", 0, NULL, opt_flag, FIELD(with_wakers),
		.help = "stacks of waits go on with the stack of who ended them"},
	{"hide-reason", 0, "REASON[,..]", select_parse_reasons, FIELD(select.hidden_reasons),
		.help = "without waits of these reasons: poll,sleep"},
	{"by", 0, "LIST", export_roots_parse, FIELD(roots),
		.help = "outermost in stacks: *; label:KEY", .words = export_roots_words},
	INPUT_ROW(struct convert_options, input, "FILE|-", "Input and output"),
	RING_ROWS(struct convert_options, input.ring),
	{"from-rows", 0, NULL, opt_flag, FIELD(input.from_rows),
		.help = "the input is rows, as --rows or a query of them wrote it, and nothing "
			"else"},
	{"baseline", 0, "FILE", opt_string, FIELD(baseline),
		.help = "html, svg: show what changed since this recording"},
	{"with-source", 0, NULL, opt_flag, FIELD(with_source),
		.help = "html: with lines and instructions of the hottest functions"},
	{"source-dir", 0, "DIR", naming_parse_dir, FIELD(source_dirs),
		.help = "look for source files below DIR first; repeatable"},
	{"output", 'o', "FILE|-", opt_string, FIELD(output),
		.help = "where to (ebprof.SUFFIX for pprof, html, svg, otlp; - for text); NAME.gz "
			"is compressed, NAME.svg needs no --svg"},
	{"quiet", 'q', NULL, opt_quiet, 0, .help = "say nothing but errors"},
	SELECT_ROWS(struct convert_options, select),
	{0},
};

static const struct opt_foreign foreign[] = {
	{"-F", "each format has its fields: --json has all; for --pprof, --json, --otlp --labels"},
	{"--fields", "each format has its fields: --json has all; for --pprof, --json, --otlp "
		     "--labels"},
	{"--script", "it is --perf-script"},
	{"--wall", "-e wall chooses it, where it was recorded"},
	{"--off-cpu", "-e offcpu chooses it, where it was recorded"},
	{"--format", "each format is an option: --speedscope, --pprof, --folded, ...; --list"},
	{"-f", "each format is an option: --speedscope, --pprof, --folded, ...; --list"},
	{"--flamegraph", "it is --svg, or --html with tables and a time line"},
	{"--collapsed", "it is --folded"},
	{"--flame", "it is --svg, or --html with tables and a time line"},
	{"--icicle", "the page has it: --html, key 3"},
	{"--inverted", "the page has inverted stacks: key I; in a terminal ebprof report -G"},
	{"--raw", "it is --folded; --json has all of each sample"},
	{"--gecko", "it is --firefox"},
	{"--profiler", "it is --firefox"},
	{"--jfr", "that format is not written; --list has those that are"},
	{"--to", "each format is an option: --speedscope, --pprof, --folded, ...; --list"},
	{"--threads", "--by thread"},
	{"-t", "--by thread; to choose a thread: --tid"},
	{"--include", "-S FUNCTION, -S '/EXPRESSION/'"},
	{"--exclude", "in a terminal, ebprof report, ! leaves stacks out"},
	{"--width", "the picture is as wide as its window"},
	{"--height", "the picture is as high as its stacks"},
	{"--minwidth", "what is too narrow to be seen is left out, which the picture says"},
	{"--colors", "colours are languages, kernel, libraries and the program"},
	{"--reverse", "the page has inverted stacks: key I; in a terminal ebprof report -G"},
	{"--title", "the page and the picture are called as the recording is"},
	{"--to-json", "it is --json"},
	{"--to-ctf", "LTTng's format is not written; --list has those that are"},
	{0},
};

/* ---- the format ---- */

static void list_formats(void)
{
	size_t count;
	int names = 0, suffixes = 0;
	const struct exporter *exporters = export_all(&count);
	for (size_t i = 0; i < count; i++) {
		int name = (int)strlen(exporters[i].name),
		    suffix = (int)strlen(exporters[i].suffix);
		names = name > names ? name : names;
		suffixes = suffix > suffixes ? suffix : suffixes;
	}
	for (size_t i = 0; i < count; i++)
		printf("%-*s  %-*s  %s\n", names, exporters[i].name, suffixes, exporters[i].suffix,
			exporters[i].help);
}

static struct err *choose_format(const struct convert_options *options, const struct exporter **ret)
{
	size_t count, chosen = 0;
	const struct exporter *exporters = export_all(&count);
	CLEANUP(str_deinit) struct str names = {0};
	for (size_t i = 0; i < count; i++) {
		str_printf(&names, "%s--%s", i ? ", " : "", exporters[i].name);
		if (!options->formats[i])
			continue;
		*ret = &exporters[i];
		chosen++;
	}
	if (!chosen && options->output && export_of_name(options->output)) {
		*ret = export_of_name(options->output);
		chosen = 1;
	}
	if (chosen == 1 && options->baseline && !((*ret)->traits & EXPORT_COMPARES))
		return err_new(ERR_USAGE,
			"--%s cannot show differences: --baseline is for --html "
			"and --svg",
			(*ret)->name);
	if (chosen == 1 && options->with_source &&
		(!((*ret)->traits & EXPORT_HAS_CODE) || options->baseline))
		return err_new(ERR_USAGE, "--with-source is for --html without a baseline");
	if (chosen == 1 && options->source_dirs.len && !options->with_source)
		return err_new(ERR_USAGE, "--source-dir is for --html --with-source");
	if (chosen == 1)
		return NULL;
	return err_new(ERR_USAGE, "%s %s",
		chosen ? "one format at a time:" : "convert into what? Choose one of",
		str_text(&names));
}

/* ---- the output ---- */

static bool cmd_convert_ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);
	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static struct err *write_export(const struct profile *profile, const struct exporter *exporter,
	const struct convert_options *options, struct export_file *file)
{
	struct byte_sink sink = export_file_sink(file);
	/* A format with .gz in its own suffix compresses itself. */
	bool is_compressed = cmd_convert_ends_with(file->path, ".gz") &&
			     !cmd_convert_ends_with(exporter->suffix, ".gz");
	if (!is_compressed)
		return bounded_export_write(exporter, profile, &options->export, sink);
	struct gzip *gzip = gzip_create(sink);
	struct err *err =
		bounded_export_write(exporter, profile, &options->export, gzip_sink(gzip));
	if (!err)
		err = gzip_finish(gzip);
	gzip_destroy(gzip);
	return err;
}

static void cmd_convert_say_done(const struct profile *profile, const struct export_file *file)
{
	CLEANUP(str_deinit) struct str text = {0};
	console_put_count(&text, profile->samples.len);
	str_printf(&text, " samples -> %s (", file->path);
	console_put_bytes(&text, file->bytes);
	console_note("%s)", str_text(&text));
}

static struct err *convert(const struct profile *profile, const struct exporter *exporter,
	const struct convert_options *options, const struct input *input)
{
	CLEANUP(str_deinit) struct str name = {0};
	if (options->output)
		str_puts(&name, options->output);
	else if (exporter->traits & EXPORT_BINARY)
		str_printf(&name, "ebprof%s", exporter->suffix);
	else
		str_puts(&name, "-");
	struct export_file file;
	try(export_file_open(str_text(&name), input->paths, input->nr_paths, &file));
	bool is_stdout = !file.file;
	try(export_file_end(&file, write_export(profile, exporter, options, &file)));
	if (!is_stdout)
		cmd_convert_say_done(profile, &file);
	return NULL;
}

static struct err *check_output(
	const struct convert_options *options, const struct exporter *exporter)
{
	if ((exporter->traits & EXPORT_BINARY) && options->output &&
		strcmp(options->output, "-") == 0 && isatty(STDOUT_FILENO))
		return err_new(ERR_USAGE,
			"--%s is binary: redirect standard output, it is a "
			"terminal",
			exporter->name);
	return NULL;
}

/* ---- the input ---- */

static void convert_name_functions(struct profile *profile, const struct convert_options *options)
{
	symbolize(profile, &options->select.naming.symbolize);
	refine_stacks(profile);
	wait_reasons_hide(
		profile, options->select.hidden_reasons.data, options->select.hidden_reasons.len);
	if (options->with_wakers)
		wakers_add(profile);
}

static void cmd_convert_filter(
	struct profile *profile, const struct convert_options *options, const struct filter *filter)
{
	filter_samples(profile, filter);
	filter_stacks(profile, filter);
	roots_add(profile, &options->roots);
}

/* What is chosen by numbers and times is of the other recording: here these are others. */
static struct err *load_baseline(const struct convert_options *options, struct profile **ret)
{
	const struct filter filter = select_filter(&options->select);
	const struct filter of_names = filter_of_names(&filter);
	CLEANUP_FD int fd = -1;
	struct stat st;
	fd = regular_file_open(options->baseline, NULL, &st);
	if (fd < 0 && errno == EINVAL)
		return err_new(ERR_USAGE, "%s is no regular file", options->baseline);
	if (fd < 0)
		return err_sys(errno, "cannot open %s", options->baseline);
	try(import_input_take(options->baseline, IMPORT_AS_IT_BEGINS, &fd));
	try(input_load_open(options->baseline, fd, &options->select.naming.symbolize.files, ret));
	convert_name_functions(*ret, options);
	cmd_convert_filter(*ret, options, &of_names);
	return NULL;
}

static struct err *convert_both(struct profile *profile, const struct exporter *exporter,
	struct convert_options *options, const struct input *input)
{
	struct profile *other = NULL;
	try(load_baseline(options, &other));
	console_show_end();
	struct export_baseline baseline = {
		.profile = other,
		.name = path_last_part(options->baseline),
		.profile_name = input_short_name(input),
	};
	options->export.baseline = &baseline;
	struct err *err = convert(profile, exporter, options, input);
	options->export.baseline = NULL;
	profile_destroy(other);
	return err;
}

/* Differences are of one. */
static bool has_room_for_one(const struct convert_options *options, const struct exporter *exporter)
{
	return exporter->traits & EXPORT_ONE_EVENT || options->baseline;
}

static void say_left_out(const struct profile *profile, const struct exporter *exporter)
{
	uint32_t event = main_event_of(profile);
	size_t others = 0;
	vec_each(&profile->samples, sample)
		others += !profile_event_has(profile, event, sample->event);
	if (!others)
		return;
	CLEANUP(str_deinit) struct str text = {0};
	console_put_count(&text, others);
	str_puts(&text, str_plural(others, " sample", " samples"));
	console_note("--%s shows %s; %s of other events left out: choose with --event",
		exporter->name, profile->events.data[event].name, str_text(&text));
}

/* perf looks names up by addresses in files: those of scripts are in none. */
static void say_nameless(const struct profile *profile, const struct exporter *exporter)
{
	static const double few_percent = 1;
	struct script_frames frames;
	size_t count;
	if (exporter != &export_all(&count)[EXPORT_PERF_DATA])
		return;
	script_frames_count(profile, &frames);
	const struct script_language *most = NULL;
	vec_each(&frames.languages, language)
		if (language->samples > (most ? most->samples : 0))
			most = language;
	double percent = most ? profile_percent(most->samples, profile->samples.len) : 0;
	if (percent >= few_percent)
		console_note(
			"%.0f%% of samples are in functions of %s, whose names perf.data has no "
			"room for: --perf-script has them",
			percent, most->name);
	script_frames_deinit(&frames);
}

static struct err *load_and_convert(
	struct convert_options *options, int argc, char **argv, int rest)
{
	const struct exporter *exporter = NULL;
	try(choose_format(options, &exporter));
	try(check_output(options, exporter));
	CLEANUP(input_deinit) struct input input = {0};
	struct profile *profile;
	try(input_open_all(&options->input, argc, argv, rest, &input));
	try(select_load(&options->select, &input, false, &profile));
	struct filter filter = select_filter(&options->select);
	naming_begin(&options->select.naming);
	convert_name_functions(profile, options);
	/* What is gone has a baseline alone. */
	struct err *err = options->baseline
				  ? NULL
				  : select_check_functions(&options->select, &input, profile);
	cmd_convert_filter(profile, options, &filter);
	console_show_end();
	if (!err && has_room_for_one(options, exporter)) {
		say_left_out(profile, exporter);
		main_event_keep(profile, main_event_of(profile));
	}
	if (!err)
		say_nameless(profile, exporter);
	options->code = (struct export_code){
		.files = &options->select.naming.symbolize.files,
		.source_dirs = &options->source_dirs,
		.demangle = options->select.naming.symbolize.demangle,
	};
	options->export.code = options->with_source ? &options->code : NULL;
	if (!err)
		err = options->baseline ? convert_both(profile, exporter, options, &input)
					: convert(profile, exporter, options, &input);
	naming_end(&options->select.naming);
	profile_destroy(profile);
	return err;
}

static void convert_options_deinit(struct convert_options *options)
{
	roots_deinit(&options->roots);
	vec_deinit(&options->source_dirs);
	select_deinit(&options->select);
}

static int cmd_convert_run(const struct command *command, int argc, char **argv)
{
	CLEANUP(convert_options_deinit)
	struct convert_options options = {0};
	int rest, code;
	if (!opt_begin(command, argc, argv, &options, &rest, &code))
		return code;
	struct err *err = NULL;
	if (options.list)
		list_formats();
	else
		err = load_and_convert(&options, argc, argv, rest);
	return err ? console_fail(err) : CONSOLE_OK;
}

const struct command command_convert = {
	.name = "convert",
	.summary = "write a recording in the format of another tool",
	.usage = "--FORMAT [OPTIONS] [FILE...]",
	.description = "Names the functions of a recording and writes it for another tool. A file "
		       "appears\n"
		       "under its name when it is complete, and replaces an older one.",
	.examples = "  ebprof convert --pprof && go tool pprof -http : ebprof.pb.gz\n"
		    "  ebprof convert --svg\n"
		    "  ebprof convert --folded | flamegraph.pl > flame.svg\n"
		    "  ebprof convert --html\n"
		    "  ebprof convert --html --from-rows found.ndjson\n"
		    "  ebprof convert --firefox -o server.json.gz server.data\n"
		    "  ebprof convert --folded -o server.folded.gz server.data\n",
	.exit_status = "  0  written, or the reader of standard output closed it early\n"
		       "  1  the recording could not be read, or the output not be written\n"
		       "  2  the request is invalid\n",
	.options = rows,
	.foreign = foreign,
	.run = cmd_convert_run,
};
