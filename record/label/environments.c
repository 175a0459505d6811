#include "record/label/environments.h"

#include <string.h>

#include "bpf/event.h"

enum {
	MAX_OF_BATCH = 16 << 10,      /* execs: more than a second of them, */
	MAX_BYTES_OF_BATCH = 1 << 20, /* ... and of what they have */
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

/* Without what was cut, which may mean something else than the whole. */
static void put_whole_variables(struct str *texts, const struct event_environment *event)
{
	for (size_t at = 0, len; at < event->bytes; at += (len + 8) & ~(size_t)7) {
		const char *text = (const char *)event->text + at;
		len = strnlen(text, event->bytes - at);
		if (!len || len >= EVENT_MAX_VARIABLE_BYTES - 1)
			continue;
		str_write(texts, text, len);
		str_putc(texts, '\0');
	}
}

void environments_take(struct environments *environments, const struct event_environment *event)
{
	struct environment_batch *batch = &environments->latest;
	if (batch->list.len >= MAX_OF_BATCH || batch->texts.len >= MAX_BYTES_OF_BATCH) {
		deinit_batch(&environments->before);
		environments->before = *batch;
		*batch = (struct environment_batch){0};
	}
	struct environment environment = {.start_ns = event->start_ns,
		.exec_ns = event->exec_ns,
		.exec_id = event->exec_id,
		.is_cut = event->is_cut,
		.at = batch->texts.len};
	put_whole_variables(&batch->texts, event);
	environment.len = (uint32_t)(batch->texts.len - environment.at);
	vec_push(&batch->list, environment);
	*map_put(&batch->by_pid, event->pid, NULL) = batch->list.len;
}

/* Of a parent's it is the one that it had executed when it forked. */
static bool is_environment_of(
	const struct environment *environment, const struct process *process, bool is_own)
{
	return environment->exec_id == process->exec_id &&
	       (is_own ? environment->start_ns == process->start_ns
		       : environment->exec_ns < process->start_ns);
}

static enum environments_known find_in_batch(const struct environment_batch *batch,
	const struct process *process, uint32_t pid, struct str *ret)
{
	const uint64_t *known = map_get(&batch->by_pid, pid);
	if (!known)
		return ENVIRONMENT_UNKNOWN;
	const struct environment *environment = &batch->list.data[*known - 1];
	if (!is_environment_of(environment, process, pid == process->pid))
		return ENVIRONMENT_UNKNOWN;
	str_write(ret, str_text(&batch->texts) + environment->at, environment->len);
	return environment->is_cut ? ENVIRONMENT_IN_PART : ENVIRONMENT_WHOLE;
}

enum environments_known environments_find(
	const struct environments *environments, const struct process *process, struct str *ret)
{
	const uint32_t pids[] = {process->pid, process->parent_pid};
	const struct environment_batch *batches[] = {&environments->latest, &environments->before};
	enum environments_known known = ENVIRONMENT_UNKNOWN;
	for (size_t i = 0; process->has_exec_id && i < 4 && !known; i++)
		if (pids[i / 2])
			known = find_in_batch(batches[i % 2], process, pids[i / 2], ret);
	return known;
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
