/*
 * The programs that walk the stacks of tasks that sleep: by the same functions as those of
 * sample.bpf.c, which read the memory of the task at hand instead of the current one's. They are
 * loaded while the recording goes on, and use the maps of the others, so all are declared here.
 */
#define WALKS_SLEEPERS
#include "bpf/sample.bpf.c"

#include "bpf/source/sleeper_walk.bpf.h"
