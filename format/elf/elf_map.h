/*
 * A range of a file in memory without copying it, and memory of the size of a file.
 *
 * Who may write to a mapped file may also cut it short, and the next look at a
 * lost page is SIGBUS. A debug file belongs to a package or to the user who built the
 * program, and a rebuild during a report is an everyday thing. So a handler of
 * SIGBUS puts a page of zeros where one was lost and lets the reader go on: it
 * sees damage, which it must survive anyway. A SIGBUS elsewhere goes on to
 * the handler of before. Short ranges are copied: a page fault costs more.
 *
 * A NUL stands behind the bytes, or behind what the file has between their
 * end and that of the last page: a text that begins in them ends.
 *
 * For the report alone: the recorder, which is root, never maps what others own.
 */
#ifndef EBPROF_ELF_MAP_H
#define EBPROF_ELF_MAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_budget.h"
#include "format/elf/elf_file.h"

struct elf_map {
	const uint8_t *bytes;
	uint64_t len;
	void *base; /* of whole pages, NULL for a copy */
	size_t base_len;
	int slot; /* in the handler's table */
	uint8_t *copy;
	pthread_t populator; /* while is_populating */
	bool is_populating;
	struct elf_budget *budget; /* what it was taken from */
};

/*
 * Memory for `len` bytes that the caller fills and then reads through *ret. Much of it is a
 * file without a name, see elf_scratch.h; where there is no room for one, and for little, it is
 * memory like any other. NULL when the budget, which may be NULL, has no more, or the machine.
 */
uint8_t *elf_map_create(uint64_t len, struct elf_budget *budget, struct elf_map *ret);

/* ERR_FORMAT outside of the file. */
struct err *elf_map_range(const struct elf_file *file, uint64_t offset, uint64_t len,
	struct elf_map *ret) ERR_MUST_CHECK;
/* The same as a copy, with the NUL right behind. */
struct err *elf_map_copy(const struct elf_file *file, uint64_t offset, uint64_t len,
	struct elf_map *ret) ERR_MUST_CHECK;
/* All `len` bytes of a regular file of any kind. ERR_IO when it cannot be mapped. */
struct err *elf_map_file(int fd, uint64_t len, struct elf_map *ret) ERR_MUST_CHECK;
void elf_map_release(struct elf_map *map);

/* Gives the pages of a range back that has been read: they come again from the page cache. */
void elf_map_forget(const struct elf_map *map, uint64_t offset, uint64_t len);

#endif
