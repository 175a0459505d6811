#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Commands of other profilers, of perf mostly, and what comes nearest to them. */
static const struct opt_foreign foreign[] = {
	{"top", "for a look at now: ebprof record -a --duration 5, then ebprof report"},
	{"stat", "events are sampled here, not counted; ebprof report --stats sums samples up"},
	{"script", "ebprof convert --perf-script prints each sample; --json and --csv are for "
		   "programs, too"},
	{"list", "events are cycles, cpu-clock and what ebprof record --list-usdt PATH prints"},
	{"probe", "ebprof record --list-usdt PATH prints the probes that there are"},
	{"evlist", "ebprof info tells the events of a recording"},
	{"buildid-list", "ebprof info --mappings lists build IDs"},
	{"buildid-cache", "ebprof archive puts what is needed of binaries into the recording"},
	{"flamegraph", "ebprof convert --svg or --html; in a terminal ebprof report, key 4"},
	{"load", "ebprof report shows a recording, ebprof convert --html makes a page of it"},
	{"import", "recordings are those of ebprof record"},
	{"inject", "names of compiled code go into the recording by themselves"},
	{"trace", "only where CPU time is spent is recorded, and hits of probes"},
	{"sched", "only where CPU time is spent is recorded, not waiting"},
	{"lock", "only where CPU time is spent is recorded, not waiting"},
	{"mem", "addresses of data are not recorded"},
	{"c2c", "addresses of data are not recorded"},
	{0},
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
	for (const struct opt_foreign *row = foreign; row->name; row++) {
		if (strcmp(row->name, name) != 0)
			continue;
		console_say("there is no command \"%s\"; %s", name, row->hint);
		return NULL;
	}
	if (nearest.word)
		console_say("there is no command \"%s\": did you mean %s?", name, nearest.word);
	else
		console_say("there is no command \"%s\"; ebprof help lists them", name);
	return NULL;
}

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
