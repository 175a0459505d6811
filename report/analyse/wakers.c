#include "report/analyse/wakers.h"

#include <string.h>

#include "format/base/map.h"
#include "format/base/str.h"

/* Where the kernel enters an interrupt, on Linux 5.10 to 7.2; a name that ends with '*' stands for
 * all that begin so. */
static bool enters_interrupt(const char *name)
{
	static const char *const entries[] = {"asm_sysvec_*", "asm_common_interrupt",
		"common_interrupt", "sysvec_*", "irq_exit_rcu", "__irq_exit_rcu", "irq_exit",
		"handle_softirqs", "__do_softirq", "do_softirq_own_stack", "el1_interrupt",
		"el0_interrupt", "el1h_64_irq*", "el0t_64_irq*", "gic_handle_irq", "asm_sysvec",
		"smp_apic_timer_interrupt"};
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		size_t len = strlen(entries[i]);
		if (entries[i][len - 1] == '*' ? strncmp(name, entries[i], len - 1) == 0
					       : strcmp(name, entries[i]) == 0)
			return true;
	}
	return false;
}

static bool has_interrupt(const struct profile *profile, uint32_t node)
{
	for (; node; node = profile->nodes.data[node].parent) {
		const struct profile_frame *frame =
			&profile->frames.data[profile->nodes.data[node].frame];
		if (enters_interrupt(profile->functions.data[frame->function].system_name))
			return true;
	}
	return false;
}

bool *wakers_find_interrupts(const struct profile *profile)
{
	bool *ret = mem_zalloc_array(profile->wakers.len + 1, sizeof(*ret));
	for (size_t i = PROFILE_WAKER_INTERRUPT; i < profile->wakers.len; i++)
		ret[i] = i == PROFILE_WAKER_INTERRUPT ||
			 has_interrupt(profile, profile->wakers.data[i].kernel);
	return ret;
}

const char *waker_name(const struct profile *profile, uint32_t waker, bool is_interrupt)
{
	if (!profile->wakers.len)
		return NULL;
	if (waker == PROFILE_WAKER_UNKNOWN)
		return "unknown";
	return is_interrupt ? "interrupt"
			    : profile->threads.data[profile->wakers.data[waker].thread].comm;
}

struct waking {
	struct profile *profile;
	bool *interrupts;
	struct strtab names;
	struct map frames; /* name -> frame "[woken by: NAME]" */
	struct map nodes;  /* of profile_add_node() */
	struct map stacks; /* stack -> the one with its waker */
};

static uint32_t frame_of_waker(struct waking *waking, const char *name)
{
	struct profile *profile = waking->profile;
	uint32_t id = strtab_intern(&waking->names, name, strlen(name));
	bool added;
	uint64_t *known = map_put(&waking->frames, id, &added);
	if (!added)
		return (uint32_t)*known;
	CLEANUP(str_deinit) struct str text = {0};
	str_printf(&text, "[woken by: %s]", name);
	const char *kept = arena_strndup(&profile->arena, text.data, text.len);
	struct profile_function function = {
		.name = kept,
		.system_name = kept,
		.object = profile->wait_object,
		.is_known = true,
		.start = (1U << 16) + id, /* behind those of reasons */
	};
	struct profile_frame frame = {
		.object = function.object,
		.function = (uint32_t)profile->functions.len,
		.offset = function.start,
	};
	vec_push(&profile->functions, function);
	*known = profile->frames.len;
	vec_push(&profile->frames, frame);
	return (uint32_t)*known;
}

/*
 * From the leaf outwards, each as if the one before had called it; without what an interrupt has
 * interrupted, and without the tracepoint's own function.
 */
static uint32_t append_stack(struct waking *waking, uint32_t to, uint32_t node, bool is_interrupt)
{
	const struct profile *profile = waking->profile;
	bool is_entered = false;
	for (; node; node = profile->nodes.data[node].parent) {
		uint32_t frame = profile->nodes.data[node].frame;
		const char *name =
			profile->functions.data[profile->frames.data[frame].function].system_name;
		bool is_entry = is_interrupt && enters_interrupt(name);
		if (is_entered && !is_entry)
			break;
		is_entered = is_entry;
		if (strcmp(name, "__traceiter_sched_waking") != 0)
			to = profile_add_node(waking->profile, &waking->nodes, to, frame);
	}
	return to;
}

static uint32_t stack_with_waker(struct waking *waking, uint32_t stack)
{
	struct profile *profile = waking->profile;
	bool added;
	uint64_t *known = map_put(&waking->stacks, stack, &added);
	if (!added)
		return (uint32_t)*known;
	struct profile_stack copy = profile->stacks.data[stack];
	struct profile_waker waker = profile->wakers.data[copy.waker];
	bool is_interrupt = waking->interrupts[copy.waker];
	uint32_t leaf = frame_of_waker(waking, waker_name(profile, copy.waker, is_interrupt));
	copy.kernel = profile_add_node(profile, &waking->nodes, copy.kernel, leaf);
	copy.kernel = append_stack(waking, copy.kernel, waker.kernel, is_interrupt);
	if (!is_interrupt) /* else it is only what was interrupted */
		copy.kernel = append_stack(waking, copy.kernel, waker.user, false);
	*known = profile->stacks.len;
	vec_push(&profile->stacks, copy);
	return (uint32_t)*known;
}

bool wakers_add(struct profile *profile)
{
	if (!profile->wakers.len)
		return false;
	struct waking waking = {.profile = profile, .interrupts = wakers_find_interrupts(profile)};
	vec_each(&profile->samples, sample)
		if (profile->events.data[sample->event].wait == PROFILE_WAIT_BLOCKED)
			sample->stack = stack_with_waker(&waking, sample->stack);
	mem_free(waking.interrupts);
	strtab_deinit(&waking.names);
	map_deinit(&waking.frames);
	map_deinit(&waking.nodes);
	map_deinit(&waking.stacks);
	return true;
}

struct wakers_known wakers_count_known(const struct profile *profile)
{
	struct wakers_known known = {0};
	vec_each(&profile->samples, sample) {
		if (profile->events.data[sample->event].wait != PROFILE_WAIT_BLOCKED)
			continue;
		known.waits++;
		known.unknown += profile->stacks.data[sample->stack].waker == PROFILE_WAKER_UNKNOWN;
	}
	return known;
}
