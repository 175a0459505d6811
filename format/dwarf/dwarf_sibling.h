/*
 * Reading over DIEs without their attributes: the abbreviation of the next one, and what follows
 * it and its children, by DW_AT_sibling. What a file says there is believed where it leads
 * forward, within the unit.
 */
#ifndef EBPROF_DWARF_SIBLING_H
#define EBPROF_DWARF_SIBLING_H

#include "format/dwarf/dwarf_unit.h"

/*
 * The abbreviation of the DIE at *pos, which is moved behind its number, for the numbers of one or
 * two bytes that nearly all have. NULL: it has another one, or ends the siblings.
 */
static inline const struct dwarf_abbrev *dwarf_abbrev_at(
	const struct dwarf_abbrevs *abbrevs, const uint8_t **pos, const uint8_t *end)
{
	const uint8_t *at = *pos;
	uint32_t code = *at++;
	if (code >= 0x80) {
		if (at == end || *at >= 0x80)
			return NULL;
		code = (code & 0x7f) | (uint32_t)*at++ << 7;
	}
	if (code - 1 >= abbrevs->nr_dense)
		return NULL;
	*pos = at;
	return &abbrevs->list.data[code - 1];
}

/*
 * What follows a DIE with children: an offset of .debug_info. `next`: where the children begin.
 * 0: it does not say.
 */
static inline uint64_t dwarf_sibling_captured(
	const struct dwarf_unit *unit, const struct dwarf_captured *captured, uint64_t next)
{
	uint16_t form = captured->forms[DWARF_SLOT_SIBLING];
	uint64_t offset = captured->values[DWARF_SLOT_SIBLING];
	if (!form)
		return 0;
	if (form != DW_FORM_ref_addr)
		offset += unit->header.offset;
	return offset > next && offset <= unit->header.end ? offset : 0;
}

/*
 * The same of a DIE of known size (abbrev->fixed), whose values begin at `values`; offsets count
 * from the unit's header, and `end` is where the unit ends, or what the DIE stands in.
 */
static inline uint64_t dwarf_sibling_fixed(
	const struct dwarf_abbrev *abbrev, const uint8_t *values, uint64_t next, uint64_t end)
{
	uint32_t sibling;
	if (abbrev->sibling_at == DWARF_NO_SIBLING)
		return 0;
	memcpy(&sibling, values + abbrev->sibling_at, sizeof(sibling));
	sibling = le32toh(sibling);
	return sibling > next && sibling <= end ? sibling : 0;
}

#endif
