/*
 * A strict reader of ELF64 little-endian files: header, loadable segments,
 * sections and the build ID. Images of .NET (PE) are shown as such files without sections: their
 * sections are the segments, addresses count from where the image begins, and the build ID is that
 * of the module with the time stamp and the size of the image, since the same module may be
 * compiled again. A program with such images in it (pe_bundle.h) has a segment more, for all of
 * them, with addresses that nothing else has; what its contents are identified by is part of the
 * build ID, since the executable ahead of them is the same in every such program.
 *
 * The recorder runs it as root on any file that a process has mapped, so nothing in
 * the file is believed: every count, size and offset is checked against the
 * file's length first, and the file is read with pread(), never mapped, because
 * its owner may truncate it meanwhile (a mapping would then raise SIGBUS).
 *
 * Opening reads the header and the program headers, one pread() for a usual
 * file. Sections are parsed when a caller asks for them.
 *
 * Source: System V gABI, chapters 4 and 5; elf(5).
 */
#ifndef EBPROF_ELF_FILE_H
#define EBPROF_ELF_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/pe_headers.h"

struct elf_file;
struct pe_bundle;

/* One PT_LOAD: `filesz` bytes at file `offset` appear at `vaddr`. All in bytes; flags are PF_*. */
struct elf_segment {
	uint64_t vaddr, offset, filesz, memsz;
	uint32_t flags;
};

/*
 * One section header. `offset` and `size` may lie outside of the file: reading
 * is what checks them. The name is borrowed from the file and never NULL.
 */
struct elf_section {
	const char *name;
	uint32_t type;
	uint64_t flags, addr, offset, size, entsize;
	uint32_t link, info;
};

enum {
	ELF_BUILD_ID_MIN = 4,
	ELF_BUILD_ID_MAX = 64,
	/* What is read for one of a whole file: */
	ELF_BUILD_ID_PLACES_MAX = 64,     /* segments and sections of notes */
	ELF_BUILD_ID_BYTES_MAX = 1 << 20, /* of notes and of section headers */
};

/*
 * Opens a regular file. `fd` is borrowed and must stay open as long as *ret.
 * ERR_IO when it cannot be read, ERR_USAGE when it is no regular file,
 * ERR_UNSUPPORTED for ELF32 and big-endian, ERR_FORMAT for everything else that is not ELF64.
 */
struct err *elf_file_open(int fd, struct elf_file **ret) ERR_MUST_CHECK;

/* The same over `len` bytes of memory (the vDSO), which are borrowed. */
struct err *elf_file_open_memory(
	const void *bytes, size_t len, struct elf_file **ret) ERR_MUST_CHECK;

void elf_file_destroy(struct elf_file *file);

/* The headers of an image of .NET; NULL: it is an ELF file. Borrowed. */
const struct pe_headers *elf_file_pe(const struct elf_file *file);
/* The images of .NET in a program that is a single file; NULL: it is none. Borrowed. */
const struct pe_bundle *elf_file_bundle(const struct elf_file *file);
/* How long the build ID is that the kernel says: it knows of no bundle. */
size_t elf_file_kernel_build_id_len(struct elf_file *file);
/* ET_EXEC, ET_DYN, ET_REL... */
uint16_t elf_file_type(const struct elf_file *file);
/* EM_X86_64... */
uint16_t elf_file_machine(const struct elf_file *file);
/* e_entry: the virtual address where a program starts, 0 for none. */
uint64_t elf_file_entry(const struct elf_file *file);
/* The descriptor it was opened with, -1 for memory. */
int elf_file_fd(const struct elf_file *file);
/* The file's length in bytes when it was opened. */
uint64_t elf_file_size(const struct elf_file *file);

/* The PT_LOADs in the file's order; borrowed. A relocatable file has none. */
const struct elf_segment *elf_file_segments(const struct elf_file *file, size_t *count);

/* PT_GNU_EH_FRAME: the table of .eh_frame_hdr. False when there is none. */
bool elf_file_eh_frame_hdr(const struct elf_file *file, struct elf_segment *ret);

/*
 * The section headers, the null section at index 0 included; borrowed. A file
 * without sections has 0. ERR_FORMAT when the table lies outside of the file.
 */
struct err *elf_file_sections(
	struct elf_file *file, const struct elf_section **ret, size_t *count) ERR_MUST_CHECK;

/*
 * The first section of this name that has contents, NULL when there is none
 * or the section table is broken. Borrowed.
 */
const struct elf_section *elf_file_find_section(struct elf_file *file, const char *name);

/*
 * The GNU build ID, ELF_BUILD_ID_MIN to ELF_BUILD_ID_MAX bytes, or NULL (and *len 0).
 * Borrowed.
 */
const uint8_t *elf_file_build_id(struct elf_file *file, size_t *len);
/* After elf_file_build_id(): it found none and did not search all notes, for there are too many. */
bool elf_file_build_id_is_given_up(const struct elf_file *file);

/*
 * From now on `fn` sees what is read from the file, in the order in which it is read: `len` bytes
 * that were at `offset`, or NULL when they are in the file and could not be read. Not what
 * elf_file_open() read before, nor mappings (elf_map.h). Sections are forgotten, and read again
 * when the user asks for them. NULL: no more.
 */
typedef void elf_file_read_fn(void *context, uint64_t offset, const void *bytes, size_t len);
void elf_file_watch(struct elf_file *file, elf_file_read_fn *fn, void *context);

/*
 * As soon as *stop is true nothing more is read: ERR_UNAVAILABLE. So another thread can end what
 * this one does with a file, which may take long. Borrowed; NULL: never.
 */
void elf_file_stop_when(struct elf_file *file, const atomic_bool *stop);
/* Whether it is; what goes through much that was read has a look now and then. */
bool elf_file_is_stopped(const struct elf_file *file);
/* What it was given, for those that go through its bytes without it. */
const atomic_bool *elf_file_stop(const struct elf_file *file);

/*
 * A copy of `len` bytes at `offset`, with a NUL behind them. At most 1 GiB.
 * ERR_FORMAT outside of the file, or when the file shrank; ERR_UNAVAILABLE: see above.
 */
struct err *elf_file_read(
	const struct elf_file *file, uint64_t offset, uint64_t len, uint8_t **ret) ERR_MUST_CHECK;

/* The same into the caller's memory of `len` bytes, without the NUL. On failure its content is
 * undefined. */
struct err *elf_file_read_into(
	const struct elf_file *file, uint64_t offset, void *buf, size_t len) ERR_MUST_CHECK;

/*
 * Where the byte at `file_offset` is loaded: offset - p_offset + p_vaddr.
 * When segments overlap in the file, an executable one is preferred. False when none holds it.
 */
bool elf_segments_offset_to_vaddr(
	const struct elf_segment *segments, size_t count, uint64_t file_offset, uint64_t *vaddr);

/*
 * The reverse. `*left` is how many bytes of the segment follow in the file, that one included.
 */
bool elf_segments_vaddr_to_offset(const struct elf_segment *segments, size_t count, uint64_t vaddr,
	uint64_t *file_offset, uint64_t *left);

#endif
