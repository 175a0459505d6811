#include "record/host/proc_access.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/fd.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "record/host/priority.h"

enum {
	THREADS_MAX = 32, /* with those whose call was given up */
	STACK_BYTES = 128 << 10,
	PIECE_BYTES = 16 << 10,
	READ_BYTES = 64 << 10,
	READ_NS = 5 * NS_PER_MS,
	REFILL = 8,      /* one part in so many of the time may be spent waiting, */
	STARVED_MAX = 2, /* so many times as long is waited for a call that has no CPU */
};

static const uint64_t wait_sum_ns = 80ULL * NS_PER_MS; /* ... and this much at once */

static const uint64_t least_ns = 2ULL * NS_PER_MS;     /* without it, no call is made */
static const uint64_t wait_max_ns = 40ULL * NS_PER_MS; /* for one call */

enum call_kind {
	CALL_OPEN,
	CALL_READ,
	CALL_LINK,
};

struct call {
	enum call_kind kind;
	uint32_t pid;
	int flags;
	char path[96];
	int fd; /* read, or opened */
	int error;
	struct str text;
	struct statx file;
	uint64_t blocked_ns; /* that it slept: not those on a CPU, or waiting for one */
	/* Under the lock: */
	pid_t thread; /* that makes it; 0: none yet */
	bool is_done, is_given_up;
};

/* Threads are the process's, so is this. */
static struct {
	atomic_bool is_started;
	atomic_int pid;       /* of the process that has the threads */
	pthread_mutex_t lock; /* of everything below, and not to be taken in another process */
	pthread_cond_t submitted, done;
	VEC(struct call *) waiting;  /* for a thread */
	VEC(struct call *) given_up; /* not through yet */
	uint32_t nr_threads, nr_idle;
	uint64_t wait_left_ns, filled_ns;
	bool is_paced;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the system calls ---- */

/* The kernel tells of mappings some at a time, a page full: as many as come quickly. */
static int read_some(struct call *call)
{
	char piece[PIECE_BYTES];
	uint64_t until_ns = clock_now_ns() + READ_NS;
	do {
		ssize_t got = fd_read(call->fd, piece, sizeof(piece));
		if (got < 0)
			return errno;
		if (!got)
			break;
		str_write(&call->text, piece, (size_t)got);
	} while (call->text.len < READ_BYTES && clock_now_ns() < until_ns);
	return 0;
}

static int read_link(struct call *call)
{
	char target[PATH_MAX];
	ssize_t len = readlink(call->path, target, sizeof(target));
	if (len < 0 || statx(AT_FDCWD, call->path, AT_STATX_DONT_SYNC, STATX_INO, &call->file))
		return errno;
	str_write(&call->text, target, (size_t)len);
	return 0;
}

static void make_call(struct call *call)
{
	switch (call->kind) {
	case CALL_OPEN:
		call->fd = open(call->path, call->flags | O_CLOEXEC);
		call->error = call->fd < 0 ? errno : 0;
		return;
	case CALL_READ:
		call->error = read_some(call);
		return;
	case CALL_LINK:
		call->error = read_link(call);
		return;
	}
}

static struct call *call_create(enum call_kind kind, uint32_t pid, const char *name)
{
	struct call *call = mem_zalloc(sizeof(*call));
	call->kind = kind;
	call->pid = pid;
	call->fd = -1;
	snprintf(call->path, sizeof(call->path), "/proc/%u/%s", pid, name);
	return call;
}

static void call_destroy(struct call *call)
{
	mem_close_fd(&call->fd);
	str_deinit(&call->text);
	mem_free(call);
}

/* ---- in the threads ---- */

/*
 * How long this thread has been on a CPU or waiting for one (see /proc/PID/schedstat in
 * Documentation/scheduler/sched-stats.rst). A kernel that does not count the waiting says 0 of it.
 * What that file has of the time on a CPU is as old as the last tick; the clock is not.
 */
static uint64_t runnable_ns(int schedstat_fd)
{
	char text[96];
	ssize_t got = pread(schedstat_fd, text, sizeof(text) - 1, 0);
	unsigned long long delay_ns = 0;
	text[got > 0 ? got : 0] = '\0';
	sscanf(text, "%*u %llu", &delay_ns);
	return clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + delay_ns;
}

static void make_call_timed(struct call *call, int schedstat_fd)
{
	uint64_t begun_ns = clock_now_ns(), runnable = runnable_ns(schedstat_fd);
	make_call(call);
	runnable = runnable_ns(schedstat_fd) - runnable;
	uint64_t took_ns = clock_now_ns() - begun_ns;
	call->blocked_ns = took_ns > runnable ? took_ns - runnable : 0;
}

static void forget_given_up(struct call *call)
{
	size_t left = 0;
	vec_each(&pool.given_up, it)
		if (*it != call)
			pool.given_up.data[left++] = *it;
	pool.given_up.len = left;
	call_destroy(call);
}

/* Under the lock, which it leaves meanwhile. */
static void serve_call(struct call *call, int schedstat_fd)
{
	if (!call->is_given_up) {
		call->thread = gettid();
		pthread_mutex_unlock(&pool.lock);
		make_call_timed(call, schedstat_fd);
		pthread_mutex_lock(&pool.lock);
	}
	call->is_done = true;
	if (call->is_given_up)
		forget_given_up(call);
	else
		pthread_cond_broadcast(&pool.done);
}

static void *serve_calls(void *context)
{
	CLEANUP_FD int schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	priority_raise();
	pthread_mutex_lock(&pool.lock);
	pool.nr_idle++;
	while (pool.is_started || pool.waiting.len) {
		if (!pool.waiting.len) {
			pthread_cond_wait(&pool.submitted, &pool.lock);
			continue;
		}
		struct call *call = pool.waiting.data[--pool.waiting.len];
		pool.nr_idle--;
		serve_call(call, schedstat_fd);
		pool.nr_idle++;
	}
	pool.nr_idle--;
	pool.nr_threads--;
	pthread_mutex_unlock(&pool.lock);
	return context;
}

/* ---- outside of them ---- */

void proc_access_start(void)
{
	pthread_condattr_t attributes;
	pthread_mutex_lock(&pool.lock);
	if (!pool.pid) {
		pthread_condattr_init(&attributes);
		pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
		pthread_cond_init(&pool.submitted, NULL);
		pthread_cond_init(&pool.done, &attributes);
		pthread_condattr_destroy(&attributes);
	}
	pool.pid = getpid();
	pool.is_started = true;
	pool.wait_left_ns = wait_sum_ns;
	pool.filled_ns = clock_now_ns();
	pthread_mutex_unlock(&pool.lock);
}

void proc_access_stop(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.is_started = false;
	if (pool.pid)
		pthread_cond_broadcast(&pool.submitted);
	pthread_mutex_unlock(&pool.lock);
}

bool proc_access_set_paced(bool is_paced)
{
	pthread_mutex_lock(&pool.lock);
	bool was_paced = pool.is_paced;
	pool.is_paced = is_paced;
	pthread_mutex_unlock(&pool.lock);
	return was_paced;
}

/* Under the lock. False: there cannot be one more. */
static bool has_thread(void)
{
	if (pool.nr_idle > pool.waiting.len)
		return true;
	if (pool.nr_threads >= THREADS_MAX)
		return false;
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* Signals are for the thread that has blocked, or handles them. */
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool is_made = !pthread_create(&thread, &attributes, serve_calls, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	pool.nr_threads += is_made;
	return is_made;
}

static bool is_busy(uint32_t pid)
{
	vec_each(&pool.given_up, call)
		if ((*call)->pid == pid)
			return true;
	return false;
}

/* How long the next call may be waited for. */
static uint64_t waiting_time(uint64_t now_ns)
{
	pool.wait_left_ns += (now_ns - pool.filled_ns) / REFILL;
	pool.filled_ns = now_ns;
	if (pool.wait_left_ns > wait_sum_ns)
		pool.wait_left_ns = wait_sum_ns;
	return pool.wait_left_ns < wait_max_ns ? pool.wait_left_ns : wait_max_ns;
}

static bool proc_access_wait_for(const struct call *call, uint64_t until_ns)
{
	struct timespec until = clock_to_timespec(until_ns);
	for (int error = 0; !call->is_done && !error;)
		error = pthread_cond_timedwait(&pool.done, &pool.lock, &until);
	return call->is_done;
}

/* It is not the process that keeps us waiting: the machine is busy. */
static bool lacks_cpu(const struct call *call)
{
	char path[64], text[256];
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)call->thread);
	CLEANUP_FD int fd = call->thread ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t got = fd < 0 ? 0 : fd_read(fd, text, sizeof(text) - 1);
	text[got > 0 ? got : 0] = '\0';
	const char *state = strrchr(text, ')');
	return !call->thread || (state && strncmp(state, ") R", 3) == 0);
}

/* Under the lock. False: it is the threads' from now on. */
static bool proc_access_submit(struct call *call, uint64_t begun_ns, uint64_t time_ns)
{
	vec_push(&pool.waiting, call);
	pthread_cond_signal(&pool.submitted);
	bool is_done = proc_access_wait_for(call, begun_ns + time_ns);
	for (int i = 1; i < STARVED_MAX && !is_done && lacks_cpu(call); i++)
		is_done = proc_access_wait_for(call, clock_now_ns() + time_ns);
	uint64_t spent_ns = clock_now_ns() - begun_ns;
	if (is_done && pool.is_paced)
		spent_ns = call->blocked_ns;
	pool.wait_left_ns -= spent_ns < pool.wait_left_ns ? spent_ns : pool.wait_left_ns;
	if (!is_done) {
		call->is_given_up = true;
		vec_push(&pool.given_up, call);
	}
	return is_done;
}

/* Under the lock. */
static bool is_through_in_time(struct call *call)
{
	uint64_t now_ns = clock_now_ns(), time_ns = waiting_time(now_ns);
	if (time_ns >= least_ns && !is_busy(call->pid) && has_thread())
		return proc_access_submit(call, now_ns, time_ns);
	call_destroy(call);
	return false;
}

/* NULL: it was given up. Else it has been made, and is the caller's. */
static struct call *finish_call(struct call *call)
{
	if (!pool.is_started || pool.pid != getpid()) {
		make_call(call);
		return call;
	}
	pthread_mutex_lock(&pool.lock);
	bool is_done = is_through_in_time(call);
	pthread_mutex_unlock(&pool.lock);
	errno = ETIMEDOUT;
	return is_done ? call : NULL;
}

int proc_access_open(uint32_t pid, const char *name, int flags)
{
	struct call *call = call_create(CALL_OPEN, pid, name);
	call->flags = flags;
	call = finish_call(call);
	if (!call)
		return -1;
	int fd = steal_fd(call->fd), error = call->error;
	call_destroy(call);
	errno = error;
	return fd;
}

ssize_t proc_access_read(uint32_t pid, int *fd, struct str *ret)
{
	struct call *call = call_create(CALL_READ, pid, "");
	call->fd = steal_fd(*fd);
	call = finish_call(call);
	if (!call)
		return -1;
	ssize_t got = call->error ? -1 : (ssize_t)call->text.len;
	int error = call->error;
	*fd = steal_fd(call->fd);
	str_write(ret, str_text(&call->text), call->text.len);
	call_destroy(call);
	errno = error;
	return got;
}

bool proc_access_link(uint32_t pid, const char *name, struct str *ret, struct statx *file)
{
	struct call *call = finish_call(call_create(CALL_LINK, pid, name));
	if (!call)
		return false;
	int error = call->error;
	*file = call->file;
	if (!error)
		str_write(ret, str_text(&call->text), call->text.len);
	call_destroy(call);
	errno = error;
	return !error;
}
