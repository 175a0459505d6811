#include "report/name/debugfile/debuginfod_memo.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/cache.h"
#include "format/base/hex.h"
#include "format/base/mem.h"
#include "format/base/str.h"

static const char suffix[] = ".unknown";

static bool is_fresh(const struct stat *st, time_t now)
{
	return st->st_mtime <= now && now - st->st_mtime < DEBUGINFOD_MEMO_SECONDS;
}

static void remove_old_files(int memo)
{
	int fd = openat(memo, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder) {
		mem_close_fd(&fd);
		return;
	}
	time_t now = time(NULL);
	for (struct dirent *entry; (entry = readdir(folder));) {
		struct stat st;
		const char *end = strrchr(entry->d_name, '.');
		if (end && strcmp(end, suffix) == 0 &&
			fstatat(memo, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode) && !is_fresh(&st, now))
			unlinkat(memo, entry->d_name, 0);
	}
	closedir(folder);
}

int debuginfod_memo_open(void)
{
	int fd = -1;
	struct err *err = cache_folder_open("debuginfod", &fd);
	if (!err)
		remove_old_files(fd);
	err_destroy(err); /* then nothing is remembered */
	return fd;
}

/* FNV-1a: other servers may know what these did not. */
static uint64_t debuginfod_memo_hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3;
	return hash;
}

static void debuginfod_memo_put_name(struct str *name, const struct debuginfod_question *question)
{
	hex_put(name, question->build_id, question->build_id_len);
	str_printf(name, "-%016llx-%s%s",
		(unsigned long long)debuginfod_memo_hash_of(question->urls), question->part,
		suffix);
}

bool debuginfod_memo_has(int memo, const struct debuginfod_question *question)
{
	CLEANUP(str_deinit) struct str name = {0};
	struct stat st;
	debuginfod_memo_put_name(&name, question);
	return memo >= 0 && fstatat(memo, str_text(&name), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && is_fresh(&st, time(NULL));
}

void debuginfod_memo_add(int memo, const struct debuginfod_question *question)
{
	CLEANUP(str_deinit) struct str name = {0};
	debuginfod_memo_put_name(&name, question);
	if (memo < 0)
		return;
	CLEANUP_FD int fd = openat(memo, str_text(&name),
		O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd >= 0)
		futimens(fd, NULL); /* now */
}
