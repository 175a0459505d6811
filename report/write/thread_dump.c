#include "report/write/thread_dump.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"
#include "format/file/script_failure.h"
#include "report/analyse/frame_kind.h"
#include "report/model/text/json.h"
#include "report/write/health.h"

enum {
	NAME_COLUMNS = 44,
	SHOWN_THREADS = 8,    /* of a stack, by name */
	CURRENT_NS = 1000000, /* a wait that was sampled no longer ago goes on */
};

/* In the order in which they are shown. */
enum dumped_state {
	DUMPED_RUNNING,
	DUMPED_UNSEEN, /* it ran for so short that no sample came upon it, or not at all */
	DUMPED_READY,
	DUMPED_WAITING,
};

static const struct dumped_state_words {
	const char *one, *many, *json;
} state_words[] = {
	[DUMPED_RUNNING] = {"runs", "run", "running"},
	[DUMPED_UNSEEN] = {"was not met: it hardly ran, and no wait of it ended",
		"were not met: they hardly ran, and no wait of them ended", "unseen"},
	[DUMPED_READY] = {"is ready to run and waits for a CPU",
		"are ready to run and wait for a CPU", "ready"},
	[DUMPED_WAITING] = {"waits", "wait", "waiting"},
};

/* A thread, by its newest name, with its newest sample. */
struct dumped {
	uint32_t thread;
	uint32_t stack; /* dense, equal for equal stacks of one process in one state */
	enum dumped_state state;
	const char *reason;                  /* of a wait; NULL: none is known */
	const struct profile_sample *sample; /* whose stack is shown; NULL: DUMPED_UNSEEN */
	const struct profile_sample *ran;    /* the newest while it ran, or NULL */
	uint64_t waited_ns;                  /* up to the end; 0: the wait was over before */
};

struct thread_dump {
	const struct profile *profile;
	uint64_t end_ns;    /* when the newest sample was taken */
	uint64_t window_ns; /* for so long they were watched */
	VEC(struct dumped) threads;
	VEC(uint32_t) ended; /* a pid for each thread that is no more */
	struct strtab stacks;
};

/* ---- collecting ---- */

static struct dumped *entry_of(struct thread_dump *dump, struct map *known, uint32_t thread)
{
	bool added;
	uint64_t *index = map_put(known, profile_thread_key(dump->profile, thread), &added);
	if (added) {
		*index = dump->threads.len;
		vec_push(&dump->threads, (struct dumped){.thread = thread, .state = DUMPED_UNSEEN});
	}
	return &dump->threads.data[*index];
}

static const char *dump_reason_of(const struct profile *profile, uint32_t label)
{
	while (label && strcmp(profile->labels.data[label].key, PROFILE_LABEL_REASON) != 0)
		label = profile->labels.data[label].rest;
	return label ? profile->labels.data[label].text : NULL;
}

/* Code of an interpreter is read by the thread that runs it: one that sleeps runs nothing. */
static bool is_asleep_in_script(const struct profile *profile, const struct profile_frame *frame)
{
	return frame->object &&
	       profile->objects.data[frame->object].info.kind == LAYOUT_OBJECT_SCRIPT &&
	       frame->offset == LAYOUT_SCRIPT_PENDING;
}

static bool has_unread_script(const struct profile *profile, const struct profile_sample *sample)
{
	struct profile_walk walk = profile_walk(profile, sample->stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk));)
		if (is_asleep_in_script(profile, &profile->frames.data[frame]))
			return true;
	return false;
}

/* What says why a thread waits is no function of it. */
static bool is_of_stack(const struct profile *profile, uint32_t frame)
{
	return !profile->wait_object || profile->frames.data[frame].object != profile->wait_object;
}

static bool has_no_stack(const struct profile *profile, const struct profile_sample *sample)
{
	struct profile_walk walk = profile_walk(profile, sample->stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk));)
		if (is_of_stack(profile, frame))
			return false;
	return true;
}

static void judge_state(const struct thread_dump *dump, struct dumped *dumped)
{
	const struct profile *profile = dump->profile;
	const struct profile_sample *sample = dumped->sample;
	enum profile_wait wait = profile->events.data[sample->event].wait;
	bool is_current = sample->time_ns + CURRENT_NS >= dump->end_ns;
	dumped->state = wait == PROFILE_WAIT_BLOCKED     ? DUMPED_WAITING
			: wait == PROFILE_WAIT_RUN_QUEUE ? DUMPED_READY
							 : DUMPED_RUNNING;
	dumped->reason =
		dumped->state == DUMPED_WAITING ? dump_reason_of(profile, sample->labels) : NULL;
	if (wait && is_current && !sample->is_estimate)
		dumped->waited_ns = profile_sample_value(profile, sample);
	/* It goes on where it was interrupted: there it was still met with the names of scripts. */
	if (dumped->state == DUMPED_READY && dumped->ran &&
		(has_unread_script(profile, sample) || has_no_stack(profile, sample)))
		dumped->sample = dumped->ran;
}

/* Which line of which functions, and why. Of other processes the same would be other code. */
static uint32_t number_stack(struct thread_dump *dump, const struct dumped *dumped)
{
	const struct profile *profile = dump->profile;
	const struct profile_thread *thread = &profile->threads.data[dumped->thread];
	uint64_t process = profile_process_key(profile, thread->process);
	CLEANUP(str_deinit) struct str key = {0};
	str_write(&key, &process, sizeof(process));
	str_write(&key, &dumped->state, sizeof(dumped->state));
	if (!dumped->sample)
		return strtab_intern(&dump->stacks, key.data, key.len);
	struct profile_walk walk = profile_walk(profile, dumped->sample->stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk));) {
		const struct profile_frame *it = &profile->frames.data[frame];
		uint32_t words[] = {it->function, it->line, it->object};
		str_write(&key, words, sizeof(words));
	}
	return strtab_intern(&dump->stacks, key.data, key.len);
}

static void collect_threads(struct thread_dump *dump)
{
	const struct profile *profile = dump->profile;
	struct map known = {0};
	vec_each(&profile->thread_times, times) {
		entry_of(dump, &known, times->thread)->thread = times->thread;
		if (times->life_ns > dump->window_ns)
			dump->window_ns = times->life_ns;
	}
	/* By time: the last one counts, and so does its name. */
	vec_each(&profile->samples, sample) {
		struct dumped *dumped = entry_of(dump, &known, sample->thread);
		dumped->sample = sample;
		if (!profile->events.data[sample->event].wait)
			dumped->ran = sample;
		dumped->thread = sample->thread;
		dump->end_ns = sample->time_ns;
	}
	map_deinit(&known);
}

/* ---- the order ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Of a stack its first thread has the lowest number, see sort_threads(). */
struct dumped_order {
	const struct profile *profile;
	const uint32_t *first_tids; /* by stack */
};

static int compare_dumped(const void *left, const void *right, void *context)
{
	const struct dumped *a = left, *b = right;
	const struct dumped_order *order = context;
	const struct profile_thread *of_a = &order->profile->threads.data[a->thread];
	const struct profile_thread *of_b = &order->profile->threads.data[b->thread];
	int difference = compare_numbers(of_a->pid, of_b->pid);
	if (!difference)
		difference = compare_numbers(of_a->process, of_b->process);
	if (!difference)
		difference = compare_numbers(a->state, b->state);
	if (!difference)
		difference =
			compare_numbers(order->first_tids[a->stack], order->first_tids[b->stack]);
	if (!difference)
		difference = compare_numbers(a->stack, b->stack);
	return difference ? difference : compare_numbers(of_a->tid, of_b->tid);
}

static void sort_threads(struct thread_dump *dump)
{
	CLEANUP_FREE uint32_t *first_tids =
		mem_zalloc_array(dump->stacks.entries.len + 1, sizeof(*first_tids));
	vec_each(&dump->threads, dumped) {
		uint32_t tid = dump->profile->threads.data[dumped->thread].tid;
		uint32_t *first = &first_tids[dumped->stack];
		if (!*first || tid < *first)
			*first = tid;
	}
	struct dumped_order order = {dump->profile, first_tids};
	if (dump->threads.len)
		qsort_r(dump->threads.data, dump->threads.len, sizeof(*dump->threads.data),
			compare_dumped, &order);
}

static void leave_out_ended(
	struct thread_dump *dump, thread_dump_is_there_fn *is_there, const void *context)
{
	size_t kept = 0;
	vec_each(&dump->threads, dumped) {
		const struct profile_thread *thread = &dump->profile->threads.data[dumped->thread];
		if (is_there(context, thread->pid, thread->tid))
			dump->threads.data[kept++] = *dumped;
		else
			vec_push(&dump->ended, thread->pid);
	}
	dump->threads.len = kept;
}

struct thread_dump *thread_dump_create(
	const struct profile *profile, thread_dump_is_there_fn *is_there, const void *context)
{
	struct thread_dump *dump = mem_zalloc(sizeof(*dump));
	dump->profile = profile;
	collect_threads(dump);
	if (is_there)
		leave_out_ended(dump, is_there, context);
	vec_each(&dump->threads, dumped) {
		if (dumped->sample)
			judge_state(dump, dumped);
		dumped->stack = number_stack(dump, dumped);
	}
	sort_threads(dump);
	return dump;
}

void thread_dump_destroy(struct thread_dump *dump)
{
	strtab_deinit(&dump->stacks);
	vec_deinit(&dump->threads);
	vec_deinit(&dump->ended);
	mem_free(dump);
}

size_t thread_dump_count(const struct thread_dump *dump)
{
	return dump->threads.len;
}

/* Behind the last thread with the stack of the one at `begin`. */
static size_t end_of_stack(const struct thread_dump *dump, size_t begin)
{
	size_t end = begin;
	while (end < dump->threads.len &&
		dump->threads.data[end].stack == dump->threads.data[begin].stack)
		end++;
	return end;
}

static const struct profile_thread *thread_at(const struct thread_dump *dump, size_t index)
{
	return &dump->profile->threads.data[dump->threads.data[index].thread];
}

static uint32_t process_at(const struct thread_dump *dump, size_t index)
{
	return thread_at(dump, index)->pid;
}

static size_t end_of_process(const struct thread_dump *dump, size_t begin)
{
	size_t end = begin;
	while (end < dump->threads.len && process_at(dump, end) == process_at(dump, begin))
		end++;
	return end;
}

/* The name of its first thread, where that is there. */
static const char *process_name_at(const struct thread_dump *dump, size_t begin)
{
	size_t end = end_of_process(dump, begin);
	for (size_t i = begin; i < end; i++)
		if (thread_at(dump, i)->tid == thread_at(dump, i)->pid)
			return thread_at(dump, i)->comm;
	return thread_at(dump, begin)->comm;
}

static size_t count_ended(const struct thread_dump *dump, uint32_t pid)
{
	size_t count = 0;
	vec_each(&dump->ended, ended)
		count += *ended == pid;
	return count;
}

/* ---- text ---- */

static void put_ms(struct str *out, uint64_t ns)
{
	str_printf(out, "%.1f ms", (double)ns / 1e6);
}

/* All the time that they were watched: the wait had begun before. */
static bool is_older_than_watch(const struct thread_dump *dump, uint64_t waited_ns)
{
	return waited_ns && waited_ns >= dump->window_ns;
}

/* ", for more than 200 ms", and nothing where it is not known of all of them. */
static void put_length_of_waits(
	const struct thread_dump *dump, size_t begin, size_t end, struct str *out)
{
	uint64_t least_ns = dump->threads.data[begin].waited_ns;
	for (size_t i = begin; i < end; i++)
		if (dump->threads.data[i].waited_ns < least_ns)
			least_ns = dump->threads.data[i].waited_ns;
	if (!least_ns)
		return;
	bool is_older = is_older_than_watch(dump, least_ns);
	str_puts(out, is_older ? ", for more than " : ", for ");
	put_ms(out, least_ns);
	str_puts(out, is_older || end - begin == 1 ? "" : " or more");
}

static void put_names_of_threads(
	const struct thread_dump *dump, size_t begin, size_t end, struct str *out)
{
	const char *before = NULL;
	for (size_t i = begin; i < end && i < begin + SHOWN_THREADS; i++) {
		const struct profile_thread *thread = thread_at(dump, i);
		str_puts(out, i == begin ? "" : ", ");
		if (!before || strcmp(before, thread->comm) != 0) {
			str_puts_escaped(out, thread->comm);
			str_putc(out, ' ');
		}
		str_printf(out, "%u", thread->tid);
		before = thread->comm;
	}
	if (end - begin > SHOWN_THREADS)
		str_printf(out, " and %zu more", end - begin - SHOWN_THREADS);
}

/* "2 threads wait for poll, for more than 200 ms: python3 4243, 4244" */
static void put_stack_head(
	const struct thread_dump *dump, size_t begin, size_t end, struct str *out)
{
	const struct dumped *first = &dump->threads.data[begin];
	size_t count = end - begin;
	str_printf(out, "%zu %s %s", count, str_plural(count, "thread", "threads"),
		str_plural(count, state_words[first->state].one, state_words[first->state].many));
	if (first->reason)
		str_printf(out, " (%s)", first->reason);
	put_length_of_waits(dump, begin, end, out);
	str_puts(out, ": ");
	put_names_of_threads(dump, begin, end, out);
	str_putc(out, '\n');
}

static const struct profile_function *function_of_frame(
	const struct profile *profile, const struct profile_frame *frame)
{
	return &profile->functions.data[frame->function];
}

/* The line, or the file that the code is in. */
static void dump_put_place(
	const struct profile *profile, const struct profile_frame *frame, struct str *out)
{
	const struct profile_object *object = &profile->objects.data[frame->object];
	if (frame->file && frame->line) {
		str_puts_escaped(out, frame->file);
		str_printf(out, ":%u", frame->line);
	} else if (frame->object) {
		str_puts_escaped(out, object->name);
	}
}

static void dump_put_frame(const struct profile *profile, uint32_t frame, struct str *out)
{
	const struct profile_frame *it = &profile->frames.data[frame];
	const struct profile_function *function = function_of_frame(profile, it);
	CLEANUP(str_deinit) struct str name = {0};
	if (is_asleep_in_script(profile, it))
		str_puts(&name, "(functions that are not readable asleep)");
	else
		str_puts_escaped(&name, profile_function_own_name(function));
	str_printf(out, "    %-*s  ", NAME_COLUMNS, str_text(&name));
	dump_put_place(profile, it, out);
	str_puts(out, it->outer ? " (inlined)\n" : "\n");
}

static void put_stack(const struct thread_dump *dump, size_t begin, size_t end, struct str *out)
{
	const struct profile *profile = dump->profile;
	const struct dumped *first = &dump->threads.data[begin];
	put_stack_head(dump, begin, end, out);
	if (!first->sample)
		return;
	if (has_no_stack(profile, first->sample))
		str_puts(out, "    (the wait was over before its stack was read)\n");
	struct profile_walk walk = profile_walk(profile, first->sample->stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk));)
		if (is_of_stack(profile, frame))
			dump_put_frame(profile, frame, out);
}

static void put_process(const struct thread_dump *dump, size_t begin, size_t end, struct str *out)
{
	size_t counts[DUMPED_WAITING + 1] = {0};
	for (size_t i = begin; i < end; i++)
		counts[dump->threads.data[i].state]++;
	str_printf(out, "# pid %u ", process_at(dump, begin));
	str_puts_escaped(out, process_name_at(dump, begin));
	str_printf(out, ": %zu %s", end - begin, str_plural(end - begin, "thread", "threads"));
	for (int state = 0; state <= DUMPED_WAITING; state++)
		if (counts[state])
			str_printf(out, ", %zu %s", counts[state], state_words[state].json);
	size_t nr_ended = count_ended(dump, process_at(dump, begin));
	if (nr_ended)
		str_printf(out, "; %zu ended meanwhile", nr_ended);
	str_puts(out, "\n");
	for (size_t i = begin, next; i < end; i = next) {
		next = end_of_stack(dump, i);
		str_putc(out, '\n');
		put_stack(dump, i, next, out);
	}
}

void thread_dump_put(const struct thread_dump *dump, struct str *out)
{
	for (size_t i = 0, next; i < dump->threads.len; i = next) {
		next = end_of_process(dump, i);
		str_puts(out, i ? "\n" : "");
		put_process(dump, i, next, out);
	}
	size_t begin = out->len;
	str_putc(out, '\n');
	health_put_own_threads(dump->profile, out);
	if (out->len == begin + 1)
		str_truncate(out, begin);
}

/* ---- JSON ---- */

static void put_frame_json(struct json *json, const struct profile *profile, uint32_t frame)
{
	const struct profile_frame *it = &profile->frames.data[frame];
	const struct profile_function *function = function_of_frame(profile, it);
	const struct profile_object *object = &profile->objects.data[it->object];
	enum frame_kind kind = frame_kind_of_function(function, object);
	json_line(json);
	json_object(json);
	json_put_text(json, "name", profile_function_own_name(function));
	if (it->object) {
		json_put_text(json, "object", object->path);
		json_put_text(json, "kind", frame_kinds[kind].word);
	}
	if (it->file && it->line) {
		json_put_text(json, "file", it->file);
		json_put_number(json, "line", it->line);
	}
	if (it->outer)
		json_put_bool(json, "is_inlined", true);
	if (is_asleep_in_script(profile, it))
		json_put_bool(json, "is_unread", true);
	json_object_end(json);
}

static void put_stack_json(
	struct json *json, const struct thread_dump *dump, size_t begin, size_t end)
{
	const struct profile *profile = dump->profile;
	const struct dumped *first = &dump->threads.data[begin];
	json_line(json);
	json_object(json);
	json_put_text(json, "state", state_words[first->state].json);
	if (first->reason)
		json_put_text(json, "reason", first->reason);
	json_put_array(json, "threads");
	for (size_t i = begin; i < end; i++) {
		const struct dumped *dumped = &dump->threads.data[i];
		json_object(json);
		json_put_number(json, "tid", thread_at(dump, i)->tid);
		json_put_text(json, "name", thread_at(dump, i)->comm);
		if (dumped->waited_ns) {
			json_put_exact(json, "waited_ns", dumped->waited_ns);
			json_put_bool(json, "waited_longer",
				is_older_than_watch(dump, dumped->waited_ns));
		}
		json_object_end(json);
	}
	json_array_end(json);
	json_put_array(json, "frames");
	struct profile_walk walk = profile_walk(profile, first->sample ? first->sample->stack : 0);
	for (uint32_t frame; first->sample && (frame = profile_walk_next(&walk));)
		put_frame_json(json, profile, frame);
	json_array_end(json);
	json_object_end(json);
}

struct err *thread_dump_put_json(const struct thread_dump *dump, struct byte_sink sink)
{
	struct json json = {.sink = sink};
	json_object(&json);
	json_put_exact(&json, "time_ns", profile_wall_ns(dump->profile, dump->profile->last_ns));
	json_put_exact(&json, "watched_ns", dump->window_ns);
	json_put_array(&json, "processes");
	for (size_t i = 0, next; i < dump->threads.len; i = next) {
		next = end_of_process(dump, i);
		json_line(&json);
		json_object(&json);
		json_put_number(&json, "pid", process_at(dump, i));
		json_put_text(&json, "name", process_name_at(dump, i));
		json_put_number(&json, "ended", count_ended(dump, process_at(dump, i)));
		json_put_array(&json, "stacks");
		for (size_t stack = i, end; stack < next; stack = end) {
			end = end_of_stack(dump, stack);
			put_stack_json(&json, dump, stack, end);
		}
		json_array_end(&json);
		json_object_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
	json_line(&json);
	return json_finish(&json);
}
