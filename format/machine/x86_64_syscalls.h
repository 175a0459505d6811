/* Names of this machine's system calls. */
#ifndef EBPROF_X86_64_SYSCALLS_H
#define EBPROF_X86_64_SYSCALLS_H

enum {
	X86_64_SYSCALLS = 471, /* numbers stay below */
};

extern const char *const x86_64_syscalls[X86_64_SYSCALLS]; /* NULL: there is none of that number */

#endif
