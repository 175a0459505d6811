/* Text of a demangler, up to a budget: beyond it nothing is taken, and the name is given up. */
#ifndef EBPROF_DEMANGLE_SINK_H
#define EBPROF_DEMANGLE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/str.h"

struct demangle_sink {
	struct str *out;
	size_t limit; /* the length `out` may reach */
	bool is_over;
};

/* False when the budget does not allow it; no byte is put then, and none from then on. */
bool demangle_sink_write(struct demangle_sink *sink, const char *text, size_t len);
bool demangle_sink_puts(struct demangle_sink *sink, const char *text);
bool demangle_sink_number(struct demangle_sink *sink, uint64_t number);
/* As UTF-8. False also when it is no code point. */
bool demangle_sink_code_point(struct demangle_sink *sink, uint32_t code);

#endif
