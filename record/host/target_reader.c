#include "record/host/target_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "record/host/priority.h"
#include "record/host/proc.h"

enum {
	LEAST_IN_FLIGHT = 8,
	MOST_IN_FLIGHT = 64, /* requests, which the socket has room for */
	PACKET_BYTES = 32 << 10,
	WORKERS_MAX = 16,          /* with those that cannot die */
	HUNG_OF_USER_MAX = 4,      /* processes, then no more of that user are read */
	JOBS_MAX = 64 << 10,       /* waiting */
	PASSED_MAX = 4 << 10,      /* by one that is made before them */
	HANG_NS = 400 * NS_PER_MS, /* of a read that has begun */
	PAUSES_MAX = 10,           /* of a process: each is twice as long as the one before */
	WORKER_BYTES =
		256 << 20, /* of a worker's data, the recorder's that it was forked with too */
};

static const uint64_t ahead_ns = 10ULL * NS_PER_MS;       /* of reads, that the worker is given */
static const uint64_t start_ns = 2000ULL * NS_PER_MS;     /* until it begins: the machine is busy */
static const uint64_t pause_ns = 1000ULL * NS_PER_MS;     /* the first one */
static const uint64_t all_share_ns = 250ULL * NS_PER_MS;  /* of a second, for all processes */
static const uint64_t least_share_ns = 10ULL * NS_PER_MS; /* for one, however many there are */

/* ---- in the worker ---- */

struct answer_head {
	uint64_t worker; /* process, which has begun: nothing follows yet; 0: the answer does */
	uint64_t len;
	uint64_t ns; /* that it took; of one that has begun, its CPU time so far */
};

static void send_or_exit(const void *bytes, size_t len)
{
	if (send(0, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
		_exit(0);
}

struct read_clock {
	uint64_t now_ns, cpu_ns;
	uint64_t queued_ns; /* others had the CPU */
	long waits;
};

static struct read_clock read_clock_now(int schedstat_fd)
{
	struct rusage used = {0};
	getrusage(RUSAGE_SELF, &used);
	return (struct read_clock){
		.now_ns = clock_now_ns(),
		.cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID),
		.queued_ns = proc_queued_ns(schedstat_fd),
		.waits = used.ru_nvcsw,
	};
}

/* What a read took. That others had the CPU is not the process's, but that a page had to come is.
 */
static uint64_t read_clock_since(const struct read_clock *begun, int schedstat_fd)
{
	struct read_clock now = read_clock_now(schedstat_fd);
	uint64_t cpu_ns = now.cpu_ns - begun->cpu_ns, took_ns = now.now_ns - begun->now_ns;
	uint64_t queued_ns = now.queued_ns - begun->queued_ns;
	bool has_waited = now.waits != begun->waits && took_ns > cpu_ns + queued_ns;
	return has_waited ? took_ns - queued_ns : cpu_ns;
}

static void serve_request(
	target_read_fn *fn, void **kept, const void *request, size_t len, int schedstat_fd)
{
	struct answer_head head = {
		.worker = (uint64_t)getpid(), .ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID)};
	struct bytes_buf answer = {0};
	send_or_exit(&head, sizeof(head));
	struct read_clock begun = read_clock_now(schedstat_fd);
	fn(kept, request, len, &answer);
	head = (struct answer_head){
		.len = answer.len, .ns = read_clock_since(&begun, schedstat_fd)};
	send_or_exit(&head, sizeof(head));
	for (size_t at = 0; at < answer.len; at += PACKET_BYTES) {
		size_t left = answer.len - at;
		send_or_exit(answer.data + at, left < PACKET_BYTES ? left : PACKET_BYTES);
	}
	bytes_buf_deinit(&answer);
}

/* Nothing of the recorder's stays open: neither its output nor a pipe that waits for its end. */
static void target_reader_keep_only(int fd)
{
	dup2(fd, 0);
	syscall(SYS_close_range, 1U, ~0U, 0U);
}

static void run_worker(int fd, target_read_fn *fn)
{
	uint8_t request[TARGET_READER_MAX_REQUEST];
	void *kept = NULL;
	target_reader_keep_only(fd);
	int schedstat_fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	for (ssize_t len; (len = recv(0, request, sizeof(request), 0)) > 0;)
		serve_request(fn, &kept, request, (size_t)len, schedstat_fd);
	_exit(0);
}

/* ---- in the process that forks workers ---- */

/* A descriptor for the next worker; -1: none came with the message. False: the recorder is gone. */
static bool receive_fd(int *fd)
{
	char byte, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	*fd = -1;
	if (recvmsg(0, &message, 0) <= 0)
		return false;
	const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(head), sizeof(*fd));
	return true;
}

/*
 * How much there is to read says what is read, and it may be made to lead to much more. A worker
 * that gets no more memory ends: that read is given up. Not where sanitizers have more for
 * themselves.
 */
static void limit_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
	const struct rlimit limit = {WORKER_BYTES, WORKER_BYTES};
	setrlimit(RLIMIT_DATA, &limit);
	prctl(PR_SET_DUMPABLE, 0); /* a core file would cost more than the read */
#endif
}

static void run_forker(int control_fd, target_read_fn *fn)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, "ebprof-reader");
	limit_memory();
	priority_raise();
	target_reader_keep_only(control_fd);
	pid_t worker = 0;
	int alive = 0;
	for (int fd; receive_fd(&fd);) {
		if (worker > 0)
			kill(worker, SIGKILL);
		worker = 0;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			alive--;
		if (fd < 0)
			continue;
		if (alive < WORKERS_MAX)
			worker = fork();
		if (worker == 0 && alive < WORKERS_MAX)
			run_worker(fd, fn);
		alive += worker > 0;
		close(fd);
	}
	if (worker > 0)
		kill(worker, SIGKILL);
	_exit(0);
}

/* ---- in the recorder: processes ---- */

void target_reader_init(struct target_reader *reader, target_read_fn *fn)
{
	*reader = (struct target_reader){
		.fn = fn, .forker_fd = -1, .worker_fd = -1, .slow_ns = ahead_ns / 16};
}

void target_reader_start(struct target_reader *reader)
{
	int ends[2];
	if (reader->forker_pid || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return;
	reader->forker_pid = fork();
	if (!reader->forker_pid)
		run_forker(ends[1], reader->fn);
	close(ends[1]);
	reader->forker_fd = ends[0];
}

/* Ends the worker; `fd` is the next one's, -1: there is none yet. */
static bool send_fd(const struct target_reader *reader, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	if (fd >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		*head = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(sizeof(int)),
		};
		memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	}
	return sendmsg(reader->forker_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

static void start_worker(struct target_reader *reader)
{
	int ends[2];
	target_reader_start(reader);
	if (reader->forker_fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return;
	reader->worker_fd = ends[0];
	if (!send_fd(reader, ends[1]))
		mem_close_fd(&reader->worker_fd);
	close(ends[1]);
}

/* What it had not begun the next one is to do. */
static void end_worker(struct target_reader *reader)
{
	if (reader->worker_fd < 0)
		return;
	send_fd(reader, -1);
	mem_close_fd(&reader->worker_fd);
	reader->sent = reader->first;
	reader->worker = 0;
	reader->answer_bytes = reader->answer.len = 0;
}

void target_reader_deinit(struct target_reader *reader)
{
	end_worker(reader);
	mem_close_fd(&reader->forker_fd);
	if (reader->forker_pid > 0)
		waitpid(reader->forker_pid, NULL, 0);
	vec_deinit(&reader->jobs);
	bytes_buf_deinit(&reader->answer);
	vec_deinit(&reader->hangs);
	map_deinit(&reader->hung_uid);
	map_deinit(&reader->spent_ns);
}

/* ---- who may be read ---- */

static bool find_uid(uint32_t pid, uint32_t *uid)
{
	char path[sizeof("/proc/4294967295")];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	bool is_found = stat(path, &st) == 0;
	*uid = is_found ? st.st_uid : 0;
	return is_found;
}

static struct target_hang *find_hang(const struct target_reader *reader, uint32_t pid)
{
	struct proc_stat stat;
	vec_each(&reader->hangs, hang)
		if (hang->pid == pid && proc_read_stat(pid, &stat) &&
			stat.start_ns == hang->started_ns)
			return hang;
	return NULL;
}

static void note_hang(struct target_reader *reader, uint32_t pid)
{
	struct target_hang *known = find_hang(reader, pid);
	struct proc_stat stat = {0};
	uint32_t uid;
	if (!known) {
		proc_read_stat(pid, &stat);
		vec_push(&reader->hangs, (struct target_hang){pid, stat.start_ns, pause_ns / 2, 0});
		known = &reader->hangs.data[reader->hangs.len - 1];
		if (find_uid(pid, &uid) && uid)
			++*map_put(&reader->hung_uid, uid, NULL);
	}
	if (known->pause_ns < pause_ns << PAUSES_MAX)
		known->pause_ns *= 2;
	known->until_ns = clock_now_ns() + known->pause_ns;
}

static bool made_hang(const struct target_reader *reader, uint32_t pid)
{
	uint32_t uid;
	const struct target_hang *hang = reader->hangs.len ? find_hang(reader, pid) : NULL;
	const uint64_t *count = NULL;
	if (hang)
		return clock_now_ns() < hang->until_ns;
	if (reader->hung_uid.len && find_uid(pid, &uid))
		count = map_get(&reader->hung_uid, uid);
	return count && *count >= HUNG_OF_USER_MAX;
}

void target_reader_charge(struct target_reader *reader, uint32_t pid, uint64_t ns)
{
	*map_put(&reader->spent_ns, pid, NULL) += ns;
	reader->all_spent_ns += ns;
}

bool target_reader_has_time_left(struct target_reader *reader, uint32_t pid)
{
	uint64_t now = clock_now_ns();
	if (now - reader->spent_from_ns >= NS_PER_S) {
		map_clear(&reader->spent_ns);
		reader->all_spent_ns = 0;
		reader->spent_from_ns = now;
	}
	if (reader->all_spent_ns < all_share_ns / 2)
		return true;
	const uint64_t *spent = map_get(&reader->spent_ns, pid);
	uint64_t share = all_share_ns / 2 / (reader->spent_ns.len + 1);
	return !spent || *spent < (share > least_share_ns ? share : least_share_ns);
}

/* ---- jobs ---- */

bool target_reader_is_idle(const struct target_reader *reader)
{
	return reader->first == reader->jobs.len;
}

void target_reader_submit(
	struct target_reader *reader, uint32_t pid, const void *request, size_t len)
{
	struct target_read_job job = {
		.pid = pid, .len = (uint32_t)len, .number = (uint32_t)reader->jobs.len};
	job.is_refused = len > sizeof(job.request) || reader->jobs.len - reader->first >= JOBS_MAX;
	if (!job.is_refused)
		memcpy(job.request, request, len);
	vec_push(&reader->jobs, job);
}

void target_reader_submit_first(
	struct target_reader *reader, uint32_t pid, const void *request, size_t len)
{
	size_t at = reader->hasty_end > reader->sent ? reader->hasty_end : reader->sent;
	size_t passed = reader->jobs.len - at;
	target_reader_submit(reader, pid, request, len);
	if (passed > PASSED_MAX)
		return;
	struct target_read_job *place = &reader->jobs.data[at], job = place[passed];
	memmove(place + 1, place, passed * sizeof(*place));
	*place = job;
	reader->hasty_end = at + 1;
}

uint32_t target_reader_taken(const struct target_reader *reader)
{
	return reader->taken;
}

/* So many that the worker has something to do until the recorder comes again, by the slowest of the
 * reads before. */
static size_t count_in_flight(const struct target_reader *reader)
{
	uint64_t count = ahead_ns / (reader->slow_ns + 1);
	return count < LEAST_IN_FLIGHT  ? LEAST_IN_FLIGHT
	       : count > MOST_IN_FLIGHT ? MOST_IN_FLIGHT
					: (size_t)count;
}

void target_reader_send(struct target_reader *reader)
{
	size_t most = count_in_flight(reader);
	for (; reader->sent < reader->jobs.len && reader->sent - reader->first < most;
		reader->sent++) {
		struct target_read_job *job = &reader->jobs.data[reader->sent];
		job->is_refused |= made_hang(reader, job->pid) ||
				   !target_reader_has_time_left(reader, job->pid);
		if (job->is_refused)
			continue;
		if (reader->worker_fd < 0)
			start_worker(reader);
		if (reader->sent == reader->first)
			reader->moved_ns = clock_now_ns();
		ssize_t sent = send(
			reader->worker_fd, job->request, job->len, MSG_DONTWAIT | MSG_NOSIGNAL);
		job->is_refused = sent != (ssize_t)job->len;
	}
}

static void finish_first(struct target_reader *reader)
{
	reader->worker = 0;
	reader->answer_bytes = 0;
	reader->moved_ns = clock_now_ns();
	reader->taken = reader->jobs.data[reader->first].number;
	reader->first++;
	if (reader->sent < reader->first)
		reader->sent = reader->first;
	if (target_reader_is_idle(reader))
		reader->jobs.len = reader->first = reader->sent = reader->hasty_end = 0;
}

/* It may run and has not: on a busy machine others have the CPU. */
static bool waits_for_cpu(const struct target_reader *reader)
{
	struct proc_stat stat;
	return proc_read_stat(reader->worker, &stat) && stat.state == 'R' &&
	       stat.cpu_ns < reader->begun_cpu_ns + HANG_NS;
}

static bool is_hung(const struct target_reader *reader)
{
	uint64_t waited_ns = clock_now_ns() - reader->moved_ns;
	return reader->worker ? waited_ns > HANG_NS && !waits_for_cpu(reader)
			      : waited_ns > start_ns;
}

/* True when a packet was the last of the first job's answer. */
static bool take_packet(struct target_reader *reader, const uint8_t *packet, size_t len)
{
	struct answer_head head;
	reader->moved_ns = clock_now_ns();
	if (reader->answer_bytes) {
		bytes_put(&reader->answer, packet, len);
	} else if (len == sizeof(head)) {
		memcpy(&head, packet, sizeof(head));
		reader->answer.len = 0;
		reader->answer_bytes = head.len;
		if (head.worker) {
			reader->worker = (uint32_t)head.worker;
			reader->begun_cpu_ns = head.ns;
			return false;
		}
		reader->answer_ns = head.ns;
		uint64_t slow_ns = reader->slow_ns - reader->slow_ns / 8;
		reader->slow_ns = head.ns > slow_ns ? head.ns : slow_ns;
	}
	return reader->answer.len >= reader->answer_bytes;
}

uint64_t target_reader_answer_ns(const struct target_reader *reader)
{
	return reader->answer_ns;
}

bool target_reader_take(struct target_reader *reader, const struct bytes_buf **answer)
{
	uint8_t packet[PACKET_BYTES];
	*answer = NULL;
	for (;;) {
		target_reader_send(reader);
		if (target_reader_is_idle(reader))
			return false;
		struct target_read_job job = reader->jobs.data[reader->first];
		ssize_t len = job.is_refused ? 0
					     : recv(reader->worker_fd, packet, sizeof(packet),
						       MSG_DONTWAIT);
		if (len > 0) {
			if (!take_packet(reader, packet, (size_t)len))
				continue;
			target_reader_charge(reader, job.pid, reader->answer_ns);
			*answer = &reader->answer;
		} else if (!job.is_refused) {
			bool is_over = len == 0, has_hung = len < 0 && is_hung(reader);
			if (!is_over && !has_hung)
				return false;
			if (has_hung && reader->worker)
				note_hang(reader, job.pid);
			if (has_hung)
				reader->slow_ns = HANG_NS;
			if (reader->worker)
				target_reader_charge(
					reader, job.pid, clock_now_ns() - reader->moved_ns);
			end_worker(reader);
		}
		finish_first(reader);
		return true;
	}
}

int target_reader_fd(const struct target_reader *reader)
{
	return target_reader_is_idle(reader) ? -1 : reader->worker_fd;
}

/* ---- one read, and no more ---- */

struct memory_request {
	uint64_t address;
	uint32_t pid, len;
};

static void read_memory_once(void **kept, const void *bytes, size_t len, struct bytes_buf *ret)
{
	(void)kept;
	struct memory_request request;
	uint8_t there[TARGET_READER_MAX_REQUEST];
	memcpy(&request, bytes, len < sizeof(request) ? len : sizeof(request));
	struct iovec local = {there, request.len},
		     remote = {(void *)(uintptr_t)request.address, request.len};
	if (process_vm_readv((pid_t)request.pid, &local, 1, &remote, 1, 0) == (ssize_t)request.len)
		bytes_put(ret, there, request.len);
}

bool target_reader_read_memory(uint32_t pid, uint64_t address, void *to, size_t len)
{
	struct memory_request request = {address, pid, (uint32_t)len};
	struct target_reader reader;
	const struct bytes_buf *answer = NULL;
	if (len > TARGET_READER_MAX_REQUEST)
		return false;
	target_reader_init(&reader, read_memory_once);
	target_reader_submit(&reader, pid, &request, sizeof(request));
	while (!target_reader_take(&reader, &answer) && !target_reader_is_idle(&reader)) {
		struct pollfd fd = {.fd = target_reader_fd(&reader), .events = POLLIN};
		poll(&fd, 1, 10);
	}
	bool is_read = answer && answer->len == len;
	if (is_read)
		memcpy(to, answer->data, len);
	target_reader_deinit(&reader);
	return is_read;
}
