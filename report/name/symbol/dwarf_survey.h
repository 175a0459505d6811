/*
 * All that a file's debug information says, instead of what it says of some addresses: for each
 * stretch of code that is one function, inlined ones included, and one line, its chain.
 *
 * Nothing here knows what a chain is made of. Addresses where one may change are marked
 * (dwarf_marks.h), and the reader that a report uses reads each of them, so that the
 * chains are the same. A unit is read a few million bytes of code at a time, and asked for a
 * million addresses, so memory does not grow with it.
 */
#ifndef EBPROF_DWARF_SURVEY_H
#define EBPROF_DWARF_SURVEY_H

#include "format/dwarf/dwarf_marks.h"
#include "report/name/symbol/unit_resolver.h"

/* The receiver. Units are read by several threads; calls of one thread are in order. */
struct dwarf_survey_taker {
	void *context;
	/*
	 * [start, end) has this chain, whose texts are valid until forget(). Ascending within a
	 * unit; where a stretch does not start at the end of the one before, other units may
	 * stand between them.
	 */
	void (*take)(void *context, unsigned thread, uint64_t start, uint64_t end,
		const struct chain *chain);
	/* Texts of this thread are about to be no more. */
	void (*forget)(void *context, unsigned thread);
};

/* A stretch of code that belongs to one unit; or to none, between two that do. */
struct dwarf_survey_range {
	uint64_t start, end;
	uint32_t unit;
	bool is_gap;
};

struct dwarf_survey_ranges {
	VEC(struct dwarf_survey_range) list; /* by unit, then address */
};

/* False when there are none, or too many. To be deinitialized in any case. */
bool dwarf_survey_find_ranges(struct dwarf_reader *reader, struct dwarf_survey_ranges *ret);

/* What one thread needs; {0} at first. */
struct dwarf_survey {
	/* private: */
	struct dwarf_marks marks;
	VEC(struct dwarf_survey_range) window;
	VEC(struct dwarf_code) code;
	VEC(uint64_t) addresses;
};

/* Tells of the ranges of one unit. False when it cannot be read to its end. */
bool dwarf_survey_unit(struct dwarf_survey *survey, struct unit_resolver *resolver,
	struct dwarf_reader *reader, struct dwarf_unit *unit,
	const struct dwarf_survey_range *ranges, size_t count,
	const struct dwarf_survey_taker *taker, unsigned thread);

void dwarf_survey_deinit(struct dwarf_survey *survey);

#endif
