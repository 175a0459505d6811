/*
 * Where CRuby has its interpreter's loop. rb_vm_exec() is shown to others until 3.2; and
 * vm_exec_core(), which it calls, never is.
 */
#ifndef EBPROF_RUBY_LOOP_H
#define EBPROF_RUBY_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"
#include "record/runtime/runtime_file.h"

/*
 * Sets the loop and the core of `file`, and of its row where the core is. `loop` is the address of
 * rb_vm_exec(), 0: not known. *is_found false: they were not recognised.
 */
struct err *ruby_loop_find(struct elf_file *elf, uint64_t loop, struct runtime_file *file,
	bool *is_found) ERR_MUST_CHECK;

#endif
