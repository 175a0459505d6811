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

const struct path *trail_zoom(const struct trail *trail, bool is_inverted)
{
	for (size_t i = trail->done.len; i-- > 0;)
		if (trail->done.data[i].is_zoom && trail->done.data[i].is_inverted == is_inverted)
			return &trail->done.data[i].zoom;
	return NULL;
}

void trail_deinit(struct trail *trail)
{
	forget_undone(trail);
	vec_each(&trail->done, step)
		step_deinit(step);
	vec_deinit(&trail->done);
	vec_deinit(&trail->undone);
}
