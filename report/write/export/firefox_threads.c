#include "report/write/export/firefox_threads.h"

#include <string.h>

#include "report/model/main_event.h"
#include "report/write/export/labels.h"

enum {
	MARKER_INTERVAL = 1, /* its phase: it has a beginning and an end */
};

static const char thread_marker[] = "EbprofThread", wait_marker[] = "EbprofWait";

struct threads {
	struct json *json;
	const struct profile *profile;
	const struct lanes *lanes;
	const uint32_t *stacks;
	struct firefox_markers markers;
	struct process_names names;
};

static void firefox_threads_put_time(const struct threads *threads, uint64_t time_ns)
{
	json_decimal(threads->json, time_ns - threads->profile->first_ns, FIREFOX_NS_DIGITS);
}

static const struct profile_sample *firefox_threads_sample_at(
	const struct threads *threads, const struct lane *lane, size_t index)
{
	return &threads->profile->samples.data[threads->lanes->order[lane->first + index]];
}

/* ---- samples ---- */

static void firefox_threads_put_stack(
	const struct threads *threads, const struct profile_sample *sample)
{
	json_number(threads->json, threads->stacks[sample->stack] - 1);
}

static void put_sample_time(const struct threads *threads, const struct profile_sample *sample)
{
	firefox_threads_put_time(threads, sample->time_ns);
}

/* What the sample stands for: of time in ms, or else its number of ticks. */
static void put_time_weight(const struct threads *threads, const struct profile_sample *sample)
{
	json_decimal(
		threads->json, profile_sample_value(threads->profile, sample), FIREFOX_NS_DIGITS);
}

static void put_tick_weight(const struct threads *threads, const struct profile_sample *sample)
{
	json_number(threads->json, sample->weight);
}

/* None of a wait. */
static void put_cpu_time(const struct threads *threads, const struct profile_sample *sample)
{
	bool is_wait = threads->profile->events.data[sample->event].wait != PROFILE_NO_WAIT;
	json_number(threads->json, is_wait ? 0 : profile_sample_value(threads->profile, sample));
}

typedef void put_fn(const struct threads *threads, const struct profile_sample *sample);

static void firefox_threads_put_column(
	const struct threads *threads, const struct lane *lane, const char *key, put_fn *put)
{
	json_line(threads->json);
	json_put_array(threads->json, key);
	for (size_t i = 0; i < lane->count && !threads->json->err; i++)
		put(threads, firefox_threads_sample_at(threads, lane, i));
	json_array_end(threads->json);
}

/* threadCPUDelta: how much of the time since the sample before the thread ran. */
static void firefox_threads_put_samples(const struct threads *threads, const struct lane *lane)
{
	bool is_time = lane_is_time(threads->profile, lane);
	json_put_object(threads->json, "samples");
	json_put_number(threads->json, "length", lane->count);
	json_put_text(threads->json, "weightType", is_time ? "tracing-ms" : "samples");
	firefox_threads_put_column(threads, lane, "stack", firefox_threads_put_stack);
	firefox_threads_put_column(threads, lane, "time", put_sample_time);
	firefox_threads_put_column(
		threads, lane, "weight", is_time ? put_time_weight : put_tick_weight);
	if (is_time)
		firefox_threads_put_column(threads, lane, "threadCPUDelta", put_cpu_time);
	json_object_end(threads->json);
}

/*
 * ---- markers: whose samples these are, from the first to the last; and each wait whose length is
 * known ----
 */

struct marker_field {
	const char *key, *label;
};

static void put_schema(struct json *json, const char *type, const char *label,
	const struct marker_field *fields, size_t nr_fields)
{
	static const char *const places[] = {"marker-chart", "marker-table"};
	json_object(json);
	json_put_text(json, "name", type);
	json_put_text(json, "tableLabel", label);
	json_put_text(json, "chartLabel", label);
	json_put_array(json, "display");
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		json_text(json, places[i]);
	json_array_end(json);
	json_put_array(json, "fields");
	for (size_t i = 0; i < nr_fields; i++) {
		json_object(json);
		json_put_text(json, "key", fields[i].key);
		json_put_text(json, "label", fields[i].label);
		json_put_text(json, "format", "string");
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

void firefox_put_marker_schema(struct json *json)
{
	static const struct marker_field of_thread[] = {
		{"comm", "Process"},
		{"thread", "Thread"},
		{"container", "Container"},
		{"cgroup", "Control group"},
	};
	static const struct marker_field of_wait[] = {{"reason", "Reason"}};
	json_put_array(json, "markerSchema");
	put_schema(json, thread_marker, "{marker.data.comm} {marker.data.thread}", of_thread,
		sizeof(of_thread) / sizeof(*of_thread));
	put_schema(json, wait_marker, "{marker.data.reason}", of_wait, 1);
	json_array_end(json);
}

static void firefox_threads_put_label(void *context, const char *key, const char *value)
{
	json_put_text(context, key, value);
}

static void put_thread_data(const struct threads *threads, const struct lane *lane)
{
	const struct label_visitor visitor = {
		.text = firefox_threads_put_label, .context = threads->json};
	uint32_t wanted = EXPORT_LABEL_COMM | EXPORT_LABEL_THREAD | EXPORT_LABEL_CONTAINER |
			  EXPORT_LABEL_CGROUP; /* none of them a number */
	json_object(threads->json);
	json_put_text(threads->json, "type", thread_marker);
	if (lane->nr_threads == 1)
		labels_visit(&threads->names, wanted, &threads->profile->threads.data[lane->thread],
			&visitor);
	json_object_end(threads->json);
}

/* The leaf's name is the reason. */
static void put_wait_data(const struct threads *threads, const struct profile_sample *sample)
{
	const struct profile *profile = threads->profile;
	struct profile_walk walk = profile_walk(profile, sample->stack);
	uint32_t leaf = profile_walk_next(&walk);
	const struct profile_frame *frame = &profile->frames.data[leaf];
	json_object(threads->json);
	json_put_text(threads->json, "type", wait_marker);
	json_put_text(
		threads->json, "reason", leaf ? profile->functions.data[frame->function].name : "");
	json_object_end(threads->json);
}

/* A row of the markers, NULL for that of the thread. */
typedef void put_marker_fn(
	const struct threads *threads, const struct lane *lane, const struct profile_sample *wait);

static void put_marker_name(
	const struct threads *threads, const struct lane *lane, const struct profile_sample *wait)
{
	(void)lane;
	json_number(threads->json, wait ? threads->markers.wait : threads->markers.thread);
}

static void put_marker_category(
	const struct threads *threads, const struct lane *lane, const struct profile_sample *wait)
{
	(void)lane;
	json_number(threads->json, wait ? threads->markers.wait_category : 0);
}

static void put_marker_phase(
	const struct threads *threads, const struct lane *lane, const struct profile_sample *wait)
{
	(void)lane;
	(void)wait;
	json_number(threads->json, MARKER_INTERVAL);
}

/* A wait may have begun before the first sample. */
static void put_marker_start(
	const struct threads *threads, const struct lane *lane, const struct profile_sample *wait)
{
	const struct profile *profile = threads->profile;
	uint64_t first_ns = profile->first_ns;
	uint64_t start_ns = firefox_threads_sample_at(threads, lane, 0)->time_ns;
	if (wait) {
		uint64_t value = profile_sample_value(profile, wait);
		start_ns = wait->time_ns - first_ns > value ? wait->time_ns - value : first_ns;
	}
	firefox_threads_put_time(threads, start_ns);
}

static void put_marker_end(
	const struct threads *threads, const struct lane *lane, const struct profile_sample *wait)
{
	const struct profile_sample *last =
		firefox_threads_sample_at(threads, lane, lane->count - 1);
	firefox_threads_put_time(threads, (wait ? wait : last)->time_ns);
}

static void put_marker_data(
	const struct threads *threads, const struct lane *lane, const struct profile_sample *wait)
{
	if (wait)
		put_wait_data(threads, wait);
	else
		put_thread_data(threads, lane);
}

/* The wait of exact length that comes at `*at` or behind it, which moves behind that; else NULL. */
static const struct profile_sample *next_wait(
	const struct threads *threads, const struct lane *lane, size_t *at)
{
	if (threads->profile->events.data[lane->event].wait == PROFILE_NO_WAIT)
		return NULL;
	while (*at < lane->count) {
		const struct profile_sample *sample =
			firefox_threads_sample_at(threads, lane, (*at)++);
		if (!sample->is_estimate)
			return sample;
	}
	return NULL;
}

static size_t count_markers(const struct threads *threads, const struct lane *lane)
{
	size_t count = 1;
	for (size_t at = 0; next_wait(threads, lane, &at);)
		count++;
	return count;
}

static void put_markers(const struct threads *threads, const struct lane *lane)
{
	static const struct {
		const char *key;
		put_marker_fn *put;
	} columns[] = {{"name", put_marker_name}, {"category", put_marker_category},
		{"phase", put_marker_phase}, {"startTime", put_marker_start},
		{"endTime", put_marker_end}, {"data", put_marker_data}};
	struct json *json = threads->json;
	json_put_object(json, "markers");
	json_put_number(json, "length", count_markers(threads, lane));
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		const struct profile_sample *wait;
		json_line(json);
		json_put_array(json, columns[i].key);
		columns[i].put(threads, lane, NULL);
		for (size_t at = 0; !json->err && (wait = next_wait(threads, lane, &at));)
			columns[i].put(threads, lane, wait);
		json_array_end(json);
	}
	json_object_end(json);
}

/* ---- threads ---- */

/* A thread's name says nothing of its numbers; what many share has none of its own. */
static void firefox_threads_put_identity(const struct threads *threads, const struct lane *lane)
{
	struct json *json = threads->json;
	const struct profile_thread *thread = &threads->profile->threads.data[lane->thread];
	CLEANUP(str_deinit) struct str name = {0}, process = {0}, pid = {0};
	if (lane->nr_threads != 1 || !thread->comm[0])
		lane_put_name(threads->profile, lane, &name);
	else if (threads->profile->events.len > 2) /* the first one stands for none */
		str_printf(&name, "%s (%s)", thread->comm,
			threads->profile->events.data[lane->event].name);
	else
		str_puts(&name, thread->comm);
	if (lane->nr_threads == 1)
		process_names_put(&threads->names, thread, &process);
	else
		str_puts(&process, str_text(&name));
	str_printf(&pid, "%u", thread->pid);
	json_put_text(json, "name", str_text(&name));
	json_put_text(json, "processName", str_text(&process));
	json_put_text(json, "processType", "default");
	json_put_text(json, "pid", str_text(&pid));
	json_put_number(json, "tid", thread->tid);
	json_put_bool(json, "isMainThread", thread->pid == thread->tid);
}

static void put_thread(const struct threads *threads, const struct lane *lane)
{
	struct json *json = threads->json;
	json_line(json);
	json_object(json);
	firefox_threads_put_identity(threads, lane);
	json_put_number(json, "processStartupTime", 0);
	json_key(json, "processShutdownTime");
	json_null(json);
	json_key(json, "registerTime");
	firefox_threads_put_time(threads, firefox_threads_sample_at(threads, lane, 0)->time_ns);
	json_key(json, "unregisterTime");
	json_null(json);
	json_put_array(json, "pausedRanges");
	json_array_end(json);
	json_line(json);
	firefox_threads_put_samples(threads, lane);
	json_line(json);
	put_markers(threads, lane);
	json_object_end(json);
}

void firefox_put_threads(struct json *json, const struct profile *profile,
	const struct lanes *lanes, const uint32_t *stacks, struct firefox_markers markers)
{
	struct threads threads = {json, profile, lanes, stacks, markers, {0}};
	process_names_init(&threads.names, profile);
	json_put_array(json, "threads");
	vec_each(&lanes->all, lane)
		if (!json->err)
			put_thread(&threads, lane);
	json_array_end(json);
	process_names_deinit(&threads.names);
}

uint64_t firefox_interval_ns(const struct profile *profile)
{
	const struct profile_event *event = &profile->events.data[main_event_of(profile)];
	uint64_t second_ns = 1000000000;
	if (event->period && strcmp(event->unit, "ns") == 0)
		return event->period;
	return event->frequency_hz ? second_ns / event->frequency_hz : second_ns / 1000;
}
