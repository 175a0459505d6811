#include "cmd/archive_file.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/input.h"
#include "cmd/naming.h"

struct archive_options {
	struct input_option input;
	struct naming_options naming;
};

static const struct opt rows[] = {
	INPUT_ROW(struct archive_options, input, "FILE", "Input"),
	{"quiet", 'q', NULL, opt_quiet, 0, .help = "say nothing but errors"},
	NAMING_FILE_ROWS(struct archive_options, naming),
	{0},
};

static int cmd_archive_run(const struct command *command, int argc, char **argv)
{
	struct archive_options options = {0};
	struct archive_file_result result;
	const char *path = NULL;
	int rest, code;
	if (!opt_begin(command, argc, argv, &options, &rest, &code))
		return code;
	struct err *err = input_choose(&options.input, argc, argv, rest, &path);
	if (!err)
		err = archive_file(path, &options.naming, &result);
	naming_deinit(&options.naming);
	if (err)
		return console_fail(err);
	if (!console_is_quiet())
		archive_file_say(path, &result);
	return CONSOLE_OK;
}

static const struct opt_foreign archive_foreign[] = {
	{"-o", "names are put into the recording itself: copy it first to keep it as it is"},
	{"--output", "names are put into the recording itself: copy it first to keep it as it is"},
	{0},
};

const struct command command_archive = {
	.name = "archive",
	.summary = "put names and lines into a recording, to read it anywhere",
	.usage = "[OPTIONS] [FILE]",
	.description =
		"Looks up the functions, inlined functions, files and lines of all that was "
		"sampled\n"
		"and appends them to the recording: report and convert then need no binaries, no\n"
		"debug files and no network. What stands in the file is not changed.",
	.examples = "  ebprof archive\n"
		    "  ebprof archive server.data && scp server.data laptop:\n",
	.exit_status = "  0  archived; report lists what has no names\n"
		       "  1  the recording could not be read or written; it is as it was\n"
		       "  2  wrong usage\n",
	.options = rows,
	.foreign = archive_foreign,
	.run = cmd_archive_run,
};
