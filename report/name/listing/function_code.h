/*
 * The instructions of one function, of the very file that was recorded, with the lines that debug
 * information has for each.
 */
#ifndef EBPROF_FUNCTION_CODE_H
#define EBPROF_FUNCTION_CODE_H

#include "format/file/chain_map.h"
#include "report/name/listing/disassembly.h"
#include "report/name/symbol/symbol_file.h"

struct function_code_place {
	const char *file; /* of the annotated function's line; NULL: there is none */
	uint32_t line;
	/* Of what was inlined here, innermost; NULL: nothing. Mangled. */
	const char *inlined, *inlined_file;
	uint32_t inlined_line;
};

struct function_code {
	struct disassembly disassembly;
	struct function_code_place *places; /* for each instruction */
	struct str problem;                 /* a sentence; "": all is there */
	uint32_t object;
	uint64_t bias; /* address less a frame's offset, within this function */
	/* private: */
	struct chain_map chains;
};

struct function_code_request {
	const struct profile *profile; /* its meta, and which objects are none, are read */
	const struct profile_object *object;
	uint32_t object_index;
	uint64_t offset;      /* of a frame that is in it */
	const char *function; /* the annotated one's system name */
	bool is_inlined;      /* the code is another function's, into which that was inlined */
	const struct symbol_file_options *files;
	bool is_intel;
	enum demangle_mode demangle;
	const atomic_bool *is_cancelled;
};

/* Runs objdump; debuginfod is not asked. Fills *ret in any case. */
void function_code_read(const struct function_code_request *request, struct function_code *ret);
void function_code_deinit(struct function_code *code);

/* The instruction that a frame's offset is of or, for a call, inside of. False: none. */
bool function_code_find(
	const struct function_code *code, uint32_t object, uint64_t offset, size_t *ret);

#endif
