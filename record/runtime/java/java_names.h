/* What Java's methods are called. */
#ifndef EBPROF_JAVA_NAMES_H
#define EBPROF_JAVA_NAMES_H

#include "format/base/str.h"

/*
 * From "java/util/HashMap.put" and "HashMap.java" to "java.util.HashMap.put" and
 * "java/util/HashMap.java". Names of stubs, which have no file and no '.', are made readable.
 */
void java_names_put_texts(struct str *name, struct str *file);

#endif
