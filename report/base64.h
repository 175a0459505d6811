/* RFC 4648, section 4. */
#ifndef EBPROF_BASE64_H
#define EBPROF_BASE64_H

#include "format/base/str.h"

void base64_put(struct str *out, const void *bytes, size_t len);

#endif
