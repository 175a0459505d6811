#include "report/compare/baseline/slim_file.h"

#include <stdlib.h>
#include <string.h>

enum {
	FLUSH_BYTES = 4 << 20, /* of what waits, so that each kind fits into a chunk */
};

struct output {
	const struct slim_file *file;
	const struct profile *profile;
	const struct slim_places *places;
	struct writer *writer;
	struct err *err;
	uint32_t *objects;              /* of the profile -> id; 0: nothing refers to it */
	uint32_t *events;               /* of the profile -> id */
	uint32_t *frames;               /* place -> id */
	uint32_t *labels;               /* task -> id of its set */
	struct strtab script_functions; /* profile's object, number there -> number here, less 1 */
	struct strtab sets;             /* what slim_labels_put() says of each; 0: of none */
	VEC(uint32_t) set_ids;
	VEC(uint32_t) order; /* the places that are written, by their ids */
};

static void slim_file_flush_some(struct output *output)
{
	if (!output->err && writer_bytes_pending(output->writer) > FLUSH_BYTES)
		output->err = writer_flush(output->writer);
}

static uint32_t slim_file_put_text(struct output *output, const char *text)
{
	return text && *text ? writer_string(output->writer, text, strlen(text)) : 0;
}

/* ---- what it is ---- */

static void slim_file_put_cut(const struct slim_result *result, struct writer *writer)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (!result->cut_samples)
		return;
	str_printf(&text, "%llu of %llu samples: stacks that fewer than %llu samples had",
		(unsigned long long)result->cut_samples, (unsigned long long)result->samples,
		(unsigned long long)result->cut_below);
	writer_meta(writer, LAYOUT_META_BASELINE_CUT, str_text(&text));
}

static bool is_of_baseline(const char *key)
{
	return strcmp(key, LAYOUT_META_BASELINE_RUNS) == 0 ||
	       strcmp(key, LAYOUT_META_BASELINE_CUT) == 0;
}

static void slim_file_put_meta(struct output *output)
{
	const struct slim_result *result = output->file->result;
	CLEANUP(str_deinit) struct str runs = {0};
	vec_each(&output->profile->meta, meta)
		if (!is_of_baseline(meta->key))
			writer_meta(output->writer, meta->key, meta->value);
	str_printf(&runs, "%llu", (unsigned long long)result->runs);
	writer_meta(output->writer, LAYOUT_META_BASELINE_RUNS, str_text(&runs));
	slim_file_put_cut(result, output->writer);
}

/* That of the runs' common time; which one is the last depends on the order of files. */
static void slim_file_put_clock(struct output *output)
{
	const struct layout_clock *first = &output->profile->first_clock;
	if (first->monotonic_ns)
		writer_clock(output->writer, first);
}

/* Their names are those of files, which say nothing here: they are numbered by their times. */
static void slim_file_put_run(struct output *output, const struct slim_run *run, size_t number)
{
	const struct profile_origin *origin = &output->profile->origins.data[run->origin];
	struct layout_origin out = origin->info;
	VEC(struct layout_origin_meta) meta = {0};
	CLEANUP(str_deinit) struct str name = {0};
	for (uint32_t i = 0; i < origin->info.nr_meta; i++) {
		const struct profile_meta *it = &origin->meta[i];
		struct layout_origin_meta copied = {
			{it->key, strlen(it->key)}, {it->value, strlen(it->value)}};
		vec_push(&meta, copied);
	}
	str_printf(&name, "run%zu", number);
	out.name = (struct layout_text){str_text(&name), name.len};
	out.meta = meta.data;
	writer_origin(output->writer, &out);
	vec_deinit(&meta);
}

static void slim_file_put_runs(struct output *output)
{
	const struct slim_tasks *tasks = output->file->tasks;
	for (size_t i = 0; i < tasks->runs.len; i++)
		if (tasks->runs.data[i].origin)
			slim_file_put_run(output, &tasks->runs.data[i], i + 1);
}

/* ---- whose samples they are ---- */

static uint32_t object_id(struct output *output, uint32_t object)
{
	if (!object || output->objects[object])
		return output->objects[object];
	const struct profile_object *it = &output->profile->objects.data[object];
	struct layout_object out = it->info;
	out.path = slim_file_put_text(output, it->path);
	output->objects[object] = writer_object(output->writer, &out);
	return output->objects[object];
}

/*
 * In the baseline. Functions of scripts are numbered as they come here: the numbers that they have
 * depend on the order in which runs were merged and on what their recorders met first.
 */
static uint64_t baseline_offset(struct output *output, uint32_t object, uint64_t offset)
{
	const struct profile_object *it = &output->profile->objects.data[object];
	if (it->info.kind != LAYOUT_OBJECT_SCRIPT || offset < LAYOUT_SCRIPT_FIRST)
		return offset;
	const uint64_t key[] = {object, offset / LAYOUT_SCRIPT_FIRST};
	uint64_t number =
		1ULL + strtab_intern(&output->script_functions, (const char *)key, sizeof(key));
	return number * LAYOUT_SCRIPT_FIRST + offset % LAYOUT_SCRIPT_FIRST;
}

/* As origins were numbered: of runs without origins there is one, which has none. */
static uint32_t origin_id(const struct output *output, uint32_t origin)
{
	uint32_t id = 0;
	const struct slim_tasks *tasks = output->file->tasks;
	for (size_t i = 0; origin && i < tasks->of_origins[origin]; i++)
		id += tasks->runs.data[i].origin != 0;
	return id;
}

static uint32_t slim_file_put_process(struct output *output, uint32_t process)
{
	const struct profile_process *it = &output->profile->processes.data[process];
	struct layout_process out = {
		.pid = it->info.pid,
		.start_ns = it->info.start_ns,
		.exe = object_id(output, it->info.exe),
		.cgroup = slim_file_put_text(output, it->cgroup),
		.container = slim_file_put_text(output, it->container),
		.origin = origin_id(output, it->info.origin),
	};
	return writer_process(output->writer, &out);
}

/* Equal ones once. */
static uint32_t slim_file_put_labels(struct output *output, uint32_t set)
{
	CLEANUP(str_deinit) struct str text = {0};
	slim_labels_put(output->profile, set, &text);
	uint32_t number = strtab_intern(&output->sets, str_text(&text), text.len);
	if (number < output->set_ids.len)
		return output->set_ids.data[number];
	uint32_t id = 0;
	for (const char *key = str_text(&text), *end = key + text.len; key < end;) {
		const char *value = key + strlen(key) + 1;
		id = writer_label(
			output->writer, &(struct layout_label){.rest = id,
						.key = slim_file_put_text(output, key),
						.kind = LAYOUT_LABEL_TEXT,
						.value = slim_file_put_text(output, value)});
		key = value + strlen(value) + 1;
	}
	vec_push(&output->set_ids, id);
	return id;
}

/* A task's thread has the task's index plus 1 as its id. */
static void slim_file_put_tasks(struct output *output)
{
	const struct slim_tasks *tasks = output->file->tasks;
	CLEANUP_FREE uint32_t *ids = mem_zalloc_array(tasks->list.len, sizeof(*ids));
	for (size_t i = 0; i < tasks->list.len; i++) {
		const struct slim_task *task = &tasks->list.data[i];
		const struct profile_thread *thread = &output->profile->threads.data[task->thread];
		if (task->process == i)
			ids[i] = slim_file_put_process(output, thread->process);
		struct layout_thread out = {
			.process = ids[task->process],
			.tid = thread->tid,
			.comm = slim_file_put_text(output, thread->comm),
		};
		writer_thread(output->writer, &out);
		output->labels[i] = slim_file_put_labels(output, task->labels);
		slim_file_flush_some(output);
	}
}

static uint32_t slim_file_event_id(struct output *output, uint32_t event)
{
	if (!event || output->events[event])
		return output->events[event];
	const struct profile_event *it = &output->profile->events.data[event];
	struct layout_event out = {
		.name = slim_file_put_text(output, it->name),
		.period = it->period,
		.frequency_hz = it->frequency_hz,
		.unit = slim_file_put_text(output, it->unit),
		.source = slim_file_put_text(output, it->source),
	};
	output->events[event] = writer_event(output->writer, &out);
	return output->events[event];
}

/* ---- stacks ---- */

static void slim_file_put_code(struct output *output, const struct slim_place *place)
{
	const struct profile_code *code = slim_places_code(output->places, place);
	if (!code)
		return;
	struct layout_code out = {
		.object = object_id(output, place->object),
		.offset = baseline_offset(output, place->object, place->offset),
		.start = baseline_offset(output, place->object, code->start),
		.name = slim_file_put_text(output, code->name),
		.file = place->is_bare ? 0 : slim_file_put_text(output, code->file),
		.line = place->is_bare ? 0 : code->line,
	};
	writer_code(output->writer, &out);
}

static uint32_t frame_id(struct output *output, uint32_t place)
{
	if (output->frames[place])
		return output->frames[place];
	const struct slim_place *it = &output->places->list.data[place];
	struct layout_frame out = {
		.object = object_id(output, it->object),
		.offset = baseline_offset(output, it->object, it->offset),
		.flags = output->profile->frames.data[it->frame].flags,
	};
	output->frames[place] = writer_frame(output->writer, &out);
	vec_push(&output->order, place);
	slim_file_put_code(output, it);
	slim_file_flush_some(output);
	return output->frames[place];
}

static void slim_file_put_nodes(struct output *output)
{
	const struct slim_stacks *stacks = output->file->stacks;
	for (size_t i = 1; i < stacks->nodes.len; i++) {
		const struct slim_node *node = &stacks->nodes.data[i];
		writer_node(output->writer,
			&(struct layout_node){node->parent, frame_id(output, node->place)});
		slim_file_flush_some(output);
	}
}

static size_t run_of(const struct output *output, const struct slim_group *group)
{
	const struct slim_tasks *tasks = output->file->tasks;
	uint32_t thread = tasks->list.data[group->thread].thread;
	uint32_t process = output->profile->threads.data[thread].process;
	return tasks->of_origins[output->profile->processes.data[process].info.origin] - 1;
}

/*
 * All weights of a group are the same but for a rest, which the first ones share: their sum stays.
 * All times of a run are its first, and once its last.
 */
static void slim_file_put_group(
	struct output *output, const struct slim_group *group, bool ends_run)
{
	const struct slim_run *run = &output->file->tasks->runs.data[run_of(output, group)];
	for (uint64_t i = 0; i < group->samples; i++) {
		bool is_last = ends_run && i + 1 == group->samples;
		struct layout_sample sample = {
			.time_ns = is_last ? run->last_ns : run->first_ns,
			.event = slim_file_event_id(output, group->event),
			.thread = group->thread + 1,
			.user_stack = group->user,
			.kernel_stack = group->kernel,
			.syscall = group->syscall,
			.labels = output->labels[group->thread],
			.weight = group->weight / group->samples +
				  (i < group->weight % group->samples),
		};
		writer_sample(output->writer, &sample);
		slim_file_flush_some(output);
	}
}

static void slim_file_put_samples(struct output *output)
{
	const struct slim_stacks *stacks = output->file->stacks;
	size_t nr_runs = output->file->tasks->runs.len;
	CLEANUP_FREE size_t *lasts = mem_zalloc_array(nr_runs, sizeof(*lasts));
	for (size_t i = 0; i < stacks->groups.len; i++)
		lasts[run_of(output, &stacks->groups.data[i])] = i;
	for (size_t i = 0; i < stacks->groups.len; i++) {
		const struct slim_group *group = &stacks->groups.data[i];
		slim_file_put_group(output, group, lasts[run_of(output, group)] == i);
	}
}

/* ---- names ---- */

/* By the ids that their objects have in the baseline: others depend on the order of files. */
static int slim_file_compare_places(const void *a, const void *b, void *context)
{
	struct output *output = context;
	const struct slim_place *list = output->places->list.data;
	const struct slim_place *x = &list[*(const uint32_t *)a], *y = &list[*(const uint32_t *)b];
	uint32_t object_of_x = output->objects[x->object], object_of_y = output->objects[y->object];
	if (object_of_x != object_of_y)
		return object_of_x < object_of_y ? -1 : 1;
	uint64_t offset_of_x = baseline_offset(output, x->object, x->offset),
		 offset_of_y = baseline_offset(output, y->object, y->offset);
	return offset_of_x < offset_of_y ? -1 : offset_of_x > offset_of_y;
}

/* Readers shall not look for the files again: all was looked up, and what is not known stays so. */
static size_t put_chains_of_object(struct output *output, size_t first)
{
	const struct slim_place *list = output->places->list.data;
	uint32_t object = list[output->order.data[first]].object;
	struct chain_map chains = {.detail = CHAIN_MAP_INLINED};
	size_t at = first;
	for (; at < output->order.len; at++) {
		const struct slim_place *place = &list[output->order.data[at]];
		struct chain_frame bare;
		if (place->object != object)
			break;
		struct chain chain = slim_places_chain(output->places, place, &bare);
		if (object && !slim_places_code(output->places, place))
			chain_map_add(&chains,
				baseline_offset(output, place->object, place->offset), &chain);
	}
	if (chain_map_count(&chains))
		writer_chains(output->writer, output->objects[object], &chains);
	chain_map_deinit(&chains);
	return at;
}

static void put_chains(struct output *output)
{
	if (!output->err)
		output->err = writer_flush(output->writer); /* the objects come first */
	if (output->order.len)
		qsort_r(output->order.data, output->order.len, sizeof(*output->order.data),
			slim_file_compare_places, output);
	for (size_t i = 0; i < output->order.len;)
		i = put_chains_of_object(output, i);
}

/* ---- all of it ---- */

static void slim_file_put_counters(struct output *output)
{
	for (int i = 0; i < LAYOUT_COUNTER_COUNT; i++) {
		struct layout_counter_value value = {
			(enum layout_counter)i, 0, output->profile->counters[i]};
		if (value.value)
			writer_counter(output->writer, &value);
	}
}

static void put_tallies(struct output *output, const struct profile_source *source)
{
	uint32_t name = slim_file_put_text(output, source->name);
	for (int i = 1; i < LAYOUT_EVENT_COUNTER_COUNT; i++) {
		struct layout_event_tally tally = {.source = name,
			.counter = (enum layout_event_counter)i,
			.count = source->tallies[i].count,
			.sum = source->tallies[i].sum};
		if (tally.count)
			writer_event_tally(output->writer, &tally);
	}
}

static struct err *slim_file_put_all(struct output *output)
{
	slim_file_put_meta(output);
	slim_file_put_clock(output);
	slim_file_put_runs(output);
	slim_file_put_tasks(output);
	slim_file_put_nodes(output);
	slim_file_put_samples(output);
	put_chains(output);
	slim_file_put_counters(output);
	vec_each(&output->profile->sources, source)
		put_tallies(output, source);
	try(steal_ptr(output->err));
	struct layout_end end = {LAYOUT_END_MERGED, output->profile->last_ns};
	return writer_finish(output->writer, &end);
}

struct err *slim_file_write(const struct slim_file *file, struct writer_sink sink)
{
	const struct slim_places *places = file->stacks->places;
	const struct profile *profile = places->profile;
	struct output output = {
		.file = file,
		.profile = profile,
		.places = places,
		.writer = writer_create(sink),
		.objects = mem_zalloc_array(profile->objects.len, sizeof(uint32_t)),
		.events = mem_zalloc_array(profile->events.len, sizeof(uint32_t)),
		.frames = mem_zalloc_array(places->list.len, sizeof(uint32_t)),
		.labels = mem_zalloc_array(file->tasks->list.len + 1, sizeof(uint32_t)),
	};
	strtab_intern(&output.sets, "", 0);
	vec_push(&output.set_ids, 0);
	struct err *err = slim_file_put_all(&output);
	writer_destroy(output.writer);
	mem_free(output.objects);
	mem_free(output.events);
	mem_free(output.frames);
	mem_free(output.labels);
	strtab_deinit(&output.script_functions);
	strtab_deinit(&output.sets);
	vec_deinit(&output.set_ids);
	vec_deinit(&output.order);
	return err;
}
