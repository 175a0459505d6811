/*
 * Stacks of known shape without frame pointers, each for some seconds of CPU time.
 *   unwind_shapes SHAPE SECONDS [N]
 * main calls the shape's function, which ends in spin() (or where the shape says):
 *   recursion N       N frames of recurse()
 *   large             keep_much(), whose frame is larger than what is copied of a stack
 *   some              keep_some(), whose frame is nearly as large
 *   callback          through qsort() of libc
 *   signal, altstack  from a signal handler, on the same or on another stack
 *   vdso              clock_gettime()
 *   kernel            a system call
 *   thread            a thread's start_routine()
 *   jump              spin() was entered with a frame pointer that points nowhere
 *   exec OTHER        for SECONDS, which are those of only_a() and only_b(): some milliseconds of
 * the one that this program has; then OTHER is executed, which does the same, and so on dlopen A B
 * only_NAME() of two libraries in turns, each unloaded before the other lives N           processes
 * that live for N ms each, one after the other
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
/* Nothing may follow the call that is not there: keeps it from becoming a jump. */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

static double cpu_until;
static volatile unsigned long sink;

static double cpu_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

NOINLINE static void spin(void)
{
	do {
		for (unsigned long i = 0; i < 300000; i++)
			sink += i;
	} while (cpu_now() < cpu_until);
	KEEP_FRAME();
}

NOINLINE static void recurse(long n)
{
	if (n == 0)
		spin();
	else
		recurse(n - 1);
	KEEP_FRAME();
}

NOINLINE static void keep_much(void)
{
	volatile char much[600 << 10];
	for (size_t i = 0; i < sizeof(much); i += 4096)
		much[i] = 1;
	spin();
	KEEP_FRAME();
}

NOINLINE static void keep_some(void)
{
	volatile char some[100 << 10];
	for (size_t i = 0; i < sizeof(some); i += 4096)
		some[i] = 1;
	spin();
	KEEP_FRAME();
}

static int compare(const void *a, const void *b)
{
	spin();
	KEEP_FRAME();
	return *(const char *)a - *(const char *)b;
}

NOINLINE static void callback(void)
{
	char two[2] = {2, 1};
	qsort(two, 2, 1, compare);
	KEEP_FRAME();
}

static void on_signal(int number)
{
	(void)number;
	spin();
	KEEP_FRAME();
}

NOINLINE static void interrupt(int flags)
{
	static char stack[256 << 10];
	stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	KEEP_FRAME();
}

static sigjmp_buf before_jump;

static void on_fault(int number)
{
	(void)number;
	spin();
	siglongjmp(before_jump, 1);
}

NOINLINE static void jump_to(void (*function)(void))
{
	function();
	KEEP_FRAME();
}

/* Through NULL, to where nothing is mapped, or to what is no code. */
NOINLINE static void jump_badly(const char *where)
{
	static char data[64];
	struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
	uintptr_t address = strcmp(where, "null") == 0   ? 0
			    : strcmp(where, "data") == 0 ? (uintptr_t)data
							 : (uintptr_t)0x123456780000;
	sigaction(SIGSEGV, &action, NULL);
	if (!sigsetjmp(before_jump, 1))
		jump_to((void (*)(void))address); /* NOLINT */
	KEEP_FRAME();
}

NOINLINE static void read_clock(void)
{
	struct timespec now;
	while (cpu_now() < cpu_until)
		for (int i = 0; i < 100000; i++) {
			clock_gettime(CLOCK_MONOTONIC, &now);
			sink += (unsigned long)now.tv_nsec;
		}
	KEEP_FRAME();
}

NOINLINE static void enter_kernel(void)
{
	char buf[4096];
	FILE *zero = fopen("/dev/zero", "r");
	while (zero && cpu_now() < cpu_until)
		for (int i = 0; i < 200; i++)
			sink += (unsigned long)read(fileno(zero), buf, sizeof(buf));
	KEEP_FRAME();
}

static void *start_routine(void *context)
{
	spin();
	KEEP_FRAME();
	return context;
}

NOINLINE static void start_thread(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, start_routine, NULL);
	pthread_join(thread, NULL);
	KEEP_FRAME();
}

static void *end_at_once(void *context)
{
	return context;
}

NOINLINE static void make_threads(void)
{
	pthread_t thread;
	while (cpu_now() < cpu_until)
		for (int i = 0; i < 100; i++)
			if (pthread_create(&thread, NULL, end_at_once, NULL) == 0)
				pthread_join(thread, NULL);
	KEEP_FRAME();
}

NOINLINE static void make_processes(char *program, double seconds)
{
	char *const argv[] = {program, "nothing", "0", NULL};
	struct timespec now, start;
	pid_t child;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		if (posix_spawn(&child, program, NULL, NULL, argv, environ) == 0)
			waitpid(child, NULL, 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - start.tv_sec) < seconds);
	KEEP_FRAME();
}

/* The ABI leaves rbp to functions that keep no frame pointer. */
NOINLINE static void jump(void)
{
#if defined(__x86_64__)
	__asm__ volatile("push %%rbp\n\t"
			 ".cfi_adjust_cfa_offset 8\n\t"
			 ".cfi_rel_offset rbp, 0\n\t"
			 "mov $0x1238, %%ebp\n\t"
			 "call *%0\n\t"
			 "pop %%rbp\n\t"
			 ".cfi_adjust_cfa_offset -8\n\t"
			 ".cfi_restore rbp\n\t"
			 :
			 : "r"(spin)
			 : "memory", "cc", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
			 "r11", "xmm0", "xmm1", "xmm2");
#else
	spin();
#endif
	KEEP_FRAME();
}

/* Of two programs that lie at the same addresses, each knows one of these. */
#if defined(ONLY_A)
#define ONLY only_a
#else
#define ONLY only_b
#endif

NOINLINE static void ONLY(double until)
{
	do {
		for (unsigned long i = 0; i < 100000; i++)
			sink += i;
	} while (cpu_now() < until);
	KEEP_FRAME();
}

/* What loading a program takes is much on one machine and little on another: it does not count. */
static void execute(char **argv, double seconds)
{
	static const double turn_s = 0.002;
	ONLY(cpu_now() + turn_s);
	if (seconds <= turn_s)
		return;
	char left[32], *other = argv[3], *next[] = {other, argv[1], left, argv[0], NULL};
	snprintf(left, sizeof(left), "%.3f", seconds - turn_s);
	execv(other, next);
	perror(other);
}

NOINLINE static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*only)(void) = library ? (void (*)(void))dlsym(library, "only") : NULL;
	if (!only) {
		fprintf(stderr, "%s: %s\n", path, dlerror());
		exit(1);
	}
	only();
	dlclose(library);
	KEEP_FRAME();
}

/* What the children together had. */
static double children_cpu_s(void)
{
	struct rusage usage;
	getrusage(RUSAGE_CHILDREN, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

NOINLINE static void live(double seconds, long ms)
{
	for (int i = 0; children_cpu_s() < seconds; i++) {
		pid_t child = fork();
		if (child == 0) {
			char name[16];
			snprintf(name, sizeof(name), "life-%d", i);
			prctl(PR_SET_NAME, name);
			cpu_until = (double)ms / 1000;
			spin();
			printf("%s %.6f\n", name, cpu_now());
			fflush(stdout);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	const char *shape = argv[1];
	double seconds = atof(argv[2]);
	cpu_until = cpu_now() + seconds;
	if (strcmp(shape, "recursion") == 0)
		recurse(argc > 3 ? atol(argv[3]) : 400);
	else if (strcmp(shape, "large") == 0)
		keep_much();
	else if (strcmp(shape, "some") == 0)
		keep_some();
	else if (strcmp(shape, "callback") == 0)
		callback();
	else if (strcmp(shape, "signal") == 0)
		interrupt(0);
	else if (strcmp(shape, "altstack") == 0)
		interrupt(SA_ONSTACK);
	else if (strcmp(shape, "fault") == 0 && argc > 3)
		jump_badly(argv[3]);
	else if (strcmp(shape, "vdso") == 0)
		read_clock();
	else if (strcmp(shape, "kernel") == 0)
		enter_kernel();
	else if (strcmp(shape, "thread") == 0)
		start_thread();
	else if (strcmp(shape, "threads") == 0)
		make_threads();
	else if (strcmp(shape, "processes") == 0)
		make_processes(argv[0], seconds);
	else if (strcmp(shape, "jump") == 0)
		jump();
	else if (strcmp(shape, "exec") == 0 && argc > 3)
		execute(argv, seconds);
	else if (strcmp(shape, "dlopen") == 0 && argc > 4)
		for (int i = 0; cpu_now() < cpu_until; i++)
			load(argv[3 + i % 2]);
	else if (strcmp(shape, "lives") == 0 && argc > 3)
		live(seconds, atol(argv[3]));
	else
		return 2;
	KEEP_FRAME();
	return 0;
}
