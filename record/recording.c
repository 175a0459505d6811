#include "record/recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/file/first_sources.h"
#include "record/cgroup/target_cgroups.h"
#include "record/host/host.h"
#include "record/source/event_tally.h"

/* How long ago the recording was over. It may be written some time later. */
static uint64_t overtime_ns(const struct recording *recording, uint64_t now_ns)
{
	uint64_t until_ns = recording->until_ns;
	return until_ns && now_ns > until_ns ? now_ns - until_ns : 0;
}

static void recording_put_clock(struct recording *recording)
{
	struct layout_clock clock = {
		.monotonic_ns = clock_now_ns(),
		.realtime_ns = clock_read_ns(CLOCK_REALTIME),
	};
	uint64_t overtime = overtime_ns(recording, clock.monotonic_ns);
	clock.monotonic_ns -= overtime;
	clock.realtime_ns -= overtime;
	writer_clock(recording->writer, &clock);
}

/* ---- what stands at the beginning ---- */

/* Quoted so that a shell would read the same words back. */
static void put_shell_word(struct str *text, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
	if (*word && word[strspn(word, plain)] == '\0') {
		str_puts(text, word);
		return;
	}
	str_putc(text, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			str_puts(text, "'\\''");
		else
			str_putc(text, *word);
	}
	str_putc(text, '\'');
}

static void put_target(struct recording *recording)
{
	const struct session_options *options = recording->options;
	CLEANUP(str_deinit) struct str text = {0};
	switch (options->target) {
	case SESSION_COMMAND:
		writer_meta(recording->writer, LAYOUT_META_COMMAND, options->argv[0]);
		for (char *const *word = options->argv; options->with_args && *word; word++) {
			str_puts(&text, word == options->argv ? "" : " ");
			put_shell_word(&text, *word);
		}
		if (text.len)
			writer_meta(recording->writer, LAYOUT_META_ARGS, str_text(&text));
		writer_meta(recording->writer, LAYOUT_META_TARGET, LAYOUT_TARGET_COMMAND);
		return;
	case SESSION_SYSTEM:
		writer_meta(recording->writer, LAYOUT_META_TARGET, LAYOUT_TARGET_SYSTEM);
		return;
	case SESSION_USER:
		str_printf(&text, "uid %u", options->uid);
		writer_meta(recording->writer, LAYOUT_META_TARGET, str_text(&text));
		return;
	case SESSION_CGROUPS:
		target_cgroups_describe(options->cgroups, options->nr_cgroups, &text);
		writer_meta(recording->writer, LAYOUT_META_TARGET, str_text(&text));
		return;
	case SESSION_LABELLED:
		str_printf(&text, "targets of %s", options->label_file);
		writer_meta(recording->writer, LAYOUT_META_TARGET, str_text(&text));
		return;
	case SESSION_PROCESSES:
	case SESSION_THREADS:
		str_puts(&text, options->target == SESSION_THREADS ? "tid " : "pid ");
		for (size_t i = 0; i < options->nr_pids; i++)
			str_printf(&text, "%s%u", i ? "," : "", options->pids[i]);
		writer_meta(recording->writer, LAYOUT_META_TARGET, str_text(&text));
		return;
	}
}

static uint32_t intern_text(struct writer *writer, const char *text)
{
	return writer_string(writer, text, strlen(text));
}

static uint32_t recording_put_event(struct recording *recording, const struct source *source,
	const struct source_event *event, const char *name)
{
	struct writer *writer = recording->writer;
	bool is_first = first_source_find(source->name);
	struct layout_event out = {
		.name = intern_text(writer, name),
		.unit = intern_text(writer, event->unit),
		.period = event->period,
		.frequency_hz = event->frequency_hz,
		.source = is_first ? 0 : intern_text(writer, source->name),
	};
	return writer_event(writer, &out);
}

static void recording_put_events(struct recording *recording)
{
	struct translate *translate = recording->translate;
	bool has_second = recording->options->call_graph == SESSION_CALL_GRAPH_BOTH;
	vec_each(recording->sources, source) {
		struct translate_events *ids = &translate->event_ids[source->number];
		ids->len = 0;
		vec_each(&source->events, event)
			vec_push(ids, recording_put_event(recording, source, event, event->name));
	}
	vec_each(recording->sources, source)
		if (has_second && source->row->has_second_samples)
			translate->again_event_id = recording_put_event(
				recording, source, source->events.data, LAYOUT_EVENT_SECOND);
}

/*
 * What the last counters and the end take at most, uncompressed: of each source, a CPU has five
 * counters of up to 29 bytes. The first flush holds a few texts, often 1 KiB.
 */
static struct err *reserve_end(const struct recording *recording, struct output *output)
{
	enum {
		BEGIN_BYTES = 4096,
		END_BYTES = 512,
		CPU_BYTES = 145,
	};
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t nr_cpus = cpus > 0 ? (uint64_t)cpus : 1;
	return output_reserve(
		output, BEGIN_BYTES, END_BYTES + recording->sources->len * nr_cpus * CPU_BYTES);
}

/* The limit of the ring holds ahead of the write, not only behind it. */
static struct err *write_in_ring(void *context, const void *bytes, size_t len)
{
	struct recording *recording = context;
	struct writer_sink sink = output_sink(recording->output);
	file_ring_prune(recording->ring, output_bytes(recording->output) + len);
	return sink.write(sink.context, bytes, len);
}

static struct writer_sink recording_sink(struct recording *recording)
{
	if (recording->ring)
		return (struct writer_sink){.write = write_in_ring, .context = recording};
	return output_sink(recording->output);
}

static struct err *begin_file(struct recording *recording, struct output *output)
{
	recording->output = output;
	recording->writer = writer_create(recording_sink(recording));
	writer_limit(recording->writer, recording->options->max_bytes);
	recording->begun_ns = clock_now_ns();
	recording->nr_files++;
	emitter_begin_file(&recording->translate->emitter, recording->writer);
	host_write_meta(recording->writer);
	put_target(recording);
	if (recording->options->exclude_user || recording->options->exclude_kernel)
		writer_meta(recording->writer, LAYOUT_META_CODE,
			recording->options->exclude_user ? LAYOUT_CODE_KERNEL : LAYOUT_CODE_USER);
	if (recording->options->call_graph == SESSION_CALL_GRAPH_FP)
		writer_meta(recording->writer, LAYOUT_META_CALL_GRAPH, LAYOUT_CALL_GRAPH_FP);
	recording_put_events(recording);
	return writer_flush(recording->writer);
}

static bool make_room_in_ring(void *context)
{
	return file_ring_make_room(context);
}

/* A file of the ring. */
static struct err *create_in_ring(const struct recording *recording, struct output **ret)
{
	CLEANUP_FREE char *path = file_ring_new_path(recording->ring);
	struct output_room room = {make_room_in_ring, recording->ring};
	const struct caller *owner = &recording->options->owner;
	struct err *err = output_create_new(path, owner, ret);
	while (err && err_errnum(err) == ENOSPC && file_ring_make_room(recording->ring)) {
		err_destroy(err);
		err = output_create_new(path, owner, ret);
	}
	if (!err)
		output_on_full(*ret, room);
	return err;
}

static struct err *create_first(struct recording *recording)
{
	const struct session_options *options = recording->options;
	if (recording->ring)
		return create_in_ring(recording, &recording->output);
	if (options->output_fd)
		return output_create_in(options->output_fd, &recording->output);
	return output_create(
		options->output, &options->owner, recording->stop_fd, &recording->output);
}

static struct err *create_next(const struct recording *recording, struct output **ret)
{
	return recording->ring ? create_in_ring(recording, ret)
			       : output_create_next(recording->output, ret);
}

struct err *recording_begin(struct recording *recording)
{
	try(create_first(recording));
	try(reserve_end(recording, recording->output));
	return begin_file(recording, recording->output);
}

struct err *recording_publish(struct recording *recording)
{
	return output_publish(recording->output);
}

void recording_mark_time(struct recording *recording)
{
	recording_put_clock(recording);
}

/* ---- counters ---- */

static void put_counter(
	struct recording *recording, enum layout_counter counter, uint32_t cpu, uint64_t value)
{
	struct layout_counter_value out = {.counter = counter, .cpu = cpu, .value = value};
	writer_counter(recording->writer, &out);
}

/* Of one of the first sources as before there were others, without the sum. */
static void put_tally(struct recording *recording, const struct source *source,
	enum layout_event_counter counter, uint32_t cpu, struct event_tally tally)
{
	const struct first_source *first = first_source_find(source->name);
	struct layout_event_tally out = {
		.counter = counter, .cpu = cpu, .count = tally.count, .sum = tally.sum};
	if (!first) {
		out.source = intern_text(recording->writer, source->name);
		writer_event_tally(recording->writer, &out);
	} else if (first->counters[counter]) {
		put_counter(recording, first->counters[counter], cpu, tally.count);
	}
}

enum moment {
	MOMENT_FLUSH,       /* what has been collected is about to be written */
	MOMENT_END_OF_FILE, /* it was written, or could not be */
	MOMENT_END,         /* ... and the ring is empty: every event is accounted for */
};

static struct event_tally samples_written(const struct recording *recording, uint32_t source)
{
	const struct translate_events *ids = &recording->translate->event_ids[source];
	struct event_tally samples = {0};
	for (size_t i = 0; recording->writer && i < ids->len; i++) {
		struct layout_tally written =
			writer_event_samples_written(recording->writer, ids->data[i]);
		event_tally_add(&samples, (struct event_tally){written.count, written.sum});
	}
	return samples;
}

/* Those of a CPU when the file began. */
static struct source_cpu base_of(const struct recording *recording, uint32_t source, size_t index)
{
	const struct source_cpus *cpus = &recording->base.sources[source].cpus;
	return index < cpus->len ? cpus->data[index] : (struct source_cpu){0};
}

/* What becomes of an event that makes no sample, as the kernel and the file count it. */
static const struct outcome {
	enum event_counter counted;
	enum layout_event_counter counter;
} outcomes[] = {
	{EVENT_COUNTER_IDLE, LAYOUT_EVENTS_IDLE},
	{EVENT_COUNTER_FILTERED, LAYOUT_EVENTS_FILTERED},
	{EVENT_COUNTER_BELOW, LAYOUT_EVENTS_BELOW},
	{EVENT_COUNTER_LOST_RING, LAYOUT_EVENTS_LOST_RING},
	{EVENT_COUNTER_LOST_BUSY, LAYOUT_EVENTS_LOST_BUSY},
};

enum {
	OUTCOMES = sizeof(outcomes) / sizeof(*outcomes),
};

static struct event_tally outcome_since(
	const struct outcome *outcome, const struct source_cpu *now, const struct source_cpu *then)
{
	return event_tally_minus(
		now->counted.of[outcome->counted], then->counted.of[outcome->counted]);
}

/* The events of a CPU in this file that did not become samples. */
static struct event_tally put_outcomes(struct recording *recording, const struct source *source,
	const struct source_cpu *now, const struct source_cpu *then)
{
	struct event_tally all = {0};
	for (int i = 0; i < OUTCOMES; i++) {
		struct event_tally since = outcome_since(&outcomes[i], now, then);
		put_tally(recording, source, outcomes[i].counter, now->cpu, since);
		event_tally_add(&all, since);
	}
	return all;
}

/* An estimate: the timers of a CPU that does nothing, or that stood still, do not fire. */
static void put_skipped(struct recording *recording, const struct source *source,
	const struct source_cpu *now, const struct source_cpu *then)
{
	uint64_t skipped = now->skipped > then->skipped ? now->skipped - then->skipped : 0;
	put_tally(recording, source, LAYOUT_EVENTS_SKIPPED, now->cpu,
		(struct event_tally){.count = skipped});
}

/*
 * Samples that are on their way through the ring until the end count when they arrive, their events
 * likewise.
 */
static void recording_put_source(struct recording *recording, const struct source *source,
	const struct recording_counts *counts, enum moment moment)
{
	uint32_t number = source->number;
	const struct recording_source_counts *now = &counts->sources[number],
					     *then = &recording->base.sources[number];
	struct event_tally events = {0};
	struct event_tally accounted = {0};
	for (size_t i = 0; i < now->cpus.len; i++) {
		const struct source_cpu *cpu = &now->cpus.data[i];
		struct source_cpu base = base_of(recording, number, i);
		event_tally_add(&events, cpu->counted.of[EVENT_COUNTER_EVENTS]);
		event_tally_add(&accounted, put_outcomes(recording, source, cpu, &base));
		if (moment != MOMENT_FLUSH) /* until then nothing needs the number that were due */
			put_skipped(recording, source, cpu, &base);
	}
	struct event_tally collected = event_tally_minus(now->samples, then->samples);
	struct event_tally unresolved = event_tally_minus(now->unresolved, then->unresolved);
	struct event_tally samples =
		moment == MOMENT_FLUSH ? collected : samples_written(recording, number);
	event_tally_add(&accounted, collected);
	event_tally_add(&accounted, unresolved);
	if (moment == MOMENT_END)
		accounted = event_tally_minus(events, recording->reported[number]);
	put_tally(recording, source, LAYOUT_EVENTS, 0, accounted);
	put_tally(recording, source, LAYOUT_EVENTS_SAMPLES, 0, samples);
	put_tally(recording, source, LAYOUT_EVENTS_LOST_UNRESOLVED, 0, unresolved);
	put_tally(recording, source, LAYOUT_EVENTS_LOST_WRITE, 0,
		event_tally_minus(collected, samples));
}

/* Of scripts and compiled code, the latter also while a file is finished. */
static uint64_t code_given_up(const struct recording *recording)
{
	const struct translate *translate = recording->translate;
	return translate->scripts.given_up + translate->jit.given_up;
}

static void recording_put_labels(struct recording *recording, const struct lacking_labels *now,
	const struct lacking_labels *base)
{
	put_counter(recording, LAYOUT_COUNTER_LABELS_UNKNOWN, 0, now->unknown - base->unknown);
	put_counter(recording, LAYOUT_COUNTER_LABELS_UNREAD, 0, now->unread - base->unread);
	put_counter(recording, LAYOUT_COUNTER_LABELS_CUT, 0, now->cut - base->cut);
	put_counter(recording, LAYOUT_COUNTER_LABELS_LEFT_OUT, 0, now->left_out - base->left_out);
}

static void recording_put_counters(
	struct recording *recording, const struct recording_counts *counts, enum moment moment)
{
	const struct recording_counts *base = &recording->base;
	vec_each(recording->sources, source)
		recording_put_source(recording, source, counts, moment);
	put_counter(recording, LAYOUT_COUNTER_SIDEBAND_LOST, 0,
		counts->sideband_lost - base->sideband_lost);
	put_counter(
		recording, LAYOUT_COUNTER_GAP_SAMPLES, 0, counts->gap_samples - base->gap_samples);
	put_counter(recording, LAYOUT_COUNTER_TARGETS_FULL, 0,
		counts->targets_full - base->targets_full + counts->targets_left_out);
	put_counter(recording, LAYOUT_COUNTER_MAPPINGS_FULL, 0,
		counts->mappings_full - base->mappings_full);
	put_counter(recording, LAYOUT_COUNTER_CPUS_BACK, 0, counts->cpus_back - base->cpus_back);
	put_counter(recording, LAYOUT_COUNTER_FILES_FULL, 0, counts->files_full - base->files_full);
	put_counter(recording, LAYOUT_COUNTER_CODE_GIVEN_UP, 0,
		code_given_up(recording) - recording->counted_given_up);
	put_counter(
		recording, LAYOUT_COUNTER_IMAGES_READ, 0, counts->images_read - base->images_read);
	put_counter(recording, LAYOUT_COUNTER_IMAGES_GIVEN_UP, 0,
		counts->images_given_up - base->images_given_up);
	put_counter(recording, LAYOUT_COUNTER_WAITS_WITHOUT_SCRIPTS, 0,
		counts->waits_without_scripts - base->waits_without_scripts);
	put_counter(recording, LAYOUT_COUNTER_PROGRAMS_SKIPPED, 0,
		counts->programs_skipped - base->programs_skipped);
	put_counter(
		recording, LAYOUT_COUNTER_CODE_UNREAD, 0, counts->code_unread - base->code_unread);
	put_counter(recording, LAYOUT_COUNTER_HEAP_UNSEEN_MS, 0,
		counts->heap_unseen_ms - base->heap_unseen_ms);
	put_counter(recording, LAYOUT_COUNTER_HEAP_PROGRAMS_MISSED, 0,
		counts->heap_programs_missed - base->heap_programs_missed);
	put_counter(recording, LAYOUT_COUNTER_TICKS_DUE, 0, counts->ticks_due - base->ticks_due);
	recording_put_labels(recording, &counts->lacking_labels, &base->lacking_labels);
}

struct err *recording_flush(struct recording *recording, const struct recording_counts *counts)
{
	emitter_kernel_symbols(&recording->translate->emitter);
	recording_put_clock(recording);
	recording_put_counters(recording, counts, MOMENT_FLUSH);
	return writer_flush(recording->writer);
}

/* ---- the end of a file ---- */

/* The samples before the end: the last counters then tell how many of them the output took. */
static struct err *flush_samples(struct recording *recording)
{
	emitter_kernel_symbols(&recording->translate->emitter);
	emitter_all_compiled_symbols(&recording->translate->emitter);
	return writer_flush(recording->writer);
}

/* The last counters and the end, for which there is room, and closes. */
static struct err *end_file(struct recording *recording, const struct recording_counts *counts,
	enum moment moment, enum layout_end_reason reason)
{
	recording_put_clock(recording);
	recording_put_counters(recording, counts, moment);
	uint64_t now_ns = clock_now_ns();
	struct layout_end end = {
		.reason = reason,
		.time_ns = now_ns - overtime_ns(recording, now_ns),
	};
	output_begin_end(recording->output);
	struct err *end_err = writer_finish(recording->writer, &end);
	struct err *close_err = output_close(recording->output);
	if (!end_err)
		return close_err;
	err_destroy(close_err);
	return end_err;
}

/* Where the next file counts a source's events from. */
static void move_source_base(
	struct recording *recording, uint32_t source, const struct recording_source_counts *now)
{
	struct recording_source_counts *base = &recording->base.sources[source];
	struct event_tally *reported = &recording->reported[source];
	event_tally_add(reported, event_tally_minus(now->samples, base->samples));
	event_tally_add(reported, event_tally_minus(now->unresolved, base->unresolved));
	for (size_t i = 0; i < now->cpus.len; i++) {
		struct source_cpu then = base_of(recording, source, i);
		for (int k = 0; k < OUTCOMES; k++)
			event_tally_add(
				reported, outcome_since(&outcomes[k], &now->cpus.data[i], &then));
	}
	base->cpus.len = 0;
	vec_append(&base->cpus, now->cpus.data, now->cpus.len);
	base->samples = now->samples;
	base->unresolved = now->unresolved;
}

/* Where the next file counts from. */
static void move_base(struct recording *recording, const struct recording_counts *counts)
{
	struct recording_counts *base = &recording->base;
	vec_each(recording->sources, source)
		move_source_base(recording, source->number, &counts->sources[source->number]);
	base->sideband_lost = counts->sideband_lost;
	base->gap_samples = counts->gap_samples;
	base->targets_full = counts->targets_full;
	base->files_full = counts->files_full;
	recording->counted_given_up = code_given_up(recording);
	base->mappings_full = counts->mappings_full;
	base->cpus_back = counts->cpus_back;
	base->images_read = counts->images_read;
	base->images_given_up = counts->images_given_up;
	base->waits_without_scripts = counts->waits_without_scripts;
	base->programs_skipped = counts->programs_skipped;
	base->code_unread = counts->code_unread;
	base->heap_unseen_ms = counts->heap_unseen_ms;
	base->ticks_due = counts->ticks_due;
	base->heap_programs_missed = counts->heap_programs_missed;
	base->lacking_labels = counts->lacking_labels;
}

static int64_t milliseconds_of(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000 + time->tv_nsec / 1000000;
}

/* What nobody took away meanwhile. */
static struct err *end_in_ring(struct recording *recording)
{
	bool is_moved;
	CLEANUP_FREE char *name = file_ring_end_name(
		output_path(recording->output), clock_now_ns() - recording->begun_ns);
	try(output_set_aside(recording->output, name, &is_moved));
	if (is_moved)
		file_ring_add_ended(recording->ring, name);
	return NULL;
}

/* NAME.20261121-013000.250, by the time at which it is set aside. */
static struct err *set_aside(struct recording *recording)
{
	const struct session_options *options = recording->options;
	struct timespec now;
	struct tm local;
	char stamp[32];
	/* No two files have one name: the next millisecond is near. */
	do {
		clock_gettime(CLOCK_REALTIME, &now);
	} while (milliseconds_of(&now) == recording->aside_ms && usleep(250) == 0);
	recording->aside_ms = milliseconds_of(&now);
	localtime_r(&now.tv_sec, &local);
	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &local);
	struct str name = {0};
	str_printf(&name, "%s.%s.%03ld", options->output, stamp, now.tv_nsec / 1000000);
	bool is_moved; /* else another process took it away: it belongs to that one */
	struct err *err = output_set_aside(recording->output, str_text(&name), &is_moved);
	if (err || !is_moved) {
		str_deinit(&name);
		return err;
	}
	vec_push(&recording->finished_names, str_steal(&name));
	uint32_t keep = options->switching.max_files;
	while (keep && recording->finished_names.len >= keep) {
		char *oldest = recording->finished_names.data[0];
		output_remove_aside(recording->output, oldest);
		mem_free(oldest);
		memmove(recording->finished_names.data, recording->finished_names.data + 1,
			--recording->finished_names.len * sizeof(char *));
	}
	return NULL;
}

static void drop_file(struct recording *recording, struct writer *writer, struct output *output)
{
	recording->earlier_bytes += writer_bytes_written(writer);
	writer_destroy(writer);
	output_destroy(output);
}

/* Until another file is begun the finished one stays in its place: there always is a writer. */
static struct err *replace_file(struct recording *recording, struct output *next)
{
	struct writer *finished = recording->writer;
	struct output *output = recording->output;
	uint64_t samples[EVENT_MAX_SOURCES]; /* of this file: the next one has other events */
	for (uint32_t i = 0; i < EVENT_MAX_SOURCES; i++)
		samples[i] = samples_written(recording, i).count;
	struct err *err = begin_file(recording, next);
	drop_file(recording, finished, output);
	for (uint32_t i = 0; i < EVENT_MAX_SOURCES; i++)
		recording->earlier_samples[i] += samples[i];
	return err;
}

static struct err *end_and_set_aside(
	struct recording *recording, const struct recording_counts *counts)
{
	try(end_file(recording, counts, MOMENT_END_OF_FILE, LAYOUT_END_SWITCH));
	move_base(recording, counts);
	return recording->ring ? end_in_ring(recording) : set_aside(recording);
}

/*
 * As long as something may be missing for the next file, this one stays open: what the session has
 * lost is written at the end of a file.
 */
struct err *recording_switch(struct recording *recording, const struct recording_counts *counts)
{
	struct output *next;
	try(flush_samples(recording));
	try(create_next(recording, &next));
	struct err *err = reserve_end(recording, next);
	if (!err)
		err = end_and_set_aside(recording, counts);
	if (err) {
		output_destroy(next);
		return err;
	}
	try(replace_file(recording, next));
	recording_mark_time(recording);
	return recording_publish(recording);
}

struct err *recording_finish(struct recording *recording, const struct recording_counts *counts,
	enum layout_end_reason reason)
{
	struct err *err = flush_samples(recording);
	struct err *end_err =
		end_file(recording, counts, MOMENT_END, err ? LAYOUT_END_WRITE_ERROR : reason);
	if (recording->ring && !end_err)
		end_err = end_in_ring(recording);
	if (!err)
		return end_err;
	err_destroy(end_err);
	return err;
}

void recording_deinit(struct recording *recording)
{
	writer_destroy(recording->writer);
	output_destroy(recording->output);
	vec_each(&recording->finished_names, name)
		mem_free(*name);
	vec_deinit(&recording->finished_names);
	recording_counts_deinit(&recording->base);
}

void recording_counts_deinit(struct recording_counts *counts)
{
	for (size_t i = 0; i < EVENT_MAX_SOURCES; i++)
		vec_deinit(&counts->sources[i].cpus);
}

uint64_t recording_samples(const struct recording *recording, uint32_t source)
{
	return recording->earlier_samples[source] + samples_written(recording, source).count;
}

uint32_t recording_files_kept(const struct recording *recording)
{
	if (recording->ring) /* the last one has ended, too */
		return (uint32_t)recording->ring->ended.len;
	return (uint32_t)recording->finished_names.len + 1;
}

uint64_t recording_bytes(const struct recording *recording)
{
	uint64_t now = recording->writer ? writer_bytes_written(recording->writer) : 0;
	return recording->earlier_bytes + now;
}

bool recording_is_over(const struct recording *recording, uint64_t max_bytes)
{
	enum {
		LEFT_OVER_BYTES = 6144 /* counters, the end, and too little for anything else */
	};
	uint64_t written = writer_bytes_written(recording->writer);
	return writer_is_full(recording->writer) ||
	       (max_bytes && written + LEFT_OVER_BYTES >= max_bytes);
}

bool recording_is_filling(const struct recording *recording, uint64_t max_bytes)
{
	uint64_t written = writer_bytes_written(recording->writer);
	uint64_t left = written < max_bytes ? max_bytes - written : 0;
	uint64_t pending = writer_bytes_pending(recording->writer) +
			   emitter_bytes_pending(&recording->translate->emitter);
	return max_bytes && pending >= left / 2;
}
