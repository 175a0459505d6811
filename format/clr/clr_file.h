/*
 * The images of .NET that a file has: the file is one, or it is a program with all of its images
 * in it. Addresses are those that the file's segments have (elf_file.h).
 */
#ifndef EBPROF_CLR_FILE_H
#define EBPROF_CLR_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/clr/clr_image.h"
#include "format/elf/elf_file.h"

/* One of them; it must not move while it is open. */
struct clr_file_image {
	struct elf_file *elf; /* borrowed */
	uint64_t offset;      /* where it begins in the file */
	struct clr_bytes bytes;
	struct clr_image image;
};

/* How many images there may be; none in most files. */
size_t clr_file_count(const struct elf_file *elf);
/* False: it is no image, or not understood; there is nothing to close then. */
bool clr_file_open(struct elf_file *elf, size_t index, struct clr_file_image *ret);
void clr_file_close(struct clr_file_image *image);

/* The address that the segments have for one in the image. False: that is not in the file. */
bool clr_file_address(const struct clr_file_image *image, uint32_t address, uint64_t *ret);

#endif
