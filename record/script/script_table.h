/*
 * Functions of programs that interpreters run: what the BPF side calls by a
 * number, each once, however many processes run it. A line of a function that
 * was seen is a place in the object that stands for its language.
 */
#ifndef EBPROF_SCRIPT_TABLE_H
#define EBPROF_SCRIPT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/runtime_row.h"
#include "format/base/map.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "record/host/target_reader.h"
#include "record/runtime/runtime_inlined.h"
#include "record/runtime/runtime_lines.h"
#include "record/task/object.h"

struct script_function {
	uint8_t kind, version; /* of struct event_code */
	bool is_inlined;       /* likewise: its lines are a struct runtime_inlined */
	bool is_of_runtime;    /* likewise */
	uint32_t first_line;
	uint32_t name, file; /* of `texts`; file "": unknown */
	uint32_t lines;      /* of `texts`: bytes; 0: there are none */
	uint32_t lines_len;
};

struct script_table {
	struct object_table *objects; /* borrowed */
	struct object
		*object_of[RUNTIME_MAX_KINDS]; /* by enum runtime_kind; NULL: not asked for yet */
	struct strtab texts, keys;             /* a key's id is that of the function */
	VEC(struct script_function) functions;
	VEC(struct runtime_line_marks) marks; /* of each function's lines */
	VEC(struct script_inlined {
		struct runtime_inlined code;
		VEC(uint32_t) functions; /* those of the table, by index in `code` */
	} *) inlined;                    /* of each function; NULL: it has none */
	struct map by_number;            /* -> function */
	struct map by_content;           /* likewise, of code that may be moved and was read */
	uint64_t text_bytes;
	struct target_reader reader; /* of what the BPF side could not read */
	VEC(struct script_reading {
		struct event_code *event; /* its texts behind it; NULL: it was read */
		bool is_again;
	}) reading;
	size_t nr_read;             /* of those */
	struct map reading_numbers; /* of those -> index of the newest << 32 | how many reads */
	uint64_t given_up;          /* code of which not all was read, for want of time */
	VEC(struct event_code *) unread; /* ... as in `reading`: what is read again later */
	uint64_t unread_from_ns;         /* when; 0: that is not known yet */
	uint64_t unread_pause_ns;        /* before that; 0: it was never tried */
	bool is_hopeful;                 /* since then some of it was read, or came to it */
};

void script_table_init(struct script_table *table, struct object_table *objects);
void script_table_deinit(struct script_table *table);

/*
 * Code got its number. To be called soon: what it lacks is read from the process, if it lives. That
 * takes its time, and never blocks the caller: script_table_collect() has the rest.
 */
void script_table_take(struct script_table *table, const struct event_code *event, size_t len);
/* Begins to read now what was taken since script_table_collect(), which does so, too. */
void script_table_send(struct script_table *table);
/*
 * Begins to read once more what was given up, of runtimes of which that is safe: after a second,
 * then after ever more unless some of it was read, or is new.
 */
void script_table_read_again(struct script_table *table, uint64_t now_ns);
/*
 * Takes what has been read meanwhile, or was given up. True: some of it is code that was given up
 * before, so it has another place from now on.
 */
bool script_table_collect(struct script_table *table);
bool script_table_is_reading(const struct script_table *table);
/* Whether the code of a frame's word is still being read. */
bool script_table_lacks(const struct script_table *table, uint64_t word);
/* Does without the code of a frame's word for now, if it is still being read; counts that. */
void script_table_give_up(struct script_table *table, uint64_t word);
/* Becomes readable when there may be something to collect; -1: nothing is being read. */
int script_table_fd(const struct script_table *table);
/* The place of a frame's word: object and offset. */
struct object *script_table_find(struct script_table *table, uint64_t word, uint64_t *offset);
struct script_frame {
	uint64_t offset;
	uint32_t flags; /* enum layout_frame_flag */
};
/*
 * The same where the frame may be those of several functions, inlined in each other: up to `max`
 * of them, the innermost first; returns how many.
 */
size_t script_table_find_inlined(struct script_table *table, uint64_t word, struct object **object,
	struct script_frame *frames, size_t max);
/* The place of a frame that is missing, and why. */
struct object *script_table_failure(struct script_table *table, enum runtime_kind kind,
	enum layout_script_failure why, uint64_t *offset);

struct script_place {
	const char *name, *file; /* borrowed; file NULL: unknown */
	uint64_t start;          /* of the function */
	uint32_t line;           /* 0: unknown */
};
void script_table_describe(
	const struct script_table *table, uint64_t offset, struct script_place *ret);

/* True when there are too many numbers: then all code is to be sent anew. */
bool script_table_is_full(const struct script_table *table);
void script_table_forget_numbers(struct script_table *table);

#endif
