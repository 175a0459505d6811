#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/archive_file.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/naming.h"
#include "cmd/process_files.h"
#include "cmd/raise_signal.h"
#include "cmd/top_recorder.h"
#include "format/base/caller.h"
#include "format/base/clock.h"
#include "format/base/fd.h"
#include "format/base/output_file.h"
#include "report/tui/tui.h"

#define TOP_KEEP   "60s"
#define TOP_MEMORY "64M"

enum {
	PIECES = 20, /* of the time that is kept: one goes at once */
};

struct top_options {
	struct top_words { /* of record, in the order given; borrowed */
		char **data;
		size_t len, cap;
	} words;
	struct str title; /* whom it is about, in the words given */
	uint64_t keep_ns, memory_bytes, interval_ns;
	bool has_target;
	struct naming_options naming;
	struct top_recorder *recorder; /* while the screen is shown; borrowed */
};

/* What record takes, it checks, too. */
static struct err *top_pass_on(const struct opt *row, const char *text, void *member)
{
	struct top_options *options = member;
	static const char *const targets[] = {
		"pid", "tid", "all-cpus", "uid", "container", "cgroup", "unit"};
	struct str option = {0};
	str_printf(&option, "--%s", row->long_name);
	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++)
		if (strcmp(targets[i], row->long_name) == 0) {
			options->has_target = true;
			str_printf(&options->title, " %s%s%s", text ? row->long_name : "all CPUs",
				text ? " " : "", text ? text : "");
		}
	vec_push(&options->words, str_steal(&option));
	if (text)
		vec_push(&options->words, mem_strdup(text));
	return NULL;
}

#define TOP_FIELD(name) offsetof(struct top_options, name)

static const struct opt top_rows[] = {
	{"pid", 'p', "PID[,..]", top_pass_on, 0, .help = "these processes", .group = "Whom"},
	{"tid", 't', "TID[,..]", top_pass_on, 0, .help = "these threads"},
	{"all-cpus", 'a', NULL, top_pass_on, 0, .help = "the whole system (the default)"},
	{"uid", 'u', "USER", top_pass_on, 0, .help = "what runs as this user"},
	{"container", 0, "ID|NAME[,..]", top_pass_on, 0, .help = "what runs in these containers"},
	{"cgroup", 0, "PATH[,..]", top_pass_on, 0,
		.help = "what runs in these control groups, or below them"},
	{"unit", 0, "NAME[,..]", top_pass_on, 0, .help = "what runs in these units of systemd's"},
	{"freq", 'F', "N|max", top_pass_on, 0, .help = "samples a second and CPU, as record has it",
		.group = "How"},
	{"event", 'e', "EVENT", top_pass_on, 0,
		.help = "what is sampled, as record has it: cpu-clock, wall, page-faults ..."},
	{"keep", 0, "TIME", opt_duration, TOP_FIELD(keep_ns),
		.help = "how much of the past is seen", .standard = TOP_KEEP, .least = "12s",
		.most = "1h"},
	{"memory", 0, "SIZE", opt_size, TOP_FIELD(memory_bytes),
		.help = "how much memory that may take; what is older goes", .standard = TOP_MEMORY,
		.least = "4M", .most = "4G"},
	{"interval", 'd', "TIME", opt_duration, TOP_FIELD(interval_ns),
		.help = "from one look to the next", .standard = "1s", .least = "200ms",
		.most = "1m"},
	{"symfs", 0, "DIR", naming_parse_symfs, TOP_FIELD(naming.symbolize.files.symfs),
		.help = "look for binaries below DIR", .group = "Symbols"},
	{"debug-dir", 0, "DIR", naming_parse_dir, TOP_FIELD(naming.symbolize.files.debug_dirs),
		.help = "look for debug files in DIR first; repeatable"},
	{"symbol-cache", 0, "DIR", naming_parse_cache, TOP_FIELD(naming.symbolize.cache_folder),
		.help = "where names and lines are kept, or \"none\""},
	NAMING_SHOW_ROWS(struct top_options, naming),
	{0},
};

static const struct opt_foreign top_foreign[] = {
	{"-K", "kernel functions can be left out with \\ and !, or chosen with K"},
	{"-U", "K chooses the kernel's, ! leaves some out"},
	{"-g", NULL},
	{"--call-graph", NULL},
	{"--debuginfod", "there is no time to fetch: O saves, and ebprof report fetches"},
	{"-z", "--keep 12s forgets sooner"},
	{"--wall", "it is -e wall"},
	{"--off-cpu", "it is -e offcpu"},
	{"--stdio", "ebprof record --duration 5, then ebprof report --stdio"},
	{"--sort", "in the screen: < > s, and b groups"},
	{"-s", "in the screen: < > s, and b groups"},
	{0},
};

/* ---- what the screen asks for ---- */

static struct err *top_open(void *context, int *ret)
{
	const struct top_options *options = context;
	return top_recorder_open(options->recorder, ret);
}

static bool top_is_over(void *context)
{
	const struct top_options *options = context;
	return top_recorder_is_over(options->recorder);
}

static struct err *copy_recording(int from, int to)
{
	char piece[64 << 10];
	for (off_t at = 0;;) {
		ssize_t got = pread(from, piece, sizeof(piece), at);
		if (got < 0)
			return err_sys(errno, "cannot read");
		if (!got)
			return NULL;
		try(fd_write_all(to, piece, (size_t)got));
		at += got;
	}
}

/* What cannot be looked up later. Without it the recording is as good as before. */
static void archive_process_files(const struct top_options *options, const char *path)
{
	struct naming_options naming = options->naming;
	struct archive_file_result result;
	if (!process_files_count(options->naming.process_files))
		return;
	naming.symbolize.only_kept = true;
	err_destroy(archive_file(path, &naming, &result));
}

static struct err *top_save(void *context, int fd, const char *path)
{
	const struct top_options *options = context;
	struct output_file_options output = {
		.path = path, .owner = caller_find(), .keeps_old = true};
	struct output_file *file = NULL;
	try(output_file_create(&output, &file));
	struct err *err = copy_recording(fd, output_file_fd(file));
	if (!err)
		err = output_file_publish(file);
	if (!err)
		err = output_file_close(file);
	output_file_destroy(file);
	if (!err)
		archive_process_files(options, path);
	return err_wrap(err, "%s", path);
}

/* ---- the screen ---- */

/* Until it is given back, nobody may write beside the screen. */
static int silence_stderr(void)
{
	fflush(stderr);
	CLEANUP_FD int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (nothing >= 0)
		dup2(nothing, STDERR_FILENO);
	return kept;
}

static void give_stderr_back(int kept)
{
	if (kept < 0)
		return;
	dup2(kept, STDERR_FILENO);
	close(kept);
}

static struct err *show_top(
	struct top_options *options, struct top_recorder *recorder, bool *is_left)
{
	CLEANUP(str_deinit) struct str words = {0};
	str_printf(
		&words, "LIVE, the last %llu s", (unsigned long long)(options->keep_ns / NS_PER_S));
	struct tui_live live = {
		.context = options,
		.open = top_open,
		.is_over = top_is_over,
		.save = top_save,
		.words = str_text(&words),
		.interval_ns = options->interval_ns,
	};
	options->naming.is_silent = options->naming.is_offline = true;
	naming_begin(&options->naming);
	options->recorder = recorder;
	struct tui_options tui = {
		.file_name = str_text(&options->title),
		.fd = -1,
		.live = &live,
		.symbolize = options->naming.symbolize,
	};
	int kept = silence_stderr();
	struct err *err = tui_run(&tui, is_left);
	give_stderr_back(kept);
	if (!*is_left)
		*is_left = !naming_end(&options->naming);
	return err;
}

/* ---- the recorder ---- */

static struct err *start_recorder(const struct top_options *options, struct top_recorder **recorder)
{
	CLEANUP(str_deinit) struct str keep = {0};
	CLEANUP(str_deinit) struct str piece = {0};
	str_printf(&keep, "%lluK,%llums", (unsigned long long)(options->memory_bytes >> 10),
		(unsigned long long)(options->keep_ns / NS_PER_MS));
	str_printf(&piece, "%llums", (unsigned long long)(options->keep_ns / NS_PER_MS / PIECES));
	struct top_recorder_options recording = {
		.words = options->words.data,
		.keep = str_text(&keep),
		.switch_ = str_text(&piece),
	};
	return top_recorder_start(&recording, recorder);
}

static void add_operands(struct top_options *options, int argc, char **argv, int rest)
{
	bool has_command = rest < argc;
	if (has_command && !options->has_target)
		str_printf(&options->title, " %s", argv[rest]);
	else if (!options->has_target) {
		vec_push(&options->words, mem_strdup("--all-cpus"));
		str_puts(&options->title, " all CPUs");
	}
	if (has_command)
		vec_push(&options->words, mem_strdup("--"));
	for (int i = rest; i < argc; i++)
		vec_push(&options->words, mem_strdup(argv[i]));
	vec_push(&options->words, NULL);
}

static void top_options_deinit(struct top_options *options)
{
	vec_each(&options->words, word)
		mem_free(*word);
	vec_deinit(&options->words);
	str_deinit(&options->title);
	naming_deinit(&options->naming);
}

static struct err *check_terminal(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_new(ERR_USAGE, "it needs a terminal: elsewhere ebprof record "
					  "--duration 5, then ebprof report");
	return tui_check();
}

static int cmd_top_run(const struct command *command, int argc, char **argv)
{
	struct top_options options = {0};
	int rest, code;
	bool is_left = false;
	struct top_recorder *recorder = NULL;
	str_puts(&options.title, "top:");
	if (!opt_begin(command, argc, argv, &options, &rest, &code)) {
		top_options_deinit(&options);
		return code;
	}
	add_operands(&options, argc, argv, rest);
	struct err *err = check_terminal();
	if (!err)
		err = start_recorder(&options, &recorder);
	setlocale(LC_CTYPE, "");
	if (!err)
		err = show_top(&options, recorder, &is_left);
	if (!is_left)
		top_recorder_stop(recorder);
	else
		top_recorder_end(recorder);
	if (tui_ending())
		raise_signal_by_default(tui_ending());
	code = err ? console_fail(err) : CONSOLE_OK;
	if (is_left) /* threads still use what freeing would take from them */
		_exit(code);
	top_options_deinit(&options);
	return code;
}

const struct command command_top = {
	.name = "top",
	.summary = "watch where the time goes, live",
	.usage = "[OPTIONS] [-- COMMAND [ARGS]]",
	.description = "Records into memory and shows the last minute of it as ebprof report shows "
		       "a file,\n"
		       "renewed each second: all views, filters and keys are the same. Space "
		       "pauses, O saves\n"
		       "what is seen. Needs the privileges of ebprof record.",
	.examples = "  sudo ebprof top\n"
		    "  sudo ebprof top -p 4242\n"
		    "  sudo ebprof top -e wall -- ./program arg\n",
	.exit_status = "  0  left by q\n"
		       "  1  it could not be recorded\n"
		       "  2  wrong usage, or no terminal\n",
	.options = top_rows,
	.foreign = top_foreign,
	.stops_at_operand = true,
	.run = cmd_top_run,
};
