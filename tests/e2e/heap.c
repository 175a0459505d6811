/*
 * Allocates known bytes in known functions, and says at its end, a line each, what it was: name,
 * bytes, objects, bytes in use, objects in use.
 *
 * heap [MEGABYTES]: so many in each of the functions that allocate much.
 * heap pairs N: says how many ns of CPU time an allocation and its end take, at the least.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noipa)) /* equal ones stay apart */

struct known {
	const char *name;
	unsigned long long bytes, objects, used_bytes, used_objects;
};

static void say(const struct known *known)
{
	printf("%s %llu %llu %llu %llu\n", known->name, known->bytes, known->objects,
		known->used_bytes, known->used_objects);
}

/* Keeps the compiler from seeing that nothing uses it. */
static void *volatile sink;

static void *used(void *memory)
{
	if (!memory)
		abort();
	sink = memory;
	return memory;
}

NOINLINE static void *allocate_small(size_t bytes)
{
	return used(malloc(bytes));
}

NOINLINE static void *allocate_large(size_t bytes)
{
	return used(malloc(bytes));
}

NOINLINE static void *allocate_zeroed(size_t count, size_t bytes)
{
	return used(calloc(count, bytes));
}

NOINLINE static void *allocate_aligned(size_t bytes)
{
	void *memory = NULL;
	return posix_memalign(&memory, 64, bytes) ? NULL : used(memory);
}

NOINLINE static void *allocate_leak(size_t bytes)
{
	return used(malloc(bytes));
}

NOINLINE static void *grow(void *memory, size_t bytes)
{
	return used(realloc(memory, bytes));
}

NOINLINE static void *allocate_for_other(size_t bytes)
{
	return used(malloc(bytes));
}

static void *free_all(void *context)
{
	void **memory = context;
	for (; *memory; memory++)
		free(*memory);
	return NULL;
}

/* Freed at once. */
static void be_temporary(unsigned long long bytes)
{
	struct known small = {.name = "allocate_small"}, large = {.name = "allocate_large"},
		     zeroed = {.name = "allocate_zeroed"}, aligned = {.name = "allocate_aligned"};
	for (; small.bytes < bytes; small.objects++) {
		size_t size = 16 + small.objects % 1000;
		free(allocate_small(size));
		small.bytes += size;
	}
	for (; large.bytes < 8 * bytes; large.objects++) {
		size_t size = 200000 + large.objects % 1000000;
		free(allocate_large(size));
		large.bytes += size;
	}
	for (; zeroed.bytes < bytes; zeroed.objects++) {
		free(allocate_zeroed(16, 100));
		zeroed.bytes += 1600;
	}
	for (; aligned.bytes < bytes; aligned.objects++) {
		free(allocate_aligned(3000));
		aligned.bytes += 3000;
	}
	say(&small);
	say(&large);
	say(&zeroed);
	say(&aligned);
}

static void *leak_in_thread(void *context)
{
	struct known *leak = context;
	for (unsigned long long i = 0; i < leak->bytes / 1000; i++)
		allocate_leak(1000);
	return NULL;
}

static void leak_in_threads(unsigned long long bytes)
{
	enum {
		THREADS = 4,
	};
	struct known leak = {.name = "allocate_leak", .bytes = bytes / THREADS / 1000 * 1000};
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, leak_in_thread, &leak);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	leak.used_bytes = leak.bytes *= THREADS;
	leak.used_objects = leak.objects = leak.bytes / 1000;
	say(&leak);
}

/* Each chain grows from 4 KiB to 40; every second one is freed. */
static void grow_chains(unsigned long long bytes)
{
	struct known chain = {.name = "grow"};
	for (int i = 0; chain.bytes < bytes; i++) {
		void *memory = NULL;
		for (size_t size = 4096; size <= 40960; size += 4096) {
			memory = grow(memory, size);
			chain.bytes += size;
			chain.objects++;
		}
		if (i % 2) {
			free(memory);
		} else {
			chain.used_bytes += 40960;
			chain.used_objects++;
		}
	}
	say(&chain);
}

static void free_elsewhere(unsigned long long bytes)
{
	size_t count = bytes / 2000;
	void **memory = calloc(count + 1, sizeof(*memory));
	for (size_t i = 0; i < count; i++)
		memory[i] = allocate_for_other(2000);
	pthread_t thread;
	pthread_create(&thread, NULL, free_all, memory);
	pthread_join(thread, NULL);
	free(memory);
	say(&(struct known){.name = "allocate_for_other", .bytes = count * 2000, .objects = count});
}

static double cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void time_pairs(unsigned long long count)
{
	enum {
		TRIALS = 20,
	};
	double least = 1e9;
	for (int trial = 0; trial < TRIALS; trial++) {
		double start = cpu_ns();
		for (unsigned long long i = 0; i < count; i++)
			free(allocate_small(32 + i % 64));
		double took = (cpu_ns() - start) / (double)count;
		least = took < least ? took : least;
	}
	printf("pair_ns %.2f\n", least);
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "pairs") == 0) {
		time_pairs(strtoull(argv[2], NULL, 10));
		return 0;
	}
	unsigned long long bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 16) << 20;
	be_temporary(bytes);
	leak_in_threads(bytes);
	grow_chains(bytes);
	free_elsewhere(bytes);
	return 0;
}
