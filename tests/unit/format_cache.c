/* Folders of what can be made again: limits, and nothing that is damaged or another user's. */
#include "format/base/cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "tests/unit/unit.h"

enum {
	FIRST_PIECE = 10, /* entries are read in the pieces in which they were stored */
};

#define CONTENT "what was found out with some effort, and more than eight words of it"

struct folder {
	char path[64];
	struct cache *cache;
};

static void open_cache(struct folder *folder, uint64_t max_bytes)
{
	struct cache_options options = {
		.kind = "unit", .folder = folder->path, .max_bytes = max_bytes};
	cache_close(folder->cache);
	CHECK_OK(cache_open(&options, &folder->cache));
}

static struct folder folder_make(void)
{
	struct folder folder = {.path = "cache-XXXXXX"};
	CHECK(mkdtemp(folder.path));
	open_cache(&folder, 0);
	return folder;
}

static const char *path_of(const struct folder *folder, const char *file)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", folder->path, file);
	return path;
}

static void folder_remove(struct folder *folder, const char *const *files)
{
	cache_close(folder->cache);
	for (; *files; files++)
		unlink(path_of(folder, *files));
	CHECK_INT(rmdir(folder->path), 0); /* so nothing else was left in it */
}

static void store(const struct folder *folder, const char *name)
{
	const struct cache_piece pieces[] = {
		{CONTENT, FIRST_PIECE}, {CONTENT + FIRST_PIECE, sizeof(CONTENT) - FIRST_PIECE}};
	CHECK_OK(cache_store(folder->cache, name, pieces, 2));
}

/* Whether there is a sound entry; one that is not is an error, and never another content. */
static bool load(const struct folder *folder, const char *name, bool *is_refused)
{
	char content[sizeof(CONTENT)] = "";
	struct cache_entry entry;
	struct err *err = cache_entry_open(folder->cache, name, &entry);
	bool is_there = entry.fd >= 0;
	if (!err && is_there)
		err = cache_entry_read(&entry, content, FIRST_PIECE);
	if (!err && is_there)
		err = cache_entry_read(
			&entry, content + FIRST_PIECE, sizeof(content) - FIRST_PIECE);
	if (!err && is_there)
		err = cache_entry_check(&entry);
	cache_entry_close(&entry);
	*is_refused = err;
	err_destroy(err);
	if (*is_refused || !is_there)
		return false;
	CHECK_STR(content, CONTENT);
	return true;
}

static bool is_there(const struct folder *folder, const char *name)
{
	bool is_refused;
	bool is_loaded = load(folder, name, &is_refused);
	CHECK(!is_refused);
	return is_loaded;
}

static void check_refused(const struct folder *folder, const char *name)
{
	bool is_refused;
	CHECK(!load(folder, name, &is_refused) && is_refused);
}

static void set_age(const struct folder *folder, const char *file, time_t seconds)
{
	struct timespec times[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};
	CHECK_INT(utimensat(AT_FDCWD, path_of(folder, file), times, 0), 0);
}

TEST(cache_what_was_unused_for_longest_goes_first)
{
	struct folder folder = folder_make();
	static const char *const names[] = {"aa", "bb", "cc", "dd"};
	for (size_t i = 0; i < 4; i++)
		store(&folder, names[i]);
	set_age(&folder, "aa.unit", 400);
	set_age(&folder, "bb.unit", 4000);
	set_age(&folder, "cc.unit", 40);
	set_age(&folder, "dd.unit", 2000);
	open_cache(&folder, 2 * (sizeof(CONTENT) + 8));
	CHECK(is_there(&folder, "aa") && is_there(&folder, "cc"));
	CHECK(!is_there(&folder, "bb") && !is_there(&folder, "dd"));
	open_cache(&folder, 1);
	CHECK(!is_there(&folder, "aa") && !is_there(&folder, "cc"));
	folder_remove(&folder, (const char *const[]){NULL});
}

/* Not only when it is opened: a recorder may run for months. */
TEST(cache_keeps_its_limit_while_entries_are_stored)
{
	struct folder folder = folder_make();
	enum {
		ENTRIES = 40,
		KEPT = 16,
	};
	char name[3], file[16];
	open_cache(&folder, KEPT * (sizeof(CONTENT) + 8));
	for (int i = 0; i < ENTRIES; i++) {
		snprintf(name, sizeof(name), "%02x", i);
		snprintf(file, sizeof(file), "%02x.unit", i);
		store(&folder, name);
		if (is_there(&folder, name))
			set_age(&folder, file, 1000 - i);
	}
	int kept = 0;
	for (int i = 0; i < ENTRIES; i++) {
		snprintf(name, sizeof(name), "%02x", i);
		bool is_kept = is_there(&folder, name);
		CHECK(is_kept || !kept); /* the oldest ones go */
		kept += is_kept;
	}
	CHECK(kept >= KEPT && kept <= KEPT + KEPT / 8 + 1);
	open_cache(&folder, 1);
	folder_remove(&folder, (const char *const[]){NULL});
}

TEST(cache_old_entries_and_unfinished_ones_go)
{
	struct folder folder = folder_make();
	static const char *const files[] = {
		"00-new", "11.unit-new", "22.unit-new", "33.other", "README", NULL};
	for (size_t i = 0; files[i]; i++)
		close(open(path_of(&folder, files[i]), O_CREAT | O_WRONLY, 0600));
	for (size_t i = 0; files[i]; i++)
		set_age(&folder, files[i], i == 2 ? 60 : 40 * 24 * 3600);
	store(&folder, "aa");
	store(&folder, "bb");
	set_age(&folder, "aa.unit", 40 * 24 * 3600);
	open_cache(&folder, 0);
	CHECK(!is_there(&folder, "aa") && is_there(&folder, "bb"));
	CHECK(access(path_of(&folder, "11.unit-new"), F_OK) != 0);
	CHECK_INT(access(path_of(&folder, "22.unit-new"), F_OK), 0); /* being written */
	/* What is not ours stays. */
	folder_remove(&folder, (const char *const[]){"00-new", "22.unit-new", "33.other", "README",
				       "bb.unit", NULL});
}

/* Replaces the entry by its first `len` bytes, of which bit `flip` is another one. */
static void damage(const struct folder *folder, const char *file, const uint8_t *bytes, size_t len,
	size_t flip)
{
	CLEANUP_FD int fd = open(path_of(folder, file), O_WRONLY | O_TRUNC);
	for (size_t i = 0; i < len; i++) {
		uint8_t byte = bytes[i];
		if (i == flip / 8)
			byte ^= (uint8_t)(1 << flip % 8);
		CHECK_INT(write(fd, &byte, 1), 1);
	}
}

TEST(cache_each_cut_and_each_bit_shows)
{
	struct folder folder = folder_make();
	uint8_t bytes[sizeof(CONTENT) + 8];
	store(&folder, "aa");
	CLEANUP_FD int fd = open(path_of(&folder, "aa.unit"), O_RDONLY);
	CHECK_INT(read(fd, bytes, sizeof(bytes)), sizeof(bytes));
	for (size_t len = 0; len < sizeof(bytes); len++) {
		damage(&folder, "aa.unit", bytes, len, SIZE_MAX);
		check_refused(&folder, "aa");
	}
	for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
		damage(&folder, "aa.unit", bytes, sizeof(bytes), bit);
		check_refused(&folder, "aa");
	}
	store(&folder, "aa");
	CHECK(is_there(&folder, "aa"));
	folder_remove(&folder, (const char *const[]){"aa.unit", NULL});
}

TEST(cache_believes_only_regular_files_of_its_user)
{
	struct folder folder = folder_make();
	store(&folder, "aa");
	CHECK_INT(symlink("aa.unit", path_of(&folder, "bb.unit")), 0);
	CHECK_INT(mkfifo(path_of(&folder, "cc.unit"), 0600), 0);
	check_refused(&folder, "bb");
	check_refused(&folder, "cc");
	CHECK_INT(chmod(path_of(&folder, "aa.unit"), 0622), 0);
	check_refused(&folder, "aa");
	store(&folder, "bb"); /* it replaces the link, not what that leads to */
	CHECK(is_there(&folder, "bb"));
	check_refused(&folder, "aa");
	if (geteuid() == 0) {
		CHECK_INT(chmod(path_of(&folder, "aa.unit"), 0600), 0);
		CHECK_INT(chown(path_of(&folder, "aa.unit"), 65534, 65534), 0);
		check_refused(&folder, "aa");
	}
	folder_remove(&folder, (const char *const[]){"aa.unit", "bb.unit", "cc.unit", NULL});
}

TEST(cache_folders_of_others_are_refused)
{
	struct folder folder = folder_make();
	struct cache_options options = {.kind = "unit", .folder = folder.path};
	struct cache *cache = NULL;
	CHECK_INT(chmod(folder.path, 0777), 0);
	struct err *err = cache_open(&options, &cache);
	CHECK(err && !cache);
	err_destroy(err);
	CHECK_INT(chmod(folder.path, 0700), 0);
	folder_remove(&folder, (const char *const[]){NULL});
}

/* A user's variable that sudo has kept: nothing of root's is left there. */
TEST(cache_of_root_is_in_no_folder_of_a_user)
{
	char home[] = "/tmp/cache-home-XXXXXX", path[64];
	int fd = -1;
	if (geteuid())
		return;
	CHECK(mkdtemp(home));
	CHECK_INT(chown(home, 65534, 65534), 0);
	snprintf(path, sizeof(path), "%s/not/there", home);
	setenv("XDG_CACHE_HOME", path, 1);
	CHECK_OK(cache_folder_open("unit", &fd));
	close(fd);
	CHECK_INT(rmdir(home), 0); /* nothing was made in it */
	rmdir("/var/cache/ebprof/unit");
}
