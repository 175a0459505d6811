#include <string.h>
#include <sys/stat.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/diff_run.h"
#include "cmd/input.h"
#include "cmd/terminal_report.h"

struct diff_command_options {
	enum diff_format format;
	const char *output, *ring;
	bool is_tui;
	struct diff_run_options run;
};

static const struct opt_word formats[] = {
#define X(format, function, name, help) {name, format, false},
	DIFF_FORMATS(X)
#undef X
		{0},
};

#define FIELD(name) offsetof(struct diff_command_options, name)

static const struct opt rows[] = {
	DIFF_RUN_ROWS(struct diff_command_options, run, "none"),
	{"format", 0, "FORMAT", opt_word, FIELD(format), .help = "of the main report: *",
		.standard = "text", .words = formats},
	{"output", 'o', "FILE|-", opt_string, FIELD(output),
		.help = "where to write that, - is standard output", .standard = "-"},
	{"ring", 0, "DIR", opt_string, FIELD(ring),
		.help = "compare spans of time, FROM..TO, of the files that record --ring wrote "
			"there"},
	{"tui", 0, NULL, opt_flag, FIELD(is_tui),
		.help = "show both in the terminal interface instead"},
	{"quiet", 'q', NULL, opt_quiet, 0, .help = "say nothing but errors"},
	SELECT_ROWS(struct diff_command_options, run.select),
	{0},
};

static const struct opt_foreign foreign[] = {
	{"-s", "rows are chosen with --by"},
	{"--sort", "rows are chosen with --by"},
	{"-p", "periods of samples are not shown: --metric cpu-s compares seconds"},
	{"--compute", "--metric; changes always have an interval and a p-value"},
	{"-b", "--min-effect and --min-share leave out what hardly changed"},
	{"--baseline-only", "--min-effect and --min-share leave out what hardly changed"},
	{"--percent-limit", "--min-share PERCENT, --limit ROWS"},
	{"-t", "to choose a thread: --tid; for programs: --csv, --json"},
	{"-D", "--files chooses files; in a terminal ebprof report --baseline OLD shows both"},
	{"--formula", "--json has all numbers"},
	{"--order", "rows are ordered by how much of the program has changed"},
	{"--period", "--metric cpu-s compares seconds"},
	{"--ratio", "changes are ratios: +10% takes 1.1 times as long"},
	{"--threshold", "--min-effect PERCENT"},
	{"--percentage", "shares are of the samples that the options choose"},
	{"--stdio", NULL},
	{"-f", NULL},
	{0},
};

struct sides {
	struct diff_run_files base, new;
};

static struct diff_run_files side_of(const char *const *paths, int count)
{
	return (struct diff_run_files){.paths = paths, .count = (size_t)count};
}

static struct err *find_sides(int argc, char **argv, int rest, int dashes, struct sides *ret)
{
	static const char *const usual[] = {INPUT_USUAL ".old", INPUT_USUAL};
	const char *const *operands = (const char *const *)argv;
	int nr_first = (dashes < argc ? dashes : argc) - rest;
	if (dashes < argc) {
		*ret = (struct sides){side_of(operands + rest, nr_first),
			side_of(operands + dashes + 1, argc - dashes - 1)};
		if (!ret->base.count || !ret->new.count)
			return err_new(ERR_USAGE, "nothing stands %s the --: BASE.. -- NEW..",
				ret->base.count ? "behind" : "in front of");
		return NULL;
	}
	if (nr_first == 1)
		return err_new(ERR_USAGE, "compare %s with what? ebprof diff OLD NEW", argv[rest]);
	if (nr_first > 2)
		return err_new(ERR_USAGE,
			"which of the %d recordings are the old ones? BASE.. -- "
			"NEW..",
			nr_first);
	if (!nr_first)
		*ret = (struct sides){side_of(&usual[0], 1), side_of(&usual[1], 1)};
	else
		*ret = (struct sides){side_of(operands + rest, 1), side_of(operands + rest + 1, 1)};
	return NULL;
}

/* A slip: what differs nowhere is called too few samples. */
static void note_same_file(const struct sides *sides)
{
	struct stat base, new;
	for (size_t i = 0; i < sides->base.count; i++)
		for (size_t k = 0; k < sides->new.count && !stat(sides->base.paths[i], &base); k++)
			if (!stat(sides->new.paths[k], &new) && base.st_dev == new.st_dev &&
				base.st_ino == new.st_ino)
				console_note("%s and %s are the same file", sides->base.paths[i],
					sides->new.paths[k]);
}

/* What was merged in memory has no name in a folder, but the kernel's. */
static void put_base_path(struct str *out, const struct input *base)
{
	if (base->nr_paths == 1 && !base->ring.fds.len)
		str_puts(out, base->path);
	else
		str_printf(out, "/proc/self/fd/%d", base->fd);
}

static struct err *check_tui(const struct diff_command_options *options)
{
	if (diff_run_writes_files(&options->run))
		return err_new(ERR_USAGE, "--tui shows, and writes no reports");
	if (options->run.fail_on != DIFF_GATE_NONE)
		return err_new(ERR_USAGE, "--tui shows, and judges nothing: not with --fail-on");
	return err_wrap(tui_check(), "--tui");
}

static struct err *show_both(
	struct diff_command_options *options, const struct sides *sides, enum diff_exit *ret)
{
	CLEANUP(input_deinit) struct input base = {0}, new = {0};
	CLEANUP(str_deinit) struct str path = {0};
	try(check_tui(options));
	try(diff_run_open(&sides->base, &base));
	try(diff_run_open(&sides->new, &new));
	put_base_path(&path, &base);
	struct tui_options tui = {
		.file_name = new.name,
		.baseline = str_text(&path),
		.baseline_name = base.name,
		.judging = &options->run.diff,
		.fd = new.fd,
	};
	bool is_well = terminal_report(&tui, &options->run.select) == CONSOLE_OK;
	*ret = is_well ? DIFF_EXIT_OK : DIFF_EXIT_ERROR;
	return NULL;
}

static struct err *cmd_diff_compare(
	struct diff_command_options *options, const struct sides *sides, enum diff_exit *ret)
{
	enum diff_verdict verdict = DIFF_SAME;
	try(diff_run(&options->run, &sides->base, &sides->new, options->format, options->output,
		&verdict));
	*ret = diff_run_exit(&options->run, verdict);
	return NULL;
}

static struct err *check_ring_spans(const char *ring, bool are_given)
{
	return !ring || are_given ? NULL
				  : err_new(ERR_USAGE, "which times of it? ebprof diff --ring DIR "
						       "13:05..13:10 14:05..14:10");
}

/* getopt would forget where the -- stood. */
static int find_dashes(int argc, char **argv)
{
	int at = 1;
	while (at < argc && strcmp(argv[at], "--") != 0)
		at++;
	return at;
}

static void diff_command_options_deinit(struct diff_command_options *options)
{
	diff_run_deinit(&options->run);
}

static int cmd_diff_run(const struct command *command, int argc, char **argv)
{
	CLEANUP(diff_command_options_deinit)
	struct diff_command_options options = {0};
	int rest, code, dashes = find_dashes(argc, argv);
	enum diff_exit verdict = DIFF_EXIT_OK;
	struct sides sides;
	if (!opt_begin(command, dashes, argv, &options, &rest, &code))
		return code == CONSOLE_OK ? DIFF_EXIT_OK : DIFF_EXIT_ERROR;
	struct err *err = find_sides(argc, argv, rest, dashes, &sides);
	if (!err)
		err = check_ring_spans(options.ring, dashes < argc || rest < argc);
	if (!err && !options.ring)
		note_same_file(&sides);
	sides.base.ring = sides.new.ring = options.ring;
	if (!err)
		err = options.is_tui ? show_both(&options, &sides, &verdict)
				     : cmd_diff_compare(&options, &sides, &verdict);
	if (!err)
		return (int)verdict;
	console_fail(err);
	return DIFF_EXIT_ERROR;
}

const struct command command_diff = {
	.name = "diff",
	.summary = "say what became slower between two recordings, and how sure that is",
	.usage = "[OPTIONS] [OLD NEW | BASE... -- NEW...]   or   --ring DIR OLD_SPAN NEW_SPAN",
	.description = "Compares ebprof.data with ebprof.data.old, or what is named, function by "
		       "function:\n"
		       "how much longer each takes, if the rest takes as long as before. Several "
		       "runs a side\n"
		       "tell how runs differ by themselves; chance is allowed for in any case.",
	.examples =
		"  ebprof diff\n"
		"  ebprof diff old.data new.data\n"
		"  ebprof diff --fail-on regression base1.data base2.data -- new1.data new2.data\n"
		"  ebprof diff --ring /var/lib/ebprof/ring 13:05..13:10 14:05..14:10\n"
		"  ebprof diff --by line --min-effect 10% --json diff.json old.data new.data\n",
	.exit_status = "  0  it was done; with --fail-on: nothing of that was found\n"
		       "  1  --fail-on: something takes longer\n"
		       "  2  an error, wrong usage, or what cannot be compared\n"
		       "  3  --fail-on inconclusive: too few samples to tell, or runs that differ "
		       "too much\n",
	.options = rows,
	.foreign = foreign,
	.run = cmd_diff_run,
};
