/*
 * The unwind rules of one object, read from its file on this machine:
 * .eh_frame, and for addresses that it does not cover .debug_frame, of
 * the file itself and of its debug package. A file counts only when it is the
 * recorded one (see symbol_file.h).
 *
 * The program of a function is followed up to one address at each lookup;
 * since the same call sites come again and again, the outcome is kept.
 */
#ifndef EBPROF_CALL_FRAMES_H
#define EBPROF_CALL_FRAMES_H

#include <stdint.h>

#include "format/dwarf/cfi.h"
#include "report/model/profile.h"
#include "report/name/symbol/symbol_file.h"

struct call_frames;

/* The rules at an address, and the section that their expressions stand in. */
struct call_frames_row {
	const struct cfi_section *section; /* NULL: there are none */
	struct cfi_row cfi;
};

/* Never fails: an object without a readable file of that machine has no rules. */
struct call_frames *call_frames_create(const struct profile_object *object,
	const struct symbol_file_options *files, uint16_t elf_machine);
void call_frames_destroy(struct call_frames *frames);

/*
 * The rules that hold at an offset of the object, borrowed until the next call.
 * EVENT_END_COMPLETE, or why there are none.
 */
enum event_stack_end call_frames_find(
	struct call_frames *frames, uint64_t offset, const struct call_frames_row **ret);

#endif
