#include "format/base/mem.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	GROWTH_BYTES = 16 << 20,
	KEPT_BYTES = 64 << 20,
	LARGE_BYTES = 8 << 20, /* a block goes back nevertheless, and grows without copying */
	HUGE_BYTES = 4 << 20,
	RETURNED_BYTES = 128 << 10,
};

static void out_of_memory(size_t bytes)
{
	fprintf(stderr, "ebprof: out of memory (%zu bytes)\n", bytes);
	abort();
}

static size_t array_bytes(size_t count, size_t element_bytes)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, element_bytes, &bytes))
		out_of_memory(SIZE_MAX);
	return bytes;
}

/*
 * So much is written to as a whole: a hundredth of the page faults, where the kernel has the pages.
 * It is said of all of the block's pages, since a mapping of two kinds could not grow in place.
 */
static void *prefer_huge_pages(void *block, size_t bytes)
{
	const uintptr_t page = 4096; /* a hint: it may be wrong */
	uintptr_t first = (uintptr_t)block & ~(page - 1);
	uintptr_t end = ((uintptr_t)block + bytes + page - 1) & ~(page - 1);
	if (bytes >= HUGE_BYTES)
		madvise((void *)first, end - first, MADV_HUGEPAGE);
	return block;
}

void *mem_alloc(size_t bytes)
{
	void *block = malloc(bytes ? bytes : 1);
	if (!block)
		out_of_memory(bytes);
	return block;
}

void *mem_zalloc(size_t bytes)
{
	return mem_zalloc_array(1, bytes);
}

void *mem_zalloc_array(size_t count, size_t element_bytes)
{
	size_t bytes = array_bytes(count, element_bytes);
	void *block = calloc(1, bytes ? bytes : 1);
	if (!block)
		out_of_memory(bytes);
	return prefer_huge_pages(block, bytes);
}

void *mem_realloc_array(void *old, size_t count, size_t element_bytes)
{
	size_t bytes = array_bytes(count, element_bytes);
	void *block = realloc(old, bytes ? bytes : 1);
	if (!block)
		out_of_memory(bytes);
	/* What grows moves, which takes such pages apart again. */
	return old ? block : prefer_huge_pages(block, bytes);
}

char *mem_strdup(const char *text)
{
	return mem_strndup(text, strlen(text));
}

char *mem_strndup(const void *bytes, size_t len)
{
	char *copy = mem_alloc(len + 1);
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	return copy;
}

void mem_free(void *block)
{
	free(block);
}

void mem_keep_freed(void)
{
	mallopt(M_TOP_PAD, GROWTH_BYTES);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
}

/* A heap for each thread has its own leftovers; and glibc, where it may, learns to keep more. */
void mem_return_freed(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, RETURNED_BYTES);
	mallopt(M_MMAP_THRESHOLD, RETURNED_BYTES);
}

void *mem_alloc_shared(size_t bytes)
{
	void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		out_of_memory(bytes);
	return block;
}

void mem_free_shared(void *block, size_t bytes)
{
	if (block)
		munmap(block, bytes);
}

void mem_free_ptr(void *pointer_to_pointer)
{
	void *block;
	memcpy(&block, pointer_to_pointer, sizeof(block));
	free(block);
}

void mem_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- arena ---- */

struct arena_block {
	struct arena_block *next;
	uint64_t bytes[];
};

enum {
	ARENA_BLOCK_BYTES = 64 * 1024
};

void *arena_alloc(struct arena *arena, size_t bytes)
{
	size_t need = (bytes + 7) & ~(size_t)7;
	if (need < bytes)
		out_of_memory(bytes);
	if (!arena->blocks || arena->size - arena->used < need) {
		size_t size = need > ARENA_BLOCK_BYTES ? need : ARENA_BLOCK_BYTES;
		struct arena_block *block = mem_zalloc(sizeof(*block) + size);
		block->next = arena->blocks;
		arena->blocks = block;
		arena->used = 0;
		arena->size = size;
		arena->total_bytes += size;
	}
	void *result = (char *)arena->blocks->bytes + arena->used;
	arena->used += need;
	return result;
}

char *arena_strndup(struct arena *arena, const void *bytes, size_t len)
{
	char *copy = arena_alloc(arena, len + 1);
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	return copy;
}

void arena_deinit(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *next = arena->blocks->next;
		mem_free(arena->blocks);
		arena->blocks = next;
	}
	*arena = (struct arena){0};
}
