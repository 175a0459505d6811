#include "report/export/pprof_labels.h"

#include <string.h>

#include "report/export/protobuf.h"

enum {
	SAMPLE_LABEL = 3,   /* the field of Sample */
	COMM_MAX_BYTES = 15 /* what the kernel cuts the name of a process to */
};

enum label_field {
	LABEL_KEY = 1,
	LABEL_STR = 2,
	LABEL_NUM = 3,
	LABEL_NUM_UNIT = 4,
};

struct group {
	uint32_t set, cpu, column;
};

uint32_t pprof_string(struct strtab *strings, const char *text)
{
	CLEANUP(str_deinit) struct str safe = {0};
	str_put_escaped(&safe, text, strlen(text));
	return strtab_intern(strings, str_text(&safe), safe.len);
}

/* ---- the labels of a thread ---- */

/* Readers drop a label with an empty string. */
static void put_text(
	struct pprof_labels *labels, struct bytes_buf *out, const char *key, const char *value)
{
	if (!value[0])
		return;
	struct bytes_buf label = {0};
	protobuf_put_varint(&label, LABEL_KEY, pprof_string(labels->strings, key));
	protobuf_put_varint(&label, LABEL_STR, pprof_string(labels->strings, value));
	protobuf_put_message(out, SAMPLE_LABEL, &label);
	bytes_buf_deinit(&label);
}

/* Readers drop a label with the number 0, unless it has a unit. */
static void put_number(struct pprof_labels *labels, struct bytes_buf *out, const char *key,
	uint64_t value, const char *unit)
{
	struct bytes_buf label = {0};
	protobuf_put_varint(&label, LABEL_KEY, pprof_string(labels->strings, key));
	protobuf_put_varint(&label, LABEL_NUM, value);
	protobuf_put_varint(&label, LABEL_NUM_UNIT, pprof_string(labels->strings, unit));
	protobuf_put_message(out, SAMPLE_LABEL, &label);
	bytes_buf_deinit(&label);
}

/* The newest name of each process's first thread; NULL where that was never sampled. */
static const char **find_comms(const struct profile *profile)
{
	const char **comms = mem_zalloc_array(profile->processes.len, sizeof(*comms));
	vec_each(&profile->threads, thread)
		if (thread->tid == thread->pid)
			comms[thread->process] = thread->comm;
	return comms;
}

/*
 * The name of the process, also for samples of its other threads, so that
 * selecting by it finds them all. A first thread that only waits (as Java's)
 * was not sampled: then it is the name of the program, as exec would set it.
 */
static void put_comm(struct pprof_labels *labels, const struct profile_thread *thread,
	const char *leader, struct bytes_buf *out)
{
	const struct profile *profile = labels->profile;
	const struct profile_object *exe =
		&profile->objects.data[profile->processes.data[thread->process].info.exe];
	if (thread->tid == thread->pid)
		leader = thread->comm;
	CLEANUP_FREE char *name =
		leader ? mem_strdup(leader)
		       : mem_strndup(exe->name, strnlen(exe->name, COMM_MAX_BYTES));
	put_text(labels, out, "comm", name[0] ? name : thread->comm);
}

static void put_thread(struct pprof_labels *labels, const struct profile_thread *thread,
	const char *leader, struct bytes_buf *out)
{
	const struct profile_process *process = &labels->profile->processes.data[thread->process];
	if (labels->wanted & EXPORT_LABEL_COMM)
		put_comm(labels, thread, leader, out);
	if (labels->wanted & EXPORT_LABEL_THREAD && thread->tid != thread->pid)
		put_text(labels, out, "thread", thread->comm);
	if (labels->wanted & EXPORT_LABEL_PID)
		put_number(labels, out, "pid", thread->pid, "");
	if (labels->wanted & EXPORT_LABEL_TID)
		put_number(labels, out, "tid", thread->tid, "");
	if (labels->wanted & EXPORT_LABEL_CONTAINER)
		put_text(labels, out, "container", process->container);
	if (labels->wanted & EXPORT_LABEL_CGROUP)
		put_text(labels, out, "cgroup", process->cgroup);
}

static void make_sets(struct pprof_labels *labels)
{
	const struct profile *profile = labels->profile;
	struct bytes_buf set = {0};
	const char **comms = find_comms(profile);
	labels->set_of_thread = mem_zalloc_array(profile->threads.len, sizeof(uint32_t));
	for (size_t i = 0; i < profile->threads.len; i++) {
		const struct profile_thread *thread = &profile->threads.data[i];
		set.len = 0;
		put_thread(labels, thread, comms[thread->process], &set);
		labels->set_of_thread[i] =
			strtab_intern(&labels->sets, set.len ? (char *)set.data : "", set.len);
	}
	mem_free(comms);
	bytes_buf_deinit(&set);
}

void pprof_labels_init(struct pprof_labels *labels, const struct profile *profile, uint32_t wanted,
	struct strtab *strings)
{
	*labels = (struct pprof_labels){.profile = profile, .wanted = wanted, .strings = strings};
}

void pprof_labels_deinit(struct pprof_labels *labels)
{
	strtab_deinit(&labels->sets);
	strtab_deinit(&labels->groups);
	mem_free(labels->set_of_thread);
}

/* ---- groups ---- */

uint32_t pprof_labels_group(
	struct pprof_labels *labels, uint32_t thread, uint32_t cpu, uint32_t column)
{
	if (!labels->set_of_thread)
		make_sets(labels);
	struct group group = {
		.set = labels->set_of_thread[thread],
		.cpu = labels->wanted & EXPORT_LABEL_CPU ? cpu : 0,
		.column = column,
	};
	return strtab_intern(&labels->groups, (const char *)&group, sizeof(group));
}

static struct group group_at(const struct pprof_labels *labels, uint32_t id)
{
	struct group group;
	memcpy(&group, strtab_get(&labels->groups, id), sizeof(group));
	return group;
}

uint32_t pprof_labels_column(const struct pprof_labels *labels, uint32_t group)
{
	return group_at(labels, group).column;
}

void pprof_labels_put(struct pprof_labels *labels, uint32_t id, struct bytes_buf *message)
{
	struct group group = group_at(labels, id);
	const struct strtab_entry *set = &labels->sets.entries.data[group.set];
	bytes_put(message, set->bytes, set->len);
	if (labels->wanted & EXPORT_LABEL_CPU)
		put_number(labels, message, "cpu", group.cpu, "cpu");
}
