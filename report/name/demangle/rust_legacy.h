/*
 * Rust's first mangling, _ZN4core3fmt5Write9write_fmt17h0123456789abcdefE: a
 * C++ nested name whose last part is a hash, with $..$ for what no identifier
 * holds.
 */
#ifndef EBPROF_RUST_LEGACY_H
#define EBPROF_RUST_LEGACY_H

#include "report/name/demangle/demangle_sink.h"

/*
 * How many of the `len` bytes are such a name, its hash included; 0 when it is
 * none. The name is then in the sink, without the hash, unless that is over.
 */
size_t rust_legacy_demangle(const char *mangled, size_t len, struct demangle_sink *sink);

#endif
