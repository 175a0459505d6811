#include <fcntl.h>
#include <stdio.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/input.h"
#include "report/write/info.h"

struct info_options {
	struct input_option input;
	bool json;
	bool mappings;
};

static const struct opt rows[] = {
	INPUT_ROW(struct info_options, input, "FILE|-", "Input and output"),
	RING_ROWS(struct info_options, input.ring),
	{"json", 0, NULL, opt_flag, offsetof(struct info_options, json),
		.help = "print JSON, keys are stable"},
	{"mappings", 0, NULL, opt_flag, offsetof(struct info_options, mappings),
		.help = "list the objects, with their build IDs, and where they were mapped"},
	{0},
};

static int cmd_info_run(const struct command *command, int argc, char **argv)
{
	struct info_options options = {0};
	int rest, code;
	if (!opt_begin(command, argc, argv, &options, &rest, &code))
		return code;
	struct input input = {0};
	struct profile *profile;
	struct err *err = input_open_all(&options.input, argc, argv, rest, &input);
	if (!err)
		err = input_load_with(
			&input, &(struct profile_options){.as_recorded = true}, &profile);
	input_deinit(&input);
	if (err)
		return console_fail(err);
	CLEANUP(str_deinit) struct str text = {0};
	if (options.json)
		info_put_json(profile, &text);
	else
		info_put_text(profile, options.mappings, &text);
	profile_destroy(profile);
	return console_print(&text);
}

const struct command command_info = {
	.name = "info",
	.summary = "say what a recording holds and how sound it is",
	.usage = "[OPTIONS] [FILE...]",
	.description = "Shows where and how a recording was made, its counters, and its health: "
		       "every tick\n"
		       "accounted for, damage named.",
	.examples = "  ebprof info\n"
		    "  ebprof info --mappings\n"
		    "  ebprof info --json server.data | jq .stacks\n",
	.exit_status = "  0  the recording could be read, whole or in part\n"
		       "  1  it could not\n",
	.options = rows,
	.run = cmd_info_run,
};
