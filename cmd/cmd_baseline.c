#include <string.h>
#include <time.h>

#include "cmd/baseline_list.h"
#include "cmd/baseline_store.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "format/base/caller.h"
#include "record/host/feature.h"
#include "record/host/host.h"
#include "record/output.h"

enum {
	DAY_S = 24 * 3600,
};

struct baseline_key {
	char *job, *branch;
};

struct baseline_options {
	const char *folder, *output, *event;
	struct baseline_key key;
	uint64_t max_bytes;
	uint32_t keep, older_than_days;
	bool is_forced, is_dry_run, is_json;
	struct naming_options naming;
};

/* "JOB", "JOB:BRANCH". */
static struct err *parse_key(const struct opt *row, const char *text, void *member)
{
	struct baseline_key *key = member;
	(void)row;
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	if (!len || (colon && !colon[1]))
		return err_new(ERR_USAGE, "\"%s\" is no JOB or JOB:BRANCH: a name is empty", text);
	mem_free(key->job);
	mem_free(key->branch);
	key->job = mem_strndup(text, len);
	key->branch = mem_strdup(colon ? colon + 1 : BASELINE_STORE_BRANCH);
	return NULL;
}

#define FIELD(name)         offsetof(struct baseline_options, name)
#define SIZE_TEXT(bytes)    SIZE_TEXT_OF(bytes)
#define SIZE_TEXT_OF(bytes) #bytes "B"

static const struct opt rows[] = {
	{"key", 'k', "JOB[:BRANCH]", parse_key, FIELD(key),
		.help = "whose baseline: a name of the benchmark, and the branch "
			"(" BASELINE_STORE_BRANCH ")",
		.group = "Baselines"},
	{"baseline-dir", 0, "DIR", opt_string, FIELD(folder), .help = "the folder of all baselines",
		.standard = BASELINE_STORE_FOLDER},
	{"output", 'o', "FILE|-", opt_string, FIELD(output),
		.help = "get: where to; must be given"},
	{"event", 'e', "EVENT", opt_string, FIELD(event),
		.help = "get: what it is compared with was sampled by (what record takes here)"},
	{"force", 'f', NULL, opt_flag, FIELD(is_forced),
		.help = "save, get: also what is of another CPU model or event"},
	{"max-size", 0, "SIZE", opt_size, FIELD(max_bytes),
		.help = "save: cut rare stacks until it is that small",
		.standard = SIZE_TEXT(BASELINE_FILE_MAX_BYTES)},
	{"json", 0, NULL, opt_flag, FIELD(is_json), .help = "list: for programs, keys are stable"},
	{"keep", 0, "N", opt_u32, FIELD(keep), .help = "gc: only the newest N of each key"},
	{"older-than", 0, "DAYS", opt_u32, FIELD(older_than_days),
		.help = "gc: remove what was saved more than DAYS ago"},
	{"dry-run", 0, NULL, opt_flag, FIELD(is_dry_run),
		.help = "gc: say what would go, and keep it"},
	{"quiet", 'q', NULL, opt_quiet, 0, .help = "say nothing but errors and damage"},
	NAMING_FILE_ROWS(struct baseline_options, naming),
	{0},
};

static struct err *need_key(const struct baseline_options *options)
{
	return options->key.job ? NULL : err_new(ERR_USAGE, "of what? Give -k JOB[:BRANCH]");
}

static struct err *run_save(struct baseline_options *options, int nr_operands, char **operands)
{
	struct baseline_file_options file_options = {
		.paths = operands,
		.nr_paths = (size_t)nr_operands,
		.naming = &options->naming,
		.max_bytes = options->max_bytes,
		.is_forced = options->is_forced,
	};
	struct baseline_store_target target = {
		.folder = options->folder,
		.job = options->key.job,
		.branch = options->key.branch,
		.is_quiet = console_is_quiet(),
	};
	try(need_key(options));
	return baseline_store_save(&target, &file_options);
}

/* ---- get ---- */

static struct err *write_output(const char *path, const struct bytes_buf *bytes)
{
	struct caller owner = caller_find();
	struct output *output;
	try(output_create(path, &owner, -1, &output));
	struct writer_sink sink = output_sink(output);
	struct err *err = sink.write(sink.context, bytes->data, bytes->len);
	if (!err)
		err = output_publish(output);
	if (!err)
		err = output_close(output);
	output_destroy(output);
	return err;
}

static struct err *get(
	struct store *from, const struct baseline_options *options, const char *cpu_model)
{
	struct baseline_store_wanted wanted = {
		.job = options->key.job,
		.branch = options->key.branch,
		.cpu_model = cpu_model,
		.event = options->event ? options->event
					: (feature_cycles_count() ? "cycles" : "cpu-clock"),
		.is_forced = options->is_forced,
	};
	struct baseline_store_found found;
	struct bytes_buf bytes = {0};
	try(baseline_store_find(from, &wanted, &found));
	struct err *err = found.entry ? store_read(from, found.entry->hash, &bytes)
				      : err_new(ERR_USAGE, "there is no baseline of %s on %s in %s",
						wanted.job, wanted.branch, options->folder);
	if (!err)
		err = write_output(options->output, &bytes);
	bytes_buf_deinit(&bytes);
	store_ref_destroy(found.ref);
	return err;
}

static struct err *run_get(struct baseline_options *options, int nr_operands, char **operands)
{
	CLEANUP(str_deinit) struct str cpu_model = {0};
	struct store *from;
	if (nr_operands)
		return err_new(ERR_USAGE, "get takes no \"%s\": where to is -o's", operands[0]);
	try(need_key(options));
	if (!options->output)
		return err_new(ERR_USAGE, "where to? Give -o FILE");
	if (!host_put_cpu_model(&cpu_model))
		str_puts(&cpu_model, "unknown");
	try(baseline_store_open(options->folder, false, &from));
	struct err *err = get(from, options, str_text(&cpu_model));
	store_close(from);
	return err;
}

/* ---- list ---- */

static struct err *run_list(struct baseline_options *options, int nr_operands, char **operands)
{
	struct store *from;
	if (nr_operands)
		return err_new(ERR_USAGE, "list takes no \"%s\"", operands[0]);
	try(baseline_store_open(options->folder, false, &from));
	struct err *err = baseline_list(from, options->is_json);
	store_close(from);
	return err;
}

/* ---- gc ---- */

struct sweep {
	const struct baseline_options *options;
	uint64_t files, bytes;
};

static void say_dropped(void *context, const struct store_ref *ref, const struct store_entry *entry)
{
	const struct sweep *sweep = context;
	CLEANUP(str_deinit) struct str date = {0};
	console_put_date(&date, entry->time_s);
	console_note("%s: %.12s of %s on %s, saved %s",
		sweep->options->is_dry_run ? "would go" : "removed", entry->hash, ref->job,
		ref->branch, str_text(&date));
}

static void count_removed(void *context, const char *file, uint64_t bytes)
{
	struct sweep *sweep = context;
	(void)file;
	sweep->files++;
	sweep->bytes += bytes;
}

static void say_swept(const struct sweep *sweep)
{
	CLEANUP(str_deinit) struct str bytes = {0};
	console_put_bytes(&bytes, sweep->bytes);
	console_note("%llu %s, %s, %s", (unsigned long long)sweep->files,
		str_plural(sweep->files, "file", "files"), str_text(&bytes),
		sweep->options->is_dry_run ? "would be removed" : "removed");
}

static struct err *run_gc(struct baseline_options *options, int nr_operands, char **operands)
{
	struct sweep sweep = {options, 0, 0};
	uint64_t age_s = (uint64_t)options->older_than_days * DAY_S, now_s = (uint64_t)time(NULL);
	struct store_gc_options gc = {
		.keep = options->keep,
		.before_s = age_s && age_s < now_s ? now_s - age_s : 0,
		.is_dry_run = options->is_dry_run,
		.context = &sweep,
		.dropped = say_dropped,
		.removed = count_removed,
	};
	struct store *store_of_all;
	if (nr_operands)
		return err_new(ERR_USAGE, "gc takes no \"%s\"", operands[0]);
	try(baseline_store_open(options->folder, false, &store_of_all));
	struct err *err = store_gc(store_of_all, &gc);
	store_close(store_of_all);
	if (!err)
		say_swept(&sweep);
	return err;
}

/* ---- which of them ---- */

static const struct verb {
	const char *name;
	struct err *(*run)(struct baseline_options *options, int nr_operands, char **operands);
} verbs[] = {
	{"save", run_save},
	{"get", run_get},
	{"list", run_list},
	{"gc", run_gc},
};

static struct err *find_verb(int nr_operands, char **operands, const struct verb **ret)
{
	if (!nr_operands)
		return err_new(ERR_USAGE, "save, get, list or gc? (see ebprof baseline --help)");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(verbs[i].name, operands[0]) != 0)
			continue;
		*ret = &verbs[i];
		return NULL;
	}
	return err_new(ERR_USAGE, "\"%s\" is none of save, get, list, gc", operands[0]);
}

/* What has no meaning there was meant for something else. */
static struct err *cmd_baseline_check_options(
	const struct baseline_options *options, const struct verb *verb)
{
	bool is_save = verb->run == run_save, is_get = verb->run == run_get;
	bool is_list = verb->run == run_list, is_gc = verb->run == run_gc;
	const struct {
		const char *name;
		bool is_given, is_meant;
	} checks[] = {
		{"--key", options->key.job, is_save || is_get},
		{"--output", options->output, is_get},
		{"--event", options->event, is_get},
		{"--force", options->is_forced, is_save || is_get},
		{"--max-size", options->max_bytes != BASELINE_FILE_MAX_BYTES, is_save},
		{"--json", options->is_json, is_list},
		{"--keep", options->keep, is_gc},
		{"--older-than", options->older_than_days, is_gc},
		{"--dry-run", options->is_dry_run, is_gc},
	};
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
		if (checks[i].is_given && !checks[i].is_meant)
			return err_new(ERR_USAGE, "%s has no meaning for baseline %s",
				checks[i].name, verb->name);
	return NULL;
}

static void baseline_options_deinit(struct baseline_options *options)
{
	mem_free(options->key.job);
	mem_free(options->key.branch);
	naming_deinit(&options->naming);
}

static int cmd_baseline_run(const struct command *command, int argc, char **argv)
{
	CLEANUP(baseline_options_deinit)
	struct baseline_options options = {0};
	const struct verb *verb = NULL;
	int rest, code;
	if (!opt_begin(command, argc, argv, &options, &rest, &code))
		return code;
	struct err *err = find_verb(argc - rest, argv + rest, &verb);
	if (!err)
		err = cmd_baseline_check_options(&options, verb);
	if (!err)
		err = verb->run(&options, argc - rest - 1, argv + rest + 1);
	return err ? console_fail(err) : CONSOLE_OK;
}

const struct command command_baseline = {
	.name = "baseline",
	.summary = "keep what later recordings are compared with",
	.usage = "save|get|list|gc [OPTIONS] [FILE...]",
	.description =
		"A baseline is the runs of a benchmark in one small recording, with their names "
		"and\n"
		"lines in it. All are kept in a folder: by job, branch and CPU model.\n"
		"  save FILE...  make one of these recordings (ebprof.data)\n"
		"  get           write the newest one to a file\n"
		"  list          what there is, of each key the newest first\n"
		"  gc            remove what nothing refers to, and what is too old or too many",
	.examples = "  ebprof baseline save -k json-parser run1.data run2.data run3.data\n"
		    "  ebprof baseline get -k json-parser -o base.data && ebprof report base.data\n"
		    "  ebprof baseline list\n"
		    "  ebprof baseline gc --keep 5 --older-than 90\n",
	.exit_status = "  0  it was done\n"
		       "  1  a file could not be read or written, or is damaged\n"
		       "  2  wrong usage, or the baseline is missing, or of another CPU model or "
		       "event\n",
	.options = rows,
	.run = cmd_baseline_run,
};
