#include "report/write/export/firefox_threads.h"

#include <string.h>

#include "report/model/main_event.h"
#include "report/write/export/labels.h"

enum {
	MARKER_INTERVAL = 1, /* its phase: it has a beginning and an end */
	NR_MARKERS = 1,
};

static const char marker_type[] = "EbprofThread";

struct threads {
	struct json *json;
	const struct profile *profile;
	const struct lanes *lanes;
	const uint32_t *stacks;
	uint32_t marker;
	struct labels labels;
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

static void put_cpu_time(const struct threads *threads, const struct profile_sample *sample)
{
	json_number(threads->json, profile_sample_value(threads->profile, sample));
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

/* ---- the marker: whose samples these are, from the first to the last ---- */

static const struct {
	const char *key, *label;
} fields[] = {
	{"comm", "Process"},
	{"thread", "Thread"},
	{"container", "Container"},
	{"cgroup", "Control group"},
};

void firefox_put_marker_schema(struct json *json)
{
	static const char *const places[] = {"marker-chart", "marker-table"};
	json_put_array(json, "markerSchema");
	json_object(json);
	json_put_text(json, "name", marker_type);
	json_put_text(json, "tableLabel", "{marker.data.comm} {marker.data.thread}");
	json_put_text(json, "chartLabel", "{marker.data.comm} {marker.data.thread}");
	json_put_array(json, "display");
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		json_text(json, places[i]);
	json_array_end(json);
	json_put_array(json, "fields");
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		json_object(json);
		json_put_text(json, "key", fields[i].key);
		json_put_text(json, "label", fields[i].label);
		json_put_text(json, "format", "string");
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
	json_array_end(json);
}

static void firefox_threads_put_label(void *context, const char *key, const char *value)
{
	json_put_text(context, key, value);
}

static void put_marker_data(const struct threads *threads, const struct lane *lane)
{
	const struct label_visitor visitor = {
		.text = firefox_threads_put_label, .context = threads->json};
	uint32_t wanted = EXPORT_LABEL_COMM | EXPORT_LABEL_THREAD | EXPORT_LABEL_CONTAINER |
			  EXPORT_LABEL_CGROUP; /* none of them a number */
	json_object(threads->json);
	json_put_text(threads->json, "type", marker_type);
	if (lane->nr_threads == 1)
		labels_visit(&threads->labels, wanted,
			&threads->profile->threads.data[lane->thread], &visitor);
	json_object_end(threads->json);
}

static void put_column_of_number(struct json *json, const char *key, uint64_t value)
{
	json_put_array(json, key);
	json_number(json, value);
	json_array_end(json);
}

static void put_markers(const struct threads *threads, const struct lane *lane)
{
	struct json *json = threads->json;
	json_put_object(json, "markers");
	json_put_number(json, "length", NR_MARKERS);
	put_column_of_number(json, "name", threads->marker);
	put_column_of_number(json, "category", 0);
	put_column_of_number(json, "phase", MARKER_INTERVAL);
	json_put_array(json, "startTime");
	firefox_threads_put_time(threads, firefox_threads_sample_at(threads, lane, 0)->time_ns);
	json_array_end(json);
	json_put_array(json, "endTime");
	firefox_threads_put_time(
		threads, firefox_threads_sample_at(threads, lane, lane->count - 1)->time_ns);
	json_array_end(json);
	json_put_array(json, "data");
	put_marker_data(threads, lane);
	json_array_end(json);
	json_object_end(json);
}

/* ---- threads ---- */

/* A thread's name says nothing of its numbers; what many share has none of its own. */
static void firefox_threads_put_identity(const struct threads *threads, const struct lane *lane)
{
	struct json *json = threads->json;
	const struct profile_thread *thread = &threads->profile->threads.data[lane->thread];
	CLEANUP(str_deinit) struct str name = {0}, process = {0}, pid = {0};
	if (lane->nr_threads == 1 && thread->comm[0])
		str_puts(&name, thread->comm);
	else
		lane_put_name(threads->profile, lane, &name);
	if (lane->nr_threads == 1)
		labels_put_comm(&threads->labels, thread, &process);
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
	const struct lanes *lanes, const uint32_t *stacks, uint32_t marker)
{
	struct threads threads = {json, profile, lanes, stacks, marker, {0}};
	labels_init(&threads.labels, profile);
	json_put_array(json, "threads");
	vec_each(&lanes->all, lane)
		if (!json->err)
			put_thread(&threads, lane);
	json_array_end(json);
	labels_deinit(&threads.labels);
}

uint64_t firefox_interval_ns(const struct profile *profile)
{
	const struct profile_event *event = &profile->events.data[main_event_of(profile)];
	uint64_t second_ns = 1000000000;
	if (event->period && strcmp(event->unit, "ns") == 0)
		return event->period;
	return event->frequency_hz ? second_ns / event->frequency_hz : second_ns / 1000;
}
