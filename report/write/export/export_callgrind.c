/*
 * Valgrind's callgrind format (valgrind.org/docs/manual/cl-format.html, version 1): what each line
 * of each function took itself, and for each call what it took in all.
 *
 *   fn=(3) work
 *   12 5000000 5            at line 12: time, samples
 *   cfn=(4) copy
 *   calls=2 40              called at line 40 ...
 *   14 2000000 2            ... from line 14, inclusive cost
 *
 * Readers add up the calls of a function for what it took in all. In a recursion that would count
 * one sample several times, so a stack is charged to the call by which a function came in first,
 * the outermost one; the others stand there with no cost. The outermost frames have no callers, so
 * each process is made a function that does: callgrind_annotate believes calls more than a sum.
 *
 * There are no calls to count in samples: their number is that of the samples that saw them.
 */
#include <ctype.h>
#include <stdlib.h>

#include "format/base/str.h"
#include "report/model/main_event.h"
#include "report/write/export/export.h"
#include "report/write/export/export_names.h"
#include "report/write/export/tally.h"

static const char no_name[] = "[unknown]";
static const char no_file[] = "???";            /* callgrind's word */
static const char process_file[] = "[process]"; /* of the functions that stand for processes */

/* Texts of a kind: in full where they come first in the file, then by number. */
struct names {
	struct strtab texts;
	VEC(bool) is_written;
};

/* What the file has for a function: readers know it by its file and name. */
struct callee {
	uint32_t name, file, object;
	uint32_t line;
	size_t last_stack; /* which has charged it, plus 1 */
};

/* A line of a function. */
struct site {
	uint32_t callee, file, line;
	uint64_t value, samples;
};

struct call {
	uint32_t site, callee;
	uint64_t value, samples; /* inclusive cost */
	uint64_t count;
};

struct callgrind {
	const struct profile *profile;
	uint32_t event;
	struct names functions, files, objects;
	VEC(struct callee) callees;
	VEC(struct site) sites;
	VEC(struct call) calls;
	struct map callee_index;  /* file << 32 | name */
	struct map place_index;   /* file << 32 | line -> number */
	struct map site_index;    /* callee << 32 | place */
	struct map call_index;    /* site << 32 | callee */
	uint32_t *callee_of;      /* function: callee + 1, 0: none yet */
	const char **source_of;   /* function: the file that most likely holds its body */
	VEC(uint32_t) leaf_first; /* frames of a stack */
	struct str out;
};

static uint64_t pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

/* ---- names ---- */

static uint32_t name_id(struct names *names, const char *text, const char *or_else)
{
	CLEANUP(str_deinit) struct str safe = {0};
	const char *shown = text && text[0] ? text : or_else;
	str_puts_escaped(&safe, shown);
	uint32_t id = strtab_intern(&names->texts, str_text(&safe), safe.len);
	if (id == names->is_written.len)
		vec_push(&names->is_written, false);
	return id;
}

static void callgrind_put_name(struct str *out, const char *key, struct names *names, uint32_t id)
{
	str_printf(out, "%s=(%u)", key, id + 1);
	if (!names->is_written.data[id]) {
		str_putc(out, ' ');
		str_puts(out, strtab_get(&names->texts, id));
	}
	names->is_written.data[id] = true;
	str_putc(out, '\n');
}

static void names_deinit(struct names *names)
{
	strtab_deinit(&names->texts);
	vec_deinit(&names->is_written);
}

/* ---- callees ---- */

static uint32_t callee_id(struct callgrind *callgrind, const struct callee *callee)
{
	bool added;
	uint64_t *id = map_put(&callgrind->callee_index, pair(callee->file, callee->name), &added);
	if (added) {
		*id = callgrind->callees.len;
		vec_push(&callgrind->callees, *callee);
	}
	return (uint32_t)*id;
}

/* Functions of two objects that readers could not tell apart get the objects' names. */
static void tell_apart(
	struct callgrind *callgrind, const struct profile_function *function, struct callee *callee)
{
	const uint64_t *other = map_get(&callgrind->callee_index, pair(callee->file, callee->name));
	if (!other || callgrind->callees.data[*other].object == callee->object)
		return;
	CLEANUP(str_deinit) struct str name = {0};
	str_printf(&name, "%s (%s)", function->name,
		callgrind->profile->objects.data[function->object].name);
	callee->name = name_id(&callgrind->functions, str_text(&name), no_name);
}

static uint32_t callee_of(struct callgrind *callgrind, uint32_t index)
{
	uint32_t *known = &callgrind->callee_of[index];
	if (*known)
		return *known - 1;
	const struct profile *profile = callgrind->profile;
	const struct profile_function *function = &profile->functions.data[index];
	const char *file = callgrind->source_of[index];
	struct callee callee = {
		.name = name_id(&callgrind->functions, function->name, no_name),
		.file = name_id(&callgrind->files, file ? file : function->file, no_file),
		.object = name_id(
			&callgrind->objects, profile->objects.data[function->object].path, no_file),
		.line = function->line,
	};
	tell_apart(callgrind, function, &callee);
	*known = callee_id(callgrind, &callee) + 1;
	return *known - 1;
}

static uint32_t callee_of_process(struct callgrind *callgrind, const char *comm)
{
	struct callee callee = {
		.name = name_id(&callgrind->functions, comm, no_name),
		.file = name_id(&callgrind->files, process_file, no_file),
		.object = name_id(&callgrind->objects, process_file, no_file),
	};
	return callee_id(callgrind, &callee);
}

/*
 * A function's declaration may stand in a header, which would split it into two for readers: the
 * file of its first known line comes first.
 */
static void find_sources(struct callgrind *callgrind)
{
	vec_each(&callgrind->profile->frames, frame)
		if (frame->file && !callgrind->source_of[frame->function])
			callgrind->source_of[frame->function] = frame->file;
}

/* ---- costs ---- */

static uint32_t site_of(struct callgrind *callgrind, uint32_t callee, uint32_t file, uint32_t line)
{
	bool added;
	uint64_t *place = map_put(&callgrind->place_index, pair(file, line), &added);
	if (added)
		*place = callgrind->place_index.len - 1;
	uint64_t *site = map_put(&callgrind->site_index, pair(callee, (uint32_t)*place), &added);
	if (added) {
		*site = callgrind->sites.len;
		vec_push(&callgrind->sites,
			(struct site){.callee = callee, .file = file, .line = line});
	}
	return (uint32_t)*site;
}

static uint32_t site_of_frame(
	struct callgrind *callgrind, uint32_t callee, const struct profile_frame *frame)
{
	if (!frame->file)
		return site_of(callgrind, callee, callgrind->callees.data[callee].file, 0);
	return site_of(
		callgrind, callee, name_id(&callgrind->files, frame->file, no_file), frame->line);
}

static struct call *call_of(struct callgrind *callgrind, uint32_t site, uint32_t callee)
{
	bool added;
	uint64_t *call = map_put(&callgrind->call_index, pair(site, callee), &added);
	if (added) {
		*call = callgrind->calls.len;
		vec_push(&callgrind->calls, (struct call){.site = site, .callee = callee});
	}
	return &callgrind->calls.data[*call];
}

static void callgrind_add_stack(
	struct callgrind *callgrind, const struct tally_entry *entry, uint32_t site, size_t serial)
{
	const struct profile *profile = callgrind->profile;
	struct profile_walk walk = profile_walk(profile, entry->stack);
	callgrind->leaf_first.len = 0;
	for (uint32_t frame; (frame = profile_walk_next(&walk));)
		vec_push(&callgrind->leaf_first, frame);
	while (callgrind->leaf_first.len) {
		uint32_t index = callgrind->leaf_first.data[--callgrind->leaf_first.len];
		const struct profile_frame *frame = &profile->frames.data[index];
		uint32_t id = callee_of(callgrind, frame->function);
		struct callee *callee = &callgrind->callees.data[id];
		struct call *call = call_of(callgrind, site, id);
		call->count += entry->samples;
		if (callee->last_stack != serial) {
			call->value += entry->value;
			call->samples += entry->samples;
		}
		callee->last_stack = serial;
		site = site_of_frame(callgrind, id, frame);
	}
	callgrind->sites.data[site].value += entry->value;
	callgrind->sites.data[site].samples += entry->samples;
}

static void callgrind_add_samples(struct callgrind *callgrind)
{
	const struct profile *profile = callgrind->profile;
	CLEANUP_FREE uint32_t *roots = mem_zalloc_array(profile->threads.len, sizeof(*roots));
	struct tally tally = {0};
	for (size_t i = 0; i < profile->threads.len; i++) {
		uint32_t callee = callee_of_process(callgrind, profile->threads.data[i].comm);
		roots[i] = site_of(callgrind, callee, callgrind->callees.data[callee].file, 0);
	}
	vec_each(&profile->samples, sample)
		if (profile_event_has(profile, callgrind->event, sample->event))
			tally_add(&tally, roots[sample->thread], sample->stack,
				profile_sample_value(profile, sample));
	tally_finish(&tally);
	for (size_t i = 0; i < tally.entries.len; i++)
		callgrind_add_stack(
			callgrind, &tally.entries.data[i], tally.entries.data[i].group, i + 1);
	tally_deinit(&tally);
}

/* ---- order ---- */

/* Function by function, lines of its own file first, by number. */
static int compare_sites(const void *a, const void *b, void *context)
{
	const struct callgrind *callgrind = context;
	const struct site *x = &callgrind->sites.data[*(const uint32_t *)a];
	const struct site *y = &callgrind->sites.data[*(const uint32_t *)b];
	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	uint32_t file = callgrind->callees.data[x->callee].file;
	if (x->file != y->file) {
		if (x->file == file || y->file == file)
			return x->file == file ? -1 : 1;
		return x->file < y->file ? -1 : 1;
	}
	return x->line < y->line ? -1 : x->line > y->line;
}

static int compare_calls(const void *a, const void *b, void *context)
{
	const uint32_t *ranks = context;
	const struct call *x = a, *y = b;
	if (x->site != y->site)
		return ranks[x->site] < ranks[y->site] ? -1 : 1;
	return x->callee < y->callee ? -1 : x->callee > y->callee;
}

/* The sites in their order, to be freed with mem_free(); the calls come into the same one. */
static uint32_t *callgrind_sort(struct callgrind *callgrind)
{
	size_t count = callgrind->sites.len;
	uint32_t *order = mem_zalloc_array(count, sizeof(*order));
	CLEANUP_FREE uint32_t *ranks = mem_zalloc_array(count, sizeof(*ranks));
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	if (count)
		qsort_r(order, count, sizeof(*order), compare_sites, callgrind);
	for (uint32_t i = 0; i < count; i++)
		ranks[order[i]] = i;
	if (callgrind->calls.len)
		qsort_r(callgrind->calls.data, callgrind->calls.len, sizeof(*callgrind->calls.data),
			compare_calls, ranks);
	return order;
}

/* ---- writing ---- */

static struct err *callgrind_flush(struct callgrind *callgrind, struct byte_sink sink, size_t limit)
{
	if (callgrind->out.len <= limit)
		return NULL;
	try(sink.write(sink.context, callgrind->out.data, callgrind->out.len));
	str_truncate(&callgrind->out, 0);
	return NULL;
}

static void put_cost(struct callgrind *callgrind, uint32_t line, uint64_t value, uint64_t samples)
{
	str_printf(&callgrind->out, "%u %llu %llu\n", line, (unsigned long long)value,
		(unsigned long long)samples);
}

static void callgrind_put_head(struct callgrind *callgrind)
{
	const struct profile *profile = callgrind->profile;
	const char *command = profile_meta(profile, LAYOUT_META_COMMAND);
	const char *type = export_event_type(profile, callgrind->event);
	struct str *out = &callgrind->out;
	str_puts(out, "# callgrind format\nversion: 1\ncreator: ebprof " EBPROF_VERSION "\n");
	if (command && command[0]) {
		str_puts(out, "cmd: ");
		str_puts_escaped(out, command);
		str_putc(out, '\n');
	}
	CLEANUP(str_deinit) struct str word = {0};
	for (; *type; type++) /* columns are parted by spaces */
		str_putc(&word, isalnum((unsigned char)*type) ? *type : '_');
	str_printf(out, "positions: line\nevent: %s : %s, %s\nevent: samples : samples\n",
		str_text(&word), str_text(&word), export_event_unit(profile, callgrind->event));
	str_printf(out, "events: %s samples\n", str_text(&word));
	uint64_t value = 0, samples = 0;
	vec_each(&callgrind->sites, site) {
		value += site->value;
		samples += site->samples;
	}
	str_printf(out, "summary: %llu %llu\n", (unsigned long long)value,
		(unsigned long long)samples);
}

static void put_call(struct callgrind *callgrind, const struct call *call, uint32_t line)
{
	const struct callee *callee = &callgrind->callees.data[call->callee];
	callgrind_put_name(&callgrind->out, "cob", &callgrind->objects, callee->object);
	callgrind_put_name(&callgrind->out, "cfi", &callgrind->files, callee->file);
	callgrind_put_name(&callgrind->out, "cfn", &callgrind->functions, callee->name);
	str_printf(
		&callgrind->out, "calls=%llu %u\n", (unsigned long long)call->count, callee->line);
	put_cost(callgrind, line, call->value, call->samples);
}

/* What says where the lines to come belong, as far as it differs from the line before. */
static void callgrind_put_place(
	struct callgrind *callgrind, const struct site *site, const struct site *previous)
{
	const struct callee *callee = &callgrind->callees.data[site->callee];
	uint32_t file = previous ? previous->file : callee->file;
	if (!previous || previous->callee != site->callee) {
		str_putc(&callgrind->out, '\n');
		callgrind_put_name(&callgrind->out, "ob", &callgrind->objects, callee->object);
		callgrind_put_name(&callgrind->out, "fl", &callgrind->files, callee->file);
		callgrind_put_name(&callgrind->out, "fn", &callgrind->functions, callee->name);
		file = callee->file;
	}
	if (site->file != file)
		callgrind_put_name(&callgrind->out, site->file == callee->file ? "fe" : "fi",
			&callgrind->files, site->file);
}

static struct err *write_sites(struct callgrind *callgrind, struct byte_sink sink)
{
	CLEANUP_FREE uint32_t *order = callgrind_sort(callgrind);
	const struct site *previous = NULL;
	size_t call = 0;
	for (size_t i = 0; i < callgrind->sites.len; i++) {
		const struct site *site = &callgrind->sites.data[order[i]];
		bool has_calls =
			call < callgrind->calls.len && callgrind->calls.data[call].site == order[i];
		if (!has_calls && !site->samples) /* a process that the samples are not of */
			continue;
		callgrind_put_place(callgrind, site, previous);
		if (site->samples)
			put_cost(callgrind, site->line, site->value, site->samples);
		for (; call < callgrind->calls.len; call++) {
			if (callgrind->calls.data[call].site != order[i])
				break;
			put_call(callgrind, &callgrind->calls.data[call], site->line);
			try(callgrind_flush(callgrind, sink, BYTE_SINK_PIECE_BYTES));
		}
		try(callgrind_flush(callgrind, sink, BYTE_SINK_PIECE_BYTES));
		previous = site;
	}
	return callgrind_flush(callgrind, sink, 0);
}

static void callgrind_deinit(struct callgrind *callgrind)
{
	names_deinit(&callgrind->functions);
	names_deinit(&callgrind->files);
	names_deinit(&callgrind->objects);
	vec_deinit(&callgrind->callees);
	vec_deinit(&callgrind->sites);
	vec_deinit(&callgrind->calls);
	map_deinit(&callgrind->callee_index);
	map_deinit(&callgrind->place_index);
	map_deinit(&callgrind->site_index);
	map_deinit(&callgrind->call_index);
	mem_free(callgrind->callee_of);
	mem_free(callgrind->source_of);
	vec_deinit(&callgrind->leaf_first);
	str_deinit(&callgrind->out);
}

struct err *export_callgrind(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	(void)options;
	struct callgrind callgrind = {
		.profile = profile,
		.event = main_event_of(profile),
		.callee_of = mem_zalloc_array(profile->functions.len, sizeof(uint32_t)),
		.source_of = mem_zalloc_array(profile->functions.len, sizeof(const char *)),
	};
	find_sources(&callgrind);
	callgrind_add_samples(&callgrind);
	callgrind_put_head(&callgrind);
	struct err *err = write_sites(&callgrind, sink);
	callgrind_deinit(&callgrind);
	return err;
}
