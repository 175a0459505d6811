#include "record/script/thread_names.h"

#include <stdio.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/file/thread_name.h"
#include "record/host/proc.h"
#include "record/runtime/runtime.h"

enum {
	MAX_THREAD_NAMES = 64 << 10,
	MAX_WISHES = 1024,
	MAX_RESTS = 4096,
	MAX_WISHES_BY_NUMBER = 256, /* of those for threads that few processes have names of */
	MAX_TRIES = 5,              /* to find a process's runtime, each after twice the time */
	REST_FACTOR = 100, /* times what a read took: reads of all processes take one percent */
};

/* Between two reads of one process, which starts threads one after the other: where they take long
 * it is no longer. */
static const uint64_t longest_rest_ns = 500 * NS_PER_MS;

struct request {
	uint32_t pid;
	uint64_t delta;
	struct runtime_row row;
};

_Static_assert(sizeof(struct request) <= TARGET_READER_MAX_REQUEST, "a request fits");

/* ---- in the reader's worker ---- */

/* What the kernel calls a thread; false: it is gone. */
static bool read_comm(uint32_t pid, uint32_t tid, char ret[16])
{
	CLEANUP(str_deinit) struct str text = {0};
	char path[64];
	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	if (!proc_read_file(path, &text))
		return false;
	memset(ret, 0, 16);
	size_t len = text.len && text.data[text.len - 1] == '\n' ? text.len - 1 : text.len;
	memcpy(ret, str_text(&text), len < 16 ? len : 15);
	return true;
}

/*
 * A name stands for what the kernel calls the thread, if that is a part of it, or if the thread has
 * no name there but that of the process's first thread, which is what threads begin with.
 */
static bool name_stands_for(
	const char *name, size_t len, const char comm[16], const char first[16], bool is_first)
{
	return thread_name_is_of(name, len, comm) || (!is_first && memcmp(comm, first, 16) == 0);
}

/* From what a runtime put to the number, what the kernel calls it, and the name that stands for
 * that. */
static void put_names_that_stand(uint32_t pid, const struct bytes_buf *read, struct bytes_buf *ret)
{
	struct map by_inner = {0};
	char first[16], comm[16];
	bool has_namespace = proc_map_inner_threads(pid, &by_inner);
	struct bytes_cursor cursor = bytes_cursor(read->data, read->len);
	bool is_there = read_comm(pid, pid, first);
	while (is_there && bytes_left(&cursor)) {
		uint32_t tid = bytes_get_u32(&cursor), len = bytes_get_u32(&cursor);
		const char *name = (const char *)bytes_get(&cursor, len);
		const uint64_t *outer = has_namespace ? map_get(&by_inner, tid) : NULL;
		if (has_namespace)
			tid = outer ? (uint32_t)*outer : 0;
		if (!name || !tid || !read_comm(pid, tid, comm) ||
			!name_stands_for(name, len, comm, first, tid == pid))
			continue;
		bytes_put_u32(ret, tid);
		bytes_put(ret, comm, sizeof(comm));
		bytes_put_u32(ret, len);
		bytes_put(ret, name, len);
	}
	map_deinit(&by_inner);
}

static void read_thread_names(void **kept, const void *bytes, size_t len, struct bytes_buf *ret)
{
	struct request request;
	struct bytes_buf read = {0};
	(void)kept;
	if (len != sizeof(request))
		return;
	memcpy(&request, bytes, len);
	runtime_of(request.row.kind)->read_threads(request.pid, request.delta, &request.row, &read);
	put_names_that_stand(request.pid, &read, ret);
	bytes_buf_deinit(&read);
}

/* ---- the table ---- */

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
	map_deinit(&names->rest_until_ns);
	map_deinit(&names->names);
	vec_each(&names->list, known)
		mem_free(known->name);
	vec_deinit(&names->list);
}

/* ---- asking ---- */

/* Where the process has a runtime that names threads, if need be not even in part in the kernel.
 * False: it has none that is known so far. */
static bool find_runtime(const struct thread_names *names, const struct process *process,
	bool is_cut, struct runtime_row *row, uint64_t *delta)
{
	struct mapping_cursor cursor = {0};
	for (const struct mapping *mapping;
		(mapping = mapping_table_next(&process->mappings, &cursor));) {
		const struct runtime_row *of_file = live_rows_of_file(
			&names->rules->rows, rule_source_table(names->rules, mapping->object));
		const struct runtime *runtime = of_file ? runtime_of(of_file->kind) : NULL;
		if (runtime && runtime->read_threads && (is_cut || runtime->names_threads_alone)) {
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

void thread_names_want(struct thread_names *names, const struct process *process, uint32_t tid,
	const char comm[16])
{
	bool is_cut = !comm[15] && strlen(comm) == THREAD_NAME_KEPT_BYTES;
	if (!is_cut && tid == process->pid)
		return;
	struct thread_names_wish *same = find_wish(names, process->image);
	if (same)
		same->is_cut |= is_cut;
	if (same || names->wishes.len >= (is_cut ? MAX_WISHES : MAX_WISHES_BY_NUMBER))
		return;
	struct thread_names_wish wish = {
		.image = process->image, .pid = process->pid, .is_cut = is_cut};
	vec_push(&names->wishes, wish);
}

/* False: its runtime is not known so far. */
static bool ask_process(struct thread_names *names, const struct process *process,
	const struct thread_names_wish *wish, uint64_t now_ns)
{
	struct request request; /* no byte of it is left as it was */
	memset(&request, 0, sizeof(request));
	if (!find_runtime(names, process, wish->is_cut, &request.row, &request.delta))
		return false;
	request.pid = wish->pid;
	struct thread_names_read read = {.image = wish->image, .asked_ns = now_ns};
	*map_put(&names->rest_until_ns, wish->image, NULL) = UINT64_MAX; /* while it is read */
	vec_push(&names->reading, read);
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
	wish->due_ns = now_ns + (longest_rest_ns / 4 << wish->nr_tries);
	return ++wish->nr_tries == MAX_TRIES;
}

static uint64_t wish_due_ns(const struct thread_names *names, const struct thread_names_wish *wish)
{
	const uint64_t *until_ns = map_get(&names->rest_until_ns, wish->image);
	return until_ns && *until_ns > wish->due_ns ? *until_ns : wish->due_ns;
}

static void ask_what_is_due(struct thread_names *names, const struct process_table *processes)
{
	size_t left = 0;
	uint64_t now_ns = names->wishes.len ? clock_now_ns() : 0;
	vec_each(&names->wishes, wish) {
		bool is_over = wish_due_ns(names, wish) <= now_ns &&
			       grant_or_defer(names, processes, wish, now_ns);
		if (!is_over)
			names->wishes.data[left++] = *wish;
	}
	names->wishes.len = left;
	target_reader_send(&names->reader);
}

bool thread_names_are_awaited(const struct thread_names *names, uint64_t until_ns)
{
	if (!names->rules)
		return false;
	if (names->read < names->reading.len)
		return true;
	vec_each(&names->wishes, wish)
		if (!wish->nr_tries && wish_due_ns(names, wish) < until_ns)
			return true;
	return false;
}

int thread_names_fd(const struct thread_names *names)
{
	return target_reader_fd(&names->reader);
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
	const struct thread_names_known *known = index ? &names->list.data[*index] : NULL;
	return known && strncmp(known->comm, comm, sizeof(known->comm)) == 0 ? known->name : NULL;
}

static void take_thread_name(struct thread_names *names, uint32_t image, uint32_t tid,
	struct thread_names_known *known, thread_name_fn *fn, void *context)
{
	bool is_new;
	uint64_t *index = map_put(&names->names, key_of(image, tid), &is_new);
	struct thread_names_known *old = is_new ? NULL : &names->list.data[*index];
	if (old && strcmp(old->name, known->name) == 0 &&
		memcmp(old->comm, known->comm, sizeof(old->comm)) == 0) {
		mem_free(known->name);
		return;
	}
	if (old) {
		mem_free(old->name);
		*old = *known;
	} else {
		*index = names->list.len;
		vec_push(&names->list, *known);
	}
	fn(context, image, tid, known->comm, known->name);
}

static void take_names(struct thread_names *names, uint32_t image, const struct bytes_buf *answer,
	thread_name_fn *fn, void *context)
{
	struct bytes_cursor cursor = bytes_cursor(answer->data, answer->len);
	while (bytes_left(&cursor) && names->list.len < MAX_THREAD_NAMES) {
		struct thread_names_known known = {.name = NULL};
		uint32_t tid = bytes_get_u32(&cursor);
		const uint8_t *comm = bytes_get(&cursor, sizeof(known.comm));
		uint32_t len = bytes_get_u32(&cursor);
		const uint8_t *bytes = bytes_get(&cursor, len);
		if (!comm || !bytes || cursor.overrun || comm[sizeof(known.comm) - 1] ||
			memchr(bytes, 0, len))
			return;
		memcpy(known.comm, comm, sizeof(known.comm));
		known.name = mem_strndup((const char *)bytes, len);
		take_thread_name(names, image, tid, &known, fn, context);
	}
}

/* Where reads take little, threads that live for less than the longest rest have names, too. */
static void rest_after_read(struct thread_names *names, const struct thread_names_read *read)
{
	uint64_t nr_processes = names->wishes.len + names->reading.len - names->read;
	uint64_t rest_ns = target_reader_answer_ns(&names->reader) * REST_FACTOR * nr_processes;
	*map_put(&names->rest_until_ns, read->image, NULL) =
		read->asked_ns + (rest_ns < longest_rest_ns ? rest_ns : longest_rest_ns);
}

static void take_what_is_read(struct thread_names *names, thread_name_fn *fn, void *context)
{
	const struct bytes_buf *answer;
	for (; names->read < names->reading.len && target_reader_take(&names->reader, &answer);
		names->read++) {
		const struct thread_names_read *read = &names->reading.data[names->read];
		rest_after_read(names, read);
		if (answer)
			take_names(names, read->image, answer, fn, context);
	}
	if (names->read == names->reading.len)
		names->read = names->reading.len = 0;
}

/* Names are in the recording already, and who is read early has it once. */
static void forget_the_old(struct thread_names *names)
{
	if (names->list.len >= MAX_THREAD_NAMES) {
		vec_each(&names->list, known)
			mem_free(known->name);
		names->list.len = 0;
		map_clear(&names->names);
	}
	if (!names->reading.len && names->rest_until_ns.len > MAX_RESTS)
		map_clear(&names->rest_until_ns);
}

void thread_names_collect(struct thread_names *names, const struct process_table *processes,
	thread_name_fn *fn, void *context)
{
	if (!names->rules)
		return;
	forget_the_old(names);
	take_what_is_read(names, fn, context);
	ask_what_is_due(names, processes);
}
