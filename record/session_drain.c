#include "record/session_drain.h"

#include "format/base/clock.h"

enum {
	DRAIN_INTERVAL_NS = 100 * 1000 * 1000,
	READING_INTERVAL_NS = 5 * 1000 * 1000, /* while code of scripts is read */
	READING_CODE_NS = 10 * 1000 * 1000,    /* of a turn, for code without rules */
	WAIT_NS = 500 * 1000 * 1000,           /* of samples for unwind tables and code */
	LAST_WAIT_NS = 600 * 1000 * 1000,      /* the same, when all is over, */
	FILE_WAIT_NS = 100 * 1000 * 1000,      /* ... and where a file is */
	NAMES_WAIT_NS = 200 * 1000 * 1000,     /* for names of threads */
	DRAINS_MAX = 8,
};

static void run_translate(struct session_drain *drain, uint64_t until_ns, uint64_t give_up_ns)
{
	if (translate_run(drain->translate, until_ns, give_up_ns))
		sampler_forget_stacks(drain->sampler);
}

/* False: there is more in the ring. */
static bool drain_parts(struct session_drain *drain, uint64_t now_ns, uint64_t give_up_ns)
{
	struct translate *translate = drain->translate;
	translate->collected_ns = now_ns;
	bool is_all = sampler_drain(drain->sampler, translate_collect, translate);
	sideband_drain(drain->sideband, &translate->sideband);
	if (translate->resolver.rules)
		rule_source_collect(translate->resolver.rules);
	run_translate(drain, is_all ? now_ns : 0, give_up_ns);
	jit_table_watch(&translate->jit, now_ns);
	if (script_table_is_full(&translate->scripts) &&
		!script_table_is_reading(&translate->scripts)) {
		script_table_forget_numbers(&translate->scripts);
		compiled_frames_forget(&translate->compiled);
		sampler_forget_codes(drain->sampler);
	}
	return is_all;
}

/* Code is read while it stands there, and what waits for it keeps others waiting. */
static void drain_while_reading(struct session_drain *drain, uint64_t give_up_ns)
{
	for (uint64_t until_ns = drain->drained_ns + READING_CODE_NS;
		translate_is_reading_code(drain->translate) && clock_now_ns() < until_ns;) {
		translate_wait(drain->translate);
		run_translate(drain, 0, give_up_ns);
	}
}

void session_drain_take(struct session_drain *drain)
{
	drain->drained_ns = clock_now_ns();
	uint64_t give_up_ns = drain->is_at_end ? 0 : drain->drained_ns - WAIT_NS;
	if (drain->drained_ns < drain->stalled_until_ns)
		return;
	bool is_all = drain_parts(drain, drain->drained_ns, give_up_ns);
	drain_while_reading(drain, give_up_ns);
	drain->has_more = !is_all || drain->translate->is_late;
}

void session_drain_finish_ring(struct session_drain *drain)
{
	while (sampler_finish_some(drain->sampler))
		session_drain_take(drain);
}

static void drain_waiting(struct session_drain *drain, uint64_t wait_ns)
{
	uint64_t until_ns = clock_now_ns() + wait_ns;
	/* Nothing is taken twice; where records come as fast as they are taken, some are left. */
	for (int i = 0; i < DRAINS_MAX && (!i || drain->has_more); i++)
		session_drain_take(drain);
	while (translate_is_waiting(drain->translate) && clock_now_ns() < until_ns) {
		translate_wait(drain->translate);
		session_drain_take(drain);
	}
}

/* Those that sleep all the time have come with the last samples. */
static void drain_names(struct session_drain *drain)
{
	uint64_t until_ns = clock_now_ns() + NAMES_WAIT_NS;
	while (translate_awaits_names(drain->translate, until_ns) && clock_now_ns() < until_ns) {
		run_translate(drain, 0, UINT64_MAX);
		if (translate_awaits_names(drain->translate, until_ns))
			translate_wait(drain->translate);
	}
	run_translate(drain, 0, UINT64_MAX);
}

void session_drain_end_file(struct session_drain *drain)
{
	drain_waiting(drain, FILE_WAIT_NS);
}

void session_drain_end(struct session_drain *drain)
{
	drain->is_at_end = true;
	drain_waiting(drain, LAST_WAIT_NS);
	drain_parts(drain, clock_now_ns(), UINT64_MAX);
	drain_names(drain);
}

uint64_t session_drain_due_ns(const struct session_drain *drain)
{
	const struct translate *translate = drain->translate;
	const struct rule_source *rules = translate->resolver.rules;
	bool is_reading = script_table_is_reading(&translate->scripts) ||
			  registered_code_is_reading(&translate->registered) ||
			  translate_is_reading_code(translate) ||
			  (rules && live_rows_are_reading(&rules->rows));
	return drain->drained_ns + (is_reading ? READING_INTERVAL_NS : DRAIN_INTERVAL_NS);
}
