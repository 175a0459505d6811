/*
 * Where a build ID is looked for, and how much of a hostile file is read for that: what is read is
 * counted, not timed.
 */
#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/elf_file.h"
#include "tests/unit/unit.h"

enum {
	HEADER_BYTES = sizeof(Elf64_Ehdr),
	NOTES_BYTES = 128 << 10,
	EMPTY_NOTE_BYTES = 16,
};

/* A header, notes that are no build ID, one that is, then headers of segments and sections. */
struct made {
	struct bytes_buf bytes;
	uint64_t notes_at, build_id_at;
	uint16_t nr_segments;
	uint64_t segments_at, sections_at, nr_sections;
};

static void put_note(struct bytes_buf *out, uint32_t type, uint32_t desc_len)
{
	bytes_put_u32(out, 4);
	bytes_put_u32(out, desc_len);
	bytes_put_u32(out, type);
	bytes_put(out, "GNU", 4);
	for (uint32_t i = 0; i < desc_len; i++)
		bytes_put_u8(out, 0xab);
}

static void begin(struct made *made)
{
	*made = (struct made){.notes_at = HEADER_BYTES};
	for (size_t i = 0; i < HEADER_BYTES; i++)
		bytes_put_u8(&made->bytes, 0);
	for (size_t i = 0; i < NOTES_BYTES / EMPTY_NOTE_BYTES; i++)
		put_note(&made->bytes, NT_GNU_ABI_TAG, 0);
	made->build_id_at = made->bytes.len;
	put_note(&made->bytes, NT_GNU_BUILD_ID, 20);
}

static void add_segments(struct made *made, unsigned count, uint64_t offset, uint64_t len)
{
	if (!made->segments_at)
		made->segments_at = made->bytes.len;
	made->nr_segments += count;
	Elf64_Phdr header = {.p_type = PT_NOTE, .p_offset = offset, .p_filesz = len};
	for (unsigned i = 0; i < count; i++)
		bytes_put(&made->bytes, &header, sizeof(header));
}

static void add_sections(
	struct made *made, unsigned count, uint32_t type, uint64_t offset, uint64_t len)
{
	if (!made->sections_at)
		made->sections_at = made->bytes.len;
	made->nr_sections += count;
	Elf64_Shdr header = {.sh_type = type, .sh_offset = offset, .sh_size = len};
	for (unsigned i = 0; i < count; i++)
		bytes_put(&made->bytes, &header, sizeof(header));
}

/* The number of sections stands in section 0. */
static void finish(struct made *made)
{
	Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = made->segments_at,
		.e_shoff = made->sections_at,
		.e_ehsize = HEADER_BYTES,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = made->nr_segments,
		.e_shentsize = sizeof(Elf64_Shdr),
	};
	memcpy(made->bytes.data, &header, sizeof(header));
	if (!made->sections_at)
		return;
	Elf64_Shdr first;
	memcpy(&first, made->bytes.data + made->sections_at, sizeof(first));
	first.sh_size = made->nr_sections;
	memcpy(made->bytes.data + made->sections_at, &first, sizeof(first));
}

struct work {
	uint64_t reads, bytes;
};

static void count_read(void *context, uint64_t offset, const void *bytes, size_t len)
{
	struct work *work = context;
	(void)offset;
	(void)bytes;
	work->reads++;
	work->bytes += len;
}

/* The build ID's length. Frees the file. */
static size_t search(struct made *made, struct work *work, bool *is_given_up)
{
	struct elf_file *file;
	size_t len;
	finish(made);
	*work = (struct work){0};
	CHECK_OK(elf_file_open_memory(made->bytes.data, made->bytes.len, &file));
	elf_file_watch(file, count_read, work);
	elf_file_build_id(file, &len);
	*is_given_up = elf_file_build_id_is_given_up(file);
	uint64_t reads = work->reads;
	elf_file_build_id(file, &len);
	CHECK_INT(work->reads, reads); /* once */
	elf_file_destroy(file);
	bytes_buf_deinit(&made->bytes);
	return len;
}

static void check_bounded(const struct work *work)
{
	CHECK(work->bytes <=
		ELF_BUILD_ID_BYTES_MAX + sizeof(Elf64_Shdr)); /* section 0 tells their number */
	CHECK(work->reads <= 1 + ELF_BUILD_ID_PLACES_MAX + ELF_BUILD_ID_BYTES_MAX / 4096);
}

TEST(build_id_of_usual_files_needs_little)
{
	struct made made;
	struct work work;
	bool is_given_up;
	begin(&made);
	add_segments(&made, 2, made.notes_at, EMPTY_NOTE_BYTES);
	add_segments(&made, 1, made.build_id_at, 36);
	CHECK_INT(search(&made, &work, &is_given_up), 20);
	CHECK(!is_given_up);
	CHECK_INT(work.reads, 3);
	begin(&made);
	add_sections(&made, 30, SHT_PROGBITS, 0, 0);
	add_sections(&made, 1, SHT_NOTE, made.build_id_at, 36);
	CHECK_INT(search(&made, &work, &is_given_up), 20);
	CHECK(!is_given_up);
	CHECK_INT(work.reads, 3); /* section 0, all of them, the note */
	begin(&made);
	add_sections(&made, 70, SHT_PROGBITS, 0, 0); /* in a second block */
	add_sections(&made, 1, SHT_NOTE, made.build_id_at, 36);
	CHECK_INT(search(&made, &work, &is_given_up), 20);
	begin(&made);
	add_sections(&made, 70, SHT_PROGBITS, 0, 0);
	CHECK_INT(search(&made, &work, &is_given_up), 0);
	CHECK(!is_given_up);
}

/* A million sections of notes took 105 s, 64 KiB each time. */
TEST(build_id_search_ends_among_many_sections)
{
	static const uint64_t lens[] = {NOTES_BYTES, EMPTY_NOTE_BYTES, 1, 0};
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		struct made made;
		struct work work;
		bool is_given_up;
		begin(&made);
		add_sections(&made, 1000000, SHT_NOTE, made.notes_at, lens[i]);
		CHECK_INT(search(&made, &work, &is_given_up), 0);
		CHECK(is_given_up);
		check_bounded(&work);
	}
}

TEST(build_id_search_ends_among_many_segments)
{
	struct made made;
	struct work work;
	bool is_given_up;
	begin(&made);
	add_segments(&made, 1000, made.notes_at, NOTES_BYTES);
	CHECK_INT(search(&made, &work, &is_given_up), 0);
	CHECK(is_given_up);
	check_bounded(&work);
	begin(&made); /* all of them behind each other in what was read at once */
	add_segments(&made, 1000, made.notes_at, EMPTY_NOTE_BYTES);
	CHECK_INT(search(&made, &work, &is_given_up), 0);
	CHECK(is_given_up);
	check_bounded(&work);
}

TEST(build_id_search_ends_among_sections_of_anything)
{
	struct made made;
	struct work work;
	bool is_given_up;
	begin(&made);
	add_sections(&made, 1000000, SHT_PROGBITS, 0, 0);
	CHECK_INT(search(&made, &work, &is_given_up), 0);
	CHECK(is_given_up);
	check_bounded(&work);
}

TEST(files_with_too_many_headers_are_refused)
{
	struct made made;
	struct elf_file *file;
	const struct elf_section *sections;
	size_t count;
	begin(&made);
	add_sections(&made, 1000000, SHT_NOTE, 0, 0);
	finish(&made);
	struct work work = {0};
	CHECK_OK(elf_file_open_memory(made.bytes.data, made.bytes.len, &file));
	elf_file_watch(file, count_read, &work);
	CHECK_ERR(elf_file_sections(file, &sections, &count), ERR_FORMAT, "1000000 sections");
	CHECK(work.bytes <= 4096);
	elf_file_destroy(file);
	bytes_buf_deinit(&made.bytes);
	begin(&made);
	add_segments(&made, 2000, made.notes_at, EMPTY_NOTE_BYTES);
	finish(&made);
	CHECK_ERR(elf_file_open_memory(made.bytes.data, made.bytes.len, &file), ERR_UNSUPPORTED,
		"program headers");
	bytes_buf_deinit(&made.bytes);
}
