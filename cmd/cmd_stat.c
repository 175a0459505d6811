#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cgroup_option.h"
#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/raise_signal.h"
#include "record/event_count.h"
#include "report/compare/statistics.h"
#include "report/model/text/json.h"

enum {
	STAT_OWN_FAILURE = 125,
	STAT_CANNOT_EXEC = 126,
	STAT_NOT_FOUND = 127,
};

struct stat_options {
	struct event_specs specs;
	struct opt_u32_list pids;
	struct cgroup_option cgroups;
	bool is_system, no_inherit, json, skips_missing;
	uint32_t repeat;
	uint64_t duration_ns;
	const char *output;
};

/* One number of each run. */
struct stat_values {
	double *data;
	size_t len, cap;
};

struct stat_event {
	const struct event_spec *spec;
	struct stat_values values; /* none: it could not be counted */
	double ran;                /* the least part of the time that it was counted */
	char why[256];
	bool is_of_user; /* see struct event_count */
};

struct stat_result {
	VEC(struct stat_event) events;
	struct stat_values elapsed_s, user_s, system_s;
	int status, end_signal, exec_errno;
	bool has_status;
};

/* ---- options ---- */

static struct err *stat_parse_event(const struct opt *row, const char *text, void *member)
{
	(void)row;
	return event_specs_parse(member, text);
}

#define STAT_FIELD(name) offsetof(struct stat_options, name)

static const struct opt stat_rows[] = {
	{"event", 'e', "EVENT[,EVENT]", stat_parse_event, STAT_FIELD(specs),
		.help = "what to count, in perf's syntax; {a,b}: at the same time (ebprof list)",
		.group = "What"},
	{"pid", 'p', "PID[,PID]", opt_running_list, STAT_FIELD(pids),
		.help = "of running processes"},
	{"all-cpus", 'a', NULL, opt_flag, STAT_FIELD(is_system), .help = "of the whole system"},
	CGROUP_OPTION_ROWS(struct stat_options, cgroups, "of"),
	{"no-inherit", 'i', NULL, opt_flag, STAT_FIELD(no_inherit), .help = "without new children"},
	{"skip-missing", 0, NULL, opt_flag, STAT_FIELD(skips_missing),
		.help = "go on without events that cannot be had here, and say why"},
	{"repeat", 'r', "N", opt_u32, STAT_FIELD(repeat),
		.help = "run the command N times; shows means and their 95% intervals",
		.standard = "1", .least = "1", .most = "10000", .group = "How"},
	{"duration", 0, "TIME", opt_duration, STAT_FIELD(duration_ns),
		.help = "stop after this time: 5, 2.5s, 1m", .least = "1ms"},
	{"output", 'o', "FILE", opt_string, STAT_FIELD(output),
		.help = "where to; standard error without", .group = "Output"},
	{"json", 0, NULL, opt_flag, STAT_FIELD(json), .help = "for programs"},
	{0},
};

static const struct opt_foreign stat_foreign[] = {
	{"-x", "it is --json"},
	{"-j", "it is --json"},
	{"-d", "name the events: -e L1-dcache-loads,L1-dcache-load-misses"},
	{"-I", "ebprof record samples over time; stat counts all of it"},
	{"-t", "-p PID counts all threads of a process"},
	{"-A", "counts are those of all CPUs"},
	{"-G", "it is --cgroup PATH"},
	{"--for-each-cgroup", "it is --cgroup PATH, which counts all of them as one"},
	{"--per-core", "counts are those of all CPUs"},
	{"-v", NULL},
	{"--timeout", "it is --duration TIME"},
	{0},
};

static struct err *stat_check(struct stat_options *options, int operands)
{
	static const char usual[] = "task-clock,context-switches,cpu-migrations,page-faults,cycles,"
				    "instructions,branches,branch-misses";
	bool has_command = operands > 0;
	int chosen = (options->pids.len > 0) + (options->cgroups.len > 0) + options->is_system;
	if (!has_command && !chosen)
		return err_new(ERR_USAGE, "nothing to count: give -- COMMAND, -p PID, --container, "
					  "--cgroup, --unit or -a");
	if (chosen > 1)
		return err_new(ERR_USAGE, "give one of -p, -a and --container, --cgroup, --unit");
	if (options->repeat > 1 && !has_command)
		return err_new(ERR_USAGE, "-r repeats a command: give one");
	if (options->specs.len)
		return NULL;
	options->skips_missing = true;
	return event_specs_parse(&options->specs, usual);
}

/* ---- running ---- */

static void stat_keep(struct stat_result *result, const struct event_count_run *run)
{
	for (size_t i = 0; i < result->events.len; i++) {
		struct stat_event *event = &result->events.data[i];
		const struct event_count *count = &run->counts[i];
		memcpy(event->why, count->why, sizeof(event->why));
		event->is_of_user = count->is_of_user;
		if (!count->is_counted)
			continue;
		vec_push(&event->values, count->value);
		if (count->ran < event->ran)
			event->ran = count->ran;
	}
	vec_push(&result->elapsed_s, run->elapsed_s);
	vec_push(&result->user_s, run->user_s);
	vec_push(&result->system_s, run->system_s);
	result->status = run->status;
	result->has_status = run->has_status;
	result->end_signal = run->end_signal;
	result->exec_errno = run->exec_errno;
}

static struct err *stat_run_all(const struct stat_options *options,
	const struct event_count_options *counting, struct stat_result *result)
{
	size_t count = counting->nr_specs;
	for (size_t i = 0; i < count; i++)
		vec_push(&result->events,
			(struct stat_event){.spec = &counting->specs[i], .ran = 1});
	CLEANUP_FREE struct event_count *counts = mem_zalloc_array(count, sizeof(*counts));
	for (uint32_t i = 0; i < options->repeat && !result->end_signal; i++) {
		struct event_count_run run = {.counts = counts};
		try(event_count_run(counting, &run));
		stat_keep(result, &run);
		if (run.exec_errno)
			return NULL;
	}
	return NULL;
}

static void stat_result_deinit(struct stat_result *result)
{
	vec_each(&result->events, event)
		vec_deinit(&event->values);
	vec_deinit(&result->events);
	vec_deinit(&result->elapsed_s);
	vec_deinit(&result->user_s);
	vec_deinit(&result->system_s);
}

/* ---- numbers ---- */

static double stat_mean(const struct stat_values *values)
{
	double sum = 0;
	for (size_t i = 0; i < values->len; i++)
		sum += values->data[i];
	return values->len ? sum / (double)values->len : 0;
}

/* Half of the interval that has the mean with a probability of 95 %, by Student's distribution. */
static double stat_half_width(const struct stat_values *values)
{
	double mean = stat_mean(values), squares = 0, count = (double)values->len;
	if (values->len < 2)
		return 0;
	for (size_t i = 0; i < values->len; i++)
		squares += (values->data[i] - mean) * (values->data[i] - mean);
	return statistics_t_quantile(0.025, count - 1) * sqrt(squares / (count - 1) / count);
}

/* Of the event of that name; 0: it was not counted. */
static double stat_mean_of(const struct stat_result *result, const char *name)
{
	vec_each(&result->events, event)
		if (strcmp(event->spec->name, name) == 0)
			return stat_mean(&event->values);
	return 0;
}

/* ---- text ---- */

static void stat_put_interval(struct str *text, const struct stat_values *values)
{
	double mean = stat_mean(values);
	if (values->len > 1 && mean > 0)
		str_printf(text, "  ( +- %.2f%% )", 100 * stat_half_width(values) / mean);
}

/* What the number is worth, by others that were counted beside it. */
static void stat_put_ratio(
	struct str *text, const struct stat_result *result, const struct stat_event *event)
{
	static const struct {
		const char *name, *of, *words;
		double factor;
	} ratios[] = {
		{"instructions", "cycles", "per cycle", 1},
		{"branch-misses", "branches", "% of all branches", 100},
		{"cache-misses", "cache-references", "% of all references", 100},
	};
	const char *name = event->spec->name;
	double mean = stat_mean(&event->values), elapsed_s = stat_mean(&result->elapsed_s);
	double clock_s = stat_mean_of(result, "task-clock") / 1e9;
	for (size_t i = 0; i < sizeof(ratios) / sizeof(*ratios); i++) {
		double whole = stat_mean_of(result, ratios[i].of);
		if (strcmp(name, ratios[i].name) != 0 || whole <= 0)
			continue;
		str_printf(text, "  # %8.2f %s", ratios[i].factor * mean / whole, ratios[i].words);
		return;
	}
	if (strcmp(event->spec->unit, "ns") == 0 && elapsed_s > 0)
		str_printf(text, "  # %8.3f CPUs utilized", mean / 1e9 / elapsed_s);
	else if (strcmp(name, "cycles") == 0 && clock_s > 0)
		str_printf(text, "  # %8.3f GHz", mean / 1e9 / clock_s);
	else if (clock_s > 0 && mean > 0)
		str_printf(text, "  # %8.3f K/sec", mean / 1e3 / clock_s);
}

static void stat_put_event(
	struct str *text, const struct stat_result *result, const struct stat_event *event)
{
	CLEANUP(str_deinit) struct str number = {0}, name = {0};
	bool is_time = strcmp(event->spec->unit, "ns") == 0;
	double mean = stat_mean(&event->values);
	if (!event->values.len)
		str_puts(&number, "<not counted>");
	else if (is_time)
		str_printf(&number, "%.2f ms", mean / 1e6);
	else if (fmod(mean, 1) == 0)
		console_put_count(&number, (uint64_t)mean);
	else
		str_printf(&number, "%.1f", mean);
	str_puts_escaped(&name, event->spec->name);
	if (event->is_of_user && event->values.len)
		str_puts(&name, ":u");
	str_printf(text, "%20s  %-28s", str_text(&number), str_text(&name));
	if (event->values.len) {
		stat_put_ratio(text, result, event);
		stat_put_interval(text, &event->values);
	}
	if (event->values.len && event->ran < 0.995)
		str_printf(text, "  (%.1f%% of the time)", 100 * event->ran);
	str_putc(text, '\n');
}

static void stat_put_target(struct str *text, const struct stat_options *options, char *const *argv)
{
	bool is_command = !options->is_system && !options->pids.len && !options->cgroups.len;
	if (options->is_system)
		str_puts(text, "the whole system");
	target_cgroups_describe(options->cgroups.data, options->cgroups.len, text);
	for (size_t i = 0; i < options->pids.len; i++)
		str_printf(text, "%s%u", i ? ", " : "process ", options->pids.data[i]);
	for (size_t i = 0; is_command && argv && argv[i]; i++) {
		str_puts(text, i ? " " : "");
		str_puts_escaped(text, argv[i]);
	}
}

static void stat_put_time(struct str *text, const struct stat_values *values, const char *words)
{
	str_printf(text, "%20.6f  %s", stat_mean(values), words);
	stat_put_interval(text, values);
	str_putc(text, '\n');
}

/* Behind the event's name. */
static const char *stat_reason_of(const struct stat_event *event)
{
	const char *colon = strchr(event->why, ':');
	return colon ? colon : event->why;
}

/* An earlier one was not counted for the same reason. */
static bool stat_is_said(const struct stat_result *result, const struct stat_event *event)
{
	for (const struct stat_event *it = result->events.data; it < event; it++)
		if (!it->values.len && strcmp(stat_reason_of(it), stat_reason_of(event)) == 0)
			return true;
	return false;
}

static void stat_put_user_note(struct str *text, const struct stat_result *result)
{
	bool has_any = false;
	vec_each(&result->events, event)
		has_any |= event->is_of_user && event->values.len;
	if (has_any)
		str_puts(text,
			" :u: of the program's own code; what the kernel does for it takes root "
			"to see\n");
}

static void stat_put_text(const struct stat_options *options, char *const *argv,
	const struct stat_result *result, struct str *text)
{
	bool has_time = argv && !options->is_system && !options->pids.len && !options->cgroups.len;
	str_puts(text, "\n Counts for ");
	stat_put_target(text, options, argv);
	if (result->elapsed_s.len > 1)
		str_printf(
			text, " (%zu runs, means and their 95%% intervals)", result->elapsed_s.len);
	str_puts(text, ":\n\n");
	vec_each(&result->events, event)
		stat_put_event(text, result, event);
	str_putc(text, '\n');
	stat_put_time(text, &result->elapsed_s, "seconds elapsed");
	if (has_time) {
		stat_put_time(text, &result->user_s, "seconds user");
		stat_put_time(text, &result->system_s, "seconds in the kernel");
	}
	stat_put_user_note(text, result);
	vec_each(&result->events, event) {
		if (event->values.len || !*event->why || stat_is_said(result, event))
			continue;
		str_puts(text, " not counted: ");
		str_puts_escaped(text, event->why);
		str_putc(text, '\n');
	}
	str_putc(text, '\n');
}

/* ---- JSON ---- */

static void stat_json_double(struct json *json, double value)
{
	char text[32];
	snprintf(text, sizeof(text), "%.9g", value);
	json_literal(json, text);
}

static void stat_json_values(struct json *json, const struct stat_values *values)
{
	json_key(json, "mean");
	stat_json_double(json, stat_mean(values));
	if (values->len > 1) {
		json_key(json, "half_width_95");
		stat_json_double(json, stat_half_width(values));
	}
	json_put_array(json, "values");
	for (size_t i = 0; i < values->len; i++)
		stat_json_double(json, values->data[i]);
	json_array_end(json);
}

static void stat_json_time(struct json *json, const char *key, const struct stat_values *values)
{
	json_line(json);
	json_put_object(json, key);
	stat_json_values(json, values);
	json_object_end(json);
}

static struct err *stat_put_json(const struct stat_options *options, char *const *argv,
	const struct stat_result *result, struct str *text)
{
	CLEANUP(str_deinit) struct str target = {0};
	struct json json = {.sink = byte_sink_to_text(text)};
	stat_put_target(&target, options, argv);
	json_object(&json);
	json_put_text(&json, "target", str_text(&target));
	json_put_number(&json, "runs", result->elapsed_s.len);
	json_put_array(&json, "events");
	vec_each(&result->events, event) {
		json_line(&json);
		json_object(&json);
		json_put_text(&json, "name", event->spec->name);
		json_put_text(&json, "unit", event->spec->unit);
		json_put_bool(&json, "is_counted", event->values.len > 0);
		if (*event->why)
			json_put_text(&json, "why", event->why);
		if (event->is_of_user && event->values.len)
			json_put_bool(&json, "is_of_user", true);
		if (event->values.len) {
			json_key(&json, "ran");
			stat_json_double(&json, event->ran);
			stat_json_values(&json, &event->values);
		}
		json_object_end(&json);
	}
	json_array_end(&json);
	stat_json_time(&json, "elapsed_s", &result->elapsed_s);
	stat_json_time(&json, "user_s", &result->user_s);
	stat_json_time(&json, "system_s", &result->system_s);
	json_object_end(&json);
	struct err *err = json_finish(&json);
	str_putc(text, '\n');
	return err;
}

/* ---- all of it ---- */

static struct err *stat_write(const struct stat_options *options, const struct str *text)
{
	FILE *file = options->output ? fopen(options->output, "we") : stderr;
	if (!file)
		return err_sys(errno, "cannot write %s", options->output);
	bool is_written = fwrite(text->data, 1, text->len, file) == text->len;
	if (file != stderr)
		is_written &= fclose(file) == 0;
	return is_written ? NULL : err_sys(errno, "cannot write the counts");
}

static struct err *stat_show(
	const struct stat_options *options, char *const *argv, const struct stat_result *result)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (options->json)
		try(stat_put_json(options, argv, result, &text));
	else
		stat_put_text(options, argv, result, &text);
	return stat_write(options, &text);
}

static int stat_fail(struct err *err)
{
	console_fail(err);
	return STAT_OWN_FAILURE;
}

static int stat_exit_code(char *const *argv, const struct stat_result *result)
{
	if (result->exec_errno) {
		console_say("cannot run %s: %s", argv[0], strerror(result->exec_errno));
		return result->exec_errno == ENOENT ? STAT_NOT_FOUND : STAT_CANNOT_EXEC;
	}
	return result->has_status ? raise_signal_or_exit_code(result->status) : 0;
}

/* One of several that cannot be had. */
static struct err *name_way_out(struct err *err)
{
	if (err_code(err) != ERR_UNSUPPORTED)
		return err;
	struct err *longer =
		err_new(ERR_UNSUPPORTED, "%s; --skip-missing counts the others", err_message(err));
	err_destroy(err);
	return longer;
}

static int stat_count(struct stat_options *options, int argc, char **argv)
{
	CLEANUP(stat_result_deinit) struct stat_result result = {0};
	struct err *err = stat_check(options, argc);
	char *const *command = argc ? argv : NULL;
	struct event_count_options counting = {
		.specs = options->specs.data,
		.nr_specs = options->specs.len,
		.skips_refused = options->skips_missing,
		.argv = command,
		.pids = options->pids.data,
		.nr_pids = options->pids.len,
		.cgroups = options->cgroups.data,
		.nr_cgroups = options->cgroups.len,
		.is_system = options->is_system,
		.no_inherit = options->no_inherit,
		.duration_ns = options->duration_ns,
	};
	if (!err)
		err = stat_run_all(options, &counting, &result);
	if (err && options->specs.len > 1 && !options->skips_missing)
		err = name_way_out(err);
	if (!err && !result.exec_errno)
		err = stat_show(options, command, &result);
	return err ? stat_fail(err) : stat_exit_code(command, &result);
}

static int cmd_stat_run(const struct command *command, int argc, char **argv)
{
	struct stat_options options = {0};
	int rest, code;
	if (!opt_begin(command, argc, argv, &options, &rest, &code))
		return code == CONSOLE_OK ? CONSOLE_OK : STAT_OWN_FAILURE;
	code = stat_count(&options, argc - rest, argv + rest);
	vec_deinit(&options.pids);
	cgroup_option_deinit(&options.cgroups);
	event_specs_deinit(&options.specs);
	return code;
}

const struct command command_stat = {
	.name = "stat",
	.summary = "count events of a command, processes, containers or the whole system",
	.usage = "[OPTIONS] -- COMMAND [ARGS]   or   -p PID | --container NAME | -a [-- COMMAND]",
	.description =
		"Counts what ebprof record samples, exactly and at hardly any cost: no stacks, no\n"
		"file. Without -e: time, switches, migrations, page faults, and the processor's\n"
		"cycles, instructions and branches where they can be had.",
	.examples = "  ebprof stat -- ./program arg\n"
		    "  sudo ebprof stat -r 10 -e page-faults,instructions:u -- ./program\n"
		    "  sudo ebprof stat --container web,db --duration 5\n"
		    "  sudo ebprof stat -a -e 'syscalls:sys_enter_openat' --duration 5\n",
	.exit_status = "  the command's own; a signal that ends it is raised again\n"
		       "  125  ebprof itself failed, or was used wrongly\n"
		       "  126  the command cannot be executed, 127: it was not found\n",
	.options = stat_rows,
	.foreign = stat_foreign,
	.stops_at_operand = true,
	.run = cmd_stat_run,
};
