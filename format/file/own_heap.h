/*
 * Runtimes that keep what programs allocate on heaps of their own, which they get from the kernel
 * in large pieces: probes of malloc() and free() see nothing of it.
 */
#ifndef EBPROF_OWN_HEAP_H
#define EBPROF_OWN_HEAP_H

/* What the runtime in a file keeps so, "objects of Java", by the file's name; NULL: nothing. */
const char *own_heap_of(const char *path);
/* What makes it ask malloc() instead, in its environment: "PYTHONMALLOC=malloc"; NULL: nothing. */
const char *own_heap_remedy(const char *path);

#endif
