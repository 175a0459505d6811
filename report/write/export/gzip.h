/* A sink that compresses into another one (RFC 1952). Equal input gives equal output. */
#ifndef EBPROF_GZIP_H
#define EBPROF_GZIP_H

#include "format/base/err.h"
#include "report/write/export/export.h"

struct gzip;

/* What `sink` points to is borrowed until gzip_destroy(). */
struct gzip *gzip_create(struct byte_sink sink);
void gzip_destroy(struct gzip *gzip);

struct err *gzip_write(struct gzip *gzip, const void *bytes, size_t len) ERR_MUST_CHECK;
/* Writes what waits and the trailer. */
struct err *gzip_finish(struct gzip *gzip) ERR_MUST_CHECK;
/* For exporters that know nothing of gzip. */
struct byte_sink gzip_sink(struct gzip *gzip);

#endif
