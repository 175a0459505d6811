#include "record/event/event_spec.h"

#include <ctype.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/base/nearest.h"
#include "format/base/str.h"
#include "record/event/event_names.h"

/* A piece of the text. */
struct span {
	const char *at;
	size_t len;
};

#define SPAN(span) (int)(span).len, (span).at

static bool span_is(struct span span, const char *word)
{
	return span.len == strlen(word) && memcmp(span.at, word, span.len) == 0;
}

static bool span_begins(struct span span, const char *word)
{
	return span.len >= strlen(word) && memcmp(span.at, word, strlen(word)) == 0;
}

static struct span span_behind(struct span span, size_t offset)
{
	return (struct span){span.at + offset, span.len - offset};
}

/* Up to the first `c`, or all of it. */
static struct span span_before(struct span span, char c)
{
	const char *end = memchr(span.at, c, span.len);
	return (struct span){span.at, end ? (size_t)(end - span.at) : span.len};
}

/* All of the span is a number, decimal, or hexadecimal behind 0x. */
static bool span_number(struct span span, int base, uint64_t *ret)
{
	char digits[24], *end;
	if (!span.len || span.len >= sizeof(digits) || !isxdigit((unsigned char)*span.at))
		return false;
	memcpy(digits, span.at, span.len);
	digits[span.len] = 0;
	errno = 0;
	unsigned long long value = strtoull(digits, &end, base);
	if (*end || errno)
		return false;
	*ret = value;
	return true;
}

/* ---- modifiers ---- */

static struct err *take_modifier(struct event_modifiers *modifiers, char letter)
{
	bool *const flags[128] = {
		['u'] = &modifiers->user,
		['k'] = &modifiers->kernel,
		['h'] = &modifiers->hypervisor,
		['G'] = &modifiers->guest,
		['H'] = &modifiers->host,
		['I'] = &modifiers->excludes_idle,
		['D'] = &modifiers->is_pinned,
		['e'] = &modifiers->is_exclusive,
		['P'] = &modifiers->is_most_precise,
		['S'] = &modifiers->is_read_with_group,
	};
	if (letter == 'p' && modifiers->precise < 3)
		modifiers->precise++;
	else if (letter == 'p')
		return err_new(ERR_USAGE, "more than three p: the processor knows no more");
	else if (letter > 0 && flags[(int)letter])
		*flags[(int)letter] = true;
	else
		return err_new(ERR_USAGE,
			"modifier %c is not known: u, k, h, G, H, I, p, P, S, D, e are", letter);
	return NULL;
}

static struct err *take_modifiers(struct event_modifiers *modifiers, struct span letters)
{
	if (!letters.len)
		return err_new(ERR_USAGE, "no modifier behind the last : or /");
	for (size_t i = 0; i < letters.len; i++)
		try(take_modifier(modifiers, letters.at[i]));
	return NULL;
}

/* ---- terms between slashes ---- */

static struct err *take_term_number(struct span value, const char *name, uint64_t *ret)
{
	if (span_number(value, 0, ret))
		return NULL;
	return err_new(ERR_USAGE, "%s=%.*s: not a number", name, SPAN(value));
}

static struct err *take_frequency(struct event_spec *spec, struct span value)
{
	uint64_t hz;
	try(take_term_number(value, "freq", &hz));
	if (!hz || hz > 1000000)
		return err_new(ERR_USAGE, "freq=%.*s: from 1 to 1000000", SPAN(value));
	spec->frequency_hz = (uint32_t)hz;
	return NULL;
}

static struct err *take_period(struct event_spec *spec, struct span value)
{
	try(take_term_number(value, "period", &spec->period));
	if (!spec->period || spec->period >> 63)
		return err_new(ERR_USAGE, "period=%.*s: from 1 to 2^63 - 1", SPAN(value));
	return NULL;
}

/* perf's that ask for what is recorded of each event, which is not an event's own here. */
static struct err *refuse_term(struct span name)
{
	static const char *const unsupported[] = {"branch_type", "time", "call-graph", "stack-size",
		"inherit", "no-inherit", "max-stack", "nr", "overwrite", "no-overwrite",
		"driver-config", "percore", "aux-output", "aux-sample-size", "aux-action",
		"metric-id", "raw", "cpu", "ratio-to-prev"};
	for (size_t i = 0; i < sizeof(unsupported) / sizeof(*unsupported); i++)
		if (span_is(name, unsupported[i]))
			return err_new(ERR_USAGE, "%.*s= is not supported as a term of an event",
				SPAN(name));
	return NULL;
}

static struct err *take_term(struct event_spec *spec, struct span term)
{
	struct span name = span_before(term, '='), value = {NULL, 0};
	bool has_value = name.len < term.len;
	if (has_value)
		value = span_behind(term, name.len + 1);
	if (!name.len || (has_value && !value.len))
		return err_new(ERR_USAGE, "\"%.*s\" is no name=value", SPAN(term));
	if (has_value && span_is(name, "period"))
		return take_period(spec, value);
	if (has_value && span_is(name, "freq"))
		return take_frequency(spec, value);
	if (has_value && span_is(name, "name")) {
		mem_free(spec->name);
		spec->name = mem_strndup(value.at, value.len);
		return NULL;
	}
	if (has_value && span_is(name, "value") && spec->kind == EVENT_SPEC_TRACEPOINT) {
		mem_free(spec->value_field);
		spec->value_field = mem_strndup(value.at, value.len);
		return NULL;
	}
	try(refuse_term(name));
	if (spec->kind != EVENT_SPEC_PMU)
		return err_new(
			ERR_USAGE, "%.*s: period=, freq= and name= are its terms", SPAN(term));
	vec_push(&spec->terms, (struct event_term){mem_strndup(name.at, name.len),
				       has_value ? mem_strndup(value.at, value.len) : NULL});
	return NULL;
}

static struct err *take_terms(struct event_spec *spec, struct span terms)
{
	while (terms.len) {
		struct span term = span_before(terms, ',');
		try(take_term(spec, term));
		if (term.len == terms.len)
			break;
		terms = span_behind(terms, term.len + 1);
	}
	if (spec->period && spec->frequency_hz)
		return err_new(ERR_USAGE, "period= and freq= exclude each other");
	return NULL;
}

/* What stands behind a name: "/terms/", then modifiers, which need no colon behind a slash. */
static struct err *take_rest(struct event_spec *spec, struct span rest)
{
	if (rest.len && *rest.at == '/') {
		struct span terms = span_before(span_behind(rest, 1), '/');
		if (terms.len + 1 >= rest.len)
			return err_new(ERR_USAGE, "no / behind the terms");
		try(take_terms(spec, terms));
		rest = span_behind(rest, terms.len + 2);
		if (rest.len && *rest.at != ':')
			return take_modifiers(&spec->modifiers, rest);
	}
	return rest.len ? take_modifiers(&spec->modifiers, span_behind(rest, 1)) : NULL;
}

/* ---- kinds of events ---- */

/* Those of the timer, waits and what else takes time: this program's own; "wall" is both kinds of
 * waits and the time on a CPU. */
static bool find_own_event(struct span name, struct event_spec *spec)
{
	static const struct {
		const char *name;
		enum event_spec_kind kind;
		enum session_event timer;
		uint32_t waits;
		bool has_timer;
	} rows[] = {
		{"auto", EVENT_SPEC_TIMER, SESSION_EVENT_AUTO, 0, true},
		{"cycles", EVENT_SPEC_TIMER, SESSION_EVENT_CYCLES, 0, true},
		{"cpu-cycles", EVENT_SPEC_TIMER, SESSION_EVENT_CYCLES, 0, true},
		{"cpu-clock", EVENT_SPEC_TIMER, SESSION_EVENT_CPU_CLOCK, 0, true},
		{"offcpu", EVENT_SPEC_WAITS, SESSION_EVENT_NONE, SESSION_WAIT_OFF_CPU, false},
		{"runq", EVENT_SPEC_WAITS, SESSION_EVENT_NONE, SESSION_WAIT_RUN_QUEUE, false},
		{"syscalls", EVENT_SPEC_SYSCALLS, SESSION_EVENT_NONE, 0, false},
		{"lock", EVENT_SPEC_LOCKS, SESSION_EVENT_NONE, 0, false},
		{"blk-io", EVENT_SPEC_BLOCK_IO, SESSION_EVENT_NONE, 0, false},
		{"wall", EVENT_SPEC_WAITS, SESSION_EVENT_NONE,
			SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE, true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!span_is(name, rows[i].name))
			continue;
		spec->kind = rows[i].kind;
		spec->timer = rows[i].timer;
		spec->waits = rows[i].waits;
		spec->has_timer = rows[i].has_timer;
		spec->unit = spec->timer == SESSION_EVENT_CYCLES ? "cycles" : "ns";
		return true;
	}
	return false;
}

static bool find_cache_event(struct span name, struct event_spec *spec)
{
	struct event_cache_name row;
	for (size_t i = 0; event_cache_name_at(i, &row); i++) {
		if (!span_is(name, row.name))
			continue;
		spec->type = PERF_TYPE_HW_CACHE;
		spec->config = row.config;
		spec->unit = strstr(row.name, "-misses") ? "misses" : "accesses";
		return true;
	}
	return false;
}

/* Events of a name that is known without the kernel. */
static bool find_counter(struct span name, struct event_spec *spec)
{
	const struct event_name *row = event_name_find(name.at, name.len);
	spec->kind = EVENT_SPEC_COUNTER;
	if (row) {
		spec->type = row->type;
		spec->config = row->config;
		spec->unit = row->unit;
		return true;
	}
	if (name.len > 1 && *name.at == 'r' && isxdigit((unsigned char)name.at[1]) &&
		span_number(span_behind(name, 1), 16, &spec->config)) {
		spec->type = PERF_TYPE_RAW;
		spec->unit = "events";
		return true;
	}
	return find_cache_event(name, spec);
}

static struct err *take_probe_path(
	struct event_spec *spec, enum event_spec_kind kind, struct span text, const char *form)
{
	const char *colon = memchr(text.at, ':', text.len);
	if (!colon || colon == text.at || colon == text.at + text.len - 1)
		return err_new(ERR_USAGE, "\"%s\" is not %s", spec->name, form);
	spec->kind = kind;
	spec->unit = "hits";
	spec->text = mem_strndup(text.at, text.len);
	return NULL;
}

static struct err *take_access_letters(struct event_spec *spec, struct span letters)
{
	spec->breakpoint_type = 0;
	for (size_t i = 0; i < letters.len; i++)
		spec->breakpoint_type |= letters.at[i] == 'r'   ? HW_BREAKPOINT_R
					 : letters.at[i] == 'w' ? HW_BREAKPOINT_W
								: HW_BREAKPOINT_X;
	if (spec->breakpoint_type & HW_BREAKPOINT_X && spec->breakpoint_type != HW_BREAKPOINT_X)
		return err_new(ERR_USAGE, "\"%s\": x does not go with r and w", spec->name);
	return NULL;
}

static bool is_access(struct span letters)
{
	for (size_t i = 0; i < letters.len; i++)
		if (!strchr("rwx", letters.at[i]))
			return false;
	return letters.len > 0;
}

/* ADDRESS[/BYTES][:ACCESS][:MODIFIERS] */
static struct err *take_breakpoint(struct event_spec *spec, struct span text)
{
	struct span place = span_before(text, ':'), address = span_before(place, '/');
	struct span rest = span_behind(text, place.len);
	spec->kind = EVENT_SPEC_COUNTER;
	spec->type = PERF_TYPE_BREAKPOINT;
	spec->unit = "hits";
	spec->breakpoint_type = HW_BREAKPOINT_RW;
	if (!span_number(address, 0, &spec->config1))
		return err_new(ERR_USAGE, "\"%s\" has no address: mem:0x1000/8:rw", spec->name);
	if (rest.len) {
		struct span letters = span_before(span_behind(rest, 1), ':');
		if (is_access(letters)) {
			try(take_access_letters(spec, letters));
			rest = span_behind(rest, letters.len + 1);
		}
	}
	spec->config2 =
		spec->breakpoint_type == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
	if (address.len < place.len) {
		struct span bytes = span_behind(place, address.len + 1);
		if (!span_number(bytes, 0, &spec->config2) || !spec->config2 || spec->config2 > 8)
			return err_new(ERR_USAGE, "\"%s\": from 1 to 8 bytes", spec->name);
	}
	return rest.len ? take_modifiers(&spec->modifiers, span_behind(rest, 1)) : NULL;
}

static bool is_tracepoint(struct span text)
{
	size_t colons = 0;
	for (size_t i = 0; i < text.len; i++) {
		colons += text.at[i] == ':';
		if (!isalnum((unsigned char)text.at[i]) && !strchr("_-*?:[]!", text.at[i]))
			return false;
	}
	struct span before = span_before(text, ':');
	return colons == 1 && before.len && before.len + 1 < text.len;
}

/* Of async-profiler and others, or what people try. */
static const char *event_elsewhere(const char *word)
{
	static const char wait_for_lock[] =
		"waits for locks of programs are in offcpu, as [wait: futex]; lock has the "
		"kernel's; ";
	static const struct {
		const char *word, *here;
	} words[] = {
		{"cpu", "it is cpu-clock, the default; "},
		{"itimer", "it is cpu-clock, the default; "},
		{"ctimer", "it is cpu-clock, the default; "},
		{"alloc", "allocated memory is --heap; "},
		{"nativemem", "allocated memory is --heap; "},
		{"locks", wait_for_lock},
		{"mutex", wait_for_lock},
		{"futex", wait_for_lock},
		{"contention", wait_for_lock},
		{"context-switch", "it is context-switches; who waits for what is offcpu; "},
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].here;
	return NULL;
}

static struct err *refuse_unknown(struct span name)
{
	static const char *const own[] = {"auto", "cycles", "cpu-clock", "offcpu", "runq", "wall",
		"syscalls", "lock", "blk-io", NULL};
	CLEANUP_FREE char *word = mem_strndup(name.at, name.len);
	const char *elsewhere = event_elsewhere(word);
	if (elsewhere)
		return err_new(ERR_USAGE, "\"%s\" is no event: %sebprof list shows all of them",
			word, elsewhere);
	struct nearest nearest = nearest_to(word);
	for (size_t i = 0; own[i]; i++)
		nearest_offer(&nearest, own[i]);
	for (const struct event_name *row = event_names; row->name; row++)
		nearest_offer(&nearest, row->name);
	return err_new(ERR_USAGE, "\"%s\" is no event: %s%s%sebprof list shows all of them", word,
		nearest.word ? "did you mean " : "", nearest.word ? nearest.word : "",
		nearest.word ? "? " : "");
}

static struct err *take_named(struct event_spec *spec, struct span text)
{
	size_t len = 0;
	while (len < text.len && text.at[len] != ':' && text.at[len] != '/')
		len++;
	struct span name = {text.at, len}, rest = span_behind(text, len);
	/* syscalls:sys_enter_read is a tracepoint: the events of such names have no modifiers. */
	bool is_system =
		(span_is(name, "syscalls") || span_is(name, "lock")) && rest.len && *rest.at == ':';
	if (!is_system && (find_own_event(name, spec) || find_counter(name, spec)))
		return take_rest(spec, rest);
	if (rest.len && *rest.at == '/') {
		spec->kind = EVENT_SPEC_PMU;
		spec->unit = "events";
		spec->text = mem_strndup(name.at, name.len);
		return take_rest(spec, rest);
	}
	struct span point = span_before(text, '/');
	if (!is_tracepoint(point))
		return refuse_unknown(text);
	spec->kind = EVENT_SPEC_TRACEPOINT;
	spec->unit = "hits";
	spec->text = mem_strndup(point.at, point.len);
	try(take_rest(spec, span_behind(text, point.len)));
	if (spec->frequency_hz)
		return err_new(
			ERR_USAGE, "\"%s\": tracepoints have a period=, not a freq=", spec->name);
	return NULL;
}

/* NAME, and terms behind it. */
static struct err *take_syscall(struct event_spec *spec, struct span text)
{
	struct span name = span_before(text, '/');
	spec->kind = EVENT_SPEC_SYSCALLS;
	spec->unit = "ns";
	if (!name.len || memchr(name.at, ':', name.len))
		return err_new(ERR_USAGE, "\"%s\" is not syscall:NAME", spec->name);
	spec->text = mem_strndup(name.at, name.len);
	return take_rest(spec, span_behind(text, name.len));
}

static struct err *take_event(struct event_spec *spec, struct span text)
{
	static const char usdt[] = "usdt:", uprobe[] = "uprobe:", uretprobe[] = "uretprobe:",
			  duration[] = "duration:", syscall[] = "syscall:", mem[] = "mem:";
	if (span_begins(text, usdt))
		return take_probe_path(spec, EVENT_SPEC_USDT, span_behind(text, strlen(usdt)),
			"usdt:PATH:PROVIDER:NAME");
	if (span_begins(text, uprobe))
		return take_probe_path(spec, EVENT_SPEC_UPROBE, span_behind(text, strlen(uprobe)),
			"uprobe:PATH:FUNCTION");
	if (span_begins(text, uretprobe))
		return take_probe_path(spec, EVENT_SPEC_URETPROBE,
			span_behind(text, strlen(uretprobe)), "uretprobe:PATH:FUNCTION");
	if (span_begins(text, duration))
		return take_probe_path(spec, EVENT_SPEC_CALL, span_behind(text, strlen(duration)),
			"duration:PATH:FUNCTION");
	if (span_begins(text, syscall))
		return take_syscall(spec, span_behind(text, strlen(syscall)));
	if (span_begins(text, mem))
		return take_breakpoint(spec, span_behind(text, strlen(mem)));
	return take_named(spec, text);
}

static bool has_more_than_levels(const struct event_modifiers *modifiers)
{
	return modifiers->hypervisor || modifiers->guest || modifiers->host ||
	       modifiers->excludes_idle || modifiers->is_pinned || modifiers->is_exclusive ||
	       modifiers->precise || modifiers->is_most_precise;
}

/*
 * The timer knows levels only, and samples nothing but itself: cycles with more modifiers, and
 * those of a group that is read together, are an event like others.
 */
static void take_from_timer(struct event_spec *spec)
{
	const struct event_modifiers *modifiers = &spec->modifiers;
	bool is_clock = spec->timer == SESSION_EVENT_CPU_CLOCK;
	if (spec->kind != EVENT_SPEC_TIMER || (!is_clock && spec->timer != SESSION_EVENT_CYCLES))
		return;
	if (!modifiers->is_read_with_group && (is_clock || !has_more_than_levels(modifiers)))
		return;
	spec->kind = EVENT_SPEC_COUNTER;
	spec->type = is_clock ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE;
	spec->config = is_clock ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_HW_CPU_CYCLES;
	spec->unit = is_clock ? "ns" : "cycles";
}

static struct err *check_modifiers(struct event_spec *spec)
{
	const struct event_modifiers *modifiers = &spec->modifiers;
	bool is_precise = modifiers->precise || modifiers->is_most_precise;
	take_from_timer(spec);
	if (modifiers->is_read_with_group && !spec->group)
		return err_new(ERR_USAGE, "\"%s\": S goes behind a group, {a,b}:S", spec->name);
	if (is_precise && spec->kind == EVENT_SPEC_COUNTER && spec->type == PERF_TYPE_SOFTWARE)
		return err_new(ERR_USAGE,
			"\"%s\": events that the kernel counts are always precise, leave p out",
			spec->name);
	if (spec->kind == EVENT_SPEC_TIMER && has_more_than_levels(modifiers))
		return err_new(ERR_USAGE, "\"%s\": the timer knows :u and :k only", spec->name);
	bool has_none = spec->kind == EVENT_SPEC_WAITS || spec->kind == EVENT_SPEC_SYSCALLS ||
			spec->kind == EVENT_SPEC_LOCKS || spec->kind == EVENT_SPEC_BLOCK_IO ||
			spec->kind == EVENT_SPEC_TRACEPOINT;
	if (has_none && (modifiers->user || modifiers->kernel || has_more_than_levels(modifiers)))
		return err_new(ERR_USAGE, "\"%s\": %s have no modifiers", spec->name,
			spec->kind == EVENT_SPEC_WAITS        ? "waits"
			: spec->kind == EVENT_SPEC_TRACEPOINT ? "tracepoints"
			: spec->kind == EVENT_SPEC_LOCKS      ? "locks"
			: spec->kind == EVENT_SPEC_BLOCK_IO   ? "requests to disks"
							      : "system calls");
	return NULL;
}

/* ---- lists and groups ---- */

static struct err *append_event(struct event_specs *specs, struct span text, uint32_t group)
{
	vec_push(
		specs, (struct event_spec){.name = mem_strndup(text.at, text.len), .group = group});
	struct event_spec *spec = &specs->data[specs->len - 1];
	if (!text.len)
		return err_new(ERR_USAGE, "an event without a name");
	try(take_event(spec, text));
	return check_modifiers(spec);
}

/* Paths have slashes and breakpoints one; with the others, a comma between two is of their terms.
 */
static bool has_terms(struct span text)
{
	return !span_begins(text, "usdt:") && !span_begins(text, "uprobe:") &&
	       !span_begins(text, "uretprobe:") && !span_begins(text, "duration:") &&
	       !span_begins(text, "mem:");
}

static struct span next_event(struct span text)
{
	bool has = has_terms(text), is_inside = false;
	size_t len = 0;
	for (; len < text.len && (is_inside || text.at[len] != ','); len++)
		is_inside ^= has && text.at[len] == '/';
	return (struct span){text.at, len};
}

static struct err *append_list(struct event_specs *specs, struct span text, uint32_t group)
{
	for (;;) {
		struct span event = next_event(text);
		try(append_event(specs, event, group));
		if (event.len == text.len)
			return NULL;
		text = span_behind(text, event.len + 1);
	}
}

/* "{a,b}", and its modifiers, which are those of each. */
static struct err *append_group(struct event_specs *specs, struct span text, struct span *rest)
{
	struct span inner = span_before(span_behind(text, 1), '}');
	if (inner.len + 2 > text.len)
		return err_new(ERR_USAGE, "no } behind \"%.*s\"", SPAN(text));
	size_t first = specs->len;
	try(append_list(specs, inner, ++specs->nr_groups));
	*rest = span_behind(text, inner.len + 2);
	for (size_t i = first; i < specs->len; i++)
		if (specs->data[i].modifiers.is_read_with_group)
			return err_new(ERR_USAGE, "\"%s\": S goes behind the group, {a,b}:S",
				specs->data[i].name);
	if (!rest->len || *rest->at != ':')
		return NULL;
	struct span letters = span_before(span_behind(*rest, 1), ',');
	for (size_t i = first; i < specs->len; i++) {
		try(take_modifiers(&specs->data[i].modifiers, letters));
		try(check_modifiers(&specs->data[i]));
	}
	*rest = span_behind(*rest, letters.len + 1);
	return NULL;
}

struct err *event_specs_parse(struct event_specs *specs, const char *text)
{
	struct span rest = {text, strlen(text)};
	for (;;) {
		if (rest.len && *rest.at == '{') {
			try(append_group(specs, rest, &rest));
		} else {
			struct span event = next_event(rest);
			try(append_event(specs, event, 0));
			rest = span_behind(rest, event.len);
		}
		if (!rest.len)
			return NULL;
		if (*rest.at != ',')
			return err_new(ERR_USAGE, "\"%.*s\" behind a group", SPAN(rest));
		rest = span_behind(rest, 1);
	}
}

size_t event_spec_leader(const struct event_spec *specs, size_t index)
{
	size_t leader = index;
	while (specs[index].modifiers.is_read_with_group && leader &&
		specs[leader - 1].group == specs[index].group)
		leader--;
	return leader;
}

bool event_spec_is_always_counted(const struct event_spec *spec)
{
	return spec->kind == EVENT_SPEC_TRACEPOINT ||
	       (spec->kind == EVENT_SPEC_COUNTER && spec->type == PERF_TYPE_SOFTWARE);
}

static void deinit_spec(struct event_spec *spec)
{
	vec_each(&spec->terms, term) {
		mem_free(term->name);
		mem_free(term->value);
	}
	vec_deinit(&spec->terms);
	mem_free(spec->name);
	mem_free(spec->text);
	mem_free(spec->value_field);
}

void event_specs_deinit(struct event_specs *specs)
{
	vec_each(specs, spec)
		deinit_spec(spec);
	vec_deinit(specs);
}
