/* What processes that look like those of a runtime have in common. */
#ifndef EBPROF_FALSE_RUNTIME_H
#define EBPROF_FALSE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* void f(uint64_t turns, void *frame): counts down with that as its frame pointer. */
static const uint8_t spin[] = {
	0x55, 0x48, 0x89, 0xf5, /* push %rbp; mov %rsi, %rbp */
	0x48, 0xff, 0xcf,       /* 1: dec %rdi */
	0x75, 0xfb, 0x5d, 0xc3  /* jnz 1b; pop %rbp; ret */
};

static void *map_region(size_t bytes, int protection)
{
	void *region =
		mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region == MAP_FAILED)
		exit(1);
	return region;
}

#endif
