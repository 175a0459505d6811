/* Exports that cannot fill a disk, whatever the recording that they are made of. */
#ifndef EBPROF_BOUNDED_EXPORT_H
#define EBPROF_BOUNDED_EXPORT_H

#include "report/write/export/export.h"

/* Writes the profile in that format. ERR_UNSUPPORTED: it became larger than a recording of that
 * size can reasonably become. */
struct err *bounded_export_write(const struct exporter *exporter, const struct profile *profile,
	const struct export_options *options, struct byte_sink to) ERR_MUST_CHECK;

#endif
