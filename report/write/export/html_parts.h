/* The events that the one shown by a page of --html is the sum of; else that one alone. */
#ifndef EBPROF_HTML_PARTS_H
#define EBPROF_HTML_PARTS_H

#include "format/base/vec.h"
#include "report/model/profile.h"

struct html_parts {
	VEC(uint32_t) events; /* by their first one where several have a name; never empty */
	uint32_t *numbers;    /* of each event of the profile: its index of events */
};

void html_parts_init(struct html_parts *parts, const struct profile *profile, uint32_t event);
void html_parts_deinit(struct html_parts *parts);

#endif
