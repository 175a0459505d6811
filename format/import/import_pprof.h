/*
 * Profiles of pprof (profile.proto, github.com/google/pprof/blob/main/proto/profile.proto),
 * compressed by gzip or not: what Go, gperftools, py-spy and many others write. Names come from the
 * profile; places that have none are looked up by mappings and build IDs.
 */
#ifndef EBPROF_IMPORT_PPROF_H
#define EBPROF_IMPORT_PPROF_H

#include "format/import/import_file.h"
#include "format/import/import_output.h"

bool import_pprof_is(const uint8_t *head, size_t len);
struct err *import_pprof_read(const struct import_file *file, struct import_output *output,
	struct import_result *result) ERR_MUST_CHECK;

#endif
