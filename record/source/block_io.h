/* The source of requests to disks, see bpf/source/block.bpf.h. */
#ifndef EBPROF_BLOCK_IO_H
#define EBPROF_BLOCK_IO_H

#include "record/source/event_source.h"

extern const struct event_source block_io_source;

#endif
