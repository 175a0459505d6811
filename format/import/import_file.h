/* The bytes of a file that is imported; it says where they end too early. */
#ifndef EBPROF_IMPORT_FILE_H
#define EBPROF_IMPORT_FILE_H

#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/err.h"
#include "format/import/import.h"

struct import_file {
	int fd; /* borrowed */
	uint64_t bytes;
	const struct import_host *host; /* never NULL; its functions may be */
};

struct err *import_file_init(
	struct import_file *file, int fd, const struct import_host *host) ERR_MUST_CHECK;
/* Exactly `len` bytes at `offset`, which replace what is in `ret`. `what` they are, for errors. */
struct err *import_file_read(const struct import_file *file, uint64_t offset, uint64_t len,
	const char *what, struct bytes_buf *ret) ERR_MUST_CHECK;

#endif
