/* Whether what was chosen is there; where it is not, the message says what is. */
#ifndef EBPROF_SELECT_CHECK_H
#define EBPROF_SELECT_CHECK_H

#include "cmd/select.h"

/*
 * Of several threads, files, processes or CPUs one suffices, and a note says which are not there.
 * `is_one_of_several` recordings: any of these may be missing in it by chance.
 */
struct err *select_check(const struct select_options *options, const struct profile *profile,
	bool is_one_of_several) ERR_MUST_CHECK;
/*
 * After symbolize() and wait_reasons_add(): fails where functions were chosen and no frame of the
 * recording is in any of them, with what the first one may be called.
 */
struct err *select_check_functions(const struct select_options *options, const struct input *input,
	const struct profile *profile) ERR_MUST_CHECK;
/* The event that a word names, by itself; NULL: that which is shown unasked. */
struct err *select_find_event(
	const struct profile *profile, const char *word, uint32_t *ret) ERR_MUST_CHECK;

#endif
