/*
 * Memory. Running out of it aborts, here and nowhere else, so callers never
 * check. Sizes that come from input are bounded by their reader first.
 */
#ifndef EBPROF_MEM_H
#define EBPROF_MEM_H

#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t bytes) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t bytes) __attribute__((malloc, returns_nonnull));
/* An array of `count` elements; aborts when the product overflows. `old` may be NULL. */
void *mem_realloc_array(void *old, size_t count, size_t element_bytes)
	__attribute__((returns_nonnull));
void *mem_zalloc_array(size_t count, size_t element_bytes) __attribute__((malloc, returns_nonnull));
char *mem_strdup(const char *text) __attribute__((malloc, returns_nonnull));
/* A copy of `len` bytes with a NUL behind them. */
char *mem_strndup(const void *bytes, size_t len) __attribute__((malloc, returns_nonnull));
void mem_free(void *block);
/*
 * From now on little of what is freed goes back to the system, which would clear each page before
 * it comes again: for a process that ends soon.
 */
void mem_keep_freed(void);
/*
 * The contrary, for one that goes on for long: what is freed goes back as soon as it can, by
 * whichever thread. To be called before there are threads. Nothing undoes it: what the process
 * does later, naming by several threads for --open, shares the one heap; a page of 1,000,000
 * samples took 1.7 to 1.8 s of CPU time either way, on two CPUs.
 */
void mem_return_freed(void);
/* Zeroed, and the same for child processes; freed by mem_free_shared() alone, NULL is safe. */
void *mem_alloc_shared(size_t bytes) __attribute__((malloc, returns_nonnull));
void mem_free_shared(void *block, size_t bytes);

/* Runs fn(&variable) when the variable leaves its scope. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* mem_free() for CLEANUP on any pointer. */
void mem_free_ptr(void *pointer_to_pointer);
#define CLEANUP_FREE CLEANUP(mem_free_ptr)

/* Closes *fd unless it is negative, and sets it to -1. */
void mem_close_fd(int *fd);
#define CLEANUP_FD CLEANUP(mem_close_fd)

/* Takes the value out of a variable that CLEANUP guards. */
#define steal_ptr(variable) \
	__extension__({ \
		__typeof__(variable) stolen_ = (variable); \
		(variable) = NULL; \
		stolen_; \
	})
#define steal_fd(variable) \
	__extension__({ \
		int stolen_ = (variable); \
		(variable) = -1; \
		stolen_; \
	})

/* A region of memory that is freed as a whole. Zeroed, aligned to 8 bytes. */
struct arena {
	struct arena_block *blocks;
	size_t used, size; /* of the newest block */
	size_t total_bytes;
};

void *arena_alloc(struct arena *arena, size_t bytes) __attribute__((returns_nonnull));
char *arena_strndup(struct arena *arena, const void *bytes, size_t len)
	__attribute__((returns_nonnull));
void arena_deinit(struct arena *arena);

#endif
