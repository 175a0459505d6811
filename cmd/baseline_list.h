/* What a folder of baselines holds, for people and for programs. */
#ifndef EBPROF_BASELINE_LIST_H
#define EBPROF_BASELINE_LIST_H

#include "report/compare/baseline/store.h"

/* To standard output; says on stderr which keys cannot be read. */
struct err *baseline_list(struct store *store, bool is_json) ERR_MUST_CHECK;

#endif
