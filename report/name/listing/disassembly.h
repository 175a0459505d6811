/*
 * Instructions, as objdump of binutils prints them. It runs without a shell on a file that is open
 * already, and is ended when it takes too long or says too much.
 */
#ifndef EBPROF_DISASSEMBLY_H
#define EBPROF_DISASSEMBLY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/base/str.h"
#include "report/name/demangle/demangle.h"
#include "report/name/symbol/function_bounds.h"
#include "report/name/symbol/symbol_index.h"

struct instruction {
	uint64_t address; /* virtual, of the file */
	size_t text;      /* where it begins in disassembly.texts */
};

struct disassembly {
	VEC(struct instruction) list; /* by address */
	struct str texts;             /* each with a NUL behind it */
	struct str problem;           /* a sentence: why there is none, or not all; "" */
};

struct disassembly_request {
	int fd;                      /* of the file; borrowed */
	uint64_t start, end;         /* virtual addresses */
	bool is_intel;               /* the syntax, where there are two */
	enum demangle_mode demangle; /* of the names that operands have */
	/* Of operands; objdump knows less of what has its symbols elsewhere. NULL: what it says. */
	const struct symbol_index *index;
	struct function_bounds *bounds;  /* of what has no symbol; NULL: likewise */
	const atomic_bool *is_cancelled; /* may be NULL */
};

/* Fills *ret in any case. */
void disassembly_run(const struct disassembly_request *request, struct disassembly *ret);
void disassembly_deinit(struct disassembly *disassembly);

const char *disassembly_text(const struct disassembly *disassembly, size_t index);

#endif
