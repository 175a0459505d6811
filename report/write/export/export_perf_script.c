/*
 * Samples as `perf script -F comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso` prints them
 * (linux/tools/perf/builtin-script.c, util/evsel_fprintf.c; 6.1): one record a sample, in order of
 * time, a blank line behind each.
 *
 *   comm 100/101 [003] 17.000250: 1001001 cpu-clock:
 *   	            1139 copy (inlined)
 *   	            1139 work+0x19 (/usr/bin/app)
 *   	ffffffff81000123 sys_read+0x3 ([kernel.kallsyms])
 *
 * Readers take it apart with expressions, so words must not hold what separates them:
 * stackcollapse-perf.pl and speedscope want a comm of two characters or more in front of the
 * numbers and a file without spaces, and take what begins with '#' for a comment;
 * stackcollapse-perf.pl drops frames whose name begins with a parenthesis.
 *
 * Addresses are those that the file itself counts in, as `nm` shows them.
 */
#include <string.h>

#include "format/base/clock.h"
#include "format/base/str.h"
#include "report/write/export/export.h"
#include "report/write/export/pprof_mappings.h"

struct text {
	const char *bytes; /* NULL: not made yet */
	size_t len;
};

struct script {
	const struct profile *profile;
	struct pprof_mappings mappings;
	struct arena arena;
	struct text *frames;  /* the line of each */
	struct text *threads; /* what each record of it begins with */
	struct text *events;
	struct str out;
};

static struct text perf_script_keep(struct script *script, const struct str *text)
{
	return (struct text){
		.bytes = arena_strndup(&script->arena, str_text(text), text->len),
		.len = text->len,
	};
}

/* One word, not empty. */
static void perf_script_put_word(struct str *out, const char *text)
{
	size_t start = out->len;
	str_puts_escaped(out, text);
	if (out->len == start)
		str_puts(out, "[unknown]");
	for (size_t i = start; i < out->len; i++)
		if (out->data[i] == ' ')
			out->data[i] = '_';
}

/* ---- heads ---- */

static const struct text *head_of(struct script *script, uint32_t index)
{
	struct text *head = &script->threads[index];
	if (head->bytes)
		return head;
	const struct profile_thread *thread = &script->profile->threads.data[index];
	CLEANUP(str_deinit) struct str text = {0};
	if (thread->comm[0] == '#')
		str_putc(&text, '_');
	perf_script_put_word(&text, thread->comm);
	/* Readers take the first space for part of a name of one character. */
	str_puts(&text, text.len == 1 ? "  " : " ");
	str_printf(&text, "%u/%u", thread->pid, thread->tid);
	*head = perf_script_keep(script, &text);
	return head;
}

static const struct text *perf_script_event_of(struct script *script, uint32_t index)
{
	struct text *event = &script->events[index];
	if (event->bytes)
		return event;
	CLEANUP(str_deinit) struct str text = {0};
	perf_script_put_word(&text, index ? script->profile->events.data[index].name : "");
	*event = perf_script_keep(script, &text);
	return event;
}

/* ---- frames ---- */

static void perf_script_put_file(
	struct str *out, const struct profile_object *object, const struct profile_frame *frame)
{
	static const char deleted[] = " (deleted)";
	if (object->info.kind == LAYOUT_OBJECT_SCRIPT) {
		perf_script_put_word(out, frame->file ? frame->file : "//script");
		return;
	}
	if (object->info.kind == LAYOUT_OBJECT_ANONYMOUS) {
		str_puts(out, "//anon"); /* as perf says; a bracket would mean the kernel */
		return;
	}
	size_t len = strlen(object->path), end = strlen(deleted);
	if (len > end && strcmp(object->path + len - end, deleted) == 0)
		len -= end;
	CLEANUP_FREE char *path = mem_strndup(object->path, len);
	perf_script_put_word(out, path);
}

static void perf_script_put_symbol(struct str *out, const struct profile_function *function)
{
	if (function->has_bounds) {
		str_puts(out, profile_function_own_name(function));
		return;
	}
	if (!function->is_known || !function->name[0]) {
		str_puts(out, "[unknown]");
		return;
	}
	if (function->name[0] == '(') /* "(anonymous namespace)::f" is "::(anonymous..." as well */
		str_puts(out, "::");
	str_puts_escaped(out, function->name);
}

/* Symbols begin at virtual addresses, those of the kernel behind its base. */
static void put_offset(struct str *out, const struct profile_function *function, uint64_t address)
{
	bool has_start = function->is_known || function->has_bounds;
	if (has_start && function->start && address >= function->start)
		str_printf(out, "+0x%llx", (unsigned long long)(address - function->start));
}

static void perf_script_put_frame(struct script *script, uint32_t index, struct str *out)
{
	const struct profile *profile = script->profile;
	const struct profile_frame *frame = &profile->frames.data[index], *recorded = frame;
	const struct profile_function *function = &profile->functions.data[frame->function];
	while (recorded->outer)
		recorded = &profile->frames.data[recorded->outer];
	uint64_t address = pprof_mappings_place(&script->mappings, recorded).address;
	str_printf(out, "\t%16llx ", (unsigned long long)address);
	if (!frame->object) {
		str_puts_escaped(out, function->name);
		str_puts(out, " ([unknown])\n");
		return;
	}
	const struct profile_object *object = &profile->objects.data[frame->object];
	perf_script_put_symbol(out, function);
	if (frame->outer) {
		str_puts(out, " (inlined)\n");
		return;
	}
	put_offset(out, function, address - object->info.base);
	str_puts(out, " (");
	perf_script_put_file(out, object, frame);
	str_puts(out, ")\n");
}

static const struct text *perf_script_line_of(struct script *script, uint32_t frame)
{
	struct text *line = &script->frames[frame];
	if (line->bytes)
		return line;
	CLEANUP(str_deinit) struct str text = {0};
	perf_script_put_frame(script, frame, &text);
	*line = perf_script_keep(script, &text);
	return line;
}

/* ---- records ---- */

static void perf_script_put_record(struct script *script, const struct profile_sample *sample)
{
	struct str *out = &script->out;
	const struct text *head = head_of(script, sample->thread);
	const struct text *event = perf_script_event_of(script, sample->event);
	str_write(out, head->bytes, head->len);
	str_printf(out, " [%03u] %llu.%06llu: %llu ", sample->cpu,
		(unsigned long long)(sample->time_ns / NS_PER_S),
		(unsigned long long)(sample->time_ns % NS_PER_S / NS_PER_US),
		(unsigned long long)profile_sample_value(script->profile, sample));
	str_write(out, event->bytes, event->len);
	str_puts(out, ":\n");
	struct profile_walk walk = profile_walk(script->profile, sample->stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk));) {
		const struct text *line = perf_script_line_of(script, frame);
		str_write(out, line->bytes, line->len);
	}
	str_putc(out, '\n');
}

static struct err *perf_script_flush(struct script *script, struct byte_sink sink, size_t limit)
{
	if (script->out.len <= limit)
		return NULL;
	try(sink.write(sink.context, script->out.data, script->out.len));
	str_truncate(&script->out, 0);
	return NULL;
}

static struct err *write_records(struct script *script, struct byte_sink sink)
{
	vec_each(&script->profile->samples, sample) {
		perf_script_put_record(script, sample);
		try(perf_script_flush(script, sink, BYTE_SINK_PIECE_BYTES));
	}
	return perf_script_flush(script, sink, 0);
}

struct err *export_perf_script(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	(void)options;
	struct script script = {
		.profile = profile,
		.frames = mem_zalloc_array(profile->frames.len, sizeof(struct text)),
		.threads = mem_zalloc_array(profile->threads.len, sizeof(struct text)),
		.events = mem_zalloc_array(profile->events.len, sizeof(struct text)),
	};
	pprof_mappings_init(&script.mappings, profile);
	struct err *err = write_records(&script, sink);
	pprof_mappings_deinit(&script.mappings);
	arena_deinit(&script.arena);
	str_deinit(&script.out);
	mem_free(script.frames);
	mem_free(script.threads);
	mem_free(script.events);
	return err;
}
