/* Perf maps: which line names an address, and which files are believed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/str.h"
#include "record/jit.h"
#include "tests/unit/forged.h"
#include "tests/unit/unit.h"

static void log_entry(void *context, const struct perf_map_entry *entry)
{
	str_printf(context, "%llx+%llx %.*s\n", (unsigned long long)entry->start,
		(unsigned long long)entry->size, (int)entry->name_len, entry->name);
}

static void check_map_bytes(
	const char *bytes, size_t len, const uint64_t *addresses, size_t count, const char *want)
{
	CLEANUP(str_deinit) struct str got = {0};
	int fd = forged_fd(bytes, len);
	perf_map_read(fd, addresses, count, log_entry, &got);
	close(fd);
	CHECK_STR(str_text(&got), want);
}

#define check_map(text, want, ...) \
	do { \
		const uint64_t wanted_[] = {__VA_ARGS__}; \
		check_map_bytes((text), strlen(text), wanted_, sizeof(wanted_) / sizeof(*wanted_), \
			(want)); \
	} while (0)

TEST(perf_map_names_what_holds_an_address)
{
	static const char text[] = "1000 20 first\n1020 10 second with spaces\n5000 8 nobody's\n";
	check_map(text, "", 0xfff);
	check_map(text, "1000+20 first\n", 0x1000);
	check_map(text, "1000+20 first\n", 0x1000, 0x1001, 0x101f);
	check_map(text, "1000+20 first\n1020+10 second with spaces\n", 0x1001, 0x1020, 0x102f,
		0x1030);
	check_map(text, "", 0x1030, 0x4fff, 0x5008);
}

TEST(perf_map_believes_the_last_line)
{
	static const char text[] = "1000 100 old\n1080 10 inner\n1000 40 new\n";
	check_map(text, "1000+100 old\n1080+10 inner\n1000+40 new\n", 0x1000, 0x1060, 0x1080);
	check_map(text, "1000+40 new\n", 0x1000, 0x103f);
	check_map("1080 10 inner\n1000 100 over it\n", "1000+100 over it\n", 0x1010, 0x1084);
}

TEST(perf_map_skips_lines_without_sense)
{
	static const char text[] = "\n1000\n1000 \n1000 20\n1000 20 \n"
				   "xyz 20 no_number\n1000 zz no_size\n1000 0 no_bytes\n"
				   "ffffffffffffffff 20 beyond\n10000000000000000 20 too_long\n"
				   "-1000 20 signed\n";
	check_map(text, "", 0x1000, 0x1001, UINT64_MAX - 1);
	check_map("0x1000 0x20 prefixed\nABC0 20 capitals\n",
		"1000+20 prefixed\nabc0+20 capitals\n", 0x1004, 0xabc4);
	check_map("1000 20 cut in the midd", "", 0x1004);
	check_map_bytes("1000 20 nul\0more\n", 17, (const uint64_t[]){0x1000}, 1, "1000+20 nul\n");
}

TEST(perf_map_bounds_lines)
{
	enum {
		LONG = 100 << 10
	};
	struct str text = {0}, want = {0};
	str_puts(&text, "1000 20 ");
	str_pad(&text, 'x', LONG); /* longer than what is read at a time: none */
	str_puts(&text, "\n2000 20 ");
	str_pad(&text, 'y', 5000);
	str_puts(&text, "\n3000 20 z\n");
	str_puts(&want, "2000+20 ");
	str_pad(&want, 'y', 4096);
	str_puts(&want, "\n3000+20 z\n");
	check_map(str_text(&text), str_text(&want), 0x1000, 0x2000, 0x3000);
	str_deinit(&text);
	str_deinit(&want);
}

/* Each line covers each address: what is noted must not depend on how many there are. */
TEST(perf_map_with_lines_over_everything)
{
	enum {
		LINES = 100000,
		ADDRESSES = 50000
	};
	CLEANUP(str_deinit) struct str text = {0};
	for (int i = 0; i < LINES; i++)
		str_puts(&text, "1 fffffffffffffff0 all\n");
	CLEANUP_FREE uint64_t *addresses = mem_zalloc_array(ADDRESSES, sizeof(*addresses));
	for (uint64_t i = 0; i < ADDRESSES; i++)
		addresses[i] = i + 1;
	check_map_bytes(
		str_text(&text), text.len, addresses, ADDRESSES, "1+fffffffffffffff0 all\n");
}

/* ---- whose file it is ---- */

enum {
	NOBODY = 65534
};

struct fixture {
	struct object_table objects;
	struct process_table processes;
	struct jit_table table;
	struct process *process;
	char path[64];
};

static void setup(struct fixture *fixture, const char *text)
{
	*fixture = (struct fixture){0};
	fixture->processes.objects = fixture->table.objects = &fixture->objects;
	fixture->process = process_table_get(&fixture->processes, (uint32_t)getpid(), 1);
	snprintf(fixture->path, sizeof(fixture->path), "/tmp/perf-%d.map", (int)getpid());
	FILE *file = fopen(fixture->path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		unit_skip("cannot write to /tmp");
}

static void teardown(struct fixture *fixture)
{
	unlink(fixture->path);
	jit_table_deinit(&fixture->table);
	process_table_deinit(&fixture->processes);
	object_table_deinit(&fixture->objects);
}

static void check_name(struct fixture *fixture, uint64_t address, const char *want)
{
	CLEANUP(str_deinit) struct str got = {0};
	struct object *object = jit_table_object(&fixture->table, fixture->process);
	jit_table_want(&fixture->table, object, address);
	struct jit_names names = {.symbol = log_entry, .context = &got};
	jit_table_name(&fixture->table, object, false, &names);
	CHECK_STR(str_text(&got), want);
	CHECK_INT(fixture->table.nr_wanted, 0);
}

TEST(jit_names_from_the_process_own_map)
{
	struct fixture fixture;
	setup(&fixture, "1000 20 made\n");
	check_name(&fixture, 0x1008, "1000+20 made\n");
	check_name(&fixture, 0x2000, "");
	teardown(&fixture);
}

TEST(jit_image_has_an_object_of_its_own)
{
	struct fixture fixture;
	setup(&fixture, "");
	struct object *first = jit_table_object(&fixture.table, fixture.process);
	CHECK(first == jit_table_object(&fixture.table, fixture.process));
	process_table_exec(&fixture.processes, fixture.process, 1);
	CHECK(first != jit_table_object(&fixture.table, fixture.process));
	CHECK_INT(first->info.kind, LAYOUT_OBJECT_ANONYMOUS);
	teardown(&fixture);
}

TEST(jit_follows_no_link)
{
	struct fixture fixture;
	setup(&fixture, "1000 20 made\n");
	char target[96];
	snprintf(target, sizeof(target), "%s.target", fixture.path);
	CHECK_INT(rename(fixture.path, target), 0);
	CHECK_INT(symlink(target, fixture.path), 0);
	check_name(&fixture, 0x1008, "");
	unlink(target);
	teardown(&fixture);
}

TEST(jit_waits_for_no_pipe)
{
	struct fixture fixture;
	setup(&fixture, "");
	unlink(fixture.path);
	CHECK_INT(mkfifo(fixture.path, 0600), 0);
	check_name(&fixture, 0x1008, "");
	teardown(&fixture);
}

TEST(jit_believes_the_owner_and_root)
{
	if (geteuid() != 0)
		unit_skip("needs root to give a file away");
	struct fixture fixture;
	setup(&fixture, "1000 20 made\n");
	CHECK_INT(chown(fixture.path, NOBODY, NOBODY), 0);
	check_name(&fixture, 0x1008, "");
	teardown(&fixture);
}

/* Left over by an earlier process of the same number. */
TEST(jit_believes_no_older_file)
{
	struct fixture fixture;
	setup(&fixture, "1000 20 made\n");
	const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	CHECK_INT(utimensat(AT_FDCWD, fixture.path, times, 0), 0);
	check_name(&fixture, 0x1008, "");
	teardown(&fixture);
}
