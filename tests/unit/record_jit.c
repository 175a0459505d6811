/* Perf maps: which line names an address when, and which files are believed. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/str.h"
#include "record/generated/jit.h"
#include "tests/unit/forged.h"
#include "tests/unit/unit.h"

static void log_entry(void *context, const struct perf_map_entry *entry)
{
	str_printf(context, "%llx+%llx %.*s\n", (unsigned long long)entry->start,
		(unsigned long long)entry->size, (int)entry->name_len, entry->name);
}

static void log_place(void *context, const struct code_place *place)
{
	str_printf(context, "%llx %s of %llx from %llu sure %llu\n",
		(unsigned long long)place->address, place->name, (unsigned long long)place->start,
		(unsigned long long)place->time_ns, (unsigned long long)place->sure_ns);
}

/* All addresses were sampled first at `first_ns`. */
static void check_growing(const char *bytes, size_t len, const struct file_growth *growth,
	uint64_t first_ns, const uint64_t *addresses, size_t count, const char *want)
{
	CLEANUP(str_deinit) struct str got = {0};
	CLEANUP_FREE uint64_t *times = mem_zalloc_array(count, sizeof(*times));
	for (size_t i = 0; i < count; i++)
		times[i] = first_ns;
	int fd = forged_fd(bytes, len);
	struct perf_map_wanted wanted = {addresses, times, count};
	struct perf_map_names names = {log_entry, log_place, &got};
	perf_map_read(fd, growth, &wanted, UINT32_MAX, &names);
	close(fd);
	CHECK_STR(str_text(&got), want);
}

/* The recorder has not read the file before. */
static void check_map_bytes(
	const char *bytes, size_t len, const uint64_t *addresses, size_t count, const char *want)
{
	struct file_growth none = {0};
	check_growing(bytes, len, &none, 0, addresses, count, want);
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

#define NEVER "18446744073709551615"

/* Whether the last line held already at any time is not known. */
TEST(perf_map_believes_the_last_line)
{
	static const char text[] = "1000 100 old\n1080 10 inner\n1000 40 new\n";
	check_map(text,
		"1000+100 old\n1080 inner of 1080 from 0 sure " NEVER
		"\n1000 new of 1000 from 0 sure " NEVER "\n",
		0x1000, 0x1060, 0x1080);
	check_map("1080 10 inner\n1000 100 over it\n",
		"1084 over it of 1000 from 0 sure " NEVER "\n1000+100 over it\n", 0x1010, 0x1084);
	check_map("1000 40 same\n1000 40 same\n", "1000+40 same\n", 0x1000, 0x103f);
}

struct step {
	uint64_t bytes, before_ns, after_ns;
};

static void check_steps(const char *text, const struct step *steps, size_t nr_steps,
	uint64_t first_ns, const char *want)
{
	struct file_growth growth = {0};
	for (size_t i = 0; i < nr_steps; i++)
		file_growth_note(&growth, steps[i].bytes, steps[i].before_ns, steps[i].after_ns);
	check_growing(text, strlen(text), &growth, first_ns, (const uint64_t[]){0x1008}, 1, want);
	file_growth_deinit(&growth);
}

/* Lines of 12 bytes each, at one address. */
TEST(perf_map_lines_have_windows)
{
	static const char text[] = "1000 20 one\n1000 20 two\n1000 20 six\n";
	check_steps(text,
		(const struct step[]){{12, 10, 11}, {12, 18, 19}, {24, 28, 29}, {36, 38, 39}}, 4,
		15,
		"1008 one of 1000 from 0 sure 0\n"
		"1008 two of 1000 from 18 sure 29\n"
		"1008 six of 1000 from 28 sure 39\n");
	/* Two of them in one window: the second one, which is not sure from its beginning on. */
	check_steps(text, (const struct step[]){{0, 5, 6}, {12, 10, 11}, {36, 38, 39}}, 3, 15,
		"1008 one of 1000 from 5 sure 5\n"
		"1008 six of 1000 from 10 sure 39\n");
}

/* A single function, but samples are older than the line. */
TEST(perf_map_line_that_came_late)
{
	static const char text[] = "1000 20 one\n";
	static const struct step steps[] = {{0, 50, 51}, {12, 60, 61}};
	check_steps(text, steps, 2, 40, "1008 one of 1000 from 50 sure 50\n");
	check_steps(text, steps, 2, 50, "1000+20 one\n");
}

/* Its writer has a buffer: what it wrote may be as old as what it wrote before. */
TEST(perf_map_of_a_writer_that_collects)
{
	static const char text[] = "1000 20 one\n1000 20 two\n";
	check_steps(text, (const struct step[]){{0, 5, 6}, {7, 10, 11}, {20, 20, 21}, {24, 30, 31}},
		4, 50,
		"1008 one of 1000 from 5 sure 5\n"
		"1008 two of 1000 from 10 sure 31\n");
}

/* ---- how a file grows ---- */

static void write_text(int fd, const char *text)
{
	CHECK_INT(write(fd, text, strlen(text)), strlen(text));
}

TEST(file_growth_of_a_file)
{
	struct file_growth growth = {0};
	int fd = forged_fd("", 0);
	CHECK(file_growth_look(&growth, -1));
	CHECK(!file_growth_look(&growth, fd));
	write_text(fd, "0123456789");
	CHECK(file_growth_look(&growth, fd));
	CHECK(!file_growth_look(&growth, fd));
	write_text(fd, "0123456789");
	CHECK(file_growth_look(&growth, fd));
	CHECK_INT(growth.steps.len, 3);
	CHECK_INT(file_growth_step_of(&growth, 10), 1);
	CHECK_INT(file_growth_step_of(&growth, 11), 2);
	CHECK_INT(file_growth_step_of(&growth, 21), 3);
	struct file_growth_window window = file_growth_window_of(&growth, 2, false);
	CHECK(window.from_ns && window.from_ns < window.until_ns);
	CHECK(window.from_ns > growth.steps.data[1].first_ns);
	CHECK_INT(file_growth_window_of(&growth, 2, true).from_ns, growth.steps.data[0].last_ns);
	CHECK(file_growth_window_of(&growth, 3, false).until_ns == UINT64_MAX);
	file_growth_deinit(&growth);
	close(fd);
}

/* Cut, or written anew and longer: nothing is known of what was there before. */
TEST(file_growth_of_a_file_that_is_written_anew)
{
	struct file_growth growth = {0};
	int fd = forged_fd("", 0);
	write_text(fd, "first\n");
	file_growth_look(&growth, fd);
	CHECK_INT(ftruncate(fd, 2), 0);
	CHECK(file_growth_look(&growth, fd));
	CHECK_INT(growth.steps.len, 1);
	CHECK_INT(ftruncate(fd, 0), 0);
	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	write_text(fd, "another text\n");
	CHECK(file_growth_look(&growth, fd));
	CHECK_INT(growth.steps.len, 1);
	CHECK_INT(file_growth_window_of(&growth, 0, false).from_ns, 0);
	file_growth_deinit(&growth);
	close(fd);
}

TEST(file_growth_is_bounded)
{
	struct file_growth growth = {0};
	for (uint64_t i = 1; i <= 10ULL * FILE_GROWTH_MAX_STEPS; i++)
		file_growth_note(&growth, i, 2 * i, 2 * i + 1);
	CHECK(growth.steps.len <= FILE_GROWTH_MAX_STEPS);
	for (size_t i = 1; i < growth.steps.len; i++) {
		const struct file_growth_step *step = &growth.steps.data[i];
		CHECK(step->bytes > step[-1].bytes && step->last_ns == 2 * step->bytes);
	}
	file_growth_deinit(&growth);
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

/* Names that there was no time for are counted; what was read before is not lost. */
TEST(perf_map_stops_when_the_time_is_over)
{
	CLEANUP(str_deinit) struct str text = {0}, got = {0};
	const uint64_t addresses[] = {0x1000, 0x2000}, times[] = {0, 0};
	struct file_growth none = {0};
	struct perf_map_wanted wanted = {addresses, times, 2};
	struct perf_map_names names = {log_entry, log_place, &got};
	str_puts(&text, "1000 8 first\n2000 8 second\n");
	int fd = forged_fd(str_text(&text), text.len);
	CHECK_INT(perf_map_read(fd, &none, &wanted, 0, &names), 2);
	CHECK_STR(str_text(&got), "");
	CHECK_INT(perf_map_read(fd, &none, &wanted, UINT32_MAX, &names), 0);
	CHECK(strstr(str_text(&got), "first") && strstr(str_text(&got), "second"));
	close(fd);
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
	struct file_growth none = {0};
	CLEANUP_FREE uint64_t *times = mem_zalloc_array(ADDRESSES, sizeof(*times));
	CLEANUP(str_deinit) struct str got = {0};
	int fd = forged_fd(str_text(&text), text.len);
	struct perf_map_wanted wanted = {addresses, times, ADDRESSES};
	struct perf_map_names names = {log_entry, log_place, &got};
	perf_map_read(fd, &none, &wanted, UINT32_MAX, &names);
	close(fd);
	/* What stood there between was beyond the limit, so nothing is sure. */
	CHECK(!strstr(str_text(&got), "+"));
	CHECK(strstr(str_text(&got), "\nc350 all of 1 from 0 sure " NEVER "\n"));
}

/* ---- whose file it is ---- */

static void log_place_of(void *context, const struct object *object, const struct code_place *place)
{
	(void)object;
	log_place(context, place);
}

static void log_entry_of(
	void *context, const struct object *object, const struct perf_map_entry *entry)
{
	(void)object;
	log_entry(context, entry);
}

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
	jit_table_want(&fixture->table, object, address, 1);
	struct jit_names names = {log_place_of, log_entry_of, &got};
	jit_table_name_all(&fixture->table, &names);
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

static void append(const char *path, const char *text)
{
	FILE *file = fopen(path, "a");
	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

/* Both functions are told, and from which look on the second one is the right one. */
TEST(jit_watches_the_map_grow)
{
	struct fixture fixture;
	setup(&fixture, "1000 20 early\n");
	struct object *object = jit_table_object(&fixture.table, fixture.process);
	jit_table_watch(&fixture.table, 1);
	append(fixture.path, "1000 20 late\n");
	CLEANUP(str_deinit) struct str got = {0};
	jit_table_want(&fixture.table, object, 0x1008, 1);
	struct jit_names names = {log_place_of, log_entry_of, &got};
	jit_table_name(&fixture.table, object, &names);
	CHECK(strstr(str_text(&got), "1008 early of 1000 from 0 sure 0\n"));
	CHECK(strstr(str_text(&got), "1008 late of 1000 from ") &&
		!strstr(str_text(&got), "late of 1000 from 0"));
	CHECK_INT(fixture.table.nr_open, 0);
	teardown(&fixture);
}

/* What was there can still be read when it is gone. */
TEST(jit_names_from_a_map_that_was_removed)
{
	struct fixture fixture;
	setup(&fixture, "1000 20 made\n");
	jit_table_object(&fixture.table, fixture.process);
	jit_table_watch(&fixture.table, 1);
	unlink(fixture.path);
	check_name(&fixture, 0x1008, "1000+20 made\n");
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

/* ---- jitdumps that processes share ---- */

/* A function at 0x1000 in a new file jit-1.dump in `folder`. */
static void make_dump(const char *path)
{
	static const char name[] = "shared";
	struct bytes_buf dump = {0};
	const uint32_t header[] = {0x4a695444, 1, 40, 62, 0, 1, 1, 0, 0, 0};
	const uint64_t load[] = {1, 0x1000, 0x1000, 0x40, 1};
	bytes_put(&dump, header, sizeof(header));
	bytes_put_u32(&dump, 0);
	bytes_put_u32(&dump, 16 + sizeof(load) + sizeof(name) + 0x40);
	bytes_put_u64(&dump, 5);
	bytes_put(&dump, load, sizeof(load));
	bytes_put(&dump, name, sizeof(name));
	bytes_put(&dump, (char[0x40]){0}, 0x40);
	FILE *file = fopen(path, "w");
	CHECK(file && fwrite(dump.data, dump.len, 1, file) == 1 && !fclose(file));
	bytes_buf_deinit(&dump);
}

/* Of another process than this one, which has the dump mapped; it ends with the test's. */
static struct process *share_dump(struct fixture *fixture, uint32_t pid, const char *path)
{
	struct stat st;
	CHECK_INT(stat(path, &st), 0);
	process_table_fork(&fixture->processes, fixture->process->pid, pid, 1);
	struct process *process = process_table_find(&fixture->processes, pid);
	struct object_location where = {pid, 0x7000, 0x8000};
	struct mapping marker = {.start = 0x7000, .end = 0x8000};
	marker.object = object_table_by_inode(
		&fixture->objects, path, (uint32_t)st.st_dev, st.st_ino, false, &where);
	jit_table_note_dump(&fixture->table, process, &marker);
	jit_table_want(&fixture->table, jit_table_object(&fixture->table, process), 0x1008, 1);
	return process;
}

TEST(jit_names_of_a_dump_that_processes_share)
{
	struct fixture fixture;
	char folder[] = "/tmp/jit.XXXXXX", path[64];
	setup(&fixture, "");
	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/jit-1.dump", folder);
	make_dump(path);
	CLEANUP(str_deinit) struct str got = {0};
	struct jit_names names = {log_place_of, log_entry_of, &got};
	struct process *first = share_dump(&fixture, 0x7ffffff0, path);
	share_dump(&fixture, 0x7ffffff1, path);
	share_dump(&fixture, 0x7ffffff2, path);
	jit_table_name(&fixture.table, first->compiled, &names); /* it ends first */
	CHECK_STR(str_text(&got), "1008 shared of 1000 from 5 sure 0\n");
	jit_table_name_all(&fixture.table, &names);
	CHECK_STR(str_text(&got), "1008 shared of 1000 from 5 sure 0\n"
				  "1008 shared of 1000 from 5 sure 0\n"
				  "1008 shared of 1000 from 5 sure 0\n");
	CHECK_INT(fixture.table.nr_wanted, 0);
	CHECK_INT(fixture.table.given_up, 0);
	unlink(path);
	rmdir(folder);
	teardown(&fixture);
}

/* Processes that end one after the other have used up the time. */
TEST(jit_counts_names_for_which_there_is_no_time)
{
	struct fixture fixture;
	setup(&fixture, "1000 20 made\n");
	CLEANUP(str_deinit) struct str got = {0};
	struct jit_names names = {log_place_of, log_entry_of, &got};
	struct object *object = jit_table_object(&fixture.table, fixture.process);
	jit_table_want(&fixture.table, object, 0x1008, 1);
	fixture.table.filled_ns = UINT64_MAX; /* in the future: so no time has passed */
	jit_table_name(&fixture.table, object, &names);
	CHECK_STR(str_text(&got), "");
	CHECK_INT(fixture.table.given_up, 1);
	teardown(&fixture);
}

/* What the process wrote comes first; code that two files called is nobody's. */
TEST(jit_names_by_owner_what_has_no_name)
{
	struct fixture fixture;
	static const char pcre2[] = "[pcre2 jit]", ruby[] = "[ruby jit]";
	setup(&fixture, "1000 20 made\n");
	struct object *object = jit_table_object(&fixture.table, fixture.process);
	jit_table_note_owner(&fixture.table, object, 0x1008, pcre2);
	jit_table_note_owner(&fixture.table, object, 0x2010, pcre2);
	jit_table_note_owner(&fixture.table, object, 0x2000, pcre2);
	jit_table_note_owner(&fixture.table, object, 0x2000, pcre2);
	jit_table_note_owner(&fixture.table, object, 0x3000, ruby);
	jit_table_note_owner(&fixture.table, object, 0x4000, ruby);
	jit_table_note_owner(&fixture.table, object, 0x4000, pcre2);
	jit_table_note_owner(&fixture.table, object, 0x4000, ruby);
	for (uint64_t address = 0x1000; address <= 0x5000; address += 0x1000)
		jit_table_want(&fixture.table, object, address, 1);
	jit_table_want(&fixture.table, object, 0x1008, 1);
	check_name(&fixture, 0x2010,
		"1000+20 made\n2000 [pcre2 jit] of 2000 from 0 sure 0\n"
		"2010 [pcre2 jit] of 2000 from 0 sure 0\n3000 [ruby jit] of 3000 from 0 sure 0\n");
	CHECK_INT(fixture.table.nr_owned, 5);
	teardown(&fixture);
}
