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

/*
 * One object's part of it, in lines that stand alone: why it lacks names, when `lacks_names`, all
 * that was tried, what would help where there is more to be had.
 */
void unsymbolized_put_object(const struct profile_object *object,
	const struct symbol_file_options *options, bool lacks_names, struct str *out);

#endif
