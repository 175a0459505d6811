/* Names of Perl's subs and modules that were not in memory when they were first seen. */
#ifndef EBPROF_PERL_NAMES_H
#define EBPROF_PERL_NAMES_H

#include "record/runtime/runtime.h"

/* The function of struct runtime. */
bool perl_read_text(
	const struct event_code *event, enum runtime_text what, struct runtime_text_bytes *ret);

#endif
