#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/console.h"

/* "-v" is perf's. */
static bool asks_for_version(const char *word)
{
	static const char *const words[] = {"--version", "-V", "-v", "version"};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

/*
 * A file that is opened must not become standard output by being the first free descriptor. What
 * was closed fails all the same: it is open for the other direction.
 */
static void open_standard_descriptors(void)
{
	static const int modes[] = {O_WRONLY, O_RDONLY, O_RDONLY};
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
			_exit(CONSOLE_ERROR);
}

int main(int argc, char **argv)
{
	open_standard_descriptors();
	if (argc < 2) {
		command_help.run(&command_help, 1, argv);
		return CONSOLE_USAGE;
	}
	const char *name = argv[1];
	if (asks_for_version(name)) {
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
