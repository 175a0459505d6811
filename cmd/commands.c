#include "cmd/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/completion.h"
#include "cmd/console.h"
#include "format/base/nearest.h"
#include "report/tui/keys.h"

static const struct command *const commands[] = {
	&command_record,
	&command_report,
	&command_open,
	&command_top,
	&command_dump,
	&command_annotate,
	&command_convert,
	&command_diff,
	&command_archive,
	&command_merge,
	&command_baseline,
	&command_ci,
	&command_push,
	&command_info,
	&command_stat,
	&command_list,
	&command_check,
	&command_help,
};

enum {
	COMMANDS = sizeof(commands) / sizeof(*commands)
};

/* Commands of other profilers, of perf mostly, and what comes nearest to them. */
static const struct opt_foreign foreign_commands[] = {
	{"profile", "ebprof record -- COMMAND, or record -p PID"},
	{"run", "ebprof record -- COMMAND"},
	{"sample", "ebprof record -p PID --duration 10"},
	{"show", "ebprof report shows a recording, ebprof open in the browser"},
	{"tui", "ebprof report shows a recording, ebprof open in the browser"},
	{"ui", "ebprof report shows a recording, ebprof open in the browser"},
	{"gui", "ebprof report shows a recording, ebprof open in the browser"},
	{"live", "ebprof top shows what runs now"},
	{"watch", "ebprof top shows what runs now"},
	{"snapshot", "ebprof dump -p PID shows the stacks that there are now"},
	{"pstack", "ebprof dump -p PID shows the stacks that there are now"},
	{"jstack", "ebprof dump -p PID shows the stacks that there are now"},
	{"export", "ebprof convert, whose --list has the formats"},
	{"data", "ebprof convert, whose --list has the formats"},
	{"speedscope", "ebprof convert --speedscope"},
	{"firefox", "ebprof convert --firefox"},
	{"collapsed", "ebprof convert --folded"},
	{"folded", "ebprof convert --folded"},
	{"svg", "ebprof convert --svg"},
	{"bench", "ebprof ci run compares two builds; stat -r 10 repeats one"},
	{"script", "ebprof convert --perf-script prints each sample; --json and --csv are for "
		   "programs, too"},
	{"probe", "ebprof list shows the events that there are, record --list-usdt PATH probes"},
	{"evlist", "ebprof info tells the events of a recording"},
	{"buildid-list", "ebprof info --mappings lists build IDs"},
	{"buildid-cache", "ebprof archive puts what is needed of binaries into the recording"},
	{"flamegraph", "ebprof open shows it in the browser; in a terminal ebprof report, key 4"},
	{"flame", "ebprof open shows it in the browser; in a terminal ebprof report, key 4"},
	{"pprof", "ebprof convert --pprof writes what go tool pprof reads"},
	{"load", "ebprof report shows a recording, ebprof open in the browser"},
	{"view", "ebprof report shows a recording, ebprof open in the browser"},
	{"web", "ebprof open shows a recording in the browser, by a file and no server"},
	{"serve", "ebprof open shows a recording in the browser, by a file and no server"},
	{"import", "report, open, diff and convert read perf.data, pprof's and folded files as "
		   "they are"},
	{"attach", "ebprof record -p PID"},
	{"inject", "names of compiled code go into the recording by themselves"},
	{"trace", "ebprof record -e 'syscalls:sys_enter_*' samples system calls"},
	{"sched", "record -e runq samples what waits for a CPU"},
	{"lock", "record -e offcpu samples what waits, for locks, too"},
	{"kmem", "record -e 'kmem:*' samples what the kernel allocates"},
	{"timechart", "in ebprof report, key 5 is the time line; record -e wall has waits, too"},
	{"start", "ebprof record -p PID, which Ctrl-C stops"},
	{"stop", "ebprof record ends by Ctrl-C, or SIGINT"},
	{"collect", "ebprof record --duration 30 -p PID"},
	{"peek", "in ebprof report key 2 has callers and callees of a function"},
	{"weblist", "ebprof annotate FUNCTION; ebprof open --with-source has it as a page"},
	{"tree", "ebprof report -g"},
	{"mem", "addresses of data are not recorded"},
	{"c2c", "addresses of data are not recorded"},
	{0},
};

/* An option, a program, a recording or the number of a process, where a command is due. False: it
 * is none. */
static bool explain_operand(const char *name)
{
	if (name[0] == '-')
		console_say(
			"%s is an option, and a command comes first: ebprof help lists them", name);
	else if (name[0] && !name[strspn(name, "0123456789")])
		console_say("\"%s\" is no command: ebprof record -p %s, dump -p %s, top -p %s",
			name, name, name, name);
	else if (strchr(name, '/') && access(name, X_OK) == 0)
		console_say("\"%s\" is no command: ebprof record -- %s", name, name);
	else if (strchr(name, '.') && access(name, R_OK) == 0)
		console_say("\"%s\" is no command: ebprof report %s, or open %s", name, name, name);
	else
		return false;
	return true;
}

const struct command *commands_find(const char *name)
{
	struct nearest nearest = nearest_to(name);
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
		nearest_offer(&nearest, commands[i]->name);
	}
	for (const struct opt_foreign *row = foreign_commands; row->name; row++) {
		if (strcmp(row->name, name) != 0)
			continue;
		console_say("there is no command \"%s\"; %s", name, row->hint);
		return NULL;
	}
	if (explain_operand(name))
		return NULL;
	if (nearest.word)
		console_say("there is no command \"%s\": did you mean %s?", name, nearest.word);
	else
		console_say("there is no command \"%s\"; ebprof help lists them", name);
	return NULL;
}

/* ---- the command that explains them ---- */

struct help_options {
	enum completion_shell shell;
	bool rows;
};

static struct err *parse_bash(const struct opt *row, const char *text, void *member)
{
	(void)row;
	(void)text;
	*(enum completion_shell *)member = COMPLETION_BASH;
	return NULL;
}

static const struct opt help_rows[] = {
	{"completion", 0, "*", opt_word, offsetof(struct help_options, shell),
		.help = "print a completion script for that shell", .words = completion_shells,
		.group = "Output"},
	{"bash-completion", 0, NULL, parse_bash, offsetof(struct help_options, shell),
		.help = "--completion bash"},
	{"rows", 0, NULL, opt_flag, offsetof(struct help_options, rows),
		.help = "print the options of a command, or the keys, one a line, for scripts"},
	{0},
};

static void print_overview(void)
{
	printf("ebprof %s: records where programs spend their time, with eBPF, and reports it.\n\n"
	       "Usage: ebprof COMMAND [OPTIONS]\n\nCommands:\n",
		EBPROF_VERSION);
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-9s %s\n", commands[i]->name, commands[i]->summary);
	printf("\nStart here:\n"
	       "  sudo ebprof record -- ./program   # writes ebprof.data\n"
	       "  ebprof report                     # the hottest functions\n"
	       "\nebprof help COMMAND explains one; so does man ebprof-COMMAND.\n"
	       "ebprof help keys lists those of the terminal interface.\n");
}

static int print_keys(bool as_rows)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (as_rows)
		key_put_rows(&text);
	else
		key_put_help(&text);
	return console_print(&text);
}

static int run_help(const struct command *command, int argc, char **argv)
{
	struct help_options options = {0};
	int rest, code;
	if (!opt_begin(command, argc, argv, &options, &rest, &code))
		return code;
	if (options.shell != COMPLETION_NONE) {
		completion_print(options.shell, commands, COMMANDS, stdout);
		return CONSOLE_OK;
	}
	if (rest >= argc) {
		print_overview();
		return CONSOLE_OK;
	}
	if (rest + 1 < argc)
		return console_fail(err_new(ERR_USAGE, "one command at a time"));
	if (strcmp(argv[rest], "keys") == 0)
		return print_keys(options.rows);
	const struct command *about = commands_find(argv[rest]);
	if (!about)
		return CONSOLE_USAGE;
	if (options.rows)
		opt_print_rows(about, stdout);
	else
		opt_print_help(about, stdout);
	return CONSOLE_OK;
}

const struct command command_help = {
	.name = "help",
	.summary = "explain a command",
	.usage = "[COMMAND|keys]",
	.description = "Lists the commands, or explains one of them, or the keys of the terminal\n"
		       "interface of report.",
	.examples = "  ebprof help record\n"
		    "  ebprof help keys\n",
	.options = help_rows,
	.explains_commands = true,
	.run = run_help,
};
