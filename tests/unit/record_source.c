/*
 * A source of events is a row: one that no other file knows of goes all the way, through the table,
 * the translation and the recording, into files that a reader finds balanced.
 */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "format/file/chunk.h"
#include "format/file/first_sources.h"
#include "format/file/reader.h"
#include "record/recording.h"
#include "record/source/event_tally.h"
#include "tests/unit/unit.h"

/* ---- the source: bytes that run through a meter, of which it measures each gulp ---- */

static struct source_cpu metered[] = {{.cpu = 0}, {.cpu = 3}};
static bool is_open;

static struct err *meter_probe(struct source *source, const struct session_options *options)
{
	(void)options;
	vec_push(&source->events, (struct source_event){.name = "gulps", .unit = "bytes"});
	return NULL;
}

static void meter_load(struct source *source, struct sample_bpf *bpf)
{
	(void)source, (void)bpf;
}

static struct err *meter_attach(struct source *source, const struct source_place *place)
{
	(void)source, (void)place;
	return NULL;
}

static struct err *meter_start(struct source *source, uint64_t now_ns)
{
	(void)source, (void)now_ns;
	is_open = true;
	return NULL;
}

static void meter_stop(struct source *source, uint64_t now_ns)
{
	(void)source, (void)now_ns;
	is_open = false;
}

static struct err *meter_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	(void)source, (void)with_skipped;
	vec_append(ret, metered, sizeof(metered) / sizeof(*metered));
	return NULL;
}

static const struct event_source meter_source = {
	.name = "meter",
	.tallied = "gulps",
	.lane = EVENT_LANE_TASK,
	.probe = meter_probe,
	.load = meter_load,
	.attach = meter_attach,
	.start = meter_start,
	.stop = meter_stop,
	.read_counters = meter_read_counters,
};

/* ---- a session of it, but for the kernel ---- */

static const struct event_source *const rows[] = {&meter_source};
static struct session_options options = {.target = SESSION_SYSTEM, .output = "meter.data"};
static struct sources sources;
static struct translate translate;
static struct recording recording;
static struct recording_counts counts;

static void begin(void)
{
	CHECK_OK(sources_probe(&sources, rows, 1, &options));
	CHECK_INT(sources_nr_lanes(&sources, false), 2);
	translate_init(&translate, true);
	recording = (struct recording){
		.options = &options, .translate = &translate, .stop_fd = -1, .sources = &sources};
	sources_load(&sources, NULL);
	CHECK_OK(sources_attach(&sources, &(struct source_place){0}));
	CHECK_OK(recording_begin(&recording));
	CHECK_OK(sources_start(&sources, 1));
	CHECK_OK(recording_publish(&recording));
	CHECK(is_open);
}

/* As the session does. */
static void read_counts(void)
{
	struct recording_source_counts *of = &counts.sources[0];
	const struct translate_taken *taken = &translate.stats.taken[0];
	of->cpus.len = 0;
	CHECK_OK(meter_source.read_counters(&sources.data[0], true, &of->cpus));
	of->unresolved = taken->unresolved;
	of->samples = event_tally_minus(taken->received, taken->unresolved);
}

static void end(void)
{
	sources_stop(&sources, 2);
	CHECK(!is_open);
	read_counts();
	CHECK_OK(recording_finish(&recording, &counts, LAYOUT_END_COMMAND));
	recording_deinit(&recording);
	recording_counts_deinit(&counts);
	translate_deinit(&translate);
	sources_deinit(&sources);
}

static void happen(size_t cpu, enum event_counter outcome, uint64_t value)
{
	struct event_tally *of = metered[cpu].counted.of;
	event_tally_count(&of[EVENT_COUNTER_EVENTS], value);
	event_tally_count(&of[outcome], value);
}

/* In the ring; its stack is one that never arrives, or none. */
static void sample(size_t cpu, uint64_t value, bool is_resolved)
{
	struct event_sample event = {
		.type = EVENT_SAMPLE,
		.cpu = (uint16_t)metered[cpu].cpu,
		.source = 0,
		.event = 0,
		.value = value,
		.measured = value,
		.pid = 0x7ffffff0,
		.tid = 0x7ffffff0,
		.time_ns = 1000,
		.user_hash = is_resolved ? 0 : 7,
		.comm = "tap",
	};
	happen(cpu, EVENT_COUNTER_SAMPLES, value);
	translate_collect(&translate, &event, sizeof(event));
}

/* ---- what a reader finds ---- */

struct found {
	char strings[64][64];
	struct layout_event event; /* the only one */
	uint32_t nr_events, nr_values, nr_counted;
	struct layout_tally samples;
	struct layout_tally tallies[LAYOUT_EVENT_COUNTER_COUNT][4]; /* by CPU */
};

static void on_string(void *context, uint32_t id, const char *bytes, size_t len)
{
	struct found *found = context;
	if (id < 64 && len < 64)
		memcpy(found->strings[id], bytes, len);
}

static void on_event(void *context, uint32_t id, const struct layout_event *event)
{
	struct found *found = context;
	found->event = *event;
	found->nr_events = id;
}

static void on_sample(void *context, const struct layout_sample *it)
{
	struct found *found = context;
	found->samples.count++;
	found->samples.sum += it->weight;
}

static void on_counter(void *context, const struct layout_counter_value *value)
{
	enum layout_event_counter counter;
	if (first_source_of_counter(value->counter, &counter))
		((struct found *)context)->nr_counted++;
}

static void on_event_tally(void *context, const struct layout_event_tally *it)
{
	struct found *found = context;
	CHECK_STR(found->strings[it->source], "meter");
	CHECK(it->counter < LAYOUT_EVENT_COUNTER_COUNT && it->cpu < 4);
	found->tallies[it->counter][it->cpu] = (struct layout_tally){it->count, it->sum};
}

static void count_chunks(int fd, struct found *found)
{
	struct chunk_stream stream;
	struct chunk chunk;
	bool more = true;
	CHECK_OK(chunk_stream_init(&stream, fd));
	while (more) {
		CHECK_OK(chunk_stream_next(&stream, &chunk, &more));
		CHECK(!more || chunk.type != LAYOUT_CHUNK_SAMPLES);
		found->nr_values += more && chunk.type == LAYOUT_CHUNK_VALUES;
	}
	chunk_stream_deinit(&stream);
	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
}

static void read_file(const char *name, struct found *ret)
{
	static const struct reader_visitor visitor = {
		.string = on_string,
		.event = on_event,
		.sample = on_sample,
		.counter = on_counter,
		.event_tally = on_event_tally,
	};
	struct reader_result result;
	*ret = (struct found){0};
	int fd = open(name, O_RDONLY);
	count_chunks(fd, ret);
	CHECK_OK(reader_read(fd, &visitor, ret, &result));
	CHECK(result.ended && !result.bad_chunks && !result.unknown_chunks);
	close(fd);
}

static struct layout_tally sum_of(const struct found *found, enum layout_event_counter counter)
{
	struct layout_tally sum = {0};
	for (int cpu = 0; cpu < 4; cpu++) {
		sum.count += found->tallies[counter][cpu].count;
		sum.sum += found->tallies[counter][cpu].sum;
	}
	return sum;
}

static void check_tally(const struct found *found, enum layout_event_counter counter,
	uint64_t count, uint64_t total)
{
	struct layout_tally tally = sum_of(found, counter);
	CHECK_INT(tally.count, count);
	CHECK_INT(tally.sum, total);
}

/* events = samples + idle + filtered + lost, in numbers and in sums. */
static void check_balance(const struct found *found)
{
	struct layout_tally told = {0}, all = sum_of(found, LAYOUT_EVENTS);
	for (int i = LAYOUT_EVENTS_SAMPLES; i <= LAYOUT_EVENTS_LOST_WRITE; i++) {
		struct layout_tally tally = sum_of(found, (enum layout_event_counter)i);
		told.count += tally.count;
		told.sum += tally.sum;
	}
	CHECK_INT(all.count, told.count);
	CHECK_INT(all.sum, told.sum);
	check_tally(found, LAYOUT_EVENTS_SAMPLES, found->samples.count, found->samples.sum);
}

static void run_first_part(void)
{
	sample(0, 100, true);
	sample(1, 40, true);
	sample(0, 7, false);
	happen(0, EVENT_COUNTER_FILTERED, 1000);
	happen(1, EVENT_COUNTER_LOST_RING, 5);
	happen(1, EVENT_COUNTER_LOST_BUSY, 6);
	happen(1, EVENT_COUNTER_IDLE, 2);
	metered[1].skipped = 11;
	translate_run(&translate, 2000, UINT64_MAX);
}

TEST(a_row_is_a_source)
{
	struct found found;
	begin();
	run_first_part();
	read_counts();
	CHECK_OK(recording_flush(&recording, &counts));
	end();
	read_file("meter.data", &found);
	CHECK_INT(found.nr_events, 1);
	CHECK_STR(found.strings[found.event.name], "gulps");
	CHECK_STR(found.strings[found.event.unit], "bytes");
	CHECK_STR(found.strings[found.event.source], "meter");
	check_balance(&found);
	check_tally(&found, LAYOUT_EVENTS, 7, 1160);
	check_tally(&found, LAYOUT_EVENTS_SAMPLES, 2, 140);
	check_tally(&found, LAYOUT_EVENTS_LOST_UNRESOLVED, 1, 7);
	check_tally(&found, LAYOUT_EVENTS_FILTERED, 1, 1000);
	check_tally(&found, LAYOUT_EVENTS_SKIPPED, 11, 0);
	CHECK_INT(found.tallies[LAYOUT_EVENTS_LOST_BUSY][3].sum, 6);
}

/* Readers of versions before 1.4 see nothing of it: they would take it for ticks. */
TEST(samples_of_another_source_are_no_ticks)
{
	struct found found;
	begin();
	run_first_part();
	end();
	read_file("meter.data", &found);
	CHECK_INT(found.nr_values, 1);
	CHECK_INT(found.nr_counted, 0);
}

static const char *name_set_aside(void)
{
	static char name[256];
	DIR *folder = opendir(".");
	for (struct dirent *entry; (entry = readdir(folder));)
		if (strncmp(entry->d_name, "meter.data.2", strlen("meter.data.2")) == 0)
			strcpy(name, entry->d_name);
	closedir(folder);
	return name;
}

/* What is in the ring when the first one ends is the second one's. */
TEST(each_file_of_several_is_balanced)
{
	struct found first, second;
	begin();
	run_first_part();
	sample(0, 300, true); /* which is not translated yet */
	read_counts();
	CHECK_OK(recording_switch(&recording, &counts));
	translate_run(&translate, 3000, UINT64_MAX);
	sample(1, 60, true);
	happen(0, EVENT_COUNTER_FILTERED, 9);
	translate_run(&translate, 4000, UINT64_MAX);
	end();
	read_file(name_set_aside(), &first);
	check_balance(&first);
	check_tally(&first, LAYOUT_EVENTS, 7, 1160);
	read_file("meter.data", &second);
	check_balance(&second);
	check_tally(&second, LAYOUT_EVENTS, 3, 369);
	check_tally(&second, LAYOUT_EVENTS_SAMPLES, 2, 360);
}
