/* The option by which samples are told apart in what is exported: the same words for all commands.
 */
#ifndef EBPROF_EXPORT_LABELS_H
#define EBPROF_EXPORT_LABELS_H

#include "cmd/opt.h"

opt_parse_fn export_labels_parse; /* uint32_t of enum export_label: comma-separated */
extern const struct opt_word export_labels_words[];

#endif
