/* The folder of baselines: names, concurrent writers, damage, what is removed. */
#include "report/compare/baseline/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/compare/baseline/store_file.h"
#include "tests/unit/unit.h"

static struct store *store_in(const char *folder)
{
	struct store *store = NULL;
	CHECK_OK(store_open(&(struct store_options){.folder = folder, .creates = true}, &store));
	return store;
}

static struct str make_folder(void)
{
	struct str folder = {0};
	const char *place = getenv("TMPDIR");
	str_printf(&folder, "%s/store.XXXXXX", place ? place : "/tmp");
	CHECK(mkdtemp(folder.data) != NULL);
	return folder;
}

static void remove_folder(struct str *folder)
{
	CLEANUP(str_deinit) struct str command = {0};
	str_printf(&command, "rm -rf '%s'", str_text(folder));
	CHECK_INT(system(str_text(&command)), 0);
	str_deinit(folder);
}

static struct store_entry entry_of(const char *bytes, uint64_t time_s)
{
	struct store_entry entry = {.time_s = time_s,
		.runs = 5,
		.samples = 100,
		.bytes = strlen(bytes),
		.event = "cpu clock"};
	sha256_of(bytes, strlen(bytes), entry.hash);
	return entry;
}

static void save(struct store *store, const char *job, const char *bytes, uint64_t time_s)
{
	struct store_entry entry = entry_of(bytes, time_s);
	CHECK_OK(store_save(store, &(struct store_key){job, "main", "A CPU"}, &entry, bytes));
}

static struct store_ref *find(struct store *store, const char *job)
{
	struct store_ref *ref = NULL;
	CHECK_OK(store_find(store, &(struct store_key){job, "main", "A CPU"}, &ref));
	return ref;
}

static void check_saved(struct store *store, const char *job, const char *bytes)
{
	struct bytes_buf read = {0};
	struct store_ref *ref = find(store, job);
	CHECK(ref && ref->entries.len);
	CHECK_STR(ref->job, job);
	const struct store_entry *newest = &ref->entries.data[ref->entries.len - 1];
	CHECK_STR(newest->event, "cpu clock");
	CHECK_OK(store_read(store, newest->hash, &read));
	CHECK_INT(read.len, strlen(bytes));
	CHECK(memcmp(read.data, bytes, read.len) == 0);
	bytes_buf_deinit(&read);
	store_ref_destroy(ref);
}

TEST(names_of_any_kind_stay_in_the_folder)
{
	struct str folder = make_folder();
	CLEANUP(str_deinit) struct str inside = {0}, of_4000 = {0};
	str_printf(&inside, "%s/store", str_text(&folder));
	str_pad(&of_4000, 'x', 4000);
	struct store *store = store_in(str_text(&inside));
	const char *const names[] = {"..", ".", "/", "../../../../etc/passwd", "a/b", "%2E%2E", "%",
		"a_b", "a b", "-rf", ".hidden", "g\xc3\xbcnstig", "\xff\xfe", "\033]0;x\007",
		"a\nb", "con:job", str_text(&of_4000)};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		CLEANUP(str_deinit) struct str bytes = {0};
		str_printf(&bytes, "baseline %zu", i);
		save(store, names[i], str_text(&bytes), i);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		CLEANUP(str_deinit) struct str bytes = {0};
		str_printf(&bytes, "baseline %zu", i);
		check_saved(store, names[i], str_text(&bytes)); /* none stands for another */
	}
	store_close(store);
	struct store_folder around = {
		.fd = open(str_text(&folder), O_RDONLY | O_DIRECTORY), .path = folder.data};
	struct store_names found;
	CHECK_OK(store_file_list(&around, ".", &found));
	CHECK_INT(found.len, 1);
	store_names_deinit(&found);
	close(around.fd);
	remove_folder(&folder);
}

TEST(empty_and_endless_names_are_refused)
{
	struct str folder = make_folder();
	CLEANUP(str_deinit) struct str endless = {0};
	str_pad(&endless, 'x', 10000);
	struct store *store = store_in(str_text(&folder));
	struct store_entry entry = entry_of("x", 1);
	CHECK_ERR(store_save(store, &(struct store_key){"", "main", "CPU"}, &entry, "x"), ERR_USAGE,
		"empty");
	CHECK_ERR(store_save(store, &(struct store_key){"job", "", "CPU"}, &entry, "x"), ERR_USAGE,
		"empty");
	CHECK_ERR(store_save(store, &(struct store_key){str_text(&endless), "main", "CPU"}, &entry,
			  "x"),
		ERR_USAGE, "10000 bytes");
	store_close(store);
	remove_folder(&folder);
}

TEST(the_same_baseline_is_one_file_and_the_newest_is_last)
{
	struct str folder = make_folder();
	struct store *store = store_in(str_text(&folder));
	save(store, "job", "first", 10);
	save(store, "job", "second", 20);
	save(store, "job", "first", 30);
	check_saved(store, "job", "first");
	struct store_ref *ref = find(store, "job");
	CHECK_INT(ref->entries.len, 2);
	CHECK_INT(ref->entries.data[1].time_s, 30);
	store_ref_destroy(ref);
	store_close(store);
	remove_folder(&folder);
}

/* ---- damage ---- */

static struct str object_path(const struct str *folder, const char *bytes)
{
	struct store_entry entry = entry_of(bytes, 1);
	struct str path = {0};
	str_printf(&path, "%s/objects/%.2s/%s.ebprof", str_text(folder), entry.hash, entry.hash);
	return path;
}

static void overwrite(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

TEST(a_damaged_or_missing_object_is_refused_by_its_name_and_saved_anew)
{
	struct str folder = make_folder();
	struct store *store = store_in(str_text(&folder));
	struct bytes_buf read = {0};
	struct store_entry entry = entry_of("baseline", 1);
	CLEANUP(str_deinit) struct str path = object_path(&folder, "baseline");
	save(store, "job", "baseline", 1);
	overwrite(str_text(&path), "basemine");
	CHECK_ERR(store_read(store, entry.hash, &read), ERR_FORMAT, str_text(&path));
	save(store, "job", "baseline", 2);
	check_saved(store, "job", "baseline");
	CHECK_INT(unlink(str_text(&path)), 0);
	CHECK_ERR(store_read(store, entry.hash, &read), ERR_FORMAT, "missing");
	CHECK_INT(symlink("/etc/passwd", str_text(&path)), 0);
	CHECK_ERR(store_read(store, entry.hash, &read), ERR_IO, entry.hash);
	CHECK_INT(unlink(str_text(&path)), 0);
	CHECK_INT(mkfifo(str_text(&path), 0600), 0);
	CHECK_ERR(store_read(store, entry.hash, &read), ERR_FORMAT, "regular");
	store_close(store);
	remove_folder(&folder);
}

static void check_refused(const char *text)
{
	struct store_ref ref;
	CHECK_ERR(store_ref_decode(text, strlen(text), &ref), ERR_FORMAT, "it");
}

#define HASH "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define HEAD "ebprof-baselines 1\njob a\nbranch b\ncpu c\n"

TEST(damaged_refs_are_refused)
{
	static const char whole[] = HEAD "baseline " HASH " 1 2 3 4 cpu-clock\n";
	struct store_ref ref;
	CHECK_OK(store_ref_decode(whole, strlen(whole), &ref));
	CHECK_INT(ref.entries.data[0].bytes, 4);
	store_ref_deinit(&ref);
	for (size_t len = 0; len < strlen(whole); len++) {
		/* Cut behind its keys it is one without baselines. */
		if (len == strlen(HEAD))
			continue;
		CHECK_ERR(store_ref_decode(whole, len, &ref), ERR_FORMAT, "it");
	}
	check_refused("ebprof-baselines 2\njob a\nbranch b\ncpu c\n");
	check_refused("ebprof-baselines 1\nbranch b\njob a\ncpu c\n");
	check_refused("ebprof-baselines 1\njob \nbranch b\ncpu c\n");
	check_refused("ebprof-baselines 1\njob %0G\nbranch b\ncpu c\n");
	check_refused("ebprof-baselines 1\njob %00\nbranch b\ncpu c\n");
	static const char nul[] = "ebprof-baselines 1\njob \0\nbranch b\ncpu c\n";
	CHECK_ERR(store_ref_decode(nul, sizeof(nul) - 1, &ref), ERR_FORMAT, "it");
	check_refused(HEAD "baseline 12 1 2 3 4 cpu-clock\n");
	check_refused(HEAD "baseline ../../" HASH " 1 2 3 4 cpu-clock\n");
	check_refused(HEAD "baseline " HASH " 1 2 3 -4 cpu-clock\n");
	check_refused(HEAD "baseline " HASH " 1 2 3 9999999999999999999999 cpu-clock\n");
	check_refused(HEAD "baseline " HASH " 1 2 3 4 cpu-clock more\n");
}

/* ---- several at once ---- */

TEST(writers_at_once_lose_nothing)
{
	enum {
		WRITERS = 4,
		SAVES = 5,
	};
	struct str folder = make_folder();
	struct store *store = store_in(str_text(&folder));
	for (int i = 0; i < WRITERS; i++) {
		if (fork())
			continue;
		for (int k = 0; k < SAVES; k++) {
			char bytes[32];
			snprintf(bytes, sizeof(bytes), "writer %d, %d", i, k);
			save(store, "job", bytes, 1);
		}
		_exit(0);
	}
	for (int i = 0; i < WRITERS; i++) {
		int status;
		wait(&status);
		CHECK_INT(status, 0);
	}
	struct store_ref *ref = find(store, "job");
	CHECK_INT(ref->entries.len, WRITERS * SAVES);
	vec_each(&ref->entries, entry) {
		struct bytes_buf read = {0};
		CHECK_OK(store_read(store, entry->hash, &read));
		bytes_buf_deinit(&read);
	}
	store_ref_destroy(ref);
	store_close(store);
	remove_folder(&folder);
}

/* ---- what goes ---- */

struct gone {
	unsigned entries, files;
};

static void count_dropped(
	void *context, const struct store_ref *ref, const struct store_entry *entry)
{
	(void)ref, (void)entry;
	((struct gone *)context)->entries++;
}

static void count_removed(void *context, const char *file, uint64_t bytes)
{
	(void)file, (void)bytes;
	((struct gone *)context)->files++;
}

static struct gone sweep(struct store *store, uint32_t keep, uint64_t before_s, bool is_dry_run)
{
	struct gone gone = {0};
	struct store_gc_options options = {
		.keep = keep,
		.before_s = before_s,
		.is_dry_run = is_dry_run,
		.context = &gone,
		.dropped = count_dropped,
		.removed = count_removed,
	};
	CHECK_OK(store_gc(store, &options));
	return gone;
}

TEST(gc_removes_what_is_too_many_or_too_old)
{
	struct str folder = make_folder();
	struct store *store = store_in(str_text(&folder));
	static const char *const texts[] = {"one", "two", "three", "four"};
	for (size_t i = 0; i < 4; i++)
		save(store, "job", texts[i], 100 + i);
	save(store, "other", "four", 50);
	struct gone none = sweep(store, 0, 0, false), planned = sweep(store, 2, 60, true);
	CHECK_INT(none.entries + none.files, 0);
	CHECK_INT(planned.entries, 3); /* one, two, and all of the other job */
	CHECK_INT(planned.files, 3);   /* two objects, a ref */
	check_saved(store, "other", "four");
	struct gone gone = sweep(store, 2, 60, false);
	CHECK_INT(gone.entries, planned.entries);
	CHECK_INT(gone.files, planned.files);
	check_saved(store, "job", "four");
	CHECK(!find(store, "other"));
	struct store_ref *ref = find(store, "job");
	CHECK_INT(ref->entries.len, 2);
	store_ref_destroy(ref);
	store_close(store);
	remove_folder(&folder);
}

TEST(what_the_killed_left_goes_and_nothing_beside_a_damaged_ref)
{
	struct str folder = make_folder();
	CLEANUP(str_deinit) struct str left = {0}, ref = {0};
	struct store *store = store_in(str_text(&folder));
	save(store, "job", "baseline", 1);
	str_printf(&left, "%s/new-1234", str_text(&folder));
	close(open(str_text(&left), O_WRONLY | O_CREAT, 0600));
	CHECK_INT(sweep(store, 0, 0, false).files, 1);
	CHECK(access(str_text(&left), F_OK) != 0);
	close(open(str_text(&left), O_WRONLY | O_CREAT, 0600));
	save(store, "job", "baseline", 1);
	CHECK(access(str_text(&left), F_OK) != 0);
	str_printf(&ref, "%s/refs/job/main/A_CPU", str_text(&folder));
	overwrite(str_text(&ref), "nonsense");
	struct store_gc_options options = {
		.keep = 1, .dropped = count_dropped, .removed = count_removed};
	CHECK_ERR(store_gc(store, &options), ERR_FORMAT, "nothing was removed");
	struct bytes_buf read = {0};
	struct store_entry entry = entry_of("baseline", 1);
	CHECK_OK(store_read(store, entry.hash, &read));
	bytes_buf_deinit(&read);
	store_close(store);
	remove_folder(&folder);
}
