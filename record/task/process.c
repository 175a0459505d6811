#include "record/task/process.h"

#include <string.h>
#include <sys/auxv.h>
#include <time.h>

#include "format/base/cgroup_path.h"
#include "format/base/clock.h"
#include "format/base/mem.h"
#include "record/host/proc.h"

enum {
	VDSO_IMAGE_BYTES = 8192, /* what the kernel maps on x86-64 and arm64: two pages at least */
	RESCAN_INTERVAL_NS = 100 * 1000 * 1000,
	/* Then what was read has to do: some such processes may come in one turn of the loop. */
	SCAN_MAX_NS = 50 * 1000 * 1000,
};

static struct process *process_add(struct process_table *table, uint32_t pid)
{
	struct process *process = mem_zalloc(sizeof(*process));
	process->pid = pid;
	process->image = table->next_image++;
	process->mappings.pool = &table->pool;
	process->cgroup = mem_strdup("");
	*map_put(&table->by_pid, pid, NULL) = (uint64_t)(uintptr_t)process;
	return process;
}

static void process_destroy(struct process *process)
{
	mapping_table_clear(&process->mappings);
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

bool process_map(struct process *process, const struct mapping *mapping)
{
	bool is_held = mapping_table_put(&process->mappings, mapping);
	process->is_stale |= !is_held; /* much of it may be unmapped again, which /proc tells */
	return is_held;
}

/* ---- /proc ---- */

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

void process_vdso_symbols(
	void (*use)(void *context, const struct elf_symbol *symbol, const char *name),
	void *context)
{
	size_t bytes;
	const void *image = process_vdso_image(&bytes);
	struct elf_file *elf;
	struct err *err = image ? elf_file_open_memory(image, bytes, &elf) : NULL;
	if (!image || err) {
		err_destroy(err);
		return;
	}
	struct elf_symbols symbols = {0};
	err = elf_symbols_read(elf, &symbols);
	err_destroy(err); /* then there are none */
	/* It is linked to be mapped as it stands. */
	vec_each(&symbols.symbols, symbol)
		use(context, symbol, elf_symbols_name(&symbols, symbol));
	elf_symbols_deinit(&symbols);
	elf_file_destroy(elf);
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

static bool add_proc_mapping(void *context, const struct proc_mapping *found)
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
	} else if (found->inode && !object_is_memory(found->path)) {
		mapping.object = object_table_by_inode(objects, found->path, found->device,
			found->inode, found->is_deleted, &where);
	} else if (strcmp(found->path, "[vsyscall]") == 0) {
		return true; /* a kernel address, the same in every process */
	} else {
		mapping.object = object_table_special(objects, LAYOUT_OBJECT_ANONYMOUS,
			found->path[0] && !found->inode ? found->path : LAYOUT_ANONYMOUS_PATH);
		mapping.offset = found->start; /* offsets are addresses */
	}
	return process_map(scan->process, &mapping);
}

/*
 * False: the process did not let it be read; it is to be read again. If that was the first time,
 * what the next one finds holds from then on: samples of the time between may need it, and what was
 * mapped meanwhile is there by events as well.
 */
static bool scan_maps(struct process_table *table, struct process *process, uint64_t time_ns)
{
	bool was_unread = process->is_unread;
	struct scan scan = {table, process, was_unread ? process->known_since_ns : time_ns};
	struct proc_limit limit = {.max_ns = SCAN_MAX_NS};
	process->has_vdso = true;
	process->is_stale = false;
	process->rescanned_ns = time_ns;
	process->known_since_ns = scan.time_ns;
	uint64_t begun_ns = clock_now_ns();
	proc_each_mapping(process->pid, &limit, add_proc_mapping, &scan);
	process->rescan_cost_ns = clock_now_ns() - begun_ns;
	table->pool.refused += limit.is_reached || (limit.is_locked && !was_unread);
	process->is_stale |= limit.is_locked;
	process->is_unread = was_unread && limit.is_locked;
	return !limit.is_locked;
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

/* What is not there any more goes; all stays when /proc does not say, or not all. */
static void read_again(struct process_table *table, struct process *process, uint64_t time_ns)
{
	struct mapping_table old = {.pool = &table->pool};
	mapping_table_share(&old, &process->mappings);
	mapping_table_clear(&process->mappings);
	bool is_whole = scan_maps(table, process, time_ns);
	if (!is_whole || !mapping_table_count(&process->mappings))
		mapping_table_share(&process->mappings, &old);
	mapping_table_clear(&old);
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
	if (proc_read_cgroup(process->pid, &cgroup) &&
		strcmp(process->cgroup, str_text(&cgroup)) != 0) {
		mem_free(process->cgroup);
		process->cgroup = str_steal(&cgroup);
		process->label_generation = 0;
	}
	cgroup_put_container(process->cgroup, &container);
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
	process = process_add(table, pid);
	read_identity(process);
	process->is_unread = !scan_maps(table, process, time_ns);
	return process;
}

struct object *process_read_file(
	struct process_table *table, const struct process *process, uint64_t start, uint64_t end)
{
	CLEANUP(str_deinit) struct str text = {0};
	struct proc_mapping found;
	struct object_location where = {process->pid, start, end};
	if (!proc_read_mapping(process->pid, start, end, &text, &found))
		return NULL;
	return object_table_by_inode(
		table->objects, found.path, found.device, found.inode, found.is_deleted, &where);
}

const struct mapping *process_find_mapping(struct process_table *table, struct process *process,
	uint64_t address, uint64_t time_ns, bool may_rescan)
{
	const struct mapping *known = mapping_table_find(&process->mappings, address);
	if (known)
		return known;
	/* Older kernels map the vDSO without an announcement; and one may have been lost. */
	bool rescan = may_rescan && ((!process->exited_ns && !process->has_vdso) ||
					    may_rescan_now(process, time_ns));
	if (!rescan)
		return NULL;
	scan_maps(table, process, time_ns);
	return mapping_table_find(&process->mappings, address);
}

/* ---- what happens to processes ---- */

static void process_forget(struct process_table *table, struct process *process)
{
	map_remove(&table->by_pid, process->pid);
	process_destroy(process);
}

void process_table_fork(
	struct process_table *table, uint32_t parent_pid, uint32_t pid, uint64_t time_ns)
{
	struct process *old = process_table_find(table, pid);
	if (old)
		process_forget(table, old);
	struct process *parent = process_table_get(table, parent_pid, time_ns);
	struct process *child = process_add(table, pid);
	child->parent_pid = parent_pid;
	child->has_vdso = parent->has_vdso;
	child->known_since_ns = parent->known_since_ns;
	child->is_stale = parent->is_stale;
	child->is_unread = parent->is_unread;
	mapping_table_share(&child->mappings, &parent->mappings);
	mem_free(child->cgroup);
	child->cgroup = mem_strdup(parent->cgroup);
	child->label_list = parent->label_list;
	child->label_generation = parent->label_generation;
	child->lacks_labels = parent->lacks_labels;
}

void process_table_exec(struct process_table *table, struct process *process, uint64_t time_ns)
{
	mapping_table_clear(&process->mappings);
	process->known_since_ns = time_ns;
	process->is_stale = process->is_unread = process->has_exec_id = false;
	process->compiled = NULL;
	process->has_sought_runtimes = false;
	process->has_vdso = false;
	process->exited_ns = 0; /* what ended was the leader of a thread that execs */
	process->image = table->next_image++;
	process->unlabelled = 0;
	process->has_labels = false;
	process->label_generation = 0;
	process->context_due_ns = 0;
	process->context_looks = 0;
	process->thread_context_ns = 0;
	process->lacks_thread_context = false;
	process->file_epoch = 0;
}

void process_moved(struct process *process)
{
	CLEANUP_FREE char *before = mem_strdup(process->cgroup);
	process_refresh(process);
	if (strcmp(before, process->cgroup) != 0)
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
	process->is_unread = !scan_maps(table, process, time_ns);
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
		process_forget(table, *it);
	vec_deinit(&dead);
}

static void mark_object(void *context, const struct mapping *mapping)
{
	(void)context;
	mapping->object->is_used = true;
}

void process_table_mark_objects(struct process_table *table)
{
	size_t cursor = 0;
	table->visits++;
	for (struct map_slot *slot; (slot = map_next(&table->by_pid, &cursor));) {
		struct process *process = slot_process(slot->value);
		mapping_table_visit(&process->mappings, table->visits, mark_object, NULL);
		if (process->program.object)
			process->program.object->is_used = true;
	}
}
