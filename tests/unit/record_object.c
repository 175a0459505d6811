/* Which objects a sweep frees, and what the modules that know of them by serial keep. */
#include "record/stack_table.h"
#include "record/task/object.h"
#include "record/task/object_ids.h"
#include "record/unwind/blame_table.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
	struct object_table objects;
	struct stack_table stacks;
	struct blame_table blames;
	struct object_ids ids;
};

static struct object *add_file(struct fixture *fixture, const char *path)
{
	return object_table_by_build_id(&fixture->objects, path, (const uint8_t *)"id", 2);
}

static void sweep(struct fixture *fixture)
{
	stack_table_mark_objects(&fixture->stacks);
	blame_table_mark_objects(&fixture->blames, &fixture->objects);
	object_ids_mark_objects(&fixture->ids, &fixture->objects);
	object_table_sweep(&fixture->objects);
	object_table_forget(&fixture->objects, &fixture->ids.by_serial);
}

TEST(sweep_frees_what_no_module_refers_to)
{
	struct fixture fixture = {.ids.epoch = 1};
	stack_table_init(&fixture.stacks);
	struct object *idle = add_file(&fixture, "/idle"), *framed = add_file(&fixture, "/framed");
	struct object *older = add_file(&fixture, "/older"), *newer = add_file(&fixture, "/newer");
	struct object *blamed = add_file(&fixture, "/blamed"), *kept = add_file(&fixture, "/kept");
	const uint32_t idle_serial = idle->serial, older_serial = older->serial;
	uint32_t frame = stack_table_frame(&fixture.stacks, framed, 0x10, 0);
	blame_table_add(&fixture.blames, blamed, LAYOUT_TRUNCATED_NO_RULE);
	object_ids_put(&fixture.ids, older, 7);
	CHECK_INT(object_ids_get(&fixture.ids, older), 7);
	fixture.ids.epoch = 2;
	CHECK_INT(object_ids_get(&fixture.ids, older), 0);
	CHECK(object_ids_has(&fixture.ids, older));
	object_ids_put(&fixture.ids, newer, 3);
	kept->is_kept = true;
	sweep(&fixture);
	CHECK(!object_table_get(&fixture.objects, idle_serial));
	CHECK(!object_table_get(&fixture.objects, older_serial));
	CHECK_INT(fixture.objects.objects.len, 4);
	CHECK_INT(fixture.ids.by_serial.len, 1);
	CHECK_INT(object_ids_get(&fixture.ids, newer), 3);
	CHECK_INT(blame_table_get(&fixture.blames, blamed)->stacks[LAYOUT_TRUNCATED_NO_RULE], 1);
	CHECK(!blame_table_get(&fixture.blames, newer));
	CHECK_INT(stack_table_frame(&fixture.stacks, framed, 0x10, 0), frame);
	CHECK(add_file(&fixture, "/idle")->serial != idle_serial);
	stack_table_clear(&fixture.stacks);
	const uint32_t framed_serial = framed->serial;
	sweep(&fixture);
	CHECK(!object_table_get(&fixture.objects, framed_serial));
	stack_table_deinit(&fixture.stacks);
	blame_table_deinit(&fixture.blames);
	object_ids_deinit(&fixture.ids);
	object_table_deinit(&fixture.objects);
}

/* A file that is known by its inode and could not be looked at: its process was gone. */
TEST(file_that_could_not_be_read_is_opened_when_it_can_be)
{
	char path[64], hidden[80];
	struct stat st;
	snprintf(path, sizeof(path), "/tmp/ebprof-object-%d", (int)getpid());
	snprintf(hidden, sizeof(hidden), "%s.hidden", path);
	FILE *from = fopen("/proc/self/exe", "rb"), *to = fopen(hidden, "wb");
	CHECK(from && to);
	for (int byte; (byte = getc(from)) != EOF;)
		putc(byte, to);
	fclose(from);
	fclose(to);
	CHECK(!stat(hidden, &st));
	struct object_table objects = {0};
	const struct object_location nowhere = {0};
	struct object *object =
		object_table_by_inode(&objects, path, 0, st.st_ino, false, &nowhere);
	CHECK(object->info.flags & LAYOUT_OBJECT_UNREADABLE);
	int fd = -1;
	struct elf_file *elf;
	CHECK(!object_open(object, &nowhere, &fd, &elf));
	CHECK(!rename(hidden, path));
	CHECK(object_open(object, &nowhere, &fd, &elf));
	CHECK(!(object->info.flags & (LAYOUT_OBJECT_UNREADABLE | LAYOUT_OBJECT_CHANGED)));
	CHECK(object->info.build_id_len && object->info.nr_segments);
	CHECK_INT(object->info.size_bytes, st.st_size);
	elf_file_destroy(elf);
	close(fd);
	unlink(path);
	object_table_deinit(&objects);
}
