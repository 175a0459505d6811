/*
 * A trace in Chrome's JSON
 * (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU) with V8's CPU profiles
 * in it, as DevTools' Performance panel loads them: for each thread an event "Profile" and pieces
 * "ProfileChunk" of the same id, with the nodes of a call tree, samples that name one, and the
 * microseconds from each sample to the next (third_party/v8: src/profiler/cpu-profiler.cc and
 * profile-generator.cc, StreamPendingTraceEvents).
 *
 * A sample lasts until the next one there. Ours stand for a time, so each begins when it was
 * taken or when the one before it is over, and "(idle)", which DevTools knows, fills the time in
 * between. The sum of a function is then what a report says. Small gaps are the timers' jitter:
 * they are left out, until they have become worth half a sample.
 */
#include <string.h>

#include "report/model/text/json.h"
#include "report/write/export/export.h"
#include "report/write/export/function_table.h"
#include "report/write/export/lanes.h"
#include "report/write/export/stack_tree.h"

enum {
	ROOT_ID = 1,
	IDLE_ID = 2,
	FIRST_ID = 2, /* + index of a node, from 1 on */
	CHUNK_SAMPLES = 4096,
	NS_DIGITS = 3, /* of a microsecond */
};

static const char category[] = "disabled-by-default-v8.cpu_profiler";

struct chrome {
	const struct profile *profile;
	struct json json;
	struct function_table functions;
	struct stack_tree tree;
	struct lanes lanes;
	uint32_t *seen_in;   /* of each node: the lane that has it last, plus 1 */
	VEC(uint32_t) fresh; /* nodes, innermost first */
};

/* ---- time ---- */

/* Where the samples of a lane stand. */
struct timeline {
	const struct chrome *chrome;
	const struct lane *lane;
	uint64_t share_ns; /* a sample's, of an event that counts no time; per weight if weighted */
	bool is_weighted;
	size_t next;
	uint64_t end_ns; /* of the sample before */
};

struct slice {
	uint32_t node; /* 0: idle */
	uint64_t length_ns;
};

static const struct profile_sample *chrome_sample_at(const struct timeline *timeline, size_t index)
{
	const struct chrome *chrome = timeline->chrome;
	uint32_t sample = chrome->lanes.order[timeline->lane->first + index];
	return &chrome->profile->samples.data[sample];
}

static struct timeline timeline_of(const struct chrome *chrome, const struct lane *lane)
{
	const struct profile_event *event = &chrome->profile->events.data[lane->event];
	struct timeline timeline = {.chrome = chrome, .lane = lane};
	uint64_t first_ns = chrome_sample_at(&timeline, 0)->time_ns;
	timeline.end_ns = first_ns;
	timeline.is_weighted = event->frequency_hz;
	if (event->frequency_hz)
		timeline.share_ns = 1000000000 / event->frequency_hz;
	else if (lane->count > 1)
		timeline.share_ns =
			(chrome_sample_at(&timeline, lane->count - 1)->time_ns - first_ns) /
			(lane->count - 1);
	return timeline;
}

static uint64_t length_ns(const struct timeline *timeline, const struct profile_sample *sample)
{
	const struct chrome *chrome = timeline->chrome;
	if (lane_is_time(chrome->profile, timeline->lane))
		return profile_sample_value(chrome->profile, sample);
	return timeline->share_ns * (timeline->is_weighted ? sample->weight : 1);
}

/* The next sample, or the time before it in which the thread did not run. False: the end. */
static bool timeline_next(struct timeline *timeline, struct slice *slice)
{
	if (timeline->next == timeline->lane->count)
		return false;
	const struct profile_sample *sample = chrome_sample_at(timeline, timeline->next);
	uint64_t length = length_ns(timeline, sample);
	uint64_t gap = sample->time_ns > timeline->end_ns ? sample->time_ns - timeline->end_ns : 0;
	if (gap > length / 2) {
		*slice = (struct slice){.length_ns = gap};
		timeline->end_ns = sample->time_ns;
		return true;
	}
	*slice = (struct slice){timeline->chrome->tree.stacks[sample->stack], length};
	timeline->end_ns = lane_add(timeline->end_ns, length);
	timeline->next++;
	return true;
}

/* ---- events ---- */

static uint32_t pid_of(const struct chrome *chrome, const struct lane *lane)
{
	return chrome->profile->threads.data[lane->thread].pid;
}

static uint32_t tid_of(const struct chrome *chrome, const struct lane *lane)
{
	return chrome->profile->threads.data[lane->thread].tid;
}

/* Up to and with "args", which the caller fills and ends by two ends of objects. */
static void begin_event(struct chrome *chrome, const struct lane *lane, const char *phase,
	const char *name, uint64_t time_ns)
{
	struct json *json = &chrome->json;
	bool is_metadata = phase[0] == 'M';
	json_line(json);
	json_object(json);
	json_put_text(json, "ph", phase);
	json_put_text(json, "name", name);
	json_put_text(json, "cat", is_metadata ? "__metadata" : category);
	json_put_number(json, "pid", pid_of(chrome, lane));
	json_put_number(json, "tid", tid_of(chrome, lane));
	json_key(json, "ts");
	json_decimal(json, time_ns, NS_DIGITS);
	if (!is_metadata) {
		CLEANUP(str_deinit) struct str id = {0};
		str_printf(&id, "0x%zx", (size_t)(lane - chrome->lanes.all.data) + 1);
		json_put_text(json, "id", str_text(&id));
	}
	json_put_object(json, "args");
}

static void end_event(struct chrome *chrome)
{
	json_object_end(&chrome->json);
	json_object_end(&chrome->json);
}

static void chrome_put_names(struct chrome *chrome, const struct lane *lane)
{
	const struct profile *profile = chrome->profile;
	uint32_t process = profile->threads.data[lane->thread].process;
	const struct profile_object *exe =
		&profile->objects.data[profile->processes.data[process].info.exe];
	CLEANUP(str_deinit) struct str name = {0};
	lane_put_name(profile, lane, &name);
	begin_event(chrome, lane, "M", "process_name", 0);
	json_put_text(&chrome->json, "name", exe->name[0] ? exe->name : str_text(&name));
	end_event(chrome);
	begin_event(chrome, lane, "M", "thread_name", 0);
	json_put_text(&chrome->json, "name", str_text(&name));
	end_event(chrome);
}

/* ---- nodes ---- */

static void begin_node(struct chrome *chrome, uint32_t id, uint32_t parent)
{
	struct json *json = &chrome->json;
	json_line(json);
	json_object(json);
	json_put_number(json, "id", id);
	if (parent)
		json_put_number(json, "parent", parent);
	json_put_object(json, "callFrame");
	json_put_text(json, "codeType", "other");
	json_put_number(json, "scriptId", 0);
}

static void end_node(struct chrome *chrome)
{
	json_object_end(&chrome->json);
	json_object_end(&chrome->json);
}

static void put_pseudo_node(struct chrome *chrome, uint32_t id, uint32_t parent, const char *name)
{
	begin_node(chrome, id, parent);
	json_put_text(&chrome->json, "functionName", name);
	end_node(chrome);
}

/* Lines count from 0 here. */
static void chrome_put_node(struct chrome *chrome, uint32_t node)
{
	struct json *json = &chrome->json;
	const struct stack_tree_node *it = &chrome->tree.nodes.data[node];
	const struct function_table_entry *function = &chrome->functions.entries.data[it->name];
	const char *object = chrome->profile->objects.data[function->object].path;
	CLEANUP(str_deinit) struct str name = {0};
	function_table_put_name(function, &name);
	begin_node(chrome, FIRST_ID + node, it->parent ? FIRST_ID + it->parent : ROOT_ID);
	json_put_text(json, "functionName", str_text(&name));
	json_put_text(json, "url", function->file ? function->file : object);
	if (function->line)
		json_put_number(json, "lineNumber", function->line - 1);
	end_node(chrome);
}

/* The node and those above it, as far as the lane has none of them yet. */
static void chrome_put_branch(struct chrome *chrome, uint32_t node, uint32_t stamp)
{
	chrome->fresh.len = 0;
	for (; node && chrome->seen_in[node] != stamp;
		node = chrome->tree.nodes.data[node].parent) {
		chrome->seen_in[node] = stamp;
		vec_push(&chrome->fresh, node);
	}
	while (chrome->fresh.len)
		chrome_put_node(chrome, chrome->fresh.data[--chrome->fresh.len]);
}

/* ---- chunks ---- */

static void chrome_put_nodes(struct chrome *chrome, struct timeline timeline, bool is_first)
{
	const struct lane *lane = timeline.lane;
	uint32_t stamp = (uint32_t)(lane - chrome->lanes.all.data) + 1;
	struct slice slice;
	json_put_array(&chrome->json, "nodes");
	if (is_first) {
		put_pseudo_node(chrome, ROOT_ID, 0, "(root)");
		put_pseudo_node(chrome, IDLE_ID, ROOT_ID, "(idle)");
	}
	for (int i = 0; i < CHUNK_SAMPLES && timeline_next(&timeline, &slice); i++)
		chrome_put_branch(chrome, slice.node, stamp);
	json_array_end(&chrome->json);
}

static void chrome_put_samples(struct chrome *chrome, struct timeline timeline)
{
	struct slice slice;
	int i = 0;
	json_put_array(&chrome->json, "samples");
	for (; i < CHUNK_SAMPLES && timeline_next(&timeline, &slice); i++)
		json_number(&chrome->json, slice.node ? FIRST_ID + slice.node : IDLE_ID);
	if (i < CHUNK_SAMPLES) /* the end of the last sample */
		json_number(&chrome->json, IDLE_ID);
	json_array_end(&chrome->json);
}

/* From the sample before, so it is that one's length. Moves the timeline behind the chunk. */
static bool put_deltas(struct chrome *chrome, struct timeline *timeline, uint64_t *previous_ns)
{
	struct slice slice;
	int i = 0;
	json_put_array(&chrome->json, "timeDeltas");
	for (; i < CHUNK_SAMPLES && timeline_next(timeline, &slice); i++) {
		json_decimal(&chrome->json, *previous_ns, NS_DIGITS);
		*previous_ns = slice.length_ns;
	}
	bool is_last = i < CHUNK_SAMPLES;
	if (is_last)
		json_decimal(&chrome->json, *previous_ns, NS_DIGITS);
	json_array_end(&chrome->json);
	return is_last;
}

static void put_lane(struct chrome *chrome, const struct lane *lane)
{
	struct json *json = &chrome->json;
	struct timeline timeline = timeline_of(chrome, lane);
	uint64_t begin_ns = timeline.end_ns, previous_ns = 0;
	chrome_put_names(chrome, lane);
	begin_event(chrome, lane, "P", "Profile", begin_ns);
	json_put_object(json, "data");
	json_key(json, "startTime");
	json_decimal(json, begin_ns, NS_DIGITS);
	json_object_end(json);
	end_event(chrome);
	for (bool is_first = true, is_last = false; !is_last && !json->err; is_first = false) {
		begin_event(chrome, lane, "P", "ProfileChunk", begin_ns);
		json_put_object(json, "data");
		json_put_object(json, "cpuProfile");
		chrome_put_nodes(chrome, timeline, is_first);
		json_line(json);
		chrome_put_samples(chrome, timeline);
		json_object_end(json);
		json_line(json);
		is_last = put_deltas(chrome, &timeline, &previous_ns);
		if (is_last) {
			json_key(json, "endTime");
			json_decimal(json, timeline.end_ns, NS_DIGITS);
		}
		json_object_end(json);
		end_event(chrome);
	}
}

/* An array alone, without an object around it: readers that take one take the other, and not
 * reversed.
 */
static void put_trace(struct chrome *chrome)
{
	json_array(&chrome->json);
	vec_each(&chrome->lanes.all, lane)
		if (!chrome->json.err)
			put_lane(chrome, lane);
	json_array_end(&chrome->json);
}

struct err *export_chrome(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	(void)options;
	struct chrome chrome = {.profile = profile, .json.sink = sink};
	function_table_init(&chrome.functions, profile);
	stack_tree_init(&chrome.tree, profile, chrome.functions.of_frame);
	lanes_init(&chrome.lanes, profile);
	chrome.seen_in = mem_zalloc_array(chrome.tree.nodes.len, sizeof(*chrome.seen_in));
	put_trace(&chrome);
	function_table_deinit(&chrome.functions);
	stack_tree_deinit(&chrome.tree);
	lanes_deinit(&chrome.lanes);
	mem_free(chrome.seen_in);
	vec_deinit(&chrome.fresh);
	return json_finish(&chrome.json);
}
