#include "report/name/debugfile/debuginfod.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/elf/elf_file.h"
#include "report/name/debugfile/debuginfod_library.h"
#include "report/name/debugfile/debuginfod_memo.h"
#include "report/name/debugfile/debuginfod_transfer.h"
#include "report/name/debugfile/debuginfod_unfinished.h"
#include "report/name/symbol/symbol_sections.h"

enum {
	THREADS_MAX = 8,
	/* What is taken whole for the sake of a part, from servers that give no parts. */
	INSTEAD_MAX = 16 << 20,
	LOOK_NS = 200 * 1000 * 1000,
};

static const int64_t patience_ns = DEBUGINFOD_PATIENCE_S * (int64_t)NS_PER_S;
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
	bool is_busy, wants_whole;
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
	int64_t budget_ns;             /* how long may still be waited */
	unsigned long long seen_steps; /* of the meter, when it was waited a moment */

	struct debuginfod_meter meter; /* what transfers report and read */
};

/* ---- a part ---- */

/* Sections do not say of which file they are; the note that does is one, too. */
static enum debug_verdict check_sections(struct debuginfod_transfer *transfer, int *errnum)
{
	CLEANUP_FREE char *note = NULL;
	enum debug_verdict verdict =
		debuginfod_transfer_fetch(transfer, ".note.gnu.build-id", &note, errnum);
	if (verdict == DEBUG_UNKNOWN || verdict == DEBUG_UNKNOWN_BEFORE)
		return DEBUG_UNVERIFIABLE;
	if (verdict != DEBUG_ACCEPTED)
		return verdict;
	return symbol_sections_has_build_id(note, transfer->build_id, transfer->build_id_len)
		       ? DEBUG_ACCEPTED
		       : DEBUG_OTHER_BUILD;
}

static void fetch_sections(struct debuginfod_transfer *transfer, enum debuginfod_part part,
	struct debuginfod_answer *answer)
{
	/* Older DWARF has no .debug_line_str, and .debug_str is seldom needed for lines. */
	size_t nr_needed = part == DEBUGINFOD_PART_NAMES ? 2 : 1;
	for (size_t i = 0; i < DEBUGINFOD_FILES_MAX && sections[part][i]; i++) {
		char *path = NULL;
		enum debug_verdict verdict = debuginfod_transfer_fetch(
			transfer, sections[part][i], &path, &answer->errnum);
		answer->files[i] = path;
		if (i < nr_needed && verdict != DEBUG_ACCEPTED) {
			answer->verdict = verdict;
			return;
		}
	}
	answer->verdict = check_sections(transfer, &answer->errnum);
}

static void fetch_part(struct debuginfod_transfer *transfer, enum debuginfod_part part,
	struct debuginfod_answer *answer)
{
	if (part == DEBUGINFOD_PART_WHOLE) {
		char *path = NULL;
		answer->verdict = debuginfod_transfer_fetch(transfer, NULL, &path, &answer->errnum);
		answer->files[0] = path;
	} else {
		fetch_sections(transfer, part, answer);
	}
}

/* ---- threads ---- */

static void debuginfod_release(struct debuginfod *session)
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
static void debuginfod_run_job(struct debuginfod *session, struct debuginfod_transfer *transfer,
	struct job *job, enum debuginfod_part part)
{
	struct debuginfod_answer answer = {.is_wanted = true, .verdict = DEBUG_UNKNOWN};
	job->is_busy = true;
	transfer->build_id = job->build_id;
	transfer->build_id_len = job->build_id_len;
	transfer->bytes_max = job->wants_whole ? LONG_MAX : INSTEAD_MAX;
	pthread_mutex_unlock(&session->lock);
	fetch_part(transfer, part, &answer);
	/* A server that was out of order for a minute is asked again later. */
	if (answer.verdict == DEBUG_UNKNOWN && transfer->is_certain) {
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
	struct debuginfod_transfer transfer = {
		.library = &session->library, .meter = &session->meter};
	bool is_ready = debuginfod_transfer_init(&transfer);
	pthread_mutex_lock(&session->lock);
	enum debuginfod_part part;
	struct job *job;
	while (is_ready && !atomic_load(&session->meter.is_over) &&
		(job = next_job(session, &part)))
		debuginfod_run_job(session, &transfer, job, part);
	session->nr_threads--;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
	debuginfod_transfer_deinit(&transfer);
	debuginfod_release(session);
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

bool debuginfod_has_servers(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	return urls && urls[strspn(urls, " \t\n")];
}

struct debuginfod *debuginfod_create(const struct debuginfod_options *options)
{
	if (options->mode == DEBUGINFOD_OFF || !debuginfod_has_servers())
		return NULL;
	struct debuginfod *session = mem_zalloc(sizeof(*session));
	session->options = *options;
	session->urls = mem_strdup(getenv("DEBUGINFOD_URLS"));
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
	bool is_wanted = false;
	for (size_t part = 0; part < DEBUGINFOD_PART_COUNT; part++)
		is_wanted |= want->parts[part];
	if (!is_wanted || !len || len > ELF_BUILD_ID_MAX || atomic_load(&session->meter.is_over))
		return;
	pthread_mutex_lock(&session->lock);
	struct job *job = find_job(session, want->build_id, len);
	if (!job)
		job = add_job(session, want->build_id, len);
	bool gives_parts = session->library.find_section != NULL;
	for (size_t part = 0; part < DEBUGINFOD_PART_COUNT; part++)
		if (want->parts[part])
			open_part(session, job, gives_parts ? part : DEBUGINFOD_PART_WHOLE);
	job->wants_whole |= want->parts[DEBUGINFOD_PART_WHOLE];
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
static struct debuginfod_progress debuginfod_measure(struct debuginfod *session)
{
	struct debuginfod_progress progress = {
		.nr_wanted = session->jobs.len, .bytes = atomic_load(&session->meter.bytes)};
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
	struct debuginfod_progress progress = debuginfod_measure(session);
	if (session->options.progress)
		session->options.progress(session->options.context, &progress);
}

/* Under the lock; at most until the next look, or until something has changed. */
static void wait_for_change(struct debuginfod *session, int64_t at_most_ns)
{
	int64_t until = (int64_t)clock_now_ns() + (at_most_ns < LOOK_NS ? at_most_ns : LOOK_NS);
	struct timespec deadline = {until / NS_PER_S, until % NS_PER_S};
	pthread_cond_timedwait(&session->changed, &session->lock, &deadline);
}

static bool is_waiting(struct debuginfod *session, const struct job *job)
{
	return !is_done(job) && session->nr_threads && !atomic_load(&session->meter.is_over);
}

/* Under the lock. Who asked for a tier by name waits as long as something comes. */
static void wait_once(struct debuginfod *session, unsigned long long *steps)
{
	int64_t began = (int64_t)clock_now_ns();
	wait_for_change(session, session->budget_ns);
	session->budget_ns -= (int64_t)clock_now_ns() - began;
	tell_progress(session);
	unsigned long long steps_now = atomic_load(&session->meter.steps);
	bool is_patient =
		session->options.mode != DEBUGINFOD_AUTO || session->options.is_background;
	if (steps_now != *steps && is_patient)
		session->budget_ns = patience_ns;
	*steps = steps_now;
	if (session->budget_ns <= 0)
		atomic_store(&session->meter.is_over, true);
}

void debuginfod_wait(struct debuginfod *session, const uint8_t *build_id, size_t len,
	struct debuginfod_answer answers[DEBUGINFOD_PART_COUNT])
{
	memset(answers, 0, DEBUGINFOD_PART_COUNT * sizeof(*answers));
	pthread_mutex_lock(&session->lock);
	struct job *job = find_job(session, build_id, len);
	unsigned long long steps = atomic_load(&session->meter.steps);
	while (job && is_waiting(session, job))
		wait_once(session, &steps);
	if (job)
		memcpy(answers, job->answers, sizeof(job->answers));
	pthread_mutex_unlock(&session->lock);
}

bool debuginfod_is_done(struct debuginfod *session, const uint8_t *build_id, size_t len)
{
	pthread_mutex_lock(&session->lock);
	const struct job *job = find_job(session, build_id, len);
	bool is_there = !job || !is_waiting(session, job);
	pthread_mutex_unlock(&session->lock);
	return is_there;
}

void debuginfod_wait_a_moment(struct debuginfod *session)
{
	pthread_mutex_lock(&session->lock);
	wait_once(session, &session->seen_steps);
	pthread_mutex_unlock(&session->lock);
}

void debuginfod_cancel(struct debuginfod *session)
{
	atomic_store(&session->meter.is_over, true);
	pthread_mutex_lock(&session->lock);
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
}

struct debuginfod_progress debuginfod_destroy(struct debuginfod *session)
{
	atomic_store(&session->meter.is_over, true);
	pthread_mutex_lock(&session->lock);
	int64_t left_ns = session->options.is_background ? 0 : farewell_ns;
	while (session->nr_threads && left_ns > 0) {
		int64_t began = (int64_t)clock_now_ns();
		wait_for_change(session, left_ns);
		left_ns -= (int64_t)clock_now_ns() - began;
	}
	struct debuginfod_progress progress = debuginfod_measure(session);
	progress.has_threads = session->nr_threads;
	if (progress.has_threads) /* and they will not end before the process */
		debuginfod_unfinished_remove();
	pthread_mutex_unlock(&session->lock);
	debuginfod_release(session);
	return progress;
}
