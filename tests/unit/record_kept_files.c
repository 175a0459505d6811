/* Which files are kept open for the end of a recording: over links to a file of our own. */
#include "record/task/kept_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "tests/unit/unit.h"

enum {
	LIMIT = 256,
	LIMIT_HERE = 64,
};

struct fixture {
	char folder[64], copy[128];
	struct stat st; /* of the copy */
	struct object_table objects;
	struct object_ids ids; /* nothing is written */
	struct kept_files *files;
};

static void setup(struct fixture *fixture)
{
	char command[300];
	*fixture = (struct fixture){.folder = "/tmp/ebprof-unit.XXXXXX"};
	CHECK(mkdtemp(fixture->folder));
	snprintf(fixture->copy, sizeof(fixture->copy), "%s/copy", fixture->folder);
	snprintf(command, sizeof(command), "cp /proc/%d/exe '%s'", getpid(), fixture->copy);
	CHECK_INT(system(command), 0); /* NOLINT(cert-env33-c) */
	CHECK_INT(stat(fixture->copy, &fixture->st), 0);
	fixture->files = kept_files_create();
}

static void teardown(struct fixture *fixture)
{
	char command[100];
	kept_files_destroy(fixture->files);
	object_table_deinit(&fixture->objects);
	snprintf(command, sizeof(command), "rm -rf '%s'", fixture->folder);
	CHECK_INT(system(command), 0); /* NOLINT(cert-env33-c) */
}

/* Another path of the file, that this process is said to have mapped. */
static const struct object *add(struct fixture *fixture, const char *name)
{
	char path[200];
	struct object_location where = {(uint32_t)getpid(), 0, 0};
	snprintf(path, sizeof(path), "%s/%s", fixture->folder, name);
	CHECK_INT(link(fixture->copy, path), 0);
	struct object *object = object_table_by_inode(&fixture->objects, path,
		major(fixture->st.st_dev) << 20 | minor(fixture->st.st_dev), fixture->st.st_ino,
		false, &where);
	object->where = where;
	kept_files_add(fixture->files, object, &fixture->objects);
	return object;
}

static size_t count_of(const struct fixture *fixture)
{
	size_t count;
	kept_files_list(fixture->files, &count);
	return count;
}

TEST(files_that_are_gone_are_kept)
{
	struct fixture fixture;
	setup(&fixture);
	add(&fixture, "stays");
	const struct object *gone = add(&fixture, "goes");
	const struct object *other = add(&fixture, "changes");
	CHECK_INT(unlink(gone->path), 0);
	CHECK_INT(unlink(other->path), 0);
	CLEANUP_FD int fd = open(other->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(count_of(&fixture), 3);
	kept_files_finish(fixture.files, &fixture.objects, &fixture.ids);
	size_t count;
	const struct kept_file *kept = kept_files_list(fixture.files, &count);
	CHECK_INT(count, 3);
	CHECK(kept[0].is_here && !kept[1].is_here && !kept[2].is_here);
	CHECK_INT(kept[1].object, gone->serial);
	CHECK_INT(kept[2].object, other->serial);
	CHECK_INT(kept[1].root_fd, -1); /* it is our own */
	CHECK_INT(kept[1].size_bytes, fixture.st.st_size);
	CHECK_INT(kept[1].build_id_len, gone->info.build_id_len);
	struct stat st;
	CHECK_INT(fstat(kept[1].fd, &st), 0);
	CHECK_INT(st.st_ino, fixture.st.st_ino);
	teardown(&fixture);
}

/* It is at its path, but no disk has it. */
TEST(files_in_memory_are_kept)
{
	struct fixture fixture;
	setup(&fixture);
	add(&fixture, "stays");
	char command[300], path[] = "/dev/shm/ebprof-unit.XXXXXX";
	CLEANUP_FD int fd = mkostemp(path, O_CLOEXEC);
	struct stat root;
	if (fd < 0 || fstat(fd, &fixture.st) || stat("/", &root) ||
		fixture.st.st_dev == root.st_dev) {
		teardown(&fixture);
		unit_skip("no /dev/shm here");
	}
	snprintf(command, sizeof(command), "cat /proc/%d/exe >'%s'", getpid(), path);
	CHECK_INT(system(command), 0); /* NOLINT(cert-env33-c) */
	struct object_location where = {(uint32_t)getpid(), 0, 0};
	struct object *object = object_table_by_inode(&fixture.objects, path,
		major(fixture.st.st_dev) << 20 | minor(fixture.st.st_dev), fixture.st.st_ino, false,
		&where);
	object->where = where;
	kept_files_add(fixture.files, object, &fixture.objects);
	kept_files_finish(fixture.files, &fixture.objects, &fixture.ids);
	size_t count;
	const struct kept_file *kept = kept_files_list(fixture.files, &count);
	unlink(path);
	CHECK_INT(count, 2);
	CHECK(kept[0].is_here && !kept[1].is_here);
	CHECK_STR(kept[1].path, path);
	CHECK_INT(kept_files_nr_missed(fixture.files), 0);
	teardown(&fixture);
}

/* Others may need the room. */
TEST(few_files_are_kept_that_are_still_there)
{
	struct fixture fixture;
	setup(&fixture);
	char name[32];
	for (int i = 0; i < LIMIT_HERE + 20; i++) {
		snprintf(name, sizeof(name), "stays%d", i);
		add(&fixture, name);
	}
	kept_files_finish(fixture.files, &fixture.objects, &fixture.ids);
	CHECK_INT(count_of(&fixture), LIMIT_HERE);
	teardown(&fixture);
}

TEST(no_more_files_are_kept_than_the_limit)
{
	struct fixture fixture;
	setup(&fixture);
	char name[32];
	for (int i = 0; i < LIMIT + 20; i++) { /* these make room again: they are at their paths */
		snprintf(name, sizeof(name), "stays%d", i);
		add(&fixture, name);
	}
	CHECK(count_of(&fixture) <= LIMIT);
	for (int i = 0; i < LIMIT + 20; i++) {
		snprintf(name, sizeof(name), "goes%d", i);
		CHECK_INT(unlink(add(&fixture, name)->path), 0);
	}
	CHECK_INT(count_of(&fixture), LIMIT);
	kept_files_finish(fixture.files, &fixture.objects, &fixture.ids);
	CHECK_INT(count_of(&fixture), LIMIT);
	teardown(&fixture);
}

/* What could not be opened before: here because it is our own program, at another path. */
TEST(the_end_tries_again)
{
	struct fixture fixture;
	setup(&fixture);
	struct object_location where = {0};
	struct object *object = object_table_by_inode(
		&fixture.objects, "/no/such/file", 0, fixture.st.st_ino, true, &where);
	kept_files_add(fixture.files, object, &fixture.objects);
	CHECK_INT(count_of(&fixture), 0);
	const struct layout_object *same = &add(&fixture, "stays")->info;
	memcpy(object->info.build_id, same->build_id, sizeof(same->build_id));
	object->info.build_id_len = same->build_id_len;
	object->where.pid = (uint32_t)getpid();
	mem_free(object->path);
	object->path = mem_strdup(fixture.copy);
	kept_files_finish(fixture.files, &fixture.objects, &fixture.ids);
	CHECK_INT(count_of(&fixture), 2);
	teardown(&fixture);
}

TEST(no_files_are_an_empty_list)
{
	size_t count = 1;
	kept_files_list(NULL, &count);
	CHECK_INT(count, 0);
}
