#include "cmd/select.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/str.h"

/* A comma inside <> or () belongs to a C++ name, not to the list. */
static size_t word_length(const char *text)
{
	int depth = 0;
	size_t len = 0;
	for (; text[len] && (text[len] != ',' || depth > 0); len++) {
		if (text[len] == '<' || text[len] == '(')
			depth++;
		else if (text[len] == '>' || text[len] == ')')
			depth--;
	}
	return len;
}

struct err *select_parse_words(const char *text, void *member)
{
	struct opt_string_list *list = member;
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

static struct err *parse_seconds(const char *text, size_t len, uint64_t *ret)
{
	CLEANUP_FREE char *copy = mem_strndup(text, len);
	return len ? opt_duration(copy, ret) : NULL;
}

struct err *select_parse_time(const char *text, void *member)
{
	struct {
		uint64_t from_ns, to_ns;
	} *time = member;
	const char *comma = strchr(text, ',');
	if (!comma)
		return err_new(ERR_USAGE, "\"%s\" is not FROM,TO", text);
	time->from_ns = time->to_ns = 0;
	try(parse_seconds(text, (size_t)(comma - text), &time->from_ns));
	try(parse_seconds(comma + 1, strlen(comma + 1), &time->to_ns));
	if (comma[1] && time->to_ns <= time->from_ns)
		return err_new(ERR_USAGE, "\"%s\" does not end after it begins", text);
	return NULL;
}

static bool has_event(const struct profile *profile, const char *name)
{
	for (size_t i = 1; i < profile->events.len; i++)
		if (filter_is_event(profile->events.data[i].name, name))
			return true;
	return false;
}

struct err *select_check(const struct select_options *options, const struct profile *profile)
{
	vec_each(&options->events, event) {
		if (has_event(profile, *event))
			continue;
		CLEANUP(str_deinit) struct str names = {0};
		for (size_t i = 1; i < profile->events.len; i++)
			str_printf(&names, "%s%s", i > 1 ? ", " : "", profile->events.data[i].name);
		return err_new(ERR_USAGE, "the recording has no event \"%s\" but %s", *event,
			names.len ? str_text(&names) : "none");
	}
	return NULL;
}

struct filter select_filter(const struct select_options *options)
{
	return (struct filter){
		.comms = {options->comms.data, options->comms.len},
		.events = {options->events.data, options->events.len},
		.dsos = {options->dsos.data, options->dsos.len},
		.symbols = {options->symbols.data, options->symbols.len},
		.containers = {options->containers.data, options->containers.len},
		.languages = {options->languages.data, options->languages.len},
		.no_native = options->no_native,
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
	strings_deinit(&options->dsos);
	strings_deinit(&options->symbols);
	strings_deinit(&options->containers);
	strings_deinit(&options->languages);
	vec_deinit(&options->pids);
	vec_deinit(&options->tids);
	vec_deinit(&options->cpus);
	naming_deinit(&options->naming);
}
