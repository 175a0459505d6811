#include "report/tui/renewal.h"

#include <string.h>

#include "format/base/map.h"

/*
 * Keys are hashes of 64 bits by a seed of this renewal: what was put in is trusted to be what is
 * looked up, and a mistake would select another function, until the person selects one.
 */
struct renewal {
	const struct model *old, *next;
	uint64_t seed;
	struct map places;    /* object, offset and function's name -> frame */
	struct map functions; /* object, function's name and declaration -> a frame of it */
	struct map objects, threads, processes;
};

static uint64_t hash_text(const struct renewal *renewal, uint64_t hash, const char *text)
{
	return map_mix(hash ^ map_hash_bytes(text, strlen(text), renewal->seed));
}

static uint64_t renewal_key_of_object(
	const struct renewal *renewal, const struct model *model, uint32_t object)
{
	const struct profile_object *it = model_object(model, object);
	uint64_t hash = hash_text(renewal, it->info.kind, it->path);
	return map_mix(
		hash ^ map_hash_bytes(it->info.build_id, it->info.build_id_len, renewal->seed));
}

/* Of its function, where `has_place` of that place in it alone. */
static uint64_t key_of_frame(
	const struct renewal *renewal, const struct model *model, uint32_t frame, bool has_place)
{
	const struct profile_frame *it = &model->names->frames.data[frame];
	const struct profile_function *function = model_function(model, it->function);
	uint64_t hash = renewal_key_of_object(renewal, model, it->object);
	const char *file = profile_function_declared_in(function); /* static ones share names */
	hash = hash_text(renewal, hash, function->system_name ? function->system_name : "");
	hash = hash_text(renewal, hash ^ function->line, file ? file : "");
	return has_place ? map_mix(hash ^ it->offset) : hash;
}

static uint64_t renewal_key_of_process(
	const struct renewal *renewal, const struct model *model, uint32_t process)
{
	(void)renewal;
	return profile_process_key(model->profile, process);
}

static uint64_t renewal_key_of_thread(
	const struct renewal *renewal, const struct model *model, uint32_t thread)
{
	const struct profile *profile = model->profile;
	return hash_text(
		renewal, profile_thread_key(profile, thread), profile->threads.data[thread].comm);
}

/* The first of several, as those before and after an exec are. */
static void put_first(struct map *map, uint64_t key, uint32_t id)
{
	bool added;
	uint64_t *known = map_put(map, key, &added);
	if (added)
		*known = id;
}

static uint32_t renewal_find_id(const struct map *map, uint64_t key)
{
	const uint64_t *known = map_get(map, key);
	return known ? (uint32_t)*known : 0;
}

struct renewal *renewal_create(const struct model *old, const struct model *next)
{
	struct renewal *renewal = mem_zalloc(sizeof(*renewal));
	const struct model_names *names = next->names;
	const struct profile *profile = next->profile;
	renewal->old = old;
	renewal->next = next;
	renewal->seed = map_random_seed();
	for (uint32_t i = 1; i < names->frames.len; i++) {
		put_first(&renewal->places, key_of_frame(renewal, next, i, true), i);
		put_first(&renewal->functions, key_of_frame(renewal, next, i, false), i);
	}
	for (uint32_t i = 1; i < names->objects.len; i++)
		put_first(&renewal->objects, renewal_key_of_object(renewal, next, i), i);
	for (uint32_t i = 1; i < profile->processes.len; i++)
		put_first(&renewal->processes, renewal_key_of_process(renewal, next, i), i);
	for (uint32_t i = 1; i < profile->threads.len; i++)
		put_first(&renewal->threads, renewal_key_of_thread(renewal, next, i), i);
	return renewal;
}

void renewal_destroy(struct renewal *renewal)
{
	if (!renewal)
		return;
	map_deinit(&renewal->places);
	map_deinit(&renewal->functions);
	map_deinit(&renewal->objects);
	map_deinit(&renewal->threads);
	map_deinit(&renewal->processes);
	mem_free(renewal);
}

/* ---- one thing ---- */

uint32_t renewal_frame(const struct renewal *renewal, uint32_t frame)
{
	if (!frame || frame >= renewal->old->names->frames.len)
		return 0;
	uint32_t found =
		renewal_find_id(&renewal->places, key_of_frame(renewal, renewal->old, frame, true));
	return found ? found
		     : renewal_find_id(&renewal->functions,
			       key_of_frame(renewal, renewal->old, frame, false));
}

uint32_t renewal_object(const struct renewal *renewal, uint32_t object)
{
	return object ? renewal_find_id(&renewal->objects,
				renewal_key_of_object(renewal, renewal->old, object))
		      : 0;
}

uint32_t renewal_thread(const struct renewal *renewal, uint32_t thread)
{
	return thread ? renewal_find_id(&renewal->threads,
				renewal_key_of_thread(renewal, renewal->old, thread))
		      : 0;
}

uint32_t renewal_process(const struct renewal *renewal, uint32_t process)
{
	return process ? renewal_find_id(&renewal->processes,
				 renewal_key_of_process(renewal, renewal->old, process))
		       : 0;
}

uint32_t renewal_event(const struct renewal *renewal, uint32_t event)
{
	const struct profile *old = renewal->old->profile, *next = renewal->next->profile;
	for (uint32_t i = 1; event && i < next->events.len; i++)
		if (strcmp(next->events.data[i].name, old->events.data[event].name) == 0 &&
			strcmp(next->events.data[i].unit, old->events.data[event].unit) == 0)
			return i;
	return 0;
}

uint32_t renewal_string(const struct renewal *renewal, uint32_t string)
{
	const struct profile *old = renewal->old->profile, *next = renewal->next->profile;
	const char *text = string < old->strings.len ? old->strings.data[string].bytes : NULL;
	for (uint32_t i = 1; text && i < next->processes.len; i++) {
		const struct layout_process *process = &next->processes.data[i].info;
		const uint32_t ids[] = {process->container, process->cgroup};
		for (int k = 0; k < 2; k++)
			if (ids[k] && strcmp(next->strings.data[ids[k]].bytes, text) == 0)
				return ids[k];
	}
	return 0;
}

const char *renewal_container(const struct renewal *renewal, const char *container)
{
	const struct profile *next = renewal->next->profile;
	for (uint32_t i = 1; container && i < next->processes.len; i++)
		if (scope_is_in_container(&next->processes.data[i], container))
			return scope_container(&next->processes.data[i]);
	return NULL;
}

uint64_t renewal_time(const struct renewal *renewal, uint64_t time_ns)
{
	uint64_t at = renewal->old->profile->first_ns + time_ns;
	uint64_t first = renewal->next->profile->first_ns;
	return at > first ? at - first : 0;
}

void renewal_path(const struct renewal *renewal, struct path *path)
{
	size_t kept = 0;
	while (kept < path->len) {
		uint32_t frame = renewal_frame(renewal, path->data[kept]);
		if (!frame)
			break;
		path->data[kept++] = frame;
	}
	path->len = kept;
}

/* ---- stacks ---- */

/* Names come later than frames, but those of scripts, whose places may be anything. */
static uint64_t key_of_place(
	const struct renewal *renewal, const struct model *model, uint32_t frame)
{
	const struct profile_frame *it = &model->profile->frames.data[frame];
	bool is_script = profile_frame_is_script(it, model->profile->objects.data);
	return is_script ? key_of_frame(renewal, model, frame, true)
			 : map_mix(renewal_key_of_object(renewal, model, it->object) ^ it->offset);
}

static bool is_same_stack(const struct renewal *renewal, uint32_t old, uint32_t next)
{
	struct profile_walk of_old = profile_walk(renewal->old->profile, old);
	struct profile_walk of_next = profile_walk(renewal->next->profile, next);
	for (;;) {
		uint32_t x = profile_walk_recorded(&of_old), y = profile_walk_recorded(&of_next);
		if (!x || !y)
			return x == y;
		if (key_of_place(renewal, renewal->old, x) !=
			key_of_place(renewal, renewal->next, y))
			return false;
	}
}

/* UINT32_MAX: no stack is it any more. */
static uint32_t renewal_stack(const struct renewal *renewal, uint32_t stack)
{
	const struct profile *next = renewal->next->profile;
	if (stack >= renewal->old->profile->stacks.len)
		return UINT32_MAX;
	for (uint32_t i = 0; i < next->stacks.len; i++)
		if (is_same_stack(renewal, stack, i))
			return i;
	return UINT32_MAX;
}

/* ---- filters ---- */

static void name_term(struct scope_term *term, enum scope_kind kind, const char *name)
{
	term->kind = kind;
	term->number = 0;
	mem_free(term->text);
	term->text = mem_strdup(name);
}

void renewal_term(const struct renewal *renewal, struct scope_term *term)
{
	const struct model *old = renewal->old;
	const struct profile *profile = old->profile;
	switch (term->kind) {
	case SCOPE_FUNCTION: {
		uint32_t function = model_function_of(old, term->number);
		name_term(term, SCOPE_SYMBOL, model_function(old, function)->name);
		break;
	}
	case SCOPE_OBJECT:
		name_term(term, SCOPE_FILE, model_object(old, term->number)->path);
		break;
	case SCOPE_THREAD:
		term->kind = SCOPE_TID;
		term->number = profile->threads.data[term->number].tid;
		break;
	case SCOPE_PROCESS:
		term->kind = SCOPE_PID;
		term->number = profile->processes.data[term->number].info.pid;
		break;
	case SCOPE_THREAD_STACK:
		term->number = renewal_thread(renewal, term->number);
		term->stack = renewal_stack(renewal, term->stack);
		break;
	case SCOPE_TIME:
		term->from_ns = renewal_time(renewal, term->from_ns);
		term->to_ns = renewal_time(renewal, term->to_ns);
		break;
	default: /* by names already */
		break;
	}
}
