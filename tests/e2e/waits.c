/*
 * waits WAY N...: waits in known ways, each in a function of its own, N times, and clocks them
 * itself. Prints a line for each way: its name, N, ns that the calls which wait took in all, and of
 * them, for futex_waits, those of calls that wait for the lock and the thread.
 *
 * short_sleeps are of 0.3 ms, long_sleeps of 40 ms; pipe_reads and futex_waits wait 20 ms for
 * another thread; disk_reads are of 16 MiB, around the cache, of a file in the current folder;
 * queueing is of N threads that want one CPU for 0.3 s; hand_overs are of a byte to another thread
 * and back; N sleepers sleep for ever. Of N leaderless
 * threads one computes and the others sleep for ever, and the first thread of all has ended.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

__attribute__((noinline)) static uint64_t short_sleeps(int times)
{
	uint64_t sum = 0;
	for (int i = 0; i < times; i++) {
		uint64_t began = now_ns();
		sleep_ns(300000);
		sum += now_ns() - began;
	}
	return sum;
}

__attribute__((noinline)) static uint64_t long_sleeps(int times)
{
	uint64_t sum = 0;
	for (int i = 0; i < times; i++) {
		uint64_t began = now_ns();
		sleep_ns(40000000);
		sum += now_ns() - began;
	}
	return sum;
}

static int ends[2];
static int wakes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *write_now_and_then(void *arg)
{
	(void)arg;
	for (int i = 0; i < wakes; i++) {
		sleep_ns(20000000);
		if (write(ends[1], "x", 1) != 1)
			abort();
	}
	return NULL;
}

__attribute__((noinline)) static uint64_t pipe_reads(int times)
{
	uint64_t sum = 0;
	pthread_t writer;
	char byte;
	wakes = times;
	if (pipe(ends) || pthread_create(&writer, NULL, write_now_and_then, NULL))
		abort();
	for (int i = 0; i < times; i++) {
		uint64_t began = now_ns();
		if (read(ends[0], &byte, 1) != 1)
			abort();
		sum += now_ns() - began;
	}
	pthread_join(writer, NULL);
	return sum;
}

static void *hold_lock(void *arg)
{
	(void)arg;
	for (int i = 0; i < wakes; i++) {
		pthread_mutex_lock(&lock);
		if (write(ends[1], "x", 1) != 1)
			abort();
		sleep_ns(20000000);
		pthread_mutex_unlock(&lock);
		sleep_ns(1000000);
	}
	return NULL;
}

static uint64_t locking_ns;

__attribute__((noinline)) static uint64_t futex_waits(int times)
{
	uint64_t began = now_ns(), lock_began;
	pthread_t holder;
	char byte;
	wakes = times;
	if (pipe(ends) || pthread_create(&holder, NULL, hold_lock, NULL))
		abort();
	for (int i = 0; i < times; i++) {
		if (read(ends[0], &byte, 1) != 1)
			abort();
		lock_began = now_ns();
		pthread_mutex_lock(&lock);
		locking_ns += now_ns() - lock_began;
		pthread_mutex_unlock(&lock);
	}
	lock_began = now_ns();
	pthread_join(holder, NULL); /* which may have got the lock once more than this thread */
	locking_ns += now_ns() - lock_began;
	return now_ns() - began;
}

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

enum {
	BLOCK_BYTES = 16 << 20,
};

/* Around the cache. */
static int open_block(void *block)
{
	int file = open("waits.block", O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
	memset(block, 1, BLOCK_BYTES);
	if (file < 0 || unlink("waits.block") ||
		pwrite(file, block, BLOCK_BYTES, 0) != BLOCK_BYTES || fsync(file))
		abort();
	return file;
}

/*
 * What the reads took but for the time on a CPU. All that waits between the clocks does it in here.
 * By the kernel's account of that time a task that comes has its CPU some us before the switch that
 * its wait ends at, so reads are long. What a hypervisor steals is in neither that nor a wait.
 */
__attribute__((noinline)) static uint64_t read_blocks(int file, void *block, int times)
{
	uint64_t began = now_ns(), cpu_began = cpu_ns();
	for (int i = 0; i < times; i++)
		if (pread(file, block, BLOCK_BYTES, 0) != BLOCK_BYTES)
			abort();
	return (now_ns() - began) - (cpu_ns() - cpu_began);
}

__attribute__((noinline)) static uint64_t disk_reads(int times)
{
	void *block = aligned_alloc(4096, BLOCK_BYTES);
	if (!block)
		abort();
	int file = open_block(block);
	uint64_t sum = read_blocks(file, block, times);
	close(file);
	free(block);
	return sum;
}

static void *spin(void *arg)
{
	uint64_t began = now_ns(), *waited = arg, cpu_began = cpu_ns();
	while (now_ns() - began < 300000000)
		;
	*waited = (now_ns() - began) - (cpu_ns() - cpu_began);
	return NULL;
}

/* What the threads lived, and had no CPU. */
__attribute__((noinline)) static uint64_t queueing(int threads)
{
	enum {
		MAX_THREADS = 16,
	};
	pthread_t thread[MAX_THREADS];
	uint64_t waited[MAX_THREADS] = {0}, sum = 0;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (threads > MAX_THREADS || sched_setaffinity(0, sizeof(one), &one))
		abort();
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, spin, &waited[i]))
			abort();
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		sum += waited[i];
	}
	return sum;
}

static int there[2], back[2];

static void *hand_back(void *arg)
{
	char byte;
	while (read(there[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) != 1)
			abort();
	return arg;
}

__attribute__((noinline)) static uint64_t hand_overs(int times)
{
	uint64_t began = now_ns();
	pthread_t other;
	char byte = 0;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(getpid() % (int)sysconf(_SC_NPROCESSORS_ONLN), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || pipe(there) || pipe(back) ||
		pthread_create(&other, NULL, hand_back, NULL))
		abort();
	for (int i = 0; i < times; i++)
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			abort();
	close(there[1]);
	pthread_join(other, NULL);
	return now_ns() - began;
}

__attribute__((noinline)) static void *sleep_for_ever(void *arg)
{
	while (!arg)
		pause();
	return arg;
}

__attribute__((noinline)) static uint64_t sleepers(int threads)
{
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, &attributes, sleep_for_ever, NULL))
			abort();
	puts("all asleep");
	fflush(stdout);
	sleep_for_ever(NULL);
	return 0;
}

__attribute__((noinline)) static void *contend(void *arg)
{
	for (volatile uint64_t sum = 0; !arg;) {
		pthread_mutex_lock(&lock);
		for (int i = 0; i < 10000000; i++)
			sum += i;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

/* They compute by turns, for ever; where they wait for their turn there is one stack. */
__attribute__((noinline)) static uint64_t contenders(int threads)
{
	pthread_t thread;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, contend, NULL))
			abort();
	sleep_for_ever(NULL);
	return 0;
}

struct way {
	const char *name;
	uint64_t (*wait)(int times);
};

static void run_way(const struct way *way, const char *times)
{
	unsigned long long took = way->wait(atoi(times));
	printf("%s %s %llu", way->name, times, took);
	if (way->wait == futex_waits)
		printf(" %llu", (unsigned long long)locking_ns);
	putchar('\n');
}

__attribute__((noinline)) static void *compute(void *arg)
{
	for (volatile uint64_t sum = 0; !arg;)
		sum++;
	return arg;
}

__attribute__((noinline)) static uint64_t leaderless(int threads)
{
	pthread_t thread;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, i ? sleep_for_ever : compute, NULL))
			abort();
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	static const struct way ways[] = {
		{"short_sleeps", short_sleeps},
		{"long_sleeps", long_sleeps},
		{"pipe_reads", pipe_reads},
		{"futex_waits", futex_waits},
		{"disk_reads", disk_reads},
		{"queueing", queueing},
		{"hand_overs", hand_overs},
		{"sleepers", sleepers},
		{"contenders", contenders},
		{"leaderless", leaderless},
	};
	for (int i = 1; i + 1 < argc; i += 2)
		for (size_t k = 0; k < sizeof(ways) / sizeof(*ways); k++)
			if (strcmp(argv[i], ways[k].name) == 0)
				run_way(&ways[k], argv[i + 1]);
	return 0;
}
