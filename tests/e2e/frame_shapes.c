/*
 * Functions whose frames are of every kind that compilers and hand-written assembly make, each run
 * some times. What their callers are is to be judged by stepped.c; here is only the variety.
 *
 *   frame_shapes [SHAPE]    all that there are, or one
 */
#include <alloca.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#if defined(__clang__)
#undef NOINLINE
#define NOINLINE __attribute__((noinline))
#endif

static volatile long sink;

NOINLINE static long leaf(long n)
{
	sink += n;
	return n * 3 + sink % 7;
}

/* Between pages that nothing can be in, so that it is a mapping of its own. */
static char *new_stack(size_t bytes)
{
	char *all = mmap(
		NULL, bytes + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		exit(1);
	mprotect(all, 4096, PROT_NONE);
	mprotect(all + 4096 + bytes, 4096, PROT_NONE);
	return all + 4096;
}

/* ---- by the compiler ---- */

NOINLINE static long red_zone(long n) /* writes below its stack pointer */
{
	volatile long a[12];
	for (int i = 0; i < 12; i++)
		a[i] = n + i;
	return a[n & 7] + a[3];
}

NOINLINE static long shrink_wrapped(const long *p, long n) /* saves registers only when it has to */
{
	if (!p)
		return -1;
	if (n < 2)
		return p[0];
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum += leaf(p[i] + sum) * leaf(i) - p[n - 1 - i];
	return sum + leaf(n);
}

NOINLINE static long with_alloca(long n)
{
	char *p = alloca((size_t)(n * 16 + 1));
	memset(p, (int)n, (size_t)(n * 16 + 1));
	return leaf(p[n]) + leaf(p[0]);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvla"
NOINLINE static long with_vla(long n)
{
	long sum = 0;
	for (long k = 1; k < n; k++) {
		long v[k]; /* comes and goes with each turn */
		for (long i = 0; i < k; i++)
			v[i] = leaf(i);
		sum += v[k / 2];
	}
	return sum;
}
#pragma GCC diagnostic pop

NOINLINE static long aligned_frame(long n) /* its CFA is in another register or in memory */
{
	__attribute__((aligned(64))) volatile long v[8];
	char *p = alloca((size_t)(n * 8 + 8));
	p[0] = 1;
	for (int i = 0; i < 8; i++)
		v[i] = leaf(i + n);
	return v[2] + leaf(p[0]) + ((uintptr_t)v & 63 ? 1 : 0);
}

NOINLINE static long large_frame(long n) /* probes each page of it, where so asked */
{
	volatile char big[40000];
	big[0] = (char)n;
	big[39999] = (char)leaf(n);
	return leaf(big[0] + big[39999]);
}

NOINLINE static long variadic(int count, ...)
{
	va_list list;
	long sum = 0;
	va_start(list, count);
	for (int i = 0; i < count; i++)
		sum += i % 3 == 2 ? (long)va_arg(list, double) : leaf(va_arg(list, long));
	va_end(list);
	return sum;
}

struct big {
	long v[12];
};

NOINLINE static struct big by_value(
	struct big b, long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8)
{
	b.v[0] = leaf(a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8);
	b.v[3] += leaf(b.v[0]);
	return b;
}

NOINLINE static long tail_target(long n)
{
	return leaf(n) + 1;
}

NOINLINE static long tail_call(long n)
{
	leaf(n);
	leaf(n + 1);
	return tail_target(n);
}

static long (*volatile targets[4])(long) = {leaf, tail_target, red_zone, with_alloca};

NOINLINE static long tail_call_indirect(long n)
{
	leaf(n);
	return targets[n & 3](n & 7);
}

NOINLINE static long through_table(long n)
{
	switch (n % 12) {
	case 0:
		return leaf(n);
	case 1:
		return leaf(n) + leaf(n + 1);
	case 2:
		return with_alloca(n);
	case 3:
		return red_zone(n) * 3;
	case 4:
		return leaf(n) - tail_call(n);
	case 5:
		return n * leaf(n - 1) * leaf(n - 2);
	case 6:
		return variadic(2, n, n);
	case 7:
		return leaf(n) ^ 5;
	case 8:
		return aligned_frame(n);
	case 9:
		sink++;
		return 4;
	case 10:
		return tail_call_indirect(n);
	default:
		return leaf(-n) * 2;
	}
}

NOINLINE static long threaded_code(const unsigned char *program)
{
#if defined(__clang__) || defined(__GNUC__)
	static const void *const to[] = {&&op_add, &&op_call, &&op_vla, &&op_end};
	long a = 1;
	const unsigned char *pc = program;
	goto *to[*pc];
op_add:
	a += *pc + 7;
	pc++;
	goto *to[*pc];
op_call:
	a = leaf(a & 0xff);
	pc++;
	goto *to[*pc];
op_vla:
	a += with_alloca(a & 7);
	pc++;
	goto *to[*pc];
op_end:
	return a;
#else
	return leaf(program[0]);
#endif
}

static jmp_buf back;

__attribute__((noreturn)) NOINLINE static void never_returns(long n)
{
	leaf(n);
	longjmp(back, (int)n + 1);
}

NOINLINE static long calls_what_never_returns(long n) /* the last call may be its last byte */
{
	if (leaf(n) == 12345678)
		return 3;
	leaf(n);
	never_returns(n & 7);
}

NOINLINE static long set_and_jump(long n)
{
	if (setjmp(back))
		return leaf(n);
	return calls_what_never_returns(n);
}

NOINLINE static long recurse(long n)
{
	return n ? recurse(n - 1) + leaf(n) : leaf(0);
}

NOINLINE static long many_registers(long a, long b, long c, long d, long e, long f)
{
	long g = leaf(a), h = leaf(b), i = leaf(c), j = leaf(d), k = leaf(e), l = leaf(f);
	for (int n = 0; n < 3; n++) {
		g += leaf(h) * i;
		h ^= j + k;
		i += leaf(l) - a * b;
		j = j * 5 + c * d;
		k += leaf(e + f + g);
		l ^= h + i;
	}
	return g + h + i + j + k + l;
}

NOINLINE static double floating(double x, long n)
{
	double s = 0;
	for (long i = 0; i < n; i++)
		s += x * (double)leaf(i) + s / 3;
	return s;
}

static int compare(const void *a, const void *b)
{
	return (int)(leaf(*(const int *)a) - leaf(*(const int *)b));
}

NOINLINE static void callback(void)
{
	int v[9] = {4, 1, 8, 2, 9, 3, 7, 5, 6};
	qsort(v, 9, sizeof(int), compare);
	sink += v[0];
}

static void clean(long *p)
{
	leaf(*p);
}

NOINLINE static long with_cleanup(long n)
{
	__attribute__((cleanup(clean))) long a = leaf(n);
	__attribute__((cleanup(clean))) long b = leaf(a & 63);
	return a < b ? leaf(a) : b;
}

NOINLINE static long doubled_loop(long n) /* what -O3 unrolls, peels and splits */
{
	long v[40], s = 0;
	for (int i = 0; i < 40; i++)
		v[i] = i * n;
	for (int i = 0; i < 40; i++)
		for (int k = 0; k < i; k++)
			s += v[k] * v[i] % 13;
	return leaf(s);
}

static void by_compiler(void)
{
	static const long data[] = {1, 2, 3, 4, 5, 6};
	static const unsigned char program[] = {0, 1, 0, 2, 1, 3};
	struct big b = {{1, 2, 3}};
	for (long n = 0; n < 12; n++)
		sink += through_table(n);
	sink += red_zone(3) + shrink_wrapped(NULL, 1) + shrink_wrapped(data, 1);
	sink += shrink_wrapped(data, 6) + with_alloca(5) + with_vla(5) + aligned_frame(3);
	sink += large_frame(2) + variadic(5, 1L, 2L, 3.0, 4L, 5L);
	b = by_value(b, 1, 2, 3, 4, 5, 6, 7, 8);
	sink += b.v[0] + tail_call(2) + threaded_code(program);
	for (long n = 0; n < 4; n++)
		sink += tail_call_indirect(n) + set_and_jump(n);
	sink += recurse(20) + many_registers(1, 2, 3, 4, 5, 6) + (long)floating(1.5, 4);
	sink += with_cleanup(4) + doubled_loop(3);
	callback();
}

/* ---- by hand ---- */

#if defined(__x86_64__)
long pushes_amid(long), by_rbx(long), learns_pc(long), pops_arguments(long, long), enters(long),
	returns_by_push(long), moves_stack(long), pops_to_memory(long), calls_inside(long),
	aligns_by_hand(long), jumps_into(long), pushes_in_loop(long), saves_flags(long),
	by_rbp_data(long), exchanges_stack(long, void *), many_exits(long), skips_code(long),
	by_memory(long), retpoline(long), pushes_constants(long), lea_frame(long),
	falls_through(long), adds_register(long), leaf_of_hand(long);
void switch_stacks(void **from, void *to);
void starts_on_stack(void);

__asm__(".text\n"
	".p2align 4\n"
	"leaf_of_hand:\n"
	"	lea 3(%rdi), %rax\n"
	"	ret\n"
	/* registers saved where they are first needed, calls between */
	".p2align 4\n"
	"pushes_amid:\n"
	"	mov %rdi, %rax\n"
	"	add $5, %rax\n"
	"	push %rbx\n"
	"	mov %rdi, %rbx\n"
	"	test $1, %bl\n"
	"	jz 1f\n"
	"	push %r12\n"
	"	mov %rbx, %r12\n"
	"	push %r13\n"
	"	mov %r12, %rdi\n"
	"	call leaf_of_hand\n"
	"	mov %rax, %r13\n"
	"	lea (%r13, %r12), %rax\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"1:	sub $16, %rsp\n"
	"	mov %rax, 8(%rsp)\n"
	"	mov %rbx, %rdi\n"
	"	call leaf_of_hand\n"
	"	add 8(%rsp), %rax\n"
	"	add $16, %rsp\n"
	"	pop %rbx\n"
	"	ret\n"
	/* the frame hangs on a register that is no frame pointer */
	".p2align 4\n"
	"by_rbx:\n"
	"	push %rbx\n"
	"	mov %rsp, %rbx\n"
	"	sub $100, %rsp\n"
	"	and $-64, %rsp\n"
	"	mov %rdi, (%rsp)\n"
	"	call leaf_of_hand\n"
	"	add (%rsp), %rax\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbx\n"
	"	ret\n"
	".p2align 4\n"
	"learns_pc:\n"
	"	push %rbx\n"
	"	call 1f\n"
	"1:	pop %rbx\n"
	"	lea (%rbx, %rdi), %rax\n"
	"	and $15, %eax\n"
	"	mov %rax, %rdi\n"
	"	call leaf_of_hand\n"
	"	pop %rbx\n"
	"	ret\n"
	/* ret N: the caller pushed an argument that is gone when it goes on */
	".p2align 4\n"
	"takes_one:\n"
	"	mov 8(%rsp), %rax\n"
	"	inc %rax\n"
	"	ret $8\n"
	"pops_arguments:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	push %rdi\n"
	"	call takes_one\n"
	"	push %rsi\n"
	"	call takes_one\n"
	"	mov %rax, %rdi\n"
	"	call leaf_of_hand\n"
	"	pop %rbp\n"
	"	ret\n"
	".p2align 4\n"
	"enters:\n"
	"	enter $32, $0\n"
	"	mov %rdi, -8(%rbp)\n"
	"	call leaf_of_hand\n"
	"	add -8(%rbp), %rax\n"
	"	leave\n"
	"	ret\n"
	/* a return that is a jump */
	".p2align 4\n"
	"returns_by_push:\n"
	"	push %rbx\n"
	"	lea 1f(%rip), %rax\n"
	"	push %rax\n"
	"	mov %rdi, %rbx\n"
	"	ret\n"
	"1:	mov %rbx, %rdi\n"
	"	call leaf_of_hand\n"
	"	pop %rbx\n"
	"	ret\n"
	".p2align 4\n"
	"moves_stack:\n"
	"	lea -0x200(%rsp), %rsp\n"
	"	mov %rdi, 0x100(%rsp)\n"
	"	mov %rsp, %rax\n"
	"	mov %r12, 0x1f8(%rsp)\n"
	"	mov %rax, %r12\n"
	"	sub $0x1000, %rsp\n"
	"	call leaf_of_hand\n"
	"	mov %r12, %rsp\n"
	"	mov 0x1f8(%rsp), %r12\n"
	"	add $0x200, %rsp\n"
	"	ret\n"
	".p2align 4\n"
	"pops_to_memory:\n"
	"	push %rdi\n"
	"	push %rdi\n"
	"	pop (%rsp)\n"
	"	push (%rsp)\n"
	"	pop %rax\n"
	"	push 16(%rsp)\n"
	"	pop %rcx\n"
	"	pop %rax\n"
	"	ret\n"
	".p2align 4\n"
	"calls_inside:\n"
	"	push %rbp\n"
	"	mov %rdi, %rbp\n"
	"	call 2f\n"
	"	add %rbp, %rax\n"
	"	call 2f\n"
	"	pop %rbp\n"
	"	ret\n"
	"2:	push %rax\n"
	"	mov %rbp, %rdi\n"
	"	call leaf_of_hand\n"
	"	pop %rcx\n"
	"	add %rcx, %rax\n"
	"	ret\n"
	/* as OpenSSL's big number code does: the old stack pointer lies in the new frame */
	".p2align 4\n"
	"aligns_by_hand:\n"
	"	mov %rsp, %rax\n"
	"	push %rbx\n"
	"	push %r15\n"
	"	lea -72(%rsp, %rdi, 8), %r11\n"
	"	neg %rdi\n"
	"	lea -128(%rsp, %rdi, 8), %r10\n"
	"	neg %rdi\n"
	"	and $-1024, %r10\n"
	"	mov %r10, %rsp\n"
	"	mov %rax, 8(%rsp, %rdi, 8)\n"
	"	mov %rdi, %r15\n"
	"	call leaf_of_hand\n"
	"	mov 8(%rsp, %r15, 8), %rsi\n"
	"	mov -16(%rsi), %r15\n"
	"	mov -8(%rsi), %rbx\n"
	"	lea (%rsi), %rsp\n"
	"	ret\n"
	/* into another function behind its first pushes */
	".p2align 4\n"
	"jumps_into:\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	mov %rdi, %rbx\n"
	"	jmp common_end\n"
	".p2align 4\n"
	"pushes_in_loop:\n"
	"	mov %rsp, %rdx\n"
	"	mov $6, %ecx\n"
	"1:	push %rcx\n"
	"	dec %ecx\n"
	"	jnz 1b\n"
	"	mov $6, %ecx\n"
	"2:	pop %rax\n"
	"	dec %ecx\n"
	"	jnz 2b\n"
	"	ret\n"
	".p2align 4\n"
	"saves_flags:\n"
	"	pushfq\n"
	"	push %rdi\n"
	"	add $77, %rdi\n"
	"	call leaf_of_hand\n"
	"	pop %rdi\n"
	"	popfq\n"
	"	ret\n"
	/* rbp holds data, rsp alone tells */
	".p2align 4\n"
	"by_rbp_data:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	mov $0x1238, %ebp\n"
	"	mov %rdi, %rbx\n"
	"	call leaf_of_hand\n"
	"	xor %ebp, %ebp\n"
	"	mov %rbx, %rdi\n"
	"	call leaf_of_hand\n"
	"	mov %rsp, %rbp\n"
	"	call leaf_of_hand\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	/* to a stack of its own and back, the old one in a register that calls keep */
	".p2align 4\n"
	"exchanges_stack:\n"
	"	push %rbx\n"
	"	mov %rsp, %rbx\n"
	"	mov %rdi, %rax\n"
	"	add $3, %rax\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbx\n"
	"	ret\n"
	".p2align 4\n"
	"many_exits:\n"
	"	cmp $1, %rdi\n"
	"	je 3f\n"
	"	push %r14\n"
	"	cmp $2, %rdi\n"
	"	je 2f\n"
	"	push %r13\n"
	"	cmp $3, %rdi\n"
	"	je 1f\n"
	"	call leaf_of_hand\n"
	"	pop %r13\n"
	"	pop %r14\n"
	"	ret\n"
	"1:	mov $4, %eax\n"
	"	pop %r13\n"
	"2:	mov $3, %eax\n"
	"	pop %r14\n"
	"3:	mov $2, %eax\n"
	"	ret\n"
	/* data amid code */
	".p2align 4\n"
	"skips_code:\n"
	"	push %r12\n"
	"	mov %rdi, %r12\n"
	"	jmp 1f\n"
	"	.quad 0xc3c3c3c3c3c3c3c3, 0x5b5d5f5e41f30f1e\n"
	"1:	call leaf_of_hand\n"
	"	pop %r12\n"
	"	ret\n"
	/* calls by pointers in memory, on the stack too */
	".p2align 4\n"
	"by_memory:\n"
	"	sub $24, %rsp\n"
	"	lea leaf_of_hand(%rip), %rax\n"
	"	mov %rax, 8(%rsp)\n"
	"	call *8(%rsp)\n"
	"	lea 8(%rsp), %rcx\n"
	"	call *(%rcx)\n"
	"	mov %rsp, %r8\n"
	"	call *8(%r8)\n"
	"	add $24, %rsp\n"
	"	ret\n"
	/* a call of a register that predicts nothing */
	".p2align 4\n"
	"retpoline:\n"
	"	push %r12\n"
	"	lea leaf_of_hand(%rip), %r11\n"
	"	mov %rdi, %r12\n"
	"	call thunk_r11\n"
	"	mov %r12, %rdi\n"
	"	pop %r12\n"
	"	lea leaf_of_hand(%rip), %r11\n"
	"	jmp thunk_r11\n"
	".p2align 4\n"
	"thunk_r11:\n"
	"	call 1f\n"
	"2:	pause\n"
	"	lfence\n"
	"	jmp 2b\n"
	"1:	mov %r11, (%rsp)\n"
	"	ret\n"
	".p2align 4\n"
	"pushes_constants:\n"
	"	push $0x7f\n"
	"	push $-1\n"
	"	push $0x12345\n"
	"	call leaf_of_hand\n"
	"	pop %rcx\n"
	"	add $8, %rsp\n"
	"	pop %rdx\n"
	"	ret\n"
	".p2align 4\n"
	"lea_frame:\n"
	"	push %rbp\n"
	"	lea 16(%rsp), %rbp\n"
	"	lea -48(%rbp), %rsp\n"
	"	mov %rdi, -40(%rbp)\n"
	"	call leaf_of_hand\n"
	"	lea -16(%rbp), %rsp\n"
	"	pop %rbp\n"
	"	ret\n"
	/* into the function behind it */
	".p2align 4\n"
	"falls_through:\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	lea 1(%rdi), %rbx\n"
	"common_end:\n"
	"	mov %rbx, %rdi\n"
	"	call leaf_of_hand\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	ret\n"
	/* a frame whose size is in a register */
	".p2align 4\n"
	"adds_register:\n"
	"	push %r13\n"
	"	mov $0x340, %r13d\n"
	"	sub %r13, %rsp\n"
	"	mov %rdi, (%rsp)\n"
	"	call leaf_of_hand\n"
	"	add %r13, %rsp\n"
	"	pop %r13\n"
	"	ret\n"
	/* void switch_stacks(void **from, void *to) */
	".p2align 4\n"
	"switch_stacks:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".previous\n");

static void *of_main, *of_other;

NOINLINE static void other_main(void)
{
	for (long n = 0; n < 3; n++) {
		sink += recurse(n);
		switch_stacks(&of_other, of_main);
	}
	for (;;)
		switch_stacks(&of_other, of_main);
}

static void by_hand(void)
{
	for (long n = 0; n < 3; n++) {
		sink += pushes_amid(n) + by_rbx(n) + learns_pc(n) + pops_arguments(n, 2);
		sink += enters(n) + returns_by_push(n) + moves_stack(n) + pops_to_memory(n);
		sink += calls_inside(n) + aligns_by_hand(n + 1) + jumps_into(n) + pushes_in_loop(n);
		sink += saves_flags(n) + by_rbp_data(n) + exchanges_stack(n, NULL);
		sink += many_exits(1) + many_exits(2) + many_exits(3) + many_exits(4);
		sink += skips_code(n) + by_memory(n) + retpoline(n) + pushes_constants(n);
		sink += lea_frame(n) + falls_through(n) + adds_register(n);
	}
}

static void by_switching(void)
{
	size_t bytes = 64 << 10;
	char *stack = new_stack(bytes);
	void **top = (void **)(void *)(stack + bytes - 64);
	*top = NULL; /* what starts here was not called */
	*--top = (void *)(uintptr_t)other_main;
	top -= 6;
	memset(top, 0, 6 * sizeof(*top));
	of_other = top;
	for (int i = 0; i < 4; i++)
		switch_stacks(&of_main, of_other);
}
#else
static void by_hand(void)
{
}

static void by_switching(void)
{
}
#endif

/* ---- contexts, signals, threads ---- */

static ucontext_t main_context, other_context;

static void context_main(void)
{
	for (long n = 0; n < 3; n++) {
		sink += recurse(n) + with_alloca(n);
		swapcontext(&other_context, &main_context);
	}
}

static void contexts(void)
{
	size_t bytes = 64 << 10;
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = new_stack(bytes);
	other_context.uc_stack.ss_size = bytes;
	other_context.uc_link = &main_context;
	makecontext(&other_context, context_main, 0);
	for (int i = 0; i < 4; i++)
		swapcontext(&main_context, &other_context);
}

static void on_signal(int number)
{
	sink += leaf(number) + with_alloca(3);
}

static void signals(void)
{
	size_t bytes = 64 << 10;
	stack_t other = {.ss_sp = new_stack(bytes), .ss_size = bytes};
	struct sigaction plain = {.sa_handler = on_signal};
	struct sigaction on_other = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &plain, NULL);
	sigaction(SIGUSR2, &on_other, NULL);
	for (int i = 0; i < 2; i++) {
		raise(SIGUSR1);
		raise(SIGUSR2);
		sink += recurse(2);
	}
}

static void *thread_main(void *context)
{
	sink += recurse(3) + aligned_frame(2);
	by_hand();
	return context;
}

static int bare_thread(void *context)
{
	(void)context;
	sink += recurse(4) + with_vla(3);
	return 0;
}

static void threads(void)
{
	pthread_t thread;
	size_t bytes = 64 << 10;
	if (pthread_create(&thread, NULL, thread_main, NULL) == 0)
		pthread_join(thread, NULL);
	char *stack = new_stack(bytes);
	int flags =
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	if (clone(bare_thread, stack + bytes, flags, NULL) > 0)
		usleep(2000);
}

static const struct shape {
	const char *name;
	void (*run)(void);
} shapes[] = {
	{"compiler", by_compiler},
	{"hand", by_hand},
	{"switch", by_switching},
	{"context", contexts},
	{"signal", signals},
	{"thread", threads},
};

int main(int argc, char **argv)
{
	for (int turn = 0; turn < 3; turn++)
		for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
			if (argc < 2 || strcmp(argv[1], shapes[i].name) == 0)
				shapes[i].run();
	return sink == 1;
}
