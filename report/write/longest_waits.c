#include "report/write/longest_waits.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/map.h"
#include "report/analyse/frame_kind.h"
#include "report/analyse/own_code.h"
#include "report/model/event_value.h"
#include "report/name/short_names.h"

enum {
	CALLERS_SEEN = 5,  /* functions of a line, from where the program waits on */
	NAME_COLUMNS = 40, /* of a function, about */
	COMM_COLUMNS = 22,
	THREAD_COLUMNS = 16, /* on a screen */
};

static const struct profile_function *function_of(const struct profile *profile, uint32_t frame)
{
	return &profile->functions.data[profile->frames.data[frame].function];
}

static const char reason_begin[] = "[wait: ";

/* The frame that says why it waits, of wait_reasons.h; 0: none does. */
static uint32_t find_reason(const struct profile *profile, uint32_t stack)
{
	struct profile_walk walk = profile_walk(profile, stack);
	uint32_t leaf = profile_walk_next(&walk);
	const char *name = leaf ? function_of(profile, leaf)->name : "";
	return strncmp(name, reason_begin, strlen(reason_begin)) == 0 ? leaf : 0;
}

/* Without "[wait: " and "]". */
static void put_reason(const struct profile *profile, uint32_t stack, struct str *out)
{
	uint32_t frame = find_reason(profile, stack);
	const char *name = frame ? function_of(profile, frame)->name + strlen(reason_begin) : "- ";
	str_write(out, name, strlen(name) - 1);
}

/* How near a frame is to what the user wrote. */
enum nearness {
	NEAR_KERNEL,
	NEAR_LIBRARY,
	NEAR_PROGRAM,
	NEAR_SCRIPT,
};

static enum nearness nearness_of(const struct profile *profile, uint32_t frame)
{
	const struct profile_frame *it = &profile->frames.data[frame];
	const struct profile_object *object = &profile->objects.data[it->object];
	if (profile_frame_is_script(it, profile->objects.data))
		return NEAR_SCRIPT;
	if (profile_is_kernel(profile, it->object))
		return NEAR_KERNEL;
	const struct profile_function *function = function_of(profile, frame);
	bool is_program = frame_kind_of_function(function, object) == FRAME_PROGRAM;
	return is_program && !own_code_is_of_header(function) ? NEAR_PROGRAM : NEAR_LIBRARY;
}

/* A function of a line, and how many calls of it by itself stand for one. */
struct wait_caller {
	uint32_t frame, calls;
};

static enum nearness nearest_of(const struct profile *profile, uint32_t stack)
{
	enum nearness nearest = NEAR_KERNEL;
	struct profile_walk walk = profile_walk(profile, stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk));) {
		enum nearness near = nearness_of(profile, frame);
		nearest = near > nearest ? near : nearest;
	}
	return nearest;
}

/*
 * Frames of what the program is, from the leaf on: those that are the nearest to it in the stack,
 * of compiled code with all libraries' unless there is no room for these. Returns how many.
 */
static size_t find_callers(
	const struct profile *profile, uint32_t stack, bool has_room, struct wait_caller *ret)
{
	enum nearness nearest = nearest_of(profile, stack), least = NEAR_LIBRARY;
	if (nearest == NEAR_SCRIPT || (nearest == NEAR_PROGRAM && !has_room))
		least = nearest;
	size_t seen = 0;
	struct profile_walk walk = profile_walk(profile, stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk));) {
		if (nearness_of(profile, frame) < least)
			continue;
		bool is_again = seen && function_of(profile, ret[seen - 1].frame) ==
						function_of(profile, frame);
		if (!is_again && seen == CALLERS_SEEN)
			break;
		if (is_again)
			ret[seen - 1].calls++;
		else
			ret[seen++] = (struct wait_caller){frame, 1};
	}
	return seen;
}

uint32_t longest_waits_frame(const struct profile *profile, uint32_t stack)
{
	struct wait_caller callers[CALLERS_SEEN];
	return find_callers(profile, stack, false, callers) ? callers[0].frame : 0;
}

static bool fits_a_line(const void *context, const char *name)
{
	(void)context;
	return strlen(name) <= NAME_COLUMNS;
}

static void put_wait_function(const struct profile *profile, const struct wait_caller *caller,
	bool is_own, struct str *out)
{
	const struct profile_frame *frame = &profile->frames.data[caller->frame];
	CLEANUP(str_deinit) struct str storage = {0};
	const char *name =
		short_names_fit(function_of(profile, caller->frame), fits_a_line, NULL, &storage);
	str_puts_escaped(out, name);
	if (is_own && frame->line)
		str_printf(out, ":%u", frame->line);
	if (caller->calls > 1)
		str_printf(out, " (x%u)", caller->calls);
}

/* A lock takes many frames of its library: behind them stands the function that wants it. */
static void put_functions(
	const struct profile *profile, uint32_t stack, bool has_room, struct str *out)
{
	struct wait_caller callers[CALLERS_SEEN], own = {longest_waits_frame(profile, stack), 1};
	size_t seen = find_callers(profile, stack, has_room, callers);
	bool has_own = false;
	for (size_t i = 0; i < seen; i++) {
		bool is_own = callers[i].frame == own.frame;
		str_puts(out, i ? " < " : "");
		put_wait_function(profile, &callers[i], is_own, out);
		has_own |= is_own;
	}
	if (own.frame && !has_own) {
		str_puts(out, " < ... < ");
		put_wait_function(profile, &own, true, out);
	}
	if (!seen)
		str_puts(out, "-");
}

/* ---- finding them ---- */

struct wait_finder {
	const struct profile *profile;
	enum longest_waits_lines lines;
	struct map places;  /* thread << 32 | stack -> its row */
	struct strtab said; /* by row, which thread, and its stack or what its line says */
	struct longest_waits waits;
};

static int compare_waits(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;
	const struct longest_wait *x = a, *y = b;
	uint64_t of_x = profile_sample_value(profile, x->longest),
		 of_y = profile_sample_value(profile, y->longest);
	if (x->is_of_program != y->is_of_program)
		return x->is_of_program ? -1 : 1;
	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	return x->longest < y->longest ? -1 : x->longest > y->longest;
}

/* What a line says but for how often functions call themselves: the same place at any depth. */
static void put_waits_place(
	const struct profile *profile, uint32_t stack, bool has_room, struct str *key)
{
	struct wait_caller callers[CALLERS_SEEN];
	size_t seen = find_callers(profile, stack, has_room, callers);
	const struct profile_frame *own =
		&profile->frames.data[longest_waits_frame(profile, stack)];
	put_reason(profile, stack, key);
	str_printf(key, " %u:%u", own->function, own->line);
	for (size_t i = 0; i < seen; i++)
		str_printf(key, " %u", profile->frames.data[callers[i].frame].function);
}

/* The row of what a line says. */
static uint32_t row_of_line(struct wait_finder *finder, uint32_t thread, uint32_t stack)
{
	const struct profile *profile = finder->profile;
	const struct profile_stack *it = &profile->stacks.data[stack];
	CLEANUP(str_deinit) struct str key = {0};
	str_printf(&key, "%u ", thread);
	if (finder->lines == LONGEST_WAITS_OF_SCREEN)
		str_printf(&key, "%u %u", it->user, it->kernel);
	else
		put_waits_place(profile, stack, finder->lines == LONGEST_WAITS_OF_TEXT, &key);
	return strtab_intern(&finder->said, key.data, key.len);
}

static void add_wait(struct wait_finder *finder, const struct profile_sample *sample)
{
	bool is_new;
	const struct profile *profile = finder->profile;
	struct longest_waits *waits = &finder->waits;
	uint32_t thread = profile->threads.data[sample->thread].first;
	uint64_t *place = map_put(&finder->places, (uint64_t)thread << 32 | sample->stack, &is_new);
	if (is_new)
		*place = row_of_line(finder, thread, sample->stack);
	if (*place == waits->rows.len) {
		bool is_of_program = nearest_of(profile, sample->stack) >= NEAR_PROGRAM;
		vec_push(&waits->rows, (struct longest_wait){sample, 0, 0, is_of_program});
	}
	struct longest_wait *group = &waits->rows.data[*place];
	uint64_t value = profile_sample_value(profile, sample);
	if (value > profile_sample_value(profile, group->longest))
		group->longest = sample;
	group->count++;
	group->sum += value;
}

void longest_waits_find(const struct profile *profile, const struct scope *scope,
	const struct scope_stacks *stacks, enum longest_waits_lines lines,
	struct longest_waits *ret)
{
	struct wait_finder finder = {.profile = profile, .lines = lines};
	struct scope_walk walk;
	scope_walk_init(&walk, scope, profile, stacks, NULL);
	for (const struct profile_sample *sample; (sample = scope_walk_next(&walk));) {
		if (!profile->events.data[sample->event].wait)
			continue;
		finder.waits.all++;
		if (sample->is_estimate)
			continue;
		finder.waits.exact++;
		add_wait(&finder, sample);
	}
	scope_walk_deinit(&walk);
	map_deinit(&finder.places);
	strtab_deinit(&finder.said);
	*ret = finder.waits;
	if (ret->rows.len)
		qsort_r(ret->rows.data, ret->rows.len, sizeof(*ret->rows.data), compare_waits,
			(void *)profile);
}

void longest_waits_deinit(struct longest_waits *waits)
{
	vec_deinit(&waits->rows);
}

/* ---- lines ---- */

/* As many columns of it as a screen has for a thread. */
static void put_wait_thread(const struct profile_thread *thread, struct str *out)
{
	CLEANUP(str_deinit) struct str comm = {0}, tid = {0};
	str_puts_escaped(&comm, thread->comm);
	str_printf(&tid, ":%u", thread->tid);
	size_t room = THREAD_COLUMNS - tid.len;
	str_printf(out, "%.*s%s", (int)(comm.len < room ? comm.len : room), str_text(&comm),
		str_text(&tid));
}

void longest_waits_put_name(
	const struct profile *profile, uint32_t thread, uint32_t stack, struct str *out)
{
	uint32_t frame = longest_waits_frame(profile, stack);
	put_wait_thread(&profile->threads.data[thread], out);
	if (find_reason(profile, stack)) {
		str_putc(out, ' ');
		put_reason(profile, stack, out);
	}
	if (frame) {
		const char *name = function_of(profile, frame)->name;
		str_puts(out, " in ");
		str_puts_escaped(out, name);
	}
}

const char longest_waits_heading[] =
	" longest times     in all  thread            reason     function < callers ";

void longest_waits_put_row(
	const struct profile *profile, const struct longest_wait *wait, struct str *out)
{
	const struct profile_event *event = &profile->events.data[wait->longest->event];
	CLEANUP(str_deinit) struct str length = {0}, sum = {0}, thread = {0}, reason = {0};
	event_value_put(event, profile_sample_value(profile, wait->longest), false, &length);
	event_value_put(event, wait->sum, false, &sum);
	put_wait_thread(&profile->threads.data[wait->longest->thread], &thread);
	put_reason(profile, wait->longest->stack, &reason);
	str_printf(out, "%8s %5llu %10s  %-*s  %-9s  ", str_text(&length),
		(unsigned long long)wait->count, str_text(&sum), THREAD_COLUMNS, str_text(&thread),
		str_text(&reason));
	put_functions(profile, wait->longest->stack, false, out);
	str_putc(out, '\n');
}

void longest_waits_put_rest(
	const struct longest_waits *waits, size_t rows, const char *mark, struct str *out)
{
	uint64_t shown = 0;
	for (size_t i = 0; i < rows; i++)
		shown += waits->rows.data[i].count;
	if (waits->exact > shown)
		str_printf(out, "%s%llu more %s\n", mark,
			(unsigned long long)(waits->exact - shown),
			str_plural(waits->exact - shown, "wait", "waits"));
	if (waits->all > waits->exact)
		str_printf(out,
			"%s%llu %s for shorter waits, which no line shows (record with a shorter "
			"--wait-period)\n",
			mark, (unsigned long long)(waits->all - waits->exact),
			str_plural(waits->all - waits->exact, "sample stands", "samples stand"));
}

static void put_wait(
	const struct profile *profile, const struct longest_wait *group, struct str *out)
{
	const struct profile_sample *sample = group->longest;
	const struct profile_event *event = &profile->events.data[sample->event];
	const struct profile_thread *thread = &profile->threads.data[sample->thread];
	uint64_t value = profile_sample_value(profile, sample);
	uint64_t end_ns = sample->time_ns - profile->first_ns;
	CLEANUP(str_deinit) struct str length = {0}, sum = {0}, comm = {0}, reason = {0};
	event_value_put(event, value, false, &length);
	event_value_put(event, group->sum, false, &sum);
	str_puts_escaped(&comm, thread->comm);
	str_printf(&comm, ":%u", thread->tid);
	put_reason(profile, sample->stack, &reason);
	str_printf(out, "%10s %6llu %10s %9.3f s  %-*s  %-13s  ", str_text(&length),
		(unsigned long long)group->count, str_text(&sum),
		(double)(end_ns > value ? end_ns - value : 0) / 1e9, COMM_COLUMNS, str_text(&comm),
		str_text(&reason));
	put_functions(profile, sample->stack, true, out);
	str_putc(out, '\n');
}

/* By what looks for goroutines that are ready. */
static bool is_of_go(const struct profile *profile, uint32_t stack)
{
	struct profile_walk walk = profile_walk(profile, stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk));)
		if (strcmp(function_of(profile, frame)->name, "runtime.findRunnable") == 0 ||
			strcmp(function_of(profile, frame)->name, "runtime.stopm") == 0)
			return true;
	return false;
}

bool longest_waits_put(const struct profile *profile, size_t most, struct str *out)
{
	bool has_go = false;
	CLEANUP(longest_waits_deinit) struct longest_waits waits;
	longest_waits_find(profile, &(struct scope){0}, NULL, LONGEST_WAITS_OF_TEXT, &waits);
	size_t rows = waits.rows.len < most ? waits.rows.len : most;
	if (waits.all)
		str_printf(out, "#%9s %6s %10s %11s  %-*s  %-13s  %s\n", "longest", "times",
			"in all", "begin", COMM_COLUMNS, "thread", "reason", "function < callers");
	for (size_t i = 0; i < rows; i++) {
		put_wait(profile, &waits.rows.data[i], out);
		has_go |= is_of_go(profile, waits.rows.data[i].longest->stack);
	}
	longest_waits_put_rest(&waits, rows, "# ", out);
	if (rows < waits.rows.len)
		str_puts(out, "# --percent-limit 0 shows all\n");
	if (has_go)
		str_puts(out, "# these are Go's threads, which wait for work: goroutines that wait "
			      "for locks, channels and timers are in no row\n");
	return waits.all;
}
