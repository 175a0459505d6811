#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/nearest.h"

static const struct command *const all[] = {
	&command_record,
	&command_report,
	&command_annotate,
	&command_convert,
	&command_diff,
	&command_archive,
	&command_merge,
	&command_baseline,
	&command_ci,
	&command_push,
	&command_info,
	&command_check,
	&command_help,
};

const struct command *const *commands_all(size_t *count)
{
	*count = sizeof(all) / sizeof(*all);
	return all;
}

const struct command *commands_find(const char *name)
{
	struct nearest nearest = nearest_to(name);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
		nearest_offer(&nearest, all[i]->name);
	}
	if (nearest.word)
		console_say("there is no command \"%s\": did you mean %s?", name, nearest.word);
	else
		console_say("there is no command \"%s\"; ebprof help lists them", name);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		command_help.run(&command_help, 1, argv);
		return CONSOLE_USAGE;
	}
	const char *name = argv[1];
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		printf("ebprof %s\n", EBPROF_VERSION);
		return CONSOLE_OK;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	const struct command *command = commands_find(name);
	if (!command)
		return CONSOLE_USAGE;
	/* A reader that leaves shows as EPIPE, which is no failure. What record starts inherits
	 * ours. */
	if (command != &command_record)
		signal(SIGPIPE, SIG_IGN);
	int code = command->run(command, argc - 1, argv + 1);
	if (fflush(stdout) && errno != EPIPE && code == CONSOLE_OK) {
		console_say("standard output: %s", strerror(errno));
		code = CONSOLE_ERROR;
	}
	return code;
}
