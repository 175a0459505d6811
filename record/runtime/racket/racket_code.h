/* What C code of Chez Scheme tells of where it keeps what. */
#ifndef EBPROF_RACKET_CODE_H
#define EBPROF_RACKET_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RACKET_TEXT_BYTES = 12, /* of code that returns a text, at most */
};

/* The code of a function, or its beginning, which has this address. */
struct racket_code {
	const uint8_t *bytes;
	size_t len;
	uint64_t address;
};

/*
 * A call, and the variable whose value is its second argument; or, if `in_structure` is not 0, a
 * variable that leads to a structure, in which it is so many bytes behind the beginning.
 */
struct racket_call {
	uint64_t argument;
	uint64_t in_structure;
	uint64_t returns_to;
};

/*
 * The address of the text that a function returns whose code begins with `lea rax, [rip + N]`, or
 * with `adrp x0, page; add x0, x0, N; ret`. False: it does not.
 */
bool racket_code_find_text(uint16_t machine, const struct racket_code *code, uint64_t *ret);
/*
 * The first call of `callee` in the code that has such an argument: `mov rsi, [rip + N]` right
 * ahead of it; `ldr x1, [xN, M]`, also with xN as it was loaded. False: there is none.
 */
bool racket_code_find_call(
	uint16_t machine, const struct racket_code *code, uint64_t callee, struct racket_call *ret);

#endif
