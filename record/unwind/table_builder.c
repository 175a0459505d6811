#include "record/unwind/table_builder.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "record/host/priority.h"
#include "record/runtime/runtime.h"

struct job {
	uint64_t id;
	int fd;
	struct elf_file *elf;
	uint64_t code_bytes;
	bool is_looked_at; /* for a runtime */
};

enum {
	THREADS = 3,
	SMALL_CODE_BYTES = 4 << 20, /* some ms */
};

struct builder_thread {
	struct table_builder *builder;
	pthread_t thread;
	uint64_t max_code_bytes; /* of the jobs that it takes, */
	bool looks_ahead;        /* ... or it takes none, and sees to runtimes */
	atomic_bool stop;        /* the table at hand */
	bool is_working;
	uint64_t begun_cpu_ns; /* the thread's CPU time when it began its table */
};

struct table_builder {
	struct cache *cache;
	int event_fd;
	struct builder_thread threads[THREADS];
	pthread_mutex_t runtimes_lock; /* while on_runtime() is called */
	pthread_mutex_t lock;          /* of everything below, and of threads' work */
	pthread_cond_t submitted;
	VEC(struct job) jobs; /* from `next` on still to be done */
	size_t next;
	VEC(struct table_result) results; /* from `taken` on still to be taken */
	size_t taken;
	bool is_ending;
	table_runtime_fn *on_runtime;
	void *context;
	uint32_t wanted, refused; /* runtimes */
	struct err *refusal;      /* the first */
};

/* ---- in the thread ---- */

/* Tables of files that any user may make are not stored: they would fill the folder. */
static bool has_trusted_owner(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid());
}

/*
 * The build ID, of files that have one (Rust's compiler, of 150 MB, has none), and a sum of the
 * file's size and segments, so that files which claim the same ID mostly have entries of their own.
 */
static uint32_t table_builder_put_name(struct elf_file *elf, uint8_t name[TABLE_CACHE_NAME_MAX])
{
	_Static_assert(ELF_BUILD_ID_MAX + 8 <= TABLE_CACHE_NAME_MAX, "names fit");
	size_t len, count;
	const uint8_t *build_id = elf_file_build_id(elf, &len);
	uint64_t sum = elf_file_size(elf);
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	for (size_t i = 0; i < count; i++) {
		sum = map_mix(sum ^ segments[i].offset) + segments[i].filesz;
		sum = map_mix(sum ^ segments[i].vaddr) + segments[i].memsz;
	}
	if (len)
		memcpy(name, build_id, len);
	memcpy(name + len, &sum, sizeof(sum));
	return (uint32_t)(len + sizeof(sum));
}

/* False: there is none, or none of this very file. */
static bool load_table(const struct cache *cache, const uint8_t *name, uint32_t len,
	struct elf_file *elf, struct unwind_table *ret)
{
	struct unwind_table table;
	CLEANUP(table_inputs_deinit) struct table_inputs inputs = {0};
	bool is_found = false;
	err_destroy(table_cache_load(cache, name, len, &table, &inputs, &is_found));
	if (!is_found)
		return false;
	if (!table_inputs_match(&inputs, elf)) {
		unwind_table_deinit(&table);
		return false;
	}
	*ret = table;
	return true;
}

static enum table_origin make_table(
	const struct cache *cache, int fd, struct elf_file *elf, struct unwind_table *ret)
{
	uint8_t name[TABLE_CACHE_NAME_MAX];
	CLEANUP(table_inputs_deinit) struct table_inputs inputs = {0};
	uint32_t len = table_builder_put_name(elf, name);
	bool is_stored = cache && has_trusted_owner(fd);
	/* A cached table that is refused is built again, and replaced. */
	if (load_table(cache, name, len, elf, ret))
		return TABLE_FROM_CACHE;
	if (is_stored)
		table_inputs_begin(&inputs, elf);
	struct err *err = unwind_table_build(elf, ret);
	is_stored = is_stored && table_inputs_end(&inputs, elf) && !err;
	/* Full disks and the like cost the next recording some time, nothing else. */
	if (is_stored)
		err_destroy(table_cache_store(cache, name, len, ret, &inputs));
	if (!err)
		return TABLE_BUILT;
	err_destroy(err);
	*ret = (struct unwind_table){0};
	return TABLE_FAILED;
}

/* False: what needs it would not work. */
static bool prepare_runtimes(struct table_builder *builder, uint32_t runtimes)
{
	struct err *err = NULL;
	pthread_mutex_lock(&builder->runtimes_lock);
	if (builder->on_runtime && runtimes)
		err = builder->on_runtime(builder->context, runtimes);
	pthread_mutex_unlock(&builder->runtimes_lock);
	if (!err)
		return true;
	pthread_mutex_lock(&builder->lock);
	builder->refused |= runtimes;
	if (builder->refusal)
		err_destroy(err);
	else
		builder->refusal = err;
	pthread_mutex_unlock(&builder->lock);
	return false;
}

/*
 * The runtime of a file whose table takes a while. What its compiler made lies in no file: frames
 * there need the row, which a process may have to complete, but no table.
 */
static void tell_runtime_ahead(
	struct table_builder *builder, uint64_t id, const struct runtime_row *row)
{
	struct table_result result = {
		.id = id, .origin = TABLE_PENDING, .table = {.runtime = *row}};
	const struct runtime *runtime = runtime_of(row->kind);
	bool is_needed = !runtime || runtime->complete || runtime->claims_code_of_no_file;
	if (!is_needed || (runtime && !prepare_runtimes(builder, 1U << row->kind)))
		return;
	pthread_mutex_lock(&builder->lock);
	vec_push(&builder->results, result);
	pthread_mutex_unlock(&builder->lock);
	eventfd_write(builder->event_fd, 1);
}

static void table_builder_run_job(struct builder_thread *thread, const struct job *job)
{
	struct table_builder *builder = thread->builder;
	struct table_result result = {.id = job->id};
	result.origin = make_table(builder->cache, job->fd, job->elf, &result.table);
	struct runtime_row *row = &result.table.runtime;
	if (row->kind != RUNTIME_NONE && !prepare_runtimes(builder, 1U << row->kind))
		*row = (struct runtime_row){0};
	elf_file_destroy(job->elf);
	close(job->fd);
	pthread_mutex_lock(&builder->lock);
	thread->is_working = false;
	vec_push(&builder->results, result);
	pthread_mutex_unlock(&builder->lock);
	eventfd_write(builder->event_fd, 1);
}

static uint64_t cpu_ns(const struct builder_thread *thread)
{
	clockid_t clock;
	return pthread_getcpuclockid(thread->thread, &clock) ? 0 : clock_read_ns(clock);
}

/*
 * The job with the least code to describe, of those that are left to the thread: stacks of
 * everything else would wait for one browser. Large files are not put off for long, since a file
 * comes once. False: there is none.
 */
static bool take_job(struct builder_thread *thread, struct job *ret)
{
	struct table_builder *builder = thread->builder;
	struct job *first = builder->jobs.data + builder->next, *least = NULL;
	for (size_t i = builder->next; i < builder->jobs.len; i++) {
		struct job *job = &builder->jobs.data[i];
		if (job->is_looked_at && (!least || job->code_bytes < least->code_bytes))
			least = job;
	}
	if (!least || least->code_bytes > thread->max_code_bytes)
		return false;
	*ret = *least;
	*least = *first;
	builder->next++;
	return true;
}

/* A job that was not looked at yet; false: there is none. */
static bool take_unseen(struct table_builder *builder, struct job *ret)
{
	for (size_t i = builder->next; i < builder->jobs.len; i++) {
		struct job *job = &builder->jobs.data[i];
		if (job->is_looked_at)
			continue;
		*ret = *job;
		*job = builder->jobs.data[builder->next++];
		return true;
	}
	return false;
}

/* Under the lock. */
static void begin_work(struct builder_thread *thread, const struct job *job)
{
	thread->is_working = true;
	thread->begun_cpu_ns = cpu_ns(thread);
	atomic_store(&thread->stop, false);
	elf_file_stop_when(job->elf, &thread->stop);
}

/* Sees to a file's runtime; its table is made meanwhile. Under the lock, but for the work. */
static void look_at_job(struct builder_thread *thread, struct job *job)
{
	struct table_builder *builder = thread->builder;
	struct runtime_file file;
	uint64_t id = job->id;
	begin_work(thread, job);
	pthread_mutex_unlock(&builder->lock);
	struct err *err = runtime_detect(job->elf, &file);
	pthread_mutex_lock(&builder->lock);
	thread->is_working = false;
	job->is_looked_at = true;
	vec_push(&builder->jobs, *job);
	pthread_cond_broadcast(&builder->submitted);
	pthread_mutex_unlock(&builder->lock);
	if (!err)
		tell_runtime_ahead(builder, id, &file.row);
	err_destroy(err); /* the table's building says it, too */
	pthread_mutex_lock(&builder->lock);
}

/* The same of the thread that makes no tables. False: there is nothing to do. */
static bool look_ahead(struct builder_thread *thread)
{
	struct table_builder *builder = thread->builder;
	struct job job;
	uint32_t wanted = builder->wanted;
	if (take_unseen(builder, &job)) {
		look_at_job(thread, &job);
		return true;
	}
	if (!wanted)
		return false;
	builder->wanted = 0;
	pthread_mutex_unlock(&builder->lock);
	prepare_runtimes(builder, wanted);
	pthread_mutex_lock(&builder->lock);
	return true;
}

/* Under the lock, but for the work. False: there is nothing to do. */
static bool do_next(struct builder_thread *thread)
{
	struct table_builder *builder = thread->builder;
	struct job job;
	if (thread->looks_ahead)
		return look_ahead(thread);
	if (!take_job(thread, &job))
		return false;
	begin_work(thread, &job);
	pthread_mutex_unlock(&builder->lock);
	table_builder_run_job(thread, &job);
	pthread_mutex_lock(&builder->lock);
	return true;
}

static void *table_builder_run(void *context)
{
	struct builder_thread *thread = context;
	struct table_builder *builder = thread->builder;
	priority_raise();
	pthread_mutex_lock(&builder->lock);
	while (!builder->is_ending)
		if (!do_next(thread))
			pthread_cond_wait(&builder->submitted, &builder->lock);
	pthread_mutex_unlock(&builder->lock);
	return NULL;
}

/* ---- outside of it ---- */

struct err *table_builder_create(struct cache *cache, struct table_builder **ret)
{
	struct table_builder *builder = mem_zalloc(sizeof(*builder));
	builder->cache = cache;
	builder->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&builder->lock, NULL);
	pthread_cond_init(&builder->submitted, NULL);
	pthread_mutex_init(&builder->runtimes_lock, NULL);
	int error = builder->event_fd < 0 ? errno : 0;
	for (int i = 0; i < THREADS && !error; i++) {
		struct builder_thread *thread = &builder->threads[i];
		thread->max_code_bytes = i ? SMALL_CODE_BYTES : UINT64_MAX;
		thread->looks_ahead = i == 2;
		thread->builder = builder;
		error = pthread_create(&thread->thread, NULL, table_builder_run, thread);
		if (error)
			thread->builder = NULL;
	}
	if (!error) {
		*ret = builder;
		return NULL;
	}
	table_builder_destroy(builder);
	return err_sys(error, "cannot start a thread");
}

void table_builder_destroy(struct table_builder *builder)
{
	if (!builder)
		return;
	pthread_mutex_lock(&builder->lock);
	builder->is_ending = true;
	for (int i = 0; i < THREADS; i++)
		atomic_store(&builder->threads[i].stop, true);
	pthread_cond_broadcast(&builder->submitted);
	pthread_mutex_unlock(&builder->lock);
	for (int i = 0; i < THREADS; i++)
		if (builder->threads[i].builder)
			pthread_join(builder->threads[i].thread, NULL);
	for (size_t i = builder->next; i < builder->jobs.len; i++) {
		elf_file_destroy(builder->jobs.data[i].elf);
		close(builder->jobs.data[i].fd);
	}
	for (size_t i = builder->taken; i < builder->results.len; i++)
		unwind_table_deinit(&builder->results.data[i].table);
	vec_deinit(&builder->jobs);
	vec_deinit(&builder->results);
	pthread_cond_destroy(&builder->submitted);
	pthread_mutex_destroy(&builder->lock);
	pthread_mutex_destroy(&builder->runtimes_lock);
	mem_close_fd(&builder->event_fd);
	cache_close(builder->cache);
	err_destroy(builder->refusal);
	mem_free(builder);
}

void table_builder_on_runtime(struct table_builder *builder, table_runtime_fn *fn, void *context)
{
	builder->on_runtime = fn;
	builder->context = context;
}

void table_builder_want(struct table_builder *builder, uint32_t runtimes)
{
	pthread_mutex_lock(&builder->lock);
	builder->wanted |= runtimes;
	pthread_cond_broadcast(&builder->submitted);
	pthread_mutex_unlock(&builder->lock);
}

uint32_t table_builder_refused(struct table_builder *builder, const struct err **why)
{
	pthread_mutex_lock(&builder->lock);
	uint32_t refused = builder->refused;
	*why = builder->refusal;
	pthread_mutex_unlock(&builder->lock);
	return refused;
}

static uint64_t count_code(const struct elf_file *elf)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	uint64_t bytes = 0;
	for (size_t i = 0; i < count; i++)
		bytes += segments[i].flags & PF_X ? segments[i].filesz : 0;
	return bytes;
}

void table_builder_submit(struct table_builder *builder, uint64_t id, int fd, struct elf_file *elf)
{
	struct job job = {.id = id, .fd = fd, .elf = elf, .code_bytes = count_code(elf)};
	job.is_looked_at = job.code_bytes <= SMALL_CODE_BYTES;
	pthread_mutex_lock(&builder->lock);
	vec_push(&builder->jobs, job);
	pthread_cond_broadcast(&builder->submitted);
	pthread_mutex_unlock(&builder->lock);
}

/* Under the lock. */
static void stop_endless(struct table_builder *builder)
{
	uint64_t max_ns = TABLE_BUILDER_MAX_S * 1000000000ULL;
	for (int i = 0; i < THREADS; i++) {
		struct builder_thread *thread = &builder->threads[i];
		if (thread->is_working && cpu_ns(thread) - thread->begun_cpu_ns > max_ns)
			atomic_store(&thread->stop, true);
	}
}

bool table_builder_take(struct table_builder *builder, struct table_result *ret)
{
	eventfd_t ignored;
	eventfd_read(builder->event_fd, &ignored);
	pthread_mutex_lock(&builder->lock);
	stop_endless(builder);
	bool is_ready = builder->taken < builder->results.len;
	if (is_ready)
		*ret = builder->results.data[builder->taken++];
	pthread_mutex_unlock(&builder->lock);
	return is_ready;
}

int table_builder_fd(const struct table_builder *builder)
{
	return builder->event_fd;
}
