/* The machine that records, as META entries. */
#ifndef EBPROF_HOST_H
#define EBPROF_HOST_H

#include <stdbool.h>

#include "format/base/str.h"
#include "format/file/writer.h"

/* False where the kernel does not say. */
bool host_put_cpu_model(struct str *out);

/* What this boot is called, as LAYOUT_META_BOOT. False where the kernel does not say. */
bool host_put_boot(struct str *out);

void host_write_meta(struct writer *writer);

#endif
