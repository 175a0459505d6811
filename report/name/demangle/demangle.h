/*
 * Readable names of C++, Rust (legacy and v0) and D functions, of Java's methods and Go's assembly.
 *
 * Names come from files that any user may have made, and demanglers are
 * interpreters of a compressed language: a few hundred bytes can stand for
 * gigabytes. So a name that is too long, would print too much or needs too much
 * stack or time is left mangled.
 */
#ifndef EBPROF_DEMANGLE_H
#define EBPROF_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/str.h"

enum {
	DEMANGLE_INPUT_MAX = 64 << 10,  /* bytes of a mangled name */
	DEMANGLE_OUTPUT_MAX = 16 << 10, /* bytes it may become */
};

/* How much of a name is shown. Rust's have no parameters: there TEMPLATES is as FULL. */
enum demangle_mode {
	DEMANGLE_USUAL, /* as FULL, but of Java's methods package.Class.method, of Go no .abi0 */
	DEMANGLE_FULL,  /* ns::Class<int>::method<char>(char) const */
	DEMANGLE_TEMPLATES,  /* ns::Class<int>::method<char> */
	DEMANGLE_SIMPLIFIED, /* ns::Class<...>::method<...> */
	DEMANGLE_NONE,       /* as the linker has it */
};

/*
 * Appends the demangled name, or returns false and appends nothing. What stands
 * behind the mangled name proper - the symbol's @VERSION, @plt, a clone's .cold,
 * .part.0, .llvm.123, .sse4_1.2 - is appended as it is: `foo(int).cold`. Return types of
 * C++ function templates and Rust's hashes are dropped. May use 3 MiB of the caller's
 * stack; what needs more runs in a thread of its own.
 */
bool demangle(const char *mangled, enum demangle_mode mode, struct str *out);

/*
 * How many bytes at the end of a name, demangled or not, only tell a function's clones (.cold,
 * .part.0) and versions (@GLIBC_2.2.5) apart. The stub of another library's function, `foo@plt`,
 * is a function itself.
 */
size_t demangle_suffix_length(const char *system_name);

#endif
