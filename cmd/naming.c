#include "cmd/naming.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/console.h"
#include "cmd/process_files.h"
#include "format/base/mem.h"
#include "report/model/regular_file.h"
#include "report/name/debugfile/debuginfod_unfinished.h"

const struct opt_word naming_demangle_words[] = {
	{"usual", DEMANGLE_USUAL, false},
	{"full", DEMANGLE_FULL, false},
	{"templates", DEMANGLE_TEMPLATES, false},
	{"simplified", DEMANGLE_SIMPLIFIED, false},
	{"none", DEMANGLE_NONE, false},
	{0},
};

const struct opt_word naming_debuginfod_words[] = {
	{"off", DEBUGINFOD_OFF, false},
	{"names", DEBUGINFOD_NAMES, false},
	{"lines", DEBUGINFOD_LINES, false},
	{"full", DEBUGINFOD_FULL, false},
	{0},
};

struct err *naming_parse_no_demangle(const struct opt *row, const char *text, void *member)
{
	(void)row;
	(void)text;
	*(enum demangle_mode *)member = DEMANGLE_NONE;
	return NULL;
}

/* A folder that is mistyped would look like one that has nothing. */
static struct err *check_folder(const char *path)
{
	struct stat st;
	if (!path[0])
		return err_new(ERR_USAGE, "an empty name");
	if (stat(path, &st))
		return err_new(ERR_USAGE, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_new(ERR_USAGE, "%s is not a folder", path);
	return NULL;
}

struct err *naming_parse_symfs(const struct opt *row, const char *text, void *member)
{
	try(check_folder(text));
	return opt_string(row, text, member);
}

struct err *naming_parse_dir(const struct opt *row, const char *text, void *member)
{
	struct debug_dirs *dirs = member;
	(void)row;
	try(check_folder(text));
	vec_push(dirs, text);
	return NULL;
}

struct err *naming_parse_cache(const struct opt *row, const char *text, void *member)
{
	if (strcmp(text, "none") == 0)
		return opt_cache_folder(row, text, member);
	if (text[0] && mkdir(text, 0700) && errno != EEXIST)
		return err_new(ERR_USAGE, "cannot create %s: %s", text, strerror(errno));
	try(check_folder(text));
	return opt_cache_folder(row, text, member);
}

/* ---- debuginfod ---- */

static void show_progress(void *context, const struct debuginfod_progress *progress)
{
	(void)context;
	CLEANUP(str_deinit) struct str text = {0};
	str_printf(&text, "debuginfod: %zu of %zu files asked for, ", progress->nr_done,
		progress->nr_wanted);
	console_put_bytes(&text, progress->bytes);
	console_show("%s", str_text(&text));
}

static const int deadly_signals[] = {SIGINT, SIGTERM, SIGHUP};

/* It was set to happen once: now the signal does what it does by default. */
static void leave_nothing(int signal_number)
{
	debuginfod_unfinished_remove();
	raise(signal_number);
}

/* Those that have a handler or are ignored already stay as they are. */
static void replace_handlers(void (*from)(int), void (*to)(int))
{
	for (size_t i = 0; i < sizeof(deadly_signals) / sizeof(*deadly_signals); i++) {
		struct sigaction action;
		if (sigaction(deadly_signals[i], NULL, &action) || action.sa_handler != from)
			continue;
		action = (struct sigaction){.sa_handler = to, .sa_flags = SA_RESETHAND};
		sigaction(deadly_signals[i], &action, NULL);
	}
}

static void naming_ask_processes(struct naming_options *options)
{
	struct symbol_file_options *files = &options->symbolize.files;
	if (files->symfs || files->nr_kept || options->process_files)
		return;
	options->process_files = process_files_create(files->rules);
	files->finder = process_files_finder(options->process_files);
}

void naming_begin(struct naming_options *options)
{
	struct debuginfod_options debuginfod = {
		.mode = options->is_offline ? DEBUGINFOD_OFF : options->debuginfod,
		.progress = options->is_silent ? NULL : show_progress,
		.is_background = options->is_silent,
	};
	struct debuginfod *session = debuginfod_create(&debuginfod);
	options->symbolize.files.debuginfod = session;
	if (!options->symbolize.files.rules)
		options->symbolize.files.rules = regular_file_rules_create(REGULAR_FILE_KEPT);
	naming_ask_processes(options);
	if (session && !options->is_silent)
		replace_handlers(SIG_DFL, leave_nothing);
	if (session && !options->is_silent && !debuginfod_is_ready(session))
		console_note("DEBUGINFOD_URLS is set, but libdebuginfod.so.1 cannot be loaded%s",
			debuginfod_is_possible() ? ": install libdebuginfod1"
						 : ": this program is a static one");
}

bool naming_end(struct naming_options *options)
{
	struct debuginfod *session = options->symbolize.files.debuginfod;
	options->symbolize.files.debuginfod = NULL;
	if (!session)
		return true;
	struct debuginfod_progress progress = debuginfod_destroy(session);
	if (options->is_silent)
		return !progress.has_threads;
	replace_handlers(leave_nothing, SIG_DFL);
	console_show_end();
	CLEANUP(str_deinit) struct str bytes = {0};
	console_put_bytes(&bytes, progress.bytes);
	if (progress.bytes)
		console_note("debuginfod: fetched %s", str_text(&bytes));
	if (progress.nr_unfinished)
		console_note("debuginfod: too slow, went on without %zu of %zu files",
			progress.nr_unfinished, progress.nr_wanted);
	if (progress.nr_failed)
		console_note("debuginfod: %zu of %zu files failed: %s", progress.nr_failed,
			progress.nr_wanted, strerror(progress.errnum));
	return true;
}

void naming_deinit(struct naming_options *options)
{
	vec_deinit(&options->symbolize.files.debug_dirs);
	process_files_destroy(steal_ptr(options->process_files));
	regular_file_rules_destroy((struct regular_file_rules *)options->symbolize.files.rules);
	options->symbolize.files.rules = NULL;
}
