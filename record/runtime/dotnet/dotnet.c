/*
 * .NET's CoreCLR, of .NET 8 to 10, on arm64 9 and 10, in a library of its own or in the program
 * itself (a self-contained single file). Debuggers find their way by a table, g_dacTable, whose
 * entries are addresses of the runtime's variables: the first is the map of the code that there is.
 * Where the runtime keeps what is constant for each major version.
 *
 * Sources: src/coreclr/inc/dacvars.h, src/coreclr/vm/codeman.h of .NET 8, 9, 10.
 */
#include <elf.h>
#include <string.h>

#include "bpf/runtime/dotnet/dotnet_code.h"
#include "bpf/runtime/dotnet/dotnet_row.h"
#include "format/base/mem.h"
#include "format/elf/elf_dynsym.h"
#include "record/runtime/dotnet/dotnet_method.h"
#include "record/runtime/runtime.h"
#include "record/runtime/runtime_memory.h"

enum {
#if defined(__x86_64__)
	OLDEST = 8,
#else
	OLDEST = 9, /* 8 was not there to be looked at */
#endif
	LATEST = 10,
	FIRST_WITH_MAP_LINKS = 10,
	MAX_DATA_BYTES = 8 << 20, /* that is searched for the version */
};

/* "@(#)Version 10.0.1226.42308": src/coreclr/inc/sccsid, among the data. 0: it is not there. */
static uint8_t find_version(struct elf_file *elf)
{
	static const char word[] = "@(#)Version ";
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	uint32_t version = 0;
	for (size_t i = 0; i < count && !version; i++) {
		CLEANUP_FREE uint8_t *bytes = NULL;
		const struct elf_segment *segment = &segments[i];
		if (segment->flags & PF_X || segment->filesz > MAX_DATA_BYTES)
			continue;
		struct err *err = elf_file_read(elf, segment->offset, segment->filesz, &bytes);
		const uint8_t *found =
			err ? NULL : memmem(bytes, segment->filesz, word, sizeof(word) - 1);
		err_destroy(err);
		/* A NUL stands behind the bytes. */
		for (found = found ? found + sizeof(word) - 1 : NULL;
			found && *found >= '0' && *found <= '9' && version < 100; found++)
			version = 10 * version + (*found - '0');
	}
	return version < 100 ? (uint8_t)version : 0;
}

static struct err *dotnet_detect(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	static const char *const names[] = {"g_dacTable"};
	struct elf_dynsym table;
	struct dotnet_row *row = (void *)file->row.words;
	try(elf_dynsym_find(elf, names, 1, &table));
	file->is_runtime = table.address != 0;
	if (elf_file_machine(elf) != EM_X86_64 && elf_file_machine(elf) != EM_AARCH64)
		return NULL;
	if (!table.address || table.address >> 32)
		return NULL;
	row->dac_table = (uint32_t)table.address;
	row->version = find_version(elf);
	row->has_map_links = row->version >= FIRST_WITH_MAP_LINKS;
	*is_found = row->version >= OLDEST && row->version <= LATEST &&
		    runtime_file_take_no_loop(elf, file);
	return NULL;
}

static void dotnet_place(struct runtime_row *row, uint64_t address_to_file)
{
	struct dotnet_row *dotnet = (void *)row->words;
	dotnet->dac_table += (uint32_t)address_to_file;
}

static bool dotnet_is_sound(const struct runtime_row *row)
{
	const struct dotnet_row *dotnet = (const void *)row->words;
	return dotnet->version >= OLDEST && dotnet->version <= LATEST;
}

/* ---- frames in a live process ---- */

/* Of the worker, which serves one request at a time: dotnet_code.h passes nothing around, since BPF
 * programs cannot. */
static struct dotnet_at_hand {
	uint32_t pid;
	uint64_t delta;
	struct dotnet_walk walk;
} dotnet_of_worker;

struct dotnet_walk *dotnet_at_hand(void)
{
	return &dotnet_of_worker.walk;
}

unsigned long long dotnet_table(void)
{
	return dotnet_of_worker.walk.code.row.dac_table - dotnet_of_worker.delta;
}

_Bool dotnet_has_map_links(void)
{
	return dotnet_of_worker.walk.code.row.has_map_links;
}

long dotnet_read(void *to, unsigned int bytes, unsigned long long address)
{
	return !runtime_read_process(dotnet_of_worker.pid, address, to, bytes);
}

/* Stubs are known where they were interrupted, and left by what their code says. */
static bool dotnet_find_frame(uint32_t pid, uint64_t delta, const struct runtime_row *row,
	uint64_t place, bool is_leaf, struct runtime_frame *ret)
{
	struct dotnet_walk *walk = &dotnet_of_worker.walk;
	dotnet_of_worker = (struct dotnet_at_hand){.pid = pid, .delta = delta};
	memcpy(&walk->code.row, row->words, sizeof(walk->code.row));
	if (!dotnet_take_code(place) || walk->code.header == DOTNET_STUB_HELPER)
		return false;
	bool is_stub = dotnet_is_stub(walk->code.header);
	if (is_stub && !is_leaf)
		return false;
	uint32_t leaf = is_leaf ? RUNTIME_FRAME_IS_LEAF : 0;
	uint32_t offset =
		(uint32_t)(place - walk->section[DOTNET_SECTION_BEGIN]) - walk->function.begin;
	*ret = (struct runtime_frame){
		.version = walk->code.row.version, .given_bytes = sizeof(walk->code)};
	memcpy(ret->given, &walk->code, sizeof(walk->code));
	if (is_stub)
		return true;
	ret->place = ((place - walk->code.start) & (RUNTIME_FRAME_IS_LEAF - 1)) | leaf;
	ret->has_rule = (is_leaf && dotnet_take_epilogue(place)) || dotnet_take_rule(offset);
	ret->rule = walk->known.rule;
	return true;
}

const struct runtime dotnet_runtime = {
	.version = 4,
	.name = "dotnet",
	.claims_code_of_no_file = true,
	.has_no_loop = true,
	.object = "[dotnet]",
	.detect = dotnet_detect,
	.place = dotnet_place,
	.is_sound = dotnet_is_sound,
	.put_texts = dotnet_method_put_texts,
	.next_line = dotnet_method_next_line,
	.is_read_again = true,
	.read_inlined = dotnet_method_read,
	.find_frame = dotnet_find_frame,
};
