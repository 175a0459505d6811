#include "record/runtime/thread_variable.h"

#include "format/base/bytes.h"
#include "record/runtime/runtime_file.h"

enum {
	LOOK_AT_BYTES = 48,
	LEA_BYTES = 7,
	CALL_BYTES = 5,
};

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
			.is_in_slot = true,
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

bool thread_variable_of_code(
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

bool thread_variable_find(
	struct elf_file *elf, const struct elf_dynsym *function, struct thread_variable *ret)
{
	uint8_t code[LOOK_AT_BYTES + THREAD_VARIABLE_BEHIND_BYTES];
	size_t len = function->size < LOOK_AT_BYTES ? function->size : LOOK_AT_BYTES;
	if (!function->address || !runtime_file_read(elf, function->address, code, sizeof(code)))
		return false;
	return thread_variable_of_code(code, len, function->address, ret);
}
