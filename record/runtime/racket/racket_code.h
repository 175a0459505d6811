/* What C code of Chez Scheme tells of where it keeps what (x86-64). */
#ifndef EBPROF_RACKET_CODE_H
#define EBPROF_RACKET_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RACKET_LEA_BYTES = 7,
};

/*
 * The address of the text that a function returns whose code, at `address`, begins with
 * `lea rax, [rip + N]`. False: it does not.
 */
bool racket_code_find_text(const uint8_t *code, size_t len, uint64_t address, uint64_t *ret);
/*
 * The address of the variable whose value is the second argument of the first call of `callee` in
 * the code: `mov rsi, [rip + N]` right ahead of it. False: there is none.
 */
bool racket_code_find_argument(
	const uint8_t *code, size_t len, uint64_t address, uint64_t callee, uint64_t *ret);

#endif
