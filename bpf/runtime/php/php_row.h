/* What the BPF programs have to know of a file with PHP in it. */
#ifndef EBPROF_PHP_ROW_H
#define EBPROF_PHP_ROW_H

#include "bpf/runtime/runtime_row.h"

enum {
	PHP_CODE_BYTES = 256, /* at most, of what is read of a function; a power of two */
};

/* Addresses are offsets in the file, as the mapping of the interpreter's loop continues. */
struct php_row {
	unsigned long long frame; /* executor_globals.current_execute_data */
	unsigned long long loop;  /* where the loop is entered */
	/* Where the loop jumps to code that opcache's compiler made, which then uses the loop's
	 * native frame; 0: it does not. */
	unsigned long long resume;
	unsigned char version;     /* 10 * major + minor */
	unsigned char stack_top;   /* EG(vm_stack_top), so much before the frame */
	unsigned short code_file;  /* offset in zend_op_array; the first and last lines follow */
	unsigned short code_start; /* likewise of its instructions */
	/* Of a zend_generator that delegates to another one (yield from): its frame, how many
	 * delegate to it, and the one that does; 0: not known. */
	unsigned char generator_frame, generator_children, generator_child;
	unsigned char zero8[7];
};

_Static_assert(sizeof(struct php_row) <= RUNTIME_ROW_WORDS * 8, "it has room in a row");

#endif
