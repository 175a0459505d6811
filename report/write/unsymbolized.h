/* Why code has no names: the table at the end of a report. */
#ifndef EBPROF_UNSYMBOLIZED_H
#define EBPROF_UNSYMBOLIZED_H

#include "format/base/str.h"
#include "report/model/profile.h"
#include "report/name/symbol/symbol_file_options.h"

/*
 * The objects with samples that no symbol names, those with most first: what was tried, what was
 * refused, what would help. Also those where a debug file was refused that would have
 * told lines; and how many samples may have names of other code. Nothing when all is well. Needs a
 * symbolized profile.
 */
void unsymbolized_put(
	const struct profile *profile, const struct symbol_file_options *options, struct str *out);

/* Functions of an object that have no symbol but are known to be some: fn_START. */
struct unsymbolized_functions {
	size_t count;
	size_t by_fde, guessed; /* of them, by where they begin and end; the others: not told */
};

/* One for each object, to be freed with mem_free(). */
struct unsymbolized_functions *unsymbolized_count_functions(
	const struct profile_function *functions, size_t nr_functions, size_t nr_objects);
/* "of 2 functions by call frame information, of 1 guessed from the code". */
void unsymbolized_put_functions(const struct unsymbolized_functions *functions, struct str *out);

/*
 * One object's part of it, in lines that stand alone: why it lacks names, when `lacks_names`, all
 * that was tried, what would help where there is more to be had.
 */
void unsymbolized_put_object(const struct profile *profile, const struct profile_object *object,
	const struct symbol_file_options *options, bool lacks_names, struct str *out);

#endif
