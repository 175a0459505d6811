/* What BEAM's threads run: what a program's own symbols say, and its code. */
#include "record/runtime/erlang/erlang_threads.h"

#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/mman.h>
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
	struct erlang_threads threads;
	int fd = open_emulator();
	if (fd < 0)
		unit_skip("no Erlang here");
	CHECK_OK(elf_file_open(fd, &elf));
	CHECK_OK(erlang_threads_find(elf, &threads));
	CHECK(threads.dirty_start && threads.dirty_end > threads.dirty_start);
	CHECK(threads.scheduler_return);
	CHECK_OK(elf_dynsym_find(elf, symbol, 1, &dirty));
	if (dirty.address) {
		CHECK_INT(threads.dirty_start, dirty.address);
		CHECK_INT(threads.dirty_end, dirty.address + dirty.size);
	}
	elf_file_destroy(elf);
	close(fd);
}

/* An emulator's file, of one segment, of arm64. */
struct emulator {
	Elf64_Ehdr head;
	Elf64_Phdr segment;
	uint32_t code[16];
	char message[32];
};

enum {
	CODE_AT = 0x42a00,
	MESSAGE_AT = CODE_AT + 64,
};

static void find_in(const struct emulator *emulator, struct erlang_threads *ret)
{
	struct elf_file *elf;
	int fd = memfd_create("emulator", MFD_CLOEXEC);
	CHECK(fd >= 0 && write(fd, emulator, sizeof(*emulator)) == (ssize_t)sizeof(*emulator));
	CHECK_OK(elf_file_open(fd, &elf));
	CHECK_OK(erlang_threads_find(elf, ret));
	elf_file_destroy(elf);
	close(fd);
}

/* As OTP 29 has it, which looks behind the call whether its stack is what it was. */
TEST(a_scheduler_goes_on_behind_the_call_ahead_of_its_message)
{
	struct erlang_threads threads;
	struct emulator emulator = {
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				 EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_AARCH64,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(struct emulator, segment),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1},
		.segment = {.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_offset = offsetof(struct emulator, code),
			.p_vaddr = CODE_AT,
			.p_filesz = sizeof(emulator.code) + sizeof(emulator.message),
			.p_memsz = sizeof(emulator.code) + sizeof(emulator.message)},
		.code =
			{
				0xd503201f, 0x97ffffff, /* bl, to what a scheduler runs */
				0xf0002660,             /* adrp x0, ... */
				0xf9464400,             /* ldr x0, [x0, ...] */
				0xf94017e2,             /* ldr x2, [sp, 40] */
				0xf9400001,             /* ldr x1, [x0] */
				0xeb010042,             /* subs x2, x2, x1 */
				0xd2800001,             /* mov x1, 0 */
				0x54000361,             /* b.ne */
				0x90000001,             /* adrp x1, of this page */
				0xaa1503e2,             /* mov x2, x21 */
				0x91290021,             /* add x1, x1, 0xa40 */
				0x12800020,             /* mov w0, -2 */
				0x97ffffff,             /* bl, which ends it all */
			},
		.message = "Scheduler thread number %beu",
	};
	find_in(&emulator, &threads);
	CHECK_INT(threads.scheduler_return, CODE_AT + 8);
	CHECK_INT(threads.dirty_start, 0);
	emulator.code[11] = 0x91280021; /* another text */
	find_in(&emulator, &threads);
	CHECK_INT(threads.scheduler_return, 0);
}

TEST(another_program_has_no_such_function)
{
	struct elf_file *elf;
	struct erlang_threads threads = {1, 1, 1};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_OK(elf_file_open(fd, &elf));
	CHECK_OK(erlang_threads_find(elf, &threads));
	CHECK(!threads.dirty_start && !threads.dirty_end && !threads.scheduler_return);
	elf_file_destroy(elf);
	close(fd);
}
