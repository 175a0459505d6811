/* Rules of single places against those of whole tables, of files that are there. */
#include "record/unwind/frame_search.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "record/runtime/runtime.h"
#include "record/unwind/unwind_functions.h"
#include "record/unwind/unwind_table.h"
#include "tests/unit/forged_bundle.h"
#include "tests/unit/forged_clr.h"
#include "tests/unit/unit.h"

struct fixture {
	struct object_table objects;
	struct object *object;
	int fd;
	struct elf_file *elf;
	struct unwind_table table;
	struct frame_search search;
};

static void fixture_init(struct fixture *fixture, const char *path)
{
	static const struct object_location nowhere;
	*fixture = (struct fixture){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	CHECK(fixture->fd >= 0);
	CHECK_OK(elf_file_open(fixture->fd, &fixture->elf));
	CHECK_OK(unwind_table_build(fixture->elf, &fixture->table));
	fixture->object = object_table_by_inode(&fixture->objects, path, 0, 0, false, &nowhere);
}

static void fixture_deinit(struct fixture *fixture)
{
	frame_search_deinit(&fixture->search);
	unwind_table_deinit(&fixture->table);
	elf_file_destroy(fixture->elf);
	mem_close_fd(&fixture->fd);
	object_table_deinit(&fixture->objects);
}

/* A part of the file. */
struct range {
	uint64_t offset, len;
};

static struct range code_of(const struct fixture *fixture)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(fixture->elf, &count);
	for (size_t i = 0; i < count; i++)
		if (segments[i].flags & PF_X)
			return (struct range){segments[i].offset, segments[i].filesz};
	CHECK(!"a file with code");
	return (struct range){0};
}

struct comparison {
	size_t equal, different, missing; /* places: the table alone has a rule */
};

/* The table alone knows which functions run scripts; here none does. */
static struct comparison compare(struct fixture *fixture, struct range range, size_t places)
{
	struct comparison result = {0};
	for (size_t i = 0; i < places; i++) {
		uint64_t offset = range.offset + range.len * i / places;
		const struct unwind_rule *in_table = unwind_table_find(&fixture->table, offset);
		const struct unwind_rule *found =
			frame_search_find(&fixture->search, fixture->object, offset);
		if (!found)
			result.missing += in_table->cfa != UNWIND_CFA_NONE;
		else if (memcmp(found, in_table, sizeof(*found)) == 0)
			result.equal++;
		else
			result.different++;
	}
	return result;
}

static int take_libc(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	*(const char **)path = info->dlpi_name;
	return 1;
}

/* What the table has beyond .eh_frame: gaps between functions, which it reads the code of. */
TEST(what_the_search_finds_is_what_the_table_says)
{
	enum {
		PLACES = 4000
	};
	struct fixture fixture;
	const char *path = NULL;
	CHECK_INT(dl_iterate_phdr(take_libc, &path), 1);
	fixture_init(&fixture, path);
	struct comparison result = compare(&fixture, code_of(&fixture), PLACES);
	CHECK_INT(result.different, 0);
	/* Half of what arm64 may execute of it is no code. */
	CHECK(result.equal >= PLACES * 2 / 5);
	CHECK(result.missing <= result.equal / 40);
	fixture_deinit(&fixture);
}

static int take_loader(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/ld-linux"))
		return 0;
	*(const char **)path = info->dlpi_name;
	return 1;
}

/* A dynamic loader's first instructions are hand-written; on x86-64 without call frame information.
 */
TEST(a_search_finds_where_a_program_begins)
{
	struct fixture fixture;
	const char *path = NULL;
	uint64_t start, end, offset, left;
	size_t count;
	CHECK_INT(dl_iterate_phdr(take_loader, &path), 1);
	fixture_init(&fixture, path);
	CHECK(unwind_functions_entry(fixture.elf, &start, &end) && start < end);
	const struct elf_segment *segments = elf_file_segments(fixture.elf, &count);
	CHECK(elf_segments_vaddr_to_offset(segments, count, start, &offset, &left));
	const struct unwind_rule *in_table = unwind_table_find(&fixture.table, offset);
	const struct unwind_rule *found =
		frame_search_find(&fixture.search, fixture.object, offset);
#if defined(__x86_64__)
	CHECK(found && found->ra == UNWIND_UNDEFINED);
#endif
	CHECK(found && memcmp(found, in_table, sizeof(*found)) == 0);
	fixture_deinit(&fixture);
}

enum {
	EACH = 4 /* bytes of code */
};

/* By the functions that the images list. */
static void check_forged(struct bytes_buf image, size_t least)
{
	struct fixture fixture;
	char path[] = "/tmp/ebprof_frame_search_XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	CHECK(fd >= 0 && write(fd, image.data, image.len) == (ssize_t)image.len);
	mem_close_fd(&fd);
	fixture_init(&fixture, path);
	struct range all = {0, image.len};
	struct comparison result = compare(&fixture, all, image.len / EACH);
	CHECK_INT(result.different, 0);
	CHECK_INT(result.missing, 0);
	CHECK(result.equal >= least);
	fixture_deinit(&fixture);
	CHECK_INT(unlink(path), 0);
	bytes_buf_deinit(&image);
}

TEST(a_search_finds_code_of_dotnet)
{
	enum {
		LEAST = FORGED_CLR_FUNCTION_BYTES * 3 / EACH
	};
	check_forged(forged_clr_make_for(false), LEAST);
	check_forged(forged_clr_make_for(true), LEAST);
	check_forged(forged_bundle_make(), 2 * LEAST);
}

/* As NativeAOT compiles: rows end with the prologue, and an epilogue has the body's. */
#if defined(__x86_64__)
__asm__(".pushsection __managedcode, \"ax\", @progbits\n"
	".cfi_startproc\n"
	"push %rbx\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset 3, -16\n"
	"sub $32, %rsp\n"
	".cfi_def_cfa_offset 48\n"
	"nop\n"
	"add $32, %rsp\n"
	"pop %rbx\n"
	"ret\n"
	".cfi_endproc\n"
	".popsection\n");
enum {
	RETURN_BYTES = 1,
};
#elif defined(__aarch64__)
__asm__(".pushsection __managedcode, \"ax\", @progbits\n"
	".cfi_startproc\n"
	"stp x29, x30, [sp, #-32]!\n"
	".cfi_def_cfa_offset 32\n"
	".cfi_offset 29, -32\n"
	".cfi_offset 30, -24\n"
	"nop\n"
	"ldp x29, x30, [sp], #32\n"
	"ret\n"
	".cfi_endproc\n"
	".popsection\n");
enum {
	RETURN_BYTES = 4,
};
#endif

TEST(a_search_does_not_guess_at_epilogues)
{
	struct fixture fixture;
	fixture_init(&fixture, "/proc/self/exe");
	const struct elf_section *section = elf_file_find_section(fixture.elf, "__managedcode");
	CHECK(section);
	const struct unwind_rule *at_return =
		unwind_table_find(&fixture.table, section->offset + section->size - RETURN_BYTES);
	const struct unwind_rule *in_body =
		unwind_table_find(&fixture.table, section->offset + section->size / 2);
	CHECK(at_return->cfa == UNWIND_CFA_REGISTER && in_body->cfa == UNWIND_CFA_REGISTER);
	CHECK(at_return->cfa_offset < in_body->cfa_offset);
	struct range range = {section->offset, section->size};
	CHECK_INT(compare(&fixture, range, section->size).different, 0);
	fixture_deinit(&fixture);
}

TEST(a_search_of_a_file_without_a_header_finds_nothing)
{
	struct fixture fixture;
	static const struct object_location nowhere;
	fixture_init(&fixture, "/proc/self/exe");
	fixture.object =
		object_table_by_inode(&fixture.objects, "/proc/self/status", 0, 0, false, &nowhere);
	CHECK(!frame_search_find(&fixture.search, fixture.object, 0x1000));
	CHECK(!frame_search_find(&fixture.search, fixture.object, 0x1000));
	fixture_deinit(&fixture);
}

/* A table would have taken less by then. */
TEST(look_ups_of_a_file_are_limited)
{
	enum {
		PLACES = 5000,
		LIMIT = 4096
	};
	struct fixture fixture;
	fixture_init(&fixture, "/proc/self/exe");
	struct comparison result = compare(&fixture, code_of(&fixture), PLACES);
	CHECK(result.equal <= LIMIT);
	CHECK(result.missing > 0);
	frame_search_forget(&fixture.search, fixture.object->serial);
	CHECK_INT(compare(&fixture, code_of(&fixture), 100).different, 0);
	fixture_deinit(&fixture);
}

/* Between the frames of an interpreter's loop stand those of scripts. */
TEST(files_with_an_interpreters_loop_are_told_from_others)
{
	static const char perl[] = "/usr/bin/perl";
	static const struct object_location nowhere;
	struct fixture fixture;
	struct runtime_file runtime = {0};
	struct elf_file *elf;
	fixture_init(&fixture, "/proc/self/exe");
	CHECK(frame_search_is_without_loop(&fixture.search, fixture.object));
	int fd = open(perl, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !elf_file_open(fd, &elf)) {
		CHECK_OK(runtime_detect(elf, &runtime));
		elf_file_destroy(elf);
	}
	struct object *object =
		object_table_by_inode(&fixture.objects, perl, 0, 1, false, &nowhere);
	bool is_without_loop = frame_search_is_without_loop(&fixture.search, object);
	mem_close_fd(&fd);
	fixture_deinit(&fixture);
	if (runtime.row.kind != RUNTIME_PERL)
		unit_skip("no Perl of this machine that is read");
	CHECK(!is_without_loop);
}
