#include "report/name/debugfile/debuginfod_transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "report/name/debugfile/debuginfod_unfinished.h"

enum {
	/* A server that drips its bytes makes no progress: 6.4 KB/s is the least that counts. */
	PROGRESS_BYTES = 64 << 10,
	LOG_MAX = 64 << 10,
	/* What is packed tighter is no debug information: gzip makes that 3 to 10 times smaller. */
	MAX_RATIO = 100,
};

/* A browser's debug file has 4 GB; of sections no reader takes more. */
static const long file_bytes_max = 16L << 30, section_bytes_max = 1L << 30;
/* What came is kept on disk, which others need, too. */
static const uint64_t spare_bytes = 64 << 20;
/* Below, any ratio of compression is taken. */
static const uint64_t bomb_bytes = 64 << 20;

static const int64_t patience_ns = DEBUGINFOD_PATIENCE_S * (int64_t)NS_PER_S;

static void count_bytes(struct debuginfod_transfer *transfer, long bytes, int64_t now)
{
	if (bytes > transfer->seen_bytes)
		atomic_fetch_add(&transfer->meter->bytes,
			(unsigned long long)(bytes - transfer->seen_bytes));
	transfer->seen_bytes = bytes;
	/* The next file of the same question begins at 0 again. */
	if (bytes >= transfer->mark_bytes && bytes - transfer->mark_bytes < PROGRESS_BYTES)
		return;
	transfer->mark_bytes = bytes;
	transfer->mark_ns = now;
	atomic_fetch_add(&transfer->meter->steps, 1);
}

static bool is_bomb(uint64_t unpacked, uint64_t sent)
{
	return unpacked > bomb_bytes && unpacked / MAX_RATIO > sent;
}

static bool lacks_room(long done, long whole, long unpacked)
{
	uint64_t room = debuginfod_library_room();
	uint64_t missing = whole > done ? (uint64_t)(whole - done) : 0;
	bool is_large = unpacked > (long)spare_bytes;
	return missing > room || (is_large && room < spare_bytes);
}

/* Why what a server sends is not wanted any more. `done` and `whole` count what is sent, packed. */
static enum debug_verdict judge_size(
	const struct debuginfod_transfer *transfer, bool is_whole, long done, long whole)
{
	long unpacked =
		(long)debuginfod_unfinished_bytes(transfer->build_id, transfer->build_id_len);
	if (unpacked < done)
		unpacked = done;
	long size = whole > unpacked ? whole : unpacked;
	if (is_bomb((uint64_t)unpacked, (uint64_t)done))
		return DEBUG_BOMB;
	if (size > (is_whole ? file_bytes_max : section_bytes_max))
		return DEBUG_ENDLESS;
	if (is_whole && size > transfer->bytes_max)
		return DEBUG_TOO_LARGE;
	return lacks_room(done, whole, unpacked) ? DEBUG_FAILED : DEBUG_ACCEPTED;
}

/*
 * Called about once a second while a query runs. Before a server has answered, `done` counts the
 * calls, and there is no address; `whole` is 0 or -1 where the server does not say it.
 * Not 0 ends the query.
 */
static int debuginfod_transfer_look_at(struct debuginfod_transfer *transfer, long done, long whole)
{
	const char *url = transfer->library->get_url(transfer->client);
	int64_t now = (int64_t)clock_now_ns();
	transfer->is_asked = true;
	transfer->is_answered |= url != NULL;
	if (url) {
		count_bytes(transfer, done, now);
		transfer->cut = judge_size(transfer, !strstr(url, "/section/"), done, whole);
	}
	bool is_over = atomic_load(&transfer->meter->is_over);
	if (transfer->cut == DEBUG_ACCEPTED && (is_over || now - transfer->mark_ns > patience_ns))
		transfer->cut = DEBUG_CUT_OFF;
	return transfer->cut != DEBUG_ACCEPTED;
}

/* The library's functions are found at run time, and it hands back nothing but its client. */
static _Thread_local struct debuginfod_transfer *current;

static int debuginfod_transfer_on_progress(struct debuginfod_client *client, long done, long whole)
{
	(void)client;
	return debuginfod_transfer_look_at(current, done, whole);
}

/* ---- what servers answered ---- */

static void count_announced(uint64_t bytes, struct debuginfod_replies *replies)
{
	if (bytes > replies->content_bytes)
		replies->content_bytes = bytes;
}

static void read_log_line(const char *line, struct debuginfod_replies *replies)
{
	unsigned status = 0;
	if (strncmp(line, "checking build-id", 17) == 0) /* the next query, maybe of another part */
		*replies = (struct debuginfod_replies){0};
	else if (strncmp(line, "init server ", 12) == 0)
		replies->asked++;
	else if (strncasecmp(line, "header content-length:", 22) == 0)
		count_announced(strtoull(line + 22, NULL, 10), replies);
	else if (strncasecmp(line, "header transfer-encoding:", 25) == 0)
		replies->is_chunked = true;
	else if (sscanf(line, "header HTTP/%*[0-9.] %3u", &status) != 1)
		return;
	/* Not found, gone; what is below are redirections. */
	bool is_unknown = status == 404 || status == 410;
	replies->unknown += is_unknown;
	replies->is_refused |= status >= 400 && !is_unknown;
}

/*
 * The library says "no such file" for every status that means failure; only in what it tells
 * those who debug it can they be told apart. Source: elfutils 0.188, debuginfod-client.c.
 */
struct debuginfod_replies debuginfod_transfer_read_log(const char *log)
{
	struct debuginfod_replies replies = {0};
	while (*log) {
		size_t len = strcspn(log, "\n");
		read_log_line(log, &replies);
		log += len + (log[len] != 0);
	}
	if (replies.is_chunked) /* RFC 9112, section 6.3: then a length means nothing */
		replies.content_bytes = 0;
	return replies;
}

static struct debuginfod_replies take_replies(const struct debuginfod_transfer *transfer)
{
	CLEANUP_FREE char *log = mem_zalloc(LOG_MAX + 1);
	if (transfer->log < 0 || pread(transfer->log, log, LOG_MAX, 0) <= 0)
		return (struct debuginfod_replies){0};
	return debuginfod_transfer_read_log(log);
}

static void begin_log(const struct debuginfod_transfer *transfer)
{
	if (transfer->log >= 0 && ftruncate(transfer->log, 0) == 0)
		lseek(transfer->log, 0, SEEK_SET);
}

/* Users who want to see it all get it. */
static int open_log(const struct debuginfod_library *library, struct debuginfod_client *client)
{
	if (!library->set_verbose_fd || getenv("DEBUGINFOD_VERBOSE"))
		return -1;
	int log = memfd_create("ebprof-debuginfod", MFD_CLOEXEC);
	if (log >= 0)
		library->set_verbose_fd(client, log);
	return log;
}

/* ---- questions ---- */

/* The library says that there is nothing, which does not mean that a server said so. */
static enum debug_verdict judge_absence(struct debuginfod_transfer *transfer, int *errnum)
{
	struct debuginfod_replies replies = take_replies(transfer);
	transfer->is_certain = replies.asked && replies.unknown == replies.asked;
	if (replies.is_refused || (replies.asked && !replies.unknown)) {
		*errnum = replies.is_refused ? EREMOTEIO : EPROTO;
		return DEBUG_FAILED;
	}
	return transfer->is_asked ? DEBUG_UNKNOWN : DEBUG_UNKNOWN_BEFORE;
}

/* What a query of the library means; *errnum for DEBUG_FAILED. */
static enum debug_verdict debuginfod_transfer_judge(
	struct debuginfod_transfer *transfer, int result, int *errnum)
{
	if (result >= 0)
		return DEBUG_ACCEPTED;
	if (transfer->cut != DEBUG_ACCEPTED) {
		*errnum = transfer->cut == DEBUG_FAILED ? ENOSPC : *errnum;
		return transfer->cut;
	}
	if (result == -ETIME)
		return DEBUG_CUT_OFF;
	/* It also says so when a server broke off in the middle. */
	bool is_broken = result == -ENOENT && transfer->is_answered;
	/* EEXIST: it got no section, and asked for the whole files in vain. */
	if ((result != -ENOENT && result != -EEXIST) || is_broken) {
		*errnum = is_broken ? ECONNRESET : -result;
		return DEBUG_FAILED;
	}
	return judge_absence(transfer, errnum);
}

/* Whether the same question would get the same answer for some time. */
static bool is_lasting(const struct debuginfod_transfer *transfer, enum debug_verdict verdict)
{
	return verdict == DEBUG_ACCEPTED || verdict == DEBUG_UNKNOWN_BEFORE ||
	       (verdict == DEBUG_UNKNOWN && (transfer->is_certain || transfer->log < 0));
}

/* It may have been there before the library called for the first time. */
static enum debug_verdict judge_file(const struct debuginfod_transfer *transfer, const char *path)
{
	struct debuginfod_replies replies = take_replies(transfer);
	uint64_t seen_bytes = (uint64_t)transfer->seen_bytes;
	bool is_fetched = replies.asked || transfer->is_answered; /* else it was in the cache */
	uint64_t sent = replies.content_bytes > seen_bytes ? replies.content_bytes : seen_bytes;
	struct stat st;
	if (!is_fetched || stat(path, &st) || !is_bomb((uint64_t)st.st_size, sent))
		return DEBUG_ACCEPTED;
	unlink(path);
	return DEBUG_BOMB;
}

enum debug_verdict debuginfod_transfer_fetch(
	struct debuginfod_transfer *transfer, const char *section, char **path, int *errnum)
{
	const struct debuginfod_library *library = transfer->library;
	int len = (int)transfer->build_id_len;
	char *found = NULL;
	transfer->mark_bytes = transfer->seen_bytes = 0;
	transfer->mark_ns = (int64_t)clock_now_ns();
	transfer->is_asked = transfer->is_answered = transfer->is_certain = false;
	begin_log(transfer);
	transfer->cut = DEBUG_ACCEPTED;
	current = transfer;
	int fd = section ? library->find_section(
				   transfer->client, transfer->build_id, len, section, &found)
			 : library->find_debuginfo(
				   transfer->client, transfer->build_id, len, &found);
	enum debug_verdict verdict = debuginfod_transfer_judge(transfer, fd, errnum);
	if (fd >= 0)
		close(fd);
	if (verdict == DEBUG_ACCEPTED && found)
		verdict = judge_file(transfer, found);
	if (verdict == DEBUG_ACCEPTED && found)
		*path = mem_strdup(found);
	else if (verdict == DEBUG_ACCEPTED)
		verdict = DEBUG_ABSENT;
	if (!is_lasting(transfer, verdict))
		debuginfod_library_forget_miss(transfer->build_id, transfer->build_id_len, section);
	free(found);
	atomic_fetch_add(&transfer->meter->steps, verdict != DEBUG_CUT_OFF);
	return verdict;
}

bool debuginfod_transfer_init(struct debuginfod_transfer *transfer)
{
	transfer->client = transfer->library->begin();
	transfer->log = -1;
	if (!transfer->client)
		return false;
	transfer->library->set_progressfn(transfer->client, debuginfod_transfer_on_progress);
	transfer->log = open_log(transfer->library, transfer->client);
	return true;
}

void debuginfod_transfer_deinit(struct debuginfod_transfer *transfer)
{
	if (transfer->client)
		transfer->library->end(transfer->client);
	transfer->client = NULL;
	mem_close_fd(&transfer->log);
}
