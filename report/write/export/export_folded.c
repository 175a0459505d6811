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

#include "format/base/bytes.h"
#include "format/base/str.h"
#include "report/model/main_event.h"
#include "report/model/word_sort.h"
#include "report/write/export/export.h"
#include "report/write/export/stack_tree.h"
#include "report/write/export/tally.h"

enum {
	NO_NAME = UINT32_MAX /* of the node that stands for no stack */
};

static const char no_name[] = "[unknown]";

/* A frame of the line before, and where in that its name ends. */
struct written_frame {
	uint32_t node;
	size_t end;
};

struct folded {
	const struct profile *profile;
	struct strtab names; /* fit for a line: of comms and frames */
	uint32_t *comms;     /* name of each thread */
	uint32_t *functions; /* two for each function, called and inlined: name + 1, 0: none yet */
	struct stack_tree tree;
	uint32_t *ranks;     /* of each key, see folded_key_of() */
	uint32_t *keys;      /* by rank */
	uint32_t *places;    /* of nodes at which stacks end, in their order */
	VEC(uint32_t) nodes; /* by place */
	struct tally lines;  /* groups: places; stacks: ranks of comms */
	struct bytes_buf out;
	size_t nr_written; /* of `out`; what follows was not */
	size_t line;       /* where in `out` the line before begins */
	size_t comm_end;   /* in a line */
	VEC(struct written_frame) path;
	uint32_t *positions; /* in the path, of nodes that were there before */
	VEC(uint32_t) rest;  /* what the line before did not have, innermost first */
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
	str_puts_escaped(&name, text);
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

static uint32_t folded_name_of_frame(struct folded *folded, uint32_t frame)
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

/* Where there are none, as in what was made from folded stacks or pprof, none stands ahead. */
static bool has_comms(const struct profile *profile)
{
	vec_each(&profile->samples, sample)
		if (profile->threads.data[sample->thread].comm[0])
			return true;
	return false;
}

static void name_comms(struct folded *folded)
{
	const struct profile *profile = folded->profile;
	bool has_any = !profile->has_roots && has_comms(profile);
	for (size_t i = 0; i < profile->threads.len; i++)
		folded->comms[i] =
			has_any ? add_name(folded, profile->threads.data[i].comm, "", true)
				: strtab_intern(&folded->names, "", 0);
}

/* Stacks whose frames have the same names become one. */
static void folded_make_tree(struct folded *folded)
{
	size_t count = folded->profile->frames.len;
	CLEANUP_FREE uint32_t *names = mem_zalloc_array(count + 1, sizeof(*names));
	for (size_t i = 0; i < count; i++)
		names[i] = folded_name_of_frame(folded, (uint32_t)i);
	names[count] = NO_NAME;
	stack_tree_init(&folded->tree, folded->profile, names);
}

/* ---- order: that of the lines' bytes, found without putting them together ---- */

/* What stands behind a name counts as well: ';' or the end of the stack. */
static uint32_t folded_key_of(uint32_t name, bool is_last)
{
	return 2 * name + is_last;
}

static bool is_last(uint32_t key)
{
	return key & 1;
}

static bool word_of_key(const void *context, uint32_t key, size_t index, uint64_t *ret)
{
	const struct folded *folded = context;
	const struct strtab_entry *name = &folded->names.entries.data[key / 2];
	size_t first = index * sizeof(*ret), len = name->len + !is_last(key);
	if (len < first)
		return false;
	uint64_t word = 0;
	for (size_t i = first; i < first + sizeof(word); i++)
		word = word << 8 | (i < name->len ? (uint8_t)name->bytes[i] : i < len ? ';' : 0);
	*ret = word;
	return true;
}

static void sort_names(struct folded *folded)
{
	size_t count = 2 * folded->names.entries.len;
	const struct word_order order = {.word = word_of_key, .context = folded};
	CLEANUP_FREE struct word_entry *entries = mem_zalloc_array(count, sizeof(*entries));
	folded->ranks = mem_zalloc_array(count, sizeof(*folded->ranks));
	folded->keys = mem_zalloc_array(count, sizeof(*folded->keys));
	for (size_t i = 0; i < count; i++)
		entries[i].element = (uint32_t)i;
	word_sort(entries, count, &order, 0, count);
	for (size_t i = 0; i < count; i++) {
		folded->keys[i] = entries[i].element;
		folded->ranks[entries[i].element] = (uint32_t)i;
	}
}

static bool is_no_stack(const struct folded *folded, uint32_t node)
{
	return folded->tree.nodes.data[node].name == NO_NAME;
}

/* Of each node what follows it: stacks that end there, calls from there, in order of their keys. */
static void folded_sort_children(const struct folded *folded, struct tally *children)
{
	const struct stack_tree *tree = &folded->tree;
	const struct profile *profile = folded->profile;
	size_t nr_nodes = tree->nodes.len;
	CLEANUP_FREE bool *is_end = mem_zalloc_array(nr_nodes, sizeof(*is_end));
	CLEANUP_FREE bool *is_parent = mem_zalloc_array(nr_nodes, sizeof(*is_parent));
	for (size_t i = 0; i < profile->stacks.len; i++)
		is_end[tree->stacks[i]] = true;
	for (size_t i = 1; i < nr_nodes; i++)
		is_parent[tree->nodes.data[i].parent] = true;
	for (uint32_t i = 1; i < nr_nodes; i++) {
		const struct stack_tree_node *node = &tree->nodes.data[i];
		if (is_no_stack(folded, i))
			continue;
		if (is_end[i])
			tally_add(children, folded->ranks[folded_key_of(node->name, true)],
				node->parent, i);
		if (is_parent[i])
			tally_add(children, folded->ranks[folded_key_of(node->name, false)],
				node->parent, i);
	}
	tally_finish(children);
}

struct range {
	size_t next, end;
};

static struct range folded_children_of(const size_t *starts, uint32_t node)
{
	return (struct range){starts[node], starts[node + 1]};
}

/* Depth first, from the root; `starts`: of each node's children. */
static void number_stacks(struct folded *folded, const struct tally *children, const size_t *starts)
{
	VEC(struct range) open = {0};
	vec_push(&open, folded_children_of(starts, 0));
	while (open.len) {
		struct range *range = &open.data[open.len - 1];
		if (range->next == range->end) {
			open.len--;
			continue;
		}
		const struct tally_entry *child = &children->entries.data[range->next++];
		uint32_t node = (uint32_t)child->value;
		if (is_last(folded->keys[child->group])) {
			folded->places[node] = (uint32_t)folded->nodes.len;
			vec_push(&folded->nodes, node);
		} else {
			vec_push(&open, folded_children_of(starts, node));
		}
	}
	vec_deinit(&open);
}

static void sort_stacks(struct folded *folded)
{
	size_t nr_nodes = folded->tree.nodes.len;
	struct tally children = {0};
	CLEANUP_FREE size_t *starts = mem_zalloc_array(nr_nodes + 1, sizeof(*starts));
	folded->places = mem_zalloc_array(nr_nodes, sizeof(*folded->places));
	vec_push(&folded->nodes, 0); /* for no stack */
	folded_sort_children(folded, &children);
	vec_each(&children.entries, child)
		starts[child->stack + 1]++;
	for (size_t i = 0; i < nr_nodes; i++)
		starts[i + 1] += starts[i];
	number_stacks(folded, &children, starts);
	tally_deinit(&children);
}

static void folded_count_samples(struct folded *folded)
{
	uint32_t event = main_event_of(folded->profile);
	vec_each(&folded->profile->samples, sample) {
		if (!profile_event_has(folded->profile, event, sample->event))
			continue;
		uint32_t node = folded->tree.stacks[sample->stack];
		uint32_t comm =
			folded_key_of(folded->comms[sample->thread], is_no_stack(folded, node));
		tally_add(&folded->lines, folded->places[node], folded->ranks[comm],
			profile_weight_as(folded->profile, event, sample));
	}
	tally_finish(&folded->lines);
}

/* ---- writing ---- */

/* The line before stays, as the next one begins with a part of it. */
static struct err *folded_flush(struct folded *folded, struct byte_sink sink, size_t limit)
{
	struct bytes_buf *out = &folded->out;
	size_t len = out->len - folded->nr_written;
	if (len <= limit)
		return NULL;
	try(sink.write(sink.context, out->data + folded->nr_written, len));
	memmove(out->data, out->data + folded->line, out->len - folded->line);
	out->len -= folded->line;
	folded->nr_written = out->len;
	folded->line = 0;
	return NULL;
}

static bool is_in_path(const struct folded *folded, uint32_t node)
{
	uint32_t position = folded->positions[node];
	return position < folded->path.len && folded->path.data[position].node == node;
}

/* Leaves in the path what the stack shares with the one before. */
static void find_rest(struct folded *folded, uint32_t node)
{
	folded->rest.len = 0;
	for (; node && !is_in_path(folded, node); node = folded->tree.nodes.data[node].parent)
		vec_push(&folded->rest, node);
	folded->path.len = node ? folded->positions[node] + 1 : 0;
}

static void folded_put_name(struct folded *folded, uint32_t name)
{
	const struct strtab_entry *entry = &folded->names.entries.data[name];
	if (folded->out.len > folded->line)
		bytes_put(&folded->out, ";", 1);
	bytes_put(&folded->out, entry->bytes, entry->len);
}

static void put_rest(struct folded *folded)
{
	while (folded->rest.len) {
		uint32_t node = folded->rest.data[--folded->rest.len];
		folded_put_name(folded, folded->tree.nodes.data[node].name);
		folded->positions[node] = (uint32_t)folded->path.len;
		vec_push(&folded->path,
			(struct written_frame){node, folded->out.len - folded->line});
	}
}

/* `is_first`: of its comm, so that it shares nothing with the line before. */
static void folded_put_stack(struct folded *folded, uint32_t comm, uint32_t node, bool is_first)
{
	struct bytes_buf *out = &folded->out;
	size_t before = folded->line;
	folded->line = out->len;
	if (is_first) {
		folded->path.len = 0;
		folded_put_name(folded, comm);
		if (!node && out->len == folded->line) /* a line that is nothing but a count */
			bytes_put(out, no_name, sizeof(no_name) - 1);
		folded->comm_end = out->len - folded->line;
		find_rest(folded, node);
	} else {
		find_rest(folded, node);
		size_t len = folded->path.len ? folded->path.data[folded->path.len - 1].end
					      : folded->comm_end;
		vec_reserve(out, len);
		memcpy(out->data + out->len, out->data + before, len);
		out->len += len;
	}
	put_rest(folded);
}

static void put_count(struct bytes_buf *out, uint64_t count)
{
	char digits[24], *at = digits + sizeof(digits);
	*--at = '\n';
	do
		*--at = (char)('0' + count % 10);
	while (count /= 10);
	*--at = ' ';
	bytes_put(out, at, (size_t)(digits + sizeof(digits) - at));
}

static struct err *write_lines(struct folded *folded, struct byte_sink sink)
{
	const struct tally_entry *before = NULL;
	folded->positions = mem_zalloc_array(folded->tree.nodes.len, sizeof(*folded->positions));
	vec_each(&folded->lines.entries, line) {
		folded_put_stack(folded, folded->keys[line->stack] / 2,
			folded->nodes.data[line->group], !before || before->stack != line->stack);
		put_count(&folded->out, line->value);
		before = line;
		try(folded_flush(folded, sink, BYTE_SINK_PIECE_BYTES));
	}
	return folded_flush(folded, sink, 0);
}

struct err *export_folded(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	(void)options;
	struct folded folded = {
		.profile = profile,
		.comms = mem_zalloc_array(profile->threads.len, sizeof(uint32_t)),
		.functions = mem_zalloc_array(2 * profile->functions.len, sizeof(uint32_t)),
	};
	name_comms(&folded);
	folded_make_tree(&folded);
	sort_names(&folded);
	sort_stacks(&folded);
	folded_count_samples(&folded);
	struct err *err = write_lines(&folded, sink);
	strtab_deinit(&folded.names);
	stack_tree_deinit(&folded.tree);
	tally_deinit(&folded.lines);
	vec_deinit(&folded.nodes);
	vec_deinit(&folded.path);
	vec_deinit(&folded.rest);
	bytes_buf_deinit(&folded.out);
	mem_free(folded.comms);
	mem_free(folded.functions);
	mem_free(folded.ranks);
	mem_free(folded.keys);
	mem_free(folded.places);
	mem_free(folded.positions);
	return err;
}
