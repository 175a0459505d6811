/*
 * A thread that is a scheduler calls one function, which is to return never; behind the call it
 * says that it has ended. There are three kinds of such threads, each with a message of its own:
 * the call ahead of where that is loaded goes to the function. The two kinds of dirty ones have the
 * same.
 *
 * Sources: sched_thread_func(), sched_dirty_cpu_thread_func() and sched_dirty_io_thread_func() of
 * erts/emulator/beam/erl_process.c, OTP 25 and 27, where the symbols say the same; Intel SDM,
 * volume 2, "CALL", "LEA".
 */
#include "record/runtime/erlang/erlang_threads.h"

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/dwarf/cfi_file.h"
#include "format/machine/arm64_insn.h"

enum {
	MAX_CODE_BYTES = 64 << 20,
	SEARCHED_BYTES = 80, /* from the call to the message */
	LEA_BYTES = 7,       /* lea disp32(%rip), %reg */
	CALL_BYTES = 5,
	CALL_REL32 = 0xe8,
};

enum thread_kind {
	THREAD_SCHEDULER,
	THREAD_DIRTY_CPU,
	THREAD_DIRTY_IO,
	THREADS,
};

static const char *const messages[THREADS] = {
	[THREAD_SCHEDULER] = "Scheduler thread number %",
	[THREAD_DIRTY_CPU] = "Dirty CPU scheduler thread number %",
	[THREAD_DIRTY_IO] = "Dirty I/O scheduler thread number %",
};

struct threads_call {
	uint64_t target; /* 0: there is none */
	uint64_t behind;
};

struct threads_search {
	uint64_t message[THREADS]; /* their addresses; 0: not found */
	const uint8_t *code;
	size_t len;
	uint64_t address;                  /* of the code */
	struct threads_call call[THREADS]; /* ahead of where each is loaded */
};

static bool is_in_code(const struct threads_search *search, uint64_t address)
{
	return address >= search->address && address - search->address < search->len;
}

/* The code at `at` loads that address. */
static void take_loaded(struct threads_search *search, uint64_t loaded, size_t at,
	struct threads_call (*call_ahead)(const struct threads_search *search, size_t at))
{
	for (size_t i = 0; i < THREADS; i++)
		if (loaded && loaded == search->message[i])
			search->call[i] = call_ahead(search, at);
}

/* ---- x86-64 ---- */

static uint64_t distance_at(const uint8_t *bytes)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(uint32_t));
	return (uint64_t)(int64_t)(int32_t)bytes_get_u32(&cursor);
}

/* The last call ahead of an instruction. */
static struct threads_call call_ahead_of_x86_64(const struct threads_search *search, size_t at)
{
	for (size_t back = CALL_BYTES; back <= SEARCHED_BYTES && back <= at; back++) {
		const uint8_t *call = search->code + at - back;
		uint64_t behind = search->address + at - back + CALL_BYTES;
		uint64_t target = behind + distance_at(call + 1);
		if (call[0] == CALL_REL32 && is_in_code(search, target))
			return (struct threads_call){target, behind};
	}
	return (struct threads_call){0};
}

static void search_code_of_x86_64(struct threads_search *search)
{
	for (size_t at = 0; at + LEA_BYTES <= search->len; at++) {
		const uint8_t *lea = search->code + at;
		if ((lea[0] & 0xf8) == 0x48 && lea[1] == 0x8d && (lea[2] & 0xc7) == 5)
			take_loaded(search, search->address + at + LEA_BYTES + distance_at(lea + 3),
				at, call_ahead_of_x86_64);
	}
}

/* ---- arm64 ---- */

static struct threads_call call_ahead_of_arm64(const struct threads_search *search, size_t at)
{
	for (size_t back = ARM64_INSN_BYTES; back <= SEARCHED_BYTES && back <= at;
		back += ARM64_INSN_BYTES) {
		uint64_t address = search->address + at - back;
		struct arm64_insn insn =
			arm64_insn_decode(search->code + at - back, ARM64_INSN_BYTES, address);
		if (insn.kind == ARM64_CALL && is_in_code(search, insn.value))
			return (struct threads_call){insn.value, address + ARM64_INSN_BYTES};
	}
	return (struct threads_call){0};
}

/* By adrp; add. What stands between them may be anything, so all is run, as if it never jumped. */
static void search_code_of_arm64(struct threads_search *search)
{
	struct arm64_values values = {.known = 0};
	for (size_t at = 0; at + ARM64_INSN_BYTES <= search->len; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_insn_decode(
			search->code + at, ARM64_INSN_BYTES, search->address + at);
		uint64_t loaded;
		bool of_thread;
		if (insn.kind == ARM64_SUM &&
			arm64_values_address(&values, &insn, &loaded, &of_thread) && !of_thread)
			take_loaded(search, loaded, at, call_ahead_of_arm64);
		arm64_values_run(&values, &insn);
	}
}

/* ---- the file ---- */

static struct err *read_threads_segment(
	struct elf_file *elf, const struct elf_segment *segment, uint8_t **ret)
{
	*ret = NULL;
	if (!segment->filesz || segment->filesz > MAX_CODE_BYTES)
		return NULL;
	return elf_file_read(elf, segment->offset, segment->filesz, ret);
}

static struct err *find_thread_messages(struct elf_file *elf, const struct elf_segment *segments,
	size_t count, struct threads_search *search)
{
	for (size_t i = 0; i < count; i++) {
		CLEANUP_FREE uint8_t *bytes = NULL;
		if (segments[i].flags & PF_W) /* a linker may have put them among the code */
			continue;
		try(read_threads_segment(elf, &segments[i], &bytes));
		for (size_t k = 0; bytes && k < THREADS; k++) {
			const uint8_t *found =
				memmem(bytes, segments[i].filesz, messages[k], strlen(messages[k]));
			if (found && !search->message[k])
				search->message[k] = segments[i].vaddr + (uint64_t)(found - bytes);
		}
	}
	return NULL;
}

/* Where the function that begins at `start` ends, by call frame information; 0: it does not say. */
static struct err *find_end_of_function(struct elf_file *elf, uint64_t start, uint64_t *end)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct cfi_section section;
	*end = 0;
	try(cfi_file_read_function(elf, start, &bytes, &section));
	if (!bytes)
		return NULL;
	struct cfi_reader *reader = cfi_reader_create(&section);
	struct cfi_function function;
	if (cfi_reader_next(reader, &function) && function.start == start)
		*end = function.end;
	cfi_reader_destroy(reader);
	return NULL;
}

struct err *erlang_threads_find(struct elf_file *elf, struct erlang_threads *ret)
{
	struct threads_search search = {.len = 0};
	const struct threads_call *calls = search.call;
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	*ret = (struct erlang_threads){0};
	try(find_thread_messages(elf, segments, count, &search));
	for (size_t i = 0; i < count; i++) {
		CLEANUP_FREE uint8_t *bytes = NULL;
		if (!(segments[i].flags & PF_X))
			continue;
		try(read_threads_segment(elf, &segments[i], &bytes));
		search.code = bytes;
		search.len = bytes ? segments[i].filesz : 0;
		search.address = segments[i].vaddr;
		if (elf_file_machine(elf) == EM_AARCH64)
			search_code_of_arm64(&search);
		else
			search_code_of_x86_64(&search);
	}
	ret->scheduler_return = calls[THREAD_SCHEDULER].behind;
	if (calls[THREAD_DIRTY_CPU].target != calls[THREAD_DIRTY_IO].target)
		return NULL;
	ret->dirty_start = calls[THREAD_DIRTY_CPU].target;
	if (ret->dirty_start)
		try(find_end_of_function(elf, ret->dirty_start, &ret->dirty_end));
	if (!ret->dirty_end)
		ret->dirty_start = 0;
	return NULL;
}
