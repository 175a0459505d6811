/* Names of this machine's system calls. */
#ifndef EBPROF_ARM64_SYSCALLS_H
#define EBPROF_ARM64_SYSCALLS_H

enum {
	ARM64_SYSCALLS = 471, /* numbers stay below */
};

extern const char *const arm64_syscalls[ARM64_SYSCALLS]; /* NULL: there is none of that number */

#endif
