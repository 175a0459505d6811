#include "record/label/environments.h"

#include <string.h>

#include "bpf/event.h"

enum {
	MAX_OF_BATCH = 16 << 10, /* execs: more than a second of them */
};

static void deinit_batch(struct environment_batch *batch)
{
	vec_deinit(&batch->list);
	str_deinit(&batch->texts);
	map_deinit(&batch->by_pid);
	*batch = (struct environment_batch){0};
}

void environments_deinit(struct environments *environments)
{
	deinit_batch(&environments->latest);
	deinit_batch(&environments->before);
}

void environments_take(struct environments *environments, const struct event_environment *event)
{
	struct environment_batch *batch = &environments->latest;
	if (batch->list.len >= MAX_OF_BATCH) {
		deinit_batch(&environments->before);
		environments->before = *batch;
		*batch = (struct environment_batch){0};
	}
	struct environment environment = {.start_ns = event->start_ns,
		.exec_id = event->exec_id,
		.len = event->bytes,
		.at = batch->texts.len};
	if (event->is_cut) { /* as if it had not come: /proc has all */
		uint64_t *known = map_get(&batch->by_pid, event->pid);
		if (known)
			*known = 0;
		return;
	}
	str_write(&batch->texts, event->text, event->bytes);
	vec_push(&batch->list, environment);
	*map_put(&batch->by_pid, event->pid, NULL) = batch->list.len;
}

static bool find_in_batch(const struct environment_batch *batch, const struct process *process,
	uint32_t pid, struct str *ret)
{
	const uint64_t *known = map_get(&batch->by_pid, pid);
	if (!known || !*known)
		return false;
	const struct environment *environment = &batch->list.data[*known - 1];
	bool is_own = pid == process->pid;
	if ((is_own && environment->start_ns != process->start_ns) ||
		environment->exec_id != process->exec_id)
		return false;
	str_write(ret, str_text(&batch->texts) + environment->at, environment->len);
	return true;
}

bool environments_find(
	const struct environments *environments, const struct process *process, struct str *ret)
{
	const uint32_t pids[] = {process->pid, process->parent_pid};
	if (!process->has_exec_id)
		return false;
	for (size_t i = 0; i < sizeof(pids) / sizeof(*pids); i++)
		if (pids[i] && (find_in_batch(&environments->latest, process, pids[i], ret) ||
				       find_in_batch(&environments->before, process, pids[i], ret)))
			return true;
	return false;
}

struct event_variable environments_variable(const char *name)
{
	unsigned char bytes[sizeof(uint64_t)] = {0}, mask[sizeof(uint64_t)] = {0};
	size_t len = strlen(name);
	struct event_variable variable;
	for (size_t i = 0; i < sizeof(bytes) && i <= len; i++) {
		bytes[i] = i < len ? (unsigned char)name[i] : '=';
		mask[i] = 0xff;
	}
	memcpy(&variable.word, bytes, sizeof(bytes));
	memcpy(&variable.mask, mask, sizeof(mask));
	return variable;
}
