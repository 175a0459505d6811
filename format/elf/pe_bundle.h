/*
 * Programs of .NET that are a single file: behind the executable, which is the same for all of
 * them, stand the images of the program and of its libraries, and a list of what is where. Those
 * that are not compressed are mapped from there.
 *
 * Sources: src/native/corehost/bundle/{header,file_entry,reader}.{h,cpp} and
 * src/native/corehost/apphost/bundle_marker.cpp of .NET 8, 9, 10 (version 6 of the list).
 */
#ifndef EBPROF_PE_BUNDLE_H
#define EBPROF_PE_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/vec.h"

enum {
	PE_BUNDLE_MAX_IMAGES = 4096,
	PE_BUNDLE_ID_BYTES = 12,
};

struct pe_bundle_image {
	uint64_t offset, bytes; /* in the file */
};

struct pe_bundle {
	VEC(struct pe_bundle_image) images; /* by offset; each within the file, none in another */
	uint8_t id[PE_BUNDLE_ID_BYTES];     /* a sum of the contents; zeroes behind a shorter one */
	uint64_t to_address;                /* what is added to an offset: see elf_file.h */
};

/* Where in the file the list begins, by the data of the executable. 0: that does not say it. */
uint64_t pe_bundle_find_list(const uint8_t *data, size_t len);
/* The list, with what may follow it. False: it is not understood. */
bool pe_bundle_parse(const uint8_t *list, size_t len, uint64_t file_bytes, struct pe_bundle *ret);
void pe_bundle_deinit(struct pe_bundle *bundle);

#endif
