/* What there is to know of each runtime that interprets programs: a row of functions. */
#ifndef EBPROF_RUNTIME_H
#define EBPROF_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/runtime/runtime_row.h"
#include "format/base/bytes.h"
#include "format/base/err.h"
#include "format/base/str.h"
#include "format/elf/elf_file.h"
#include "format/unwind/unwind_rule.h"
#include "record/runtime/runtime_file.h"
#include "record/runtime/runtime_lines.h"

struct runtime_text_bytes {
	uint8_t *data; /* the caller's */
	size_t len;
	uint8_t unit; /* bytes a character; 0: UTF-8 */
};

/* A frame of code that a runtime's compiler made, as a live process has it. */
struct runtime_frame {
	struct unwind_rule rule; /* to its caller, if */
	bool has_rule;           /* the runtime says it */
	uint8_t version;         /* as in struct event_code */
	uint32_t place;          /* in the code, as in the word of a script frame */
	uint32_t given_bytes;
	uint8_t given[RUNTIME_MAX_GIVEN_BYTES]; /* of the code: what leads to its name */
};

struct runtime {
	/* Another one whenever detect() finds another row of the same file: then files have to be
	 * looked at again of which there is a table in the cache. */
	uint32_t version;
	const char *name; /* as in --no-vm */
	/* What its compiler makes, in memory of no file, is not known by a file that was sampled
	 * before: its hook claims_anonymous of bpf/runtime/ is for all such code. */
	bool claims_code_of_no_file;
	/* It has no script frames, but labels: the file has no interpreter's loop, and no programs
	 * are loaded for it. */
	bool has_no_frames;
	/* Its frames are those of what it compiled: none is found by where the file's code is. */
	bool has_no_loop;
	const char *object; /* what stands for the file of its functions: "[python]"; or NULL */
	/* Names a frame of its compiler's code that is called from its file, since the functions
	 * are script frames. NULL: code of no file that is called from there may be others'. */
	const char *called_code;
	/* Sets *is_found and, all but the place in the file, what struct runtime_file has. */
	struct err *(*detect)(
		struct elf_file *elf, struct runtime_file *file, bool *is_found)ERR_MUST_CHECK;
	/* Turns the row's virtual addresses into what the BPF side wants. */
	void (*place)(struct runtime_row *row, uint64_t address_to_file);
	bool (*is_sound)(const struct runtime_row *row);
	/*
	 * Completes a row by what a process has in memory: `address + delta` is a place as in the
	 * row. In a reader's worker. False: not yet. NULL: rows are complete.
	 */
	bool (*complete)(uint32_t pid, uint64_t delta, struct runtime_row *row);
	/* NULL: it has nothing to be completed. */
	bool (*is_complete)(const struct runtime_row *row);
	/* Whether what completes this row completes it in the next recording, too. */
	bool (*is_kept)(const struct runtime_row *row);
	/* What a function is called, and the file that it is in, by the texts of the BPF side, in
	 * place of these; NULL: they say it. */
	void (*put_texts)(struct str *name, struct str *file);
	/* From a place in code to a line, 0: not known. The time that it takes does not depend on
	 * how long the table is. NULL: the table can only be read from its beginning on, by
	 * next_line. */
	uint32_t (*line_of)(const struct runtime_lines *lines, uint32_t place);
	runtime_next_line_fn *next_line;
	/* What names its code stays where it is, or is seen to be gone: what is not read for want
	 * of time is read later. */
	bool is_read_again;
	/* Reads a text of which not even the length could be read in time. False: it cannot be. */
	bool (*read_text)(const struct event_code *event, enum runtime_text what,
		struct runtime_text_bytes *ret);
	/*
	 * Reads what the runtime calls its threads, in a reader's worker: `ret` gets the number of
	 * each whose name the kernel may not keep whole, as the process's own pid namespace has it,
	 * the name's length, both of 32 bits, and the name. `row` is as the file alone has it.
	 * NULL: it has no such names.
	 */
	bool (*read_threads)(
		uint32_t pid, uint64_t delta, const struct runtime_row *row, struct bytes_buf *ret);
	/* It does not say these names to the kernel, where all threads are called as the first. */
	bool names_threads_alone;
	/*
	 * Reads which functions code is made of: `ret` gets a struct runtime_inlined. `given` is
	 * what the BPF side sent in place of lines. *kept is the runtime's own in this worker,
	 * as in target_reader.h. NULL: it has no such code.
	 */
	bool (*read_inlined)(
		void **kept, uint32_t pid, const void *given, size_t len, struct bytes_buf *ret);
	/* Whether the name that was sent with it says no more than what kind of code it is. NULL:
	 * none does. */
	bool (*lacks_name)(const void *given, size_t len);
	/*
	 * Finds the frame of its compiler's code at `place`, an instruction where the code was
	 * interrupted (`is_leaf`) or the last byte of a call, in a reader's worker: as leave_jit of
	 * bpf/runtime/ does, for stacks that the recorder walks. `row` is as the file alone has it.
	 * False: it is not its code. NULL: what it makes is walked as nobody's code is.
	 */
	bool (*find_frame)(uint32_t pid, uint64_t delta, const struct runtime_row *row,
		uint64_t place, bool is_leaf, struct runtime_frame *ret);
};

/* NULL: there is none of this number. */
const struct runtime *runtime_of(enum runtime_kind kind);
/* Whether functions of its files run scripts: an interpreter's loop does. */
bool runtime_has_loop(enum runtime_kind kind);

/*
 * Tells sets of runtimes apart, with the versions of their rows. `of` is runtime_of(), or stands
 * for another set.
 */
uint64_t runtime_fingerprint(const struct runtime *(*of)(enum runtime_kind kind));

/* All of them, as bits of enum runtime_kind. */
uint32_t runtimes_all(void);
/* Those of them whose frames programs are loaded for, as bits. */
uint32_t runtimes_with_frames(void);
/* Those that claim code of no file, as bits. */
uint32_t runtimes_of_code_of_no_file(void);

/* What the file has of all runtimes. ERR_IO or ERR_FORMAT when it cannot be read or lies about
 * where things are. */
struct err *runtime_detect(struct elf_file *elf, struct runtime_file *ret) ERR_MUST_CHECK;
/* Whether a row that was stored means something. */
bool runtime_row_is_sound(const struct runtime_row *row);

#define X(constant, number, name) extern const struct runtime name##_runtime;
RUNTIMES(X)
#undef X

#endif
