/*
 * durations WAY N...: does things that take known times, each way in a function of its own, N
 * times, and clocks them itself. Prints a line for each way: its name, N, and the ns of all calls.
 *
 *   naps       calls nap(), which sleeps 5 ms
 *   blinks     calls blink(), which sleeps 0.1 ms
 *   spins      calls spin(), which counts to 1,000
 *   deep       a recursion descend() of this depth, which sleeps 2 ms at its end
 *   threads    N threads, each of which naps 10 times
 *   leaps      N calls of leap(), each of which is left by longjmp() out of its own callee but
 *              for the last, which naps
 *   writers    two threads that write 16 MiB each to the same file, N times at once; the time is
 *              all of it
 *   reads      N bytes, one by one, from /dev/zero; the time is that of all calls of read()
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_THREADS = 16,
	NAPS_OF_THREAD = 10,
	NAP_NS = 5000000,
	BLINK_NS = 100000,
};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

__attribute__((noinline)) static uint64_t nap(void)
{
	uint64_t began = now_ns();
	sleep_ns(NAP_NS);
	return now_ns() - began;
}

__attribute__((noinline)) static uint64_t blink(void)
{
	uint64_t began = now_ns();
	sleep_ns(BLINK_NS);
	return now_ns() - began;
}

__attribute__((noinline)) static uint64_t naps(int times)
{
	uint64_t sum = 0;
	for (int i = 0; i < times; i++)
		sum += nap();
	return sum;
}

__attribute__((noinline)) static uint64_t blinks(int times)
{
	uint64_t sum = 0;
	for (int i = 0; i < times; i++)
		sum += blink();
	return sum;
}

static volatile long counted;

__attribute__((noinline)) static void spin(void)
{
	for (long i = 0; i < 1000; i++)
		counted += i;
}

__attribute__((noinline)) static uint64_t spins(int times)
{
	uint64_t began = now_ns();
	for (int i = 0; i < times; i++)
		spin();
	return now_ns() - began;
}

/* What all of the calls took: the innermost one is in all others. */
__attribute__((noinline)) static uint64_t descend(int depth, uint64_t *sum)
{
	uint64_t began = now_ns();
	if (depth > 1)
		descend(depth - 1, sum);
	else
		sleep_ns(2000000);
	*sum += now_ns() - began;
	return *sum;
}

static uint64_t deep(int depth)
{
	uint64_t sum = 0;
	return descend(depth, &sum);
}

static void *nap_in_thread(void *arg)
{
	*(uint64_t *)arg = naps(NAPS_OF_THREAD);
	return NULL;
}

static uint64_t threads(int count)
{
	pthread_t thread[MAX_THREADS];
	uint64_t napped[MAX_THREADS], sum = 0;
	if (count > MAX_THREADS)
		abort();
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread[i], NULL, nap_in_thread, &napped[i]))
			abort();
	for (int i = 0; i < count; i++) {
		pthread_join(thread[i], NULL);
		sum += napped[i];
	}
	return sum;
}

static jmp_buf back;

__attribute__((noinline)) static void leave(void)
{
	longjmp(back, 1);
}

__attribute__((noinline)) static uint64_t leap(int is_last)
{
	uint64_t began = now_ns();
	if (!is_last)
		leave();
	sleep_ns(NAP_NS);
	return now_ns() - began;
}

static uint64_t leaps(int times)
{
	volatile int i = 0;
	if (setjmp(back))
		i++;
	return leap(i + 1 == times);
}

__attribute__((noinline)) static uint64_t reads(int times)
{
	int fd = open("/dev/zero", O_RDONLY);
	uint64_t sum = 0;
	char byte;
	for (int i = 0; i < times; i++) {
		uint64_t began = now_ns();
		if (read(fd, &byte, 1) != 1)
			abort();
		sum += now_ns() - began;
	}
	close(fd);
	return sum;
}

enum {
	WRITTEN_BYTES = 16 << 20,
};

static int contended_times;
static pthread_barrier_t barrier;

/* All at once, into one file: the kernel lets one after the other, by the inode's lock. */
__attribute__((noinline)) static void *write_contended(void *arg)
{
	char *bytes = malloc(WRITTEN_BYTES);
	int fd = *(int *)arg;
	memset(bytes, 1, WRITTEN_BYTES);
	for (int i = 0; i < contended_times; i++) {
		pthread_barrier_wait(&barrier);
		if (pwrite(fd, bytes, WRITTEN_BYTES, 0) != WRITTEN_BYTES)
			abort();
	}
	free(bytes);
	return NULL;
}

static uint64_t writers(int times)
{
	pthread_t threads[2];
	int fd = open("written", O_RDWR | O_CREAT | O_TRUNC, 0600);
	uint64_t began = now_ns();
	contended_times = times;
	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, write_contended, &fd))
			abort();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	close(fd);
	unlink("written");
	return now_ns() - began;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		uint64_t (*run)(int);
	} ways[] = {{"naps", naps}, {"blinks", blinks}, {"spins", spins}, {"deep", deep},
		{"threads", threads}, {"leaps", leaps}, {"reads", reads}, {"writers", writers}};
	for (int i = 1; i + 1 < argc; i += 2) {
		size_t way = 0;
		while (way < sizeof(ways) / sizeof(*ways) && strcmp(argv[i], ways[way].name) != 0)
			way++;
		if (way == sizeof(ways) / sizeof(*ways))
			return 2;
		printf("%s %s %llu\n", argv[i], argv[i + 1],
			(unsigned long long)ways[way].run(atoi(argv[i + 1])));
	}
	return 0;
}
