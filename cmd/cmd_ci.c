#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/baseline_file.h"
#include "cmd/baseline_store.h"
#include "cmd/ci_process.h"
#include "cmd/ci_record.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/diff_run.h"
#include "cmd/import_input.h"
#include "cmd/raise_signal.h"
#include "cmd/record_options.h"
#include "format/base/fd.h"
#include "format/base/output_file.h"
#include "record/host/feature.h"
#include "record/host/host.h"

enum {
	EXIT_NOT_PERMITTED = 77, /* automake's "skipped" */
};

struct ci_options {
	struct ci_record_options record;
	const char *store_folder, *job, *branch, *base_branch, *kept_folder;
	bool saves, allows_unprofiled;
	struct diff_run_options diff;
};

#define FIELD(name) offsetof(struct ci_options, name)

static const struct opt_word orders[] = {
#define X(name, word) {word, name, false},
	CI_ORDERS(X)
#undef X
		{0},
};

static const struct opt rows[] = {
	{"runs", 0, "N", opt_u32, FIELD(record.runs), .help = "how often each command is run",
		.group = "Runs", .standard = "5", .least = "1", .most = "1000"},
	{"base", 0, "COMMAND", opt_string, FIELD(record.base),
		.help = "run this, too, by the shell, and compare with it; recordings: ebprof "
			"diff"},
	{"order", 0, "ORDER", opt_word, FIELD(record.order), .help = "how both take turns: *",
		.standard = "abba", .words = orders},
	{"freq", 'F', "N|*", opt_string, FIELD(record.frequency),
		.help = "samples a second and CPU (" RECORD_OPTIONS_HZ ")",
		.words = record_options_rates},
	{"event", 'e', "EVENT", opt_string, FIELD(record.event), .help = "what is sampled: *",
		.standard = "auto", .words = record_options_events},
	{"keep", 0, "DIR", opt_string, FIELD(kept_folder), .help = "keep the recordings there"},
	{"allow-unprofiled", 0, NULL, opt_flag, FIELD(allows_unprofiled),
		.help = "where profiling is not permitted run the command all the same"},
	{"quiet", 'q', NULL, opt_flag, FIELD(record.is_quiet), .help = "do not tell of each run"},
	{"job", 0, "NAME", opt_string, FIELD(job),
		.help = "compare with the baseline of this benchmark", .group = "Baselines"},
	{"branch", 0, "NAME", opt_string, FIELD(branch), .help = "... on this branch",
		.standard = BASELINE_STORE_BRANCH},
	{"base-branch", 0, "NAME", opt_string, FIELD(base_branch),
		.help = "... or on this one, where that has none"},
	{"baseline-dir", 0, "DIR", opt_string, FIELD(store_folder),
		.help = "the folder of all baselines", .standard = BASELINE_STORE_FOLDER},
	{"save", 0, NULL, opt_flag, FIELD(saves),
		.help = "let these runs be the branch's baseline, unless they fail"},
	DIFF_RUN_ROWS(struct ci_options, diff, "inconclusive"),
	NAMING_FILE_ROWS(struct ci_options, diff.select.naming),
	SELECT_HIDDEN_ROWS(struct ci_options, diff.select),
	{0},
};

static const struct opt_foreign ci_foreign[] = {
	{"-r", "it is --runs N"},
	{"--repeat", "it is --runs N"},
	{0},
};

/* ---- what it works with ---- */

struct ci {
	struct ci_options *options;
	struct ci_folder folder;
	struct ci_files base, new;
	char *base_name; /* of a baseline */
	char *new_name;  /* as the base command is shown: with its arguments; NULL: without them */
};

static void ci_deinit(struct ci *ci)
{
	ci_folder_deinit(&ci->folder);
	ci_files_deinit(&ci->base);
	ci_files_deinit(&ci->new);
	mem_free(ci->base_name);
	mem_free(ci->new_name);
}

/* ---- the baseline ---- */

static struct err *find_on(struct store *store, const struct ci_options *options,
	struct baseline_store_wanted *wanted, struct baseline_store_found *ret)
{
	CLEANUP(str_deinit) struct str cpu_model = {0};
	if (!host_put_cpu_model(&cpu_model))
		str_puts(&cpu_model, "unknown");
	wanted->job = options->job;
	wanted->cpu_model = str_text(&cpu_model);
	wanted->is_forced = options->diff.diff.is_forced;
	return baseline_store_find(store, wanted, ret);
}

/*
 * One of another CPU model is no reason to stop where another branch is still to be asked, or where
 * these runs become the first of this model.
 */
static struct err *find_newest(
	struct store *store, const struct ci_options *options, struct baseline_store_found *ret)
{
	struct baseline_store_wanted own = {
		.branch = options->branch,
		.needs_none = options->saves || options->base_branch,
	};
	struct baseline_store_wanted base = {
		.branch = options->base_branch,
		.needs_none = options->saves,
	};
	try(find_on(store, options, &own, ret));
	if (ret->entry || !options->base_branch)
		return NULL;
	store_ref_destroy(ret->ref);
	return find_on(store, options, &base, ret);
}

static void say_found(struct ci *ci, const struct baseline_store_found *found)
{
	struct str name = {0};
	str_printf(&name, "baseline of %s on %s", found->ref->job, found->ref->branch);
	ci->base_name = str_steal(&name);
	if (ci->options->record.is_quiet)
		return;
	CLEANUP(str_deinit) struct str samples = {0}, date = {0};
	console_put_date(&date, found->entry->time_s);
	console_put_count(&samples, found->entry->samples);
	console_say("compared with the %s, %llu %s with %s %s, saved %s", ci->base_name,
		(unsigned long long)found->entry->runs,
		str_plural(found->entry->runs, "run", "runs"), str_text(&samples),
		str_plural(found->entry->samples, "sample", "samples"), str_text(&date));
}

static struct err *write_baseline(struct ci *ci, const struct bytes_buf *bytes)
{
	const char *path = ci_folder_add(&ci->folder, "baseline.data", &ci->base);
	struct output_file *file;
	struct output_file_options options = {.path = path, .owner = caller_find()};
	try(output_file_create(&options, &file));
	struct err *err = fd_write_all(output_file_fd(file), bytes->data, bytes->len);
	err = err ? err_wrap(err, "%s", path) : output_file_publish(file);
	if (!err)
		err = output_file_close(file);
	output_file_destroy(file);
	return err;
}

static struct err *take_baseline(struct ci *ci, struct store *store)
{
	const struct ci_options *options = ci->options;
	struct baseline_store_found found;
	try(find_newest(store, options, &found));
	struct bytes_buf bytes = {0};
	struct err *err = NULL;
	if (found.entry) {
		err = store_read(store, found.entry->hash, &bytes);
		if (!err)
			err = write_baseline(ci, &bytes);
		if (!err)
			say_found(ci, &found);
	}
	bytes_buf_deinit(&bytes);
	store_ref_destroy(found.ref);
	return err;
}

/* Before anything is run: what is wrong with it is known at once. */
static struct err *find_baseline(struct ci *ci)
{
	const struct ci_options *options = ci->options;
	struct store *store;
	if (options->record.base || !options->job)
		return NULL;
	if (!options->saves && access(options->store_folder, F_OK) && errno == ENOENT)
		return NULL;
	try(baseline_store_open(options->store_folder, options->saves, &store));
	struct err *err = take_baseline(ci, store);
	store_close(store);
	return err;
}

static struct err *save(struct ci *ci)
{
	struct ci_options *options = ci->options;
	struct baseline_file_options file = {
		.paths = ci->new.data,
		.nr_paths = ci->new.len,
		.naming = &options->diff.select.naming,
		.max_bytes = BASELINE_FILE_MAX_BYTES,
		.is_forced = options->diff.diff.is_forced,
	};
	struct baseline_store_target target = {
		.folder = options->store_folder,
		.job = options->job,
		.branch = options->branch,
		.is_quiet = options->record.is_quiet,
	};
	return baseline_store_save(&target, &file);
}

/* ---- all of it ---- */

static int cmd_ci_fail(struct err *err)
{
	console_fail(err);
	return DIFF_EXIT_ERROR;
}

static char *join_words(char *const *words)
{
	struct str text = {0};
	for (; *words; words++)
		str_printf(&text, "%s%s", text.len ? " " : "", *words);
	return str_steal(&text);
}

static struct err *cmd_ci_compare(struct ci *ci, enum diff_verdict *verdict)
{
	struct diff_run_options *options = &ci->options->diff;
	const struct ci_record_options *record = &ci->options->record;
	struct diff_run_files base = {
		.paths = (const char *const *)ci->base.data, .count = ci->base.len};
	struct diff_run_files new = {
		.paths = (const char *const *)ci->new.data, .count = ci->new.len};
	options->base_name = record->base ? record->base : ci->base_name;
	if (record->base)
		ci->new_name = join_words(record->command);
	options->new_name = record->base ? ci->new_name : record->command[0];
	return diff_run(options, &base, &new, DIFF_TEXT, "-", verdict);
}

/* Runs that nothing is compared with are made to be saved, or to be kept. */
static struct err *go_without(const struct ci_options *options)
{
	CLEANUP(str_deinit) struct str none = {0};
	str_printf(&none, "there is no baseline of %s on %s", options->job, options->branch);
	if (options->base_branch)
		str_printf(&none, " or %s", options->base_branch);
	str_puts(&none, " yet for this CPU model");
	if (!options->saves && !options->kept_folder)
		return err_new(ERR_USAGE, "%s: --save makes the first one", str_text(&none));
	console_say("%s", str_text(&none));
	return NULL;
}

static struct err *compare_and_save(struct ci *ci, int *code)
{
	const struct ci_options *options = ci->options;
	enum diff_verdict verdict = DIFF_SAME;
	*code = options->saves ? DIFF_EXIT_OK : DIFF_EXIT_ERROR;
	if (ci->base.len) {
		try(cmd_ci_compare(ci, &verdict));
		*code = (int)diff_run_exit(&options->diff, verdict);
		if (*code == DIFF_EXIT_INCONCLUSIVE)
			console_say("exit status 3: what is inconclusive fails here; --fail-on "
				    "regression lets it pass");
	}
	if (options->saves && (verdict == DIFF_SAME || options->diff.fail_on == DIFF_GATE_NONE))
		return save(ci);
	if (options->saves)
		console_say("not saved as a baseline: %s",
			verdict == DIFF_INCONCLUSIVE ? "the comparison is inconclusive"
						     : "they are slower");
	return NULL;
}

static int cmd_ci_judge(void *context)
{
	int code;
	struct err *err = compare_and_save(context, &code);
	if (err)
		code = cmd_ci_fail(err);
	if (fflush(stdout) && errno != EPIPE && code == DIFF_EXIT_OK)
		code = cmd_ci_fail(err_sys(errno, "standard output"));
	return code;
}

/* Judging, which may take its time, has a process of its own: a signal ends it at once. */
static struct err *record_and_judge(struct ci *ci, int *code)
{
	const struct ci_options *options = ci->options;
	int status;
	try(find_baseline(ci));
	if (!options->record.base && !ci->base.len)
		try(go_without(options));
	try(ci_record_all(&options->record, &ci->folder, &ci->base, &ci->new));
	try(ci_process_run(cmd_ci_judge, ci, &status));
	if (ci_watch_signal())
		return NULL;
	if (WIFSIGNALED(status))
		return err_new(ERR_UNAVAILABLE, "comparing died of signal %d (%s)",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	*code = WEXITSTATUS(status);
	return NULL;
}

/* In a second process: when one of both is killed, the other one tidies up. */
static int cmd_ci_work(void *context)
{
	struct ci *ci = context;
	struct ci_strangers none;
	struct ci_watch watch;
	int code = DIFF_EXIT_ERROR;
	ci_adopt_begin(&none);
	ci_watch_begin(&watch);
	struct err *err = record_and_judge(ci, &code);
	if (err || ci_watch_signal())
		ci_adopt_end(&none);
	if (err)
		code = cmd_ci_fail(err);
	ci_deinit(ci);
	ci_watch_end(&watch);
	if (ci_watch_signal())
		raise_signal_by_default(ci_watch_signal());
	return code;
}

static int run_ci(struct ci_options *options)
{
	struct ci ci = {.options = options};
	struct ci_watch watch;
	struct ci_strangers strangers;
	int status = 0;
	ci_adopt_begin(&strangers);
	ci_watch_begin(&watch);
	struct err *err = ci_folder_create(options->kept_folder, &ci.folder);
	if (!err)
		err = ci_process_run(cmd_ci_work, &ci, &status);
	if (ci_watch_signal() || WIFSIGNALED(status))
		ci_adopt_end(&strangers);
	ci_deinit(&ci);
	vec_deinit(&strangers);
	ci_watch_end(&watch);
	if (err)
		return cmd_ci_fail(err);
	if (ci_watch_signal())
		raise_signal_by_default(ci_watch_signal());
	return raise_signal_or_exit_code(status);
}

/* ---- where nothing can be recorded ---- */

static int run_unprofiled(const struct ci_options *options, const char *why)
{
	int status;
	console_say("not permitted to profile: %s", why);
	if (!options->allows_unprofiled) {
		console_say_more(
			"nothing was run; --allow-unprofiled runs the command all the same");
		return EXIT_NOT_PERMITTED;
	}
	console_say_more("the command is run without, and nothing is compared");
	struct err *err = ci_record_run_plain(options->record.command, &status);
	return err ? cmd_ci_fail(err) : raise_signal_or_exit_code(status);
}

/* ---- options ---- */

/* It would be run. */
static struct err *refuse_recording_as_base(const char *base)
{
	return err_new(ERR_USAGE,
		"--base runs a command, and %s is a recording: \"ebprof diff %s NEW\" compares "
		"recordings, \"ebprof diff OLD... -- NEW...\" several of each",
		base, base);
}

static struct err *cmd_ci_check_options(const struct ci_options *options)
{
	if (options->record.base && import_input_is_recording(options->record.base))
		return refuse_recording_as_base(options->record.base);
	if (!*options->record.command)
		return err_new(ERR_USAGE,
			"no command to run: give -- COMMAND, and --base 'COMMAND' or --job NAME to "
			"compare it with; ebprof diff compares recordings");
	if (!options->record.base && !options->job)
		return err_new(ERR_USAGE, "compare it with what? Give --base 'COMMAND', or --job "
					  "NAME for a baseline");
	if (options->saves && !options->job)
		return err_new(ERR_USAGE, "--save: of what? Give --job NAME");
	return diff_run_check_files(&options->diff);
}

/* The first word says what is to be done; options stand behind it. */
static struct err *take_verb(int argc, char **argv)
{
	bool is_option = argc > 1 && argv[1][0] == '-';
	if (argc < 2 || (is_option && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0))
		return err_new(ERR_USAGE, "what is to be done? ebprof ci run ... "
					  "(see ebprof ci --help)");
	if (!is_option && strcmp(argv[1], "run") != 0)
		return err_new(ERR_USAGE,
			"\"%s\" is not run (see ebprof ci --help); ebprof diff compares recordings",
			argv[1]);
	return NULL;
}

static void ci_options_deinit(struct ci_options *options)
{
	diff_run_deinit(&options->diff);
}

static int cmd_ci_run(const struct command *command, int argc, char **argv)
{
	CLEANUP(ci_options_deinit)
	struct ci_options options = {0};
	CLEANUP(str_deinit) struct str why = {0};
	int rest, code, skipped = argc > 1 && argv[1][0] != '-';
	struct err *err = take_verb(argc, argv);
	if (err)
		return cmd_ci_fail(err);
	if (!opt_begin(command, argc - skipped, argv + skipped, &options, &rest, &code))
		return code == CONSOLE_OK ? DIFF_EXIT_OK : DIFF_EXIT_ERROR;
	options.record.command = argv + skipped + rest;
	err = cmd_ci_check_options(&options);
	if (err)
		return cmd_ci_fail(err);
	return feature_records_commands(&why) ? run_ci(&options)
					      : run_unprofiled(&options, str_text(&why));
}

const struct command command_ci = {
	.name = "ci",
	.summary = "run a benchmark several times, and fail when it became slower",
	.usage = "run [OPTIONS] -- COMMAND [ARGS]",
	.description = "Records the command several times and compares its functions with those of "
		       "another\n"
		       "command (--base), or with a baseline that was kept (--job): what diff says "
		       "of it, it\n"
		       "says, and ends as --fail-on (inconclusive) asks for.",
	.examples = "  sudo ebprof ci run --base 'old/bench in.json' -- new/bench in.json\n"
		    "  sudo ebprof ci run --job parser --save -- ./bench in.json      # on the "
		    "main branch\n"
		    "  sudo ebprof ci run --job parser --branch fix-1 --base-branch main -- "
		    "./bench in.json\n",
	.exit_status = "  0   nothing became slower, or --fail-on none\n"
		       "  1   a regression\n"
		       "  2   an error, wrong usage, a command that failed, or no baseline without "
		       "--save\n"
		       "  3   too few samples to tell, or runs that differ too much; 0 with\n"
		       "      --fail-on regression\n"
		       "  77  not permitted to profile\n"
		       "  with --allow-unprofiled, where that is so, the command's own\n",
	.options = rows,
	.foreign = ci_foreign,
	.stops_at_operand = true,
	.run = cmd_ci_run,
};
