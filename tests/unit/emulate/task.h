/* The emulated kernel's one task, for those parts of the kernel that lay it out. */
#ifndef EBPROF_EMULATE_TASK_H
#define EBPROF_EMULATE_TASK_H

struct all_mm;

struct all_mm *emulate_mm(void);

#endif
