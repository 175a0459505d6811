/*
 * Functions' names as they are shown, beside the chains that have the mangled ones. Demangling
 * takes ten times as long as all else that naming by kept chains does, so these
 * are kept as well.
 */
#ifndef EBPROF_SHOWN_NAMES_H
#define EBPROF_SHOWN_NAMES_H

#include "format/base/vec.h"
#include "format/file/chain_map.h"
#include "report/name/demangle/demangle.h"

/* {.mode} knows none. The texts belong to the chain map. */
struct shown_names {
	enum demangle_mode mode;
	VEC(const char *) by_number; /* of chain_frame.number - 1; NULL: not known */
};

/* How a function is shown, NULL when that is not known, as for number 0. */
static inline const char *shown_names_get(const struct shown_names *names, uint32_t number)
{
	return number - 1 < names->by_number.len ? names->by_number.data[number - 1] : NULL;
}

/* Demangles what is not known yet. Returns how many names that were. */
size_t shown_names_complete(struct shown_names *names, struct chain_map *chains);

void shown_names_encode(
	const struct shown_names *names, const struct chain_map *chains, struct bytes_buf *out);

/*
 * What was encoded with the same chains. `bytes`, from mem_alloc(), belong to the names from
 * then on. False when they cannot be that; some names may be known then.
 */
bool shown_names_take(
	struct shown_names *names, struct chain_map *chains, uint8_t *bytes, size_t len);

void shown_names_deinit(struct shown_names *names);

#endif
