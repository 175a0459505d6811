#include "record/unwind_ready.h"

#include <elf.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/clr/clr_image.h"
#include "format/unwind/unwind_info.h"

enum {
	WINDOW_BYTES = 256 << 10,       /* of code, since functions come in order */
	MAX_FUNCTION_BYTES = 128 << 10, /* of a longer one, epilogues are found up to here */
	MAX_POPS = 8,
	MAX_TAIL_BYTES = 2 * MAX_POPS,
	HIGH_REGISTER = 8, /* from here on an instruction has a prefix */
};

struct unwind_ready {
	struct elf_file *elf;
	struct clr_bytes bytes;
	struct clr_image image;
	uint8_t *window;
	uint64_t window_address;
	size_t window_len;
};

static bool unwind_ready_read(void *context, uint64_t offset, void *to, size_t len)
{
	struct err *err = elf_file_read_into(context, offset, to, len);
	bool is_read = !err;
	err_destroy(err);
	return is_read;
}

struct unwind_ready *unwind_ready_open(struct elf_file *elf)
{
	if (!elf_file_pe(elf) || elf_file_machine(elf) != EM_X86_64)
		return NULL;
	struct unwind_ready *ready = mem_zalloc(sizeof(*ready));
	ready->elf = elf;
	clr_bytes_init(&ready->bytes, unwind_ready_read, elf, elf_file_size(elf));
	if (!clr_image_open(&ready->bytes, false, &ready->image) ||
		!clr_image_count_functions(&ready->image)) {
		unwind_ready_destroy(ready);
		return NULL;
	}
	ready->window = mem_alloc(WINDOW_BYTES);
	return ready;
}

void unwind_ready_destroy(struct unwind_ready *ready)
{
	if (!ready)
		return;
	clr_bytes_deinit(&ready->bytes);
	mem_free(ready->window);
	mem_free(ready);
}

/* Behind the functions, the code that makes methods ready counts as one of them. */
uint32_t unwind_ready_count(const struct unwind_ready *ready)
{
	return clr_image_count_functions(&ready->image) + 1;
}

static bool is_thunks(const struct unwind_ready *ready, uint32_t index)
{
	return index + 1 == unwind_ready_count(ready);
}

bool unwind_ready_function(
	struct unwind_ready *ready, uint32_t index, uint64_t *start, uint64_t *end)
{
	if (is_thunks(ready, index)) {
		*start = ready->image.ready[CLR_READY_THUNKS].address;
		*end = *start + ready->image.ready[CLR_READY_THUNKS].len;
		return *start < *end;
	}
	struct clr_function function = clr_image_function(&ready->image, index);
	if (!function.end && !is_thunks(ready, index + 1))
		function.end = clr_image_function(&ready->image, index + 1).begin;
	*start = function.begin;
	*end = function.end;
	return *start < *end;
}

/* `len` bytes of code, NULL where the file has none. */
static const uint8_t *unwind_ready_code_at(struct unwind_ready *ready, uint64_t address, size_t len)
{
	if (address >= ready->window_address &&
		address - ready->window_address <= ready->window_len &&
		len <= ready->window_len - (size_t)(address - ready->window_address))
		return ready->window + (address - ready->window_address);
	size_t count;
	uint64_t offset, left;
	const struct elf_segment *segments = elf_file_segments(ready->elf, &count);
	if (!elf_segments_vaddr_to_offset(segments, count, address, &offset, &left) || left < len)
		return NULL;
	size_t want = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
	struct err *err = elf_file_read_into(ready->elf, offset, ready->window, want);
	ready->window_address = address;
	ready->window_len = err ? 0 : want;
	err_destroy(err);
	return ready->window_len ? ready->window : NULL;
}

/* ---- prologues ---- */

/* What a function's rows are made from. */
struct rows_of_function {
	uint8_t info[UNWIND_INFO_BYTES];
	uint64_t start;
	struct unwind_rule body; /* behind the prologue */
	unwind_ready_on_rule *on_rule;
	void *context;
};

static bool read_unwind_info(
	struct unwind_ready *ready, uint32_t index, uint8_t ret[UNWIND_INFO_BYTES])
{
	struct clr_function function = clr_image_function(&ready->image, index);
	uint64_t at;
	memset(ret, 0, UNWIND_INFO_BYTES);
	if (!clr_image_offset(&ready->image, function.unwind_info, &at) ||
		!clr_bytes_copy(&ready->bytes, at, ret, UNWIND_INFO_HEAD_BYTES))
		return false;
	size_t count = ret[2] < UNWIND_INFO_MAX_CODES ? ret[2] : UNWIND_INFO_MAX_CODES;
	return clr_bytes_copy(&ready->bytes, at + UNWIND_INFO_HEAD_BYTES,
		ret + UNWIND_INFO_HEAD_BYTES, 2 * count);
}

/* A row wherever another instruction of the prologue is done. */
static bool put_prologue(struct rows_of_function *rows)
{
	struct unwind_rule before = {0};
	for (unsigned offset = 0; offset <= rows->info[1]; offset++) {
		if (!unwind_info_rule(rows->info, offset, &rows->body))
			return false;
		if (memcmp(&rows->body, &before, sizeof(before)) != 0)
			rows->on_rule(rows->context, rows->start + offset, &rows->body);
		before = rows->body;
	}
	return true;
}

/* ---- epilogues ---- */

/* How the function's epilogues end, ahead of the return. */
struct epilogue {
	uint8_t tail[MAX_TAIL_BYTES]; /* the pops, or, where there are none, what adds to rsp */
	size_t tail_len;
	uint8_t popped[MAX_POPS]; /* registers, as UNWIND_INFO calls them */
	uint32_t nr_pops;
	uint32_t allocated; /* bytes; 0: the pops are all */
	bool has_frame;     /* rsp is set by rbp */
};

static uint32_t put_add(uint8_t code[7], uint32_t bytes)
{
	if (bytes < 128) {
		memcpy(code, (uint8_t[]){0x48, 0x83, 0xc4, (uint8_t)bytes}, 4);
		return 4;
	}
	memcpy(code, (uint8_t[]){0x48, 0x81, 0xc4}, 3);
	memcpy(code + 3, &bytes, sizeof(bytes));
	return 7;
}

/* False: the function has no epilogue that is more than its return, or an odd one. */
static bool take_epilogue(const uint8_t info[UNWIND_INFO_BYTES], struct epilogue *ret)
{
	*ret = (struct epilogue){0};
	for (unsigned i = 0; i < info[2]; i++) {
		unsigned code = unwind_info_u16(info, i), op = code >> 8 & 15, number = code >> 12;
		unsigned low = unwind_info_u16(info, i + 1);
		if (op == UNWIND_INFO_PUSH) {
			if (ret->nr_pops == MAX_POPS)
				return false;
			ret->popped[ret->nr_pops++] = (uint8_t)number;
		} else if (op == UNWIND_INFO_ALLOC_SMALL) {
			ret->allocated += 8 * number + 8;
		} else if (op == UNWIND_INFO_ALLOC_LARGE) {
			ret->allocated +=
				number ? low | unwind_info_u16(info, i + 2) << 16 : 8 * low;
			i += number ? 2 : 1;
		} else if (op == UNWIND_INFO_SET_FRAME || op == UNWIND_INFO_SET_FRAME_LARGE) {
			ret->has_frame = true;
			i += op == UNWIND_INFO_SET_FRAME_LARGE ? 2 : 0;
		} else {
			return false;
		}
	}
	for (uint32_t i = 0; i < ret->nr_pops; i++) {
		if (ret->popped[i] >= HIGH_REGISTER)
			ret->tail[ret->tail_len++] = 0x41;
		ret->tail[ret->tail_len++] = 0x58 | (ret->popped[i] & 7);
	}
	if (!ret->tail_len && ret->allocated && !ret->has_frame)
		ret->tail_len = put_add(ret->tail, ret->allocated);
	return ret->tail_len;
}

/* Whether what is ahead of the pops sets rsp, if that is needed. */
static bool has_head(const struct epilogue *epilogue, const uint8_t *code, size_t at)
{
	uint8_t add[7];
	size_t len = put_add(add, epilogue->allocated);
	if (!epilogue->nr_pops || (!epilogue->allocated && !epilogue->has_frame))
		return true;
	if (at >= len && memcmp(code + at - len, add, len) == 0)
		return true;
	return (at >= 4 && memcmp(code + at - 4, "\x48\x8d\x65", 3) == 0) || /* lea x(rbp), rsp */
	       (at >= 7 && memcmp(code + at - 7, "\x48\x8d\xa5", 3) == 0) ||
	       (at >= 3 && memcmp(code + at - 3, "\x48\x8b\xe5", 3) == 0);
}

/* The length of an instruction that leaves the function; 0: it does not. */
static size_t leaving_length(const uint8_t *code, size_t left)
{
	if (left >= 1 && code[0] == 0xc3)
		return 1;
	if (left >= 5 && code[0] == 0xe9)
		return 5;
	if (left >= 2 && code[0] == 0xeb)
		return 2;
	size_t prefix = left >= 3 && code[0] == 0x48;
	if (left < prefix + 2 || code[prefix] != 0xff || (code[prefix + 1] >> 3 & 7) != 4)
		return 0;
	return prefix + (code[prefix + 1] == 0x25 ? 6 : 2);
}

static void put_epilogue_row(
	const struct rows_of_function *rows, uint64_t into, const struct unwind_info_state *state)
{
	struct unwind_rule rule = {0};
	unwind_info_put_rule(state, &rule);
	rows->on_rule(rows->context, rows->start + into, &rule);
}

/* Of the epilogue whose pops are there; returns where it ends. */
static size_t put_epilogue(const struct rows_of_function *rows, const struct epilogue *epilogue,
	size_t at, size_t leaving)
{
	for (uint32_t i = 0; i <= epilogue->nr_pops; i++) {
		struct unwind_info_state state = UNWIND_INFO_STATE;
		for (uint32_t k = i; k < epilogue->nr_pops; k++, state.size += 8) {
			if (epilogue->popped[k] == UNWIND_INFO_RBP)
				state.rbp = state.size;
			if (epilogue->popped[k] == UNWIND_INFO_RBX)
				state.rbx = state.size;
		}
		if (epilogue->nr_pops)
			put_epilogue_row(rows, at, &state);
		if (i < epilogue->nr_pops)
			at += epilogue->popped[i] >= HIGH_REGISTER ? 2 : 1;
		else if (!epilogue->nr_pops)
			put_epilogue_row(rows, at += epilogue->tail_len, &state);
	}
	at += leaving;
	rows->on_rule(rows->context, rows->start + at, &rows->body);
	return at;
}

static void put_epilogues(
	const struct rows_of_function *rows, const uint8_t *code, size_t from, size_t len)
{
	struct epilogue epilogue;
	if (!take_epilogue(rows->info, &epilogue))
		return;
	while (from < len) {
		const uint8_t *found =
			memmem(code + from, len - from, epilogue.tail, epilogue.tail_len);
		if (!found)
			return;
		size_t at = (size_t)(found - code), behind = at + epilogue.tail_len;
		size_t leaving = leaving_length(code + behind, len - behind);
		from = leaving && has_head(&epilogue, code, at)
			       ? put_epilogue(rows, &epilogue, at, leaving)
			       : at + 1;
	}
}

/* ---- the code that makes methods ready ---- */

/* lea x(rip), rax; push $x; push x(rip); jmp *x(rip): docs, "Delay load helper thunks". */
static void put_thunks(const struct rows_of_function *rows, const uint8_t *code, size_t len)
{
	struct unwind_info_state state = UNWIND_INFO_STATE;
	put_epilogue_row(rows, 0, &state);
	for (size_t at = 0; at + 2 <= len;) {
		bool is_push = code[at] == 0x6a || (code[at] == 0xff && code[at + 1] == 0x35);
		bool is_end = code[at] == 0xff && code[at + 1] == 0x25;
		at += code[at] == 0x6a ? 2 : code[at] == 0xff ? 6 : code[at] == 0x48 ? 7 : 1;
		if (is_push)
			state.size += 8;
		else if (is_end && state.size)
			state.size = 0;
		else
			continue;
		put_epilogue_row(rows, at, &state);
	}
}

/* ---- a function ---- */

uint64_t unwind_ready_run(
	struct unwind_ready *ready, uint32_t index, unwind_ready_on_rule *on_rule, void *context)
{
	uint64_t start, end;
	if (!unwind_ready_function(ready, index, &start, &end))
		return 0;
	struct rows_of_function rows = {.start = start, .on_rule = on_rule, .context = context};
	size_t len = end - start < MAX_FUNCTION_BYTES ? (size_t)(end - start) : MAX_FUNCTION_BYTES;
	const uint8_t *code = unwind_ready_code_at(ready, start, len);
	if (is_thunks(ready, index)) {
		if (code)
			put_thunks(&rows, code, len);
	} else if (read_unwind_info(ready, index, rows.info) && put_prologue(&rows) && code &&
		   len > rows.info[1]) {
		put_epilogues(&rows, code, rows.info[1], len);
	}
	return end;
}
