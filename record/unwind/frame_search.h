/*
 * The rule of a single place in a file whose unwind table is still being made, or took too long, by
 * the file's own search tables, .eh_frame_hdr or the functions of .NET's images: a look-up takes
 * some 30 us, a browser's table a third of a second, and on a busy machine seconds, for which
 * stacks cannot wait.
 */
#ifndef EBPROF_FRAME_SEARCH_H
#define EBPROF_FRAME_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/vec.h"
#include "record/task/object.h"

/* {0} has no files. */
struct frame_search {
	VEC(struct searched_file) files;
};

void frame_search_deinit(struct frame_search *search);

/*
 * By an offset in an object's file, the same rule as the table will have there; borrowed until the
 * next call. NULL: the file has no such table or cannot be read, no function covers the place, it
 * is one of .NET's NativeAOT, or so many places of the file were looked up that its table would
 * have taken less.
 */
const struct unwind_rule *frame_search_find(
	struct frame_search *search, struct object *object, uint64_t offset);

/*
 * Whether it is known that none of the functions in an object's file runs a script, whose frames
 * stand between those that rules lead to.
 */
bool frame_search_is_without_loop(struct frame_search *search, struct object *object);

/* The object, by its serial, has its table now. */
void frame_search_forget(struct frame_search *search, uint32_t serial);

#endif
