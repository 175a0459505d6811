#include "report/write/export/labels.h"

#include <string.h>

#include "report/model/label_sets.h"

enum {
	COMM_MAX_BYTES = 15 /* what the kernel cuts the name of a process to */
};

void labels_init(struct labels *labels, const struct profile *profile)
{
	*labels = (struct labels){
		.profile = profile,
		.leaders = mem_zalloc_array(profile->processes.len, sizeof(*labels->leaders)),
	};
	vec_each(&profile->threads, thread)
		if (thread->tid == thread->pid)
			labels->leaders[thread->process] = thread->comm;
}

void labels_deinit(struct labels *labels)
{
	mem_free(labels->leaders);
}

/*
 * The name of the process, also for samples of its other threads, so that
 * selecting by it finds them all. A first thread that only waits (as Java's)
 * was not sampled: then it is the name of the program, as exec would set it.
 */
void labels_put_comm(
	const struct labels *labels, const struct profile_thread *thread, struct str *out)
{
	const struct profile *profile = labels->profile;
	const struct profile_object *exe =
		&profile->objects.data[profile->processes.data[thread->process].info.exe];
	const char *leader = labels->leaders[thread->process];
	if (thread->tid == thread->pid)
		leader = thread->comm;
	size_t before = out->len;
	if (leader)
		str_puts(out, leader);
	else
		str_write(out, exe->name, strnlen(exe->name, COMM_MAX_BYTES));
	if (out->len == before)
		str_puts(out, thread->comm);
}

static void visit_text(const struct label_visitor *visitor, const char *key, const char *value)
{
	if (value[0])
		visitor->text(visitor->context, key, value);
}

void labels_visit(const struct labels *labels, uint32_t wanted, const struct profile_thread *thread,
	const struct label_visitor *visitor)
{
	const struct profile_process *process = &labels->profile->processes.data[thread->process];
	if (wanted & EXPORT_LABEL_COMM) {
		CLEANUP(str_deinit) struct str comm = {0};
		labels_put_comm(labels, thread, &comm);
		visit_text(visitor, "comm", str_text(&comm));
	}
	if (wanted & EXPORT_LABEL_THREAD && thread->tid != thread->pid)
		visit_text(visitor, "thread", thread->comm);
	if (wanted & EXPORT_LABEL_PID)
		visitor->number(visitor->context, "pid", thread->pid);
	if (wanted & EXPORT_LABEL_TID)
		visitor->number(visitor->context, "tid", thread->tid);
	if (wanted & EXPORT_LABEL_CONTAINER)
		visit_text(visitor, "container", process->container);
	if (wanted & EXPORT_LABEL_CGROUP)
		visit_text(visitor, "cgroup", process->cgroup);
	if (wanted & EXPORT_LABEL_UNIT)
		visit_text(visitor, "unit", process->unit);
	if (wanted & EXPORT_LABEL_POD)
		visit_text(visitor, "pod", process->pod);
	if (wanted & EXPORT_LABEL_ORIGIN)
		visit_text(visitor, "origin",
			labels->profile->origins.data[process->info.origin].name);
}

static bool is_taken(uint32_t wanted, const char *key)
{
	static const struct {
		uint32_t bit;
		const char *word;
	} others[] = {
#define X(label, bit, word) {label, word},
		EXPORT_LABELS(X)
#undef X
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (wanted & others[i].bit && others[i].bit != EXPORT_LABEL_SAMPLE &&
			strcmp(others[i].word, key) == 0)
			return true;
	return false;
}

static void visit_sample_label(const struct profile *profile, uint32_t wanted, uint32_t label,
	const struct label_visitor *visitor)
{
	const struct profile_label *it = &profile->labels.data[label];
	CLEANUP(str_deinit) struct str key = {0}, value = {0};
	str_printf(&key, "%s%s", is_taken(wanted, it->key) ? "label." : "", it->key);
	if (it->kind == LAYOUT_LABEL_NUMBER) {
		visitor->number(visitor->context, str_text(&key), it->value);
		return;
	}
	label_put_value(profile, label, &value);
	visit_text(visitor, str_text(&key), str_text(&value));
}

void labels_visit_set(const struct profile *profile, uint32_t wanted, uint32_t set,
	const struct label_visitor *visitor)
{
	uint32_t labels[LAYOUT_MAX_LABELS], count = 0;
	struct label_walk walk = label_walk(profile, wanted & EXPORT_LABEL_SAMPLE ? set : 0);
	for (uint32_t label; count < LAYOUT_MAX_LABELS && (label = label_walk_next(&walk));)
		labels[count++] = label;
	while (count)
		visit_sample_label(profile, wanted, labels[--count], visitor);
}
