/*
 * ip_sampler PID SECONDS HZ: where the program counters of a process's threads are, by the kernel's
 * own sampling: a line a sample in user code, "NANOSECONDS TID ADDRESS", and one with address 0
 * where samples may be missing. Threads that come later are not seen. SIGTERM ends it before.
 */
#include <dirent.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_THREADS = 64,
	RING_PAGES = 512,
	PAGE = 4096,
};

struct ring {
	struct perf_event_mmap_page *head;
	uint64_t taken;
};

static struct ring rings[MAX_THREADS];

static volatile sig_atomic_t has_ended;

static void on_term(int signal)
{
	(void)signal;
	has_ended = 1;
}

static int open_thread(int tid, uint64_t hz)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000 / hz,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.wakeup_events = 256};
	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void copy_out(const struct ring *ring, uint64_t at, void *to, size_t len)
{
	const uint8_t *data = (const uint8_t *)ring->head + PAGE;
	for (size_t i = 0; i < len; i++)
		((uint8_t *)to)[i] = data[(at + i) % ((uint64_t)RING_PAGES * PAGE)];
}

static void print_samples(struct ring *ring)
{
	uint64_t end = __atomic_load_n(&ring->head->data_head, __ATOMIC_ACQUIRE);
	while (ring->taken < end) {
		struct {
			struct perf_event_header header;
			uint64_t ip;
			uint32_t pid, tid;
			uint64_t time_ns;
		} sample = {0};
		copy_out(ring, ring->taken, &sample.header, sizeof(sample.header));
		size_t len = sample.header.size;
		copy_out(ring, ring->taken, &sample, len < sizeof(sample) ? len : sizeof(sample));
		unsigned mode = sample.header.misc & PERF_RECORD_MISC_CPUMODE_MASK;
		if (sample.header.type == PERF_RECORD_SAMPLE)
			printf("%llu %u %llx\n", (unsigned long long)sample.time_ns, sample.tid,
				mode == PERF_RECORD_MISC_USER ? (unsigned long long)sample.ip : 0);
		ring->taken += len;
	}
	__atomic_store_n(&ring->head->data_tail, ring->taken, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
	char path[64];
	struct pollfd fds[MAX_THREADS];
	int count = 0;
	if (argc != 4)
		return 2;
	snprintf(path, sizeof(path), "/proc/%d/task", atoi(argv[1]));
	DIR *tasks = opendir(path);
	for (struct dirent *task; tasks && count < MAX_THREADS && (task = readdir(tasks));) {
		int fd = atoi(task->d_name)
				 ? open_thread(atoi(task->d_name), strtoull(argv[3], NULL, 0))
				 : -1;
		if (fd < 0)
			continue;
		void *memory = mmap(
			NULL, (RING_PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (memory == MAP_FAILED)
			break;
		rings[count].head = memory;
		fds[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
	}
	if (!count) {
		perror("ip_sampler");
		return 1;
	}
	signal(SIGTERM, on_term);
	time_t end = time(NULL) + atoi(argv[2]);
	while (time(NULL) < end && !has_ended) {
		poll(fds, (nfds_t)count, 100);
		for (int i = 0; i < count; i++)
			print_samples(&rings[i]);
	}
	return 0;
}
