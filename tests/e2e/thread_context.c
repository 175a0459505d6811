/*
 * Threads that publish what they work at as OpenTelemetry has it, and change it all the time: in
 * work_even() the span's number is even, in work_odd() odd, and the last byte of the trace's is the
 * thread's number. The attribute "half" says the same. argv: seconds, threads, a library that has
 * the variable, or "-": the program itself has it; "hostile": records that lie.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

struct record {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t bytes;
	uint8_t attributes[600];
};

#ifdef IN_LIBRARY
__thread struct record *otel_thread_ctx_v1 __attribute__((visibility("default")));

struct record **context_of_thread(void);
struct record **context_of_thread(void)
{
	return &otel_thread_ctx_v1;
}
#else

#ifdef IN_PROGRAM
__thread struct record *otel_thread_ctx_v1 __attribute__((visibility("default")));

static struct record **context_of_thread_here(void)
{
	return &otel_thread_ctx_v1;
}
#else
static struct record **context_of_thread_here(void)
{
	return NULL;
}
#endif

static struct record **(*context_of_thread)(void) = context_of_thread_here;
static int is_hostile;
static double end_s;
static volatile unsigned sink;

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- what the process publishes ---- */

static size_t put_bytes(uint8_t *to, uint8_t tag, const void *bytes, size_t len)
{
	to[0] = tag;
	to[1] = (uint8_t)len;
	memcpy(to + 2, bytes, len);
	return len + 2;
}

static size_t put_pair(
	uint8_t *to, const char *key, uint8_t value_tag, const void *value, size_t len)
{
	uint8_t any[100];
	size_t at = put_bytes(to, 0x0a, key, strlen(key));
	return at + put_bytes(to + at, 0x12, any, put_bytes(any, value_tag, value, len));
}

static void publish_process(void)
{
	static uint8_t message[1024];
	uint8_t pair[256], resource[256], keys[100];
	size_t len = put_pair(pair, "service.name", 0x0a, "shop", 4);
	size_t resource_len = put_bytes(resource, 0x0a, pair, len);
	len = put_pair(pair, "service.version", 0x0a, "1.2", 3);
	resource_len += put_bytes(resource + resource_len, 0x0a, pair, len);
	size_t at = put_bytes(message, 0x0a, resource, resource_len);
	size_t keys_len = 0;
	static const char *const names[] = {"unused", "half"};
	for (int i = 0; i < 2; i++) {
		uint8_t any[50];
		len = put_bytes(any, 0x0a, names[i], strlen(names[i]));
		keys_len += put_bytes(keys + keys_len, 0x0a, any, len);
	}
	len = put_pair(pair, "threadlocal.attribute_key_map", 0x2a, keys, keys_len);
	at += put_bytes(message + at, 0x12, pair, len);
	uint8_t *head =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t version = 2, bytes = (uint32_t)at;
	uint64_t time = 1, payload = (uintptr_t)message;
	if (is_hostile)
		payload = 1;
	memcpy(head + 8, &version, 4);
	memcpy(head + 12, &bytes, 4);
	memcpy(head + 16, &time, 8);
	memcpy(head + 24, &payload, 8);
	memcpy(head, "OTEL_CTX", 8);
	if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, head, 4096, "OTEL_CTX") == 0)
		return;
	/* A kernel without names of such memory (before 5.17). */
	int fd = memfd_create("OTEL_CTX", 0);
	if (fd >= 0 && write(fd, head, 4096) == 4096)
		head = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED)
		exit(1);
}

/* ---- threads ---- */

__attribute__((noinline)) void work_even(void)
{
	for (int i = 0; i < 20000; i++)
		sink += (unsigned)i;
}

__attribute__((noinline)) void work_odd(void)
{
	for (int i = 0; i < 20000; i++)
		sink -= (unsigned)i;
}

static void set_half(struct record *record, const char *half)
{
	record->bytes = (uint16_t)(2 + strlen(half));
	record->attributes[0] = 1;
	record->attributes[1] = (uint8_t)strlen(half);
	memcpy(record->attributes + 2, half, strlen(half));
}

static void lie(struct record **slot, struct record *record, uint64_t turn)
{
	record->bytes = turn % 3 ? 0xffff : 5;
	record->attributes[0] = 200;
	record->attributes[1] = 255;
	*slot = turn % 2 ? record : (struct record *)(uintptr_t)(turn % 5 ? 0xdead000 : ~0ULL);
}

static void *work(void *argument)
{
	struct record **slot = context_of_thread(), records[2];
	memset(records, 0, sizeof(records));
	for (int i = 0; i < 2; i++) {
		records[i].trace[0] = 0xab;
		records[i].trace[15] = (uint8_t)(uintptr_t)argument;
		records[i].span[0] = 0xcd;
		records[i].valid = 1;
		set_half(&records[i], i ? "odd" : "even");
	}
	for (uint64_t turn = 0; now_s() < end_s; turn++) {
		struct record *record = &records[turn % 2];
		/* No sample between is of a work function. */
		*slot = NULL;
		__asm__ volatile("" ::: "memory");
		record->span[6] = (uint8_t)(turn >> 8);
		record->span[7] = (uint8_t)turn;
		__asm__ volatile("" ::: "memory");
		*slot = record;
		if (is_hostile)
			lie(slot, record, turn);
		__asm__ volatile("" ::: "memory");
		(turn % 2 ? work_odd : work_even)();
	}
	*slot = NULL;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	int count = argc > 2 ? atoi(argv[2]) : 1;
	end_s = now_s() + (argc > 1 ? atof(argv[1]) : 1);
	is_hostile = argc > 4;
	if (argc > 3 && strcmp(argv[3], "-") != 0) {
		void *library = dlopen(argv[3], RTLD_NOW);
		void *found = library ? dlsym(library, "context_of_thread") : NULL;
		if (!found) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		memcpy(&context_of_thread, &found, sizeof(found));
	}
	publish_process();
	for (long i = 1; i < count && i < 64; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	work(NULL);
	for (int i = 1; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
#endif
