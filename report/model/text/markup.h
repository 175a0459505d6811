/* Text between tags and in attributes of XML and HTML. */
#ifndef EBPROF_MARKUP_H
#define EBPROF_MARKUP_H

#include <stddef.h>

#include "format/base/str.h"

/*
 * Appends bytes of foreign origin. What a terminal could not be shown is escaped as there, so are
 * the two code points that XML has no way to write; markup becomes entities.
 */
void markup_put(struct str *out, const char *bytes, size_t len);

#endif
