/*
 * HotSpot, of the JDK. Debuggers find their way by tables that it shows to them, gHotSpotVMStructs
 * and the like: names of structures and fields, and where those are. From JDK 17 on the tables are
 * filled when the library is loaded, so a process is read that has it.
 *
 * Sources: src/java/share/runtime/vmStructs.{hpp,cpp} of JDK 11, 17, 21, 25.
 */
#include <elf.h>
#include <string.h>

#include "bpf/runtime/java/java_row.h"
#include "format/base/mem.h"
#include "format/elf/elf_dynsym.h"
#include "record/runtime/java/java_layout.h"
#include "record/runtime/java/java_lines.h"
#include "record/runtime/java/java_names.h"
#include "record/runtime/java/java_scopes.h"
#include "record/runtime/java/java_stubs.h"
#include "record/runtime/java/java_threads.h"
#include "record/runtime/runtime.h"

enum symbol {
	SYMBOL_OF_CODE = JAVA_SYMBOLS, /* any function, to find the segment of code by */
	SYMBOLS,
};

static const char *const names[SYMBOLS] = {
	[JAVA_STRUCTS] = "gHotSpotVMStructs",
	[JAVA_STRUCTS_STRIDE] = "gHotSpotVMStructEntryArrayStride",
	[JAVA_STRUCTS_TYPE_NAME] = "gHotSpotVMStructEntryTypeNameOffset",
	[JAVA_STRUCTS_FIELD_NAME] = "gHotSpotVMStructEntryFieldNameOffset",
	[JAVA_STRUCTS_IS_STATIC] = "gHotSpotVMStructEntryIsStaticOffset",
	[JAVA_STRUCTS_OFFSET] = "gHotSpotVMStructEntryOffsetOffset",
	[JAVA_STRUCTS_ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
	[JAVA_TYPES] = "gHotSpotVMTypes",
	[JAVA_TYPES_STRIDE] = "gHotSpotVMTypeEntryArrayStride",
	[JAVA_TYPES_NAME] = "gHotSpotVMTypeEntryTypeNameOffset",
	[JAVA_TYPES_SIZE] = "gHotSpotVMTypeEntrySizeOffset",
	[SYMBOL_OF_CODE] = "JNI_CreateJavaVM",
};

static struct err *java_detect(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	struct elf_dynsym symbols[SYMBOLS];
	struct java_row *row = (void *)file->row.words;
	if (elf_file_machine(elf) != EM_X86_64 && elf_file_machine(elf) != EM_AARCH64)
		return NULL;
	try(elf_dynsym_find(elf, names, SYMBOLS, symbols));
	file->is_runtime = symbols[JAVA_STRUCTS].address;
	for (int i = 0; i < SYMBOLS; i++)
		if (!symbols[i].address || symbols[i].address >> 32)
			return NULL;
	for (int i = 0; i < JAVA_SYMBOLS; i++)
		row->symbols[i] = (uint32_t)symbols[i].address;
	size_t len;
	const uint8_t *build_id = elf_file_build_id(elf, &len);
	memcpy(row->build_id, build_id, len < sizeof(row->build_id) ? len : sizeof(row->build_id));
	/* No function there is a loop with script frames. */
	file->loop_start = file->loop_end = symbols[SYMBOL_OF_CODE].address;
	*is_found = true;
	return NULL;
}

static void java_place(struct runtime_row *row, uint64_t address_to_file)
{
	struct java_row *java = (void *)row->words;
	for (int i = 0; i < JAVA_SYMBOLS; i++)
		java->symbols[i] += (uint32_t)address_to_file;
}

static bool java_is_sound(const struct runtime_row *row)
{
	const struct java_row *java = (const void *)row->words;
	return !java->is_complete && !java->version;
}

/* Without a build ID it is not known whether the next file is the same. */
static bool java_is_kept(const struct runtime_row *row)
{
	static const uint8_t none[sizeof(((struct java_row *)0)->build_id)];
	const struct java_row *java = (const void *)row->words;
	return memcmp(java->build_id, none, sizeof(none)) != 0;
}

static bool java_is_complete(const struct runtime_row *row)
{
	const struct java_row *java = (const void *)row->words;
	return java->is_complete;
}

/* What is given says by its size what it leads to. */
static bool java_read_inlined(
	void **kept, uint32_t pid, const void *given, size_t len, struct bytes_buf *ret)
{
	(void)kept;
	return len == sizeof(struct java_stubs) ? java_stubs_read(pid, given, ret)
						: java_scopes_read(pid, given, len, ret);
}

const struct runtime java_runtime = {
	.version = 6,
	.name = "java",
	.claims_code_of_no_file = true,
	.object = "[java]",
	.detect = java_detect,
	.place = java_place,
	.is_sound = java_is_sound,
	.complete = java_layout_complete,
	.is_complete = java_is_complete,
	.is_kept = java_is_kept,
	.put_texts = java_names_put_texts,
	.next_line = java_lines_next,
	.read_text = java_lines_read,
	.read_inlined = java_read_inlined,
	.read_threads = java_threads_read,
};
