/* Names of functions for as much room as a terminal has; every foreign byte is escaped. */
#ifndef EBPROF_TEXT_NAMES_H
#define EBPROF_TEXT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/str.h"
#include "report/model/profile.h"
#include "report/name/distinct_names.h"

/* Names that are seen at once: found in a first pass, used in a second one. */
struct text_names {
	struct distinct_names names;
	bool is_found;
};

/* Of a terminal; what is wide there counts too little, and is cut by that. */
size_t text_columns_of(const char *text, size_t len);
/* `nr_parts`: of its file's path, behind the name; `columns` 0: the whole name. */
void text_put_fitting(struct text_names *names, const struct profile_function *function,
	uint8_t nr_parts, bool has_object, size_t columns, struct str *out);

#endif
