/*
 * The chains of functions (chain.h) that symbolization found for places of one object, by offset.
 * They stand in an archived recording and in report's cache, in the same bytes; man/ebprof-data.5
 * describes them.
 */
#ifndef EBPROF_CHAIN_MAP_H
#define EBPROF_CHAIN_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/map.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "format/file/chain.h"

enum {
	/* So that any single chain fits into a chunk. */
	CHAIN_MAP_MAX_DEPTH = 256, /* frames of a chain; the innermost beyond are left out */
	CHAIN_MAP_MAX_TEXT_BYTES = 16 << 10, /* of a name; it is cut there */
};

/* Where the chains are from; each source tells more than those before it. */
enum chain_map_detail {
	CHAIN_MAP_SYMBOLS = 0, /* symbol tables, or debug information of which a part was missing */
	CHAIN_MAP_LINES = 1,   /* tables of lines as well */
	CHAIN_MAP_INLINED = 2, /* all debug information */
	CHAIN_MAP_DETAIL_END,
};

struct chain_map_entry {
	uint64_t offset; /* as of frames: layout_frame */
	uint32_t first, count;
};

struct chain_map {
	enum chain_map_detail detail;
	/* private: */
	struct strtab strings;
	VEC(struct chain_frame) frames;
	VEC(struct chain_map_entry) list;
	struct map by_offset;  /* -> index of list, the newest */
	VEC(uint8_t *) blocks; /* in which some texts stand */
};

/*
 * Copies the chain and its texts. A later chain for an offset replaces the earlier one. An empty
 * one says that nothing can be known.
 */
void chain_map_add(struct chain_map *chains, uint64_t offset, const struct chain *chain);

/* False when there is none for `offset`. *ret is valid until the next chain is added. */
bool chain_map_find(const struct chain_map *chains, uint64_t offset, struct chain *ret);

/* The same among the chains that were added since there were `first`. */
bool chain_map_find_since(
	const struct chain_map *chains, size_t first, uint64_t offset, struct chain *ret);

size_t chain_map_count(const struct chain_map *chains);

/* How many texts they keep: chain_frame.number is not larger. */
size_t chain_map_text_count(const struct chain_map *chains);

/*
 * Calls for each text that is the name of a function, once, in an order that is the same for
 * chains that were encoded as a whole and taken.
 */
typedef void chain_map_on_function(void *context, uint32_t number, const char *text);
void chain_map_each_function(
	const struct chain_map *chains, chain_map_on_function *on_function, void *context);

/* Memory that lasts as long as the chains: a copy of a text, and a block of mem_alloc()'s. */
const char *chain_map_keep(struct chain_map *chains, const char *text, size_t len);
void chain_map_keep_block(struct chain_map *chains, uint8_t *block);

/* Whether a name or a line is known of any place. */
bool chain_map_have_names(const struct chain_map *chains);

/*
 * Appends chains from number `first` on, about 1 MiB of them. Returns the number of
 * the first chain that was left out: chain_map_count() once all is done.
 */
size_t chain_map_encode(const struct chain_map *chains, size_t first, struct bytes_buf *out);

/* Appends all of them at once; what is read as a whole is read faster then. */
void chain_map_encode_all(const struct chain_map *chains, struct bytes_buf *out);

/* Adds what was encoded. NULL, or what is wrong with it: then some may have been added. */
const char *chain_map_decode(struct chain_map *chains, struct bytes_cursor *cursor);

/*
 * Adds all that was encoded to `bytes`, which come from mem_alloc() and belong to the map from
 * then on, also where it fails. The result is as above.
 */
const char *chain_map_take(struct chain_map *chains, uint8_t *bytes, size_t len);

/* `to` is empty. */
void chain_map_copy(struct chain_map *to, const struct chain_map *from);

void chain_map_deinit(struct chain_map *chains);

#endif
