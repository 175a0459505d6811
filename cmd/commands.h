/* The commands there are, one file defines each; commands.c lists and explains them. */
#ifndef EBPROF_COMMANDS_H
#define EBPROF_COMMANDS_H

#include "cmd/opt.h"

extern const struct command command_record, command_report, command_convert, command_annotate,
	command_archive, command_merge, command_diff, command_baseline, command_push, command_info,
	command_ci, command_stat, command_list, command_check, command_open, command_dump,
	command_top, command_help;

/* NULL when there is none of that name, which is said with the one that was meant. */
const struct command *commands_find(const char *name);

#endif
