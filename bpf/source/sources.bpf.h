/* The programs of all event sources. */
#ifndef EBPROF_SOURCES_BPF_H
#define EBPROF_SOURCES_BPF_H

#include "bpf/source/block.bpf.h"
#include "bpf/source/call.bpf.h"
#include "bpf/source/counter.bpf.h"
#include "bpf/source/heap.bpf.h"
#include "bpf/source/lock.bpf.h"
#include "bpf/source/probe.bpf.h"
#include "bpf/source/sleeper.bpf.h"
#include "bpf/source/syscall.bpf.h"
#include "bpf/source/timer.bpf.h"
#include "bpf/source/trace.bpf.h"
#include "bpf/source/wait.bpf.h"
#include "bpf/source/waker.bpf.h"

#endif
