/* Names of the files of a ring, and which files of a folder are its. */
#include "format/base/ring_folder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/unit.h"

static const uint64_t begun_ms = 1795701900123; /* 2026-11-26 14:05:00.123 UTC */

static void want_name(struct ring_name name, const char *text)
{
	CLEANUP(str_deinit) struct str out = {0};
	struct ring_name back = {0};
	ring_name_put(&name, &out);
	CHECK_STR(str_text(&out), text);
	CHECK(ring_name_parse(text, &back));
	CHECK_INT(back.begun_ms, name.begun_ms);
	CHECK_INT(back.lasted_ms, name.lasted_ms);
	CHECK_INT(back.is_ended, name.is_ended);
}

TEST(ring_names_say_when)
{
	want_name((struct ring_name){.begun_ms = begun_ms}, "ebprof-20261126T140500.123Z.data");
	want_name((struct ring_name){begun_ms, 60001, true},
		"ebprof-20261126T140500.123Z+60.001.data");
	want_name((struct ring_name){begun_ms, 0, true}, "ebprof-20261126T140500.123Z+0.000.data");
	want_name((struct ring_name){begun_ms, 999999999000, true},
		"ebprof-20261126T140500.123Z+999999999.000.data");
}

TEST(ring_names_of_others_are_none)
{
	static const char *const others[] = {"", "ebprof.data", "ebprof-20261126T140500.123Z",
		"ebprof-20261126T140500.123Z.data.old", "Ebprof-20261126T140500.123Z.data",
		"ebprof-20261126T140500.123Z.data ", "ebprof-20261126T140500.12Z.data",
		"ebprof-20261326T140500.123Z.data", "ebprof-20260231T140500.123Z.data",
		"ebprof-20261126T240500.123Z.data", "ebprof-20261126T140500.123Z+1.data",
		"ebprof-20261126T140500.123Z+01.000.data",
		"ebprof-20261126T140500.123Z+-1.000.data",
		"ebprof-20261126T140500.123Z+1.000.data~", "ebprof- 2026126T140500.123Z.data",
		"ebprof-00000000T000000.000Z.data", "ebprof-20261126T140500.123Z+1.0000.data"};
	struct ring_name name;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (ring_name_parse(others[i], &name))
			unit_fail(__FILE__, __LINE__, "\"%s\" is taken", others[i]);
}

static void ring_put_file(const char *name, size_t bytes)
{
	static const char zeros[100];
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, zeros, bytes), bytes);
	close(fd);
}

TEST(ring_folder_lists_its_files_in_order)
{
	struct ring_files files = {0};
	ring_put_file("ebprof-20261126T140600.000Z.data", 3);
	ring_put_file("ebprof-20261126T140500.000Z+60.000.data", 7);
	ring_put_file("notes.txt", 1);
	ring_put_file("ebprof-20261126T140500.000Z+60.000.data.bak", 1);
	CHECK_INT(symlink("notes.txt", "ebprof-20261126T140700.000Z.data"), 0);
	CHECK_INT(mkdir("ebprof-20261126T140800.000Z.data", 0700), 0);
	CHECK_OK(ring_folder_list(AT_FDCWD, ".", &files));
	CHECK_INT(files.len, 2);
	CHECK_STR(files.data[0].name, "ebprof-20261126T140500.000Z+60.000.data");
	CHECK_INT(files.data[0].bytes, 7);
	CHECK_INT(ring_file_end_ms(&files.data[0]), files.data[0].is.begun_ms + 60000);
	CHECK_STR(files.data[1].name, "ebprof-20261126T140600.000Z.data");
	/* Written before its name says, as if the clock had been set: it ends when it begins. */
	files.data[1].written_ms = 5;
	CHECK_INT(ring_file_end_ms(&files.data[1]), files.data[1].is.begun_ms);
	ring_files_deinit(&files);
	CHECK_ERR(ring_folder_list(-1, "nowhere", &files), ERR_IO, "nowhere");
}
