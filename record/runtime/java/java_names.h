/* What Java's methods are called. */
#ifndef EBPROF_JAVA_NAMES_H
#define EBPROF_JAVA_NAMES_H

#include "format/base/str.h"

/*
 * From "java/util/HashMap.get(Ljava/lang/Object;)Ljava/lang/Object;" and "HashMap.java" to
 * "java.util.HashMap.get(Ljava/lang/Object;)Ljava/lang/Object;" and "java/util/HashMap.java". A
 * descriptor of which the end is missing is left out. Names of stubs, which have no file and no
 * '.', are made readable.
 */
void java_names_put_texts(struct str *name, struct str *file);

#endif
