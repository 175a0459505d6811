#include "record/runtime/thread_variable.h"

#include <elf.h>

#include "format/base/bytes.h"
#include "format/machine/arm64_insn.h"
#include "record/runtime/runtime_file.h"

enum {
	LOOK_AT_BYTES = 48,
	LEA_BYTES = 7,
	CALL_BYTES = 5,
};

/* ---- x86-64 ---- */

static uint64_t thread_variable_signed_at(const uint8_t *code)
{
	struct bytes_cursor cursor = bytes_cursor(code, 4);
	return (uint64_t)(int32_t)bytes_get_u32(&cursor);
}

/*
 * What the caller of __tls_get_addr() adds to what it returns, which its next instruction says, or
 * the one behind `pop %reg`:
 *   mov    displacement(%rax),%reg
 */
static uint32_t added_behind(const uint8_t *code)
{
	if (code[0] >> 3 == 0x58 >> 3)
		code++;
	if (code[0] != 0x48 || code[1] != 0x8b || (code[2] & 7))
		return 0;
	unsigned mode = code[2] >> 6;
	return mode == 1 ? code[3] : mode == 2 ? (uint32_t)thread_variable_signed_at(code + 3) : 0;
}

/*
 * The access to a variable of the thread, as the psABI's models have it, at `code`, whose address
 * is `address`:
 *   data16 lea  slot(%rip),%rdi; ...; call __tls_get_addr    general dynamic: all is in the slot
 *   lea         slot(%rip),%rdi; call __tls_get_addr         local dynamic: some is added
 *   mov         %fs:offset,%reg                              local executable
 *   mov         %fs:0,%rax; lea offset(%rax),%rax            what linkers make of the first
 * Source: ELF Handling For Thread-Local Storage, 4.1.6 to 4.4.6, x86-64.
 */
static bool take_access(
	const uint8_t *code, uint64_t address, bool is_general, struct thread_variable *ret)
{
	if (code[0] == 0x48 && code[1] == 0x8d && code[2] == 0x3d) {
		bool is_local = code[LEA_BYTES] == 0xe8;
		*ret = (struct thread_variable){
			.place = address + LEA_BYTES + thread_variable_signed_at(code + 3),
			.kind = THREAD_VARIABLE_IN_SLOT,
			.more = is_general ? 0 : added_behind(code + LEA_BYTES + CALL_BYTES),
		};
		return is_local || is_general;
	}
	bool is_of_thread = code[0] == 0x64 && code[1] == 0x48 && code[2] == 0x8b &&
			    (code[3] & 0xc7) == 4 && code[4] == 0x25;
	if (!is_of_thread)
		return false;
	*ret = (struct thread_variable){.place = thread_variable_signed_at(code + 5)};
	if (!ret->place && code[9] == 0x48 && code[10] == 0x8d && code[11] == 0x80)
		ret->place = thread_variable_signed_at(code + 12);
	/* What the compiler keeps for itself, as the stack protector does, is above. */
	return (int64_t)ret->place < 0;
}

static bool find_of_x86_64(
	const uint8_t *code, size_t len, uint64_t address, struct thread_variable *ret)
{
	struct thread_variable found;
	for (size_t i = 0; i < len; i++)
		if (take_access(code + i, address + i, i && code[i - 1] == 0x66, &found)) {
			*ret = found;
			return true;
		}
	return false;
}

/* ---- arm64 ---- */

/* What is known of code that is read on its way to a variable. */
struct arm64_access {
	struct arm64_values values;
	/* Bit n: register n has the distance that is at place[n]; the same added to the thread's
	 * pointer. */
	uint32_t has_distance, has_address;
	uint64_t place[ARM64_SP];
};

static uint64_t arm64_place_of(const struct arm64_access *access, uint32_t which, uint8_t reg)
{
	return reg < ARM64_SP && which >> reg & 1 ? access->place[reg] : 0;
}

static void arm64_set_place(
	struct arm64_access *access, uint32_t *which, uint8_t reg, uint64_t place)
{
	if (reg >= ARM64_SP || !place)
		return;
	*which |= 1U << reg;
	access->place[reg] = place;
}

/* The place of the distance that the thread's pointer and a register are added up by; 0: neither
 * is. */
static uint64_t arm64_place_of_sum(const struct arm64_access *access, const struct arm64_insn *insn)
{
	const struct arm64_values *values = &access->values;
	const uint8_t sides[] = {insn->base, insn->index};
	for (int i = 0; i < 2; i++) {
		uint8_t thread = sides[i];
		bool is_pointer = thread < ARM64_SP && values->of_thread >> thread & 1 &&
				  !values->value[thread];
		if (is_pointer)
			return arm64_place_of(access, access->has_distance, sides[!i]);
	}
	return 0;
}

/* A load that comes to the variable. */
static bool arm64_take_load(const struct arm64_access *access, const struct arm64_insn *insn,
	struct thread_variable *ret)
{
	uint64_t address, place;
	bool of_thread;
	if (insn->bytes != 8 || (insn->kind != ARM64_LOAD && insn->kind != ARM64_LOAD_OF))
		return false;
	if (arm64_values_address(&access->values, insn, &address, &of_thread) && of_thread) {
		*ret = (struct thread_variable){.place = address};
		return true;
	}
	bool is_of = insn->kind == ARM64_LOAD_OF;
	place = is_of ? arm64_place_of_sum(access, insn)
		      : arm64_place_of(access, access->has_address, insn->base);
	if (place)
		*ret = (struct thread_variable){.kind = THREAD_VARIABLE_BY_DISTANCE,
			.place = place,
			.more = is_of ? 0 : (uint32_t)insn->value};
	return place;
}

/*
 * The models of the psABI, each from `mrs xT, tpidr_el0` on:
 *   add xN, xT, #high; ldr xV, [xN, #low]                          local executable
 *   adrp xN, page; ldr xN, [xN, #slot]; ldr xV, [xT, xN]           initial executable
 *   adrp x0, page; ldr xN, [x0, #slot]; add x0, x0, #slot; blr xN  a descriptor: the function
 *     ldr xV, [xT, x0]                      that it begins with leaves all other registers alone,
 *                                           and its second word has the distance
 * Source: "ELF for the Arm 64-bit Architecture (AArch64)", "Thread Local Storage".
 */
static bool find_of_arm64(const uint8_t *code, size_t len, uint64_t address,
	struct thread_variable *ret, size_t *behind)
{
	struct arm64_access access = {.has_distance = 0};
	for (size_t at = 0; at + ARM64_INSN_BYTES <= len; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_insn_decode(code + at, len - at, address + at);
		uint64_t from = 0, distance = 0, sum = 0;
		bool of_thread = false;
		*behind = at + ARM64_INSN_BYTES;
		if (arm64_take_load(&access, &insn, ret))
			return true;
		if (insn.kind == ARM64_CALL_INDIRECT &&
			arm64_place_of(&access, access.has_distance, insn.base) &&
			arm64_place_of(&access, access.has_distance, insn.base) ==
				access.values.value[0]) {
			/* What the function returns is what its argument's second word says. */
			access.has_distance &= ~1U;
			arm64_set_place(
				&access, &access.has_distance, 0, access.values.value[0] + 8);
			access.values.known &= ~1U;
			continue;
		}
		if (insn.kind == ARM64_LOAD && insn.bytes == 8 &&
			arm64_values_address(&access.values, &insn, &from, &of_thread))
			distance = from;
		if (insn.kind == ARM64_SUM_OF)
			sum = arm64_place_of_sum(&access, &insn);
		if (insn.kind == ARM64_SUM && !insn.value)
			sum = arm64_place_of(&access, access.has_address, insn.base);
		access.has_distance &= ~insn.writes;
		access.has_address &= ~insn.writes;
		arm64_set_place(&access, &access.has_distance, insn.reg, distance);
		arm64_set_place(&access, &access.has_address, insn.reg, sum);
		arm64_values_run(&access.values, &insn);
	}
	return false;
}

/* Whether code goes on to return what is in x0, and no more. */
static bool arm64_returns_result(const uint8_t *code, size_t len)
{
	for (size_t at = 0; at + ARM64_INSN_BYTES <= len; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_insn_decode(code + at, len - at, at);
		if (insn.kind == ARM64_RETURN)
			return true;
		bool restores =
			insn.kind == ARM64_LOAD_PAIR || (insn.kind == ARM64_LOAD && insn.step);
		if ((insn.kind != ARM64_PLAIN && !restores) || insn.writes & 1)
			return false;
	}
	return false;
}

/* The first function that code calls; 0: it calls none. */
static uint64_t arm64_first_call(const uint8_t *code, size_t len, uint64_t address)
{
	for (size_t at = 0; at + ARM64_INSN_BYTES <= len; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_insn_decode(code + at, len - at, address + at);
		if (insn.kind == ARM64_CALL)
			return insn.value;
	}
	return 0;
}

/* Of code that has the variable from another function, which returns it: Ruby since 3.3. */
static bool find_called_of_arm64(struct elf_file *elf, const uint8_t *from, size_t from_len,
	uint64_t address, struct thread_variable *ret)
{
	uint8_t code[LOOK_AT_BYTES];
	uint64_t called = arm64_first_call(from, from_len, address);
	size_t behind;
	struct thread_variable found;
	if (!called || !runtime_file_read(elf, called, code, sizeof(code)) ||
		!find_of_arm64(code, sizeof(code), called, &found, &behind) ||
		!arm64_returns_result(code + behind, sizeof(code) - behind))
		return false;
	*ret = found;
	return true;
}

/* ---- both ---- */

bool thread_variable_of_code(uint16_t elf_machine, const uint8_t *code, size_t len,
	uint64_t address, struct thread_variable *ret)
{
	size_t behind;
	return elf_machine == EM_AARCH64 ? find_of_arm64(code, len, address, ret, &behind)
					 : find_of_x86_64(code, len, address, ret);
}

bool thread_variable_find(
	struct elf_file *elf, const struct elf_dynsym *function, struct thread_variable *ret)
{
	uint8_t code[LOOK_AT_BYTES + THREAD_VARIABLE_BEHIND_BYTES];
	size_t len = function->size < LOOK_AT_BYTES ? function->size : LOOK_AT_BYTES;
	if (!function->address || !runtime_file_read(elf, function->address, code, sizeof(code)))
		return false;
	uint16_t machine = elf_file_machine(elf);
	return thread_variable_of_code(machine, code, len, function->address, ret) ||
	       (machine == EM_AARCH64 &&
		       find_called_of_arm64(elf, code, len, function->address, ret));
}
