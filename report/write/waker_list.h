/* Who ended waits, the one that most time was waited for first. */
#ifndef EBPROF_WAKER_LIST_H
#define EBPROF_WAKER_LIST_H

#include "format/base/str.h"
#include "report/analyse/scope.h"
#include "report/model/profile.h"

/*
 * As text, a line each: of the waits, or parts of them, that the scope leaves of those stacks; of
 * all of them, or of those whose stack has a function that `is_chosen`, by the functions of the
 * profile, says. False: no wakers were recorded.
 */
bool waker_list_put(const struct profile *profile, const struct scope *scope,
	const struct scope_stacks *stacks, const bool *is_chosen, struct str *out);

#endif
