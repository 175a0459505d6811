/*
 * BEAM, Erlang's emulator, as it compiles modules when it loads them (JIT). It is a program that
 * shows what drivers and NIFs need; where it keeps its modules and its atoms, no symbol says, since
 * those of distributions are stripped: a process is read that runs it.
 *
 * Sources: erts/emulator/beam/{atom,index,beam_ranges,code_ix}.[ch] and
 * erts/emulator/beam/erl_process.h of OTP 25 to 29; offsets in structures as they were seen in
 * Debian's builds of OTP 25.2.3, 27.3.4 and 29.1.2.
 */
#include <elf.h>
#include <string.h>

#include "bpf/runtime/erlang/erlang_row.h"
#include "format/base/mem.h"
#include "format/elf/elf_dynsym.h"
#include "format/machine/machine.h"
#include "record/runtime/erlang/erlang_layout.h"
#include "record/runtime/erlang/erlang_lines.h"
#include "record/runtime/erlang/erlang_names.h"
#include "record/runtime/erlang/erlang_threads.h"
#include "record/runtime/runtime.h"

enum symbol {
	FOR_NIFS, /* the first: without it nothing else is looked for */
	FOR_DRIVERS,
	DIRTY_MAIN, /* what runs code on dirty schedulers; not all builds show it */
	SYMBOLS,
};

static const char *const names[SYMBOLS] = {
	[FOR_NIFS] = "enif_make_atom_len",
	[FOR_DRIVERS] = "erl_drv_thread_create",
	[DIRTY_MAIN] = "erts_dirty_process_main",
};

enum {
	OLDEST = 25, /* OTP 24 compiles, too, but was not tried */
	LATEST = 29,
	MAX_SEGMENT_BYTES = 64 << 20,
};

/* What is looked for in a file's bytes. */
struct constants {
	uint64_t atoms_name; /* address of "atom_tab"; 0: it is not there */
	uint32_t version;    /* of OTP; 0: unknown */
};

/* "Erlang/OTP 27%s [erts-": the format of the line that a shell begins with. */
static uint32_t version_in(const char *bytes, size_t len)
{
	static const char begin[] = "Erlang/OTP ", rest[] = "%s [erts-";
	const size_t begin_len = sizeof(begin) - 1, rest_len = sizeof(rest) - 1;
	for (const char *at = bytes;
		(at = memmem(at, len - (size_t)(at - bytes), begin, begin_len));) {
		at += begin_len;
		size_t left = len - (size_t)(at - bytes);
		if (left < 2 + rest_len)
			return 0;
		bool is_number = at[0] >= '1' && at[0] <= '9' && at[1] >= '0' && at[1] <= '9';
		if (is_number && memcmp(at + 2, rest, rest_len) == 0)
			return (uint32_t)((at[0] - '0') * 10 + at[1] - '0');
	}
	return 0;
}

static struct err *search_constants(
	struct elf_file *elf, const struct elf_segment *segment, struct constants *ret)
{
	static const char atoms[] = "\0atom_tab";
	CLEANUP_FREE uint8_t *bytes = NULL;
	if (!segment->filesz || segment->filesz > MAX_SEGMENT_BYTES)
		return NULL;
	try(elf_file_read(elf, segment->offset, segment->filesz, &bytes));
	const uint8_t *name = memmem(bytes, segment->filesz, atoms, sizeof(atoms));
	if (name && !ret->atoms_name)
		ret->atoms_name = segment->vaddr + (uint64_t)(name - bytes) + 1;
	if (!ret->version)
		ret->version = version_in((const char *)bytes, segment->filesz);
	return NULL;
}

/* The segment with what variables there are. False: there is none. */
static bool take_data(const struct elf_segment *segments, size_t count, struct erlang_row *row)
{
	for (size_t i = 0; i < count; i++) {
		const struct elf_segment *segment = &segments[i];
		if (!(segment->flags & PF_W) || (segment->vaddr + segment->memsz) >> 32)
			continue;
		row->data = (uint32_t)segment->vaddr;
		row->data_end = (uint32_t)(segment->vaddr + segment->memsz);
		return true;
	}
	return false;
}

/*
 * By the version, as far as no code of the process shows it. On x86-64 a process has room for its
 * frame pointer, too (ERLANG_FRAME_POINTERS), ahead of most of what is looked for.
 */
static void take_offsets(struct erlang_row *row, uint16_t machine)
{
	bool is_old = row->version == 25;
	uint16_t less = machine == EM_X86_64 ? 0 : 8;
	row->scheduler_at = (uint16_t)((is_old ? 760 : 744) - less);
	row->initial_at = (uint16_t)((is_old ? 448 : 440) - less);
	row->current_at = 168;
	row->registered_at = is_old ? 48 : 32;
	row->dictionary_at = (uint16_t)((is_old ? 416 : 408) - less);
	row->thread_at = 32;
	row->id_shift = is_old ? 4 : 7;
	row->id_bits = is_old ? 15 : 28;
}

/* Where the loop of dirty schedulers is not found any code will do: then what they run has no
 * callers. */
static struct err *erlang_take_threads(struct elf_file *elf,
	const struct elf_dynsym symbols[SYMBOLS], struct erlang_row *row, struct runtime_file *file)
{
	struct erlang_threads threads;
	try(erlang_threads_find(elf, &threads));
	if (!(threads.scheduler_return >> 32))
		row->scheduler_return = (uint32_t)threads.scheduler_return;
	file->loop_start = symbols[DIRTY_MAIN].address;
	file->loop_end = file->loop_start + symbols[DIRTY_MAIN].size;
	if (!file->loop_start) {
		file->loop_start = threads.dirty_start;
		file->loop_end = threads.dirty_end;
	}
	/* Not where a segment begins: that may be 0. */
	if (!file->loop_start)
		file->loop_start = file->loop_end = symbols[FOR_NIFS].address;
	return NULL;
}

static struct err *erlang_detect(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	struct elf_dynsym symbols[SYMBOLS] = {0};
	struct erlang_row *row = (void *)file->row.words;
	struct constants constants = {0};
	size_t count, len;
	try(elf_dynsym_find(elf, names, SYMBOLS, symbols));
	if (!symbols[FOR_NIFS].address || !symbols[FOR_DRIVERS].address)
		return NULL;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	for (size_t i = 0; i < count && (!constants.atoms_name || !constants.version); i++)
		try(search_constants(elf, &segments[i], &constants));
	file->is_runtime = true;
	if (!machine_find(elf_file_machine(elf)))
		return NULL;
	if (constants.version < OLDEST || constants.version > LATEST || !constants.atoms_name ||
		constants.atoms_name >> 32 || !take_data(segments, count, row))
		return NULL;
	row->version = (uint8_t)constants.version;
	row->atoms_name = (uint32_t)constants.atoms_name;
	take_offsets(row, elf_file_machine(elf));
	const uint8_t *build_id = elf_file_build_id(elf, &len);
	memcpy(row->build_id, build_id, len < sizeof(row->build_id) ? len : sizeof(row->build_id));
	try(erlang_take_threads(elf, symbols, row, file));
	*is_found = true;
	return NULL;
}

static void erlang_place(struct runtime_row *row, uint64_t address_to_file)
{
	struct erlang_row *erlang = (void *)row->words;
	erlang->data += (uint32_t)address_to_file;
	erlang->data_end += (uint32_t)address_to_file;
	erlang->atoms_name += (uint32_t)address_to_file;
	if (erlang->scheduler_return)
		erlang->scheduler_return += (uint32_t)address_to_file;
}

static bool erlang_is_sound(const struct runtime_row *row)
{
	const struct erlang_row *erlang = (const void *)row->words;
	return !erlang->is_complete && erlang->version >= OLDEST && erlang->version <= LATEST &&
	       erlang->data < erlang->data_end;
}

static bool erlang_is_complete(const struct runtime_row *row)
{
	const struct erlang_row *erlang = (const void *)row->words;
	return erlang->is_complete;
}

/* Without a build ID it is not known whether the next file is the same. */
static bool erlang_is_kept(const struct runtime_row *row)
{
	static const uint8_t none[sizeof(((struct erlang_row *)0)->build_id)];
	const struct erlang_row *erlang = (const void *)row->words;
	return memcmp(erlang->build_id, none, sizeof(none)) != 0;
}

const struct runtime erlang_runtime = {
	.version = 6,
	.name = "erlang",
	.claims_code_of_no_file = true,
	.object = "[erlang]",
	.detect = erlang_detect,
	.place = erlang_place,
	.is_sound = erlang_is_sound,
	.complete = erlang_layout_complete,
	.is_complete = erlang_is_complete,
	.is_kept = erlang_is_kept,
	.put_texts = erlang_names_put_texts,
	.next_line = erlang_lines_next,
	.read_inlined = erlang_lines_read,
};
