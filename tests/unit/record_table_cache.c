/* Unwind tables on disk: what is stored is found, and whatever is wrong is not. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/err.h"
#include "format/base/str.h"
#include "record/runtime/runtime.h"
#include "record/unwind/table_cache.h"
#include "record/unwind/unwind_rows.h"
#include "tests/unit/unit.h"

static const uint8_t id[] = {0xde, 0xad, 0xbe, 0xef, 0x01};

struct fixture {
	char folder[64], file[128];
	struct cache *cache;
	struct unwind_table table;
	struct table_inputs inputs;
};

/* Rows over three pages, one of them empty. */
static void make_table(struct unwind_table *table)
{
	struct unwind_rows rows;
	*table = (struct unwind_table){0};
	unwind_rows_init(&rows, table);
	for (uint32_t i = 0; i < 20; i++) {
		struct unwind_rule rule = {.cfa = UNWIND_CFA_REGISTER,
			.cfa_register = 7,
			.cfa_offset = 8 + (int)i % 5 * 8,
			.ra = UNWIND_AT_CFA,
			.ra_offset = -8};
		unwind_rows_put(&rows, 0x5ff0 + i * 4, &rule);
	}
	unwind_rows_put_none(&rows, 0x6100);
	struct unwind_rule last = {
		.cfa = UNWIND_CFA_PLT, .extra = UNWIND_AT_CFA, .extra_offset = -24};
	unwind_rows_put(&rows, 0x8123, &last);
	unwind_rows_put_none(&rows, 0x8200);
	CHECK_OK(unwind_rows_finish(&rows));
	unwind_rows_deinit(&rows);
}

static void setup(struct fixture *fixture)
{
	*fixture = (struct fixture){.folder = "cache.XXXXXX"};
	CHECK(mkdtemp(fixture->folder));
	snprintf(fixture->file, sizeof(fixture->file), "%s/deadbeef01.unwind", fixture->folder);
	CHECK_OK(table_cache_open(fixture->folder, &fixture->cache));
	make_table(&fixture->table);
	memset(fixture->inputs.key, 0x5a, sizeof(fixture->inputs.key));
	fixture->inputs.sum = 0x1122334455667788;
	for (uint64_t i = 0; i < 3; i++)
		vec_push(&fixture->inputs.places, (struct table_place){i * 100, i + 1});
	CHECK_OK(table_cache_store(
		fixture->cache, id, sizeof(id), &fixture->table, &fixture->inputs));
}

static void remove_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(folder);
}

static void teardown(struct fixture *fixture)
{
	cache_close(fixture->cache);
	unwind_table_deinit(&fixture->table);
	table_inputs_deinit(&fixture->inputs);
	remove_folder(fixture->folder);
}

static bool is_found(const struct fixture *fixture, struct unwind_table *table)
{
	bool found;
	struct table_inputs inputs = {0};
	CHECK_OK(table_cache_load(fixture->cache, id, sizeof(id), table, &inputs, &found));
	CHECK_INT(inputs.places.len, found ? fixture->inputs.places.len : 0);
	CHECK(!found || memcmp(inputs.places.data, fixture->inputs.places.data,
				3 * sizeof(*inputs.places.data)) == 0);
	CHECK(!found || inputs.sum == fixture->inputs.sum);
	CHECK(!found || memcmp(inputs.key, fixture->inputs.key, sizeof(inputs.key)) == 0);
	table_inputs_deinit(&inputs);
	return found;
}

static void check_refused(const struct fixture *fixture, int code, const char *why)
{
	struct unwind_table table;
	struct table_inputs inputs;
	bool found = true;
	CHECK_ERR(table_cache_load(fixture->cache, id, sizeof(id), &table, &inputs, &found), code,
		why);
	CHECK(!found);
}

static bool is_equal(const struct unwind_table *a, const struct unwind_table *b)
{
	return a->first_page == b->first_page && a->pages.len == b->pages.len &&
	       a->rows.len == b->rows.len && a->rules.len == b->rules.len &&
	       memcmp(a->pages.data, b->pages.data, a->pages.len * sizeof(*a->pages.data)) == 0 &&
	       memcmp(a->rows.data, b->rows.data, a->rows.len * sizeof(*a->rows.data)) == 0 &&
	       memcmp(a->rules.data, b->rules.data, a->rules.len * sizeof(*a->rules.data)) == 0;
}

TEST(table_cache_gives_back_what_was_stored)
{
	struct fixture fixture;
	struct unwind_table table;
	setup(&fixture);
	CHECK_INT(fixture.table.pages.len, 4);
	CHECK_INT(fixture.table.pages.data[2].count, 0);
	CHECK(is_found(&fixture, &table));
	CHECK(is_equal(&table, &fixture.table));
	CHECK_INT(unwind_table_find(&table, 0x8122)->cfa, UNWIND_CFA_NONE);
	CHECK_INT(unwind_table_find(&table, 0x81ff)->cfa, UNWIND_CFA_PLT);
	CHECK_INT(unwind_table_find(&table, 0x8200)->cfa, UNWIND_CFA_NONE);
	unwind_table_deinit(&table);
	struct stat st;
	CHECK_INT(stat(fixture.file, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0600);
	teardown(&fixture);
}

TEST(table_cache_knows_no_other_name)
{
	struct fixture fixture;
	struct unwind_table table;
	struct table_inputs inputs;
	bool found = true;
	setup(&fixture);
	CHECK_OK(table_cache_load(fixture.cache, id, sizeof(id) - 1, &table, &inputs, &found));
	CHECK(!found);
	CHECK_OK(table_cache_load(fixture.cache, id, 0, &table, &inputs, &found));
	CHECK(!found);
	char other[128];
	snprintf(other, sizeof(other), "%s/deadbeef02.unwind", fixture.folder);
	CHECK_INT(rename(fixture.file, other), 0);
	static const uint8_t id2[] = {0xde, 0xad, 0xbe, 0xef, 0x02};
	CHECK_ERR(table_cache_load(fixture.cache, id2, sizeof(id2), &table, &inputs, &found),
		ERR_FORMAT, "of another name");
	teardown(&fixture);
}

static void write_file(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	CHECK_INT(write(fd, bytes, len), len);
	close(fd);
}

/* Each byte changed, each length: nothing but the whole is taken. */
TEST(table_cache_refuses_damage)
{
	struct fixture fixture;
	setup(&fixture);
	uint8_t bytes[4096];
	int fd = open(fixture.file, O_RDONLY);
	ssize_t len = read(fd, bytes, sizeof(bytes));
	close(fd);
	CHECK(len > 200 && len < (ssize_t)sizeof(bytes));
	for (ssize_t i = 0; i < len; i++) {
		bytes[i] ^= (uint8_t)(1 << i % 8);
		write_file(fixture.file, bytes, (size_t)len);
		check_refused(&fixture, ERR_FORMAT, "");
		bytes[i] ^= (uint8_t)(1 << i % 8);
	}
	for (ssize_t cut = 0; cut < len; cut++) {
		write_file(fixture.file, bytes, (size_t)cut);
		check_refused(&fixture, ERR_FORMAT, "");
	}
	write_file(fixture.file, bytes, (size_t)len + 1);
	check_refused(&fixture, ERR_FORMAT, "length");
	write_file(fixture.file, bytes, (size_t)len);
	struct unwind_table table;
	CHECK(is_found(&fixture, &table));
	unwind_table_deinit(&table);
	teardown(&fixture);
}

TEST(table_cache_refuses_files_of_others)
{
	struct fixture fixture;
	setup(&fixture);
	CHECK_INT(chmod(fixture.file, 0620), 0);
	check_refused(&fixture, ERR_PERMISSION, "writable for others");
	CHECK_INT(chmod(fixture.file, 0602), 0);
	check_refused(&fixture, ERR_PERMISSION, "writable for others");
	CHECK_INT(chmod(fixture.file, 0600), 0);
	if (geteuid() == 0) {
		CHECK_INT(chown(fixture.file, 65534, 65534), 0);
		check_refused(&fixture, ERR_PERMISSION, "owned by another user");
	}
	teardown(&fixture);
}

TEST(table_cache_refuses_what_is_no_file)
{
	struct fixture fixture;
	setup(&fixture);
	char other[128];
	snprintf(other, sizeof(other), "%s/other", fixture.folder);
	CHECK_INT(rename(fixture.file, other), 0);
	CHECK_INT(symlink("other", fixture.file), 0);
	check_refused(&fixture, ERR_IO, "symbolic link");
	CHECK_INT(unlink(fixture.file), 0);
	CHECK_INT(mkfifo(fixture.file, 0600), 0);
	check_refused(&fixture, ERR_PERMISSION, "not a regular file");
	CHECK_INT(unlink(fixture.file), 0);
	struct unwind_table table;
	CHECK(!is_found(&fixture, &table));
	/* Storing replaces the name, whatever it stands for. */
	CHECK_INT(symlink("/dev/null", fixture.file), 0);
	CHECK_OK(table_cache_store(fixture.cache, id, sizeof(id), &fixture.table, &fixture.inputs));
	CHECK(is_found(&fixture, &table));
	unwind_table_deinit(&table);
	teardown(&fixture);
}

TEST(table_cache_refuses_folders_of_others)
{
	struct cache *cache;
	char folder[] = "cache.XXXXXX", link[64];
	CHECK(mkdtemp(folder));
	CHECK_INT(chmod(folder, 0770), 0);
	CHECK_ERR(table_cache_open(folder, &cache), ERR_PERMISSION, "writable for others");
	CHECK_INT(chmod(folder, 0700), 0);
	snprintf(link, sizeof(link), "%s.link", folder);
	CHECK_INT(symlink(folder, link), 0);
	CHECK_ERR(table_cache_open(link, &cache), ERR_IO, "");
	if (geteuid() == 0) {
		CHECK_INT(chown(folder, 65534, 65534), 0);
		CHECK_ERR(
			table_cache_open(folder, &cache), ERR_PERMISSION, "owned by another user");
	}
	unlink(link);
	remove_folder(folder);
	write_file("plain", "", 0);
	CHECK_ERR(table_cache_open("plain", &cache), ERR_IO, "");
	unlink("plain");
}

TEST(table_cache_can_do_without_a_folder)
{
	struct cache *cache;
	struct unwind_table table = {0};
	struct table_inputs inputs = {0};
	bool found = true;
	CHECK_OK(table_cache_open("", &cache));
	CHECK(!cache);
	CHECK_OK(table_cache_store(cache, id, sizeof(id), &table, &inputs));
	CHECK_OK(table_cache_load(cache, id, sizeof(id), &table, &inputs, &found));
	CHECK(!found);
	cache_close(cache);
}

TEST(table_cache_makes_its_folder)
{
	struct cache *cache;
	char base[] = "cache.XXXXXX", path[256], *here = getcwd(NULL, 0);
	struct stat st;
	CHECK(mkdtemp(base));
	snprintf(path, sizeof(path), "%s/%s/deep", here, base);
	CHECK_INT(setenv("XDG_CACHE_HOME", path, 1), 0);
	CHECK_OK(table_cache_open(NULL, &cache));
	cache_close(cache);
	strcat(path, "/ebprof/unwind");
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0700);
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", "relative", 1);
	if (geteuid() != 0)
		CHECK_ERR(table_cache_open(NULL, &cache), ERR_USAGE, "no home");
	for (int i = 0; i < 4; i++) {
		rmdir(path);
		*strrchr(path, '/') = 0;
	}
	free(here);
}

TEST(table_cache_forgets_what_nobody_uses)
{
	struct fixture fixture;
	setup(&fixture);
	char mine[128], unfinished[128];
	snprintf(mine, sizeof(mine), "%s/letter", fixture.folder);
	snprintf(unfinished, sizeof(unfinished), "%s/0123456789abcdef.unwind-new", fixture.folder);
	write_file(mine, "", 0);
	write_file(unfinished, "", 0);
	struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	CHECK_INT(utimensat(AT_FDCWD, fixture.file, old, 0), 0);
	struct unwind_table table;
	CHECK(is_found(&fixture, &table)); /* and is new again */
	unwind_table_deinit(&table);
	CHECK_INT(utimensat(AT_FDCWD, mine, old, 0), 0);
	CHECK_INT(utimensat(AT_FDCWD, unfinished, old, 0), 0);
	cache_close(fixture.cache);
	CHECK_OK(table_cache_open(fixture.folder, &fixture.cache));
	CHECK(is_found(&fixture, &table));
	unwind_table_deinit(&table);
	CHECK_INT(utimensat(AT_FDCWD, fixture.file, old, 0), 0);
	cache_close(fixture.cache);
	CHECK_OK(table_cache_open(fixture.folder, &fixture.cache));
	CHECK(!is_found(&fixture, &table));
	CHECK_INT(access(mine, F_OK), 0);
	CHECK_INT(access(unfinished, F_OK), -1);
	teardown(&fixture);
}

static void store_often(const struct fixture *fixture)
{
	for (int i = 0; i < 300; i++) {
		struct err *err = table_cache_store(
			fixture->cache, id, sizeof(id), &fixture->table, &fixture->inputs);
		if (err)
			_exit(1);
	}
	_exit(0);
}

/* A reader sees a whole table at any moment. */
TEST(table_cache_has_many_writers)
{
	struct fixture fixture;
	pid_t writers[4];
	setup(&fixture);
	for (int i = 0; i < 4; i++) {
		writers[i] = fork();
		if (!writers[i])
			store_often(&fixture);
	}
	int running = 4;
	while (running) {
		struct unwind_table table = {0};
		CHECK(is_found(&fixture, &table));
		CHECK(is_equal(&table, &fixture.table));
		unwind_table_deinit(&table);
		int status = 0;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		running -= pid > 0;
		CHECK_INT(status, 0);
	}
	DIR *folder = opendir(fixture.folder);
	int files = 0;
	for (struct dirent *entry; (entry = readdir(folder));)
		files += entry->d_name[0] != '.';
	closedir(folder);
	CHECK_INT(files, 1);
	teardown(&fixture);
}

TEST(table_cache_survives_a_full_disk)
{
	struct fixture fixture;
	setup(&fixture);
	for (uint32_t i = 0; i < 10000; i++)
		vec_push(&fixture.table.rows, i);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 1000, .rlim_max = 1000});
	static const uint8_t id2[] = {1, 2, 3, 4};
	CHECK_ERR(
		table_cache_store(fixture.cache, id2, sizeof(id2), &fixture.table, &fixture.inputs),
		ERR_IO, "File too large");
	struct unwind_table table;
	CHECK(is_found(&fixture, &table)); /* what was there still is */
	unwind_table_deinit(&table);
	DIR *folder = opendir(fixture.folder);
	int files = 0;
	for (struct dirent *entry; (entry = readdir(folder));)
		files += entry->d_name[0] != '.';
	closedir(folder);
	CHECK_INT(files, 1);
	teardown(&fixture);
}

/* ---- runtimes that rows were made for ---- */

static const struct runtime one = {.name = "one", .version = 1};
static const struct runtime newer_one = {.name = "one", .version = 2};
static const struct runtime other = {.name = "other", .version = 1};

static const struct runtime *only_one(enum runtime_kind kind)
{
	return kind == 1 ? &one : NULL;
}

static const struct runtime *newer(enum runtime_kind kind)
{
	return kind == 1 ? &newer_one : NULL;
}

static const struct runtime *with_tenth(enum runtime_kind kind)
{
	return kind == 10 ? &other : only_one(kind);
}

static const struct runtime *with_eleventh(enum runtime_kind kind)
{
	return kind == 11 ? &other : only_one(kind);
}

TEST(table_cache_tells_sets_of_runtimes_apart)
{
	uint64_t fingerprint = runtime_fingerprint(only_one);
	CHECK_INT(runtime_fingerprint(only_one), fingerprint);
	CHECK(runtime_fingerprint(newer) != fingerprint);
	CHECK(runtime_fingerprint(with_tenth) != fingerprint);
	CHECK(runtime_fingerprint(with_eleventh) != fingerprint);
	CHECK(runtime_fingerprint(with_eleventh) != runtime_fingerprint(with_tenth));
}
