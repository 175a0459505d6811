#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "record/event/event_list.h"
#include "report/model/text/json.h"

struct list_options {
	bool json;
};

struct list_output {
	struct str *text;
	struct json json;
	bool is_json;
	const char *group; /* of the last event */
	size_t nr_events, nr_missing;
	bool shows_missing; /* also those that have nothing but a name */
};

static void list_put_json(struct list_output *output, const struct event_listed *event)
{
	struct json *json = &output->json;
	json_line(json);
	json_object(json);
	json_put_text(json, "name", event->name);
	if (event->alias)
		json_put_text(json, "alias", event->alias);
	json_put_text(json, "group", event->group);
	json_put_text(json, "unit", event->unit);
	json_put_text(json, "purpose", event->purpose);
	json_put_text(json, "cost", event->cost);
	json_put_bool(json, "is_form", event->is_form);
	json_put_bool(json, "is_here", !event->why);
	if (event->why)
		json_put_text(json, "why", event->why);
	json_object_end(json);
}

/* Under a heading for each group. */
/* Of the group before. */
static void list_put_missing(struct list_output *output)
{
	if (output->nr_missing)
		str_printf(output->text, "  %zu more, not here\n", output->nr_missing);
	output->nr_missing = 0;
}

static void list_put_event(void *context, const struct event_listed *event)
{
	struct list_output *output = context;
	struct str *text = output->text;
	output->nr_events++;
	if (output->is_json) {
		list_put_json(output, event);
		return;
	}
	bool begins = !output->group || strcmp(output->group, event->group) != 0;
	if (begins)
		list_put_missing(output);
	if (begins)
		str_printf(
			text, "%s%s (%s)\n", output->group ? "\n" : "", event->group, event->cost);
	output->group = event->group;
	if (event->why && !*event->purpose && !output->shows_missing) {
		output->nr_missing++;
		return;
	}
	size_t before = text->len;
	str_puts(text, "  ");
	str_puts_escaped(text, event->name);
	if (event->alias)
		str_printf(text, ", %s", event->alias);
	size_t width = text->len - before;
	bool has_more = *event->purpose || event->why;
	if (has_more)
		str_pad(text, ' ', width < 34 ? 34 - width : 2);
	str_printf(text, "%s%s\n", event->purpose,
		!event->why       ? ""
		: *event->purpose ? " (not here)"
				  : "(not here)");
}

static void list_put_end(struct list_output *output, const char *pattern, size_t nr_tracepoints)
{
	list_put_missing(output);
	if (pattern || output->is_json)
		return;
	if (nr_tracepoints)
		str_printf(output->text, "\ntracepoints: %zu, which ebprof list 'sched:*' shows\n",
			nr_tracepoints);
	else
		str_puts(output->text, "\ntracepoints: not to be seen (root is needed)\n");
}

static int list_events(const struct list_options *options, const char *pattern)
{
	CLEANUP(str_deinit) struct str text = {0};
	struct list_output output = {.text = &text,
		.json = {.sink = byte_sink_to_text(&text)},
		.is_json = options->json,
		.shows_missing = pattern != NULL};
	if (options->json)
		json_array(&output.json);
	size_t nr_tracepoints = event_list_each(pattern, list_put_event, &output);
	if (options->json) {
		json_array_end(&output.json);
		struct err *err = json_finish(&output.json);
		if (err)
			return console_fail(err);
		str_putc(&text, '\n');
	}
	list_put_end(&output, pattern, nr_tracepoints);
	if (!output.nr_events)
		return console_fail(err_new(ERR_USAGE, "no event matches \"%s\"", pattern));
	return console_print(&text);
}

static int cmd_list_run(const struct command *command, int argc, char **argv)
{
	struct list_options options = {0};
	int rest, code;
	if (!opt_begin(command, argc, argv, &options, &rest, &code))
		return code;
	if (rest + 1 < argc)
		return console_fail(err_new(
			ERR_USAGE, "list takes one pattern, not \"%s\", too", argv[rest + 1]));
	return list_events(&options, rest < argc ? argv[rest] : NULL);
}

static const struct opt list_rows[] = {
	{"json", 0, NULL, opt_flag, offsetof(struct list_options, json),
		.help = "for programs: an array of objects"},
	{0},
};

static const struct opt_foreign list_foreign[] = {
	{"-j", "it is --json"},
	{"--no-desc", NULL},
	{0},
};

const struct command command_list = {
	.name = "list",
	.summary = "show the events that can be recorded here, and what they are good for",
	.usage = "[PATTERN]",
	.description =
		"Shows what ebprof record -e takes, by groups, and tries what needs hardware.\n"
		"Tracepoints are shown with a PATTERN.",
	.examples = "  sudo ebprof list\n"
		    "  sudo ebprof list faults\n"
		    "  sudo ebprof list 'syscalls:sys_enter_*'\n"
		    "  sudo ebprof list --json | jq '.[] | select(.is_here) | .name'\n",
	.exit_status = "  0  an event was shown\n"
		       "  2  none matches, or wrong usage\n",
	.options = list_rows,
	.foreign = list_foreign,
	.run = cmd_list_run,
};
