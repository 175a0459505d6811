/*
 * Whose table a file gets: another file's with the same build ID never counts, whatever that one's
 * owner is and however alike they are.
 */
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/err.h"
#include "format/base/mem.h"
#include "format/elf/elf_file.h"
#include "record/unwind/table_builder.h"
#include "tests/unit/unit.h"

struct fixture {
	char folder[32], cache[64];
	uint8_t *bytes; /* of this very program */
	size_t len;
};

static void setup(struct fixture *fixture)
{
	*fixture = (struct fixture){.folder = "builder.XXXXXX"};
	CHECK(mkdtemp(fixture->folder));
	snprintf(fixture->cache, sizeof(fixture->cache), "%s/cache", fixture->folder);
	CLEANUP_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	CHECK_INT(fstat(fd, &st), 0);
	fixture->len = (size_t)st.st_size;
	fixture->bytes = mem_alloc(fixture->len);
	for (size_t done = 0; done < fixture->len;) {
		ssize_t got = read(fd, fixture->bytes + done, fixture->len - done);
		CHECK(got > 0);
		done += (size_t)got;
	}
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
	remove_folder(fixture->cache);
	remove_folder(fixture->folder);
	mem_free(fixture->bytes);
}

static int count_entries(const struct fixture *fixture)
{
	int count = 0;
	DIR *dir = opendir(fixture->cache);
	CHECK(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static struct table_result wait_for_table(struct table_builder *builder)
{
	struct table_result result;
	while (!table_builder_take(builder, &result)) {
		struct pollfd fd = {.fd = table_builder_fd(builder), .events = POLLIN};
		poll(&fd, 1, 100);
	}
	return result;
}

/* The table that a recording gets of a file with this contents. */
static enum table_origin provide(
	const struct fixture *fixture, const void *bytes, size_t len, size_t *nr_rows)
{
	struct cache *cache;
	struct table_builder *builder;
	struct table_result result;
	struct elf_file *elf;
	char path[64];
	snprintf(path, sizeof(path), "%s/file", fixture->folder);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	CHECK_INT(write(fd, bytes, len), len);
	CHECK_OK(table_cache_open(fixture->cache, &cache));
	CHECK_OK(table_builder_create(cache, &builder));
	CHECK_OK(elf_file_open(fd, &elf));
	table_builder_submit(builder, 7, fd, elf);
	/* With sanitizers it takes so long that the runtime alone may come first. */
	while ((result = wait_for_table(builder)).origin == TABLE_PENDING)
		unwind_table_deinit(&result.table);
	*nr_rows = result.table.rows.len;
	unwind_table_deinit(&result.table);
	table_builder_destroy(builder);
	return result.origin;
}

static struct elf_section find(const struct fixture *fixture, const char *name)
{
	struct elf_file *elf;
	CHECK_OK(elf_file_open_memory(fixture->bytes, fixture->len, &elf));
	const struct elf_section *section = elf_file_find_section(elf, name);
	CHECK(section);
	struct elf_section ret = *section;
	elf_file_destroy(elf);
	return ret;
}

TEST(table_builder_keeps_what_it_made)
{
	struct fixture fixture;
	size_t built, loaded;
	setup(&fixture);
	CHECK_INT(provide(&fixture, fixture.bytes, fixture.len, &built), TABLE_BUILT);
	CHECK(built > 100);
	CHECK_INT(provide(&fixture, fixture.bytes, fixture.len, &loaded), TABLE_FROM_CACHE);
	CHECK_INT(loaded, built);
	CHECK_INT(count_entries(&fixture), 1);
	teardown(&fixture);
}

/* Of a virtual machine's library, where there is one: the table takes a while. */
TEST(table_builder_tells_the_runtime_of_a_large_file_first)
{
	glob_t found = {0};
	struct table_builder *builder;
	struct elf_file *elf;
	if (glob("/usr/lib/jvm/*/lib/server/libjvm.so", 0, NULL, &found)) {
		globfree(&found);
		return;
	}
	int fd = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	globfree(&found);
	CHECK(fd >= 0);
	CHECK_OK(table_builder_create(NULL, &builder));
	CHECK_OK(elf_file_open(fd, &elf));
	table_builder_submit(builder, 7, fd, elf);
	struct table_result first = wait_for_table(builder), second = wait_for_table(builder);
	CHECK_INT(first.id, 7);
	CHECK_INT(first.origin, TABLE_PENDING);
	CHECK_INT(first.table.runtime.kind, RUNTIME_JAVA);
	CHECK_INT(second.id, 7);
	CHECK_INT(second.origin, TABLE_BUILT);
	CHECK_INT(memcmp(&second.table.runtime, &first.table.runtime, sizeof(first.table.runtime)),
		0);
	unwind_table_deinit(&second.table);
	table_builder_destroy(builder);
}

/* Same build ID, size and headers, but no frames: as a container's root can make one. */
TEST(table_builder_believes_no_build_id)
{
	struct fixture fixture;
	size_t fake_rows, real_rows, again;
	setup(&fixture);
	struct elf_section frames = find(&fixture, ".eh_frame");
	uint8_t *fake = mem_alloc(fixture.len);
	memcpy(fake, fixture.bytes, fixture.len);
	memset(fake + frames.offset, 0, frames.size);
	CHECK_INT(provide(&fixture, fake, fixture.len, &fake_rows), TABLE_BUILT);
	CHECK_INT(provide(&fixture, fixture.bytes, fixture.len, &real_rows), TABLE_BUILT);
	CHECK(real_rows > 10 * fake_rows);
	CHECK_INT(provide(&fixture, fixture.bytes, fixture.len, &again), TABLE_FROM_CACHE);
	CHECK_INT(again, real_rows);
	mem_free(fake);
	teardown(&fixture);
}

/* A byte of a function's rules, and a byte that no table is made from. */
TEST(table_builder_sees_each_byte_that_counts)
{
	struct fixture fixture;
	size_t rows;
	setup(&fixture);
	struct elf_section frames = find(&fixture, ".eh_frame");
	struct elf_section comment = find(&fixture, ".comment");
	CHECK_INT(provide(&fixture, fixture.bytes, fixture.len, &rows), TABLE_BUILT);
	fixture.bytes[comment.offset] ^= 1;
	CHECK_INT(provide(&fixture, fixture.bytes, fixture.len, &rows), TABLE_FROM_CACHE);
	uint64_t places[] = {frames.offset, frames.offset + frames.size / 2,
		frames.offset + frames.size - 5, offsetof(Elf64_Ehdr, e_entry)};
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		fixture.bytes[places[i]] ^= 1;
		CHECK_INT(provide(&fixture, fixture.bytes, fixture.len, &rows), TABLE_BUILT);
	}
	teardown(&fixture);
}

/* Files that differ in their segments do not drive each other out. */
TEST(table_builder_keeps_several_of_a_build_id)
{
	struct fixture fixture;
	size_t rows;
	setup(&fixture);
	uint8_t *longer = mem_zalloc_array(fixture.len + 4096, 1);
	memcpy(longer, fixture.bytes, fixture.len);
	CHECK_INT(provide(&fixture, fixture.bytes, fixture.len, &rows), TABLE_BUILT);
	CHECK_INT(provide(&fixture, longer, fixture.len + 4096, &rows), TABLE_BUILT);
	CHECK_INT(provide(&fixture, fixture.bytes, fixture.len, &rows), TABLE_FROM_CACHE);
	CHECK_INT(provide(&fixture, longer, fixture.len + 4096, &rows), TABLE_FROM_CACHE);
	CHECK_INT(count_entries(&fixture), 2);
	mem_free(longer);
	teardown(&fixture);
}

TEST(table_builder_keeps_what_has_no_build_id)
{
	struct fixture fixture;
	size_t rows;
	setup(&fixture);
	struct elf_section note = find(&fixture, ".note.gnu.build-id");
	memset(fixture.bytes + note.offset, 0, note.size);
	CHECK_INT(provide(&fixture, fixture.bytes, fixture.len, &rows), TABLE_BUILT);
	CHECK_INT(provide(&fixture, fixture.bytes, fixture.len, &rows), TABLE_FROM_CACHE);
	CHECK_INT(count_entries(&fixture), 1);
	teardown(&fixture);
}

/* Cut while its table was made, and whole again later: that table is of no file. */
TEST(table_inputs_are_incomplete_when_reading_failed)
{
	struct fixture fixture;
	struct elf_file *elf;
	struct table_inputs inputs;
	uint8_t byte;
	setup(&fixture);
	char path[64];
	snprintf(path, sizeof(path), "%s/file", fixture.folder);
	CLEANUP_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	CHECK_INT(write(fd, fixture.bytes, fixture.len), fixture.len);
	CHECK_OK(elf_file_open(fd, &elf));
	table_inputs_begin(&inputs, elf);
	CHECK_OK(elf_file_read_into(elf, 9000, &byte, 1));
	CHECK_INT(ftruncate(fd, 8192), 0);
	CHECK_ERR(elf_file_read_into(elf, 9000, &byte, 1), ERR_FORMAT, "shrank");
	CHECK(!table_inputs_end(&inputs, elf));
	table_inputs_deinit(&inputs);
	elf_file_destroy(elf);
	teardown(&fixture);
}

TEST(table_inputs_have_a_limit)
{
	static const uint8_t header[64] = {
		0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
	struct elf_file *elf;
	struct table_inputs inputs;
	uint8_t byte;
	CHECK_OK(elf_file_open_memory(header, sizeof(header), &elf));
	table_inputs_begin(&inputs, elf);
	for (unsigned i = 1; i < TABLE_INPUTS_MAX_PLACES; i++)
		CHECK_OK(elf_file_read_into(elf, i % 2 * 2, &byte, 1));
	CHECK(table_inputs_end(&inputs, elf));
	CHECK(table_inputs_match(&inputs, elf));
	table_inputs_deinit(&inputs);
	table_inputs_begin(&inputs, elf);
	for (unsigned i = 1; i < TABLE_INPUTS_MAX_PLACES + 4; i++)
		CHECK_OK(elf_file_read_into(elf, i % 2 * 2, &byte, 1));
	CHECK_INT(inputs.places.len, TABLE_INPUTS_MAX_PLACES);
	CHECK(!table_inputs_end(&inputs, elf));
	table_inputs_deinit(&inputs);
	elf_file_destroy(elf);
}

/* ---- runtimes ---- */

static struct err *refuse_ruby(void *context, uint32_t runtimes)
{
	uint32_t *asked = context;
	*asked |= runtimes;
	if (runtimes >> RUNTIME_RUBY & 1)
		return err_new(ERR_IO, "no room");
	return NULL;
}

/* Also that tables come behind what was wanted before them. */
TEST(table_builder_prepares_runtimes)
{
	struct fixture fixture;
	struct table_builder *builder;
	struct elf_file *elf;
	const struct err *why;
	uint32_t asked = 0;
	setup(&fixture);
	CHECK_OK(table_builder_create(NULL, &builder));
	table_builder_on_runtime(builder, refuse_ruby, &asked);
	CHECK_INT(table_builder_refused(builder, &why), 0);
	table_builder_want(builder, 1U << RUNTIME_LUA);
	table_builder_want(builder, 1U << RUNTIME_RUBY);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK_OK(elf_file_open(fd, &elf));
	table_builder_submit(builder, 7, fd, elf);
	struct table_result result = wait_for_table(builder);
	unwind_table_deinit(&result.table);
	/* Another thread than the one that made the table. */
	uint32_t refused = 0;
	for (int i = 0; i < 500 && !(refused = table_builder_refused(builder, &why)); i++)
		poll(NULL, 0, 10);
	CHECK_INT(asked, 1U << RUNTIME_LUA | 1U << RUNTIME_RUBY);
	CHECK(refused >> RUNTIME_RUBY & 1);
	CHECK_STR(err_message(why), "no room");
	table_builder_destroy(builder);
	teardown(&fixture);
}
