#include "format/dwarf/dwarf_scopes.h"

#include "format/base/bisect.h"
#include "format/dwarf/dwarf_sibling.h"

enum {
	DEPTH_MAX = 32, /* scopes around a function, and functions around those */
	HOPS_MAX = 16,  /* from a definition to its declaration */
	TEXT_MAX = 4096,
	CHILDREN_MAX = 4 << 20, /* of one scope: what is behind them is in none */
	EFFORT_BASE = 1 << 20,
};

/* A DIE with children that may hold a function; offsets count from the unit's header. */
struct dwarf_scope_child {
	uint32_t die, end;
	uint32_t scope; /* its index in the unit's list; 0: it is not there yet */
};

struct dwarf_scope {
	uint64_t die; /* offset in .debug_info */
	uint32_t end, parent;
	uint8_t kind;     /* enum dwarf_kind */
	uint32_t read_to; /* the children up to here are in the list, ascending */
	VEC(struct dwarf_scope_child) children;
	struct str text; /* what it puts in front of a name; "": not known yet, or not always the
			    same */
};

struct dwarf_scope_unit {
	const struct dwarf_unit *unit;
	VEC(struct dwarf_scope) list; /* the root first; empty: it has no such names */
	uint64_t *effort;             /* the reader's */
};

/* ---- DIEs ---- */

/* A cursor from here to the end of the unit. */
static struct bytes_cursor cursor_in(const struct dwarf_unit *unit, uint64_t offset)
{
	struct dwarf_span info = unit->file->sections[DWARF_INFO];
	if (info.len > unit->header.end)
		info.len = unit->header.end;
	return dwarf_cursor_at(info, offset);
}

static uint64_t cursor_offset(const struct dwarf_unit *unit, const struct bytes_cursor *cursor)
{
	return (uint64_t)(cursor->pos - unit->file->sections[DWARF_INFO].data);
}

/*
 * Reads over one DIE; its abbreviation, or NULL at the end of its siblings and where it is broken.
 * sibling: 0 where it has children and does not say what follows them.
 */
static const struct dwarf_abbrev *read_over(
	const struct dwarf_unit *unit, struct bytes_cursor *cursor, uint64_t *sibling)
{
	uint64_t code = dwarf_uleb(cursor);
	const struct dwarf_abbrev *abbrev = code ? dwarf_abbrevs_find(unit->abbrevs, code) : NULL;
	struct dwarf_captured captured;
	if (!abbrev)
		return NULL;
	memset(captured.forms, 0, sizeof(captured.forms));
	dwarf_abbrev_run(unit->abbrevs, abbrev, cursor, &captured);
	if (cursor->overrun)
		return NULL;
	uint64_t next = cursor_offset(unit, cursor);
	*sibling = abbrev->has_children ? dwarf_sibling_captured(unit, &captured, next) : next;
	return abbrev;
}

/* Moves a cursor from the first of some siblings to behind the last one. */
static void read_over_siblings(
	const struct dwarf_unit *unit, struct bytes_cursor *cursor, uint64_t *effort)
{
	for (uint32_t depth = 1; depth && !cursor->overrun && cursor->pos < cursor->end;) {
		uint64_t sibling;
		++*effort;
		if (!read_over(unit, cursor, &sibling)) {
			depth--;
			continue;
		}
		if (sibling)
			*cursor = cursor_in(unit, sibling);
		else
			depth++;
	}
}

/* ---- scopes ---- */

static bool dwarf_scopes_is_language(const struct dwarf_unit *unit)
{
	switch (unit->language) {
	case DW_LANG_none: /* what dwz found in several units is in one without a language */
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_C_plus_plus_17:
	case DW_LANG_C_plus_plus_20:
	case DW_LANG_C_plus_plus_23:
		return true;
	default:
		return false;
	}
}

/* Whether some DIE with children may say where the next one is. */
static bool dwarf_scopes_has_siblings(const struct dwarf_unit *unit)
{
	vec_each(&unit->abbrevs->list, abbrev) {
		struct bytes_cursor specs = dwarf_cursor_at(unit->abbrevs->bytes, abbrev->specs);
		while (abbrev->has_children && !specs.overrun) {
			uint64_t name = dwarf_uleb(&specs), form = dwarf_uleb(&specs);
			if (form == DW_FORM_implicit_const)
				dwarf_sleb(&specs);
			if (name == DW_AT_sibling)
				return true;
			if (!name && !form)
				break;
		}
	}
	return false;
}

/* Adds a DIE to the unit's list and returns its index there. `end`: where it and its children end.
 */
static uint32_t dwarf_scopes_add(
	struct dwarf_scope_unit *own, uint64_t die, uint32_t end, uint32_t parent)
{
	const struct dwarf_unit *unit = own->unit;
	struct bytes_cursor cursor = cursor_in(unit, die);
	uint64_t sibling;
	const struct dwarf_abbrev *abbrev = read_over(unit, &cursor, &sibling);
	bool has_children = abbrev && abbrev->has_children;
	vec_push(&own->list,
		(struct dwarf_scope){
			.die = die,
			.end = end,
			.parent = parent,
			.kind = abbrev ? abbrev->kind : DWARF_OTHER,
			.read_to = has_children ? (uint32_t)(cursor_offset(unit, &cursor) -
							     unit->header.offset)
						: end,
		});
	return (uint32_t)own->list.len - 1;
}

static struct dwarf_scope_unit *dwarf_scopes_of(
	struct dwarf_scopes *scopes, struct dwarf_reader *reader, const struct dwarf_unit *unit)
{
	bool added;
	uint64_t *slot = map_put(&scopes->units, (uint64_t)(uintptr_t)unit, &added);
	if (!added)
		return (struct dwarf_scope_unit *)(uintptr_t)*slot;
	struct dwarf_scope_unit *own = mem_zalloc(sizeof(*own));
	*slot = (uint64_t)(uintptr_t)own;
	own->unit = unit;
	own->effort = &reader->scopes_effort;
	uint64_t bytes = unit->header.end - unit->header.offset;
	if (bytes <= UINT32_MAX && unit->header.end <= unit->file->sections[DWARF_INFO].len &&
		dwarf_scopes_is_language(unit) && dwarf_scopes_has_siblings(unit))
		dwarf_scopes_add(own, unit->header.first_die, (uint32_t)bytes, 0);
	return own;
}

/*
 * What follows a DIE whose abbreviation tells its size, as nearly all do, and its children; 0: it
 * does not.
 */
static uint32_t glide_over(const struct dwarf_unit *unit, const uint8_t *base, uint32_t at,
	uint32_t end, const struct dwarf_abbrev **ret)
{
	const uint8_t *values = base + at;
	const struct dwarf_abbrev *abbrev = dwarf_abbrev_at(unit->abbrevs, &values, base + end);
	if (!abbrev || abbrev->fixed > (uint64_t)(base + end - values)) /* DWARF_VARIES, too */
		return 0;
	*ret = abbrev;
	uint64_t next = (uint64_t)(values - base) + abbrev->fixed;
	return (uint32_t)(abbrev->has_children ? dwarf_sibling_fixed(abbrev, values, next, end)
					       : next);
}

/* The same of any DIE; 0: it is the last one, or broken. */
static uint32_t walk_over(
	const struct dwarf_scope_unit *own, uint32_t at, const struct dwarf_abbrev **ret)
{
	const struct dwarf_unit *unit = own->unit;
	struct bytes_cursor cursor = cursor_in(unit, unit->header.offset + at);
	uint64_t sibling;
	*ret = read_over(unit, &cursor, &sibling);
	if (!*ret)
		return 0;
	if (!sibling) {
		read_over_siblings(unit, &cursor, own->effort);
		sibling = cursor_offset(unit, &cursor);
	}
	return (uint32_t)(sibling - unit->header.offset);
}

/* Reads children of a scope up to that which holds an offset. */
static void read_children(struct dwarf_scope_unit *own, uint32_t index, uint32_t offset)
{
	const struct dwarf_unit *unit = own->unit;
	struct dwarf_scope *scope = &own->list.data[index];
	const uint8_t *base = unit->file->sections[DWARF_INFO].data + unit->header.offset;
	uint32_t at = scope->read_to, end = scope->end, next;
	for (; at <= offset && at < end; at = next) {
		const struct dwarf_abbrev *abbrev;
		next = glide_over(unit, base, at, end, &abbrev);
		if (!next)
			next = walk_over(own, at, &abbrev);
		++*own->effort;
		if (!next || next > end || scope->children.len == CHILDREN_MAX)
			next = end;
		else if (abbrev->has_children && abbrev->kind != DWARF_OTHER &&
			 abbrev->kind != DWARF_INLINED)
			vec_push(&scope->children, (struct dwarf_scope_child){at, next, 0});
	}
	scope->read_to = at;
}

/* Of the scopes directly in one, that which holds an offset behind its own DIE; 0: none does. */
static uint32_t inner_scope_at(struct dwarf_scope_unit *own, uint32_t index, uint32_t offset)
{
	read_children(own, index, offset);
	struct dwarf_scope_child *all = own->list.data[index].children.data;
	size_t len = own->list.data[index].children.len;
	size_t ended = bisect(len, i, all[i].end <= offset);
	if (ended == len || all[ended].die >= offset)
		return 0;
	struct dwarf_scope_child *child = &all[ended];
	if (!child->scope)
		child->scope = dwarf_scopes_add(
			own, own->unit->header.offset + child->die, child->end, index);
	return child->scope;
}

/* The innermost scope around a DIE that is no block; 0: the root. */
static uint32_t scope_around(struct dwarf_scope_unit *own, uint64_t die)
{
	uint32_t at = 0, offset = (uint32_t)(die - own->unit->header.offset);
	for (int depth = 0; depth < 2 * DEPTH_MAX; depth++) {
		uint32_t inner = inner_scope_at(own, at, offset);
		if (!inner)
			break;
		at = inner;
	}
	while (at && own->list.data[at].kind == DWARF_BLOCK)
		at = own->list.data[at].parent;
	return at;
}

/* ---- names ---- */

/* A DIE's name, and the last DIE that a definition leads to: its declaration. */
struct declaration {
	struct dwarf_die die;
	struct dwarf_span name;
	uint16_t tag;
};

static struct declaration find_declaration(struct dwarf_reader *reader, struct dwarf_die die)
{
	struct declaration found = {0};
	struct dwarf_attributes it;
	for (int hops = 0; hops < HOPS_MAX && die.unit; hops++) {
		if (!dwarf_attributes_start(&it, die.unit, die.offset))
			break;
		struct dwarf_value next = {0};
		found.die = die;
		found.tag = it.tag;
		while (dwarf_attributes_next(&it))
			if (it.name == DW_AT_name && !found.name.len)
				found.name = dwarf_value_string(die.unit, &it.value);
			else if (it.name == DW_AT_abstract_origin || it.name == DW_AT_specification)
				next = it.value;
		if (!next.form)
			break;
		die = dwarf_value_die(reader, die.unit, &next);
	}
	return found;
}

static bool declaration_has_name(const struct declaration *it, const char *name)
{
	return it->name.len == strlen(name) && memcmp(it->name.data, name, it->name.len) == 0;
}

/* Lambdas as demanglers have them: "<lambda(int)>" is {lambda(int)}; some have no name. */
static void put_scope_name(
	const struct declaration *scope, const struct declaration *inner, struct str *out)
{
	static const char lambda[] = "<lambda";
	size_t len = (size_t)scope->name.len, begin = sizeof(lambda) - 1;
	const char *name = (const char *)scope->name.data;
	if (len > TEXT_MAX)
		len = TEXT_MAX;
	if (!len && scope->tag == DW_TAG_namespace)
		str_puts(out, "(anonymous namespace)");
	else if (!len)
		str_puts(out, declaration_has_name(inner, "operator()") ? "{lambda}" : "{unnamed}");
	else if (len > begin && memcmp(name, lambda, begin) == 0 && name[len - 1] == '>')
		str_printf(out, "{%.*s}", (int)len - 2, name + 1);
	else
		str_write(out, name, len);
}

static void put_scopes_around(struct dwarf_scopes *scopes, struct dwarf_reader *reader,
	const struct declaration *inner, int depth, struct str *out)
{
	if (!inner->die.unit || depth == DEPTH_MAX)
		return;
	struct dwarf_scope_unit *own = dwarf_scopes_of(scopes, reader, inner->die.unit);
	uint32_t around = own->list.len ? scope_around(own, inner->die.offset) : 0;
	if (!around)
		return;
	const struct str *known = &own->list.data[around].text;
	if (known->len) {
		str_write(out, known->data, known->len);
		return;
	}
	struct declaration outer = find_declaration(
		reader, (struct dwarf_die){inner->die.unit, own->list.data[around].die});
	/* A block declares functions of elsewhere, and those that GNU C nests have no such name. */
	if (outer.tag == DW_TAG_subprogram && inner->tag == DW_TAG_subprogram)
		return;
	size_t begin = out->len;
	put_scopes_around(scopes, reader, &outer, depth + 1, out);
	if (out->len > TEXT_MAX)
		return;
	put_scope_name(&outer, inner, out);
	str_puts(out, "::");
	if (outer.tag == DW_TAG_namespace || (outer.tag != DW_TAG_subprogram && outer.name.len))
		str_write(&own->list.data[around].text, out->data + begin, out->len - begin);
}

/* A hostile file must not have a large unit read for each of many small ones. */
static bool is_effort_spent(const struct dwarf_reader *reader)
{
	return reader->scopes_effort > EFFORT_BASE + reader->file->sections[DWARF_INFO].len;
}

struct dwarf_die dwarf_scopes_innermost(
	struct dwarf_scopes *scopes, struct dwarf_reader *reader, struct dwarf_die die)
{
	struct declaration inner = {0};
	if (!is_effort_spent(reader))
		inner = find_declaration(reader, die);
	if (!inner.die.unit)
		return (struct dwarf_die){0};
	struct dwarf_scope_unit *own = dwarf_scopes_of(scopes, reader, inner.die.unit);
	uint32_t around = own->list.len ? scope_around(own, inner.die.offset) : 0;
	return around ? (struct dwarf_die){inner.die.unit, own->list.data[around].die}
		      : (struct dwarf_die){0};
}

void dwarf_scopes_put(struct dwarf_scopes *scopes, struct dwarf_reader *reader,
	struct dwarf_die die, struct str *out)
{
	if (is_effort_spent(reader))
		return;
	struct declaration declaration = find_declaration(reader, die);
	put_scopes_around(scopes, reader, &declaration, 0, out);
}

void dwarf_scopes_deinit(struct dwarf_scopes *scopes)
{
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&scopes->units, &cursor));) {
		struct dwarf_scope_unit *own = (struct dwarf_scope_unit *)(uintptr_t)slot->value;
		vec_each(&own->list, scope) {
			vec_deinit(&scope->children);
			str_deinit(&scope->text);
		}
		vec_deinit(&own->list);
		mem_free(own);
	}
	map_deinit(&scopes->units);
}
