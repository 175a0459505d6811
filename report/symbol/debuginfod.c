#include "report/symbol/debuginfod.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/elf/elf_file.h"
#include "report/symbol/debuginfod_library.h"
#include "report/symbol/debuginfod_memo.h"
#include "report/symbol/symbol_sections.h"

enum {
	THREADS_MAX = 8,
	/* A server that drips its bytes makes no progress: 6.4 KB/s is the least that counts. */
	PROGRESS_BYTES = 64 << 10,
	/* What is taken whole for the sake of a part, from servers that give no parts. */
	INSTEAD_MAX = 16 << 20,
	LOOK_NS = 200 * 1000 * 1000,
	NS_PER_S = 1000 * 1000 * 1000,
};

static const int64_t patience_ns = 10LL * NS_PER_S;
/* Transfers notice once a second that they are to end. */
static const int64_t farewell_ns = 2LL * NS_PER_S;

static const char *const sections[DEBUGINFOD_PART_COUNT][DEBUGINFOD_FILES_MAX] = {
	[DEBUGINFOD_PART_NAMES] = {".symtab", ".strtab"},
	[DEBUGINFOD_PART_LINES] = {".debug_line", ".debug_line_str", ".debug_str"},
};

/* What is wanted of one build ID. Under the session's lock, but for the build ID. */
struct job {
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_len;
	bool is_busy;
	bool is_open[DEBUGINFOD_PART_COUNT]; /* to be fetched, or being fetched */
	struct debuginfod_answer answers[DEBUGINFOD_PART_COUNT];
};

struct debuginfod {
	struct debuginfod_library library;
	bool is_ready;
	struct debuginfod_options options;
	char *urls;
	int memo;
	atomic_uint owners; /* the caller and each thread: who leaves last frees it */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	VEC(struct job *) jobs;
	unsigned nr_threads;
	int64_t budget_ns; /* how long may still be waited */

	/* What transfers tell, and are told. */
	atomic_bool is_over;
	atomic_ullong bytes;
	atomic_ullong steps; /* of progress */
};

/* One transfer; libdebuginfod's user data. */
struct transfer {
	struct debuginfod *session;
	struct debuginfod_client *client;
	const struct job *job;
	long bytes_max; /* of a whole file */
	long mark_bytes, seen_bytes;
	int64_t mark_ns;
	bool is_asked;          /* over the network, not from the library's cache */
	bool is_answered;       /* a server began to send */
	enum debug_verdict cut; /* why it was ended by us; DEBUG_ACCEPTED: it was not */
};

static int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* ---- a transfer ---- */

static void count_bytes(struct transfer *transfer, long bytes, int64_t now)
{
	struct debuginfod *session = transfer->session;
	if (bytes > transfer->seen_bytes)
		atomic_fetch_add(
			&session->bytes, (unsigned long long)(bytes - transfer->seen_bytes));
	transfer->seen_bytes = bytes;
	/* The next file of the same question begins at 0 again. */
	if (bytes >= transfer->mark_bytes && bytes - transfer->mark_bytes < PROGRESS_BYTES)
		return;
	transfer->mark_bytes = bytes;
	transfer->mark_ns = now;
	atomic_fetch_add(&session->steps, 1);
}

/*
 * Called about once a second while a query runs. Before a server has answered, `done` counts the
 * calls, and there is no address; `whole` is 0 or -1 where the server does not say it.
 * Not 0 ends the query.
 */
static int look_at(struct transfer *transfer, long done, long whole)
{
	const char *url = transfer->session->library.get_url(transfer->client);
	int64_t now = now_ns();
	transfer->is_asked = true;
	transfer->is_answered |= url != NULL;
	if (url)
		count_bytes(transfer, done, now);
	bool is_whole = url && !strstr(url, "/section/");
	if (is_whole && (whole > transfer->bytes_max || done > transfer->bytes_max))
		transfer->cut = DEBUG_TOO_LARGE;
	else if (atomic_load(&transfer->session->is_over) || now - transfer->mark_ns > patience_ns)
		transfer->cut = DEBUG_CUT_OFF;
	return transfer->cut != DEBUG_ACCEPTED;
}

/* The library's functions are found at run time, and it hands back nothing but its client. */
static _Thread_local struct transfer *current;

static int on_progress(struct debuginfod_client *client, long done, long whole)
{
	(void)client;
	return look_at(current, done, whole);
}

/* What a query of the library means; *errnum for DEBUG_FAILED. */
static enum debug_verdict judge(const struct transfer *transfer, int result, int *errnum)
{
	if (result >= 0)
		return DEBUG_ACCEPTED;
	if (transfer->cut != DEBUG_ACCEPTED)
		return transfer->cut;
	if (result == -ETIME)
		return DEBUG_CUT_OFF;
	/* It also says so when a server broke off in the middle. */
	bool is_broken = result == -ENOENT && transfer->is_answered;
	if (result != -ENOENT || is_broken) {
		*errnum = is_broken ? ECONNRESET : -result;
		return DEBUG_FAILED;
	}
	return transfer->is_asked ? DEBUG_UNKNOWN : DEBUG_UNKNOWN_BEFORE;
}

/* Fetches a section, or all when it is NULL. *path is yours. */
static enum debug_verdict fetch(
	struct transfer *transfer, const char *section, char **path, int *errnum)
{
	const struct debuginfod_library *library = &transfer->session->library;
	const struct job *job = transfer->job;
	int len = (int)job->build_id_len;
	char *found = NULL;
	transfer->mark_bytes = transfer->seen_bytes = 0;
	transfer->mark_ns = now_ns();
	transfer->is_asked = transfer->is_answered = false;
	transfer->cut = DEBUG_ACCEPTED;
	current = transfer;
	int fd = section ? library->find_section(
				   transfer->client, job->build_id, len, section, &found)
			 : library->find_debuginfo(transfer->client, job->build_id, len, &found);
	enum debug_verdict verdict = judge(transfer, fd, errnum);
	if (fd >= 0)
		close(fd);
	if (verdict == DEBUG_ACCEPTED && found)
		*path = mem_strdup(found);
	else if (verdict == DEBUG_ACCEPTED)
		verdict = DEBUG_ABSENT;
	if (verdict == DEBUG_CUT_OFF || verdict == DEBUG_TOO_LARGE || verdict == DEBUG_FAILED)
		debuginfod_library_forget_miss(job->build_id, job->build_id_len, section);
	free(found);
	atomic_fetch_add(&transfer->session->steps, verdict != DEBUG_CUT_OFF);
	return verdict;
}

/* ---- a part ---- */

/* Sections do not say of which file they are; the note that does is one, too. */
static enum debug_verdict check_sections(struct transfer *transfer, int *errnum)
{
	CLEANUP_FREE char *note = NULL;
	enum debug_verdict verdict = fetch(transfer, ".note.gnu.build-id", &note, errnum);
	if (verdict == DEBUG_UNKNOWN || verdict == DEBUG_UNKNOWN_BEFORE)
		return DEBUG_UNVERIFIABLE;
	if (verdict != DEBUG_ACCEPTED)
		return verdict;
	const struct job *job = transfer->job;
	return symbol_sections_has_build_id(note, job->build_id, job->build_id_len)
		       ? DEBUG_ACCEPTED
		       : DEBUG_OTHER_BUILD;
}

static void fetch_sections(
	struct transfer *transfer, enum debuginfod_part part, struct debuginfod_answer *answer)
{
	/* Older DWARF has no .debug_line_str, and .debug_str is seldom needed for lines. */
	size_t nr_needed = part == DEBUGINFOD_PART_NAMES ? 2 : 1;
	for (size_t i = 0; i < DEBUGINFOD_FILES_MAX && sections[part][i]; i++) {
		char *path = NULL;
		enum debug_verdict verdict =
			fetch(transfer, sections[part][i], &path, &answer->errnum);
		answer->files[i] = path;
		if (i < nr_needed && verdict != DEBUG_ACCEPTED) {
			answer->verdict = verdict;
			return;
		}
	}
	answer->verdict = check_sections(transfer, &answer->errnum);
}

static void fetch_part(
	struct transfer *transfer, enum debuginfod_part part, struct debuginfod_answer *answer)
{
	if (part == DEBUGINFOD_PART_WHOLE) {
		char *path = NULL;
		answer->verdict = fetch(transfer, NULL, &path, &answer->errnum);
		answer->files[0] = path;
	} else {
		fetch_sections(transfer, part, answer);
	}
}

/* ---- threads ---- */

static void release(struct debuginfod *session)
{
	if (atomic_fetch_sub(&session->owners, 1) != 1)
		return;
	vec_each(&session->jobs, job) {
		for (size_t part = 0; part < DEBUGINFOD_PART_COUNT; part++)
			for (size_t i = 0; i < DEBUGINFOD_FILES_MAX; i++)
				mem_free((void *)(*job)->answers[part].files[i]);
		mem_free(*job);
	}
	vec_deinit(&session->jobs);
	pthread_cond_destroy(&session->changed);
	pthread_mutex_destroy(&session->lock);
	mem_close_fd(&session->memo);
	mem_free(session->urls);
	mem_free(session);
}

/* The next part to be fetched: names of all objects before more of any. NULL: none is left. */
static struct job *next_job(struct debuginfod *session, enum debuginfod_part *part)
{
	for (*part = 0; *part < DEBUGINFOD_PART_COUNT; (*part)++)
		vec_each(&session->jobs, job)
			if (!(*job)->is_busy && (*job)->is_open[*part])
				return *job;
	return NULL;
}

static struct debuginfod_question question_of(
	const struct debuginfod *session, const struct job *job, enum debuginfod_part part)
{
	static const char *const names[] = {
		[DEBUGINFOD_PART_NAMES] = "names",
		[DEBUGINFOD_PART_LINES] = "lines",
		[DEBUGINFOD_PART_WHOLE] = "whole",
	};
	return (struct debuginfod_question){
		session->urls, names[part], job->build_id, job->build_id_len};
}

/* Under the lock, which is not held meanwhile. */
static void run_job(struct debuginfod *session, struct transfer *transfer, struct job *job,
	enum debuginfod_part part)
{
	struct debuginfod_answer answer = {.is_wanted = true, .verdict = DEBUG_UNKNOWN};
	job->is_busy = true;
	transfer->job = job;
	transfer->bytes_max =
		job->answers[DEBUGINFOD_PART_WHOLE].is_wanted && session->library.find_section
			? LONG_MAX
			: INSTEAD_MAX;
	pthread_mutex_unlock(&session->lock);
	fetch_part(transfer, part, &answer);
	if (answer.verdict == DEBUG_UNKNOWN) {
		struct debuginfod_question question = question_of(session, job, part);
		debuginfod_memo_add(session->memo, &question);
	}
	pthread_mutex_lock(&session->lock);
	job->answers[part] = answer;
	job->is_open[part] = job->is_busy = false;
	pthread_cond_broadcast(&session->changed);
}

static void *run_thread(void *context)
{
	struct debuginfod *session = context;
	struct transfer transfer = {.session = session, .client = session->library.begin()};
	if (transfer.client)
		session->library.set_progressfn(transfer.client, on_progress);
	pthread_mutex_lock(&session->lock);
	enum debuginfod_part part;
	struct job *job;
	while (transfer.client && !atomic_load(&session->is_over) &&
		(job = next_job(session, &part)))
		run_job(session, &transfer, job, part);
	session->nr_threads--;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
	if (transfer.client)
		session->library.end(transfer.client);
	release(session);
	return NULL;
}

/* Under the lock. Signals are for the threads that were there before. */
static void start_thread(struct debuginfod *session)
{
	pthread_t thread;
	sigset_t all, before;
	if (session->nr_threads >= THREADS_MAX)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	session->nr_threads++;
	atomic_fetch_add(&session->owners, 1);
	if (pthread_create(&thread, NULL, run_thread, session)) {
		session->nr_threads--;
		atomic_fetch_sub(&session->owners, 1);
	} else {
		pthread_detach(thread); /* a library that hangs must not hang the report */
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the caller's side ---- */

struct debuginfod *debuginfod_create(const struct debuginfod_options *options)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	if (options->mode == DEBUGINFOD_OFF || !urls || !urls[strspn(urls, " \t\n")])
		return NULL;
	struct debuginfod *session = mem_zalloc(sizeof(*session));
	session->options = *options;
	session->urls = mem_strdup(urls);
	session->is_ready = debuginfod_library_load(&session->library);
	session->memo = session->is_ready ? debuginfod_memo_open() : -1;
	session->budget_ns = patience_ns;
	atomic_store(&session->owners, 1);
	pthread_mutex_init(&session->lock, NULL);
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&session->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	return session;
}

enum debuginfod_mode debuginfod_mode(const struct debuginfod *session)
{
	return session->options.mode;
}

const char *debuginfod_urls(const struct debuginfod *session)
{
	return session->urls;
}

bool debuginfod_is_possible(void)
{
	return debuginfod_library_is_possible();
}

bool debuginfod_is_ready(const struct debuginfod *session)
{
	return session->is_ready;
}

static struct job *find_job(const struct debuginfod *session, const uint8_t *build_id, size_t len)
{
	vec_each(&session->jobs, job)
		if ((*job)->build_id_len == len && memcmp((*job)->build_id, build_id, len) == 0)
			return *job;
	return NULL;
}

static struct job *add_job(struct debuginfod *session, const uint8_t *build_id, size_t len)
{
	struct job *job = mem_zalloc(sizeof(*job));
	memcpy(job->build_id, build_id, len);
	job->build_id_len = len;
	vec_push(&session->jobs, job);
	return job;
}

/* Under the lock. */
static void open_part(struct debuginfod *session, struct job *job, enum debuginfod_part part)
{
	struct debuginfod_answer *answer = &job->answers[part];
	if (answer->is_wanted)
		return;
	*answer = (struct debuginfod_answer){.is_wanted = true, .verdict = DEBUG_CUT_OFF};
	struct debuginfod_question question = question_of(session, job, part);
	if (!session->is_ready)
		answer->verdict = DEBUG_NO_LIBRARY;
	else if (debuginfod_memo_has(session->memo, &question))
		answer->verdict = DEBUG_UNKNOWN_BEFORE;
	else
		job->is_open[part] = true;
}

void debuginfod_fetch(struct debuginfod *session, const struct debuginfod_want *want)
{
	size_t len = want->build_id_len;
	if (!len || len > ELF_BUILD_ID_MAX || atomic_load(&session->is_over))
		return;
	pthread_mutex_lock(&session->lock);
	struct job *job = find_job(session, want->build_id, len);
	if (!job)
		job = add_job(session, want->build_id, len);
	bool gives_parts = session->library.find_section != NULL;
	for (size_t part = 0; part < DEBUGINFOD_PART_COUNT; part++)
		if (want->parts[part])
			open_part(session, job, gives_parts ? part : DEBUGINFOD_PART_WHOLE);
	bool is_open = false;
	for (size_t part = 0; part < DEBUGINFOD_PART_COUNT; part++)
		is_open |= job->is_open[part];
	if (is_open)
		start_thread(session);
	pthread_mutex_unlock(&session->lock);
}

static bool is_done(const struct job *job)
{
	for (size_t part = 0; part < DEBUGINFOD_PART_COUNT; part++)
		if (job->is_open[part])
			return false;
	return true;
}

/* Under the lock. */
static struct debuginfod_progress measure(struct debuginfod *session)
{
	struct debuginfod_progress progress = {
		.nr_wanted = session->jobs.len, .bytes = atomic_load(&session->bytes)};
	vec_each(&session->jobs, job) {
		bool is_cut_off = false, is_failed = false;
		for (size_t part = 0; part < DEBUGINFOD_PART_COUNT; part++) {
			const struct debuginfod_answer *answer = &(*job)->answers[part];
			is_cut_off |= answer->is_wanted && answer->verdict == DEBUG_CUT_OFF;
			is_failed |= answer->is_wanted && answer->verdict == DEBUG_FAILED;
			progress.errnum = answer->errnum ? answer->errnum : progress.errnum;
		}
		progress.nr_done += is_done(*job);
		progress.nr_unfinished += is_cut_off;
		progress.nr_failed += is_failed;
	}
	return progress;
}

static void tell_progress(struct debuginfod *session)
{
	struct debuginfod_progress progress = measure(session);
	if (session->options.progress)
		session->options.progress(session->options.context, &progress);
}

/* Under the lock; at most until the next look, or until something has changed. */
static void wait_for_change(struct debuginfod *session, int64_t at_most_ns)
{
	int64_t until = now_ns() + (at_most_ns < LOOK_NS ? at_most_ns : LOOK_NS);
	struct timespec deadline = {until / NS_PER_S, until % NS_PER_S};
	pthread_cond_timedwait(&session->changed, &session->lock, &deadline);
}

/* Under the lock. Who asked for a tier by name waits as long as something comes. */
static void wait_for_job(struct debuginfod *session, const struct job *job)
{
	unsigned long long steps = atomic_load(&session->steps);
	while (!is_done(job) && session->nr_threads && !atomic_load(&session->is_over)) {
		int64_t began = now_ns();
		wait_for_change(session, session->budget_ns);
		session->budget_ns -= now_ns() - began;
		tell_progress(session);
		unsigned long long steps_now = atomic_load(&session->steps);
		if (steps_now != steps && session->options.mode != DEBUGINFOD_AUTO)
			session->budget_ns = patience_ns;
		steps = steps_now;
		if (session->budget_ns <= 0)
			atomic_store(&session->is_over, true);
	}
}

void debuginfod_wait(struct debuginfod *session, const uint8_t *build_id, size_t len,
	struct debuginfod_answer answers[DEBUGINFOD_PART_COUNT])
{
	memset(answers, 0, DEBUGINFOD_PART_COUNT * sizeof(*answers));
	pthread_mutex_lock(&session->lock);
	struct job *job = find_job(session, build_id, len);
	if (job) {
		wait_for_job(session, job);
		memcpy(answers, job->answers, sizeof(job->answers));
	}
	pthread_mutex_unlock(&session->lock);
}

struct debuginfod_progress debuginfod_destroy(struct debuginfod *session)
{
	atomic_store(&session->is_over, true);
	pthread_mutex_lock(&session->lock);
	for (int64_t left_ns = farewell_ns; session->nr_threads && left_ns > 0;) {
		int64_t began = now_ns();
		wait_for_change(session, left_ns);
		left_ns -= now_ns() - began;
	}
	struct debuginfod_progress progress = measure(session);
	pthread_mutex_unlock(&session->lock);
	release(session);
	return progress;
}
