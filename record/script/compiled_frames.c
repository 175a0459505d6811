#include "record/script/compiled_frames.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/clock.h"
#include "format/base/mem.h"
#include "record/runtime/runtime.h"

enum {
	MAX_COMPILED = 64 << 10, /* places; then all are forgotten */
	MAX_JOBS = 4096,         /* at once */
	MAX_WITHOUT = 4096,      /* program images */
	MAX_WISHES = 4096,
};

/* How long what was read holds: code is freed now and then, and other code is put in its place. */
static const uint64_t holds_ns = 50 * NS_PER_MS;
static const uint64_t wished_ns = 500 * NS_PER_MS;

struct request {
	uint32_t pid;
	uint32_t is_leaf;
	uint64_t delta, place;
	struct runtime_row row;
};

_Static_assert(sizeof(struct request) <= TARGET_READER_MAX_REQUEST, "a request fits");

/* In the reader's worker: a struct runtime_frame, or nothing. */
static void read_compiled_frame(void **kept, const void *bytes, size_t len, struct bytes_buf *ret)
{
	struct request request;
	struct runtime_frame frame;
	(void)kept;
	if (len != sizeof(request))
		return;
	memcpy(&request, bytes, len);
	memset(&frame, 0, sizeof(frame));
	if (runtime_of(request.row.kind)
			->find_frame(request.pid, request.delta, &request.row, request.place,
				request.is_leaf, &frame))
		bytes_put(ret, &frame, sizeof(frame));
}

void compiled_frames_init(struct compiled_frames *frames, struct script_table *scripts)
{
	*frames = (struct compiled_frames){.scripts = scripts, .seed = map_random_seed()};
	target_reader_init(&frames->reader, read_compiled_frame);
}

/* What is being read stays the reader's, and is dropped when it comes. */
static void forget_places(struct compiled_frames *frames)
{
	for (size_t i = frames->read; i < frames->jobs.len; i++)
		frames->jobs.data[i].index = UINT32_MAX;
	map_deinit(&frames->by_place);
	vec_deinit(&frames->known);
}

void compiled_frames_forget(struct compiled_frames *frames)
{
	forget_places(frames);
	map_deinit(&frames->numbers);
}

void compiled_frames_deinit(struct compiled_frames *frames)
{
	target_reader_deinit(&frames->reader);
	compiled_frames_forget(frames);
	map_deinit(&frames->without);
	vec_deinit(&frames->jobs);
	vec_deinit(&frames->wishes);
}

/* ---- whose code it is ---- */

struct process_runtime {
	const struct runtime_row *row; /* NULL: there is none */
	uint64_t delta;
	bool is_pending; /* a file is still being looked at */
};

/* A mapping of the runtime's own code: what else is in the same file is elsewhere. */
static bool is_of_runtime(const struct runtime_row *row, const struct mapping *mapping)
{
	return row && runtime_of(row->kind)->find_frame &&
	       runtime_row_has_place(row, mapping->offset);
}

static struct process_runtime find_process_runtime(
	const struct compiled_frames *frames, const struct process *process)
{
	struct process_runtime found = {.row = NULL};
	struct mapping_cursor cursor = {0};
	for (const struct mapping *mapping;
		(mapping = mapping_table_next(&process->mappings, &cursor));) {
		bool is_pending;
		const struct runtime_row *row = mapping->object->info.kind == LAYOUT_OBJECT_FILE
							? rule_source_runtime_row(frames->rules,
								  mapping->object, &is_pending)
							: NULL;
		if (mapping->object->info.kind != LAYOUT_OBJECT_FILE)
			continue;
		found.is_pending |= is_pending;
		if (is_of_runtime(row, mapping))
			return (struct process_runtime){
				.row = row, .delta = mapping->offset - mapping->start};
	}
	return found;
}

/* The same, but of a process that has none it is found out once for each number of mappings. */
static struct process_runtime process_runtime_of(
	struct compiled_frames *frames, const struct process *process)
{
	uint64_t count = mapping_table_count(&process->mappings);
	const uint64_t *without = map_get(&frames->without, process->image);
	if (without && *without == count)
		return (struct process_runtime){.row = NULL};
	struct process_runtime found = find_process_runtime(frames, process);
	if (frames->without.len >= MAX_WITHOUT)
		map_deinit(&frames->without);
	if (!found.row && !found.is_pending)
		*map_put(&frames->without, process->image, NULL) = count;
	return found;
}

/* ---- reading ---- */

static bool submit_place(struct compiled_frames *frames, const struct process *process,
	const struct process_runtime *of, uint64_t place, bool is_leaf, uint32_t index)
{
	struct request request; /* no byte of it is left as it was */
	if (frames->jobs.len - frames->read >= MAX_JOBS)
		return false;
	memset(&request, 0, sizeof(request));
	request.pid = process->pid;
	request.is_leaf = is_leaf;
	request.delta = of->delta;
	request.place = place;
	request.row = *of->row;
	struct compiled_job job = {.index = index,
		.pid = process->pid,
		.image = process->image,
		.kind = of->row->kind};
	vec_push(&frames->jobs, job);
	target_reader_submit(&frames->reader, process->pid, &request, sizeof(request));
	target_reader_send(&frames->reader);
	return true;
}

/* The number of the code that the frame is of, which the script table knows then; 0: there are no
 * more. */
static uint32_t number_of_code(struct compiled_frames *frames, const struct compiled_job *job,
	const struct runtime_frame *frame)
{
	bool is_new;
	uint64_t hash = map_hash_bytes(
		frame->given, frame->given_bytes, frames->seed + map_mix(job->image));
	if (frames->numbers.len >= RUNTIME_NUMBERS_OF_RECORDER)
		return 0;
	uint64_t count = frames->numbers.len;
	uint64_t *number = map_put(&frames->numbers, hash, &is_new);
	if (is_new)
		*number = RUNTIME_FIRST_NUMBER_OF_RECORDER + count;
	if (!is_new)
		return (uint32_t)*number;
	struct {
		struct event_code head;
		uint8_t given[RUNTIME_MAX_GIVEN_BYTES];
	} event;
	memset(&event, 0, sizeof(event));
	event.head.type = EVENT_CODE;
	event.head.number = (uint32_t)*number;
	event.head.pid = job->pid;
	event.head.kind = (uint8_t)job->kind;
	event.head.version = frame->version;
	event.head.is_inlined = true;
	event.head.address[RUNTIME_TEXT_LINES] = 1; /* something is to be read */
	event.head.bytes[RUNTIME_TEXT_LINES] = frame->given_bytes;
	memcpy(event.given, frame->given, frame->given_bytes);
	script_table_take(frames->scripts, &event.head, sizeof(event.head) + frame->given_bytes);
	return event.head.number;
}

static void take_frame(struct compiled_frames *frames, const struct compiled_job *job,
	const struct bytes_buf *answer)
{
	struct compiled_known *known = &frames->known.data[job->index];
	struct runtime_frame frame;
	known->is_reading = false;
	if (!answer) /* the process is gone, or has no time left: what was known stays */
		return;
	known->is_found = answer->len == sizeof(frame);
	if (!known->is_found)
		return;
	memcpy(&frame, answer->data, sizeof(frame));
	uint32_t number = frame.given_bytes <= RUNTIME_MAX_GIVEN_BYTES
				  ? number_of_code(frames, job, &frame)
				  : 0;
	known->is_found = number != 0;
	known->has_rule = frame.has_rule;
	known->rule = frame.rule;
	known->word = (uint64_t)EVENT_FRAME_RUNTIME << EVENT_FRAME_KIND_SHIFT |
		      (uint64_t)number << RUNTIME_FRAME_CODE_SHIFT | frame.place;
}

bool compiled_frames_are_reading(const struct compiled_frames *frames)
{
	return frames->read < frames->jobs.len ||
	       (frames->waits_for_names && script_table_is_reading(frames->scripts));
}

int compiled_frames_fd(const struct compiled_frames *frames)
{
	return target_reader_fd(&frames->reader);
}

/* ---- finding ---- */

/* Index of what is known of the place, which is asked for unless it is known well enough. False: it
 * cannot be; with *is_pending: not yet. */
static bool know_place(struct compiled_frames *frames, const struct process *process,
	uint64_t place, bool is_leaf, uint64_t time_ns, uint64_t *index, bool *is_pending)
{
	static const struct compiled_known nothing;
	uint64_t hash = map_mix(map_mix(place + frames->seed) + 2ULL * process->image + is_leaf);
	const uint64_t *old = map_get(&frames->by_place, hash);
	const struct compiled_known *known = old ? &frames->known.data[*old] : NULL;
	*index = old ? *old : frames->known.len;
	*is_pending = false;
	if (known && (known->is_reading || time_ns < known->asked_ns + holds_ns))
		return true;
	struct process_runtime of = process_runtime_of(frames, process);
	*is_pending = of.is_pending;
	if (process->exited_ns || !of.row)
		return known;
	if (!known && frames->known.len >= MAX_COMPILED) {
		forget_places(frames);
		*index = 0;
	}
	if (!submit_place(frames, process, &of, place, is_leaf, (uint32_t)*index))
		return known;
	if (!known) {
		vec_push(&frames->known, nothing);
		*map_put(&frames->by_place, hash, NULL) = *index;
	}
	struct compiled_known *asked = &frames->known.data[*index];
	asked->is_reading = true;
	asked->asked_ns = clock_now_ns();
	return true;
}

enum compiled_found compiled_frames_find(struct compiled_frames *frames,
	const struct process *process, uint64_t place, bool is_leaf, uint64_t time_ns,
	bool may_wait, struct compiled_frame *ret)
{
	uint64_t index;
	bool is_pending;
	if (!frames->rules)
		return COMPILED_NOTHING;
	if (!know_place(frames, process, place, is_leaf, time_ns, &index, &is_pending))
		return is_pending && may_wait ? COMPILED_LATER : COMPILED_NOTHING;
	const struct compiled_known *known = &frames->known.data[index];
	if (known->is_reading && may_wait)
		return COMPILED_LATER;
	if (!known->is_found)
		return COMPILED_NOTHING;
	bool lacks_name = script_table_lacks(frames->scripts, known->word);
	frames->waits_for_names |= lacks_name && may_wait;
	if (lacks_name && !may_wait)
		script_table_give_up(frames->scripts, known->word);
	*ret = (struct compiled_frame){.word = known->word,
		.rule = known->has_rule ? &known->rule : NULL,
		.lacks_name = lacks_name && may_wait};
	return COMPILED_FOUND;
}

/* ---- what is expected ---- */

void compiled_frames_expect(struct compiled_frames *frames, uint32_t pid, uint64_t place,
	bool is_leaf, uint64_t time_ns)
{
	struct compiled_wish wish = {
		.place = place, .time_ns = time_ns, .pid = pid, .is_leaf = is_leaf};
	if (frames->wishes.len < MAX_WISHES)
		vec_push(&frames->wishes, wish);
}

/* False: its runtime is not known so far. */
static bool grant_place(struct compiled_frames *frames, const struct process *process,
	const struct compiled_wish *wish)
{
	uint64_t index;
	bool is_pending;
	return know_place(frames, process, wish->place, wish->is_leaf, wish->time_ns, &index,
		       &is_pending) ||
	       !is_pending;
}

static void ask_for_places(struct compiled_frames *frames, const struct process_table *processes)
{
	size_t left = 0;
	uint64_t now_ns = frames->wishes.len ? clock_now_ns() : 0;
	vec_each(&frames->wishes, wish) {
		const struct process *process = process_table_find(processes, wish->pid);
		bool is_over = process ? grant_place(frames, process, wish)
				       : now_ns - wish->time_ns > wished_ns;
		if (!is_over)
			frames->wishes.data[left++] = *wish;
	}
	frames->wishes.len = left;
}

void compiled_frames_collect(struct compiled_frames *frames, const struct process_table *processes)
{
	const struct bytes_buf *answer;
	frames->waits_for_names = false;
	if (frames->rules)
		ask_for_places(frames, processes);
	while (frames->read < frames->jobs.len && target_reader_take(&frames->reader, &answer)) {
		struct compiled_job job = frames->jobs.data[frames->read++];
		if (job.index != UINT32_MAX)
			take_frame(frames, &job, answer);
	}
	script_table_send(frames->scripts); /* the process may be gone soon */
	if (frames->read == frames->jobs.len)
		frames->read = frames->jobs.len = 0;
}
