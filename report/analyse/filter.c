#include "report/analyse/filter.h"

#include <string.h>

#include "report/analyse/hidden_frames.h"
#include "report/analyse/scope.h"
#include "report/model/main_event.h"
#include "report/model/pattern.h"

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

/* The same; those between slashes are expressions, of the other kind. */
static void add_names(struct scope *scope, enum scope_kind name, enum scope_kind expression,
	enum scope_joint joint, const struct filter_strings *texts)
{
	for (size_t i = 0; i < texts->len; i++) {
		CLEANUP_FREE char *between = pattern_between_slashes(texts->data[i]);
		struct scope_term term = {
			.kind = between ? expression : name,
			.joint = i ? SCOPE_OR : joint,
			.text = between ? between : (char *)texts->data[i],
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

static size_t key_length(const char *text)
{
	return strcspn(text, "=");
}

static bool is_key_before(const struct filter_strings *labels, size_t index)
{
	size_t len = key_length(labels->data[index]);
	for (size_t i = 0; i < index; i++)
		if (key_length(labels->data[i]) == len &&
			memcmp(labels->data[i], labels->data[index], len) == 0)
			return true;
	return false;
}

/* Of those with one key any is to be met. */
static void add_labels(struct scope *scope, const struct filter_strings *labels)
{
	for (size_t first = 0; first < labels->len; first++) {
		const char *text = labels->data[first];
		size_t len = key_length(text);
		if (is_key_before(labels, first))
			continue;
		for (size_t i = first; i < labels->len; i++) {
			struct scope_term term = {
				.kind = SCOPE_LABEL,
				.joint = i == first ? SCOPE_AND : SCOPE_OR,
				.text = (char *)labels->data[i],
			};
			if (key_length(term.text) == len && memcmp(term.text, text, len) == 0)
				scope_add(scope, &term);
		}
	}
}

/* All but those on functions. */
static void add_sample_terms(struct scope *scope, const struct filter *filter)
{
	add_names(scope, SCOPE_COMM, SCOPE_COMM_PATTERN, SCOPE_AND, &filter->comms);
	add_texts(scope, SCOPE_WITHIN, SCOPE_AND, &filter->containers);
	add_numbers(scope, SCOPE_PID, &filter->pids);
	add_numbers(scope, SCOPE_TID, &filter->tids);
	add_texts(scope, SCOPE_EVENT, SCOPE_AND, &filter->events);
	add_numbers(scope, SCOPE_CPU, &filter->cpus);
	add_texts(scope, SCOPE_LANGUAGE, SCOPE_AND, &filter->languages);
	add_labels(scope, &filter->labels);
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
	add_names(scope, SCOPE_FILE, SCOPE_FILE_PATTERN, SCOPE_AND, &filter->dsos);
	add_names(scope, SCOPE_SYMBOL, SCOPE_PATTERN, filter->dsos.len ? SCOPE_OF_SAME : SCOPE_AND,
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

bool filter_wants_all_of_event(const struct filter *filter)
{
	bool has_names = filter->comms.len || filter->containers.len || filter->languages.len ||
			 filter->labels.len || filter->dsos.len || filter->symbols.len;
	bool has_numbers = filter->pids.len || filter->tids.len || filter->cpus.len;
	return !has_names && !has_numbers && !filter->from_ns && !filter->to_ns &&
	       !filter->without_newest;
}

struct filter filter_of_names(const struct filter *filter)
{
	return (struct filter){
		.comms = filter->comms,
		.events = filter->events,
		.containers = filter->containers,
		.languages = filter->languages,
		.labels = filter->labels,
		.hidden = filter->hidden,
		.dsos = filter->dsos,
		.symbols = filter->symbols,
	};
}

static bool is_of_peak(const struct profile *profile, uint32_t event)
{
	uint32_t bytes = profile->heap_peak_event;
	return bytes && (event == bytes || event == bytes + 1);
}

static void drop_newest(struct profile *profile)
{
	uint64_t span_ns = profile->last_ns - profile->first_ns;
	uint64_t unseen_ns = profile->counters[LAYOUT_COUNTER_HEAP_UNSEEN_MS] * 1000000;
	span_ns -= unseen_ns < span_ns ? unseen_ns : span_ns; /* at its end */
	uint64_t limit_ns = profile->first_ns + span_ns - span_ns / 10;
	size_t kept = 0;
	vec_each(&profile->samples, sample)
		if (sample->time_ns < limit_ns || is_of_peak(profile, sample->event) ||
			(!unseen_ns && profile_has_ended(profile, sample->thread)))
			profile->samples.data[kept++] = *sample;
	profile->samples.len = kept;
}

static void put_words_of(const char *what, const struct filter_strings *words, struct str *out)
{
	for (size_t i = 0; i < words->len; i++) {
		if (i == 0)
			str_printf(out, "%s%s ", out->len ? ", " : "", what);
		else
			str_puts(out, " or ");
		str_puts_escaped(out, words->data[i]);
	}
}

static void put_numbers_of(const char *what, const struct filter_numbers *numbers, struct str *out)
{
	for (size_t i = 0; i < numbers->len; i++) {
		if (i == 0)
			str_printf(out, "%s%s ", out->len ? ", " : "", what);
		str_printf(out, "%s%u", i ? " or " : "", numbers->data[i]);
	}
}

/* Numbers and shares are of what is left: views and exports say of what. */
static void note_what_is_left(struct profile *profile, const struct filter *filter)
{
	CLEANUP(str_deinit) struct str text = {0};
	profile->only_some_events = filter->events.len > 0;
	put_words_of("thread", &filter->comms, &text);
	put_words_of("container", &filter->containers, &text);
	put_words_of("scripts in", &filter->languages, &text);
	put_words_of("label", &filter->labels, &text);
	put_numbers_of("process", &filter->pids, &text);
	put_numbers_of("thread", &filter->tids, &text);
	put_numbers_of("CPU", &filter->cpus, &text);
	const char *separator = text.len ? ", " : "";
	if (filter->to_ns)
		str_printf(&text, "%s%.3f to %.3f s", separator, (double)filter->from_ns / 1e9,
			(double)filter->to_ns / 1e9);
	else if (filter->from_ns)
		str_printf(&text, "%sfrom %.3f s", separator, (double)filter->from_ns / 1e9);
	if (!text.len)
		return;
	profile->only = arena_strndup(&profile->arena, text.data, text.len);
	profile->only_from_ns = profile->first_ns + filter->from_ns;
	profile->only_to_ns = filter->to_ns ? profile->first_ns + filter->to_ns : 0;
}

void filter_samples(struct profile *profile, const struct filter *filter)
{
	if (!filter->events.len && !filter_wants_all_of_event(filter))
		main_event_fix(profile);
	if (filter->without_newest)
		drop_newest(profile);
	CLEANUP(scope_deinit) struct scope scope = {0};
	add_sample_terms(&scope, filter);
	note_what_is_left(profile, filter);
	scope_drop(&scope, profile);
	if (filter->hidden)
		hidden_frames_leave_out(profile, filter->hidden);
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
