/*
 * The child is a copy of this process, so it has all tables that were read. It
 * gets the numbers of the snapshots to take, and hands back what it adds to the stacks,
 * one message a snapshot: its length (u32), then varints:
 *
 *   the stack's number, the steps it took,
 *   and when the number is new: its cause, how many frames there are, and for
 *   each: object, offset, flags.
 *
 * We add the same to our own stacks, so that we and the next child agree on the
 * numbers. The count of messages tells which snapshot a child died over: a new
 * one goes on behind it. What a dying child said is checked like a file.
 */
#include "report/load/unwind/isolation.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "report/load/unwind/unwinder.h"

enum {
	MESSAGE_MAX_BYTES = 64 << 10, /* 1024 frames of at most 25 bytes are less */
	IDLE_LIMITS = 12,
};

/* ---- in the child ---- */

/* It writes no core, which would be as large as the recording's tables are. */
static void prepare_child(pid_t parent)
{
	struct sigaction end = {.sa_handler = SIG_DFL};
	sigset_t nothing;
	sigemptyset(&nothing);
	sigaction(SIGPROF, &end, NULL);
	sigprocmask(SIG_SETMASK, &nothing, NULL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	prctl(PR_SET_DUMPABLE, 0); /* cores that go into a pipe have no limit */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before that */
		_exit(1);
}

/* SIGPROF ends a process whose CPU time is used up. */
static void begin_limit(uint32_t limit_ms)
{
	struct itimerval limit = {
		.it_value = {.tv_sec = limit_ms / 1000, .tv_usec = limit_ms % 1000 * 1000}};
	setitimer(ITIMER_PROF, &limit, NULL);
}

static void isolation_put_stack(
	struct bytes_buf *out, const struct unwound *unwound, uint32_t number)
{
	struct unwound_stack stack = unwound_at(unwound, number);
	bytes_put_varint(out, stack.cause);
	bytes_put_varint(out, stack.count);
	for (size_t i = 0; i < stack.count; i++) {
		struct layout_frame frame = unwound_frame(unwound, stack.frames[i]);
		bytes_put_varint(out, frame.object);
		bytes_put_varint(out, frame.offset);
		bytes_put_varint(out, frame.flags);
	}
}

static bool send_all(int fd, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	while (len) {
		ssize_t done = send(fd, at, len, MSG_NOSIGNAL);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return false;
		at += done;
		len -= (size_t)done;
	}
	return true;
}

/* [first, end) of the snapshots that are there. */
struct order {
	size_t first, end;
};

static bool carry_out(const struct isolation *isolation, struct order order, int fd)
{
	struct unwound *unwound = isolation->unwound;
	CLEANUP(bytes_buf_deinit) struct bytes_buf message = {0};
	for (size_t i = order.first; i < order.end; i++) {
		size_t known = unwound->spans.len;
		uint64_t steps = unwound->steps;
		begin_limit(isolation->limit_ms);
		uint32_t number = isolation->take(isolation->context, i);
		message.len = 0;
		bytes_put_u32(&message, 0);
		bytes_put_varint(&message, number);
		bytes_put_varint(&message, unwound->steps - steps);
		if (number >= known)
			isolation_put_stack(&message, unwound, number);
		uint32_t len = htole32((uint32_t)(message.len - sizeof(len)));
		memcpy(message.data, &len, sizeof(len));
		if (!send_all(fd, message.data, message.len))
			return false;
	}
	return true;
}

/* Never returns, and leaves by _exit(): what stdio and exit handlers hold is not ours. */
static void isolation_run_child(const struct isolation *isolation, int fd)
{
	struct order order;
	while (recv(fd, &order, sizeof(order), MSG_WAITALL) == sizeof(order))
		if (!carry_out(isolation, order, fd))
			break;
	_exit(0);
}

/* ---- here ---- */

struct isolation_child {
	pid_t pid;
	int fd;
	uint8_t unread[MESSAGE_MAX_BYTES];
	size_t nr_unread;
};

static struct isolation_child *isolation_start(const struct isolation *isolation)
{
	int ends[2];
	pid_t self = getpid();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return NULL;
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		prepare_child(self);
		isolation_run_child(isolation, ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return NULL;
	}
	struct isolation_child *child = mem_alloc(sizeof(*child));
	child->pid = pid;
	child->fd = ends[0];
	child->nr_unread = 0;
	return child;
}

/* Whether a limit of CPU time ended it, if nothing else did. */
static bool end_child(struct isolation_child *child)
{
	int status = 0;
	pid_t got;
	close(child->fd);
	kill(child->pid, SIGKILL); /* of no effect where it is dead already */
	do
		got = waitpid(child->pid, &status, 0);
	while (got < 0 && errno == EINTR);
	mem_free(child);
	return got > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
}

/* The child that goes on with this: the one that is there, or a new one. */
static bool give_order(struct isolation *isolation, struct order order)
{
	if (isolation->child && send_all(isolation->child->fd, &order, sizeof(order)))
		return true;
	isolation_end(isolation);
	isolation->child = isolation_start(isolation);
	return isolation->child && send_all(isolation->child->fd, &order, sizeof(order));
}

/* What came of listening to it. */
enum heard {
	HEARD_MORE,
	HEARD_END,     /* it is gone */
	HEARD_SILENCE, /* for too long */
	HEARD_NONSENSE,
};

/* A while during which both of us were stopped counts as one of many waits. */
static enum heard hear(struct isolation_child *child, uint32_t limit_ms)
{
	struct pollfd waiting = {.fd = child->fd, .events = POLLIN};
	for (int waits = 0; waits < IDLE_LIMITS;) {
		int ready = poll(&waiting, 1, (int)limit_ms);
		if (ready == 0)
			waits++;
		if (ready == 0 || (ready < 0 && errno == EINTR))
			continue;
		ssize_t got = read(child->fd, child->unread + child->nr_unread,
			sizeof(child->unread) - child->nr_unread);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return HEARD_END;
		child->nr_unread += (size_t)got;
		return HEARD_MORE;
	}
	return HEARD_SILENCE;
}

/* Adds nothing unless all of it makes sense. */
static bool isolation_add_stack(
	const struct isolation *isolation, struct bytes_cursor *in, uint64_t number)
{
	struct unwound *unwound = isolation->unwound;
	struct layout_frame frames[UNWINDER_MAX_FRAMES];
	uint64_t cause = bytes_get_varint(in), count = bytes_get_varint(in);
	if (number != unwound->spans.len || cause >= LAYOUT_TRUNCATED_END ||
		count > UNWINDER_MAX_FRAMES)
		return false;
	for (size_t i = 0; i < count; i++) {
		uint64_t object = bytes_get_varint(in);
		frames[i].offset = bytes_get_varint(in);
		frames[i].flags = (uint32_t)bytes_get_varint(in) & LAYOUT_FRAME_FOUND;
		frames[i].object = (uint32_t)object;
		if (!object || object >= isolation->nr_objects)
			return false;
	}
	if (in->overrun)
		return false;
	for (size_t i = 0; i < count; i++)
		unwound_add(unwound, &frames[i]);
	return unwound_end(unwound, (enum layout_truncation)cause) == number;
}

static bool take_message(
	const struct isolation *isolation, struct bytes_cursor *message, uint32_t *ret)
{
	uint64_t number = bytes_get_varint(message), steps = bytes_get_varint(message);
	if (number >= isolation->unwound->spans.len &&
		!isolation_add_stack(isolation, message, number))
		return false;
	if (message->overrun || bytes_left(message))
		return false;
	isolation->unwound->steps += steps;
	*ret = (uint32_t)number;
	return true;
}

/* The whole messages of what is unread; *done counts them. */
static bool take_messages(const struct isolation *isolation, struct isolation_child *child,
	size_t count, uint32_t *numbers, size_t *done)
{
	struct bytes_cursor unread = bytes_cursor(child->unread, child->nr_unread);
	size_t taken = 0;
	while (bytes_left(&unread) >= sizeof(uint32_t)) {
		uint32_t len = bytes_get_u32(&unread);
		if (len > MESSAGE_MAX_BYTES - sizeof(len))
			return false;
		if (len > bytes_left(&unread))
			break;
		struct bytes_cursor message = bytes_get_cursor(&unread, len);
		if (*done == count || !take_message(isolation, &message, &numbers[*done]))
			return false;
		++*done;
		taken = bytes_offset(&unread);
	}
	child->nr_unread -= taken;
	memmove(child->unread, child->unread + taken, child->nr_unread);
	return true;
}

/* One child, from the snapshot *done on, as far as it comes; false: none could be had. */
static bool run_once(struct isolation *isolation, size_t count, uint32_t *numbers, size_t *done)
{
	if (!give_order(isolation, (struct order){*done, count}))
		return false;
	struct isolation_child *child = isolation->child;
	enum heard heard = HEARD_MORE;
	while (heard == HEARD_MORE && *done < count) {
		heard = hear(child, isolation->limit_ms);
		if (heard == HEARD_MORE && !take_messages(isolation, child, count, numbers, done))
			heard = HEARD_NONSENSE;
	}
	if (heard == HEARD_MORE)
		return true;
	isolation->child = NULL;
	isolation->failures_left--;
	bool is_hung = end_child(child) || heard == HEARD_SILENCE;
	if (*done == count)
		return true;
	isolation->losses->hung += is_hung;
	isolation->losses->crashed += !is_hung;
	numbers[(*done)++] = ISOLATION_NOT_UNWOUND;
	return true;
}

/*
 * Where no process can be had, nothing is unwound here instead: that a recording may do no harm is
 * worth more than the rest of some stacks, and those are counted.
 */
void isolation_run(struct isolation *isolation, size_t count, uint32_t *numbers)
{
	size_t done = 0;
	while (done < count && isolation->failures_left)
		if (!run_once(isolation, count, numbers, &done))
			break;
	isolation->losses->abandoned += count - done;
	while (done < count)
		numbers[done++] = ISOLATION_NOT_UNWOUND;
}

void isolation_end(struct isolation *isolation)
{
	if (isolation->child)
		end_child(isolation->child);
	isolation->child = NULL;
}
