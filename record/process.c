#include "record/process.h"

#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "format/base/bisect.h"
#include "format/base/mem.h"
#include "record/proc.h"

enum {
	VDSO_IMAGE_BYTES = 8192, /* what the kernel maps on x86-64 and arm64: two pages at least */
	RESCAN_INTERVAL_NS = 100 * 1000 * 1000,
};

static struct process *add(struct process_table *table, uint32_t pid)
{
	struct process *process = mem_zalloc(sizeof(*process));
	process->pid = pid;
	process->image = table->next_image++;
	process->cgroup = mem_strdup("");
	*map_put(&table->by_pid, pid, NULL) = (uint64_t)(uintptr_t)process;
	return process;
}

static void process_destroy(struct process *process)
{
	vec_deinit(&process->mappings);
	mem_free(process->cgroup);
	mem_free(process);
}

static struct process *slot_process(uint64_t slot)
{
	return (struct process *)(uintptr_t)slot;
}

void process_table_deinit(struct process_table *table)
{
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&table->by_pid, &cursor));)
		process_destroy(slot_process(slot->value));
	map_deinit(&table->by_pid);
}

struct process *process_table_find(const struct process_table *table, uint32_t pid)
{
	uint64_t *slot = map_get(&table->by_pid, pid);
	return slot ? slot_process(*slot) : NULL;
}

/* ---- mappings ---- */

/* Index of the first mapping that ends behind the address. */
static size_t lower_bound(const struct process *process, uint64_t address)
{
	return bisect(process->mappings.len, i, process->mappings.data[i].end <= address);
}

static bool is_same(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->object == b->object;
}

static void insert_at(struct process *process, size_t index, const struct mapping *mapping)
{
	vec_push(&process->mappings, *mapping);
	struct mapping *data = process->mappings.data;
	memmove(data + index + 1, data + index,
		(process->mappings.len - 1 - index) * sizeof(*data));
	data[index] = *mapping;
}

/* Cuts out what the new mapping covers. */
static void punch_hole(struct process *process, const struct mapping *by)
{
	uint64_t start = by->start, end = by->end;
	for (size_t i = lower_bound(process, start);
		i < process->mappings.len && process->mappings.data[i].start < end;) {
		struct mapping *it = &process->mappings.data[i], old = *it;
		struct mapping tail = old;
		tail.offset += end - old.start;
		tail.start = end;
		if (old.start < start) { /* its head stays, and perhaps its tail */
			it->end = start;
			if (old.end > end)
				insert_at(process, i + 1, &tail);
			i++;
		} else if (old.end > end) {
			*it = tail;
			i++;
		} else {
			memmove(it, it + 1, (process->mappings.len - i - 1) * sizeof(*it));
			process->mappings.len--;
		}
	}
}

void process_map(struct process *process, const struct mapping *mapping)
{
	size_t index = lower_bound(process, mapping->start);
	if (index < process->mappings.len && is_same(&process->mappings.data[index], mapping))
		return;
	punch_hole(process, mapping);
	insert_at(process, lower_bound(process, mapping->start), mapping);
}

/* ---- /proc ---- */

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

struct scan {
	struct process_table *table;
	struct process *process;
	uint64_t time_ns;
};

const void *process_vdso_image(size_t *bytes)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	*bytes = image ? VDSO_IMAGE_BYTES : 0;
	return image;
}

struct object *process_vdso(struct object_table *objects)
{
	struct object *vdso = object_table_special(objects, LAYOUT_OBJECT_VDSO, "[vdso]");
	size_t bytes;
	const void *image = process_vdso_image(&bytes);
	if (image)
		object_examine_memory(vdso, image, bytes);
	return vdso;
}

static void add_proc_mapping(void *context, const struct proc_mapping *found)
{
	struct scan *scan = context;
	struct object_table *objects = scan->table->objects;
	struct mapping mapping = {
		.start = found->start,
		.end = found->end,
		.offset = found->offset,
		.time_ns = scan->time_ns,
	};
	struct object_location where = {scan->process->pid, found->start, found->end};
	if (strcmp(found->path, "[vdso]") == 0) {
		mapping.object = process_vdso(objects);
		mapping.offset = 0;
	} else if (found->inode) {
		mapping.object = object_table_by_inode(objects, found->path, found->device,
			found->inode, found->is_deleted, &where);
	} else if (strcmp(found->path, "[vsyscall]") == 0) {
		return; /* a kernel address, the same in every process */
	} else {
		mapping.object = object_table_special(objects, LAYOUT_OBJECT_ANONYMOUS,
			found->path[0] ? found->path : LAYOUT_ANONYMOUS_PATH);
		mapping.offset = found->start; /* offsets are addresses */
	}
	process_map(scan->process, &mapping);
}

static void scan_maps(struct process_table *table, struct process *process, uint64_t time_ns)
{
	struct scan scan = {table, process, time_ns};
	process->has_vdso = true;
	process->is_stale = false;
	process->rescanned_ns = process->known_since_ns = time_ns;
	uint64_t begun_ns = now_ns();
	proc_each_mapping(process->pid, add_proc_mapping, &scan);
	process->rescan_cost_ns = now_ns() - begun_ns;
}

/* Seldom enough for what it costs; a process can map a million files. */
static bool may_rescan_now(const struct process *process, uint64_t time_ns)
{
	enum {
		MAX_SHARE = 20,
	};
	uint64_t interval_ns = process->rescan_cost_ns * MAX_SHARE;
	if (interval_ns < RESCAN_INTERVAL_NS)
		interval_ns = RESCAN_INTERVAL_NS;
	return !process->exited_ns && time_ns - process->rescanned_ns > interval_ns;
}

/* What is not there any more goes; all stays when /proc does not say. */
static void read_again(struct process_table *table, struct process *process, uint64_t time_ns)
{
	struct process old = *process;
	process->mappings = (typeof(process->mappings)){0};
	scan_maps(table, process, time_ns);
	if (process->mappings.len) {
		vec_deinit(&old.mappings);
		return;
	}
	vec_deinit(&process->mappings);
	process->mappings = old.mappings;
}

bool process_note_exec_id(struct process *process, uint32_t exec_id)
{
	bool is_other = process->has_exec_id && process->exec_id != exec_id;
	process->exec_id = exec_id;
	process->has_exec_id = true;
	return is_other;
}

void process_table_note_loss(struct process_table *table, uint64_t time_ns)
{
	table->lost_ns = time_ns;
}

void process_note_loss(struct process *process)
{
	process->is_stale = true;
}

void process_refresh(struct process *process)
{
	CLEANUP(str_deinit) struct str cgroup = {0}, container = {0};
	if (proc_read_cgroup(process->pid, &cgroup)) {
		mem_free(process->cgroup);
		process->cgroup = str_steal(&cgroup);
	}
	proc_container_of(process->cgroup, &container);
	if (!process->ns_pid && container.len) /* elsewhere pid namespaces are too rare to look */
		process->ns_pid = proc_read_ns_pid(process->pid);
}

void process_rescan(struct process_table *table, struct process *process, uint64_t time_ns)
{
	if (may_rescan_now(process, time_ns))
		scan_maps(table, process, time_ns);
}

static void read_identity(struct process *process)
{
	struct proc_stat stat;
	if (proc_read_stat(process->pid, &stat)) {
		process->parent_pid = stat.parent_pid;
		process->start_ns = stat.start_ns;
	}
	process->ns_pid = proc_read_ns_pid(process->pid);
	process_refresh(process);
}

/* The reading tells of now, not of then: later losses aside, it holds for what comes. */
static bool is_doubtful(
	const struct process_table *table, const struct process *process, uint64_t time_ns)
{
	bool has_loss = table->lost_ns && process->known_since_ns <= table->lost_ns;
	return (process->is_stale || has_loss) && may_rescan_now(process, time_ns);
}

struct process *process_table_get(struct process_table *table, uint32_t pid, uint64_t time_ns)
{
	struct process *process = process_table_find(table, pid);
	if (process && is_doubtful(table, process, time_ns))
		read_again(table, process, time_ns);
	if (process)
		return process;
	process = add(table, pid);
	read_identity(process);
	scan_maps(table, process, time_ns);
	return process;
}

const struct mapping *process_find_mapping(struct process_table *table, struct process *process,
	uint64_t address, uint64_t time_ns, bool may_rescan)
{
	size_t index = lower_bound(process, address);
	if (index < process->mappings.len && process->mappings.data[index].start <= address)
		return &process->mappings.data[index];
	/* Older kernels map the vDSO without an announcement; and one may have been lost. */
	bool rescan = may_rescan && ((!process->exited_ns && !process->has_vdso) ||
					    may_rescan_now(process, time_ns));
	if (!rescan)
		return NULL;
	scan_maps(table, process, time_ns);
	index = lower_bound(process, address);
	bool found =
		index < process->mappings.len && process->mappings.data[index].start <= address;
	return found ? &process->mappings.data[index] : NULL;
}

/* ---- what happens to processes ---- */

static void forget(struct process_table *table, struct process *process)
{
	map_remove(&table->by_pid, process->pid);
	process_destroy(process);
}

void process_table_fork(
	struct process_table *table, uint32_t parent_pid, uint32_t pid, uint64_t time_ns)
{
	struct process *old = process_table_find(table, pid);
	if (old)
		forget(table, old);
	struct process *parent = process_table_get(table, parent_pid, time_ns);
	struct process *child = add(table, pid);
	child->parent_pid = parent_pid;
	child->has_vdso = parent->has_vdso;
	child->known_since_ns = parent->known_since_ns;
	child->is_stale = parent->is_stale;
	vec_append(&child->mappings, parent->mappings.data, parent->mappings.len);
	mem_free(child->cgroup);
	child->cgroup = mem_strdup(parent->cgroup);
}

void process_table_exec(struct process_table *table, struct process *process, uint64_t time_ns)
{
	process->mappings.len = 0;
	process->known_since_ns = time_ns;
	process->is_stale = process->has_exec_id = false;
	process->compiled = NULL;
	process->has_vdso = false;
	process->exited_ns = 0; /* what ended was the leader of a thread that execs */
	process->image = table->next_image++;
	process->file_epoch = 0;
}

void process_table_exit(struct process_table *table, uint32_t pid, uint64_t time_ns)
{
	struct process *process = process_table_find(table, pid);
	if (process)
		process->exited_ns = time_ns;
}

void process_table_reused(struct process_table *table, struct process *process, uint64_t time_ns)
{
	process_table_exec(table, process, time_ns);
	process->start_ns = 0;
	read_identity(process);
	scan_maps(table, process, time_ns);
}

void process_table_purge(struct process_table *table, uint64_t before_ns)
{
	VEC(struct process *) dead = {0};
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&table->by_pid, &cursor));) {
		struct process *process = slot_process(slot->value);
		/* A leader may end long before its other threads do. */
		if (process->exited_ns && process->exited_ns < before_ns &&
			!proc_is_alive(process->pid))
			vec_push(&dead, process);
	}
	vec_each(&dead, it)
		forget(table, *it);
	vec_deinit(&dead);
}
