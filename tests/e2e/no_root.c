/*
 * A thread whose stack has no root: a bare clone() leads to code without rules that jumps on, so
 * that nothing on the stack says where the thread began. Of its callers, entry and middle, spin
 * shows nothing either: it never returns, and its rbp points at zeros on its own stack, as a
 * pointer to a variable there does. Or the thread begins in spin_for, which would return, and which
 * main() calls meanwhile: what is learned there of its frame leads to a zero here.
 *
 * usage: no_root SECONDS [returning]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	STACK_BYTES = 1 << 16,
};

#ifdef __x86_64__
long start_thread_without_root(void *stack_end, void (*begin)(long));
void entry(long), spin_for(long count);
/* Flags: CLONE_VM, _FS, _FILES, _SIGHAND, _THREAD. */
__asm__(".text\n"
	".globl start_thread_without_root\n"
	"start_thread_without_root:\n"
	"	mov %rsi, %r9\n"
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
	"1:	mov $-1, %rdi\n"
	"	push $0\n"
	"	jmp *%r9\n"
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
	".size spin, . - spin\n"
	"	.skip 8192, 0xcc\n" /* more than what tables get rules for without a call */
	".type spin_for, @function\n"
	"spin_for:	sub $24, %rsp\n"
	"1:	dec %rdi\n"
	"	jnz 1b\n"
	"	add $24, %rsp\n"
	"	ret\n"
	".size spin_for, . - spin_for\n");
#else
static void entry(long count)
{
	(void)count;
}
static void spin_for(long count)
{
	(void)count;
}
static long start_thread_without_root(void *stack_end, void (*begin)(long))
{
	(void)stack_end;
	(void)begin;
	return -1;
}
#endif

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	bool is_returning = argc > 2 && strcmp(argv[2], "returning") == 0;

	char *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED || start_thread_without_root(stack + STACK_BYTES - 256,
					   is_returning ? spin_for : entry) < 0) {
		perror("no_root");
		return 1;
	}
	if (is_returning)
		for (time_t end = time(NULL) + (time_t)seconds + 1; time(NULL) < end;)
			spin_for(1000000);
	else
		usleep((useconds_t)(seconds * 1e6));
	_exit(0); /* with the thread */
}
