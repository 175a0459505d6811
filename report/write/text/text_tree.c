#include "report/write/text/text.h"

#include "report/analyse/focus.h"
#include "report/name/chain_text.h"
#include "report/name/namesakes.h"
#include "report/write/text/text_fields.h"
#include "report/write/text/text_names.h"

struct text_tree {
	const struct profile *profile;
	const struct text_options *options;
	struct focus *focus;
	uint8_t *nr_parts;
	VEC(uint32_t) indents; /* by depth, of what was printed last there */
	VEC(uint32_t) chain;   /* nodes that share a line */
	struct text_names *names;
};

static void text_put_branch_name(
	const struct text_tree *tree, uint32_t node, size_t columns, struct str *out)
{
	uint32_t function = tree->focus->nodes.data[node].function;
	text_put_fitting(tree->names, &tree->profile->functions.data[function],
		tree->nr_parts[function], false, columns, out);
}

static void text_put_chain_name(const void *context, size_t index, size_t columns, struct str *out)
{
	const struct text_tree *tree = context;
	text_put_branch_name(tree, tree->chain.data[index], columns, out);
}

static size_t text_chain_columns(const void *context, const char *text, size_t len)
{
	(void)context;
	return text_columns_of(text, len);
}

static void text_put_chain(const struct text_tree *tree, size_t columns, struct str *out)
{
	struct chain_text chain = {text_put_chain_name, text_chain_columns, tree};
	chain_text_put(&chain, tree->chain.len, columns, out);
}

/* Of a chain, or of NULL their titles. */
static void put_tree_fields(const struct text_tree *tree, const struct focus_node *first,
	uint64_t self, uint64_t whole, struct str *out)
{
	struct text_options options = *tree->options;
	const struct table table = {.total = whole};
	struct table_row row = {.self = self};
	if (!options.nr_fields) {
		options.fields[options.nr_fields++] = TEXT_FIELD_TOTAL;
		options.fields[options.nr_fields++] = TEXT_FIELD_SELF;
	}
	if (first) {
		row.total = first->total;
		row.total_samples = first->samples;
	}
	text_put_fields(tree->profile, &table, first ? &row : NULL, &options, out);
	str_puts(out, "  ");
}

static void text_put_branch(const struct text_tree *tree, uint64_t whole, struct str *out)
{
	size_t begin = out->len;
	const struct focus_node *nodes = tree->focus->nodes.data;
	const struct focus_node *first = &nodes[tree->chain.data[0]];
	put_tree_fields(tree, first, nodes[tree->chain.data[tree->chain.len - 1]].self, whole, out);
	for (uint32_t i = 1; i < tree->indents.data[first->depth]; i++)
		str_puts(out, "| ");
	str_puts(out, first->is_kernel ? "[k] " : "");
	size_t used = out->len - begin;
	if (tree->options->columns)
		text_put_chain(tree,
			tree->options->columns > used ? tree->options->columns - used : 1, out);
	else
		text_put_branch_name(tree, tree->chain.data[0], 0, out);
	str_putc(out, '\n');
}

static uint32_t only_callee(const struct text_tree *tree, uint32_t at)
{
	uint32_t max_depth = tree->options->max_depth;
	bool is_last = max_depth && tree->focus->nodes.data[at].depth >= max_depth;
	return is_last ? 0 : focus_only_child(tree->focus, at);
}

/* Sets the chain that begins with a node, and how far it is indented. Returns its end. */
static uint32_t text_find_chain(struct text_tree *tree, uint32_t at)
{
	tree->chain.len = 0;
	uint32_t depth = tree->focus->nodes.data[at].depth;
	uint32_t indent = depth > 1 ? tree->indents.data[depth - 1] + 1 : 1;
	for (uint32_t end = at;; at = end) {
		vec_push(&tree->chain, at);
		depth = tree->focus->nodes.data[at].depth;
		while (tree->indents.len <= depth)
			vec_push(&tree->indents, 0);
		tree->indents.data[depth] = indent;
		end = tree->options->columns ? only_callee(tree, at) : 0;
		if (!end)
			return at;
	}
}

/* The next one in the order of printing: down, aside, or aside of what is above. 0: none. */
static uint32_t next_branch(struct focus *focus, uint32_t at, bool goes_down)
{
	if (goes_down) {
		focus_expand(focus, at);
		if (focus->nodes.data[at].first_child)
			return focus->nodes.data[at].first_child;
	}
	while (at && !focus->nodes.data[at].next_sibling)
		at = focus->nodes.data[at].parent;
	return focus->nodes.data[at].next_sibling;
}

/* What there is no room or no reason for. */
struct text_left_out {
	size_t hidden, left_out; /* below the limit, behind the last byte */
};

static struct text_left_out text_put_lines(struct text_tree *tree, uint64_t whole, struct str *out)
{
	const struct text_options *options = tree->options;
	struct focus *focus = tree->focus;
	struct text_left_out rest = {0};
	size_t begin = out->len;
	bool is_shown = true;
	for (uint32_t at = 0; (at = next_branch(focus, at, is_shown));) {
		is_shown = profile_percent(focus->nodes.data[at].total, whole) >=
			   options->percent_limit;
		rest.hidden += !is_shown;
		if (!is_shown)
			continue;
		at = text_find_chain(tree, at);
		if (options->max_bytes && out->len - begin >= options->max_bytes)
			rest.left_out++;
		else
			text_put_branch(tree, whole, out);
		is_shown = !options->max_depth || focus->nodes.data[at].depth < options->max_depth;
	}
	return rest;
}

static void put_branches(const struct profile *profile, struct focus *focus,
	const struct text_options *options, struct str *out)
{
	uint64_t whole = focus->nodes.data[0].total;
	struct text_names names = {0};
	struct text_tree tree = {
		.profile = profile, .options = options, .focus = focus, .names = &names};
	tree.nr_parts = namesakes_find(profile->functions.data, profile->functions.len, NULL);
	put_tree_fields(&tree, NULL, 0, whole, out);
	str_puts(out, "calls\n");
	if (!whole)
		text_put_none(profile, options, out);
	if (options->columns) { /* once without a word, to see which names come out alike */
		CLEANUP(str_deinit) struct str unused = {0};
		text_put_lines(&tree, whole, &unused);
	}
	distinct_names_find(&names.names);
	names.is_found = true;
	struct text_left_out rest = text_put_lines(&tree, whole, out);
	mem_free(tree.nr_parts);
	vec_deinit(&tree.indents);
	vec_deinit(&tree.chain);
	distinct_names_deinit(&names.names);
	if (rest.left_out)
		str_printf(out,
			"# %zu more %s: the tree is longer than %zu MiB; --max-stack or a greater "
			"--percent-limit make it shorter, --percent-limit 0.5 shows all of it\n",
			rest.left_out, str_plural(rest.left_out, "branch", "branches"),
			options->max_bytes >> 20);
	if (rest.hidden)
		str_printf(out, "# %zu %s below %.2g%%\n", rest.hidden,
			str_plural(rest.hidden, "branch", "branches"), options->percent_limit);
}

void text_put_tree(const struct profile *profile, bool is_inverted,
	const struct text_options *options, struct str *out)
{
	struct slice slice;
	slice_init_all(&slice, profile);
	struct tree tree;
	CLEANUP_FREE uint32_t *groups =
		namesakes_group(profile->functions.data, profile->functions.len);
	tree_init(&tree, profile, &(struct tree_options){.groups = groups});
	CLEANUP_FREE struct tree_weight *weights = tree_weigh(&tree, &slice);
	struct focus focus;
	focus_init(&focus, &tree, weights, profile->functions.data,
		is_inverted ? FOCUS_CALLERS : FOCUS_CALLEES);
	put_branches(profile, &focus, options, out);
	focus_deinit(&focus);
	tree_deinit(&tree);
	slice_deinit(&slice);
}
