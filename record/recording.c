#include "record/recording.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "record/host.h"

/* How long ago the recording was over. It may be written some time later. */
static uint64_t overtime_ns(const struct recording *recording, uint64_t now_ns)
{
	uint64_t until_ns = recording->until_ns;
	return until_ns && now_ns > until_ns ? now_ns - until_ns : 0;
}

static void put_clock(struct recording *recording)
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
		writer_meta(recording->writer, LAYOUT_META_TARGET, "command");
		return;
	case SESSION_SYSTEM:
		writer_meta(recording->writer, LAYOUT_META_TARGET, "system");
		return;
	case SESSION_USER:
		str_printf(&text, "uid %u", options->uid);
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

static uint32_t put_event(
	struct recording *recording, const char *name, const struct recording_event *event)
{
	struct writer *writer = recording->writer;
	struct layout_event out = {
		.name = writer_string(writer, name, strlen(name)),
		.unit = writer_string(writer, event->unit, strlen(event->unit)),
		.period = event->period,
		.frequency_hz = event->frequency_hz,
	};
	return writer_event(writer, &out);
}

static void put_events(struct recording *recording)
{
	struct translate *translate = recording->translate;
	const struct recording_event *timer = recording->events.data;
	for (size_t i = 0; i < recording->events.len; i++) {
		const struct recording_event *event = &recording->events.data[i];
		translate->event_ids[i] =
			event->name ? put_event(recording, event->name, event) : 0;
	}
	if (timer->name && recording->options->call_graph == SESSION_CALL_GRAPH_BOTH)
		translate->again_event_id = put_event(recording, LAYOUT_EVENT_SECOND, timer);
}

/*
 * What the last counters and the end take at most, uncompressed: each CPU has seven counters of
 * up to 14 bytes. The first flush holds a few texts, often 1 KiB.
 */
static struct err *reserve_end(struct output *output)
{
	enum {
		BEGIN_BYTES = 4096,
		END_BYTES = 512,
		CPU_BYTES = 100,
	};
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	return output_reserve(
		output, BEGIN_BYTES, END_BYTES + (uint64_t)(cpus > 0 ? cpus : 1) * CPU_BYTES);
}

static struct err *begin_file(struct recording *recording, struct output *output)
{
	recording->output = output;
	recording->writer = writer_create(output_sink(recording->output));
	writer_limit(recording->writer, recording->options->max_bytes);
	recording->begun_ns = clock_now_ns();
	recording->nr_files++;
	emitter_begin_file(&recording->translate->emitter, recording->writer);
	host_write_meta(recording->writer);
	put_target(recording);
	put_events(recording);
	return writer_flush(recording->writer);
}

struct err *recording_begin(struct recording *recording)
{
	const struct session_options *options = recording->options;
	try(output_create(
		options->output, &options->owner, recording->stop_fd, &recording->output));
	try(reserve_end(recording->output));
	return begin_file(recording, recording->output);
}

struct err *recording_publish(struct recording *recording)
{
	return output_publish(recording->output);
}

void recording_mark_time(struct recording *recording)
{
	put_clock(recording);
}

/* ---- counters ---- */

static void put_counter(
	struct recording *recording, enum layout_counter counter, uint32_t cpu, uint64_t value)
{
	struct layout_counter_value out = {.counter = counter, .cpu = cpu, .value = value};
	writer_counter(recording->writer, &out);
}

static const struct event_counters *base_of(const struct recording *recording, size_t index)
{
	static const struct event_counters zero;
	return index < recording->base.cpus.len ? &recording->base.cpus.data[index].counted : &zero;
}

static uint64_t skipped_base_of(const struct recording *recording, size_t index)
{
	return index < recording->base.cpus.len ? recording->base.cpus.data[index].skipped : 0;
}

enum moment {
	MOMENT_FLUSH,       /* what has been collected is about to be written */
	MOMENT_END_OF_FILE, /* it was written, or could not be */
	MOMENT_END,         /* ... and the ring is empty: every tick is accounted for */
};

static uint64_t samples_written(const struct recording *recording, enum translate_cause cause)
{
	const struct writer *writer = recording->writer;
	const struct translate *translate = recording->translate;
	uint64_t hits = 0;
	for (size_t i = 1; writer && i < recording->events.len; i++)
		hits += writer_event_samples_written(writer, translate->event_ids[i]).count;
	if (cause == TRANSLATE_HIT || !writer)
		return hits;
	return writer_samples_written(writer) - hits -
	       writer_event_samples_written(writer, translate->again_event_id).count;
}

/* Of all CPUs: those that fired, and those of them that this file knows to have no sample. */
struct fired {
	uint64_t all, without_sample;
};

/*
 * What became of the samples of one cause. Those that are on their way through the ring until the
 * end count when they arrive, their ticks and hits likewise.
 */
static void put_taken(struct recording *recording, const struct recording_counts *counts,
	enum moment moment, enum translate_cause cause, const struct fired *fired)
{
	static const struct {
		enum layout_counter all, samples, unresolved, write;
	} counters[] = {
		[TRANSLATE_TICK] = {LAYOUT_COUNTER_TICKS, LAYOUT_COUNTER_SAMPLES,
			LAYOUT_COUNTER_LOST_UNRESOLVED, LAYOUT_COUNTER_LOST_WRITE},
		[TRANSLATE_HIT] = {LAYOUT_COUNTER_HITS, LAYOUT_COUNTER_HIT_SAMPLES,
			LAYOUT_COUNTER_HITS_LOST_UNRESOLVED, LAYOUT_COUNTER_HITS_LOST_WRITE},
	};
	const struct recording_taken *now = &counts->taken[cause],
				     *then = &recording->base.taken[cause];
	uint64_t collected = now->samples - then->samples;
	uint64_t samples = moment == MOMENT_FLUSH ? collected : samples_written(recording, cause);
	uint64_t unresolved = now->unresolved - then->unresolved;
	uint64_t accounted = moment == MOMENT_END ? fired->all - recording->told[cause]
						  : fired->without_sample + collected + unresolved;
	put_counter(recording, counters[cause].all, 0, accounted);
	put_counter(recording, counters[cause].samples, 0, samples);
	put_counter(recording, counters[cause].unresolved, 0, unresolved);
	put_counter(recording, counters[cause].write, 0, collected - samples);
}

/* Those of a CPU's ticks that did not become samples. */
static uint64_t put_ticks(struct recording *recording, const struct sampler_cpu_counters *cpu,
	const struct event_counters *then)
{
	const struct event_counters *now = &cpu->counted;
	uint64_t idle = now->idle - then->idle;
	uint64_t filtered = now->filtered - then->filtered;
	uint64_t ring = now->lost_ring - then->lost_ring;
	put_counter(recording, LAYOUT_COUNTER_IDLE, cpu->cpu, idle);
	put_counter(recording, LAYOUT_COUNTER_FILTERED, cpu->cpu, filtered);
	put_counter(recording, LAYOUT_COUNTER_LOST_RING, cpu->cpu, ring);
	return idle + filtered + ring;
}

/* Those of a CPU's hits that did not become samples. */
static uint64_t put_hits(struct recording *recording, const struct sampler_cpu_counters *cpu,
	const struct event_counters *then)
{
	const struct event_counters *now = &cpu->counted;
	uint64_t filtered = now->hits_filtered - then->hits_filtered;
	uint64_t ring = now->hits_lost_ring - then->hits_lost_ring;
	uint64_t busy = now->hits_lost_busy - then->hits_lost_busy;
	put_counter(recording, LAYOUT_COUNTER_HITS_FILTERED, cpu->cpu, filtered);
	put_counter(recording, LAYOUT_COUNTER_HITS_LOST_RING, cpu->cpu, ring);
	put_counter(recording, LAYOUT_COUNTER_HITS_LOST_BUSY, cpu->cpu, busy);
	return filtered + ring + busy;
}

/* An estimate: the timers of a CPU that does nothing, or that stood still, do not fire. */
static void put_skipped(
	struct recording *recording, size_t index, const struct sampler_cpu_counters *cpu)
{
	uint64_t before = skipped_base_of(recording, index);
	put_counter(recording, LAYOUT_COUNTER_SKIPPED, cpu->cpu,
		cpu->skipped > before ? cpu->skipped - before : 0);
}

/* Of scripts and compiled code, the latter also while a file is finished. */
static uint64_t code_given_up(const struct recording *recording)
{
	const struct translate *translate = recording->translate;
	return translate->scripts.given_up + translate->jit.given_up;
}

static void put_counters(
	struct recording *recording, const struct recording_counts *counts, enum moment moment)
{
	const struct recording_counts *base = &recording->base;
	bool has_probes = recording->events.len > 1;
	struct fired ticks = {0}, hits = {0};
	for (size_t i = 0; i < counts->cpus.len; i++) {
		const struct sampler_cpu_counters *cpu = &counts->cpus.data[i];
		const struct event_counters *then = base_of(recording, i);
		ticks.all += cpu->counted.ticks;
		ticks.without_sample += put_ticks(recording, cpu, then);
		hits.all += cpu->counted.hits;
		if (has_probes)
			hits.without_sample += put_hits(recording, cpu, then);
		if (moment != MOMENT_FLUSH) /* until then nobody asked how many were due */
			put_skipped(recording, i, cpu);
	}
	put_taken(recording, counts, moment, TRANSLATE_TICK, &ticks);
	if (has_probes)
		put_taken(recording, counts, moment, TRANSLATE_HIT, &hits);
	put_counter(recording, LAYOUT_COUNTER_SIDEBAND_LOST, 0,
		counts->sideband_lost - base->sideband_lost);
	put_counter(
		recording, LAYOUT_COUNTER_GAP_SAMPLES, 0, counts->gap_samples - base->gap_samples);
	put_counter(recording, LAYOUT_COUNTER_TARGETS_FULL, 0,
		counts->targets_full - base->targets_full);
	put_counter(recording, LAYOUT_COUNTER_MAPPINGS_FULL, 0,
		counts->mappings_full - base->mappings_full);
	put_counter(recording, LAYOUT_COUNTER_FILES_FULL, 0, counts->files_full - base->files_full);
	put_counter(recording, LAYOUT_COUNTER_CODE_GIVEN_UP, 0,
		code_given_up(recording) - recording->told_given_up);
}

struct err *recording_flush(struct recording *recording, const struct recording_counts *counts)
{
	emitter_kernel_symbols(&recording->translate->emitter);
	put_clock(recording);
	put_counters(recording, counts, MOMENT_FLUSH);
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
	put_clock(recording);
	put_counters(recording, counts, moment);
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

/* Samples of one cause, and those without a stack, that the file has accounted for. */
static uint64_t count_arrived(const struct recording *recording,
	const struct recording_counts *counts, enum translate_cause cause)
{
	const struct recording_taken *now = &counts->taken[cause],
				     *then = &recording->base.taken[cause];
	return now->samples + now->unresolved - then->samples - then->unresolved;
}

/* Where the next file counts from. */
static void move_base(struct recording *recording, const struct recording_counts *counts)
{
	struct recording_counts *base = &recording->base;
	for (size_t i = 0; i < TRANSLATE_CAUSES; i++)
		recording->told[i] += count_arrived(recording, counts, i);
	for (size_t i = 0; i < counts->cpus.len; i++) {
		const struct event_counters *now = &counts->cpus.data[i].counted,
					    *then = base_of(recording, i);
		recording->told[TRANSLATE_TICK] += now->idle - then->idle + now->filtered -
						   then->filtered + now->lost_ring -
						   then->lost_ring;
		recording->told[TRANSLATE_HIT] += now->hits_filtered - then->hits_filtered +
						  now->hits_lost_ring - then->hits_lost_ring +
						  now->hits_lost_busy - then->hits_lost_busy;
	}
	base->cpus.len = 0;
	vec_append(&base->cpus, counts->cpus.data, counts->cpus.len);
	memcpy(base->taken, counts->taken, sizeof(base->taken));
	base->sideband_lost = counts->sideband_lost;
	base->gap_samples = counts->gap_samples;
	base->targets_full = counts->targets_full;
	base->files_full = counts->files_full;
	recording->told_given_up = code_given_up(recording);
	base->mappings_full = counts->mappings_full;
}

/* NAME.20261121-013000.250, by the time at which it is set aside. */
static struct err *set_aside(struct recording *recording)
{
	const struct session_options *options = recording->options;
	struct timespec now;
	struct tm local;
	char stamp[32];
	clock_gettime(CLOCK_REALTIME, &now);
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
	uint64_t samples[TRANSLATE_CAUSES]; /* of this file: the next one has other events */
	for (size_t i = 0; i < TRANSLATE_CAUSES; i++)
		samples[i] = samples_written(recording, i);
	struct err *err = begin_file(recording, next);
	drop_file(recording, finished, output);
	for (size_t i = 0; i < TRANSLATE_CAUSES; i++)
		recording->earlier_samples[i] += samples[i];
	return err;
}

static struct err *end_and_set_aside(
	struct recording *recording, const struct recording_counts *counts)
{
	try(end_file(recording, counts, MOMENT_END_OF_FILE, LAYOUT_END_SWITCH));
	move_base(recording, counts);
	return set_aside(recording);
}

/*
 * As long as something may be missing for the next file, this one stays open: what the session has
 * lost is told at the end of a file.
 */
struct err *recording_switch(struct recording *recording, const struct recording_counts *counts)
{
	struct output *next;
	try(flush_samples(recording));
	try(output_create_next(recording->output, &next));
	struct err *err = reserve_end(next);
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
	vec_deinit(&recording->base.cpus);
	vec_deinit(&recording->events);
}

uint64_t recording_samples(const struct recording *recording, enum translate_cause cause)
{
	return recording->earlier_samples[cause] + samples_written(recording, cause);
}

uint32_t recording_files_kept(const struct recording *recording)
{
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
