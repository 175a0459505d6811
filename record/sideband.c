#include "record/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/cpu.h"
#include "record/feature.h"

enum {
	/* Of a CPU, a power of two: many CPUs get small ones, so that all together stay small. */
	BUFFER_MAX_BYTES = 512 * 1024,
	BUFFER_MIN_BYTES = 64 * 1024,
	BUFFERS_BYTES = 8 << 20,
	BUILD_ID_MAX_IN_RECORD = 20,
};

struct cpu_buffer {
	struct perf_event_mmap_page *page; /* then the data */
	const uint8_t *data;
};

struct sideband {
	VEC(int) fds;
	VEC(struct cpu_buffer) buffers;
	uint64_t lost;
	size_t page_bytes, buffer_bytes;
	uint8_t *record; /* one record that wraps around the buffer's end, made whole */
};

void sideband_batch_clear(struct sideband_batch *batch)
{
	batch->events.len = 0;
	arena_deinit(&batch->strings);
}

static struct perf_event_attr attributes(const struct sideband *sideband)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)sideband->buffer_bytes / 4,
	};
}

/* Build IDs in mmap records came with 5.12; an older kernel refuses the bit. */
static int open_on_cpu(const struct sideband *sideband, int cpu)
{
	struct perf_event_attr attr = attributes(sideband);
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && errno == EINVAL) {
		attr.build_id = 0;
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd;
}

static struct err *add_cpu(struct sideband *sideband, int cpu)
{
	CLEANUP_FD int fd = open_on_cpu(sideband, cpu);
	if (fd < 0)
		return feature_explain(
			err_sys(errno, "perf_event_open (process events on CPU %d)", cpu));
	void *base = mmap(NULL, sideband->page_bytes + sideband->buffer_bytes,
		PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return err_sys(errno, "mmap of the process events' buffer on CPU %d", cpu);
	struct cpu_buffer buffer = {
		.page = base,
		.data = (uint8_t *)base + sideband->page_bytes,
	};
	vec_push(&sideband->buffers, buffer);
	vec_push(&sideband->fds, steal_fd(fd));
	return NULL;
}

struct err *sideband_create(struct sideband **ret)
{
	struct sideband *sideband = mem_zalloc(sizeof(*sideband));
	sideband->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	sideband->record = mem_alloc(UINT16_MAX + 1);
	struct cpu_list cpus = {0};
	struct err *err = cpu_list_online(&cpus);
	sideband->buffer_bytes = BUFFER_MAX_BYTES;
	while (sideband->buffer_bytes > BUFFER_MIN_BYTES &&
		sideband->buffer_bytes * cpus.len > BUFFERS_BYTES)
		sideband->buffer_bytes /= 2;
	for (size_t i = 0; !err && i < cpus.len; i++)
		err = add_cpu(sideband, cpus.data[i]);
	vec_deinit(&cpus);
	if (err)
		sideband_destroy(sideband);
	else
		*ret = sideband;
	return err;
}

void sideband_destroy(struct sideband *sideband)
{
	if (!sideband)
		return;
	vec_each(&sideband->buffers, buffer)
		munmap(buffer->page, sideband->page_bytes + sideband->buffer_bytes);
	vec_each(&sideband->fds, fd)
		close(*fd);
	vec_deinit(&sideband->buffers);
	vec_deinit(&sideband->fds);
	mem_free(sideband->record);
	mem_free(sideband);
}

uint64_t sideband_lost(const struct sideband *sideband)
{
	return sideband->lost;
}

const int *sideband_fds(const struct sideband *sideband, size_t *count)
{
	*count = sideband->fds.len;
	return sideband->fds.data;
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

static void take_fork_or_exit(struct sideband_batch *batch, const struct perf_event_header *header)
{
	const struct fork_record *record = (const void *)header;
	bool is_fork = header->type == PERF_RECORD_FORK;
	/* A fork record's pid is the child's process; in a new thread it is the parent's too. */
	if (is_fork ? record->pid == record->ppid : record->pid != record->tid)
		return;
	vec_push(&batch->events, (struct sideband_event){
					 .kind = is_fork ? SIDEBAND_FORK : SIDEBAND_EXIT,
					 .time_ns = record_time(header),
					 .pid = record->pid,
					 .parent_pid = record->ppid,
				 });
}

static void take_mmap2(struct sideband_batch *batch, const struct perf_event_header *header)
{
	const struct mmap2_record *record = (const void *)header;
	size_t room = header->size - sizeof(*record) - sizeof(struct record_tail);
	struct sideband_event event = {
		.kind = SIDEBAND_MAP,
		.time_ns = record_time(header),
		.pid = record->pid,
		.start = record->address,
		.length = record->length,
		.offset = record->offset,
		.path = arena_strndup(&batch->strings, record->path, strnlen(record->path, room)),
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
	vec_push(&batch->events, event);
}

struct ksymbol_record { /* PERF_RECORD_KSYMBOL, since Linux 5.1 */
	struct perf_event_header header;
	uint64_t address;
	uint32_t length;
	uint16_t type, flags;
	char name[];
};

static void take_ksymbol(struct sideband_batch *batch, const struct perf_event_header *header)
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
		.path = arena_strndup(&batch->strings, record->name, strnlen(record->name, room)),
	};
	vec_push(&batch->events, event);
}

static void take_record(struct sideband *sideband, struct sideband_batch *batch,
	const struct perf_event_header *header)
{
	switch (header->type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		take_fork_or_exit(batch, header);
		break;
	case PERF_RECORD_COMM:
		if (header->misc & PERF_RECORD_MISC_COMM_EXEC)
			vec_push(&batch->events,
				(struct sideband_event){
					.kind = SIDEBAND_EXEC,
					.time_ns = record_time(header),
					.pid = ((const struct comm_record *)(const void *)header)
						       ->pid,
				});
		break;
	case PERF_RECORD_MMAP2:
		take_mmap2(batch, header);
		break;
	case PERF_RECORD_KSYMBOL:
		take_ksymbol(batch, header);
		break;
	case PERF_RECORD_LOST: { /* {u64 id, u64 lost} */
		uint64_t lost;
		memcpy(&lost, (const uint8_t *)(header + 1) + 8, sizeof(lost));
		sideband->lost += lost;
		break;
	}
	default:
		break;
	}
}

static void drain_buffer(
	struct sideband *sideband, struct cpu_buffer *buffer, struct sideband_batch *batch)
{
	uint64_t head = __atomic_load_n(&buffer->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = buffer->page->data_tail;
	while (tail < head) {
		size_t at = tail & (sideband->buffer_bytes - 1);
		const struct perf_event_header *header = (const void *)(buffer->data + at);
		size_t size = header->size;
		if (at + size > sideband->buffer_bytes) {
			size_t first = sideband->buffer_bytes - at;
			memcpy(sideband->record, header, first);
			memcpy(sideband->record + first, buffer->data, size - first);
			header = (const void *)sideband->record;
		}
		take_record(sideband, batch, header);
		tail += size;
	}
	__atomic_store_n(&buffer->page->data_tail, tail, __ATOMIC_RELEASE);
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
	vec_each(&sideband->buffers, buffer)
		drain_buffer(sideband, buffer, batch);
	for (size_t i = 0; i < batch->events.len; i++)
		batch->events.data[i].order = i;
	if (batch->events.len)
		qsort(batch->events.data, batch->events.len, sizeof(*batch->events.data),
			compare_time);
}
