/* The function in which dirty schedulers work: what a program's own symbol says, and its code. */
#include "record/runtime/erlang/erlang_dirty.h"

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include "format/elf/elf_dynsym.h"
#include "format/elf/elf_file.h"
#include "tests/unit/unit.h"

static const char *const symbol[] = {"erts_dirty_process_main"};

/* -1: there is none. */
static int open_emulator(void)
{
	glob_t found;
	int fd = -1;
	if (glob("/usr/lib/erlang/erts-*/bin/beam.smp", 0, NULL, &found) == 0)
		fd = open(found.gl_pathv[0], O_RDONLY | O_CLOEXEC);
	globfree(&found);
	return fd;
}

TEST(code_says_what_the_symbol_says)
{
	struct elf_file *elf;
	struct elf_dynsym dirty = {0};
	uint64_t start, end;
	int fd = open_emulator();
	if (fd < 0)
		unit_skip("no Erlang here");
	CHECK_OK(elf_file_open(fd, &elf));
	CHECK_OK(erlang_dirty_find(elf, &start, &end));
	CHECK(start && end > start);
	CHECK_OK(elf_dynsym_find(elf, symbol, 1, &dirty));
	if (dirty.address) {
		CHECK_INT(start, dirty.address);
		CHECK_INT(end, dirty.address + dirty.size);
	}
	elf_file_destroy(elf);
	close(fd);
}

TEST(another_program_has_no_such_function)
{
	struct elf_file *elf;
	uint64_t start = 1, end = 1;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_OK(elf_file_open(fd, &elf));
	CHECK_OK(erlang_dirty_find(elf, &start, &end));
	CHECK(!start && !end);
	elf_file_destroy(elf);
	close(fd);
}
