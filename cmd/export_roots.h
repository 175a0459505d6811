/* The option that puts whose a sample is outermost in its stack. */
#ifndef EBPROF_EXPORT_ROOTS_H
#define EBPROF_EXPORT_ROOTS_H

#include "cmd/opt.h"

opt_parse_fn export_roots_parse; /* struct roots: comma-separated */
extern const struct opt_word export_roots_words[];

#endif
