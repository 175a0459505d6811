/* Types as signatures spell them: ECMA-335, II.23.2; in ReadyToRun code, docs, "Fixups". */
#ifndef EBPROF_CLR_SIGNATURE_H
#define EBPROF_CLR_SIGNATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/str.h"
#include "format/clr/clr_metadata.h"
#include "format/clr/clr_names.h"

/* Puts the type that a signature has at *at, which is advanced. False: it is not understood. */
bool clr_signature_put_type(const struct clr_metadata *metadata, uint64_t *at, struct str *out);

/* A type and what it was given. */
struct clr_owner {
	uint32_t type;   /* its row; 0: it is another module's, */
	struct str name; /* ... whose name this is, with `N for its parameters */
	struct clr_arguments arguments;
};

void clr_owner_deinit(struct clr_owner *owner);
/* The same as clr_signature_put_type() of what methods belong to. */
bool clr_signature_take_owner(
	const struct clr_metadata *metadata, uint64_t *at, struct clr_owner *ret);
/* The type that a TypeDefOrRef says, the same way. */
bool clr_signature_take_token(
	const struct clr_metadata *metadata, uint32_t token, struct clr_owner *ret);

#endif
