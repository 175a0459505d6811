/*
 * The unwind rules of one object, read from its file on this machine with
 * libdw: .eh_frame, and for addresses that it does not cover .debug_frame, of
 * the file itself and of its debug package. A file counts only when it is the
 * recorded one (see symbol_file.h).
 *
 * libdw follows the program of a function up to one address at each lookup;
 * since the same call sites come again and again, the outcome is kept.
 */
#ifndef EBPROF_CALL_FRAMES_H
#define EBPROF_CALL_FRAMES_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "report/model/profile.h"
#include "report/name/symbol/symbol_file.h"

struct call_frames;

/* Never fails: an object without a readable file has no rules. `machine`: EM_X86_64, EM_AARCH64. */
struct call_frames *call_frames_create(const struct profile_object *object,
	const struct symbol_file_options *files, uint16_t machine);
void call_frames_destroy(struct call_frames *frames);

/*
 * The rules that hold at an offset of the object, borrowed until the next call.
 * LAYOUT_COMPLETE, or why there are none.
 */
enum layout_truncation call_frames_find(
	struct call_frames *frames, uint64_t offset, Dwarf_Frame **ret);

#endif
