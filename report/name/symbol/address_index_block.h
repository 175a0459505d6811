/* Inside of address_index_writer.h: puts stretches of code and their chains into blocks. */
#ifndef EBPROF_ADDRESS_INDEX_BLOCK_H
#define EBPROF_ADDRESS_INDEX_BLOCK_H

#include "format/base/bytes.h"
#include "format/base/map.h"
#include "format/file/chain.h"

/* What a text or a function is called in the file. */
struct address_index_names {
	void *context;
	uint32_t (*text)(void *context, const char *text);
	uint32_t (*function)(void *context, uint32_t name, uint32_t decl_file, uint32_t decl_line);
};

/* A block under construction; {0} is none. */
struct address_index_block {
	uint64_t start, end; /* of the code; both 0 while there is none */
	struct bytes_buf bytes;
	/* private: */
	uint64_t last_start;
	struct map texts, functions, nodes; /* -> numbers */
	VEC(struct block_function) function_list;
	VEC(struct block_node) node_list;
	VEC(struct block_step) path; /* to the last stretch's node, outermost first */
	const char *file;            /* of the last stretch */
	uint32_t line, column;
};

/*
 * Adds a stretch, which starts where the block ends. Texts are told apart by where they are in
 * memory.
 */
void address_index_block_put(struct address_index_block *block, uint64_t start, uint64_t end,
	const struct chain *chain, const struct address_index_names *names);

/* Empties it. */
void address_index_block_reset(struct address_index_block *block);
void address_index_block_deinit(struct address_index_block *block);

#endif
