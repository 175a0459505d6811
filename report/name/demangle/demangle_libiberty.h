/* C++ and D by libiberty, kept in bounds. Only demangle.h is to be used from outside. */
#ifndef EBPROF_DEMANGLE_LIBIBERTY_H
#define EBPROF_DEMANGLE_LIBIBERTY_H

#include "report/name/demangle/demangle_sink.h"

/*
 * False when the name is none of the language, or would take more output, stack
 * or time than a name is worth; the sink may hold a part of it then.
 */
bool demangle_cplus(const char *mangled, struct demangle_sink *sink);
bool demangle_d(const char *mangled, struct demangle_sink *sink);

#endif
