/* Rust's second mangling, "v0": _RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3new. */
#ifndef EBPROF_RUST_V0_H
#define EBPROF_RUST_V0_H

#include "report/name/demangle/demangle_sink.h"

/*
 * How many of the `len` bytes are such a name; 0 when it is none, or asks for
 * more work than the name of a function should. The name is then in the sink,
 * unless that is over: as rustc prints it, but without hashes of crates and
 * types of constants.
 */
size_t rust_v0_demangle(const char *mangled, size_t len, struct demangle_sink *sink);

#endif
