/*
 * Rules within epilogues of code that .NET's compilers made, of which tables of any kind describe
 * the prologues alone: an epilogue undoes the prologue in the reverse order, so it is found by the
 * very bytes that it must have.
 */
#ifndef EBPROF_UNWIND_EPILOGUE_H
#define EBPROF_UNWIND_EPILOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/elf/elf_file.h"
#include "format/unwind/unwind_rule.h"

enum {
	UNWIND_EPILOGUE_MAX_POPS = 8,
};

/* How a function's epilogues end, ahead of the return. */
struct unwind_epilogue {
	/* The pops, or, where there are none, what adds to rsp. */
	uint8_t tail[2 * UNWIND_EPILOGUE_MAX_POPS];
	size_t tail_len;
	uint8_t popped[UNWIND_EPILOGUE_MAX_POPS]; /* registers, as UNWIND_INFO calls them */
	uint32_t nr_pops;
	uint32_t allocated; /* bytes; 0: the pops are all */
	bool has_frame;     /* rsp is set by rbp */
};

/* By UNWIND_INFO, UNWIND_INFO_BYTES. False: the function has no epilogue that is more than its
 * return, or an odd one. */
bool unwind_epilogue_of_info(const uint8_t *info, struct unwind_epilogue *ret);
/* The same by the instructions that the function begins with. */
bool unwind_epilogue_of_code(const uint8_t *code, size_t len, struct unwind_epilogue *ret);

typedef void unwind_epilogue_on_rule(
	void *context, uint64_t address, const struct unwind_rule *rule);
/* What the function's rows are made from. */
struct unwind_epilogue_rows {
	uint64_t start;          /* the function's address */
	struct unwind_rule body; /* behind the prologue */
	unwind_epilogue_on_rule *on_rule;
	void *context;
};

/* Where .NET's NativeAOT has put its code, whose call frame information describes no epilogues;
 * both 0: the file has none. */
struct unwind_managed {
	uint64_t start, end; /* addresses */
};

struct unwind_managed unwind_epilogue_find_managed(struct elf_file *elf);

/* Puts the rows of all epilogues in [from, len) of the function's code, by address. */
void unwind_epilogue_put_all(const struct unwind_epilogue *epilogue,
	const struct unwind_epilogue_rows *rows, const uint8_t *code, size_t from, size_t len);

#endif
