/*
 * A program whose profile is known: of its CPU time light() takes 10 %,
 * medium() 30 % and heavy() 60 %, each below its own caller.
 *   workload [SECONDS [THREADS [CHILDREN]]]
 * Threads and child processes do the same as the main thread, all at once. Seconds
 * are those of CPU time that each of them gets, so that there is as much to sample on
 * a busy machine as on an idle one; how many it were of all of them together goes to
 * the file that $WORKLOAD_CPU names.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Not inlined, not merged, no tail calls: each stays a frame of its own. */
#define FRAME     __attribute__((noinline, noclone, noipa))
#define NO_TAIL() __asm__ volatile("" ::: "memory")

enum {
	SLICE_NS = 4 * 1000 * 1000, /* ten make a round: much shorter than any measurement */
	THREADS_MAX = 256,
};

static int64_t thread_cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/*
 * CPU time rather than a count of iterations: the shares hold on any CPU, under any load.
 * The clock is asked rarely, since libc's frame below it hides ours from a frame-pointer
 * unwinder; by how much a call came late, the thread's next one is shorter.
 */
#define DEFINE_SPIN(name) \
	FRAME static void name(int64_t cpu_ns) \
	{ \
		static __thread int64_t late_ns; \
		int64_t until = thread_cpu_ns() + cpu_ns - late_ns, now; \
		do { \
			for (volatile int i = 0; i < 1000000; i++) \
				; \
			now = thread_cpu_ns(); \
		} while (now < until); \
		late_ns = now - until; \
	}

DEFINE_SPIN(light)
DEFINE_SPIN(medium)
DEFINE_SPIN(heavy)

FRAME static void call_light(void)
{
	light(1 * SLICE_NS);
	NO_TAIL();
}

FRAME static void call_medium(void)
{
	medium(3 * SLICE_NS);
	NO_TAIL();
}

FRAME static void call_heavy(void)
{
	heavy(6 * SLICE_NS);
	NO_TAIL();
}

static double seconds = 2;

FRAME static void work(void)
{
	int64_t until = thread_cpu_ns() + (int64_t)(seconds * 1e9);
	while (thread_cpu_ns() < until) {
		call_light();
		call_medium();
		call_heavy();
	}
}

static void *run_thread(void *unused)
{
	work();
	return unused;
}

static double cpu_s(int who)
{
	struct rusage usage;
	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void tell_cpu(void)
{
	const char *path = getenv("WORKLOAD_CPU");
	FILE *file = path ? fopen(path, "we") : NULL;
	if (!file)
		return;
	fprintf(file, "%.3f\n", cpu_s(RUSAGE_SELF) + cpu_s(RUSAGE_CHILDREN));
	fclose(file);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		seconds = strtod(argv[1], NULL);
	int threads = argc > 2 ? atoi(argv[2]) : 1, children = argc > 3 ? atoi(argv[3]) : 0;
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			work();
			return 0;
		}
		if (pid < 0)
			return 1;
	}
	pthread_t others[THREADS_MAX];
	if (threads > THREADS_MAX)
		return 1;
	for (int i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, run_thread, NULL))
			return 1;
	work();
	for (int i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	while (wait(NULL) > 0)
		;
	tell_cpu();
	return 0;
}
