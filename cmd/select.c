#include "cmd/select.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/select_check.h"
#include "format/base/hex.h"
#include "format/base/str.h"
#include "report/analyse/hidden_frames.h"
#include "report/analyse/wait_reasons.h"
#include "report/load/load.h"
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
	struct err *err = select_check(options, profile, is_one_of_several);
	if (err) {
		profile_destroy(profile);
		return err_wrap(err, "%s", input->name);
	}
	*ret = profile;
	return NULL;
}

struct err *select_parse_leaks(const struct opt *row, const char *text, void *member)
{
	struct select_options *options = member;
	(void)text;
	options->leaks = true;
	return select_parse_words(row, "inuse_space", &options->events);
}

struct err *select_parse_peak(const struct opt *row, const char *text, void *member)
{
	struct select_options *options = member;
	(void)text;
	return select_parse_words(row, "peak_space", &options->events);
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
