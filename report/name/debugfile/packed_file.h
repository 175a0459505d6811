/*
 * Files that are packed as a whole: kernel modules, as distributions install them and as
 * CONFIG_MODULE_COMPRESS makes them. Recognized by their first bytes: xz, zstd, gzip.
 *
 * Sources: "The .xz File Format" 1.1.0; RFC 8878 (zstd); RFC 1952 (gzip).
 */
#ifndef EBPROF_PACKED_FILE_H
#define EBPROF_PACKED_FILE_H

#include <stdbool.h>
#include <stdint.h>

bool packed_file_is(int fd);

/*
 * A file without a name that holds it unpacked; yours. -1 for damage, for more than is
 * reasonable, and where there is no room. `len` is what the packed one has.
 */
int packed_file_unpack(int fd, uint64_t len);

#endif
