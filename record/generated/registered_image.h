/*
 * An ELF image that a process registered for debuggers: which code it describes, the functions in
 * it, and the rules to leave their frames. Compilers at run time make them in memory, complete with
 * the addresses where the code stands: QEMU, LLVM, LuaJIT, PHP. They are executables, as QEMU's, or
 * relocatable files whose section headers have the addresses, while symbols and .eh_frame are still
 * as the assembler left them, as LLVM's.
 *
 * Source: GDB's manual, "JIT Compilation Interface"; QEMU 7.2, tcg/tcg.c; LLVM 14,
 * RuntimeDyldELF.cpp (createRTDyldELFObject).
 */
#ifndef EBPROF_REGISTERED_IMAGE_H
#define EBPROF_REGISTERED_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/bytes.h"
#include "format/base/err.h"
#include "format/base/str.h"
#include "format/base/vec.h"

enum {
	REGISTERED_IMAGE_MAX_BYTES = 16 << 20,
	REGISTERED_IMAGE_MAX_CODE = 4096, /* pieces */
	REGISTERED_IMAGE_MAX_SYMBOLS = 64 << 10,
	REGISTERED_IMAGE_MAX_RULES = 256 << 10,
	REGISTERED_IMAGE_MAX_LINES = 64 << 10,
	REGISTERED_IMAGE_MAX_NAMES = 8 << 20,    /* bytes */
	REGISTERED_IMAGE_MAX_COPIED = 256 << 10, /* bytes of code */
};

/* All addresses are those of the process. */
struct registered_piece {
	uint64_t start, end; /* [start, end) */
};

struct registered_symbol {
	uint64_t start, end; /* [start, end) */
	uint32_t name;       /* where in the image's names it begins, with a NUL behind it */
};

struct registered_rule {
	uint64_t start; /* it holds up to the next one's; UNWIND_CFA_NONE: none is known */
	struct unwind_rule rule;
};

struct registered_line {
	uint64_t start; /* it holds up to the next one's */
	uint32_t file;  /* where in the image's names its path begins, as a symbol's */
	uint32_t line;  /* 0: none is known */
};

/* Each list ascends by its start; pieces of code are disjoint. */
struct registered_image {
	VEC(struct registered_piece) code;
	VEC(struct registered_symbol) symbols;
	VEC(struct registered_rule) rules;
	VEC(struct registered_line) lines;
	struct str names;
	/* What stood in the pieces, one behind the other; empty: there is too much of it. By that
	 * images are distinguished that had the same addresses. */
	struct bytes_buf copied;
	bool is_cut; /* a limit left out some of it */
};

/*
 * Fills *ret, which is empty. The bytes are borrowed for the call. ERR_FORMAT, ERR_UNSUPPORTED: it
 * is no ELF64 of this machine, or lies about itself.
 */
struct err *registered_image_read(
	const void *bytes, size_t len, struct registered_image *ret) ERR_MUST_CHECK;

/* A function of which a runtime says in its own words what an image says. */
struct registered_function {
	uint64_t start, size;
	const char *name;      /* NULL: unknown */
	const uint8_t *frames; /* DWARF's instructions, with 1 and -8 for its factors */
	size_t frames_len;
	const char *file;                    /* its source file; NULL: unknown */
	const struct registered_line *lines; /* of that file, whatever they say of it */
	size_t nr_lines;
};

/* Fills *ret, which is empty. */
void registered_image_of_function(
	const struct registered_function *function, struct registered_image *ret);
/* The same of a piece of .eh_frame at an address, up to where it says it ends. */
void registered_image_of_frames(
	const void *bytes, size_t len, uint64_t address, struct registered_image *ret);
void registered_image_deinit(struct registered_image *image);

/* To the worker's answer and back. False: that is no image; *ret is empty then. */
void registered_image_put(const struct registered_image *image, struct bytes_buf *ret);
bool registered_image_get(struct bytes_cursor *cursor, struct registered_image *ret);

/* Whether the address is in code that the image describes. */
bool registered_image_has(const struct registered_image *image, uint64_t address);
/*
 * Whether the code at an address is what the image was made for, by `len` bytes that stood there
 * when it was sampled.
 */
enum registered_match {
	REGISTERED_MATCH_UNKNOWN, /* there is no copy */
	REGISTERED_MATCHES,
	REGISTERED_DIFFERS,
};

enum registered_match registered_image_match(
	const struct registered_image *image, uint64_t address, const uint8_t *bytes, size_t len);
/* The function at an address, borrowed; NULL: there is none. */
const struct registered_symbol *registered_image_symbol(
	const struct registered_image *image, uint64_t address);
/* The line at an address, borrowed; NULL: none is known. */
const struct registered_line *registered_image_line(
	const struct registered_image *image, uint64_t address);
/* The rule at an address, borrowed; NULL: there is none. */
const struct unwind_rule *registered_image_rule(
	const struct registered_image *image, uint64_t address);
/* What it takes of memory. */
size_t registered_image_bytes(const struct registered_image *image);

#endif
