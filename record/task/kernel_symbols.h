/*
 * The names of the kernel's functions. There are 100,000 and more, so they are read in a thread of
 * its own, which begins while the BPF programs are being loaded and is waited for when the first
 * name is wanted. Formatting them takes the kernel 40 ms of CPU, a third of what a short recording
 * needs. So those of the kernel itself, which stay the same until it boots again, are kept in a
 * cache; then those of modules and of what the kernel generates are read only when code of theirs
 * was sampled.
 */
#ifndef EBPROF_KERNEL_SYMBOLS_H
#define EBPROF_KERNEL_SYMBOLS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/str.h"
#include "format/base/vec.h"

struct kernel_symbol {
	uint64_t address, size; /* size 0: nothing stands behind it */
	const char *name;       /* borrowed until the next call of a function but _text_end() */
};

struct kernel_symbol_list {
	VEC(struct kernel_symbols_entry {
		uint64_t address;
		uint32_t name; /* offset in `names` */
	}) entries;            /* by address, and of equal ones in the order of kallsyms */
	struct str names;
	uint64_t text_start, text_end; /* _text and _etext; 0: they are hidden */
};

/* The thread's until kernel_symbols_wait(), but for the fields said to be shared. */
struct kernel_symbols {
	struct kernel_symbol_list list;
	bool is_unordered;  /* while reading */
	const char *folder; /* of the cache; borrowed */

	pthread_t thread;
	bool has_thread, is_ready;
	bool is_ending; /* shared: there will be no more lookups */
	bool is_part; /* shared: they are those of the kernel itself only; the thread is through */
	uint64_t text_end; /* shared; 0 until it was read, and when it is hidden */
};

/*
 * Begins to read them, or reads them anew. `folder` is that of the cache, see cache.h: NULL for the
 * usual one, "" for none. It is borrowed.
 */
void kernel_symbols_start(struct kernel_symbols *symbols, const char *folder);
/* Stops the thread. */
void kernel_symbols_deinit(struct kernel_symbols *symbols);
/* Names of code that is not the kernel's own will be wanted: begins to read all, if need be. */
void kernel_symbols_want_all(struct kernel_symbols *symbols);

/* Returns once they are there; without a thread it reads them itself. */
void kernel_symbols_wait(struct kernel_symbols *symbols);
/*
 * The last function at or before the address, of equal ones the first. False: there is none. Behind
 * kernel_symbols_wait(); of what lies outside of the kernel itself it may wait once more.
 */
bool kernel_symbols_find(
	struct kernel_symbols *symbols, uint64_t address, struct kernel_symbol *ret);

/* Where the kernel's own text ends (_etext); 0 when that is not known, or not yet. */
uint64_t kernel_symbols_text_end(const struct kernel_symbols *symbols);

/* What the thread does: reads them from a file like /proc/kallsyms. */
void kernel_symbols_read(struct kernel_symbols *symbols, int fd);

#endif
