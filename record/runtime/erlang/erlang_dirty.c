/*
 * A thread that is a dirty scheduler calls one function, which is to return never; behind the call
 * it says that it has ended. There are two kinds of such threads, each with a message of its own:
 * the call ahead of where either is loaded goes to the function.
 *
 * Sources: sched_dirty_cpu_thread_func() and sched_dirty_io_thread_func() of
 * erts/emulator/beam/erl_process.c, OTP 25 and 27, where the symbol says the same; Intel SDM,
 * volume 2, "CALL", "LEA".
 */
#include "record/runtime/erlang/erlang_dirty.h"

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/dwarf/cfi.h"
#include "format/elf/elf_eh_frame.h"
#include "format/machine/machine.h"

enum {
	MAX_CODE_BYTES = 64 << 20,
	SEARCHED_BYTES = 80, /* from the call to the message */
	LEA_BYTES = 7,       /* lea disp32(%rip), %reg */
	CALL_BYTES = 5,
	CALL_REL32 = 0xe8,
};

static const char *const messages[] = {
	"Dirty CPU scheduler thread number %", "Dirty I/O scheduler thread number %"};

enum {
	MESSAGES = sizeof(messages) / sizeof(*messages),
};

struct dirty_search {
	uint64_t message[MESSAGES]; /* their addresses; 0: not found */
	const uint8_t *code;
	size_t len;
	uint64_t address; /* of the code */
};

static uint64_t distance_at(const uint8_t *bytes)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(uint32_t));
	return (uint64_t)(int64_t)(int32_t)bytes_get_u32(&cursor);
}

/* The target of the last call ahead of an instruction; 0: there is none near. */
static uint64_t call_ahead(const struct dirty_search *search, size_t at)
{
	for (size_t back = CALL_BYTES; back <= SEARCHED_BYTES && back <= at; back++) {
		const uint8_t *call = search->code + at - back;
		uint64_t target = search->address + at - back + CALL_BYTES + distance_at(call + 1);
		if (call[0] == CALL_REL32 && target >= search->address &&
			target < search->address + search->len)
			return target;
	}
	return 0;
}

/* What is called ahead of where the messages are loaded, if that is one function; 0: it is not. */
static uint64_t called_ahead_of_messages(const struct dirty_search *search)
{
	uint64_t called[MESSAGES] = {0};
	for (size_t at = 0; at + LEA_BYTES <= search->len; at++) {
		const uint8_t *lea = search->code + at;
		if ((lea[0] & 0xf8) != 0x48 || lea[1] != 0x8d || (lea[2] & 0xc7) != 5)
			continue;
		uint64_t loaded = search->address + at + LEA_BYTES + distance_at(lea + 3);
		for (size_t i = 0; i < MESSAGES; i++)
			if (loaded == search->message[i])
				called[i] = call_ahead(search, at);
	}
	return called[0] == called[1] ? called[0] : 0;
}

static struct err *erlang_dirty_read(
	struct elf_file *elf, const struct elf_segment *segment, uint8_t **ret)
{
	*ret = NULL;
	if (!segment->filesz || segment->filesz > MAX_CODE_BYTES)
		return NULL;
	return elf_file_read(elf, segment->offset, segment->filesz, ret);
}

static struct err *erlang_dirty_find_messages(struct elf_file *elf,
	const struct elf_segment *segments, size_t count, struct dirty_search *search)
{
	for (size_t i = 0; i < count; i++) {
		CLEANUP_FREE uint8_t *bytes = NULL;
		if (segments[i].flags & (PF_W | PF_X))
			continue;
		try(erlang_dirty_read(elf, &segments[i], &bytes));
		for (size_t k = 0; bytes && k < MESSAGES; k++) {
			const uint8_t *found =
				memmem(bytes, segments[i].filesz, messages[k], strlen(messages[k]));
			if (found && !search->message[k])
				search->message[k] = segments[i].vaddr + (uint64_t)(found - bytes);
		}
	}
	return NULL;
}

/* Where the function that begins at `start` ends, by call frame information; 0: it does not say. */
static struct err *erlang_dirty_find_end(struct elf_file *elf, uint64_t start, uint64_t *end)
{
	struct elf_eh_frame found;
	bool is_found;
	*end = 0;
	try(elf_eh_frame_find(elf, &found, &is_found));
	if (!is_found || found.size > MAX_CODE_BYTES)
		return NULL;
	CLEANUP_FREE uint8_t *bytes = NULL;
	try(elf_file_read(elf, found.offset, found.size, &bytes));
	struct cfi_section section = {
		.kind = CFI_EH_FRAME,
		.bytes = bytes,
		.len = found.size,
		.vaddr = found.vaddr,
		.machine = machine_registers(elf_file_machine(elf)),
		.stop = elf_file_stop(elf),
	};
	struct cfi_reader *reader = cfi_reader_create(&section);
	struct cfi_function function;
	while (!*end && cfi_reader_next(reader, &function))
		if (function.start == start)
			*end = function.end;
	cfi_reader_destroy(reader);
	return NULL;
}

struct err *erlang_dirty_find(struct elf_file *elf, uint64_t *start, uint64_t *end)
{
	struct dirty_search search = {0};
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	*start = *end = 0;
	try(erlang_dirty_find_messages(elf, segments, count, &search));
	if (!search.message[0] || !search.message[1])
		return NULL;
	for (size_t i = 0; i < count && !*start; i++) {
		CLEANUP_FREE uint8_t *bytes = NULL;
		if (!(segments[i].flags & PF_X))
			continue;
		try(erlang_dirty_read(elf, &segments[i], &bytes));
		search.code = bytes;
		search.len = bytes ? segments[i].filesz : 0;
		search.address = segments[i].vaddr;
		*start = called_ahead_of_messages(&search);
	}
	if (*start)
		try(erlang_dirty_find_end(elf, *start, end));
	if (!*end)
		*start = 0;
	return NULL;
}
