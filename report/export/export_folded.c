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
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/str.h"
#include "report/export/export.h"
#include "report/export/tally.h"

static const char no_name[] = "[unknown]";

struct line {
	uint32_t sequence; /* id in sequences */
	uint64_t count;
};

struct folded {
	const struct profile *profile;
	struct strtab names; /* of frames and comms, fit for a line */
	uint32_t *comms;     /* name of each thread */
	uint32_t *functions; /* two for each function, called and inlined: name + 1, 0: none yet */
	struct strtab sequences; /* arrays of names (uint32_t), the comm first */
	VEC(struct line) lines;  /* by sequence */
	struct tally tally;
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
		folded->comms[i] = add_name(folded, profile->threads.data[i].comm, "", true);
	vec_each(&profile->samples, sample)
		if (sample->event == event)
			tally_add(&folded->tally, folded->comms[sample->thread], sample->stack,
				sample->weight);
}

/* Stacks whose frames have the same names become one line. */
static void merge_lines(struct folded *folded)
{
	VEC(uint32_t) leaf_first = {0};
	VEC(uint32_t) sequence = {0};
	vec_each(&folded->tally.entries, entry) {
		leaf_first.len = sequence.len = 0;
		struct profile_walk walk = profile_walk(folded->profile, entry->stack);
		for (uint32_t frame; (frame = profile_walk_next(&walk));)
			vec_push(&leaf_first, name_of_frame(folded, frame));
		vec_push(&sequence, entry->group);
		while (leaf_first.len)
			vec_push(&sequence, leaf_first.data[--leaf_first.len]);
		uint32_t id = strtab_intern(&folded->sequences, (const char *)sequence.data,
			sequence.len * sizeof(*sequence.data));
		if (id == folded->lines.len)
			vec_push(&folded->lines, (struct line){.sequence = id});
		folded->lines.data[id].count += entry->value;
	}
	vec_deinit(&leaf_first);
	vec_deinit(&sequence);
}

/* ---- order ---- */

struct sequence {
	const uint32_t *names;
	size_t len;
};

static struct sequence sequence_of(const struct folded *folded, const struct line *line)
{
	const struct strtab_entry *entry = &folded->sequences.entries.data[line->sequence];
	return (struct sequence){
		.names = (const uint32_t *)(const void *)entry->bytes, /* the arena aligns to 8 */
		.len = entry->len / sizeof(uint32_t),
	};
}

/* As the bytes of the stacks compare, without putting them together. */
static int compare_lines(const void *a, const void *b, void *context)
{
	const struct folded *folded = context;
	struct sequence x = sequence_of(folded, a), y = sequence_of(folded, b);
	size_t i = 0;
	while (i < x.len && i < y.len && x.names[i] == y.names[i])
		i++;
	if (i == x.len || i == y.len)
		return x.len < y.len ? -1 : x.len > y.len;
	const unsigned char *p = (const void *)strtab_get(&folded->names, x.names[i]);
	const unsigned char *q = (const void *)strtab_get(&folded->names, y.names[i]);
	for (; *p == *q && *p; p++, q++)
		;
	int left = *p ? *p : i + 1 < x.len ? ';' : 0;
	int right = *q ? *q : i + 1 < y.len ? ';' : 0;
	return left - right;
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

static struct err *write_lines(struct folded *folded, struct export_sink sink)
{
	vec_each(&folded->lines, line) {
		struct sequence sequence = sequence_of(folded, line);
		for (size_t i = 0; i < sequence.len; i++) {
			const struct strtab_entry *name =
				&folded->names.entries.data[sequence.names[i]];
			if (i)
				str_putc(&folded->out, ';');
			str_write(&folded->out, name->bytes, name->len);
		}
		str_printf(&folded->out, " %llu\n", (unsigned long long)line->count);
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
	merge_lines(&folded);
	if (folded.lines.len)
		qsort_r(folded.lines.data, folded.lines.len, sizeof(*folded.lines.data),
			compare_lines, &folded);
	struct err *err = write_lines(&folded, sink);
	strtab_deinit(&folded.names);
	strtab_deinit(&folded.sequences);
	vec_deinit(&folded.lines);
	tally_deinit(&folded.tally);
	str_deinit(&folded.out);
	mem_free(folded.comms);
	mem_free(folded.functions);
	return err;
}
