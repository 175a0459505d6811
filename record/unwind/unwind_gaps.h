/*
 * What stands between the functions that a file has rules for: rows for code whose instructions
 * say how it is unwound (struct machine_gap), none for the rest.
 */
#ifndef EBPROF_UNWIND_GAPS_H
#define EBPROF_UNWIND_GAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/elf/elf_file.h"
#include "format/machine/machine.h"
#include "record/unwind/unwind_functions.h"
#include "record/unwind/unwind_rows.h"

/* A section of code, or a segment where the sections are not known: offsets in the file. */
struct unwind_code {
	uint64_t start, end;
};

struct unwind_gaps {
	struct elf_file *elf;               /* borrowed, as the next */
	const struct machine *machine;      /* its; NULL: of none that is known */
	struct unwind_functions *functions; /* listed and sorted */
	VEC(struct unwind_code) code;       /* ascending */
	bool has_sections;
	uint64_t bytes_left; /* to be read, of all gaps */
};

/* Of machines other than x86-64 the plain rules alone are known, see struct machine. */
void unwind_gaps_init(
	struct unwind_gaps *gaps, struct elf_file *elf, struct unwind_functions *functions);
void unwind_gaps_deinit(struct unwind_gaps *gaps);

/*
 * Whether a function is where clone() lets a new thread begin: a small one whose frame is the
 * outermost. What is ahead of it is no padding then, however small.
 */
bool unwind_gaps_begins_thread(
	const struct unwind_gaps *gaps, const struct unwind_function *function);

/* Puts rows for [from, to), offsets in the file that no function covers. */
void unwind_gaps_put(
	struct unwind_gaps *gaps, struct unwind_rows *rows, uint64_t from, uint64_t to);

#endif
