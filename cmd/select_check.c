#include "cmd/select_check.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/console.h"
#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/base/nearest.h"
#include "format/base/path.h"
#include "format/base/str.h"
#include "report/analyse/scope.h"
#include "report/model/label_sets.h"
#include "report/model/main_event.h"
#include "report/model/pattern.h"

/* What a word can choose among: whether one of them is meant, and what each is called. */
struct choice {
	const char *what;
	size_t count;
	bool (*is_meant)(const struct profile *profile, size_t index, const char *word);
	void (*put_name)(const struct profile *profile, size_t index, struct str *out);
};

static bool is_event(const struct profile *profile, size_t index, const char *word)
{
	return index && scope_is_event(profile->events.data[index].name, word);
}

/* Not lifetimes of allocations, of which there is nothing to be seen. */
static void select_put_event(const struct profile *profile, size_t index, struct str *out)
{
	const char *source = profile->events.data[index].source;
	bool is_shown = index && (!source || strcmp(source, "heap-lifetime") != 0);
	str_puts(out, is_shown ? profile->events.data[index].name : "");
}

static bool is_comm(const struct profile *profile, size_t index, const char *word)
{
	return index && scope_is_called(&profile->threads.data[index], word);
}

static void put_comm(const struct profile *profile, size_t index, struct str *out)
{
	str_puts(out, index ? profile->threads.data[index].comm : "");
}

static bool is_chosen_file(const struct profile *profile, size_t index, const char *word)
{
	const struct profile_object *object = &profile->objects.data[index];
	return index && (strcmp(object->name, word) == 0 || path_ends_with(object->path, word));
}

static void put_chosen_file(const struct profile *profile, size_t index, struct str *out)
{
	const struct profile_object *object = &profile->objects.data[index];
	str_puts(out, object->is_used ? object->name : "");
}

static bool is_written_as(uint32_t number, const char *word)
{
	return strtoul(word, NULL, 10) == number;
}

static bool is_pid(const struct profile *profile, size_t index, const char *word)
{
	return index && is_written_as(profile->processes.data[index].info.pid, word);
}

static void put_pid(const struct profile *profile, size_t index, struct str *out)
{
	if (index)
		str_printf(out, "%u", profile->processes.data[index].info.pid);
}

static bool is_tid(const struct profile *profile, size_t index, const char *word)
{
	return index && is_written_as(profile->threads.data[index].tid, word);
}

static void put_tid(const struct profile *profile, size_t index, struct str *out)
{
	if (index)
		str_printf(out, "%u", profile->threads.data[index].tid);
}

/* Whether it has a sample. */
static bool is_cpu(const struct profile *profile, size_t index, const char *word)
{
	if (!is_written_as((uint32_t)index, word))
		return false;
	vec_each(&profile->samples, sample)
		if (sample->cpu == index)
			return true;
	return false;
}

static void put_cpu(const struct profile *profile, size_t index, struct str *out)
{
	CLEANUP(str_deinit) struct str number = {0};
	str_printf(&number, "%zu", index);
	if (is_cpu(profile, index, str_text(&number)))
		str_puts(out, str_text(&number));
}

static size_t count_cpus(const struct profile *profile)
{
	size_t count = 0;
	vec_each(&profile->samples, sample)
		if (sample->cpu >= count)
			count = sample->cpu + 1U;
	return count;
}

static bool is_language(const struct profile *profile, size_t index, const char *word)
{
	return scope_is_language(&profile->objects.data[index], word);
}

static void put_language(const struct profile *profile, size_t index, struct str *out)
{
	const struct profile_object *object = &profile->objects.data[index];
	size_t len = strlen(object->path);
	if (object->info.kind == LAYOUT_OBJECT_SCRIPT && len > 2)
		str_write(out, object->path + 1, len - 2); /* [python] */
}

static bool is_container(const struct profile *profile, size_t index, const char *word)
{
	return scope_is_within(&profile->processes.data[index], word);
}

static void select_put_container(const struct profile *profile, size_t index, struct str *out)
{
	enum {
		SHORT_ID = 12 /* as others show it */
	};
	const struct profile_process *process = &profile->processes.data[index];
	if (process->container_name[0])
		str_puts(out, process->container_name);
	else
		str_write(out, process->container, strnlen(process->container, SHORT_ID));
}

static void put_cgroup(const struct profile *profile, size_t index, struct str *out)
{
	str_puts(out, profile->processes.data[index].cgroup);
}

static bool is_label(const struct profile *profile, size_t index, const char *word)
{
	const struct profile_label *label = &profile->labels.data[index];
	size_t len = strlen(label->key);
	/* What a place is called is not known yet. */
	bool is_place = label->kind == LAYOUT_LABEL_PLACE && label->key[0] &&
			strncmp(word, label->key, len) == 0 && word[len] == '=';
	return is_place || scope_is_labelled(profile, (uint32_t)index, word);
}

/* The key alone: values may be as many as there are requests. */
static void select_put_label_key(const struct profile *profile, size_t index, struct str *out)
{
	str_puts(out, profile->labels.data[index].key);
}

/* Each once, and of many the first ones. */
static void select_put_names(
	const struct profile *profile, const struct choice *choice, struct str *out)
{
	enum {
		NAMES_MAX = 20
	};
	struct strtab names = {0};
	for (size_t i = 0; i < choice->count; i++) {
		CLEANUP(str_deinit) struct str name = {0};
		choice->put_name(profile, i, &name);
		if (name.len)
			strtab_intern(&names, name.data, name.len);
	}
	size_t count = names.entries.len;
	for (size_t i = 0; i < count && i < NAMES_MAX; i++)
		str_printf(out, "%s%s", i ? ", " : "", names.entries.data[i].bytes);
	if (count > NAMES_MAX)
		str_printf(out, " and %zu more", count - NAMES_MAX);
	strtab_deinit(&names);
}

/* "KEY=VALUE" of a key that there is: some of its values; any other word: the keys. */
static struct err *explain_label(
	const struct profile *profile, const struct choice *labels, const char *word)
{
	enum {
		VALUES_MAX = 5
	};
	struct strtab values = {0};
	CLEANUP(str_deinit) struct str names = {0};
	CLEANUP_FREE char *key = mem_strndup(word, strcspn(word, "="));
	for (uint32_t i = 1; i < profile->labels.len; i++) {
		CLEANUP(str_deinit) struct str value = {0};
		if (strcmp(profile->labels.data[i].key, key) != 0)
			continue;
		label_put_value(profile, i, &value);
		strtab_intern(&values, str_text(&value), value.len);
	}
	size_t count = values.entries.len;
	for (uint32_t i = 0; i < count && i < VALUES_MAX; i++)
		str_printf(&names, "%s%s", i ? ", " : "", strtab_get(&values, i));
	if (count > VALUES_MAX)
		str_printf(&names, " and %zu more", count - VALUES_MAX);
	strtab_deinit(&values);
	if (count)
		return err_new(ERR_USAGE, "the recording has no label \"%s\"; of %s it has %s",
			word, key, str_text(&names));
	select_put_names(profile, labels, &names);
	if (!names.len)
		return err_new(ERR_USAGE, "the recording has no label \"%s\", nor any other", word);
	return err_new(ERR_USAGE, "the recording has no label \"%s\"; its labels are %s", word,
		str_text(&names));
}

static bool is_any_matched(
	const struct profile *profile, const struct choice *choice, const char *expression)
{
	struct pattern pattern;
	bool is_matched = false;
	if (!pattern_init(&pattern, expression))
		return false;
	for (size_t i = 0; i < choice->count && !is_matched; i++) {
		CLEANUP(str_deinit) struct str name = {0};
		choice->put_name(profile, i, &name);
		is_matched = name.len &&
			     (pattern_matches(&pattern, str_text(&name)) ||
				     pattern_matches(&pattern, path_last_part(str_text(&name))));
	}
	pattern_deinit(&pattern);
	return is_matched;
}

static const char *hint_at_expressions(const char *word)
{
	bool is_signature = strchr(word, '(') || strstr(word, "operator");
	return strpbrk(word, "*?") && !is_signature ? " ('/EXPRESSION/' matches names, not *)" : "";
}

/* Expressions are those of select_parse_names() only. */
static struct err *check_word(const struct profile *profile, const struct choice *choice,
	const char *word, bool may_be_expression)
{
	CLEANUP_FREE char *expression = may_be_expression ? pattern_between_slashes(word) : NULL;
	if (expression && is_any_matched(profile, choice, expression))
		return NULL;
	for (size_t i = 0; !expression && i < choice->count; i++)
		if (choice->is_meant(profile, i, word))
			return NULL;
	if (choice->is_meant == is_label)
		return explain_label(profile, choice, word);
	CLEANUP(str_deinit) struct str names = {0};
	select_put_names(profile, choice, &names);
	if (!names.len)
		return err_new(ERR_USAGE, "the recording has no %s \"%s\", nor any other",
			choice->what, word);
	return err_new(ERR_USAGE, "the recording has no %s \"%s\" but %s%s", choice->what, word,
		str_text(&names), may_be_expression ? hint_at_expressions(word) : "");
}

/* Of several words one suffices; what the others are is said. */
static struct err *check_any(const struct profile *profile, const struct choice *choice,
	const struct opt_string_list *words, bool may_be_expressions)
{
	struct err *missing = NULL;
	size_t nr_found = 0;
	CLEANUP(str_deinit) struct str notes = {0};
	vec_each(words, word) {
		struct err *err = check_word(profile, choice, *word, may_be_expressions);
		nr_found += !err;
		if (!err)
			continue;
		str_printf(&notes, "%s%s \"%s\"", notes.len ? ", " : "", choice->what, *word);
		if (missing)
			err_destroy(err);
		else
			missing = err;
	}
	if (!missing || !nr_found)
		return missing;
	err_destroy(missing);
	console_note("the recording has no %s", str_text(&notes));
	return NULL;
}

static struct err *check_any_number(const struct profile *profile, const struct choice *choice,
	const struct opt_u32_list *numbers)
{
	struct opt_string_list words = {0};
	vec_each(numbers, number) {
		struct str word = {0};
		str_printf(&word, "%u", *number);
		vec_push(&words, str_steal(&word));
	}
	struct err *err = check_any(profile, choice, &words, false);
	vec_each(&words, word)
		mem_free((void *)*word);
	vec_deinit(&words);
	return err;
}

static struct err *select_check_time(
	const struct select_options *options, const struct profile *profile)
{
	double from_s = (double)options->time.from_ns / NS_PER_S;
	double duration_s = profile_duration_s(profile);
	if (duration_s <= 0 || from_s <= duration_s)
		return NULL;
	return err_new(ERR_USAGE, "the recording has %.3f s, and nothing from %.3f s on",
		duration_s, from_s);
}

/* What one of several recordings may lack by chance. */
static struct err *select_check_names(
	const struct select_options *options, const struct profile *profile)
{
	const struct choice comms = {"thread called", profile->threads.len, is_comm, put_comm};
	const struct choice files = {"file", profile->objects.len, is_chosen_file, put_chosen_file};
	const struct choice pids = {"process", profile->processes.len, is_pid, put_pid};
	const struct choice tids = {"thread", profile->threads.len, is_tid, put_tid};
	const struct choice cpus = {
		"samples of CPU", options->cpus.len ? count_cpus(profile) : 0, is_cpu, put_cpu};
	try(check_any(profile, &comms, &options->comms, true));
	try(check_any(profile, &files, &options->files, true));
	try(check_any_number(profile, &pids, &options->pids));
	try(check_any_number(profile, &tids, &options->tids));
	try(check_any_number(profile, &cpus, &options->cpus));
	return select_check_time(options, profile);
}

static struct err *select_check_event(const struct profile *profile, const char *word)
{
	const struct choice events = {"event", profile->events.len, is_event, select_put_event};
	try(check_word(profile, &events, word, false));
	for (uint32_t i = 1; i < profile->events.len; i++)
		if (is_event(profile, i, word) && !main_event_is_counted_only(profile, i))
			return NULL;
	return err_new(ERR_USAGE,
		"the recording has no samples of %s: waits for a CPU were only counted (ebprof "
		"info), record -e runq and -e wall sample them",
		word);
}

struct err *select_find_event(const struct profile *profile, const char *word, uint32_t *ret)
{
	*ret = main_event_of(profile);
	if (!word)
		return NULL;
	try(select_check_event(profile, word));
	for (uint32_t i = 1; i < profile->events.len; i++)
		if (is_event(profile, i, word)) {
			*ret = i;
			break;
		}
	return NULL;
}

static struct err *check_words_of_any(
	const struct select_options *options, const struct profile *profile)
{
	const struct choice languages = {
		"scripts in", profile->objects.len, is_language, put_language};
	const struct choice containers = {
		"container", profile->processes.len, is_container, select_put_container};
	const struct choice cgroups = {"cgroup", profile->processes.len, is_container, put_cgroup};
	vec_each(&options->events, word)
		try(select_check_event(profile, *word));
	const struct choice labels = {"label", profile->labels.len, is_label, select_put_label_key};
	vec_each(&options->languages, word)
		try(check_word(profile, &languages, *word, false));
	vec_each(&options->labels, word)
		try(check_word(profile, &labels, *word, false));
	vec_each(&options->containers, word)
		try(check_word(profile, (*word)[0] == '/' ? &cgroups : &containers, *word, false));
	return NULL;
}

struct err *select_check(
	const struct select_options *options, const struct profile *profile, bool is_one_of_several)
{
	try(check_words_of_any(options, profile));
	return is_one_of_several ? NULL : select_check_names(options, profile);
}

static struct err *no_such_function(const struct profile *profile, const char *word)
{
	CLEANUP_FREE char *expression = pattern_between_slashes(word);
	struct nearest nearest = nearest_to(word);
	const char *part = NULL;
	if (expression)
		return err_new(ERR_USAGE, "the recording has no function that matches %s", word);
	vec_each(&profile->functions, function) {
		nearest_offer(&nearest, function->name);
		if (strcasestr(function->name, word) &&
			(!part || strlen(function->name) < strlen(part)))
			part = function->name;
	}
	if (nearest.word || !part)
		return err_new(ERR_USAGE, "the recording has no function \"%s\"%s%s%s%s", word,
			nearest.word ? ": did you mean " : "", nearest.word ? nearest.word : "",
			nearest.word ? "?" : "", hint_at_expressions(word));
	return err_new(ERR_USAGE,
		"the recording has no function \"%s\", but %s: -S '/EXPRESSION/' matches a part of "
		"names",
		word, part);
}

struct err *select_check_functions(const struct select_options *options, const struct input *input,
	const struct profile *profile)
{
	struct filter filter = {.symbols = {options->symbols.data, options->symbols.len}};
	if (!options->symbols.len)
		return NULL;
	CLEANUP_FREE bool *is_wanted = filter_functions(profile, &filter);
	if (memchr(is_wanted, 1, profile->functions.len))
		return NULL;
	return err_wrap(no_such_function(profile, options->symbols.data[0]), "%s", input->name);
}
