/*
 * What symbolization answered for places of one object: a chain of functions for
 * each offset that was asked for. It stands in an archived recording and in
 * report's cache, in the same bytes; man/ebprof-data.5 describes them.
 */
#ifndef EBPROF_ANSWERS_H
#define EBPROF_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/map.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "format/file/chain.h"

enum {
	/* So that any single answer fits into a chunk. */
	ANSWERS_MAX_DEPTH = 256, /* frames of a chain; the innermost beyond are left out */
	ANSWERS_MAX_TEXT_BYTES = 16 << 10, /* of a name; it is cut there */
};

/* What was asked; each tells more than those before it. */
enum answers_detail {
	ANSWERS_SYMBOLS = 0, /* symbol tables, or debug information of which a part was missing */
	ANSWERS_LINES = 1,   /* tables of lines as well */
	ANSWERS_INLINED = 2, /* all debug information */
	ANSWERS_DETAIL_END,
};

struct answer {
	uint64_t offset; /* as of frames: layout_frame */
	uint32_t first, count;
};

struct answers {
	enum answers_detail detail;
	/* private: */
	struct strtab strings;
	VEC(struct chain_frame) frames;
	VEC(struct answer) list;
	struct map by_offset;  /* -> index of list, the newest */
	VEC(uint8_t *) blocks; /* in which some texts stand */
};

/*
 * Copies the chain and its texts. A later answer for an offset replaces the earlier one. An empty
 * chain says that nothing can be known.
 */
void answers_add(struct answers *answers, uint64_t offset, const struct chain *chain);

/* False when `offset` was not asked for. *ret is valid until the next answer is added. */
bool answers_find(const struct answers *answers, uint64_t offset, struct chain *ret);

/* The same among the answers that were added since there were `first`. */
bool answers_find_since(
	const struct answers *answers, size_t first, uint64_t offset, struct chain *ret);

size_t answers_count(const struct answers *answers);

/* How many texts they keep: chain_frame.number is not larger. */
size_t answers_text_count(const struct answers *answers);

/*
 * Calls for each text that is the name of a function, once, in an order that is the same for
 * answers that were encoded as a whole and taken.
 */
typedef void answers_on_function(void *context, uint32_t number, const char *text);
void answers_each_function(
	const struct answers *answers, answers_on_function *on_function, void *context);

/* Memory that lasts as long as the answers: a copy of a text, and a block of mem_alloc()'s. */
const char *answers_keep(struct answers *answers, const char *text, size_t len);
void answers_keep_block(struct answers *answers, uint8_t *block);

/* Whether a name or a line is known of any place. */
bool answers_have_names(const struct answers *answers);

/*
 * Appends answers from number `first` on, about 1 MiB of them. Returns the number of
 * the first answer that was left out: answers_count() once all is done.
 */
size_t answers_encode(const struct answers *answers, size_t first, struct bytes_buf *out);

/* Appends all of them at once; what is read as a whole is read faster then. */
void answers_encode_all(const struct answers *answers, struct bytes_buf *out);

/* Adds what was encoded. NULL, or what is wrong with it: then some may have been added. */
const char *answers_decode(struct answers *answers, struct bytes_cursor *cursor);

/*
 * Adds all that was encoded to `bytes`, which come from mem_alloc() and belong to the answers from
 * then on, whatever the result, which is as above.
 */
const char *answers_take(struct answers *answers, uint8_t *bytes, size_t len);

/* `to` is empty. */
void answers_copy(struct answers *to, const struct answers *from);

void answers_deinit(struct answers *answers);

#endif
