#include "format/elf/elf_file.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/elf/elf_note.h"
#include "format/elf/pe_bundle.h"

enum {
	/* The first read: header, program headers and build ID note of any usual file. */
	HEAD_BYTES = 4096,
	EHDR_BYTES = sizeof(Elf64_Ehdr),
	PHDR_BYTES = sizeof(Elf64_Phdr),
	SHDR_BYTES = sizeof(Elf64_Shdr),
	/* Far above any real file; they keep a sparse hostile one from costing memory. */
	SECTIONS_MAX = 1 << 17,
	SECTION_NAMES_MAX = 16 << 20,
	PHDRS_MAX = 1170, /* the kernel runs no program with more: 64 KiB, fs/binfmt_elf.c of 6.1 */
	READ_MAX = 1 << 30,
	NOTES_MAX = 64 << 10,       /* bytes of one segment or section */
	SECTION_BLOCK_HEADERS = 64, /* are read at a time when notes are searched */
	BUNDLE_DATA_MAX = 4 << 20,  /* bytes of a segment that is searched for a bundle's mark */
	BUNDLE_LIST_MAX = 4 << 20,
	PIECE_BYTES = 1 << 20, /* read at a time: not more once it is to stop */
};

struct note_range {
	uint64_t offset, len; /* bytes of the file; unchecked */
};

struct build_id {
	uint8_t bytes[ELF_BUILD_ID_MAX];
	size_t len;       /* 0: none was found */
	bool is_given_up; /* ... in as much as the budget allows */
};

struct elf_file {
	int fd;
	const uint8_t *memory; /* instead of fd when not NULL */
	uint64_t size;

	uint8_t head[HEAD_BYTES];
	size_t head_len;

	uint16_t type, machine;
	uint64_t entry, shoff;
	uint16_t shentsize, shnum, shstrndx; /* as in the header, escapes not resolved */

	VEC(struct elf_segment) segments;
	struct elf_segment eh_frame_hdr; /* filesz 0: none */
	VEC(struct note_range) notes;    /* the PT_NOTEs */

	struct pe_headers *pe;    /* NULL: it is an ELF file */
	struct pe_bundle *bundle; /* or NULL */

	bool sections_parsed;
	VEC(struct elf_section) sections;
	char *section_names;

	bool build_id_searched;
	struct build_id build_id;
	size_t kernel_build_id_len;

	elf_file_read_fn *on_read; /* NULL: none */
	void *on_read_context;
	const atomic_bool *stop; /* NULL: never */
};

static bool range_fits(uint64_t offset, uint64_t len, uint64_t size)
{
	return offset <= size && len <= size - offset;
}

static struct err *elf_file_read_bytes(
	const struct elf_file *file, uint64_t offset, void *buf, size_t len)
{
	if (range_fits(offset, len, file->head_len)) {
		memcpy(buf, file->head + offset, len);
		return NULL;
	}
	if (file->memory) {
		memcpy(buf, file->memory + offset, len);
		return NULL;
	}
	for (size_t done = 0; done < len;) {
		size_t left = len - done, piece = left < PIECE_BYTES ? left : PIECE_BYTES;
		if (elf_file_is_stopped(file))
			return err_new(ERR_UNAVAILABLE, "reading was stopped");
		ssize_t got = pread(file->fd, (uint8_t *)buf + done, piece, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_sys(errno, "read %zu bytes at offset %#llx", len,
				(unsigned long long)offset);
		if (got == 0)
			return err_new(ERR_FORMAT, "the file shrank to %llu bytes while being read",
				(unsigned long long)(offset + done));
		done += (size_t)got;
	}
	return NULL;
}

struct err *elf_file_read_into(const struct elf_file *file, uint64_t offset, void *buf, size_t len)
{
	if (!range_fits(offset, len, file->size))
		return err_new(ERR_FORMAT, "%zu bytes at offset %#llx are not in a file of %llu",
			len, (unsigned long long)offset, (unsigned long long)file->size);
	struct err *err = elf_file_read_bytes(file, offset, buf, len);
	if (file->on_read)
		file->on_read(file->on_read_context, offset, err ? NULL : buf, len);
	return err;
}

struct err *elf_file_read(const struct elf_file *file, uint64_t offset, uint64_t len, uint8_t **ret)
{
	if (len > READ_MAX || !range_fits(offset, len, file->size))
		return err_new(ERR_FORMAT, "%llu bytes at offset %#llx are not in a file of %llu",
			(unsigned long long)len, (unsigned long long)offset,
			(unsigned long long)file->size);
	CLEANUP_FREE uint8_t *bytes = mem_alloc((size_t)len + 1);
	try(elf_file_read_into(file, offset, bytes, (size_t)len));
	bytes[len] = 0;
	*ret = steal_ptr(bytes);
	return NULL;
}

/* ---- header and segments ---- */

static struct err *check_ident(const struct elf_file *file)
{
	const uint8_t *ident = file->head;
	if (file->head_len < EI_NIDENT || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return err_new(ERR_FORMAT, "not an ELF file");
	if (ident[EI_CLASS] == ELFCLASS32)
		return err_new(
			ERR_UNSUPPORTED, "a 32-bit ELF file; only 64-bit ones are supported");
	if (ident[EI_CLASS] != ELFCLASS64)
		return err_new(ERR_FORMAT, "ELF class %d is unknown", ident[EI_CLASS]);
	if (ident[EI_DATA] == ELFDATA2MSB)
		return err_new(ERR_UNSUPPORTED,
			"a big-endian ELF file; only little-endian ones are supported");
	if (ident[EI_DATA] != ELFDATA2LSB)
		return err_new(ERR_FORMAT, "ELF data encoding %d is unknown", ident[EI_DATA]);
	if (ident[EI_VERSION] != EV_CURRENT)
		return err_new(ERR_FORMAT, "ELF version %d is unknown", ident[EI_VERSION]);
	if (file->head_len < EHDR_BYTES)
		return err_new(
			ERR_FORMAT, "the ELF header is cut off after %zu bytes", file->head_len);
	return NULL;
}

static struct err *parse_phdr(struct elf_file *file, struct bytes_cursor *cursor)
{
	uint32_t type = bytes_get_u32(cursor);
	struct elf_segment segment = {.flags = bytes_get_u32(cursor)};
	segment.offset = bytes_get_u64(cursor);
	segment.vaddr = bytes_get_u64(cursor);
	bytes_get_u64(cursor); /* p_paddr */
	segment.filesz = bytes_get_u64(cursor);
	segment.memsz = bytes_get_u64(cursor);
	bytes_get_u64(cursor); /* p_align */

	if (type == PT_NOTE)
		vec_push(&file->notes, (struct note_range){segment.offset, segment.filesz});
	if (type == PT_GNU_EH_FRAME)
		file->eh_frame_hdr = segment;
	if (type != PT_LOAD)
		return NULL;
	/*
	 * Sums must not wrap; the end of the file is no bound, since segments
	 * of a separate debug file describe another file's bytes.
	 */
	if (segment.offset + segment.filesz < segment.offset || segment.memsz < segment.filesz ||
		segment.vaddr + segment.memsz < segment.vaddr)
		return err_new(ERR_FORMAT, "program header: a PT_LOAD wraps around");
	vec_push(&file->segments, segment);
	return NULL;
}

static struct err *parse_phdrs(
	struct elf_file *file, uint64_t phoff, uint16_t entsize, uint16_t count)
{
	if (count == 0)
		return NULL;
	if (entsize != PHDR_BYTES)
		return err_new(
			ERR_FORMAT, "program headers of %d bytes, not %d", entsize, PHDR_BYTES);
	/* Only core dumps need as many; PN_XNUM even moves the count to section 0. */
	if (count > PHDRS_MAX)
		return err_new(ERR_UNSUPPORTED, "more than %d program headers", PHDRS_MAX);
	size_t len = (size_t)count * PHDR_BYTES;
	CLEANUP_FREE uint8_t *copy = NULL;
	const uint8_t *table;
	if (range_fits(phoff, len, file->head_len)) {
		table = file->head + phoff;
	} else {
		try(err_wrap(elf_file_read(file, phoff, len, &copy), "program headers"));
		table = copy;
	}
	struct bytes_cursor cursor = bytes_cursor(table, len);
	for (unsigned i = 0; i < count; i++)
		try(parse_phdr(file, &cursor));
	return NULL;
}

static struct err *elf_file_parse_header(struct elf_file *file)
{
	try(check_ident(file));
	struct bytes_cursor cursor = bytes_cursor(file->head + EI_NIDENT, EHDR_BYTES - EI_NIDENT);
	file->type = bytes_get_u16(&cursor);
	file->machine = bytes_get_u16(&cursor);
	bytes_get_u32(&cursor); /* e_version, as in e_ident */
	file->entry = bytes_get_u64(&cursor);
	uint64_t phoff = bytes_get_u64(&cursor);
	file->shoff = bytes_get_u64(&cursor);
	bytes_get_u32(&cursor); /* e_flags */
	bytes_get_u16(&cursor); /* e_ehsize */
	uint16_t phentsize = bytes_get_u16(&cursor);
	uint16_t phnum = bytes_get_u16(&cursor);
	file->shentsize = bytes_get_u16(&cursor);
	file->shnum = bytes_get_u16(&cursor);
	file->shstrndx = bytes_get_u16(&cursor);
	return parse_phdrs(file, phoff, phentsize, phnum);
}

/* ---- images of .NET ---- */

static void add_pe_segment(struct elf_file *file, const struct pe_section *section, uint32_t flags)
{
	uint32_t in_memory = section->bytes, in_file = section->bytes_in_file;
	struct elf_segment segment = {.vaddr = section->address,
		.offset = section->offset,
		.filesz = in_file,
		.memsz = in_memory > in_file ? in_memory : in_file,
		.flags = flags};
	vec_push(&file->segments, segment);
}

/* False: it is none. */
static bool parse_pe(struct elf_file *file)
{
	struct pe_headers headers;
	if (!pe_headers_parse(file->head, file->head_len, &headers) ||
		!headers.directory[PE_DIRECTORY_CLI].address)
		return false;
	file->pe = mem_alloc(sizeof(*file->pe));
	*file->pe = headers;
	file->type = ET_DYN;
	file->machine = headers.machine;
	struct pe_section head = {
		.bytes = headers.headers_bytes, .bytes_in_file = headers.headers_bytes};
	add_pe_segment(file, &head, PF_R);
	for (uint32_t i = 0; i < headers.nr_sections; i++)
		add_pe_segment(file, &headers.sections[i],
			PF_R | (headers.sections[i].is_code ? PF_X : 0));
	return true;
}

static bool read_pe(const struct elf_file *file, uint32_t address, void *to, size_t len)
{
	uint64_t offset;
	if (!pe_headers_offset(file->pe, address, &offset))
		return false;
	struct err *err = elf_file_read_into(file, offset, to, len);
	bool is_read = !err;
	err_destroy(err);
	return is_read;
}

/*
 * The identity of the module is the first of its GUIDs: ECMA-335, II.24.2.1 for the streams. They
 * follow each other, and this one is among the first five.
 */
static struct build_id identify_pe(const struct elf_file *file)
{
	enum {
		METADATA_BYTES = 512,
		VERSION_LEN_AT = 12,
		VERSION_AT = 16,
		MODULE_ID_BYTES = 16,
	};
	uint8_t directory[8], head[METADATA_BYTES];
	struct build_id id = {0};
	uint32_t cli = file->pe->directory[PE_DIRECTORY_CLI].address;
	if (!read_pe(file, cli + PE_CLI_METADATA, directory, sizeof(directory)))
		return id;
	struct bytes_cursor cursor = bytes_cursor(directory, sizeof(directory));
	uint32_t metadata = bytes_get_u32(&cursor);
	if (!read_pe(file, metadata, head, sizeof(head)))
		return id;
	cursor = bytes_cursor(head, sizeof(head));
	bytes_get(&cursor, VERSION_LEN_AT);
	bytes_get(&cursor, bytes_get_u32(&cursor) + 2);
	for (uint32_t left = bytes_get_u16(&cursor); left && !cursor.overrun; left--) {
		uint32_t at = bytes_get_u32(&cursor), len = bytes_get_u32(&cursor);
		const char *name = (const char *)cursor.pos;
		size_t name_len = strnlen(name, bytes_left(&cursor));
		if (bytes_get(&cursor, (name_len / 4 + 1) * 4) && strcmp(name, "#GUID") == 0 &&
			len >= MODULE_ID_BYTES &&
			read_pe(file, metadata + at, id.bytes, MODULE_ID_BYTES)) {
			uint32_t build[] = {
				htole32(file->pe->time_stamp), htole32(file->pe->image_bytes)};
			memcpy(id.bytes + MODULE_ID_BYTES, build, sizeof(build));
			id.len = MODULE_ID_BYTES + sizeof(build);
		}
	}
	return id;
}

/* ---- programs with such images in them ---- */

static uint64_t end_of_parts(const struct elf_file *file)
{
	uint64_t end = (uint64_t)file->shnum * SHDR_BYTES;
	end = end > UINT64_MAX - file->shoff ? UINT64_MAX : end + file->shoff;
	vec_each(&file->segments, segment)
		if (segment->offset + segment->filesz > end)
			end = segment->offset + segment->filesz;
	return end;
}

/* Its addresses are above all others, and as far from the offsets as whole pages are. */
static void add_bundle_segment(struct elf_file *file)
{
	enum {
		ALIGNMENT = 2 << 20,
	};
	struct pe_bundle *bundle = file->bundle;
	const struct pe_bundle_image *last = &bundle->images.data[bundle->images.len - 1];
	uint64_t end = 0;
	vec_each(&file->segments, segment)
		if (segment->vaddr + segment->memsz > end)
			end = segment->vaddr + segment->memsz;
	if (end > UINT64_MAX / 2)
		return;
	bundle->to_address = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	struct elf_segment segment = {
		.offset = bundle->images.data[0].offset, .flags = PF_R | PF_X};
	segment.filesz = segment.memsz = last->offset + last->bytes - segment.offset;
	segment.vaddr = segment.offset + bundle->to_address;
	vec_push(&file->segments, segment);
}

static bool read_whole(const struct elf_file *file, uint64_t offset, size_t len, uint8_t **ret)
{
	struct err *err = elf_file_read(file, offset, len, ret);
	bool is_read = !err;
	err_destroy(err);
	return is_read;
}

/* Where the list of a bundle begins, 0: there is none. What ends where its headers say is not
 * read. */
static uint64_t find_bundle_list(const struct elf_file *file)
{
	uint64_t end = end_of_parts(file), at = 0;
	for (size_t i = 0; i < file->segments.len && end < file->size && !at; i++) {
		CLEANUP_FREE uint8_t *data = NULL;
		const struct elf_segment *segment = &file->segments.data[i];
		if (segment->flags & PF_W && segment->filesz <= BUNDLE_DATA_MAX &&
			read_whole(file, segment->offset, segment->filesz, &data))
			at = pe_bundle_find_list(data, segment->filesz);
	}
	return at >= end && at < file->size ? at : 0;
}

static void find_bundle(struct elf_file *file)
{
	CLEANUP_FREE uint8_t *list = NULL;
	struct pe_bundle bundle;
	uint64_t at = file->pe ? 0 : find_bundle_list(file), left = file->size - at;
	size_t len = left < BUNDLE_LIST_MAX ? (size_t)left : BUNDLE_LIST_MAX;
	if (!at || !read_whole(file, at, len, &list) ||
		!pe_bundle_parse(list, len, file->size, &bundle))
		return;
	file->bundle = mem_alloc(sizeof(*file->bundle));
	*file->bundle = bundle;
	if (bundle.images.len)
		add_bundle_segment(file);
}

static struct err *elf_file_open_any(
	int fd, const uint8_t *memory, uint64_t size, struct elf_file **ret)
{
	struct elf_file *file = mem_zalloc(sizeof(*file));
	file->fd = fd;
	file->memory = memory;
	file->size = size;
	size_t head_len = size < HEAD_BYTES ? (size_t)size : HEAD_BYTES;
	struct err *err = elf_file_read_into(file, 0, file->head, head_len);
	if (!err) {
		file->head_len = head_len;
		err = parse_pe(file) ? NULL : elf_file_parse_header(file);
	}
	if (err) {
		elf_file_destroy(file);
		return err;
	}
	find_bundle(file);
	*ret = file;
	return NULL;
}

struct err *elf_file_open(int fd, struct elf_file **ret)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return err_sys(errno, "fstat");
	/* Devices and FIFOs may block for ever, or answer differently each time. */
	if (!S_ISREG(st.st_mode))
		return err_new(ERR_USAGE, "not a regular file");
	return elf_file_open_any(fd, NULL, (uint64_t)st.st_size, ret);
}

struct err *elf_file_open_memory(const void *bytes, size_t len, struct elf_file **ret)
{
	return elf_file_open_any(-1, bytes, len, ret);
}

void elf_file_destroy(struct elf_file *file)
{
	if (!file)
		return;
	vec_deinit(&file->segments);
	vec_deinit(&file->notes);
	vec_deinit(&file->sections);
	mem_free(file->section_names);
	mem_free(file->pe);
	if (file->bundle)
		pe_bundle_deinit(file->bundle);
	mem_free(file->bundle);
	mem_free(file);
}

const struct pe_headers *elf_file_pe(const struct elf_file *file)
{
	return file->pe;
}

const struct pe_bundle *elf_file_bundle(const struct elf_file *file)
{
	return file->bundle;
}

uint16_t elf_file_type(const struct elf_file *file)
{
	return file->type;
}

uint16_t elf_file_machine(const struct elf_file *file)
{
	return file->machine;
}

uint64_t elf_file_entry(const struct elf_file *file)
{
	return file->entry;
}

int elf_file_fd(const struct elf_file *file)
{
	return file->fd;
}

uint64_t elf_file_size(const struct elf_file *file)
{
	return file->size;
}

const struct elf_segment *elf_file_segments(const struct elf_file *file, size_t *count)
{
	*count = file->segments.len;
	return file->segments.data;
}

bool elf_file_eh_frame_hdr(const struct elf_file *file, struct elf_segment *ret)
{
	if (!file->eh_frame_hdr.filesz)
		return false;
	*ret = file->eh_frame_hdr;
	return true;
}

bool elf_segments_offset_to_vaddr(
	const struct elf_segment *segments, size_t count, uint64_t file_offset, uint64_t *vaddr)
{
	const struct elf_segment *found = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct elf_segment *segment = &segments[i];
		if (file_offset < segment->offset ||
			file_offset - segment->offset >= segment->filesz)
			continue;
		if (!found || (segment->flags & PF_X && !(found->flags & PF_X)))
			found = segment;
	}
	if (!found)
		return false;
	*vaddr = file_offset - found->offset + found->vaddr;
	return true;
}

bool elf_segments_vaddr_to_offset(const struct elf_segment *segments, size_t count, uint64_t vaddr,
	uint64_t *file_offset, uint64_t *left)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t into = vaddr - segments[i].vaddr;
		if (vaddr < segments[i].vaddr || into >= segments[i].filesz)
			continue;
		*file_offset = segments[i].offset + into;
		*left = segments[i].filesz - into;
		return true;
	}
	return false;
}

/* ---- sections ---- */

/* Decodes one header; its name stays an offset, returned in *name. */
static struct elf_section parse_shdr(struct bytes_cursor *cursor, uint32_t *name)
{
	struct elf_section section = {.name = ""};
	*name = bytes_get_u32(cursor);
	section.type = bytes_get_u32(cursor);
	section.flags = bytes_get_u64(cursor);
	section.addr = bytes_get_u64(cursor);
	section.offset = bytes_get_u64(cursor);
	section.size = bytes_get_u64(cursor);
	section.link = bytes_get_u32(cursor);
	section.info = bytes_get_u32(cursor);
	bytes_get_u64(cursor); /* sh_addralign */
	section.entsize = bytes_get_u64(cursor);
	return section;
}

/*
 * How many sections there are and which one holds their names. Numbers that
 * do not fit the header stand in section 0: e_shnum 0 means sh_size, and
 * e_shstrndx SHN_XINDEX means sh_link.
 */
static struct err *section_counts(const struct elf_file *file, uint64_t *count, uint32_t *names)
{
	*count = file->shnum;
	*names = file->shstrndx;
	if (file->shoff == 0) {
		*count = 0;
		return NULL;
	}
	if (file->shentsize != SHDR_BYTES)
		return err_new(ERR_FORMAT, "section headers of %d bytes, not %d", file->shentsize,
			SHDR_BYTES);
	if (file->shnum == 0 || file->shstrndx == SHN_XINDEX) {
		uint8_t first[SHDR_BYTES];
		uint32_t name;
		try(err_wrap(
			elf_file_read_into(file, file->shoff, first, sizeof(first)), "section 0"));
		struct bytes_cursor cursor = bytes_cursor(first, sizeof(first));
		struct elf_section section = parse_shdr(&cursor, &name);
		if (file->shnum == 0)
			*count = section.size;
		if (file->shstrndx == SHN_XINDEX)
			*names = section.link;
	}
	return NULL;
}

/* Fills in the names; a file without readable ones has empty names, since addresses do not need
 * them. */
static void name_sections(struct elf_file *file, const uint32_t *offsets, uint32_t names_index)
{
	if (names_index == SHN_UNDEF || names_index >= file->sections.len)
		return;
	const struct elf_section *names = &file->sections.data[names_index];
	uint8_t *bytes;
	if (names->type != SHT_STRTAB || names->size > SECTION_NAMES_MAX)
		return;
	struct err *err = elf_file_read(file, names->offset, names->size, &bytes);
	if (err) {
		err_destroy(err);
		return;
	}
	file->section_names = (char *)bytes; /* ends in NUL, so an offset inside is enough */
	uint64_t size = names->size;
	for (size_t i = 0; i < file->sections.len; i++)
		if (offsets[i] < size)
			file->sections.data[i].name = file->section_names + offsets[i];
}

static struct err *parse_sections(struct elf_file *file)
{
	uint64_t count;
	uint32_t names_index;
	try(section_counts(file, &count, &names_index));
	if (count == 0)
		return NULL;
	if (count > SECTIONS_MAX)
		return err_new(ERR_FORMAT, "%llu sections", (unsigned long long)count);
	CLEANUP_FREE uint8_t *table = NULL;
	try(err_wrap(
		elf_file_read(file, file->shoff, count * SHDR_BYTES, &table), "section headers"));
	CLEANUP_FREE uint32_t *name_offsets = mem_zalloc_array(count, sizeof(*name_offsets));
	struct bytes_cursor cursor = bytes_cursor(table, count * SHDR_BYTES);
	vec_reserve(&file->sections, count);
	for (size_t i = 0; i < count; i++)
		vec_push(&file->sections, parse_shdr(&cursor, &name_offsets[i]));
	name_sections(file, name_offsets, names_index);
	return NULL;
}

struct err *elf_file_sections(struct elf_file *file, const struct elf_section **ret, size_t *count)
{
	if (!file->sections_parsed) {
		try(parse_sections(file));
		file->sections_parsed = true;
	}
	*ret = file->sections.data;
	*count = file->sections.len;
	return NULL;
}

const struct elf_section *elf_file_find_section(struct elf_file *file, const char *name)
{
	const struct elf_section *sections;
	size_t count;
	struct err *err = elf_file_sections(file, &sections, &count);
	if (err) {
		err_destroy(err);
		return NULL;
	}
	for (size_t i = 1; i < count; i++)
		if (sections[i].type != SHT_NOBITS && strcmp(sections[i].name, name) == 0)
			return &sections[i];
	return NULL;
}

/* ---- build ID ---- */

/*
 * In a note of a PT_NOTE, else of an SHT_NOTE section (relocatable files; separate debug files,
 * whose segments hold nothing). The search has a budget for the whole file: real ones have a
 * handful of notes, and relocatable ones that of the build ID among the first sections.
 * Source: System V gABI, "Note Section"; ld(1), --build-id.
 */

struct build_id_search {
	const struct elf_file *file;
	uint64_t places_left, bytes_left;
	struct build_id found;
};

static bool take_note_bytes(struct build_id_search *search, uint64_t len)
{
	if (len > search->bytes_left) {
		search->found.is_given_up = true;
		return false;
	}
	search->bytes_left -= len;
	return true;
}

static bool elf_file_scan_notes(struct build_id_search *search, const uint8_t *bytes, size_t len)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	for (struct elf_note note; elf_note_next(&cursor, &note);) {
		if (!elf_note_is(&note, ELF_NOTE_GNU, NT_GNU_BUILD_ID) ||
			note.desc_len < ELF_BUILD_ID_MIN || note.desc_len > ELF_BUILD_ID_MAX)
			continue;
		memcpy(search->found.bytes, note.desc, note.desc_len);
		search->found.len = note.desc_len;
		search->found.is_given_up = false;
		return true;
	}
	return false;
}

/* True when the search is over. */
static bool search_notes(struct build_id_search *search, uint64_t offset, uint64_t len)
{
	if (!search->places_left) {
		search->found.is_given_up = true;
		return true;
	}
	search->places_left--;
	if (len > NOTES_MAX)
		len = NOTES_MAX;
	if (!take_note_bytes(search, len))
		return true;
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct err *err = elf_file_read(search->file, offset, len, &bytes);
	if (err) {
		err_destroy(err); /* no note there: the file has no build ID by it */
		return false;
	}
	return elf_file_scan_notes(search, bytes, (size_t)len);
}

static bool elf_file_search_section(
	struct build_id_search *search, const uint8_t header[SHDR_BYTES])
{
	struct bytes_cursor cursor = bytes_cursor(header, SHDR_BYTES);
	bytes_get(&cursor, offsetof(Elf64_Shdr, sh_type));
	if (bytes_get_u32(&cursor) != SHT_NOTE)
		return false;
	bytes_get(&cursor, offsetof(Elf64_Shdr, sh_offset) - offsetof(Elf64_Shdr, sh_flags));
	uint64_t offset = bytes_get_u64(&cursor);
	return search_notes(search, offset, bytes_get_u64(&cursor));
}

/* Block by block, without names: of a file with 2^20 sections that is the first part. */
static void search_sections(struct build_id_search *search)
{
	uint8_t block[SECTION_BLOCK_HEADERS * SHDR_BYTES];
	uint64_t nr_headers;
	uint32_t names;
	struct err *err = section_counts(search->file, &nr_headers, &names);
	for (uint64_t done = 0; !err && done < nr_headers; done += SECTION_BLOCK_HEADERS) {
		uint64_t left = nr_headers - done;
		size_t count = left < SECTION_BLOCK_HEADERS ? (size_t)left : SECTION_BLOCK_HEADERS;
		if (!take_note_bytes(search, count * SHDR_BYTES))
			break;
		err = elf_file_read_into(search->file, search->file->shoff + done * SHDR_BYTES,
			block, count * SHDR_BYTES);
		for (size_t i = 0; !err && i < count; i++)
			if (elf_file_search_section(search, block + i * SHDR_BYTES))
				return;
	}
	err_destroy(err); /* then as far as they could be read */
}

static struct build_id search_build_id(const struct elf_file *file)
{
	struct build_id_search search = {.file = file,
		.places_left = ELF_BUILD_ID_PLACES_MAX,
		.bytes_left = ELF_BUILD_ID_BYTES_MAX};
	vec_each(&file->notes, range)
		if (search_notes(&search, range->offset, range->len))
			return search.found;
	search_sections(&search);
	return search.found;
}

static void add_bundle_id(const struct pe_bundle *bundle, struct build_id *id)
{
	if (!id->len || id->len > sizeof(id->bytes) - sizeof(bundle->id))
		return;
	memcpy(id->bytes + id->len, bundle->id, sizeof(bundle->id));
	id->len += sizeof(bundle->id);
}

size_t elf_file_kernel_build_id_len(struct elf_file *file)
{
	size_t len;
	elf_file_build_id(file, &len);
	return file->kernel_build_id_len;
}

const uint8_t *elf_file_build_id(struct elf_file *file, size_t *len)
{
	if (!file->build_id_searched) {
		file->build_id = file->pe ? identify_pe(file) : search_build_id(file);
		file->kernel_build_id_len = file->build_id.len;
		if (file->bundle)
			add_bundle_id(file->bundle, &file->build_id);
		file->build_id_searched = true;
	}
	*len = file->build_id.len;
	return file->build_id.len ? file->build_id.bytes : NULL;
}

bool elf_file_build_id_is_given_up(const struct elf_file *file)
{
	return file->build_id.is_given_up;
}

/* ---- watching ---- */

void elf_file_watch(struct elf_file *file, elf_file_read_fn *fn, void *context)
{
	file->on_read = fn;
	file->on_read_context = context;
	file->sections_parsed = false;
	vec_deinit(&file->sections);
	mem_free(file->section_names);
	file->section_names = NULL;
}

/* ---- stopping ---- */

void elf_file_stop_when(struct elf_file *file, const atomic_bool *stop)
{
	file->stop = stop;
}

bool elf_file_is_stopped(const struct elf_file *file)
{
	return file->stop && atomic_load_explicit(file->stop, memory_order_relaxed);
}

const atomic_bool *elf_file_stop(const struct elf_file *file)
{
	return file->stop;
}
