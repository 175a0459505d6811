#include "report/name/debugfile/debug_file.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "report/model/regular_file.h"
#include "report/name/debugfile/debug_link.h"
#include "report/name/debugfile/packed_file.h"

static bool is_same_time(const struct debug_identity *identity, const struct stat *st)
{
	uint64_t mtime_ns = clock_from_timespec(st->st_mtim);
	return identity->size_bytes == (uint64_t)st->st_size && identity->mtime_ns == mtime_ns;
}

static enum debug_verdict debug_file_judge(
	const struct debug_identity *identity, struct elf_file *elf, int fd, const struct stat *st)
{
	if (identity->build_id_len) {
		size_t len;
		const uint8_t *found = elf_file_build_id(elf, &len);
		return len == identity->build_id_len && memcmp(found, identity->build_id, len) == 0
			       ? DEBUG_ACCEPTED
			       : DEBUG_OTHER_BUILD;
	}
	if (identity->has_crc)
		return debug_link_is_crc(fd, identity->crc) ? DEBUG_ACCEPTED : DEBUG_OTHER_CRC;
	if (identity->size_bytes || identity->mtime_ns)
		return is_same_time(identity, st) ? DEBUG_ACCEPTED : DEBUG_OTHER_TIME;
	return DEBUG_UNVERIFIABLE;
}

/* Why it is no file of sections; its header could still be read. */
static enum debug_verdict debug_file_refusal_of(int fd)
{
	uint8_t ident[EI_NIDENT];
	if (pread(fd, ident, sizeof(ident), 0) != sizeof(ident) ||
		memcmp(ident, ELFMAG, SELFMAG) != 0)
		return DEBUG_NOT_ELF;
	return ident[EI_DATA] == ELFDATA2MSB   ? DEBUG_OTHER_ORDER
	       : ident[EI_CLASS] == ELFCLASS32 ? DEBUG_OTHER_BITS
					       : DEBUG_DAMAGED;
}

/* Section headers stand at a file's end: what is cut off has lost them. */
static bool has_sections(struct elf_file *elf)
{
	const struct elf_section *sections;
	size_t count;
	struct err *err = elf_file_sections(elf, &sections, &count);
	bool is_read = !err;
	err_destroy(err);
	return is_read;
}

enum debug_verdict debug_file_open(const char *path, const struct regular_file_rules *rules,
	const struct debug_identity *identity, int *fd, struct elf_file **elf)
{
	struct stat st;
	CLEANUP_FD int opened = regular_file_open(path, rules, &st);
	if (opened < 0)
		return errno == EACCES || errno == EPERM ? DEBUG_UNREADABLE
		       : errno == EINVAL                 ? DEBUG_NOT_REGULAR
		       : errno == EREMOTE                ? DEBUG_REMOTE
							 : DEBUG_ABSENT;
	if (identity->may_be_packed && packed_file_is(opened)) {
		int unpacked = packed_file_unpack(opened, (uint64_t)st.st_size);
		if (unpacked < 0)
			return DEBUG_DAMAGED;
		close(opened);
		opened = unpacked;
	}
	struct elf_file *file;
	struct err *err = elf_file_open(opened, &file);
	if (err) {
		err_destroy(err);
		return debug_file_refusal_of(opened);
	}
	enum debug_verdict verdict =
		has_sections(file) ? debug_file_judge(identity, file, opened, &st) : DEBUG_DAMAGED;
	if (verdict != DEBUG_ACCEPTED) {
		elf_file_destroy(file);
		return verdict;
	}
	*elf = file;
	*fd = steal_fd(opened);
	return DEBUG_ACCEPTED;
}

bool debug_file_has_dwarf(struct elf_file *elf)
{
	return elf_file_find_section(elf, ".debug_info") ||
	       elf_file_find_section(elf, ".zdebug_info");
}
