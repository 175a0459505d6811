#include "record/unwind/unwind_epilogue.h"

#include <endian.h>
#include <string.h>

#include "format/unwind/unwind_info.h"

enum {
	SCRATCH_REGISTERS = 2, /* rax, rcx, rdx: no callee keeps them */
	HIGH_REGISTER = 8,     /* from here on an instruction has a prefix */
};

/* ---- how a function's epilogues end ---- */

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

/* The tail by the pops, which are known. False: there is none. */
static bool make_tail(struct unwind_epilogue *epilogue)
{
	for (uint32_t i = 0; i < epilogue->nr_pops; i++) {
		if (epilogue->popped[i] >= HIGH_REGISTER)
			epilogue->tail[epilogue->tail_len++] = 0x41;
		epilogue->tail[epilogue->tail_len++] = 0x58 | (epilogue->popped[i] & 7);
	}
	if (!epilogue->tail_len && epilogue->allocated && !epilogue->has_frame)
		epilogue->tail_len = put_add(epilogue->tail, epilogue->allocated);
	return epilogue->tail_len;
}

bool unwind_epilogue_of_info(const uint8_t *info, struct unwind_epilogue *ret)
{
	*ret = (struct unwind_epilogue){0};
	for (unsigned i = 0; i < info[2]; i++) {
		unsigned code = unwind_info_u16(info, i), op = code >> 8 & 15, number = code >> 12;
		unsigned low = unwind_info_u16(info, i + 1);
		if (op == UNWIND_INFO_PUSH) {
			if (ret->nr_pops == UNWIND_EPILOGUE_MAX_POPS)
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
	return make_tail(ret);
}

/* The register that an instruction pushes, -1: it is another one. *at is advanced. */
static int take_push(const uint8_t *code, size_t len, size_t *at)
{
	bool is_high = *at < len && code[*at] == 0x41;
	size_t place = *at + is_high;
	if (place >= len || (code[place] & 0xf8) != 0x50)
		return -1;
	*at = place + 1;
	return (code[place] & 7) + (is_high ? HIGH_REGISTER : 0);
}

static uint32_t code_u32(const uint8_t *code)
{
	uint32_t value;
	memcpy(&value, code, sizeof(value));
	return le32toh(value);
}

/* Epilogues undo the pushes in the reverse order. */
bool unwind_epilogue_of_code(const uint8_t *code, size_t len, struct unwind_epilogue *ret)
{
	size_t at = 0;
	int pushed[UNWIND_EPILOGUE_MAX_POPS] = {0}, next;
	*ret = (struct unwind_epilogue){0};
	while ((next = take_push(code, len, &at)) >= 0) {
		if (ret->nr_pops == UNWIND_EPILOGUE_MAX_POPS)
			return false;
		pushed[ret->nr_pops++] = next;
	}
	/* What callers do not want back is pushed for its room alone. */
	while (ret->nr_pops && pushed[ret->nr_pops - 1] <= SCRATCH_REGISTERS) {
		ret->nr_pops--;
		ret->allocated += 8;
	}
	for (uint32_t i = 0; i < ret->nr_pops; i++)
		ret->popped[i] = (uint8_t)pushed[ret->nr_pops - 1 - i];
	if (at + 4 <= len && memcmp(code + at, "\x48\x83\xec", 3) == 0)
		ret->allocated += code[at + 3];
	else if (at + 7 <= len && memcmp(code + at, "\x48\x81\xec", 3) == 0)
		ret->allocated += code_u32(code + at + 3);
	return make_tail(ret);
}

/* ---- where they are ---- */

/* Whether what is ahead of the pops sets rsp, if that is needed. */
static bool has_head(const struct unwind_epilogue *epilogue, const uint8_t *code, size_t at)
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

static void put_epilogue_rule(const struct unwind_epilogue_rows *rows, uint64_t into,
	const struct unwind_info_state *state)
{
	struct unwind_rule rule = {0};
	unwind_info_put_rule(state, &rule);
	rows->on_rule(rows->context, rows->start + into, &rule);
}

/* Of the epilogue whose pops are there; returns where it ends. */
static size_t put_epilogue(const struct unwind_epilogue_rows *rows,
	const struct unwind_epilogue *epilogue, size_t at, size_t leaving)
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
			put_epilogue_rule(rows, at, &state);
		if (i < epilogue->nr_pops)
			at += epilogue->popped[i] >= HIGH_REGISTER ? 2 : 1;
		else if (!epilogue->nr_pops)
			put_epilogue_rule(rows, at += epilogue->tail_len, &state);
	}
	at += leaving;
	rows->on_rule(rows->context, rows->start + at, &rows->body);
	return at;
}

void unwind_epilogue_put_all(const struct unwind_epilogue *epilogue,
	const struct unwind_epilogue_rows *rows, const uint8_t *code, size_t from, size_t len)
{
	while (from < len) {
		const uint8_t *found =
			memmem(code + from, len - from, epilogue->tail, epilogue->tail_len);
		if (!found)
			return;
		size_t at = (size_t)(found - code), behind = at + epilogue->tail_len;
		size_t leaving = leaving_length(code + behind, len - behind);
		from = leaving && has_head(epilogue, code, at)
			       ? put_epilogue(rows, epilogue, at, leaving)
			       : at + 1;
	}
}

struct unwind_managed unwind_epilogue_find_managed(struct elf_file *elf)
{
	const struct elf_section *section = elf_file_find_section(elf, "__managedcode");
	return section ? (struct unwind_managed){section->addr, section->addr + section->size}
		       : (struct unwind_managed){0};
}
