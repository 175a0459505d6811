#include "cmd/select.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/hex.h"
#include "format/base/nearest.h"
#include "format/base/str.h"
#include "report/analyse/hidden_frames.h"
#include "report/analyse/scope.h"
#include "report/analyse/wait_reasons.h"
#include "report/load/load.h"
#include "report/model/label_sets.h"
#include "report/model/main_event.h"
#include "report/model/pattern.h"

/* A comma inside of <>, () or // belongs to a C++ name or an expression, not to the list. */
static size_t word_length(const char *text)
{
	int depth = 0;
	size_t len = 0;
	const char *slash = text[0] == '/' ? strchr(text + 1, '/') : NULL;
	if (slash && (!slash[1] || slash[1] == ',')) /* the path of a file goes on */
		return (size_t)(slash - text) + 1;
	for (; text[len] && (text[len] != ',' || depth > 0); len++) {
		if (text[len] == '<' || text[len] == '(')
			depth++;
		else if (text[len] == '>' || text[len] == ')')
			depth--;
	}
	return len;
}

struct err *select_parse_words(const struct opt *row, const char *text, void *member)
{
	struct opt_string_list *list = member;
	(void)row;
	for (;;) {
		size_t len = word_length(text);
		if (!len)
			return err_new(ERR_USAGE, "an empty name");
		vec_push(list, mem_strndup(text, len));
		if (!text[len])
			return NULL;
		text += len + 1;
	}
}

static struct err *check_expression(const char *word)
{
	struct pattern pattern;
	CLEANUP_FREE char *expression = pattern_between_slashes(word);
	if (!expression)
		return NULL;
	if (!pattern_init(&pattern, expression))
		return err_new(ERR_USAGE, "%s is no regular expression", word);
	pattern_deinit(&pattern);
	return NULL;
}

struct err *select_parse_names(const struct opt *row, const char *text, void *member)
{
	struct opt_string_list *list = member;
	try(select_parse_words(row, text, member));
	vec_each(list, word)
		try(check_expression(*word));
	return NULL;
}

struct err *select_parse_tasks(const struct opt *row, const char *text, void *member)
{
	if (isalpha((unsigned char)text[0]))
		return err_new(
			ERR_USAGE, "\"%s\" is no number: --comms %s chooses by name", text, text);
	return opt_u32_list(row, text, member);
}

struct err *select_parse_reasons(const struct opt *row, const char *text, void *member)
{
	struct opt_string_list *list = member;
	try(select_parse_words(row, text, member));
	vec_each(list, word)
		if (!wait_reason_is_known(*word))
			return err_new(ERR_USAGE,
				"\"%s\" is no reason of a wait: futex, poll, sleep, disk, net, "
				"pipe, terminal, signal, ipc, fault, child, \"kernel lock\", "
				"stopped, \"run queue\", other are",
				*word);
	return NULL;
}

struct err *select_parse_label(const struct opt *row, const char *text, void *member)
{
	struct opt_string_list *list = member;
	(void)row;
	if (!text[0] || text[0] == '=')
		return err_new(ERR_USAGE, "\"%s\" is not KEY=VALUE", text);
	vec_push(list, mem_strdup(text));
	return NULL;
}

struct err *select_parse_trace(const struct opt *row, const char *text, void *member)
{
	enum {
		DIGITS = 32,
	};
	struct opt_string_list *list = member;
	CLEANUP(str_deinit) struct str label = {0};
	size_t digits = 0;
	(void)row;
	str_puts(&label, PROFILE_LABEL_TRACE "=");
	for (const char *at = text; *at; at++) {
		if (*at == '-') /* as UUIDs are written */
			continue;
		if (hex_digit_value(*at) < 0)
			break;
		str_putc(&label, "0123456789abcdef"[hex_digit_value(*at)]);
		digits++;
	}
	if (digits != DIGITS || text[strspn(text, "-0123456789abcdefABCDEF")])
		return err_new(ERR_USAGE, "\"%s\" is no ID of a trace: %d digits of 0-9, a-f", text,
			DIGITS);
	vec_push(list, str_steal(&label));
	return NULL;
}

static struct err *parse_seconds(const struct opt *row, const char *text, size_t len, uint64_t *ret)
{
	CLEANUP_FREE char *copy = mem_strndup(text, len);
	return len ? opt_duration(row, copy, ret) : NULL;
}

struct err *select_parse_time(const struct opt *row, const char *text, void *member)
{
	struct {
		uint64_t from_ns, to_ns;
	} *time = member;
	const char *comma = strchr(text, ',');
	if (!comma)
		return err_new(ERR_USAGE,
			"\"%s\" is not FROM,TO: 2,5 is from 2 to 5 seconds after the beginning",
			text);
	time->from_ns = time->to_ns = 0;
	try(parse_seconds(row, text, (size_t)(comma - text), &time->from_ns));
	try(parse_seconds(row, comma + 1, strlen(comma + 1), &time->to_ns));
	if (comma[1] && time->to_ns <= time->from_ns)
		return err_new(ERR_USAGE, "\"%s\" does not end after it begins", text);
	return NULL;
}

/* ---- whether what was chosen is there ---- */

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

static void select_put_event(const struct profile *profile, size_t index, struct str *out)
{
	str_puts(out, index ? profile->events.data[index].name : "");
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
	return index && (strcmp(object->name, word) == 0 || strcmp(object->path, word) == 0);
}

static void put_chosen_file(const struct profile *profile, size_t index, struct str *out)
{
	const struct profile_object *object = &profile->objects.data[index];
	str_puts(out, object->is_used ? object->name : "");
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
		is_matched = name.len && pattern_matches(&pattern, str_text(&name));
	}
	pattern_deinit(&pattern);
	return is_matched;
}

/* Expressions are those of select_parse_names() only. */
static struct err *select_check(const struct profile *profile, const struct choice *choice,
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
	return err_new(ERR_USAGE, "the recording has no %s \"%s\" but %s", choice->what, word,
		str_text(&names));
}

/* What one of several recordings may lack by chance. */
static struct err *select_check_names(
	const struct select_options *options, const struct profile *profile)
{
	const struct choice comms = {"thread called", profile->threads.len, is_comm, put_comm};
	const struct choice files = {"file", profile->objects.len, is_chosen_file, put_chosen_file};
	vec_each(&options->comms, word)
		try(select_check(profile, &comms, *word, true));
	vec_each(&options->files, word)
		try(select_check(profile, &files, *word, true));
	return NULL;
}

static struct err *select_check_event(const struct profile *profile, const char *word)
{
	const struct choice events = {"event", profile->events.len, is_event, select_put_event};
	try(select_check(profile, &events, word, false));
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

static struct err *check_words(const struct select_options *options, const struct profile *profile)
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
		try(select_check(profile, &languages, *word, false));
	vec_each(&options->labels, word)
		try(select_check(profile, &labels, *word, false));
	vec_each(&options->containers, word)
		try(select_check(
			profile, (*word)[0] == '/' ? &cgroups : &containers, *word, false));
	return NULL;
}

struct err *select_load(const struct select_options *options, const struct input *input,
	bool is_one_of_several, struct profile **ret)
{
	struct filter filter = select_filter(options);
	struct profile_options loading = {
		.files = &options->naming.symbolize.files,
		.with_second_samples = filter_wants_second_samples(&filter),
	};
	struct profile *profile = NULL;
	try(input_load_with(input, &loading, &profile));
	struct err *err = check_words(options, profile);
	if (!err && !is_one_of_several)
		err = select_check_names(options, profile);
	if (err) {
		profile_destroy(profile);
		return err_wrap(err, "%s", input->name);
	}
	*ret = profile;
	return NULL;
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
		return err_new(ERR_USAGE, "the recording has no function \"%s\"%s%s%s", word,
			nearest.word ? ": did you mean " : "", nearest.word ? nearest.word : "",
			nearest.word ? "?" : "");
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

struct err *select_parse_leaks(const struct opt *row, const char *text, void *member)
{
	struct select_options *options = member;
	(void)text;
	options->leaks = true;
	return select_parse_words(row, "inuse_space", &options->events);
}

struct filter select_filter(const struct select_options *options)
{
	return (struct filter){
		.comms = {options->comms.data, options->comms.len},
		.events = {options->events.data, options->events.len},
		.dsos = {options->files.data, options->files.len},
		.symbols = {options->symbols.data, options->symbols.len},
		.containers = {options->containers.data, options->containers.len},
		.languages = {options->languages.data, options->languages.len},
		.labels = {options->labels.data, options->labels.len},
		.hidden = (options->no_native ? HIDDEN_NATIVE : 0) |
			  (options->no_kernel ? HIDDEN_KERNEL : 0),
		/* What was allocated a moment ago is often freed a moment later. */
		.without_newest = options->leaks,
		.pids = {options->pids.data, options->pids.len},
		.tids = {options->tids.data, options->tids.len},
		.cpus = {options->cpus.data, options->cpus.len},
		.from_ns = options->time.from_ns,
		.to_ns = options->time.to_ns,
	};
}

static void strings_deinit(struct opt_string_list *list)
{
	vec_each(list, text)
		mem_free((void *)*text);
	vec_deinit(list);
}

void select_deinit(struct select_options *options)
{
	strings_deinit(&options->comms);
	strings_deinit(&options->events);
	strings_deinit(&options->files);
	strings_deinit(&options->symbols);
	strings_deinit(&options->containers);
	strings_deinit(&options->languages);
	strings_deinit(&options->labels);
	strings_deinit(&options->hidden_reasons);
	vec_deinit(&options->pids);
	vec_deinit(&options->tids);
	vec_deinit(&options->cpus);
	naming_deinit(&options->naming);
}
