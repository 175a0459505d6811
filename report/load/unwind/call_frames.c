#include "report/load/unwind/call_frames.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/elf/elf_file.h"

enum {
	KEPT_MAX = 16384, /* outcomes; each takes some 600 bytes */
};

/* One file: the object's own, or that of its debug package. */
struct source {
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *eh_frame, *debug_frame; /* the latter belongs to dwarf */
	bool has_looked;                   /* for debug_frame */
};

struct call_frames {
	struct source own, debug;
	VEC(struct layout_segment) segments; /* the file's, for recordings that lack them */
	struct map by_address;               /* virtual address -> index of kept */
	VEC(Dwarf_Frame *) kept;             /* NULL: there are no rules */
};

/* ---- files ---- */

/* Takes the descriptor and the file, which may be NULL. */
static struct source make_source(int fd, Elf *elf, uint16_t machine)
{
	GElf_Ehdr header;
	if (elf && (!gelf_getehdr(elf, &header) || header.e_machine != machine)) {
		elf_end(elf);
		elf = NULL;
	}
	return (struct source){.fd = fd, .elf = elf};
}

/* Read, not mapped: the file's owner may cut it at any time. */
static struct source open_source(const struct profile_object *object,
	const struct symbol_file_options *files, enum symbol_file_kind kind, uint16_t machine)
{
	int fd = symbol_file_open(object, files, kind);
	return make_source(fd, fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL), machine);
}

/* The bytes of our own vDSO, whose section headers stand at its end; NULL when it has none. */
static const char *own_vdso(size_t *len)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */
	Elf64_Ehdr header;
	if (!image)
		return NULL;
	memcpy(&header, image, sizeof(header));
	*len = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
	return header.e_shoff ? image : NULL;
}

/* It stands in no file; but where the kernel is the one that was recorded, ours is the same. */
static struct source open_vdso(const struct layout_object *info, uint16_t machine)
{
	size_t len, build_id_len;
	const char *image = own_vdso(&len);
	struct elf_file *elf;
	struct err *err = image ? elf_file_open_memory(image, len, &elf) : NULL;
	if (!image || err) {
		err_destroy(err);
		return make_source(-1, NULL, machine);
	}
	const uint8_t *build_id = elf_file_build_id(elf, &build_id_len);
	bool is_same = build_id_len && build_id_len == info->build_id_len &&
		       memcmp(build_id, info->build_id, build_id_len) == 0;
	elf_file_destroy(elf);
	return make_source(-1, is_same ? elf_memory((char *)image, len) : NULL, machine);
}

static void close_source(struct source *source)
{
	if (source->eh_frame)
		dwarf_cfi_end(source->eh_frame);
	if (source->dwarf)
		dwarf_end(source->dwarf);
	elf_end(source->elf);
	mem_close_fd(&source->fd);
}

static bool has_section(Elf *elf, const char *name)
{
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return false;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;
		const char *found = gelf_getshdr(section, &header)
					    ? elf_strptr(elf, names, header.sh_name)
					    : NULL;
		if (found && strcmp(found, name) == 0 && header.sh_type != SHT_NOBITS)
			return true;
	}
	return false;
}

/* libdw reads every section of debug information for it: only where it is there and wanted. */
static Dwarf_CFI *debug_frame_of(struct source *source)
{
	if (!source->elf || source->has_looked)
		return source->debug_frame;
	source->has_looked = true;
	if (has_section(source->elf, ".debug_frame") || has_section(source->elf, ".zdebug_frame"))
		source->dwarf = dwarf_begin_elf(source->elf, DWARF_C_READ, NULL);
	if (source->dwarf)
		source->debug_frame = dwarf_getcfi(source->dwarf);
	return source->debug_frame;
}

static void read_segments(struct call_frames *frames, const struct layout_object *info)
{
	vec_append(&frames->segments, info->segments, info->nr_segments);
	size_t count = 0;
	if (frames->segments.len || !frames->own.elf || elf_getphdrnum(frames->own.elf, &count))
		return;
	for (size_t i = 0; i < count && i < LAYOUT_MAX_SEGMENTS; i++) {
		GElf_Phdr it;
		if (gelf_getphdr(frames->own.elf, (int)i, &it) && it.p_type == PT_LOAD)
			vec_push(&frames->segments, (struct layout_segment){it.p_vaddr, it.p_offset,
							    it.p_filesz, it.p_memsz, it.p_flags});
	}
}

struct call_frames *call_frames_create(const struct profile_object *object,
	const struct symbol_file_options *files, uint16_t machine)
{
	struct call_frames *frames = mem_zalloc(sizeof(*frames));
	elf_version(EV_CURRENT);
	frames->own = frames->debug = make_source(-1, NULL, machine);
	if (object->info.kind == LAYOUT_OBJECT_VDSO) {
		frames->own = open_vdso(&object->info, machine);
	} else if (object->info.kind == LAYOUT_OBJECT_FILE) {
		frames->own = open_source(object, files, SYMBOL_FILE_OWN, machine);
		frames->debug = open_source(object, files, SYMBOL_FILE_DEBUG, machine);
	}
	if (frames->own.elf)
		frames->own.eh_frame = dwarf_getcfi_elf(frames->own.elf);
	read_segments(frames, &object->info);
	return frames;
}

static void forget_kept(struct call_frames *frames)
{
	vec_each(&frames->kept, frame)
		free(*frame); /* libdw's malloc() */
	frames->kept.len = 0;
	map_clear(&frames->by_address);
}

void call_frames_destroy(struct call_frames *frames)
{
	if (!frames)
		return;
	forget_kept(frames);
	vec_deinit(&frames->kept);
	map_deinit(&frames->by_address);
	vec_deinit(&frames->segments);
	close_source(&frames->own);
	close_source(&frames->debug);
	mem_free(frames);
}

/* ---- lookups ---- */

static bool to_vaddr(const struct call_frames *frames, uint64_t offset, uint64_t *ret)
{
	vec_each(&frames->segments, segment) {
		if (segment->flags & PF_X && offset - segment->offset < segment->filesz) {
			*ret = offset - segment->offset + segment->vaddr;
			return true;
		}
	}
	return false;
}

static Dwarf_Frame *look_up(struct call_frames *frames, uint64_t vaddr)
{
	Dwarf_Frame *frame = NULL;
	if (frames->own.eh_frame && !dwarf_cfi_addrframe(frames->own.eh_frame, vaddr, &frame))
		return frame;
	struct source *const sources[] = {&frames->own, &frames->debug};
	for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
		Dwarf_CFI *cfi = debug_frame_of(sources[i]);
		if (cfi && !dwarf_cfi_addrframe(cfi, vaddr, &frame))
			return frame;
	}
	return NULL;
}

enum layout_truncation call_frames_find(
	struct call_frames *frames, uint64_t offset, Dwarf_Frame **ret)
{
	uint64_t vaddr;
	if (!to_vaddr(frames, offset, &vaddr))
		return frames->own.elf ? LAYOUT_TRUNCATED_NO_RULE : LAYOUT_TRUNCATED_NO_TABLE;
	if (frames->kept.len == KEPT_MAX)
		forget_kept(frames);
	bool added;
	uint64_t *index = map_put(&frames->by_address, vaddr, &added);
	if (added) {
		*index = frames->kept.len;
		vec_push(&frames->kept, look_up(frames, vaddr));
	}
	Dwarf_Frame *frame = frames->kept.data[*index];
	if (frame) {
		*ret = frame;
		return LAYOUT_COMPLETE;
	}
	bool has_rules =
		frames->own.eh_frame || frames->own.debug_frame || frames->debug.debug_frame;
	return has_rules ? LAYOUT_TRUNCATED_NO_RULE : LAYOUT_TRUNCATED_NO_TABLE;
}
