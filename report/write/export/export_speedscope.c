/*
 * speedscope's own format (github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources,
 * its schema at www.speedscope.app/file-format-schema.json): a profile a thread, of stacks
 * and weights in the order in which they were sampled.
 *
 * The viewer tells functions apart by their index alone, so a frame is a function with the place
 * where that is declared, and not an address in it. Samples of one stack that follow each other
 * are one, with the sum of their weights.
 */
#include "report/model/text/json.h"
#include "report/write/export/export.h"
#include "report/write/export/function_table.h"
#include "report/write/export/lanes.h"

struct speedscope {
	const struct profile *profile;
	struct json json;
	struct function_table functions;
	struct lanes lanes;
	VEC(uint32_t) stack; /* functions, innermost first */
};

static void speedscope_put_frames(struct speedscope *speedscope)
{
	struct json *json = &speedscope->json;
	CLEANUP(str_deinit) struct str name = {0};
	json_put_array(json, "frames");
	vec_each(&speedscope->functions.entries, function) {
		const struct profile_object *object =
			&speedscope->profile->objects.data[function->object];
		const char *file = function->file ? function->file : object->path;
		str_truncate(&name, 0);
		function_table_put_name(function, &name);
		json_line(json);
		json_object(json);
		json_put_text(json, "name", str_text(&name));
		if (file && file[0])
			json_put_text(json, "file", file);
		if (function->line)
			json_put_number(json, "line", function->line);
		json_object_end(json);
	}
	json_array_end(json);
}

static void speedscope_put_stack(struct speedscope *speedscope, uint32_t stack)
{
	const uint32_t *functions = speedscope->functions.of_frame;
	struct profile_walk walk = profile_walk(speedscope->profile, stack);
	speedscope->stack.len = 0;
	for (uint32_t frame; (frame = profile_walk_next(&walk));)
		vec_push(&speedscope->stack, functions[frame]);
	if (!speedscope->stack.len)
		vec_push(&speedscope->stack, functions[speedscope->profile->frames.len]);
	json_array(&speedscope->json);
	for (size_t i = speedscope->stack.len; i-- > 0;)
		json_number(&speedscope->json, speedscope->stack.data[i]);
	json_array_end(&speedscope->json);
}

/* Samples of a lane, as far as they follow each other in one stack. */
struct run {
	uint32_t stack;
	uint64_t value;
};

/* The run that begins at `*at`, which moves behind it. */
static struct run next_run(const struct speedscope *speedscope, const struct lane *lane, size_t *at)
{
	const struct profile *profile = speedscope->profile;
	const uint32_t *order = speedscope->lanes.order + lane->first;
	struct run run = {.stack = profile->samples.data[order[*at]].stack};
	for (; *at < lane->count; ++*at) {
		const struct profile_sample *sample = &profile->samples.data[order[*at]];
		if (sample->stack != run.stack)
			break;
		run.value = lane_add(run.value, profile_sample_value(profile, sample));
	}
	return run;
}

static void speedscope_put_profile(struct speedscope *speedscope, const struct lane *lane)
{
	struct json *json = &speedscope->json;
	CLEANUP(str_deinit) struct str name = {0};
	lane_put_name(speedscope->profile, lane, &name);
	json_line(json);
	json_object(json);
	json_put_text(json, "type", "sampled");
	json_put_text(json, "name", str_text(&name));
	json_put_text(
		json, "unit", lane_is_time(speedscope->profile, lane) ? "nanoseconds" : "none");
	json_put_number(json, "startValue", 0);
	json_put_number(json, "endValue", lane->value);
	json_put_array(json, "samples");
	for (size_t at = 0; at < lane->count && !json->err;) {
		json_line(json);
		speedscope_put_stack(speedscope, next_run(speedscope, lane, &at).stack);
	}
	json_array_end(json);
	json_line(json);
	json_put_array(json, "weights");
	for (size_t at = 0; at < lane->count && !json->err;)
		json_number(json, next_run(speedscope, lane, &at).value);
	json_array_end(json);
	json_object_end(json);
}

static void speedscope_put_file(struct speedscope *speedscope)
{
	struct json *json = &speedscope->json;
	json_object(json);
	json_put_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_put_text(json, "exporter", "ebprof");
	json_put_text(json, "name", profile_title(speedscope->profile));
	json_put_number(json, "activeProfileIndex", 0);
	json_put_object(json, "shared");
	speedscope_put_frames(speedscope);
	json_object_end(json);
	json_line(json);
	json_put_array(json, "profiles");
	vec_each(&speedscope->lanes.all, lane)
		if (!json->err)
			speedscope_put_profile(speedscope, lane);
	json_array_end(json);
	json_object_end(json);
}

struct err *export_speedscope(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	(void)options;
	struct speedscope speedscope = {.profile = profile, .json.sink = sink};
	function_table_init(&speedscope.functions, profile);
	lanes_init(&speedscope.lanes, profile);
	speedscope_put_file(&speedscope);
	function_table_deinit(&speedscope.functions);
	lanes_deinit(&speedscope.lanes);
	vec_deinit(&speedscope.stack);
	return json_finish(&speedscope.json);
}
