#include <string.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/html_page.h"
#include "cmd/input.h"
#include "cmd/select.h"
#include "cmd/select_check.h"
#include "report/analyse/refine_stacks.h"
#include "report/name/symbol/symbolizer.h"

struct open_options {
	struct input_option input;
	const char *output;
	bool with_source;
	struct debug_dirs source_dirs;
	struct select_options select;
};

#define FIELD(name) offsetof(struct open_options, name)

static const struct opt rows[] = {
	INPUT_ROW(struct open_options, input, "FILE|-", "Input and output"),
	RING_ROWS(struct open_options, input.ring),
	{"output", 'o', "FILE", opt_string, FIELD(output),
		.help = "keep the page there, not in a temporary place"},
	{"with-source", 0, NULL, opt_flag, FIELD(with_source),
		.help = "with lines and instructions of the hottest functions"},
	{"source-dir", 0, "DIR", naming_parse_dir, FIELD(source_dirs),
		.help = "look for source files below DIR first; repeatable"},
	{"quiet", 'q', NULL, opt_quiet, 0, .help = "say nothing but errors"},
	SELECT_ROWS(struct open_options, select),
	{0},
};

static const struct opt_foreign foreign[] = {
	{"--no-browser", "ebprof convert --html writes the page"},
	{"--no-open", "ebprof convert --html writes the page"},
	{"--port", "the page is a file: there is no server"},
	{"--http", "the page is a file: there is no server"},
	{0},
};

static struct err *load_and_show(struct open_options *options, int argc, char **argv, int rest)
{
	CLEANUP(input_deinit) struct input input = {0};
	struct profile *profile;
	if (options->source_dirs.len && !options->with_source)
		return err_new(ERR_USAGE, "--source-dir is for --with-source");
	if (options->output && strcmp(options->output, "-") == 0)
		return err_new(ERR_USAGE,
			"a browser reads a file: for standard output ebprof convert --html -o -");
	try(input_open_all(&options->input, argc, argv, rest, &input));
	try(select_load(&options->select, &input, false, &profile));
	struct filter filter = select_filter(&options->select);
	naming_begin(&options->select.naming);
	symbolize(profile, &options->select.naming.symbolize);
	refine_stacks(profile);
	struct err *err = select_check_functions(&options->select, &input, profile);
	filter_samples(profile, &filter);
	filter_stacks(profile, &filter);
	console_show_end();
	const struct export_code code = {
		.files = &options->select.naming.symbolize.files,
		.source_dirs = &options->source_dirs,
		.demangle = options->select.naming.symbolize.demangle,
	};
	if (!err)
		err = html_page_show(
			profile, &input, options->with_source ? &code : NULL, options->output);
	naming_end(&options->select.naming);
	profile_destroy(profile);
	return err;
}

static void open_options_deinit(struct open_options *options)
{
	select_deinit(&options->select);
	vec_deinit(&options->source_dirs);
}

static int cmd_open_run(const struct command *command, int argc, char **argv)
{
	CLEANUP(open_options_deinit) struct open_options options = {0};
	int rest, code;
	if (!opt_begin(command, argc, argv, &options, &rest, &code))
		return code;
	struct err *err = load_and_show(&options, argc, argv, rest);
	return err ? console_fail(err) : CONSOLE_OK;
}

const struct command command_open = {
	.name = "open",
	.summary = "show a recording in the browser",
	.usage = "[OPTIONS] [FILE...]",
	.description = "Writes the page of ebprof convert --html to a temporary place, which only "
		       "its user\n"
		       "can read, and opens it by $BROWSER or xdg-open. Where there is neither, "
		       "it says\n"
		       "where the page is.",
	.examples = "  ebprof open\n"
		    "  ebprof open -o server.html server.data\n"
		    "  ebprof open --time 10,20\n"
		    "  ebprof open --with-source\n",
	.exit_status = "  0  the page is there, opened or not\n"
		       "  1  the recording could not be read, or the page not be written\n"
		       "  2  the request is invalid\n",
	.options = rows,
	.foreign = foreign,
	.run = cmd_open_run,
};
