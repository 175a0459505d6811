#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/input.h"
#include "cmd/select.h"
#include "report/text.h"
#include "report/unsymbolized.h"

struct report_options {
	const char *input;
	bool stdio, show_tree, show_inverted, ignored;
	double percent_limit;
	uint32_t max_depth;
	struct table_options table;
	struct select_options select;
};

static struct err *parse_sort(const char *text, void *member)
{
	struct table_options *table = member;
	table->nr_columns = 0;
	for (;;) {
		size_t len = strcspn(text, ",");
		enum column column = column_find(text, len);
		if (column == COLUMN_COUNT)
			return err_new(ERR_USAGE,
				"\"%.*s\" is none of sym, dso, comm, pid, tid, cpu", (int)len,
				text);
		for (size_t i = 0; i < table->nr_columns; i++)
			if (table->columns[i] == column)
				return err_new(ERR_USAGE, "%.*s is there twice", (int)len, text);
		table->columns[table->nr_columns++] = column;
		if (!text[len])
			return NULL;
		text += len + 1;
	}
}

#define FIELD(name) offsetof(struct report_options, name)

static const struct opt rows[] = {
	{"input", 'i', "FILE|-", opt_string, FIELD(input), "the recording (ebprof.data)", "Input"},
	{"sort", 's', "COLUMN[,..]", parse_sort, FIELD(table),
		"a row for each: sym, dso, comm, pid, tid, cpu (dso,sym)", "What is shown"},
	{"children", 0, NULL, opt_flag, FIELD(table.by_total), "order by total instead of self",
		NULL},
	{"no-children", 0, NULL, opt_clear, FIELD(table.by_total), "order by self (the default)",
		NULL},
	{"call-graph", 'g', NULL, opt_flag, FIELD(show_tree),
		"show the call tree from the top down", NULL},
	{"inverted", 'G', NULL, opt_flag, FIELD(show_inverted),
		"show the call tree from the leaves up to their callers", NULL},
	{"max-stack", 0, "N", opt_u32, FIELD(max_depth), "frames of each stack in the tree", NULL},
	{"percent-limit", 0, "PERCENT", opt_percent, FIELD(percent_limit),
		"leave out what is below (0.5; tree: same)", NULL},
	{"show-nr-samples", 'n', NULL, opt_flag, FIELD(ignored),
		"numbers of samples are always shown", NULL},
	{"stdio", 0, NULL, opt_flag, FIELD(stdio), "print text", NULL},
	SELECT_ROWS(struct report_options, select),
	{0},
};

static const struct opt_foreign foreign[] = {
	{"--tui", "this version prints text only"},
	{"--gtk", "this version prints text only"},
	{"-F", "columns are chosen with -s"},
	{"-p", "to choose a process: --pid"},
	{"-t", "to choose a thread: --tid"},
	{"-k", "the kernel's symbols are in the recording"},
	{0},
};

static void put_tree(struct profile *profile, bool is_inverted, const struct text_options *options,
	struct str *out)
{
	struct slice slice;
	slice_init_all(&slice, profile);
	struct tree tree;
	tree_init(&tree, profile, &(struct tree_options){0});
	CLEANUP_FREE struct tree_weight *weights = tree_weigh(&tree, &slice);
	struct focus focus;
	focus_init(&focus, &tree, weights, profile->functions.data,
		is_inverted ? FOCUS_CALLERS : FOCUS_CALLEES);
	text_put_tree(profile, &focus, options, out);
	focus_deinit(&focus);
	tree_deinit(&tree);
	slice_deinit(&slice);
}

static void put_report(
	struct profile *profile, const struct report_options *options, struct str *out)
{
	struct filter filter = select_filter(&options->select);
	size_t all_samples = profile->samples.len;
	symbolize(profile, &options->select.naming.symbolize);
	filter_samples(profile, &filter);
	bool shows_tree = options->show_tree || options->show_inverted;
	if (shows_tree) /* a table filters its rows instead */
		filter_stacks(profile, &filter);
	text_put_head(profile, all_samples, out);
	struct text_options text = {
		.percent_limit = options->percent_limit,
		.max_depth = options->max_depth,
		.filter = &filter,
	};
	if (shows_tree) {
		put_tree(profile, options->show_inverted, &text, out);
	} else {
		struct table table;
		table_init(&table, profile, &options->table);
		text_put_table(profile, &table, &options->table, &text, out);
		table_deinit(&table);
	}
	unsymbolized_put(profile, &options->select.naming.symbolize.files, out);
}

static int report(struct report_options *options, int argc, char **argv, int rest)
{
	struct profile *profile;
	struct err *err = input_load(options->input, argc, argv, rest,
		&options->select.naming.symbolize.files, &profile);
	if (err)
		return console_fail(err);
	CLEANUP(str_deinit) struct str text = {0};
	naming_begin(&options->select.naming);
	put_report(profile, options, &text);
	console_show_end();
	int code = console_print(&text); /* before the network is waited for once more */
	naming_end(&options->select.naming);
	profile_destroy(profile);
	return code;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct report_options options = {
		.percent_limit = 0.5,
		.table = {.columns = {COLUMN_DSO, COLUMN_SYM}, .nr_columns = 2},
	};
	int rest;
	bool wants_help;
	struct err *err = opt_parse(command, argc, argv, &options, &rest, &wants_help);
	int code = CONSOLE_OK;
	if (err)
		code = console_fail(err);
	else if (wants_help)
		opt_print_help(command, stdout);
	else
		code = report(&options, argc, argv, rest);
	select_deinit(&options.select);
	return code;
}

const struct command command_report = {
	.name = "report",
	.summary = "show the hottest functions of a recording",
	.usage = "[OPTIONS] [FILE]",
	.description =
		"Reads ebprof.data and prints the functions in which the time was spent, or the "
		"call\n"
		"tree. Works on any machine; functions are named from the binaries that are there.",
	.examples = "  ebprof report\n"
		    "  ebprof report -g --percent-limit 2 server.data\n"
		    "  ebprof report -s comm,pid\n"
		    "  ebprof report -c nginx -d libssl.so.3 --time 10,20\n",
	.exit_status = "  0  the recording could be read, whole or in part\n"
		       "  1  it could not; 2: wrong usage\n",
	.options = rows,
	.foreign = foreign,
	.run = run,
};
