#include "format/dwarf/dwarf_walk.h"

#include "format/dwarf/dwarf_ranges.h"

enum {
	DEPTH_MAX = 4096, /* real code nests some dozens of levels */
};

/* How much is jumped over. */
enum thoroughness {
	THOROUGH_HITS,      /* all functions without a hit */
	THOROUGH_FUNCTIONS, /* nothing that may hold a function: local ones stand in others */
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
	uint32_t level_nodes[DEPTH_MAX]; /* by depth: the function that the DIEs there stand in */
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

/* Gives a new node the addresses of a DIE; 0 when it has none of those that are looked for. */
static uint32_t claim(
	struct walker *walker, struct dwarf_ranges *ranges, uint64_t die, uint32_t parent)
{
	uint32_t node = 0;
	uint64_t first = walker->addresses[0], last = walker->addresses[walker->count - 1];
	for (uint64_t start, end; dwarf_ranges_next(ranges, &start, &end);) {
		if (start > last || end <= first)
			continue;
		size_t i = first_at_or_behind(walker, start);
		if (i == walker->count || walker->addresses[i] >= end ||
			!dwarf_file_is_code(walker->unit->line_file, start))
			continue;
		if (!node) {
			node = (uint32_t)walker->walk->nodes.len;
			vec_push(&walker->walk->nodes,
				(struct dwarf_node){.die = die, .parent = parent});
		}
		for (; i < walker->count && walker->addresses[i] < end; i++)
			walker->nodes[i] = node;
	}
	return node;
}

/* ---- DIEs ---- */

static uint64_t offset_of(const struct walker *walker)
{
	return (uint64_t)(walker->cursor.pos - walker->info);
}

/* Jumps to the sibling when the DIE told a sound one. */
static bool jump_to_sibling(struct walker *walker, const struct dwarf_captured *captured)
{
	uint16_t form = captured->forms[DWARF_SLOT_SIBLING];
	if (!form)
		return false;
	uint64_t offset = captured->values[DWARF_SLOT_SIBLING];
	if (form != DW_FORM_ref_addr)
		offset += walker->unit->header.offset;
	if (offset <= offset_of(walker) || offset > walker->unit->header.end)
		return false;
	walker->cursor.pos = walker->info + offset;
	return true;
}

/* Skips what stands below a DIE. */
static void skip_children(struct walker *walker, const struct dwarf_captured *captured)
{
	if (jump_to_sibling(walker, captured))
		return;
	const struct dwarf_abbrevs *abbrevs = walker->unit->abbrevs;
	struct bytes_cursor *cursor = &walker->cursor;
	for (uint64_t depth = 1; depth && cursor->pos < cursor->end;) {
		uint64_t code = dwarf_uleb(cursor);
		if (!code) {
			depth--;
			continue;
		}
		const struct dwarf_abbrev *abbrev = dwarf_abbrevs_find(abbrevs, code);
		if (!abbrev) {
			dwarf_overrun(cursor);
			return;
		}
		struct dwarf_captured below;
		below.forms[DWARF_SLOT_SIBLING] = 0;
		dwarf_abbrev_run(abbrevs, abbrev, cursor, &below);
		if (abbrev->has_children && !jump_to_sibling(walker, &below))
			depth++;
	}
}

static void enter(struct walker *walker, uint32_t node)
{
	if (walker->depth + 1 == DEPTH_MAX) {
		dwarf_overrun(&walker->cursor);
		return;
	}
	walker->level_nodes[++walker->depth] = node;
}

/* A function or an inlined call: go in where it holds an address. */
static void visit_code(struct walker *walker, const struct dwarf_abbrev *abbrev,
	const struct dwarf_captured *captured, uint64_t die)
{
	uint32_t outer = walker->level_nodes[walker->depth], node = 0;
	bool is_inlined = abbrev->kind == DWARF_INLINED;
	struct dwarf_ranges ranges;
	if (outer || !is_inlined) {
		if (dwarf_ranges_start(&ranges, walker->unit, captured))
			node = claim(walker, &ranges, die, is_inlined ? outer : 0);
		else if (is_inlined)
			node = outer; /* DWARF 2 cannot say several ranges; what is below may */
	}
	if (!abbrev->has_children)
		return;
	if (node || (walker->thoroughness == THOROUGH_FUNCTIONS && !is_inlined))
		enter(walker, node);
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
	bool is_hit = walker->thoroughness == THOROUGH_FUNCTIONS ||
		      !dwarf_ranges_start(&ranges, walker->unit, captured);
	for (uint64_t start, end; !is_hit && dwarf_ranges_next(&ranges, &start, &end);) {
		size_t i = first_at_or_behind(walker, start);
		is_hit = i < walker->count && walker->addresses[i] < end;
	}
	if (is_hit)
		enter(walker, walker->level_nodes[walker->depth]);
	else
		skip_children(walker, captured);
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
	uint32_t node = walker->level_nodes[walker->depth];
	switch ((enum dwarf_kind)abbrev->kind) {
	case DWARF_FUNCTION:
	case DWARF_INLINED:
		visit_code(walker, abbrev, &captured, die);
		break;
	case DWARF_BLOCK:
		visit_block(walker, abbrev, &captured);
		break;
	case DWARF_SCOPE:
		if (abbrev->has_children)
			enter(walker, node);
		break;
	case DWARF_TYPE:
		if (abbrev->has_children && (node || walker->thoroughness == THOROUGH_FUNCTIONS))
			enter(walker, node);
		else if (abbrev->has_children)
			skip_children(walker, &captured);
		break;
	case DWARF_OTHER:
	default:
		if (abbrev->has_children)
			skip_children(walker, &captured);
		break;
	}
	return walker->depth > 0;
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
		;
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
