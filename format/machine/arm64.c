/* Sources: "Sysv ABI for AArch64"; the PLTs of ld.bfd 2.40, lld 16 and mold 1.10, with BTI and
 * without. */
#include <elf.h>

#include "format/machine/arm64_syscalls.h"
#include "format/machine/machine.h"

/* ---- stubs of the PLT ---- */

enum {
	INSN = 4,
	BTI_C = 0xd503245f,
	INSNS_BEFORE_BR = 3, /* add, and with pointer authentication autia1716 */
};

static uint32_t insn_at(const uint8_t *bytes, size_t len, size_t at)
{
	return at + INSN <= len
		       ? (uint32_t)bytes[at] | (uint32_t)bytes[at + 1] << 8 |
				 (uint32_t)bytes[at + 2] << 16 | (uint32_t)bytes[at + 3] << 24
		       : 0;
}

/* adrp: the page that it names, from 21 bits in two pieces. */
static uint64_t adrp_page(uint32_t insn, uint64_t address)
{
	uint32_t immediate = (insn >> 5 & 0x7ffff) << 2 | (insn >> 29 & 3);
	int64_t pages = (int64_t)((uint64_t)immediate << 43) >> 43;
	return (address & ~(uint64_t)0xfff) + (uint64_t)pages * 4096;
}

/* [bti c] adrp xN, page; ldr xM, [xN, #offset]; some that read nothing; br xM */
static bool arm64_decode_plt_stub(
	const uint8_t *bytes, size_t len, uint64_t address, struct machine_plt_stub *ret)
{
	size_t at = insn_at(bytes, len, 0) == BTI_C ? INSN : 0;
	uint32_t adrp = insn_at(bytes, len, at), ldr = insn_at(bytes, len, at + INSN);
	if ((adrp & 0x9f000000) != 0x90000000 || (ldr & 0xffc00000) != 0xf9400000)
		return false;
	uint32_t page_register = adrp & 31, target_register = ldr & 31;
	if ((ldr >> 5 & 31) != page_register)
		return false;
	uint32_t br = 0xd61f0000 | target_register << 5;
	size_t end = at + 2 * INSN;
	for (int i = 0; i < INSNS_BEFORE_BR; i++, end += INSN) {
		if (insn_at(bytes, len, end) != br)
			continue;
		ret->slot = adrp_page(adrp, address + at) + (ldr >> 10 & 0xfff) * 8;
		ret->max_size = 24;
		return true;
	}
	return false;
}

/* ---- the row ---- */

const struct machine machine_arm64 = {
	.elf = EM_AARCH64,
	.uname = "aarch64",
	.syscalls = arm64_syscalls,
	.nr_syscalls = ARM64_SYSCALLS,
	.unwind = &unwind_arm64,
	.relocations = {.relative = R_AARCH64_RELATIVE,
		.irelative = R_AARCH64_IRELATIVE,
		.jump_slot = R_AARCH64_JUMP_SLOT,
		.glob_dat = R_AARCH64_GLOB_DAT,
		.word64 = R_AARCH64_ABS64,
		.word32 = {R_AARCH64_ABS32},
		.relative64 = R_AARCH64_PREL64,
		.relative32 = R_AARCH64_PREL32},
	.plt_align = INSN,
	.plt_stub_min = 3 * INSN, /* behind bti c there would be the same once more */
	.decode_plt_stub = arm64_decode_plt_stub,
	.go_start = "_rt0_arm64_linux",
	.library_folders = {"/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu"},
};
