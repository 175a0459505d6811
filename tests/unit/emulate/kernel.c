#include "tests/unit/emulate/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <errno.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/base/vec.h"

struct emulated_kernel emulated;

/* ---- what a release has ---- */

enum {
	MAX_FIELDS = 7,
};

/* Of the fields that programs ask for, without the variable they ask by. */
static const char *const fields[EMULATED_RELEASES][MAX_FIELDS] = {
	[EMULATED_5_10] = {"vmacache_seqnum", "i_mtime", "rq_disk"},
	[EMULATED_6_1] = {"__state", "mm_mt", "i_mtime", "ancestors"},
	[EMULATED_6_4] = {"__state", "mm_mt", "mm_lock_seq", "vm_lock_seq", "i_mtime", "ancestors"},
	[EMULATED_6_7] = {"__state", "mm_mt", "mm_lock_seq", "vm_lock_seq", "__i_mtime",
		"ancestors"},
	[EMULATED_6_11] = {"__state", "mm_mt", "mm_lock_seq", "vm_lock_seq", "i_mtime_sec",
		"ancestors"},
	[EMULATED_6_13] = {"__state", "mm_mt", "mm_lock_seq.sequence", "vm_lock_seq", "i_mtime_sec",
		"ancestors", "utask"},
};

_Bool emulate_has_field(const char *field)
{
	const char *arrow = strstr(field, "->");
	const char *const *has = fields[emulated.release];
	for (size_t i = 0; i < MAX_FIELDS && has[i]; i++)
		if (arrow && strcmp(arrow + 2, has[i]) == 0)
			return true;
	return false;
}

_Bool emulate_has_helper(const char *helper)
{
	(void)helper; /* those that are asked for came with Linux 5.11 and 5.15 */
	return emulated.release > EMULATED_5_10;
}

/* ---- the ring ---- */

enum {
	RECORD_HEAD_BYTES = 8, /* BPF_RINGBUF_HDR_SZ */
};

static struct {
	VEC(struct emulated_record) records;
	uint64_t used;
} ring;

static uint64_t room_of(uint64_t bytes)
{
	return (bytes + RECORD_HEAD_BYTES + 7) & ~7ULL;
}

void *bpf_ringbuf_reserve(void *map, unsigned long long bytes, unsigned long long flags)
{
	(void)map, (void)flags;
	if (ring.used + room_of(bytes) > emulated.ring_bytes)
		return NULL;
	ring.used += room_of(bytes);
	struct emulated_record record = {.len = bytes, .bytes = mem_alloc(bytes)};
	memset(record.bytes, 0xa5, bytes); /* what was there before */
	vec_push(&ring.records, record);
	return record.bytes;
}

static struct emulated_record *reserved(const void *bytes)
{
	vec_each(&ring.records, record)
		if (record->bytes == bytes && !record->is_whole)
			return record;
	__builtin_trap();
}

void bpf_ringbuf_submit(void *bytes, unsigned long long flags)
{
	struct emulated_record *record = reserved(bytes);
	record->is_whole = true;
	record->flags = flags;
	if (emulated.on_submit)
		emulated.on_submit();
}

/* It takes up room until the reader comes by, as in the kernel. */
void bpf_ringbuf_discard(void *bytes, unsigned long long flags)
{
	(void)flags;
	struct emulated_record *record = reserved(bytes);
	mem_free(record->bytes);
	struct emulated_record *end = ring.records.data + ring.records.len;
	memmove(record, record + 1, (size_t)(end - record - 1) * sizeof(*record));
	ring.records.len--;
}

long bpf_ringbuf_output(void *map, void *record, unsigned long long bytes, unsigned long long flags)
{
	void *place = bpf_ringbuf_reserve(map, bytes, 0);
	if (!place)
		return -EAGAIN;
	memcpy(place, record, bytes);
	bpf_ringbuf_submit(place, flags);
	return 0;
}

unsigned long long bpf_ringbuf_query(void *map, unsigned long long what)
{
	(void)map, (void)what; /* BPF_RB_AVAIL_DATA is the only one that is asked for */
	return ring.used;
}

size_t emulated_records(const struct emulated_record **ret)
{
	*ret = ring.records.data;
	return ring.records.len;
}

static enum event_type type_of(const struct emulated_record *record)
{
	uint32_t type;
	memcpy(&type, record->bytes, sizeof(type));
	return (enum event_type)type;
}

const void *emulated_record(enum event_type type, size_t n)
{
	vec_each(&ring.records, record)
		if (record->is_whole && type_of(record) == type && n-- == 0)
			return record->bytes;
	return NULL;
}

size_t emulated_count(enum event_type type)
{
	size_t count = 0;
	vec_each(&ring.records, record)
		count += record->is_whole && type_of(record) == type;
	return count;
}

void emulate_drain(void)
{
	vec_each(&ring.records, record)
		mem_free(record->bytes);
	ring.records.len = 0;
	ring.used = 0;
}

/* ---- who, where, when ---- */

unsigned int bpf_get_smp_processor_id(void)
{
	return emulated.cpu;
}

unsigned long long bpf_get_current_pid_tgid(void)
{
	return (unsigned long long)emulated.pid << 32 | emulated.tid;
}

unsigned long long bpf_get_current_uid_gid(void)
{
	return (unsigned long long)emulated.gid << 32 | emulated.uid;
}

unsigned int bpf_get_prandom_u32(void)
{
	return emulated.random;
}

unsigned long long bpf_ktime_get_ns(void)
{
	return emulated.time_ns;
}

/* It was never suspended. */
unsigned long long bpf_ktime_get_boot_ns(void)
{
	return emulated.time_ns;
}

long bpf_get_current_comm(void *to, unsigned int bytes)
{
	static const char comm[EVENT_COMM_BYTES] = "emulated";
	memcpy(to, comm, bytes < sizeof(comm) ? bytes : sizeof(comm));
	return 0;
}

long bpf_perf_event_output(
	void *context, void *map, unsigned long long flags, void *data, unsigned long long bytes)
{
	(void)context, (void)map, (void)flags, (void)data, (void)bytes;
	emulated.interrupts++;
	return 0;
}

long bpf_perf_event_read_value(void *map, unsigned long long flags, void *to, unsigned int bytes)
{
	(void)map;
	memset(to, 0, bytes);
	if (emulated.refuses_members)
		return -EINVAL;
	memcpy(to, &emulated.member_counts[flags / emulate_config()->nr_cpus], sizeof(uint64_t));
	return 0;
}

long bpf_seq_write(struct seq_file *file, const void *bytes, unsigned int nr_bytes)
{
	(void)file, (void)bytes;
	emulated.written_bytes += nr_bytes;
	return 0;
}

long bpf_get_task_stack(
	struct task_struct *task, void *to, unsigned int bytes, unsigned long long flags)
{
	return bpf_get_stack(task, to, bytes, flags);
}

/* Return addresses behind the leaf; no tick strikes in user code with a kernel stack. */
long bpf_get_stack(void *context, void *to, unsigned int bytes, unsigned long long flags)
{
	(void)context, (void)flags;
	size_t len = emulated.nr_kernel_frames * sizeof(uint64_t);
	if (len > bytes)
		len = bytes;
	if (len)
		memcpy(to, emulated.kernel_stack, len);
	return len ? (long)len : -EFAULT;
}

long bpf_loop(unsigned int count, long (*body)(unsigned int, void *), void *context,
	unsigned long long flags)
{
	(void)flags;
	unsigned int i = 0;
	while (i < count)
		if (body(i++, context))
			break;
	return i;
}
