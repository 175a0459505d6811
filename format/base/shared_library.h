/* Libraries that are loaded when a caller needs them, so that the program runs without them. */
#ifndef EBPROF_SHARED_LIBRARY_H
#define EBPROF_SHARED_LIBRARY_H

#include <stdbool.h>

/* `library`: dlopen()'s. `member`: a pointer to a function; NULL where there is none of the name.
 */
bool shared_library_find(void *library, const char *name, void *member);

#endif
