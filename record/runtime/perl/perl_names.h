/* Names of Perl's subs and modules that were not in memory when they were first seen. */
#ifndef EBPROF_PERL_NAMES_H
#define EBPROF_PERL_NAMES_H

#include "record/runtime/runtime.h"

/* The function of struct vm_runtime. */
bool perl_read_text(
	const struct event_vm_code *event, enum vm_text what, struct vm_text_bytes *ret);

#endif
