#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/merge_files.h"
#include "cmd/ring_input.h"
#include "format/base/caller.h"
#include "record/output.h"

struct merge_options_given {
	const char *output;
	bool force;
	struct ring_option ring;
};

#define FIELD(name) offsetof(struct merge_options_given, name)

static const struct opt rows[] = {
	{"output", 'o', "FILE|-", opt_string, FIELD(output), .help = "where to; must be given",
		.group = "Input and output"},
	{"force", 'f', NULL, opt_flag, FIELD(force),
		.help = "take what comes twice, too: its samples count twice"},
	{"quiet", 'q', NULL, opt_quiet, 0, .help = "say nothing but errors and damage"},
	RING_ROWS(struct merge_options_given, ring),
	{0},
};

static void cmd_merge_say_done(const char *output, const struct merge_files *files,
	const struct merge_result *result, uint64_t bytes)
{
	CLEANUP(str_deinit) struct str text = {0};
	console_put_count(&text, result->samples);
	str_printf(&text, " %s of %u %s", str_plural(result->samples, "sample", "samples"),
		result->origins, str_plural(result->origins, "recording", "recordings"));
	if (files->are_pieces)
		str_printf(&text, " in %zu %s", files->count,
			str_plural(files->count, "file", "files"));
	str_printf(&text, " -> %s (", output);
	console_put_bytes(&text, bytes);
	str_puts(&text, ")");
	console_say("%s", str_text(&text));
	if (result->by_wall_clock)
		console_say_more("not all of one boot: placed by the time of day");
}

/* The output, and how much went into it. */
struct counted_sink {
	struct writer_sink to;
	uint64_t bytes;
};

static struct err *write_counted(void *context, const void *bytes, size_t len)
{
	struct counted_sink *sink = context;
	sink->bytes += len;
	return sink->to.write(sink->to.context, bytes, len);
}

static struct err *cmd_merge(
	const struct merge_options_given *options, const struct merge_files *files)
{
	struct caller owner = caller_find();
	struct output *output;
	struct merge_result result;
	try(output_create(options->output, &owner, -1, &output));
	struct counted_sink sink = {.to = output_sink(output)};
	struct err *err = merge_files_write(
		files, (struct writer_sink){.write = write_counted, .context = &sink}, &result);
	if (!err)
		err = output_publish(output);
	if (!err)
		err = output_close(output);
	output_destroy(output);
	if (!err && !console_is_quiet())
		cmd_merge_say_done(options->output, files, &result, sink.bytes);
	return err;
}

static struct err *cmd_merge_ring(const struct merge_options_given *options)
{
	struct ring_input_files opened = {0};
	try(ring_input_open(&options->ring, &opened));
	struct merge_files files = {
		.paths = (const char *const *)opened.paths.data,
		.fds = opened.fds.data,
		.count = opened.fds.len,
		.are_pieces = true,
		.span = options->ring.span,
	};
	struct err *err = cmd_merge(options, &files);
	ring_input_files_deinit(&opened);
	return err;
}

static struct err *cmd_merge_check(const struct merge_options_given *options, int nr_operands)
{
	bool has_span = options->ring.span.from_ns || options->ring.span.to_ns;
	if (options->ring.folder && (nr_operands || options->force))
		return err_new(ERR_USAGE, "--ring names the recordings: no other beside it, and "
					  "none comes twice");
	if (has_span && !options->ring.folder)
		return err_new(ERR_USAGE, "--since and --until go with --ring DIR");
	if (nr_operands < 1 && !options->ring.folder)
		return err_new(ERR_USAGE, "which recordings? (see ebprof merge --help)");
	if (!options->output)
		return err_new(ERR_USAGE, "where to? Give -o FILE");
	return NULL;
}

static int cmd_merge_run(const struct command *command, int argc, char **argv)
{
	struct merge_options_given options = {0};
	int rest, code;
	if (!opt_begin(command, argc, argv, &options, &rest, &code))
		return code;
	struct err *err = cmd_merge_check(&options, argc - rest);
	struct merge_files files = {
		.paths = (const char *const *)argv + rest,
		.count = (size_t)(argc - rest),
		.takes_twice = options.force,
	};
	if (!err)
		err = options.ring.folder ? cmd_merge_ring(&options) : cmd_merge(&options, &files);
	return err ? console_fail(err) : CONSOLE_OK;
}

const struct command command_merge = {
	.name = "merge",
	.summary = "make one recording of several",
	.usage = "-o FILE [OPTIONS] FILE...   or   -o FILE --ring DIR",
	.description =
		"Puts the samples of several recordings into one, with one time for all of them.\n"
		"Their processes stay apart; report -s origin tells where each is from. report,\n"
		"convert and info take several recordings, too, and merge them on the way.",
	.examples = "  ebprof merge -o all.data web1.data web2.data\n"
		    "  ebprof merge -o day.data ebprof.data.*\n",
	.exit_status = "  0  merged; damage is reported on standard error\n"
		       "  1  one could not be read, or the output not be written: there is none\n"
		       "  2  wrong usage, or a recording that comes twice\n",
	.options = rows,
	.run = cmd_merge_run,
};
