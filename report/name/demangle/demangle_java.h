/*
 * Java's methods, which the recorder calls by name and descriptor. Only demangle.h is to be used
 * from outside.
 */
#ifndef EBPROF_DEMANGLE_JAVA_H
#define EBPROF_DEMANGLE_JAVA_H

#include <stdbool.h>

#include "format/base/str.h"

/*
 * Appends "a.B.run", with parameters "a.B.run(int, java.lang.String[])", of
 * "a.B.run(I[Ljava/lang/String;)V". False, and nothing is appended, when the name does not end
 * with a descriptor of a method (Java Virtual Machine Specification, 4.3.3).
 */
bool demangle_java(const char *name, bool has_parameters, struct str *out);

#endif
