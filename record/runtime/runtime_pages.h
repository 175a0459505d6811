/*
 * Memory of a process as a search reads it, which asks for many places near each other: by whole
 * pages, each as it was when the search came to it. A call of the kernel for each place would be
 * most of a search's time.
 */
#ifndef EBPROF_RUNTIME_PAGES_H
#define EBPROF_RUNTIME_PAGES_H

#include <stddef.h>
#include <stdint.h>

struct runtime_pages;

struct runtime_pages *runtime_pages_create(void);
void runtime_pages_destroy(struct runtime_pages *pages);
/* Begins a search: nothing that was read before is taken. It may read up to `max` pages. */
void runtime_pages_begin(struct runtime_pages *pages, uint32_t pid, uint32_t max);
/* How many of the bytes there are, up to the first page that cannot be read, or may not be. */
size_t runtime_pages_read(struct runtime_pages *pages, uint64_t address, void *to, size_t len);

#endif
