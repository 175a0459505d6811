/*
 * A program with USDT probes, each of which is hit as often as was asked for, below functions of
 * known names.
 *   usdt plain N            N times ebtest:plain, main > outer > plain_place
 *   usdt twice N            N times ebtest:twice in one place, and N times in another
 *   usdt guarded N          N times ebtest:guarded, if its semaphore says that a tracer wants it;
 *                           prints how often that was
 *   usdt threads N THREADS  plain, by each of the threads, all at once
 *   usdt busy N             plain, with some work in between
 *   usdt late N LIBRARY     plain, in a library that is loaded first: this program, as a library
 *   usdt wait N             plain, once a line has been read
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "usdt_probe.h"

#define FRAME     __attribute__((noinline, noclone, noipa))
#define NO_TAIL() __asm__ volatile("" ::: "memory")

#if defined(__x86_64__)
#define ARGUMENT "8@%%rdi"
#else
#define ARGUMENT "8@x0"
#endif

#define PROBE(name, semaphore) USDT_PROBE("ebtest", name, semaphore, ARGUMENT, )

__attribute__((section(".probes"), visibility("hidden"),
	used)) volatile unsigned short ebtest_guarded_semaphore;

FRAME static void plain_place(void)
{
	PROBE("plain", "0");
}

FRAME static void first_place(void)
{
	PROBE("twice", "0");
}

FRAME static void second_place(void)
{
	PROBE("twice", "0");
}

FRAME static long guarded_place(void)
{
	if (!ebtest_guarded_semaphore)
		return 0;
	PROBE("guarded", "ebtest_guarded_semaphore");
	return 1;
}

FRAME void outer(long count);
FRAME void outer(long count)
{
	for (long i = 0; i < count; i++) {
		plain_place();
		NO_TAIL();
	}
}

static void *run_thread(void *count)
{
	outer(*(long *)count);
	return NULL;
}

static void run_threads(long count, int nr_threads)
{
	enum {
		MAX_THREADS = 64
	};
	pthread_t threads[MAX_THREADS];
	int started = 0;
	while (started < nr_threads && started < MAX_THREADS &&
		!pthread_create(&threads[started], NULL, run_thread, &count))
		started++;
	for (int i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	if (started < nr_threads)
		exit(3);
}

FRAME static void work(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}

static int run_late(long count, const char *path)
{
	void *library = path ? dlopen(path, RTLD_NOW) : NULL;
	void (*run)(long) = NULL;
	if (library)
		*(void **)&run = dlsym(library, "outer");
	if (!run)
		return 3;
	run(count);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	long count = argc > 2 ? strtol(argv[2], NULL, 10) : 0, wanted = 0;
	if (strcmp(what, "wait") == 0)
		getchar();
	if (strcmp(what, "plain") == 0 || strcmp(what, "wait") == 0)
		outer(count);
	else if (strcmp(what, "threads") == 0 && argc > 3)
		run_threads(count, atoi(argv[3]));
	else if (strcmp(what, "late") == 0)
		return run_late(count, argv[3]);
	for (long i = 0; i < count; i++) {
		if (strcmp(what, "twice") == 0)
			first_place(), second_place();
		else if (strcmp(what, "guarded") == 0)
			wanted += guarded_place();
		else if (strcmp(what, "busy") == 0)
			work(), outer(1);
	}
	if (strcmp(what, "guarded") == 0)
		printf("%ld\n", wanted);
	return 0;
}
