#include "report/tui/trail.h"

#include "format/base/mem.h"

static struct trail_step copy_step(const struct trail_step *step)
{
	struct trail_step copy = *step;
	if (copy.term.text)
		copy.term.text = mem_strdup(copy.term.text);
	copy.zoom = (struct path){0};
	vec_append(&copy.zoom, step->zoom.data, step->zoom.len);
	return copy;
}

static void step_deinit(struct trail_step *step)
{
	mem_free(step->term.text);
	vec_deinit(&step->zoom);
}

static void forget_undone(struct trail *trail)
{
	vec_each(&trail->undone, step)
		step_deinit(step);
	trail->undone.len = 0;
}

void trail_add(struct trail *trail, const struct trail_step *step)
{
	forget_undone(trail);
	vec_push(&trail->done, copy_step(step));
}

bool trail_undo(struct trail *trail)
{
	if (!trail->done.len)
		return false;
	vec_push(&trail->undone, trail->done.data[--trail->done.len]);
	return true;
}

bool trail_redo(struct trail *trail)
{
	if (!trail->undone.len)
		return false;
	vec_push(&trail->done, trail->undone.data[--trail->undone.len]);
	return true;
}

bool trail_reset(struct trail *trail)
{
	bool is_changed = trail->done.len;
	while (trail_undo(trail))
		;
	return is_changed;
}

void trail_scope(const struct trail *trail, struct scope *ret)
{
	*ret = (struct scope){0};
	vec_each(&trail->done, step)
		if (!step->is_zoom)
			scope_add(ret, &step->term);
}

static const struct path *find_zoom(const struct trail *trail, bool is_inverted, bool is_of_both)
{
	for (size_t i = trail->done.len; i-- > 0;) {
		const struct trail_step *step = &trail->done.data[i];
		if (step->is_zoom && step->is_inverted == is_inverted &&
			step->is_of_both == is_of_both)
			return &step->zoom;
	}
	return NULL;
}

const struct path *trail_zoom(const struct trail *trail, bool is_inverted)
{
	return find_zoom(trail, is_inverted, false);
}

const struct path *trail_zoom_of_both(const struct trail *trail, bool is_inverted)
{
	return find_zoom(trail, is_inverted, true);
}

static bool is_zoom_of_one(const struct trail_step *step)
{
	return step->is_zoom && !step->is_of_both;
}

static bool is_zoom_of_both(const struct trail_step *step)
{
	return step->is_zoom && step->is_of_both;
}

bool trail_step_is_wait(const struct trail_step *step)
{
	return !step->is_zoom && step->term.kind == SCOPE_THREAD_STACK;
}

static size_t drop_steps(
	struct trail_step *steps, size_t count, bool (*is_dropped)(const struct trail_step *))
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (is_dropped(&steps[i]))
			step_deinit(&steps[i]);
		else
			steps[kept++] = steps[i];
	return kept;
}

/* Done and undone ones; false: there were none that were done. */
static bool forget_steps(struct trail *trail, bool (*is_dropped)(const struct trail_step *))
{
	size_t before = trail->done.len;
	trail->done.len = drop_steps(trail->done.data, trail->done.len, is_dropped);
	trail->undone.len = drop_steps(trail->undone.data, trail->undone.len, is_dropped);
	return trail->done.len < before;
}

bool trail_forget_zooms(struct trail *trail)
{
	return forget_steps(trail, is_zoom_of_one);
}

void trail_forget_both(struct trail *trail)
{
	forget_steps(trail, is_zoom_of_both);
}

bool trail_forget_waits(struct trail *trail)
{
	return forget_steps(trail, trail_step_is_wait);
}

void trail_deinit(struct trail *trail)
{
	forget_undone(trail);
	vec_each(&trail->done, step)
		step_deinit(step);
	vec_deinit(&trail->done);
	vec_deinit(&trail->undone);
}
