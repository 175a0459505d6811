#include <stdio.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "record/host/feature.h"

static int cmd_check_run(const struct command *command, int argc, char **argv)
{
	int rest, code;
	if (!opt_begin(command, argc, argv, NULL, &rest, &code))
		return code;
	if (rest < argc)
		return console_fail(err_new(ERR_USAGE, "check takes no \"%s\"", argv[rest]));
	static const char *const words[] = {
		[FEATURE_OK] = "ok", [FEATURE_LIMITED] = "limited", [FEATURE_MISSING] = "MISSING"};
	int missing = 0;
	struct feature_result result;
	for (size_t i = 0; feature_probe(i, &result); i++) {
		printf("%-8s %-32s %s\n", words[result.state], result.name,
			str_text(&result.detail));
		missing += result.state == FEATURE_MISSING;
		str_deinit(&result.detail);
	}
	if (missing)
		printf("\nebprof cannot record here: see MISSING above.\n");
	else
		printf("\nebprof can record here.\n");
	return missing ? CONSOLE_ERROR : CONSOLE_OK;
}

static const struct opt rows[] = {{0}};

const struct command command_check = {
	.name = "check",
	.summary = "say what this kernel and these privileges allow",
	.usage = "",
	.description = "Tries each thing that recording needs and says what is missing, and how to "
		       "get it.",
	.examples = "  ebprof check          # as yourself\n"
		    "  sudo ebprof check     # as root\n",
	.exit_status = "  0  recording works\n"
		       "  1  something that recording needs is missing\n",
	.options = rows,
	.run = cmd_check_run,
};
