/* Where Perl keeps what, by version. */
#ifndef EBPROF_PERL_LAYOUT_H
#define EBPROF_PERL_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/perl/perl_row.h"

/* False: an unknown version. Addresses stay 0. */
bool perl_layout_of_version(uint32_t minor, struct perl_row *ret);
/* Whether the BPF side may be handed it. */
bool perl_layout_is_sound(const struct perl_row *row);

#endif
