#include "format/dwarf/dwarf_walk.h"

#include "format/dwarf/dwarf_ranges.h"
#include "format/dwarf/dwarf_sibling.h"

enum {
	DEPTH_MAX = 4096, /* real code nests some dozens of levels */
	SKIPPED = UINT32_MAX,
};

/* How much is jumped over. */
enum thoroughness {
	THOROUGH_HITS,      /* all functions without a hit */
	THOROUGH_FUNCTIONS, /* nothing that may hold a function: local ones stand in others */
};

/* What the DIEs at some depth stand in. */
enum place {
	PLACE_FREE,
	PLACE_FUNCTION,
	PLACE_SKIPPED, /* below something that is passed by and tells no sibling */
	PLACES,
};

enum action {
	PASS,     /* go on behind what stands below */
	ENTER,    /* what stands below is in the same function */
	ENTER_IT, /* what stands below is in no function that is known */
	VISIT,    /* the addresses decide */
};

static const uint8_t actions[][PLACES][DWARF_KINDS] = {
	[THOROUGH_HITS] =
		{
			[PLACE_FREE] =
				{
					[DWARF_SCOPE] = ENTER,
					[DWARF_FUNCTION] = VISIT,
					[DWARF_BLOCK] = VISIT,
				},
			[PLACE_FUNCTION] =
				{
					[DWARF_SCOPE] = ENTER,
					[DWARF_TYPE] = ENTER,
					[DWARF_FUNCTION] = VISIT,
					[DWARF_INLINED] = VISIT,
					[DWARF_BLOCK] = VISIT,
				},
		},
	[THOROUGH_FUNCTIONS] =
		{
			[PLACE_FREE] =
				{
					[DWARF_SCOPE] = ENTER,
					[DWARF_TYPE] = ENTER,
					[DWARF_DECLARED] = ENTER_IT,
					[DWARF_FUNCTION] = VISIT,
					[DWARF_BLOCK] = ENTER,
				},
			[PLACE_FUNCTION] =
				{
					[DWARF_SCOPE] = ENTER,
					[DWARF_TYPE] = ENTER,
					[DWARF_DECLARED] = ENTER_IT,
					[DWARF_FUNCTION] = VISIT,
					[DWARF_INLINED] = VISIT,
					[DWARF_BLOCK] = ENTER,
				},
		},
};

struct walker {
	struct dwarf_walk *walk;
	const struct dwarf_unit *unit;
	const uint64_t *addresses;
	size_t count;
	uint32_t *nodes;
	enum thoroughness thoroughness;
	const uint8_t *info; /* of .debug_info, where offsets count from */
	struct bytes_cursor cursor;
	uint32_t depth;
	/* By depth: the function that the DIEs there stand in, 0 for none, or SKIPPED. */
	uint32_t level_nodes[DEPTH_MAX];
};

/* ---- addresses ---- */

static size_t first_at_or_behind(const struct walker *walker, uint64_t address)
{
	const uint64_t *addresses = walker->addresses;
	size_t low = 0, count = walker->count;
	while (count) {
		size_t half = count / 2;
		bool is_before = addresses[low + half] < address;
		low = is_before ? low + half + 1 : low;
		count = is_before ? count - half - 1 : half;
	}
	return low;
}

static uint32_t dwarf_walk_add_node(struct walker *walker, uint64_t die, uint32_t parent)
{
	uint32_t node = (uint32_t)walker->walk->nodes.len;
	vec_push(&walker->walk->nodes, (struct dwarf_node){.die = die, .parent = parent});
	return node;
}

/*
 * DWARF 2 has no lists of ranges. Where code is in pieces, strict compilers tell
 * the first one; what is below may stand outside of it, even outside of the function.
 */
static bool has_loose_ranges(const struct walker *walker)
{
	return walker->unit->header.encoding.version == 2;
}

/* Gives a new node the addresses of a DIE; 0 when it has none of those that are looked for. */
static uint32_t dwarf_walk_claim(
	struct walker *walker, struct dwarf_ranges *ranges, uint64_t die, uint32_t parent)
{
	uint32_t node = 0;
	uint64_t first = walker->addresses[0], last = walker->addresses[walker->count - 1];
	bool is_modest = !parent && has_loose_ranges(walker);
	for (uint64_t start, end; dwarf_ranges_next(ranges, &start, &end);) {
		if (start > last || end <= first)
			continue;
		size_t i = first_at_or_behind(walker, start);
		if (i == walker->count || walker->addresses[i] >= end ||
			!dwarf_file_is_code(walker->unit->line_file, start))
			continue;
		if (!node)
			node = dwarf_walk_add_node(walker, die, parent);
		for (; i < walker->count && walker->addresses[i] < end; i++)
			if (!is_modest || !walker->nodes[i])
				walker->nodes[i] = node;
	}
	return node;
}

/* ---- DIEs ---- */

static uint64_t offset_of(const struct walker *walker)
{
	return (uint64_t)(walker->cursor.pos - walker->info);
}

/* Jumps to the sibling when the DIE has a sound one. */
static bool jump_to_sibling(struct walker *walker, const struct dwarf_captured *captured)
{
	uint64_t offset = dwarf_sibling_captured(walker->unit, captured, offset_of(walker));
	if (!offset)
		return false;
	walker->cursor.pos = walker->info + offset;
	return true;
}

static void dwarf_walk_enter(struct walker *walker, uint32_t node)
{
	if (walker->depth + 1 == DEPTH_MAX) {
		dwarf_overrun(&walker->cursor);
		return;
	}
	walker->level_nodes[++walker->depth] = node;
}

static void skip_children(struct walker *walker, const struct dwarf_captured *captured)
{
	if (!jump_to_sibling(walker, captured))
		dwarf_walk_enter(walker, SKIPPED);
}

/* A function or an inlined call: go in where it holds an address. */
static void visit_code(struct walker *walker, const struct dwarf_abbrev *abbrev,
	const struct dwarf_captured *captured, uint64_t die)
{
	uint32_t outer = walker->level_nodes[walker->depth], node = 0;
	bool is_inlined = abbrev->kind == DWARF_INLINED;
	struct dwarf_ranges ranges;
	bool has_ranges = dwarf_ranges_start(&ranges, walker->unit, captured);
	if (has_ranges)
		node = dwarf_walk_claim(walker, &ranges, die, is_inlined ? outer : 0);
	if (!abbrev->has_children)
		return;
	if (!node && (has_loose_ranges(walker) || (is_inlined && !has_ranges)))
		node = dwarf_walk_add_node(walker, die, is_inlined ? outer : 0);
	if (node || (walker->thoroughness == THOROUGH_FUNCTIONS && !is_inlined))
		dwarf_walk_enter(walker, node);
	else
		skip_children(walker, captured);
}

/* A block has no name; it only tells where its children cannot be. */
static void visit_block(struct walker *walker, const struct dwarf_abbrev *abbrev,
	const struct dwarf_captured *captured)
{
	if (!abbrev->has_children)
		return;
	struct dwarf_ranges ranges;
	bool is_hit =
		has_loose_ranges(walker) || !dwarf_ranges_start(&ranges, walker->unit, captured);
	for (uint64_t start, end; !is_hit && dwarf_ranges_next(&ranges, &start, &end);) {
		size_t i = first_at_or_behind(walker, start);
		is_hit = i < walker->count && walker->addresses[i] < end;
	}
	if (is_hit)
		dwarf_walk_enter(walker, walker->level_nodes[walker->depth]);
	else
		skip_children(walker, captured);
}

static const uint8_t *actions_at(const struct walker *walker, uint32_t depth)
{
	uint32_t node = walker->level_nodes[depth];
	enum place place = PLACE_FUNCTION;
	if (!node || node == SKIPPED)
		place = node ? PLACE_SKIPPED : PLACE_FREE;
	return actions[walker->thoroughness][place];
}

/* The function of what stands below a DIE that nothing is asked of but its kind. */
static uint32_t dwarf_walk_node_below(
	const struct walker *walker, uint32_t depth, enum action action)
{
	if (action == PASS)
		return SKIPPED;
	return action == ENTER ? walker->level_nodes[depth] : 0;
}

/* False at the end of the unit. */
static bool visit_die(struct walker *walker)
{
	struct bytes_cursor *cursor = &walker->cursor;
	uint64_t die = offset_of(walker);
	uint64_t code = dwarf_uleb(cursor);
	if (!code) {
		if (walker->depth)
			walker->depth--;
		return walker->depth > 0;
	}
	const struct dwarf_abbrev *abbrev = dwarf_abbrevs_find(walker->unit->abbrevs, code);
	if (!abbrev) {
		dwarf_overrun(cursor);
		return false;
	}
	struct dwarf_captured captured;
	memset(captured.forms, 0, sizeof(captured.forms));
	dwarf_abbrev_run(walker->unit->abbrevs, abbrev, cursor, &captured);
	enum action action = actions_at(walker, walker->depth)[abbrev->kind];
	if (action == VISIT && abbrev->kind == DWARF_BLOCK)
		visit_block(walker, abbrev, &captured);
	else if (action == VISIT)
		visit_code(walker, abbrev, &captured, die);
	else if (abbrev->has_children && (action != PASS || !jump_to_sibling(walker, &captured)))
		dwarf_walk_enter(walker, dwarf_walk_node_below(walker, walker->depth, action));
	return walker->depth > 0;
}

/*
 * The same as visit_die() for all DIEs up to one that must be visited or whose abbreviation
 * does not tell its size: nine of ten are of this kind, so this is where the time goes.
 * What it cannot do it leaves as it is.
 */
static void glide(struct walker *walker)
{
	const struct dwarf_abbrevs *abbrevs = walker->unit->abbrevs;
	const uint8_t *pos = walker->cursor.pos, *end = walker->cursor.end;
	const uint8_t *unit = walker->info + walker->unit->header.offset;
	uint32_t depth = walker->depth;
	const uint8_t *here = actions_at(walker, depth);
	while (pos < end) {
		if (!*pos) {
			if (depth <= 1)
				break;
			here = actions_at(walker, --depth);
			pos++;
			continue;
		}
		const uint8_t *values = pos;
		const struct dwarf_abbrev *abbrev = dwarf_abbrev_at(abbrevs, &values, end);
		if (!abbrev)
			break;
		enum action action = here[abbrev->kind];
		if (action == VISIT || abbrev->fixed == DWARF_VARIES ||
			abbrev->fixed > (uint64_t)(end - values))
			break;
		const uint8_t *next = values + abbrev->fixed;
		uint64_t sibling = 0;
		if (abbrev->has_children && action == PASS)
			sibling = dwarf_sibling_fixed(
				abbrev, values, (uint64_t)(next - unit), (uint64_t)(end - unit));
		if (abbrev->has_children && !sibling) {
			if (depth + 1 == DEPTH_MAX)
				break;
			walker->level_nodes[depth + 1] =
				dwarf_walk_node_below(walker, depth, action);
			here = actions_at(walker, ++depth);
		}
		pos = sibling ? unit + sibling : next;
	}
	walker->cursor.pos = pos;
	walker->depth = depth;
}

static void pass(struct walker *walker)
{
	const struct dwarf_unit_header *header = &walker->unit->header;
	struct dwarf_span info = walker->unit->file->sections[DWARF_INFO];
	info.len = header->end;
	walker->info = info.data;
	walker->cursor = dwarf_cursor_at(info, header->first_die);
	walker->depth = 0;
	walker->level_nodes[0] = 0;
	while (walker->cursor.pos < walker->cursor.end && visit_die(walker))
		glide(walker);
	if (walker->cursor.overrun)
		walker->walk->is_damaged = true;
}

/* What the first pass did not find, once more, without the jumps. */
static void pass_again(struct walker *walker)
{
	const uint64_t *addresses = walker->addresses;
	uint32_t *nodes = walker->nodes;
	size_t count = walker->count, left = 0;
	for (size_t i = 0; i < count; i++)
		left += !nodes[i];
	if (!left)
		return;
	CLEANUP_FREE uint64_t *missing = mem_zalloc_array(left, sizeof(*missing));
	CLEANUP_FREE uint32_t *found = mem_zalloc_array(left, sizeof(*found));
	left = 0;
	for (size_t i = 0; i < count; i++)
		if (!nodes[i])
			missing[left++] = addresses[i];
	walker->addresses = missing;
	walker->nodes = found;
	walker->count = left;
	walker->thoroughness = THOROUGH_FUNCTIONS;
	pass(walker);
	left = 0;
	for (size_t i = 0; i < count; i++)
		if (!nodes[i])
			nodes[i] = found[left++];
}

void dwarf_walk_unit(struct dwarf_walk *walk, const struct dwarf_unit *unit,
	const uint64_t *addresses, size_t count, uint32_t *nodes)
{
	memset(nodes, 0, count * sizeof(*nodes));
	if (!count)
		return;
	if (!walk->nodes.len)
		vec_push(&walk->nodes, (struct dwarf_node){0});
	CLEANUP_FREE struct walker *walker = mem_zalloc(sizeof(*walker));
	walker->walk = walk;
	walker->unit = unit;
	walker->addresses = addresses;
	walker->count = count;
	walker->nodes = nodes;
	walker->thoroughness = THOROUGH_HITS;
	pass(walker);
	pass_again(walker);
}

void dwarf_walk_deinit(struct dwarf_walk *walk)
{
	vec_deinit(&walk->nodes);
}
