#include "report/analyse/filter.h"

#include "report/analyse/native_frames.h"
#include "report/analyse/scope.h"

/* ---- terms ---- */

/* Any of them is to be met. */
static void add_texts(struct scope *scope, enum scope_kind kind, enum scope_joint joint,
	const struct filter_strings *texts)
{
	for (size_t i = 0; i < texts->len; i++) {
		struct scope_term term = {
			.kind = kind,
			.joint = i ? SCOPE_OR : joint,
			.text = (char *)texts->data[i],
		};
		scope_add(scope, &term);
	}
}

static void add_numbers(
	struct scope *scope, enum scope_kind kind, const struct filter_numbers *numbers)
{
	for (size_t i = 0; i < numbers->len; i++) {
		struct scope_term term = {
			.kind = kind,
			.joint = i ? SCOPE_OR : SCOPE_AND,
			.number = numbers->data[i],
		};
		scope_add(scope, &term);
	}
}

/* All but those on functions. */
static void add_sample_terms(struct scope *scope, const struct filter *filter)
{
	add_texts(scope, SCOPE_COMM, SCOPE_AND, &filter->comms);
	add_texts(scope, SCOPE_WITHIN, SCOPE_AND, &filter->containers);
	add_numbers(scope, SCOPE_PID, &filter->pids);
	add_numbers(scope, SCOPE_TID, &filter->tids);
	add_texts(scope, SCOPE_EVENT, SCOPE_AND, &filter->events);
	add_numbers(scope, SCOPE_CPU, &filter->cpus);
	add_texts(scope, SCOPE_LANGUAGE, SCOPE_AND, &filter->languages);
	struct scope_term span = {
		.kind = SCOPE_TIME,
		.from_ns = filter->from_ns,
		.to_ns = filter->to_ns ? filter->to_ns : UINT64_MAX,
	};
	if (filter->from_ns || filter->to_ns)
		scope_add(scope, &span);
}

/* One function is to meet both. */
static void add_function_terms(struct scope *scope, const struct filter *filter)
{
	add_texts(scope, SCOPE_FILE, SCOPE_AND, &filter->dsos);
	add_texts(scope, SCOPE_SYMBOL, filter->dsos.len ? SCOPE_OF_SAME : SCOPE_AND,
		&filter->symbols);
}

/* ---- */

bool filter_wants_second_samples(const struct filter *filter)
{
	for (size_t i = 0; i < filter->events.len; i++)
		if (scope_is_event(LAYOUT_EVENT_SECOND, filter->events.data[i]))
			return true;
	return false;
}

struct filter filter_of_names(const struct filter *filter)
{
	return (struct filter){
		.comms = filter->comms,
		.events = filter->events,
		.containers = filter->containers,
		.languages = filter->languages,
		.no_native = filter->no_native,
		.dsos = filter->dsos,
		.symbols = filter->symbols,
	};
}

void filter_samples(struct profile *profile, const struct filter *filter)
{
	CLEANUP(scope_deinit) struct scope scope = {0};
	add_sample_terms(&scope, filter);
	scope_drop(&scope, profile);
	if (filter->no_native)
		native_frames_leave_out(profile);
}

void filter_stacks(struct profile *profile, const struct filter *filter)
{
	CLEANUP(scope_deinit) struct scope scope = {0};
	add_function_terms(&scope, filter);
	scope_drop(&scope, profile);
}

uint64_t filter_count_stacks(const struct profile *profile, const struct filter *filter)
{
	CLEANUP(scope_deinit) struct scope scope = {0};
	add_function_terms(&scope, filter);
	return scope_count(&scope, profile);
}

bool *filter_functions(const struct profile *profile, const struct filter *filter)
{
	CLEANUP(scope_deinit) struct scope scope = {0};
	add_function_terms(&scope, filter);
	return scope_functions(&scope, profile);
}
