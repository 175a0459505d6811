/*
 * OTLP's link_table: the span of a trace that a sample's thread worked at, where it published both.
 * Index 0 is none: its IDs are zeros of the lengths that readers want.
 */
#ifndef EBPROF_OTLP_LINKS_H
#define EBPROF_OTLP_LINKS_H

#include "format/base/bytes.h"
#include "format/base/str.h"
#include "report/model/profile.h"

struct otlp_links {
	const struct profile *profile;
	struct strtab ids;    /* of a trace, and behind it those of a span */
	struct map of_labels; /* a set of labels -> index */
};

void otlp_links_init(struct otlp_links *links, const struct profile *profile);
void otlp_links_deinit(struct otlp_links *links);
/* The index of what a set of labels says; 0: it says none, or what is no ID. */
uint32_t otlp_links_index(struct otlp_links *links, uint32_t labels);
/* Whether a label of this key is said by a link. */
bool otlp_links_have(const char *key);
/* All of them, as a repeated field. */
void otlp_links_put(const struct otlp_links *links, uint32_t field, struct bytes_buf *out);

#endif
