/* Notes of USDT probes in small files made for it: a text, data with a semaphore, and notes. */
#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/elf_stapsdt.h"
#include "tests/unit/unit.h"

enum {
	TEXT_VADDR = 0x401000,
	TEXT_AT = 0x1000,
	DATA_VADDR = 0x603000,
	DATA_AT = 0x2000,
	SEGMENT_BYTES = 0x1000,
	BASE = 0x401800,
	NOTES_AT = 0x3000,
	NR_SECTIONS = 4,
};

static const char section_names[] = "\0.note.stapsdt\0.stapsdt.base\0.shstrtab";

/* `texts` are those of the description, NUL behind each. */
static void put_note(struct bytes_buf *notes, uint64_t pc, uint64_t semaphore, const char *texts,
	size_t texts_len)
{
	bytes_put_u32(notes, sizeof("stapsdt"));
	bytes_put_u32(notes, (uint32_t)(24 + texts_len));
	bytes_put_u32(notes, 3);
	bytes_put(notes, "stapsdt", sizeof("stapsdt"));
	bytes_put_u64(notes, pc);
	bytes_put_u64(notes, BASE);
	bytes_put_u64(notes, semaphore);
	bytes_put(notes, texts, texts_len);
	while (notes->len & 3)
		bytes_put_u8(notes, 0);
}

#define PUT_NOTE(notes, pc, semaphore, texts) put_note(notes, pc, semaphore, texts, sizeof(texts))

static void put_file(struct bytes_buf *out, const struct bytes_buf *notes, uint64_t base_now)
{
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NR_SECTIONS,
		.e_shstrndx = 3};
	Elf64_Phdr segments[] = {
		{PT_LOAD, PF_R | PF_X, TEXT_AT, TEXT_VADDR, 0, SEGMENT_BYTES, SEGMENT_BYTES, 4096},
		{PT_LOAD, PF_R | PF_W, DATA_AT, DATA_VADDR, 0, SEGMENT_BYTES, SEGMENT_BYTES, 4096},
	};
	uint64_t names_at = NOTES_AT + notes->len;
	Elf64_Shdr sections[NR_SECTIONS] = {
		{0},
		{1, SHT_NOTE, 0, 0, NOTES_AT, notes->len, 0, 0, 4, 0},
		{15, SHT_PROGBITS, SHF_ALLOC, base_now, TEXT_AT, 1, 0, 0, 1, 0},
		{29, SHT_STRTAB, 0, 0, names_at, sizeof(section_names), 0, 0, 1, 0},
	};
	header.e_shoff = names_at + sizeof(section_names);
	bytes_put(out, &header, sizeof(header));
	bytes_put(out, segments, sizeof(segments));
	vec_resize(out, NOTES_AT);
	bytes_put(out, notes->data, notes->len);
	bytes_put(out, section_names, sizeof(section_names));
	bytes_put(out, sections, sizeof(sections));
}

/* Reads exactly `len` bytes, so that a sanitizer sees what is read beyond them. */
static struct err *read_bytes(const uint8_t *bytes, size_t len, struct elf_stapsdt *ret)
{
	struct elf_file *elf;
	CLEANUP_FREE uint8_t *copy = mem_alloc(len ? len : 1);
	memcpy(copy, bytes, len);
	try(elf_file_open_memory(copy, len, &elf));
	struct err *err = elf_stapsdt_read(elf, ret);
	elf_file_destroy(elf);
	return err;
}

static void read_notes(struct bytes_buf *notes, uint64_t base_now, struct elf_stapsdt *ret)
{
	struct bytes_buf file = {0};
	put_file(&file, notes, base_now);
	CHECK_OK(read_bytes(file.data, file.len, ret));
	bytes_buf_deinit(&file);
	bytes_buf_deinit(notes);
}

TEST(stapsdt_probes)
{
	struct bytes_buf notes = {0};
	struct elf_stapsdt list = {0};
	PUT_NOTE(&notes, TEXT_VADDR + 0x10, 0,
		"one\0first\0"
		"8@%rdi -4@8(%rsp)");
	PUT_NOTE(&notes, TEXT_VADDR + 0x20, DATA_VADDR + 0x30, "one\0second\0");
	read_notes(&notes, BASE, &list);
	CHECK_INT(list.probes.len, 2);
	CHECK_STR(list.probes.data[0].provider, "one");
	CHECK_STR(list.probes.data[0].name, "first");
	CHECK_STR(list.probes.data[0].arguments, "8@%rdi -4@8(%rsp)");
	CHECK_INT(list.probes.data[0].offset, TEXT_AT + 0x10);
	CHECK_INT(list.probes.data[0].semaphore_offset, 0);
	CHECK_STR(list.probes.data[1].name, "second");
	CHECK_STR(list.probes.data[1].arguments, "");
	CHECK_INT(list.probes.data[1].semaphore_offset, DATA_AT + 0x30);
	elf_stapsdt_deinit(&list);
}

/* prelink moved the file up, and left the notes as they were. */
TEST(stapsdt_of_a_file_that_was_moved)
{
	struct bytes_buf notes = {0};
	struct elf_stapsdt list = {0};
	PUT_NOTE(&notes, TEXT_VADDR - 0x7000 + 0x10, DATA_VADDR - 0x7000 + 2, "a\0b\0");
	read_notes(&notes, BASE + 0x7000, &list);
	CHECK_INT(list.probes.len, 1);
	CHECK_INT(list.probes.data[0].offset, TEXT_AT + 0x10);
	CHECK_INT(list.probes.data[0].semaphore_offset, DATA_AT + 2);
	elf_stapsdt_deinit(&list);
}

TEST(stapsdt_notes_that_lead_nowhere)
{
	struct bytes_buf notes = {0};
	struct elf_stapsdt list = {0};
	PUT_NOTE(&notes, 0x10, 0, "no\0code\0");
	PUT_NOTE(&notes, DATA_VADDR, 0, "no\0code\0");
	PUT_NOTE(&notes, TEXT_VADDR, 0x10, "no\0semaphore\0");
	PUT_NOTE(&notes, TEXT_VADDR, TEXT_VADDR, "no\0semaphore\0");
	PUT_NOTE(&notes, TEXT_VADDR, 0, "\0provider\0");
	PUT_NOTE(&notes, TEXT_VADDR, 0, "name\0\0");
	put_note(&notes, TEXT_VADDR, 0, "no\0arguments", 12);
	put_note(&notes, TEXT_VADDR, 0, "", 0);
	PUT_NOTE(&notes, TEXT_VADDR, 0, "is\0right\0");
	read_notes(&notes, BASE, &list);
	CHECK_INT(list.probes.len, 1);
	CHECK_STR(list.probes.data[0].provider, "is");
	elf_stapsdt_deinit(&list);
}

TEST(stapsdt_of_a_file_that_has_none)
{
	struct bytes_buf notes = {0};
	struct elf_stapsdt list = {0};
	read_notes(&notes, BASE, &list);
	CHECK_INT(list.probes.len, 0);
	elf_stapsdt_deinit(&list);
}

static void drop(const uint8_t *bytes, size_t len)
{
	struct elf_stapsdt list = {0};
	struct err *err = read_bytes(bytes, len, &list);
	if (err)
		CHECK(err_message(err)[0]);
	err_destroy(err);
	vec_each(&list.probes, probe)
		CHECK(probe->provider[0] && probe->name[0] && strlen(probe->arguments) < len);
	elf_stapsdt_deinit(&list);
}

/* Cut anywhere, and with any byte of the notes changed: no more than what is there is read. */
TEST(stapsdt_damaged)
{
	struct bytes_buf notes = {0}, file = {0};
	PUT_NOTE(&notes, TEXT_VADDR + 0x10, 0,
		"one\0first\0"
		"8@%rdi");
	PUT_NOTE(&notes, TEXT_VADDR + 0x20, DATA_VADDR, "one\0second\0");
	put_file(&file, &notes, BASE);
	for (size_t len = NOTES_AT; len < file.len; len++)
		drop(file.data, len);
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	for (size_t at = NOTES_AT; at < file.len; at++) {
		uint8_t old = file.data[at];
		for (size_t i = 0; i < sizeof(values); i++) {
			file.data[at] = values[i];
			drop(file.data, file.len);
		}
		file.data[at] = old;
	}
	bytes_buf_deinit(&file);
	bytes_buf_deinit(&notes);
}
