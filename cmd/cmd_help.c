#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/completion.h"
#include "cmd/console.h"
#include "report/tui/keys.h"

struct help_options {
	const char *shell; /* NULL: no completion is asked for */
	bool rows;
};

static struct err *parse_bash(const char *text, void *member)
{
	(void)text;
	*(const char **)member = "bash";
	return NULL;
}

static const struct opt rows[] = {
	{"completion", 0, "bash|zsh|fish", opt_string, offsetof(struct help_options, shell),
		"print a completion script for that shell", "Output"},
	{"bash-completion", 0, NULL, parse_bash, offsetof(struct help_options, shell),
		"--completion bash", NULL},
	{"rows", 0, NULL, opt_flag, offsetof(struct help_options, rows),
		"print the options of a command, or the keys, one a line, for scripts", NULL},
	{0},
};

static void print_overview(void)
{
	printf("ebprof %s: records where programs spend their time, with eBPF, and reports it.\n\n"
	       "Usage: ebprof COMMAND [OPTIONS]\n\nCommands:\n",
		EBPROF_VERSION);
	size_t count;
	const struct command *const *commands = commands_all(&count);
	for (size_t i = 0; i < count; i++)
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

static int run(const struct command *command, int argc, char **argv)
{
	struct help_options options = {0};
	int rest, code;
	if (!opt_begin(command, argc, argv, &options, &rest, &code))
		return code;
	if (options.shell && !completion_print(options.shell, stdout))
		return console_fail(err_new(ERR_USAGE,
			"--completion: \"%s\" is none of bash, zsh, fish", options.shell));
	if (options.shell)
		return CONSOLE_OK;
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
	.options = rows,
	.run = run,
};
