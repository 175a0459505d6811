/* The kernel's symbols on disk: those of the kernel itself, and nothing that does not fit it. */
#include "record/task/kernel_symbols_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/fd.h"
#include "tests/unit/forged.h"
#include "tests/unit/unit.h"

static const char boot[] = "0123456789abcdef0123456789abcdef";
static const char others_boot[] = "0123456789abcdef0123456789abcdee";

struct fixture {
	char folder[64], file[128];
	struct kernel_symbols symbols;
};

static void fixture_init(struct fixture *fixture, const char *text)
{
	*fixture = (struct fixture){.folder = "/tmp/ebprof-unit.XXXXXX"};
	CHECK(mkdtemp(fixture->folder));
	snprintf(fixture->file, sizeof(fixture->file), "%s/%s.kernel", fixture->folder, boot);
	CLEANUP_FD int fd = forged_fd(text, strlen(text));
	kernel_symbols_read(&fixture->symbols, fd);
	kernel_symbols_cache_store(fixture->folder, boot, &fixture->symbols.list);
}

static void fixture_deinit(struct fixture *fixture)
{
	unlink(fixture->file);
	CHECK_INT(rmdir(fixture->folder), 0);
	kernel_symbols_deinit(&fixture->symbols);
}

static const char some[] = "fff T ahead\n1000 T _text\n1100 t b\n1100 t b_again\n1ff0 w c\n"
			   "2000 T _etext\n3000 t init\n5000 t m\t[m]\n";

static bool loads(const struct fixture *fixture, const char *of_boot, uint64_t text_start)
{
	struct kernel_symbols symbols = {0};
	bool is_there =
		kernel_symbols_cache_load(fixture->folder, of_boot, text_start, &symbols.list);
	CHECK(is_there == (symbols.list.entries.len > 0));
	kernel_symbols_deinit(&symbols);
	return is_there;
}

static void check_name(struct kernel_symbols *symbols, uint64_t address, const char *want)
{
	struct kernel_symbol symbol;
	CHECK(kernel_symbols_find(symbols, address, &symbol));
	CHECK_STR(symbol.name, want);
}

TEST(kernel_symbols_are_kept_without_modules)
{
	struct fixture fixture;
	struct kernel_symbols symbols = {0};
	fixture_init(&fixture, some);
	CHECK(kernel_symbols_cache_load(fixture.folder, boot, 0x1000, &symbols.list));
	CHECK_INT(symbols.list.entries.len, 5);
	CHECK_INT(symbols.list.text_end, 0x2000);
	check_name(&symbols, 0x1000, "_text");
	check_name(&symbols, 0x1108, "b");
	check_name(&symbols, 0x1fff, "c");
	kernel_symbols_deinit(&symbols);
	fixture_deinit(&fixture);
}

TEST(kernel_symbols_of_another_boot_are_not_taken)
{
	struct fixture fixture;
	fixture_init(&fixture, some);
	CHECK(loads(&fixture, boot, 0x1000));
	CHECK(!loads(&fixture, others_boot, 0x1000));
	CHECK(!loads(&fixture, boot, 0x2000)); /* it stands elsewhere */
	fixture_deinit(&fixture);
}

TEST(kernel_symbols_without_an_end_are_not_kept)
{
	struct fixture fixture;
	fixture_init(&fixture, "1000 T _text\n1100 t b\n");
	CHECK(!loads(&fixture, boot, 0x1000));
	fixture_deinit(&fixture);
	fixture_init(&fixture, "0 T _text\n0 t b\n0 T _etext\n"); /* hidden */
	CHECK(!loads(&fixture, boot, 0));
	fixture_deinit(&fixture);
}

/* Each byte changed, and each length: nothing is found, or what was stored. */
TEST(kernel_symbols_that_are_damaged_are_not_taken)
{
	struct fixture fixture;
	char bytes[1024];
	fixture_init(&fixture, some);
	CLEANUP_FD int fd = open(fixture.file, O_RDWR | O_CLOEXEC);
	ssize_t len = read(fd, bytes, sizeof(bytes));
	CHECK(len > 64 && len < (ssize_t)sizeof(bytes));
	for (ssize_t i = 0; i < len; i++) {
		char changed = (char)(bytes[i] ^ 0x10);
		CHECK_INT(pwrite(fd, &changed, 1, i), 1);
		CHECK(!loads(&fixture, boot, 0x1000));
		CHECK_INT(pwrite(fd, &bytes[i], 1, i), 1);
	}
	CHECK(loads(&fixture, boot, 0x1000));
	for (ssize_t i = len; i-- > 0;) {
		CHECK_INT(ftruncate(fd, i), 0);
		CHECK(!loads(&fixture, boot, 0x1000));
	}
	fixture_deinit(&fixture);
}

/* The real ones; here they may be hidden. What is not the kernel's own is read when it is wanted.
 */
TEST(kernel_symbols_of_this_boot_come_from_the_cache)
{
	struct kernel_symbols all = {0}, kept = {0};
	char folder[] = "/tmp/ebprof-unit.XXXXXX", command[64];
	struct kernel_symbol symbol;
	CHECK(mkdtemp(folder));
	for (int i = 0; i < 2; i++) {
		kernel_symbols_start(&kept, folder);
		kernel_symbols_wait(&kept);
	}
	kernel_symbols_wait(&all);
	const struct kernel_symbol_list *list = &all.list;
	if (!list->text_start)
		unit_skip("the kernel's addresses are hidden");
	CHECK(kept.is_part);
	CHECK_INT(kernel_symbols_text_end(&kept), list->text_end);
	size_t inside = 0;
	vec_each(&all.list.entries, entry) {
		if (entry->address < list->text_start || entry->address >= list->text_end)
			continue;
		const char *name = all.list.names.data + entry->name;
		bool is_alias =
			entry > all.list.entries.data && entry[-1].address == entry->address;
		if (!is_alias)
			check_name(&kept, entry->address, name);
		inside++;
	}
	CHECK(inside > 1000 && inside <= kept.list.entries.len);
	CHECK(kept.is_part);
	CHECK(kernel_symbols_find(&kept, UINT64_MAX, &symbol));
	CHECK(!kept.is_part);
	CHECK(kept.list.entries.len > inside);
	kernel_symbols_deinit(&kept);
	kernel_symbols_deinit(&all);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK_INT(system(command), 0);
}
