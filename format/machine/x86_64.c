/* Sources: System V x86-64 psABI; the PLTs of ld.bfd 2.40, lld 16 and mold 1.10, with IBT and
 * without. */
#include <elf.h>
#include <string.h>

#include "format/machine/machine.h"
#include "format/machine/x86_64_call.h"
#include "format/machine/x86_64_functions.h"
#include "format/machine/x86_64_gap.h"
#include "format/machine/x86_64_probe.h"
#include "format/machine/x86_64_return.h"
#include "format/machine/x86_64_syscalls.h"

/* ---- stubs of the PLT ---- */

static int32_t i32_at(const uint8_t *bytes)
{
	return (int32_t)((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
			 (uint32_t)bytes[3] << 24);
}

static bool x86_64_begins_with(const uint8_t *bytes, size_t len, const char *code, size_t code_len)
{
	return len >= code_len && memcmp(bytes, code, code_len) == 0;
}

#define BEGINS_WITH(bytes, len, code) x86_64_begins_with(bytes, len, code, sizeof(code) - 1)

/*
 * jmp *slot(%rip), behind endbr64, bnd or mold's mov $index,%r11d; or mov slot(%rip),%r11 and a
 * call, of lld's -z retpolineplt. The table's header, too, has such a jump, behind a push.
 */
static bool x86_64_decode_plt_stub(
	const uint8_t *bytes, size_t len, uint64_t address, struct machine_plt_stub *ret)
{
	size_t at = 0;
	if (BEGINS_WITH(bytes, len, "\xf3\x0f\x1e\xfa")) /* endbr64 */
		at += 4;
	if (BEGINS_WITH(bytes + at, len - at, "\x41\xbb") && len - at >= 6) /* mov $,%r11d */
		at += 6;
	if (BEGINS_WITH(bytes + at, len - at, "\xf2\xff\x25")) /* bnd */
		at++;
	uint32_t max_size = 16;
	if (BEGINS_WITH(bytes + at, len - at, "\xff\x25")) { /* jmp *(%rip) */
		at += 2;
	} else if (BEGINS_WITH(bytes + at, len - at, "\x4c\x8b\x1d")) { /* mov (%rip),%r11 */
		at += 3;
		max_size = 32;
	} else {
		return false;
	}
	if (len - at < 4)
		return false;
	ret->slot = address + at + 4 + (uint64_t)(int64_t)i32_at(bytes + at);
	ret->max_size = max_size;
	return true;
}

/* ---- the row ---- */

/* Offsets: struct pt_regs of arch/x86/include/asm/ptrace.h. */
static const struct machine_user_register user_registers[] = {
	{{"rax", "eax", "ax", "al"}, 10 * 8},
	{{"rbx", "ebx", "bx", "bl"}, 5 * 8},
	{{"rcx", "ecx", "cx", "cl"}, 11 * 8},
	{{"rdx", "edx", "dx", "dl"}, 12 * 8},
	{{"rsi", "esi", "si", "sil"}, 13 * 8},
	{{"rdi", "edi", "di", "dil"}, 14 * 8},
	{{"rbp", "ebp", "bp", "bpl"}, 4 * 8},
	{{"rsp", "esp", "sp", "spl"}, 19 * 8},
	{{"r8", "r8d", "r8w", "r8b"}, 9 * 8},
	{{"r9", "r9d", "r9w", "r9b"}, 8 * 8},
	{{"r10", "r10d", "r10w", "r10b"}, 7 * 8},
	{{"r11", "r11d", "r11w", "r11b"}, 6 * 8},
	{{"r12", "r12d", "r12w", "r12b"}, 3 * 8},
	{{"r13", "r13d", "r13w", "r13b"}, 2 * 8},
	{{"r14", "r14d", "r14w", "r14b"}, 1 * 8},
	{{"r15", "r15d", "r15w", "r15b"}, 0 * 8},
};

const struct machine machine_x86_64 = {
	.elf = EM_X86_64,
	.uname = "x86_64",
	.syscalls = x86_64_syscalls,
	.nr_syscalls = X86_64_SYSCALLS,
	.unwind = &unwind_x86_64,
	.direct_map_shift = 30, /* PUD_SIZE, see kernel_randomize_memory() */
	.relocations = {.relative = R_X86_64_RELATIVE,
		.irelative = R_X86_64_IRELATIVE,
		.jump_slot = R_X86_64_JUMP_SLOT,
		.glob_dat = R_X86_64_GLOB_DAT,
		.word64 = R_X86_64_64,
		.word32 = {R_X86_64_32, R_X86_64_32S},
		.relative64 = R_X86_64_PC64,
		.relative32 = R_X86_64_PC32,
		.thread_distance = R_X86_64_TPOFF64,
		.thread_module = R_X86_64_DTPMOD64,
		.thread_descriptor = R_X86_64_TLSDESC},
	.plt_align = 8, /* those of .plt.got; those of the others have 16 */
	.plt_stub_min = 8,
	.decode_plt_stub = x86_64_decode_plt_stub,
	.find_functions = x86_64_find_functions,
	.function_length = x86_64_function_length,
	.find_gap_rules = x86_64_find_gap_rules,
	.gap_max_bytes = X86_64_GAP_MAX_BYTES,
	.find_return = x86_64_find_return,
	.find_from_call = x86_64_find_from_call,
	.find_from_begin = x86_64_find_from_begin,
	.keeps_own_stack = x86_64_keeps_own_stack,
	.begins_context = x86_64_begins_context,
	.may_have_called = x86_64_may_have_called,
	.cheap_probe = x86_64_cheap_probe,
	.go_stack_check = x86_64_go_stack_check,
	.go_start = "_rt0_amd64_linux",
	.user_registers = user_registers,
	.nr_user_registers = sizeof(user_registers) / sizeof(*user_registers),
	.library_folders = {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"},
};
