/*
 * Units and their DIEs: attributes with their values, strings, addresses,
 * references to other DIEs.
 *
 * A reader is what one thread needs to look into a file: units with their
 * abbreviations and what their root DIEs say, read when a caller asks.
 */
#ifndef EBPROF_DWARF_UNIT_H
#define EBPROF_DWARF_UNIT_H

#include "format/dwarf/dwarf_file.h"

struct dwarf_line_header;

struct dwarf_value {
	uint16_t form;           /* 0: no value */
	uint64_t number;         /* of everything that is one */
	struct dwarf_span bytes; /* of DW_FORM_string */
};

struct dwarf_unit {
	const struct dwarf_file *file;
	struct dwarf_unit_header header;
	const struct dwarf_abbrevs *abbrevs;

	/* Of the root DIE; a unit of a .dwo takes from its skeleton what stands only there. */
	uint64_t str_offsets_base, addr_base, rnglists_base;
	uint64_t ranges_base; /* split DWARF 4: added to offsets of ranges, not to the root's own */
	struct dwarf_span addresses; /* .debug_addr of the skeleton's file */
	struct dwarf_span ranges;    /* .debug_ranges likewise */
	struct dwarf_value low_pc, high_pc, range_list;
	uint64_t base; /* low_pc, 0 without one: where range lists start from */
	struct dwarf_span name, comp_dir, dwo_name;
	uint64_t dwo_id;
	uint16_t language; /* enum dwarf_lang */
	bool has_lines, has_children;
	uint64_t line_offset;

	const struct dwarf_file *line_file; /* whose .debug_line */
	struct dwarf_line_header *lines;    /* its header, once a caller asked; see dwarf_names.h */
};

struct dwarf_reader {
	const struct dwarf_file *file;
	struct map abbrevs;     /* where and how encoded -> struct dwarf_abbrevs * */
	struct map units;       /* address of the header -> struct dwarf_unit * */
	uint64_t bytes;         /* held by both, more or less */
	uint64_t effort;        /* bytes of abbreviations that were compiled */
	uint64_t scopes_effort; /* DIEs that dwarf_scopes.h has read over */
};

void dwarf_reader_init(struct dwarf_reader *reader, const struct dwarf_file *file);
/*
 * What is read has a limit, behind which units count as unreadable: a hostile file must not have
 * one table read for ever. From here on as much can be read again as from the beginning.
 */
void dwarf_reader_renew_limits(struct dwarf_reader *reader);
/* Forgets all units once they have become many; the caller must hold none. */
void dwarf_reader_trim(struct dwarf_reader *reader);
void dwarf_reader_deinit(struct dwarf_reader *reader);

/* The unit of this index of file->units; NULL when it cannot be read. Borrowed. */
struct dwarf_unit *dwarf_reader_unit(
	struct dwarf_reader *reader, const struct dwarf_file *file, size_t index);

/*
 * The same with nothing but its root DIE to read, which is much less work: no abbreviations.
 * False when it cannot be read.
 */
bool dwarf_reader_root(struct dwarf_reader *reader, const struct dwarf_file *file, size_t index,
	struct dwarf_unit *ret);

/* ---- DIEs ---- */

/* The attributes of one DIE, one after the other. */
struct dwarf_attributes {
	const struct dwarf_unit *unit;
	struct bytes_cursor specs, values;
	uint16_t tag;
	uint16_t name; /* enum dwarf_at */
	struct dwarf_value value;
};

/* False when no DIE stands at this offset of .debug_info, which must be of the unit. */
bool dwarf_attributes_start(
	struct dwarf_attributes *attributes, const struct dwarf_unit *unit, uint64_t offset);
bool dwarf_attributes_next(struct dwarf_attributes *attributes);

/* Empty (data NULL) when it is no string or leads nowhere. The NUL is not counted. */
struct dwarf_span dwarf_value_string(
	const struct dwarf_unit *unit, const struct dwarf_value *value);
bool dwarf_value_address(
	const struct dwarf_unit *unit, uint16_t form, uint64_t number, uint64_t *ret);
bool dwarf_unit_indexed_address(const struct dwarf_unit *unit, uint64_t index, uint64_t *ret);

/* Where a reference leads. Both NULL and 0 when nowhere. */
struct dwarf_die {
	const struct dwarf_unit *unit;
	uint64_t offset;
};
struct dwarf_die dwarf_value_die(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	const struct dwarf_value *value);

#endif
