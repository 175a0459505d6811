/*
 * So many threads at once, each of which computes for a moment and ends, for another to begin.
 *   thread_storm SECONDS THREADS
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	STACK_BYTES = 32 * 1024, /* one mapping for all: they would be too many */
	TURNS = 20000,
};

static void *compute(void *unused)
{
	for (volatile int i = 0; i < TURNS; i++)
		;
	usleep(500000);
	for (volatile int i = 0; i < TURNS; i++)
		;
	return unused;
}

int main(int argc, char **argv)
{
	alarm(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
	size_t count = argc > 2 ? (size_t)atoi(argv[2]) : 100;
	pthread_t *threads = calloc(count, sizeof(*threads));
	char *stacks = mmap(NULL, count * STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!threads || stacks == MAP_FAILED)
		return 1;
	for (size_t i = 0;; i = (i + 1) % count) {
		if (threads[i])
			pthread_join(threads[i], NULL);
		pthread_attr_t attributes;
		pthread_attr_init(&attributes);
		pthread_attr_setstack(&attributes, stacks + i * STACK_BYTES, STACK_BYTES);
		while (pthread_create(&threads[i], &attributes, compute, NULL))
			usleep(1000);
	}
}
