/*
 * What methods of .NET are called: Namespace.Outer.Inner<arguments>.Method<arguments>, in C#'s
 * words for types. What the compiler has made of a method is called by the method: lambdas, local
 * functions, and the state machines of iterators and async methods.
 */
#ifndef EBPROF_CLR_NAMES_H
#define EBPROF_CLR_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/str.h"
#include "format/base/vec.h"
#include "format/clr/clr_metadata.h"

/* What a type or a method is given in place of its parameters: their names, in order. */
struct clr_arguments {
	VEC(char *) names; /* owned */
};

void clr_arguments_add(struct clr_arguments *arguments, const char *name);
void clr_arguments_deinit(struct clr_arguments *arguments);

/* From "Outer`1.Inner`2" to "Outer<a>.Inner<b,c>"; as it is where arguments are NULL or lack. */
void clr_names_put_with(const char *name, const struct clr_arguments *arguments, struct str *out);
/* A type; `arguments` NULL: they are not known, their number stands there as in "List`1". */
void clr_names_put_type(const struct clr_metadata *metadata, uint32_t type,
	const struct clr_arguments *arguments, struct str *out);
/* A method with its type; NULL as above, but a method's are left out then. */
void clr_names_put_method(const struct clr_metadata *metadata, uint32_t method,
	const struct clr_arguments *of_type, const struct clr_arguments *of_method,
	struct str *out);
/* A method's name as the compiler made it, as people wrote it. */
void clr_names_put_readable(const char *name, size_t len, struct str *out);
/* What C# calls a type of System: "int" for "System.Int32"; else the name itself. */
const char *clr_names_word(const char *name);

#endif
