/* Exports into memory: behind what is there, and never failing. */
#ifndef EBPROF_MEMORY_SINK_H
#define EBPROF_MEMORY_SINK_H

#include "format/base/bytes.h"
#include "format/base/str.h"
#include "report/export/export.h"

/* `out` is borrowed as long as the sink is in use. */
struct export_sink memory_sink_text(struct str *out);
struct export_sink memory_sink_bytes(struct bytes_buf *out);

#endif
