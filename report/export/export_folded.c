/*
 * Folded stacks, as Brendan Gregg's stackcollapse scripts write them: one line
 * for each distinct stack, outermost first, and how often it was seen.
 *
 *   comm;main;work;copy_[i];sys_read_[k] 42
 *
 * _[k] marks the kernel's functions, _[i] calls that were inlined.
 *
 * Readers split at ';' and take the count behind the last space. flamegraph.pl
 * takes a second number in front of it for the count of another profile, so no
 * frame may end in a space and a number. The order is that of the stacks' bytes.
 *
 * Where stacks have roots (see roots.h), these stand in place of the comm.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/str.h"
#include "report/export/export.h"
#include "report/export/tally.h"

static const char no_name[] = "[unknown]";

struct folded {
	const struct profile *profile;
	struct strtab names; /* fit for a line: of comms, then of frames */
	size_t nr_comms;
	uint32_t *comms;     /* name of each thread */
	uint32_t *functions; /* two for each function, called and inlined: name + 1, 0: none yet */
	struct strtab
		sequences;  /* of a stack the names (uint32_t) of its frames, outermost first */
	struct tally tally; /* by comm and stack, later on by their places in the order */
	/* By place in the order: comms, each without and with a stack (see comm_key), and
	 * sequences. */
	uint32_t *comm_keys, *sequence_ids;
	struct str line; /* the one before, without its count: what it begins with stays */
	struct sequence {
		const uint32_t *names;
		size_t len;
	} previous;       /* the stack that stands in it */
	VEC(size_t) ends; /* in it, of each frame */
	struct str out;
};

/* ---- names ---- */

/* "foo 12" is read as a stack and a count of its own: the space must go. */
static void mend_number(struct str *name)
{
	size_t at = name->len;
	while (at && (isdigit((unsigned char)name->data[at - 1]) || name->data[at - 1] == '.'))
		at--;
	while (at && name->data[at - 1] == ' ')
		name->data[--at] = '_';
}

static uint32_t add_name(
	struct folded *folded, const char *text, const char *suffix, bool without_spaces)
{
	CLEANUP(str_deinit) struct str name = {0};
	str_put_escaped(&name, text, strlen(text));
	if (!name.len)
		str_puts(&name, no_name);
	for (size_t i = 0; i < name.len; i++) {
		if (name.data[i] == ';')
			name.data[i] = ':';
		else if (name.data[i] == ' ' && without_spaces)
			name.data[i] = '_';
	}
	str_puts(&name, suffix);
	mend_number(&name);
	return strtab_intern(&folded->names, name.data, name.len);
}

static uint32_t name_of_frame(struct folded *folded, uint32_t frame)
{
	const struct profile *profile = folded->profile;
	uint32_t index = profile->frames.data[frame].function;
	bool is_inlined = profile->frames.data[frame].outer;
	uint32_t *name = &folded->functions[2 * (size_t)index + is_inlined];
	if (!*name) {
		const struct profile_function *function = &profile->functions.data[index];
		const char *suffix = is_inlined                                     ? "_[i]"
				     : profile_is_kernel(profile, function->object) ? "_[k]"
										    : "";
		*name = add_name(folded, function->name, suffix, false) + 1;
	}
	return *name - 1;
}

/* ---- counting ---- */

static void count_samples(struct folded *folded)
{
	const struct profile *profile = folded->profile;
	uint32_t event = export_main_event(profile);
	for (size_t i = 0; i < profile->threads.len; i++)
		folded->comms[i] =
			profile->has_roots
				? strtab_intern(&folded->names, "", 0)
				: add_name(folded, profile->threads.data[i].comm, "", true);
	folded->nr_comms = folded->names.entries.len;
	vec_each(&profile->samples, sample)
		if (sample->event == event)
			tally_add(&folded->tally, folded->comms[sample->thread], sample->stack,
				sample->weight);
}

static uint32_t sequence_of_stack(struct folded *folded, uint32_t stack)
{
	VEC(uint32_t) leaf_first = {0};
	VEC(uint32_t) sequence = {0};
	struct profile_walk walk = profile_walk(folded->profile, stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk));)
		vec_push(&leaf_first, name_of_frame(folded, frame));
	while (leaf_first.len)
		vec_push(&sequence, leaf_first.data[--leaf_first.len]);
	uint32_t id =
		strtab_intern(&folded->sequences, sequence.len ? (const char *)sequence.data : "",
			sequence.len * sizeof(*sequence.data));
	vec_deinit(&leaf_first);
	vec_deinit(&sequence);
	return id;
}

/* Stacks whose frames have the same names become one. */
static void merge_stacks(struct folded *folded)
{
	uint32_t stack = UINT32_MAX, sequence = 0;
	tally_sort_by_stack(&folded->tally, folded->profile->stacks.len);
	vec_each(&folded->tally.entries, entry) {
		if (entry->stack != stack)
			sequence = sequence_of_stack(folded, entry->stack);
		stack = entry->stack;
		entry->stack = sequence;
	}
}

/* ---- order: that of the lines' bytes, found without putting them together ---- */

static struct sequence sequence_of(const struct folded *folded, uint32_t id)
{
	const struct strtab_entry *entry = &folded->sequences.entries.data[id];
	return (struct sequence){
		.names = (const uint32_t *)(const void *)entry->bytes, /* the arena aligns to 8 */
		.len = entry->len / sizeof(uint32_t),
	};
}

/* What stands behind a name counts as well: ';' or the end. */
static int compare_names(
	const struct folded *folded, uint32_t a, bool a_is_last, uint32_t b, bool b_is_last)
{
	const unsigned char *p = (const void *)strtab_get(&folded->names, a);
	const unsigned char *q = (const void *)strtab_get(&folded->names, b);
	for (; *p == *q && *p; p++, q++)
		;
	int left = *p ? *p : a_is_last ? 0 : ';';
	int right = *q ? *q : b_is_last ? 0 : ';';
	return left - right;
}

static int compare_sequences(const void *a, const void *b, void *context)
{
	const struct folded *folded = context;
	struct sequence x = sequence_of(folded, *(const uint32_t *)a);
	struct sequence y = sequence_of(folded, *(const uint32_t *)b);
	size_t i = 0;
	while (i < x.len && i < y.len && x.names[i] == y.names[i])
		i++;
	if (i == x.len || i == y.len)
		return x.len < y.len ? -1 : x.len > y.len;
	return compare_names(folded, x.names[i], i + 1 == x.len, y.names[i], i + 1 == y.len);
}

/* A comm and whether a stack follows. */
static uint32_t comm_key(uint32_t comm, bool has_stack)
{
	return 2 * comm + has_stack;
}

static int compare_comms(const void *a, const void *b, void *context)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return compare_names(context, x / 2, !(x & 1), y / 2, !(y & 1));
}

/* Numbers below `count` in their order; `places`: of each its place in that. */
static uint32_t *sorted(struct folded *folded, size_t count,
	int (*compare)(const void *, const void *, void *), uint32_t *places)
{
	uint32_t *order = mem_zalloc_array(count, sizeof(*order));
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	if (count)
		qsort_r(order, count, sizeof(*order), compare, folded);
	for (size_t i = 0; i < count; i++)
		places[order[i]] = (uint32_t)i;
	return order;
}

/* Few comms and stacks make many lines: the two are sorted each, then lines by their places. */
static void sort_lines(struct folded *folded)
{
	size_t nr_keys = 2 * folded->nr_comms, nr_sequences = folded->sequences.entries.len;
	CLEANUP_FREE uint32_t *key_places = mem_zalloc_array(nr_keys, sizeof(*key_places));
	CLEANUP_FREE uint32_t *places = mem_zalloc_array(nr_sequences, sizeof(*places));
	folded->comm_keys = sorted(folded, nr_keys, compare_comms, key_places);
	folded->sequence_ids = sorted(folded, nr_sequences, compare_sequences, places);
	vec_each(&folded->tally.entries, entry) {
		bool has_stack = sequence_of(folded, entry->stack).len;
		entry->group = key_places[comm_key(entry->group, has_stack)];
		entry->stack = places[entry->stack];
	}
	tally_sort_by_stack(&folded->tally, nr_sequences);
	tally_sort_by_group(&folded->tally, nr_keys);
}

/* ---- writing ---- */

static struct err *flush(struct folded *folded, struct export_sink sink, size_t limit)
{
	if (folded->out.len <= limit)
		return NULL;
	try(sink.write(sink.context, folded->out.data, folded->out.len));
	str_truncate(&folded->out, 0);
	return NULL;
}

static void begin_comm(struct folded *folded, uint32_t key_place)
{
	uint32_t comm = folded->comm_keys[key_place] / 2;
	str_truncate(&folded->line, 0);
	str_puts(&folded->line, strtab_get(&folded->names, comm));
	folded->previous.len = 0;
}

/* What it shares with the stack before it stays in the line. */
static void put_stack(struct folded *folded, struct sequence sequence)
{
	struct sequence previous = folded->previous;
	size_t i = 0;
	while (i < previous.len && i < sequence.len && previous.names[i] == sequence.names[i])
		i++;
	if (previous.len)
		str_truncate(&folded->line, folded->ends.data[i]);
	vec_resize(&folded->ends, sequence.len + 1);
	for (; i < sequence.len; i++) {
		const struct strtab_entry *name = &folded->names.entries.data[sequence.names[i]];
		folded->ends.data[i] = folded->line.len;
		if (folded->line.len)
			str_putc(&folded->line, ';');
		str_write(&folded->line, name->bytes, name->len);
	}
	folded->ends.data[i] = folded->line.len;
	folded->previous = sequence;
}

static void put_count(struct str *out, uint64_t count)
{
	char digits[24], *at = digits + sizeof(digits);
	*--at = '\n';
	do
		*--at = (char)('0' + count % 10);
	while (count /= 10);
	*--at = ' ';
	str_write(out, at, (size_t)(digits + sizeof(digits) - at));
}

static struct err *write_lines(struct folded *folded, struct export_sink sink)
{
	const struct tally_entry *entries = folded->tally.entries.data;
	size_t count = folded->tally.entries.len;
	for (size_t i = 0, next; i < count; i = next) {
		const struct tally_entry *entry = &entries[i];
		uint64_t value = 0;
		for (next = i; next < count && entries[next].group == entry->group &&
			       entries[next].stack == entry->stack;
			next++)
			value += entries[next].value;
		if (!i || entry->group != entries[i - 1].group)
			begin_comm(folded, entry->group);
		put_stack(folded, sequence_of(folded, folded->sequence_ids[entry->stack]));
		str_write(&folded->out, folded->line.data, folded->line.len);
		put_count(&folded->out, value);
		try(flush(folded, sink, EXPORT_PIECE_BYTES));
	}
	return flush(folded, sink, 0);
}

struct err *export_folded(const struct profile *profile, const struct export_options *options,
	struct export_sink sink)
{
	(void)options;
	struct folded folded = {
		.profile = profile,
		.comms = mem_zalloc_array(profile->threads.len, sizeof(uint32_t)),
		.functions = mem_zalloc_array(2 * profile->functions.len, sizeof(uint32_t)),
	};
	count_samples(&folded);
	merge_stacks(&folded);
	sort_lines(&folded);
	struct err *err = write_lines(&folded, sink);
	strtab_deinit(&folded.names);
	strtab_deinit(&folded.sequences);
	tally_deinit(&folded.tally);
	vec_deinit(&folded.ends);
	str_deinit(&folded.line);
	str_deinit(&folded.out);
	mem_free(folded.comms);
	mem_free(folded.functions);
	mem_free(folded.comm_keys);
	mem_free(folded.sequence_ids);
	return err;
}
