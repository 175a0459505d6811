/* The machine that records, told in META entries. */
#ifndef EBPROF_HOST_H
#define EBPROF_HOST_H

#include "format/file/writer.h"

void host_write_meta(struct writer *writer);

#endif
