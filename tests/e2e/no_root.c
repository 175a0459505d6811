/*
 * A thread whose stack has no root: a bare clone() leads to code without rules that jumps on, so
 * that nothing on the stack says where the thread began. Of its callers, entry and middle, spin
 * shows nothing either: it never returns, and its rbp points at zeros on its own stack, as a
 * pointer to a variable there does.
 *
 * usage: no_root SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	STACK_BYTES = 1 << 16,
};

#ifdef __x86_64__
long start_thread_without_root(void *stack_end);
/* Flags: CLONE_VM, _FS, _FILES, _SIGHAND, _THREAD. */
__asm__(".text\n"
	".globl start_thread_without_root\n"
	"start_thread_without_root:\n"
	"	mov %rdi, %rsi\n"
	"	mov $0x10f00, %edi\n"
	"	xor %edx, %edx\n"
	"	xor %r10d, %r10d\n"
	"	xor %r8d, %r8d\n"
	"	mov $56, %eax\n"
	"	syscall\n"
	"	test %eax, %eax\n"
	"	jz 1f\n"
	"	ret\n"
	"1:	lea entry(%rip), %rax\n"
	"	push $0\n"
	"	jmp *%rax\n"
	"	.skip 64, 0xcc\n"
	".type entry, @function\n"
	"entry:	sub $24, %rsp\n"
	"	call middle\n"
	"	hlt\n"
	".size entry, . - entry\n"
	"	.skip 64, 0xcc\n"
	".type middle, @function\n"
	"middle:	sub $24, %rsp\n"
	"	call spin\n"
	"	hlt\n"
	".size middle, . - middle\n"
	"	.skip 64, 0xcc\n"
	".type spin, @function\n"
	"spin:	sub $64, %rsp\n"
	"	lea 8(%rsp), %rbp\n"
	"1:	inc %rax\n"
	"	imul %rax, %rcx\n"
	"	jmp 1b\n"
	".size spin, . - spin\n");
#else
static long start_thread_without_root(void *stack_end)
{
	(void)stack_end;
	return -1;
}
#endif

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	char *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED || start_thread_without_root(stack + STACK_BYTES - 256) < 0) {
		perror("no_root");
		return 1;
	}
	usleep((useconds_t)(seconds * 1e6));
	_exit(0); /* with the thread */
}
