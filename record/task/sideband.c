#include "record/task/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/base/map.h"
#include "record/host/cpu.h"
#include "record/host/feature.h"
#include "record/host/priority.h"
#include "record/task/object.h"

enum {
	/* Of a CPU, a power of two: many CPUs get small ones, so that all together stay small. */
	FIRST_MAX_BYTES = 1 << 20,
	FIRST_MIN_BYTES = 64 * 1024,
	FIRST_BUFFERS_BYTES = 8 << 20,
	/* What they grow to where records come faster than they are taken. */
	MAX_BYTES = 8 << 20,
	BUFFERS_BYTES = 32 << 20,
	BUILD_ID_MAX_IN_RECORD = 20,
	/* Events of its own in each task: a fork copies them, at some microseconds each. */
	MAX_CPUS_FOR_TASKS = 16,
	MAX_TASK_EVENTS = 1024,
	MAX_ANONYMOUS = 256, /* mappings of a process, of those that are taken at once */
	MAX_PENDING_BYTES = 32 << 20,
};

/*
 * A CPU's records go to a buffer, a perf event that produces nothing of its own but what is to be
 * known of all tasks. Those that do redirect their output to it (PERF_EVENT_IOC_SET_OUTPUT): only
 * so can they be given a larger buffer while they run, and share one.
 */
struct cpu_buffer {
	int cpu, fd;
	struct perf_event_mmap_page *page; /* then the data */
	const uint8_t *data;
	size_t bytes;
	uint64_t newest_ns; /* of the record that was taken last */
};

struct source {
	int cpu, fd;
};

struct sideband {
	bool is_of_tasks;
	VEC(struct cpu_buffer) buffers;
	VEC(struct source) sources;
	size_t page_bytes, buffers_bytes;
	uint8_t *record; /* one record that wraps around the buffer's end, made whole */

	/*
	 * A thread takes the records out of the buffers, however long the recorder does something
	 * else. The lock guards the buffers and what was taken.
	 */
	pthread_t thread;
	bool has_thread;
	int wake_fd; /* an eventfd */
	bool is_ending;
	pthread_mutex_t lock;
	struct sideband_batch pending;
	uint64_t pending_bytes;
	struct map anonymous; /* pid -> mappings in `pending` */
	uint64_t lost;
};

bool sideband_maps_file(const struct sideband_event *event)
{
	/* Others are "//anon", "[heap]"... */
	return event->path[0] == '/' && event->path[1] != '/' && !object_is_memory(event->path);
}

void sideband_batch_clear(struct sideband_batch *batch)
{
	batch->events.len = 0;
	arena_deinit(&batch->strings);
}

/* ---- opening ---- */

static struct perf_event_attr attributes(void)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

/* Of what tasks do; build IDs in mmap records came with 5.12, an older kernel refuses the bit. */
static struct perf_event_attr task_attributes(enum target_inherit inherit)
{
	struct perf_event_attr attr = attributes();
	attr.mmap = attr.mmap2 = attr.build_id = 1;
	attr.comm = attr.comm_exec = attr.task = 1;
	attr.inherit = inherit != TARGET_INHERIT_NOTHING;
	attr.inherit_thread = inherit == TARGET_INHERIT_THREADS;
	return attr;
}

static int sideband_open_event(struct perf_event_attr *attr, uint32_t tid, int cpu)
{
	return (int)syscall(
		SYS_perf_event_open, attr, tid ? (pid_t)tid : -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int sideband_open_source(struct perf_event_attr attr, uint32_t tid, int cpu)
{
	int fd = sideband_open_event(&attr, tid, cpu);
	if (fd >= 0 || errno != EINVAL)
		return fd;
	attr.build_id = 0;
	return sideband_open_event(&attr, tid, cpu);
}

static struct cpu_buffer *buffer_of(const struct sideband *sideband, int cpu)
{
	vec_each(&sideband->buffers, buffer)
		if (buffer->cpu == cpu)
			return buffer;
	return NULL;
}

static struct err *add_source(
	struct sideband *sideband, const struct perf_event_attr *attr, uint32_t tid, int cpu)
{
	CLEANUP_FD int fd = sideband_open_source(*attr, tid, cpu);
	if (fd < 0 && tid && errno == ESRCH)
		return NULL; /* it has ended */
	if (fd < 0)
		return feature_explain(
			err_sys(errno, "perf_event_open (process events on CPU %d)", cpu));
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, buffer_of(sideband, cpu)->fd))
		return err_sys(errno, "cannot redirect process events on CPU %d", cpu);
	vec_push(&sideband->sources, (struct source){cpu, steal_fd(fd)});
	return NULL;
}

/* Opens and maps one; BPF programs, which it tells of, are everybody's. */
static struct err *open_buffer(
	const struct sideband *sideband, int cpu, size_t bytes, struct cpu_buffer *ret)
{
	struct perf_event_attr attr = attributes();
	attr.ksymbol = 1;
	attr.watermark = 1;
	attr.wakeup_watermark = (uint32_t)bytes / 4;
	CLEANUP_FD int fd = sideband_open_event(&attr, 0, cpu);
	if (fd < 0)
		return feature_explain(
			err_sys(errno, "perf_event_open (process events on CPU %d)", cpu));
	void *base =
		mmap(NULL, sideband->page_bytes + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return err_sys(errno, "mmap of the process events' buffer on CPU %d", cpu);
	*ret = (struct cpu_buffer){
		.cpu = cpu,
		.page = base,
		.data = (uint8_t *)base + sideband->page_bytes,
		.bytes = bytes,
		.fd = steal_fd(fd),
	};
	return NULL;
}

static void close_buffer(const struct sideband *sideband, struct cpu_buffer *buffer)
{
	munmap(buffer->page, sideband->page_bytes + buffer->bytes);
	close(buffer->fd);
}

static struct err *open_buffers(struct sideband *sideband, const struct cpu_list *cpus)
{
	size_t bytes = FIRST_MAX_BYTES;
	while (bytes > FIRST_MIN_BYTES && bytes * cpus->len > FIRST_BUFFERS_BYTES)
		bytes /= 2;
	for (size_t i = 0; i < cpus->len; i++) {
		struct cpu_buffer buffer;
		try(open_buffer(sideband, cpus->data[i], bytes, &buffer));
		vec_push(&sideband->buffers, buffer);
		sideband->buffers_bytes += bytes;
	}
	return NULL;
}

struct opening {
	struct sideband *sideband;
	struct perf_event_attr attr;
};

static struct err *sideband_open_task(void *context, uint32_t tid)
{
	struct opening *opening = context;
	struct sideband *sideband = opening->sideband;
	if (sideband->sources.len + sideband->buffers.len > MAX_TASK_EVENTS)
		return err_new(ERR_UNSUPPORTED, "too many threads");
	vec_each(&sideband->buffers, buffer)
		try(add_source(sideband, &opening->attr, tid, buffer->cpu));
	return NULL;
}

static void sideband_close_sources(struct sideband *sideband)
{
	vec_each(&sideband->sources, source)
		close(source->fd);
	sideband->sources.len = 0;
}

static struct err *open_system(struct sideband *sideband)
{
	struct perf_event_attr attr = task_attributes(TARGET_INHERIT_NOTHING);
	vec_each(&sideband->buffers, buffer)
		try(add_source(sideband, &attr, 0, buffer->cpu));
	return NULL;
}

/* Of the targets alone where that is cheap, so that no stranger's records are in the way. */
static struct err *sideband_open_sources(
	struct sideband *sideband, const struct target_tasks *tasks)
{
	struct opening opening = {sideband, task_attributes(tasks->inherit)};
	if (tasks->nr_ids && sideband->buffers.len <= MAX_CPUS_FOR_TASKS) {
		struct err *err = target_tasks_each(tasks, sideband_open_task, &opening);
		sideband->is_of_tasks = !err;
		if (!err)
			return NULL;
		err_destroy(err);
		sideband_close_sources(sideband);
	}
	return open_system(sideband);
}

/* Both tell of the same for a moment, which does no harm: what is said twice is so once. */
void sideband_widen(struct sideband *sideband)
{
	if (!sideband->is_of_tasks)
		return;
	pthread_mutex_lock(&sideband->lock);
	size_t before = sideband->sources.len;
	struct err *err = open_system(sideband);
	bool is_open = !err;
	err_destroy(err);
	size_t first = is_open ? 0 : before, end = is_open ? before : sideband->sources.len;
	for (size_t i = first; i < end; i++)
		close(sideband->sources.data[i].fd);
	if (is_open)
		memmove(sideband->sources.data, sideband->sources.data + before,
			(sideband->sources.len - before) * sizeof(struct source));
	sideband->sources.len -= end - first;
	sideband->is_of_tasks = !is_open;
	pthread_mutex_unlock(&sideband->lock);
}

static void *take_records_on(void *context);

struct err *sideband_create(const struct target_tasks *tasks, struct sideband **ret)
{
	struct sideband *sideband = mem_zalloc(sizeof(*sideband));
	struct cpu_list cpus = {0};
	sideband->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	sideband->record = mem_alloc(UINT16_MAX + 1);
	pthread_mutex_init(&sideband->lock, NULL);
	sideband->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct err *err = sideband->wake_fd < 0 ? err_sys(errno, "eventfd") : NULL;
	if (!err)
		err = cpu_list_online(&cpus);
	if (!err)
		err = open_buffers(sideband, &cpus);
	if (!err)
		err = sideband_open_sources(sideband, tasks);
	sideband->has_thread =
		!err && !pthread_create(&sideband->thread, NULL, take_records_on, sideband);
	vec_deinit(&cpus);
	if (err)
		sideband_destroy(sideband);
	else
		*ret = sideband;
	return err;
}

/* From poll(2), to look at what it waits for again, or to end. */
static void wake_thread(struct sideband *sideband)
{
	uint64_t one = 1;
	while (write(sideband->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void end_thread(struct sideband *sideband)
{
	if (!sideband->has_thread)
		return;
	__atomic_store_n(&sideband->is_ending, true, __ATOMIC_RELEASE);
	wake_thread(sideband);
	pthread_join(sideband->thread, NULL);
}

void sideband_destroy(struct sideband *sideband)
{
	if (!sideband)
		return;
	end_thread(sideband);
	sideband_close_sources(sideband);
	vec_deinit(&sideband->sources);
	vec_each(&sideband->buffers, buffer)
		close_buffer(sideband, buffer);
	vec_deinit(&sideband->buffers);
	sideband_batch_clear(&sideband->pending);
	vec_deinit(&sideband->pending.events);
	map_deinit(&sideband->anonymous);
	pthread_mutex_destroy(&sideband->lock);
	mem_close_fd(&sideband->wake_fd);
	mem_free(sideband->record);
	mem_free(sideband);
}

uint64_t sideband_lost(const struct sideband *sideband)
{
	return __atomic_load_n(&sideband->lost, __ATOMIC_RELAXED);
}

bool sideband_is_of_tasks(const struct sideband *sideband)
{
	return sideband->is_of_tasks;
}

/* ---- records ---- */

/* With sample_id_all every record ends with {pid, tid, time}. */
struct record_tail {
	uint32_t pid, tid;
	uint64_t time_ns;
};

static uint64_t record_time(const struct perf_event_header *header)
{
	struct record_tail tail;
	memcpy(&tail, (const uint8_t *)header + header->size - sizeof(tail), sizeof(tail));
	return tail.time_ns;
}

struct fork_record { /* PERF_RECORD_FORK and PERF_RECORD_EXIT */
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time_ns;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, length, offset;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, generation;
		} file;
		struct {
			uint8_t len, reserved1;
			uint16_t reserved2;
			uint8_t bytes[BUILD_ID_MAX_IN_RECORD];
		} build_id;
	} of;
	uint32_t protection, flags;
	char path[];
};

static void sideband_push(struct sideband *sideband, const struct sideband_event *event)
{
	vec_push(&sideband->pending.events, *event);
	sideband->pending_bytes += sizeof(*event);
}

static const char *sideband_keep_text(struct sideband *sideband, const char *text, size_t room)
{
	size_t len = strnlen(text, room);
	sideband->pending_bytes += len;
	return arena_strndup(&sideband->pending.strings, text, len);
}

static void take_fork_or_exit(struct sideband *sideband, const struct perf_event_header *header)
{
	const struct fork_record *record = (const void *)header;
	bool is_fork = header->type == PERF_RECORD_FORK;
	/* A fork record's pid is the child's process; in a new thread it is the parent's too. */
	if (is_fork ? record->pid == record->ppid : record->pid != record->tid)
		return;
	sideband_push(sideband, &(struct sideband_event){
					.kind = is_fork ? SIDEBAND_FORK : SIDEBAND_EXIT,
					.time_ns = record_time(header),
					.pid = record->pid,
					.parent_pid = record->ppid,
				});
}

static bool is_anonymous(const char *path)
{
	return strncmp(path, "//anon", strlen("//anon")) == 0;
}

/*
 * Programs that map and unmap code of their own making do so thousands of times a second. Beyond
 * some of them that the process has such mappings is enough to know: what it maps is looked up
 * when it is wanted. True: this one is left out.
 */
static bool is_one_too_many(struct sideband *sideband, const struct mmap2_record *record)
{
	if (!is_anonymous(record->path))
		return false;
	uint64_t count = ++*map_put(&sideband->anonymous, record->pid, NULL);
	if (count == MAX_ANONYMOUS)
		sideband_push(sideband, &(struct sideband_event){.kind = SIDEBAND_STALE,
						.time_ns = record_time(&record->header),
						.pid = record->pid});
	return count >= MAX_ANONYMOUS;
}

static void take_mmap2(struct sideband *sideband, const struct perf_event_header *header)
{
	const struct mmap2_record *record = (const void *)header;
	size_t room = header->size - sizeof(*record) - sizeof(struct record_tail);
	if (is_one_too_many(sideband, record))
		return;
	struct sideband_event event = {
		.kind = SIDEBAND_MAP,
		.time_ns = record_time(header),
		.pid = record->pid,
		.start = record->address,
		.length = record->length,
		.offset = record->offset,
		.path = sideband_keep_text(sideband, record->path, room),
	};
	if (header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		event.build_id_len = record->of.build_id.len;
		if (event.build_id_len > BUILD_ID_MAX_IN_RECORD)
			event.build_id_len = 0;
		memcpy(event.build_id, record->of.build_id.bytes, event.build_id_len);
	} else {
		event.device = record->of.file.major << 20 | record->of.file.minor;
		event.inode = record->of.file.inode;
	}
	sideband_push(sideband, &event);
}

struct ksymbol_record { /* PERF_RECORD_KSYMBOL, since Linux 5.1 */
	struct perf_event_header header;
	uint64_t address;
	uint32_t length;
	uint16_t type, flags;
	char name[];
};

static void take_ksymbol(struct sideband *sideband, const struct perf_event_header *header)
{
	const struct ksymbol_record *record = (const void *)header;
	if (header->size < sizeof(*record) + sizeof(struct record_tail) ||
		record->type != PERF_RECORD_KSYMBOL_TYPE_BPF ||
		record->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER)
		return;
	size_t room = header->size - sizeof(*record) - sizeof(struct record_tail);
	struct sideband_event event = {
		.kind = SIDEBAND_PROGRAM,
		.time_ns = record_time(header),
		.start = record->address,
		.length = record->length,
		.path = sideband_keep_text(sideband, record->name, room),
	};
	sideband_push(sideband, &event);
}

/* What the kernel could not store here, or what has no room in memory: of any task. */
static void take_loss(struct sideband *sideband, uint64_t from_ns, uint64_t time_ns, uint64_t lost)
{
	__atomic_fetch_add(&sideband->lost, lost, __ATOMIC_RELAXED);
	sideband_push(
		sideband, &(struct sideband_event){
				  .kind = SIDEBAND_LOSS, .time_ns = time_ns, .start = from_ns});
}

static void sideband_take_record(struct sideband *sideband, struct cpu_buffer *buffer,
	const struct perf_event_header *header)
{
	uint64_t time_ns = record_time(header);
	switch (header->type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		take_fork_or_exit(sideband, header);
		break;
	case PERF_RECORD_COMM:
		if (header->misc & PERF_RECORD_MISC_COMM_EXEC)
			sideband_push(sideband,
				&(struct sideband_event){
					.kind = SIDEBAND_EXEC,
					.time_ns = time_ns,
					.pid = ((const struct comm_record *)(const void *)header)
						       ->pid,
				});
		break;
	case PERF_RECORD_MMAP2:
		take_mmap2(sideband, header);
		break;
	case PERF_RECORD_KSYMBOL:
		take_ksymbol(sideband, header);
		break;
	case PERF_RECORD_LOST: { /* {u64 id, u64 lost} */
		uint64_t lost;
		memcpy(&lost, (const uint8_t *)(header + 1) + 8, sizeof(lost));
		take_loss(sideband, buffer->newest_ns, time_ns, lost);
		break;
	}
	default:
		break;
	}
	buffer->newest_ns = time_ns;
}

/* Returns how much there was. */
static uint64_t drain_buffer(struct sideband *sideband, struct cpu_buffer *buffer)
{
	uint64_t head = __atomic_load_n(&buffer->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = buffer->page->data_tail, begin = tail;
	while (tail < head) {
		size_t at = tail & (buffer->bytes - 1);
		const struct perf_event_header *header = (const void *)(buffer->data + at);
		size_t size = header->size;
		if (at + size > buffer->bytes) {
			size_t first = buffer->bytes - at;
			memcpy(sideband->record, header, first);
			memcpy(sideband->record + first, buffer->data, size - first);
			header = (const void *)sideband->record;
		}
		sideband_take_record(sideband, buffer, header);
		tail += size;
	}
	__atomic_store_n(&buffer->page->data_tail, tail, __ATOMIC_RELEASE);
	return head - begin;
}

/*
 * To four times what it held. The larger one takes over, and what the old one got meanwhile is
 * taken.
 */
static void grow(struct sideband *sideband, struct cpu_buffer *buffer, uint64_t held)
{
	struct cpu_buffer larger;
	size_t bytes = buffer->bytes;
	while (bytes < 4 * held && bytes < MAX_BYTES &&
		sideband->buffers_bytes + 2 * bytes - buffer->bytes <= BUFFERS_BYTES)
		bytes *= 2;
	if (bytes == buffer->bytes)
		return;
	struct err *err = open_buffer(sideband, buffer->cpu, bytes, &larger);
	if (err) { /* memory is short: it stays as it is */
		err_destroy(err);
		return;
	}
	vec_each(&sideband->sources, source)
		if (source->cpu == buffer->cpu)
			ioctl(source->fd, PERF_EVENT_IOC_SET_OUTPUT, larger.fd);
	drain_buffer(sideband, buffer);
	larger.newest_ns = buffer->newest_ns;
	sideband->buffers_bytes += bytes - buffer->bytes;
	close_buffer(sideband, buffer);
	*buffer = larger;
}

/* Takes all there is. What fills a buffer by half may overrun it the next time. */
static void pull(struct sideband *sideband)
{
	vec_each(&sideband->buffers, buffer) {
		bool has_room = sideband->pending_bytes < MAX_PENDING_BYTES;
		uint64_t held = has_room ? drain_buffer(sideband, buffer) : 0;
		if (held > buffer->bytes / 2)
			grow(sideband, buffer, held);
	}
}

/* Returns when a buffer is a quarter full, or they are others. False: the thread is to end. */
static bool wait_for_records(struct sideband *sideband)
{
	pthread_mutex_lock(&sideband->lock); /* growing changes them, and CPUs that come online */
	size_t count = sideband->buffers.len;
	CLEANUP_FREE struct pollfd *fds = mem_zalloc_array(count + 1, sizeof(*fds));
	for (size_t i = 0; i < count; i++)
		fds[i] = (struct pollfd){.fd = sideband->buffers.data[i].fd, .events = POLLIN};
	pthread_mutex_unlock(&sideband->lock);
	fds[count] = (struct pollfd){.fd = sideband->wake_fd, .events = POLLIN};
	poll(fds, count + 1, -1);
	uint64_t woken;
	if (read(sideband->wake_fd, &woken, sizeof(woken)) < 0 && errno != EAGAIN)
		return false;
	return !__atomic_load_n(&sideband->is_ending, __ATOMIC_ACQUIRE);
}

/* The recorder may be at other things when a buffer fills: a large file's table, a slow disk. */
static void *take_records_on(void *context)
{
	struct sideband *sideband = context;
	priority_raise();
	while (wait_for_records(sideband)) {
		pthread_mutex_lock(&sideband->lock);
		pull(sideband);
		pthread_mutex_unlock(&sideband->lock);
	}
	return NULL;
}

/* ---- CPUs that came online ---- */

static void close_sources_of(struct sideband *sideband, int cpu)
{
	size_t left = 0;
	vec_each(&sideband->sources, source) {
		if (source->cpu == cpu)
			close(source->fd);
		else
			sideband->sources.data[left++] = *source;
	}
	sideband->sources.len = left;
}

/* An empty buffer in place of what the CPU had, whose last records are taken. */
static struct err *replace_buffer(struct sideband *sideband, int cpu)
{
	struct cpu_buffer *old = buffer_of(sideband, cpu), fresh;
	size_t bytes = old ? old->bytes : FIRST_MIN_BYTES;
	try(open_buffer(sideband, cpu, bytes, &fresh));
	if (old) {
		drain_buffer(sideband, old);
		close_buffer(sideband, old);
		*old = fresh;
	} else {
		sideband->buffers_bytes += bytes;
		vec_push(&sideband->buffers, fresh);
	}
	return NULL;
}

void sideband_renew_cpu(struct sideband *sideband, const struct cpu_gap *gap)
{
	bool widens = sideband->is_of_tasks;
	struct perf_event_attr attr = task_attributes(TARGET_INHERIT_NOTHING);
	pthread_mutex_lock(&sideband->lock);
	close_sources_of(sideband, gap->cpu);
	struct err *err = replace_buffer(sideband, gap->cpu);
	if (!err && !widens)
		err = add_source(sideband, &attr, 0, gap->cpu);
	take_loss(sideband, gap->from_ns, gap->until_ns, 0);
	pthread_mutex_unlock(&sideband->lock);
	err_destroy(err); /* the CPU is gone again: it will be found when it is back */
	if (widens)
		sideband_widen(sideband);
	wake_thread(sideband);
}

static int compare_time(const void *a, const void *b)
{
	const struct sideband_event *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void sideband_drain(struct sideband *sideband, struct sideband_batch *batch)
{
	pthread_mutex_lock(&sideband->lock);
	pull(sideband);
	vec_each(&sideband->pending.events, event) {
		if (event->path)
			event->path =
				arena_strndup(&batch->strings, event->path, strlen(event->path));
		vec_push(&batch->events, *event);
	}
	sideband_batch_clear(&sideband->pending);
	sideband->pending_bytes = 0;
	map_deinit(&sideband->anonymous);
	pthread_mutex_unlock(&sideband->lock);
	for (size_t i = 0; i < batch->events.len; i++)
		batch->events.data[i].order = i;
	if (batch->events.len)
		qsort(batch->events.data, batch->events.len, sizeof(*batch->events.data),
			compare_time);
}
