/*
 * HotSpot, of the JDK. Debuggers find their way by tables that it shows to them, gHotSpotVMStructs
 * and the like: names of structures and fields, and where those are. From JDK 17 on the tables are
 * filled when the library is loaded, so a process is read that has it.
 *
 * Sources: src/hotspot/share/runtime/vmStructs.{hpp,cpp} of JDK 11, 17, 21, 25.
 */
#include <elf.h>
#include <string.h>

#include "bpf/runtime/hotspot/hotspot_row.h"
#include "format/base/mem.h"
#include "format/elf/elf_dynsym.h"
#include "record/runtime/hotspot/hotspot_layout.h"
#include "record/runtime/hotspot/hotspot_lines.h"
#include "record/runtime/hotspot/hotspot_names.h"
#include "record/runtime/hotspot/hotspot_scopes.h"
#include "record/runtime/runtime.h"

enum symbol {
	SYMBOL_OF_CODE = HOTSPOT_SYMBOLS, /* any function, to find the segment of code by */
	SYMBOLS,
};

static const char *const names[SYMBOLS] = {
	[HOTSPOT_STRUCTS] = "gHotSpotVMStructs",
	[HOTSPOT_STRUCTS_STRIDE] = "gHotSpotVMStructEntryArrayStride",
	[HOTSPOT_STRUCTS_TYPE_NAME] = "gHotSpotVMStructEntryTypeNameOffset",
	[HOTSPOT_STRUCTS_FIELD_NAME] = "gHotSpotVMStructEntryFieldNameOffset",
	[HOTSPOT_STRUCTS_IS_STATIC] = "gHotSpotVMStructEntryIsStaticOffset",
	[HOTSPOT_STRUCTS_OFFSET] = "gHotSpotVMStructEntryOffsetOffset",
	[HOTSPOT_STRUCTS_ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
	[HOTSPOT_TYPES] = "gHotSpotVMTypes",
	[HOTSPOT_TYPES_STRIDE] = "gHotSpotVMTypeEntryArrayStride",
	[HOTSPOT_TYPES_NAME] = "gHotSpotVMTypeEntryTypeNameOffset",
	[HOTSPOT_TYPES_SIZE] = "gHotSpotVMTypeEntrySizeOffset",
	[SYMBOL_OF_CODE] = "JNI_CreateJavaVM",
};

static struct err *hotspot_detect(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	struct elf_dynsym symbols[SYMBOLS];
	struct hotspot_row *row = (void *)file->row.words;
	if (elf_file_machine(elf) != EM_X86_64)
		return NULL;
	try(elf_dynsym_find(elf, names, SYMBOLS, symbols));
	file->is_runtime = symbols[HOTSPOT_STRUCTS].address;
	for (int i = 0; i < SYMBOLS; i++)
		if (!symbols[i].address || symbols[i].address >> 32)
			return NULL;
	for (int i = 0; i < HOTSPOT_SYMBOLS; i++)
		row->symbols[i] = (uint32_t)symbols[i].address;
	size_t len;
	const uint8_t *build_id = elf_file_build_id(elf, &len);
	memcpy(row->build_id, build_id, len < sizeof(row->build_id) ? len : sizeof(row->build_id));
	/* No function there is a loop with script frames. */
	file->loop_start = file->loop_end = symbols[SYMBOL_OF_CODE].address;
	*is_found = true;
	return NULL;
}

static void hotspot_place(struct runtime_row *row, uint64_t address_to_file)
{
	struct hotspot_row *hotspot = (void *)row->words;
	for (int i = 0; i < HOTSPOT_SYMBOLS; i++)
		hotspot->symbols[i] += (uint32_t)address_to_file;
}

static bool hotspot_is_sound(const struct runtime_row *row)
{
	const struct hotspot_row *hotspot = (const void *)row->words;
	return !hotspot->is_complete && !hotspot->version;
}

/* Without a build ID it is not known whether the next file is the same. */
static bool hotspot_is_kept(const struct runtime_row *row)
{
	static const uint8_t none[sizeof(((struct hotspot_row *)0)->build_id)];
	const struct hotspot_row *hotspot = (const void *)row->words;
	return memcmp(hotspot->build_id, none, sizeof(none)) != 0;
}

static bool hotspot_is_complete(const struct runtime_row *row)
{
	const struct hotspot_row *hotspot = (const void *)row->words;
	return hotspot->is_complete;
}

const struct runtime hotspot_runtime = {
	.version = 2,
	.name = "java",
	.claims_code_of_no_file = true,
	.object = "[java]",
	.detect = hotspot_detect,
	.place = hotspot_place,
	.is_sound = hotspot_is_sound,
	.complete = hotspot_layout_complete,
	.is_complete = hotspot_is_complete,
	.is_kept = hotspot_is_kept,
	.put_texts = hotspot_names_put_texts,
	.next_line = hotspot_lines_next,
	.read_text = hotspot_lines_read,
	.read_inlined = hotspot_scopes_read,
};
