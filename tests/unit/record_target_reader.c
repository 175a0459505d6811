/* Reads that come back, that hang, and that take too long. */
#include "record/host/target_reader.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "tests/unit/unit.h"

struct request {
	uint32_t pid;
	uint64_t address;
	uint64_t len;
};

static void read_memory(void **kept, const void *bytes, size_t len, struct bytes_buf *ret)
{
	(void)kept;
	struct request request;
	memcpy(&request, bytes, len);
	uint8_t *data = mem_zalloc(request.len);
	struct iovec local = {data, request.len},
		     remote = {(void *)(uintptr_t)request.address, request.len};
	bytes_put_u8(ret, process_vm_readv((pid_t)request.pid, &local, 1, &remote, 1, 0) ==
				  (ssize_t)request.len);
	bytes_put(ret, data, request.len);
	mem_free(data);
}

static void submit(struct target_reader *reader, uint32_t pid, const void *address, size_t len)
{
	struct request request = {pid, (uintptr_t)address, len};
	target_reader_submit(reader, pid, &request, sizeof(request));
}

/* NULL: it was given up. */
static const struct bytes_buf *take(struct target_reader *reader)
{
	const struct bytes_buf *answer;
	while (!target_reader_take(reader, &answer)) {
		struct pollfd fd = {.fd = target_reader_fd(reader), .events = POLLIN};
		poll(&fd, 1, 10);
	}
	return answer;
}

enum {
	REGION_BYTES = 1 << 16,
	WORK_NS = 20 * 1000 * 1000,
	BUSY_NS = 900 * 1000 * 1000,
	TENTH_NS = 100 * 1000 * 1000,
};

/* Its pages never come. With UFFD_USER_MODE_ONLY reads by others would fail instead of wait. */
static void *map_unserved(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	void *region = mmap(NULL, REGION_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = {
		.range = {(uintptr_t)region, REGION_BYTES}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		return NULL;
	return region;
}

/* A process with such memory, which it leaves alone. */
static pid_t fork_unserved(void **region)
{
	int ends[2];
	if (pipe(ends))
		return -1;
	pid_t pid = fork();
	if (!pid) {
		*region = map_unserved();
		if (write(ends[1], region, sizeof(*region)) > 0)
			pause();
		_exit(0);
	}
	if (read(ends[0], region, sizeof(*region)) != sizeof(*region))
		*region = NULL;
	close(ends[0]);
	close(ends[1]);
	return pid;
}

TEST(a_read_that_hangs_is_given_up_and_the_others_come_back)
{
	static uint8_t bytes[300000] = {1, 2, 3};
	struct target_reader reader;
	void *region;
	bytes[sizeof(bytes) - 1] = 9;
	pid_t pid = fork_unserved(&region);
	if (!region) {
		kill(pid, SIGKILL);
		unit_skip("no userfaultfd");
	}
	target_reader_init(&reader, read_memory);
	uint32_t self = (uint32_t)getpid();
	submit(&reader, self, bytes, 3);
	submit(&reader, (uint32_t)pid, region, 100);
	submit(&reader, (uint32_t)pid, region, 100);
	submit(&reader, self, bytes, sizeof(bytes));
	const struct bytes_buf *answer = take(&reader);
	CHECK(answer && answer->len == 4 && answer->data[0] == 1 && answer->data[3] == 3);
	CHECK(!take(&reader));
	CHECK(!take(&reader)); /* at once: of a process that made one hang */
	answer = take(&reader);
	CHECK(answer && answer->len == sizeof(bytes) + 1 && answer->data[sizeof(bytes)] == 9);
	CHECK(target_reader_is_idle(&reader));
	submit(&reader, (uint32_t)pid, region, 100);
	target_reader_deinit(&reader); /* while one is to be read */
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* What has been sent to the worker stays where it is. */
TEST(what_is_more_wanted_is_read_first)
{
	enum {
		SENT = 8,
		READS = SENT + 5,
	};
	static const uint32_t order[READS] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 12, 8, 9, 11};
	uint8_t bytes[READS];
	struct target_reader reader;
	target_reader_init(&reader, read_memory);
	reader.slow_ns = NS_PER_S; /* so few are sent at once */
	for (int i = 0; i < READS; i++) {
		struct request request = {(uint32_t)getpid(), (uintptr_t)&bytes[i], 1};
		bytes[i] = (uint8_t)i;
		if (i == 10 || i == 12)
			target_reader_submit_first(&reader, request.pid, &request, sizeof(request));
		else
			target_reader_submit(&reader, request.pid, &request, sizeof(request));
		if (i == SENT)
			target_reader_send(&reader);
	}
	for (int i = 0; i < READS; i++) {
		const struct bytes_buf *answer = take(&reader);
		CHECK_INT(target_reader_taken(&reader), order[i]);
		CHECK(answer && answer->len == 2 && answer->data[1] == order[i]);
	}
	submit(&reader, (uint32_t)getpid(), bytes, 1);
	CHECK(take(&reader));
	CHECK_INT(target_reader_taken(&reader), 0); /* there was none before */
	target_reader_deinit(&reader);
}

TEST(one_read_is_waited_for_and_no_longer_than_one_that_hangs)
{
	static const uint8_t bytes[] = {5, 6, 7};
	uint8_t got[sizeof(bytes)] = {0};
	uint32_t self = (uint32_t)getpid();
	CHECK(target_reader_read_memory(self, (uintptr_t)bytes, got, sizeof(got)));
	CHECK(memcmp(got, bytes, sizeof(bytes)) == 0);
	CHECK(!target_reader_read_memory(self, 1, got, sizeof(got)));
	CHECK(!target_reader_read_memory(
		self, (uintptr_t)bytes, got, TARGET_READER_MAX_REQUEST + 1));
	void *region;
	pid_t pid = fork_unserved(&region);
	if (!region) {
		kill(pid, SIGKILL);
		unit_skip("no userfaultfd");
	}
	CHECK(!target_reader_read_memory((uint32_t)pid, (uintptr_t)region, got, sizeof(got)));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Of quick reads more are under way than of slow ones, of which each may be a hostile one. */
TEST(a_worker_is_given_so_much_that_it_does_not_wait)
{
	static const uint8_t byte = 1;
	enum {
		READS = 100
	};
	struct target_reader reader;
	target_reader_init(&reader, read_memory);
	for (int i = 0; i < READS; i++)
		submit(&reader, (uint32_t)getpid(), &byte, 1);
	reader.slow_ns = 50 * 1000;
	target_reader_send(&reader);
	CHECK_INT(reader.sent - reader.first, 64);
	for (int i = 0; i < READS; i++)
		CHECK(take(&reader));
	for (int i = 0; i < READS; i++)
		submit(&reader, (uint32_t)getpid(), &byte, 1);
	reader.slow_ns = 5 * 1000 * 1000;
	target_reader_send(&reader);
	CHECK_INT(reader.sent - reader.first, 8);
	for (int i = 0; i < READS; i++)
		CHECK(take(&reader));
	target_reader_deinit(&reader);
}

/* For the first byte the worker works, for the second one it waits, both for a while. */
static void work_or_wait(void **kept, const void *bytes, size_t len, struct bytes_buf *ret)
{
	(void)kept, (void)len;
	bool works = *(const uint8_t *)bytes;
	uint64_t until_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) + WORK_NS;
	while (works && clock_read_ns(CLOCK_PROCESS_CPUTIME_ID) < until_ns)
		;
	if (!works)
		nanosleep(&(struct timespec){.tv_nsec = WORK_NS}, NULL);
	bytes_put_u8(ret, 1);
}

/* Others have the CPU for longer than a read may hang. */
static void wait_for_cpu(void **kept, const void *bytes, size_t len, struct bytes_buf *ret)
{
	(void)kept, (void)bytes, (void)len;
	static const struct sched_param none;
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET((size_t)sched_getcpu(), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	pid_t other = fork();
	if (!other) {
		uint64_t until_ns = clock_now_ns() + BUSY_NS;
		while (clock_now_ns() < until_ns)
			;
		_exit(0);
	}
	sched_setscheduler(0, SCHED_IDLE, &none);
	while (waitpid(other, NULL, WNOHANG) == 0)
		;
	bytes_put_u8(ret, 1);
}

TEST(a_read_that_waits_for_a_cpu_does_not_hang)
{
	struct target_reader reader;
	uint32_t self = (uint32_t)getpid();
	target_reader_init(&reader, wait_for_cpu);
	target_reader_submit(&reader, self, &self, sizeof(self));
	CHECK(take(&reader));
	CHECK_INT(reader.hangs.len, 0);
	target_reader_deinit(&reader);
}

/* For so long as the byte says, in tenths of a second. */
static void wait_for_long(void **kept, const void *bytes, size_t len, struct bytes_buf *ret)
{
	(void)kept, (void)len;
	nanosleep(&(struct timespec){.tv_nsec = *(const uint8_t *)bytes * TENTH_NS}, NULL);
	bytes_put_u8(ret, 1);
}

TEST(a_process_that_made_a_read_hang_is_read_again_later_and_later)
{
	static const uint8_t none = 0, long_time = 8;
	struct target_reader reader;
	uint32_t self = (uint32_t)getpid();
	target_reader_init(&reader, wait_for_long);
	for (uint64_t pause_s = 1; pause_s <= 2; pause_s++) {
		target_reader_submit(&reader, self, &long_time, 1);
		CHECK(!take(&reader));
		CHECK_INT(reader.hangs.len, 1);
		CHECK_INT(reader.hangs.data[0].pause_ns, pause_s * NS_PER_S);
		target_reader_submit(&reader, self, &none, 1);
		CHECK(!take(&reader));
		reader.hangs.data[0].until_ns = clock_now_ns(); /* it is over, */
		reader.spent_from_ns = 0;                       /* ... and the second, too */
		target_reader_submit(&reader, self, &none, 1);
		CHECK(take(&reader));
	}
	target_reader_deinit(&reader);
}

/* Both are the process's time. */
TEST(a_read_takes_the_time_that_it_works_or_waits)
{
	static const uint8_t works = 1, waits = 0;
	struct target_reader reader;
	target_reader_init(&reader, work_or_wait);
	target_reader_submit(&reader, (uint32_t)getpid(), &works, 1);
	CHECK(take(&reader));
	CHECK(target_reader_answer_ns(&reader) >= WORK_NS);
	target_reader_submit(&reader, (uint32_t)getpid(), &waits, 1);
	CHECK(take(&reader));
	CHECK(target_reader_answer_ns(&reader) >= WORK_NS);
	target_reader_deinit(&reader);
}

static void wait_and_wait_for_cpu(void **kept, const void *bytes, size_t len, struct bytes_buf *ret)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
	wait_for_cpu(kept, bytes, len, ret);
}

/* Also where it waits for something else. */
TEST(that_others_have_the_cpu_is_not_the_time_of_a_read)
{
	struct target_reader reader;
	uint32_t self = (uint32_t)getpid();
	if (access("/proc/self/schedstat", R_OK))
		unit_skip("this kernel does not count it");
	target_reader_init(&reader, wait_and_wait_for_cpu);
	target_reader_submit(&reader, self, &self, sizeof(self));
	CHECK(take(&reader));
	CHECK(target_reader_answer_ns(&reader) < BUSY_NS / 2);
	target_reader_deinit(&reader);
}

TEST(a_process_gets_its_part_of_the_time_and_no_more)
{
	static const uint8_t bytes[1] = {7};
	struct target_reader reader;
	uint32_t self = (uint32_t)getpid(), other = (uint32_t)getppid();
	target_reader_init(&reader, read_memory);
	submit(&reader, self, bytes, 1);
	CHECK(take(&reader));
	target_reader_charge(&reader, self, UINT32_MAX);
	submit(&reader, self, bytes, 1);
	submit(&reader, other, bytes, 1);
	CHECK(!take(&reader));
	CHECK(take(&reader));     /* whether it can be read or not */
	reader.spent_from_ns = 0; /* the next second */
	submit(&reader, self, bytes, 1);
	CHECK(take(&reader));
	target_reader_deinit(&reader);
}
