#include "record/script/thread_names.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/file/thread_name.h"
#include "record/runtime/runtime.h"

enum {
	MAX_THREAD_NAMES = 64 << 10,
	MAX_WISHES = 1024,
	MAX_TRIES = 5, /* to find a process's runtime, each after twice the time */
};

/* Between two reads of one process, which starts threads one after the other. */
static const uint64_t pause_ns = 500ULL * 1000 * 1000;

struct request {
	uint32_t pid;
	uint64_t delta;
	struct runtime_row row;
};

_Static_assert(sizeof(struct request) <= TARGET_READER_MAX_REQUEST, "a request fits");

/* In the reader's worker. */
static void read_thread_names(void **kept, const void *bytes, size_t len, struct bytes_buf *ret)
{
	struct request request;
	(void)kept;
	if (len != sizeof(request))
		return;
	memcpy(&request, bytes, len);
	runtime_of(request.row.kind)->read_threads(request.pid, request.delta, &request.row, ret);
}

void thread_names_init(struct thread_names *names)
{
	*names = (struct thread_names){0};
	target_reader_init(&names->reader, read_thread_names);
}

void thread_names_deinit(struct thread_names *names)
{
	target_reader_deinit(&names->reader);
	vec_deinit(&names->wishes);
	vec_deinit(&names->reading);
	map_deinit(&names->asked_ns);
	map_deinit(&names->names);
	vec_each(&names->list, name)
		mem_free(*name);
	vec_deinit(&names->list);
}

/* ---- asking ---- */

/* Where the process has a runtime that names threads. False: it has none that is known so far. */
static bool find_runtime(const struct thread_names *names, const struct process *process,
	struct runtime_row *row, uint64_t *delta)
{
	struct mapping_cursor cursor = {0};
	for (const struct mapping *mapping;
		(mapping = mapping_table_next(&process->mappings, &cursor));) {
		const struct runtime_row *of_file = live_rows_of_file(
			&names->rules->rows, rule_source_table(names->rules, mapping->object));
		if (of_file && runtime_of(of_file->kind)->read_threads) {
			*row = *of_file;
			*delta = mapping->offset - mapping->start;
			return true;
		}
	}
	return false;
}

static struct thread_names_wish *find_wish(struct thread_names *names, uint32_t image)
{
	vec_each(&names->wishes, wish)
		if (wish->image == image)
			return wish;
	return NULL;
}

void thread_names_want(
	struct thread_names *names, const struct process *process, const char comm[16])
{
	if (comm[15] || strlen(comm) != THREAD_NAME_KEPT_BYTES || names->wishes.len >= MAX_WISHES ||
		find_wish(names, process->image))
		return;
	const uint64_t *asked_ns = map_get(&names->asked_ns, process->image);
	struct thread_names_wish wish = {.image = process->image,
		.pid = process->pid,
		.due_ns = asked_ns ? *asked_ns + pause_ns : 0};
	vec_push(&names->wishes, wish);
}

/* False: its runtime is not known so far. */
static bool ask_process(struct thread_names *names, const struct process *process,
	const struct thread_names_wish *wish, uint64_t now_ns)
{
	struct request request; /* no byte of it is left as it was */
	memset(&request, 0, sizeof(request));
	if (!find_runtime(names, process, &request.row, &request.delta))
		return false;
	request.pid = wish->pid;
	*map_put(&names->asked_ns, wish->image, NULL) = now_ns;
	vec_push(&names->reading, wish->image);
	target_reader_submit(&names->reader, wish->pid, &request, sizeof(request));
	return true;
}

/* True: the wish is over. */
static bool grant_or_defer(struct thread_names *names, const struct process_table *processes,
	struct thread_names_wish *wish, uint64_t now_ns)
{
	const struct process *process = process_table_find(processes, wish->pid);
	if (!process || process->image != wish->image)
		return true;
	if (ask_process(names, process, wish, now_ns))
		return true;
	wish->due_ns = now_ns + (pause_ns / 4 << wish->nr_tries);
	return ++wish->nr_tries == MAX_TRIES;
}

static void ask_what_is_due(struct thread_names *names, const struct process_table *processes)
{
	size_t left = 0;
	uint64_t now_ns = names->wishes.len ? clock_now_ns() : 0;
	vec_each(&names->wishes, wish) {
		bool is_over =
			wish->due_ns <= now_ns && grant_or_defer(names, processes, wish, now_ns);
		if (!is_over)
			names->wishes.data[left++] = *wish;
	}
	names->wishes.len = left;
}

/* ---- names ---- */

static uint64_t key_of(uint32_t image, uint32_t tid)
{
	return (uint64_t)image << 32 | tid;
}

const char *thread_names_find(const struct thread_names *names, const struct process *process,
	uint32_t tid, const char comm[16])
{
	const uint64_t *index = map_get(&names->names, key_of(process->image, tid));
	const char *name = index ? names->list.data[*index] : NULL;
	return name && !comm[15] && thread_name_is_of(name, strlen(name), comm) ? name : NULL;
}

static void take_thread_name(struct thread_names *names, uint32_t image, uint32_t tid, char *name,
	thread_name_fn *fn, void *context)
{
	bool is_new;
	uint64_t *index = map_put(&names->names, key_of(image, tid), &is_new);
	if (!is_new && strcmp(names->list.data[*index], name) == 0) {
		mem_free(name);
		return;
	}
	if (is_new) {
		*index = names->list.len;
		vec_push(&names->list, name);
	} else {
		mem_free(names->list.data[*index]);
		names->list.data[*index] = name;
	}
	fn(context, image, tid, name);
}

static void take_names(struct thread_names *names, uint32_t image, const struct bytes_buf *answer,
	thread_name_fn *fn, void *context)
{
	struct bytes_cursor cursor = bytes_cursor(answer->data, answer->len);
	while (bytes_left(&cursor) && names->list.len < MAX_THREAD_NAMES) {
		uint32_t tid = bytes_get_u32(&cursor), len = bytes_get_u32(&cursor);
		const uint8_t *bytes = bytes_get(&cursor, len);
		if (!bytes || cursor.overrun || memchr(bytes, 0, len))
			return;
		take_thread_name(
			names, image, tid, mem_strndup((const char *)bytes, len), fn, context);
	}
}

void thread_names_collect(struct thread_names *names, const struct process_table *processes,
	thread_name_fn *fn, void *context)
{
	const struct bytes_buf *answer;
	if (!names->rules)
		return;
	ask_what_is_due(names, processes);
	while (names->read < names->reading.len && target_reader_take(&names->reader, &answer)) {
		uint32_t image = names->reading.data[names->read++];
		if (answer)
			take_names(names, image, answer, fn, context);
	}
	if (names->read == names->reading.len)
		names->read = names->reading.len = 0;
}
