/* Where CRuby keeps what, by version. */
#ifndef EBPROF_RUBY_LAYOUT_H
#define EBPROF_RUBY_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/ruby/ruby_row.h"

enum {
	RUBY_FIRST_VERSION = 27, /* 10 * major + minor */
	RUBY_LAST_VERSION = 34,
};

/* False: an unknown version. Addresses stay 0, as do the flags of how the context is found. */
bool ruby_layout_of_version(uint32_t version, struct ruby_row *ret);
/* Whether the BPF side may be handed it. */
bool ruby_layout_is_sound(const struct ruby_row *row);

#endif
