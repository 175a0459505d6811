/* Where the check of its stack ends that a function of Go begins with: as Go 1.19 writes it. */
#include <string.h>

#include "format/machine/machine.h"
#include "tests/unit/unit.h"

enum {
	BYTES = 48,
};

static void check_x86_64(const char *text, size_t len, size_t want)
{
	uint8_t code[BYTES] = {0};
	memcpy(code, text, len);
	CHECK_INT(machine_x86_64.go_stack_check(code, sizeof(code)), want);
}

#define CHECK_X86_64(text, want) check_x86_64(text, sizeof(text) - 1, want)

TEST(x86_64_checks_of_stacks_end_behind_the_jump)
{
	/* cmp 0x10(%r14),%rsp; jbe, near and far */
	CHECK_X86_64("\x49\x3b\x66\x10\x76\x20\x48\x83\xec\x30", 6);
	CHECK_X86_64("\x49\x3b\x66\x10\x0f\x86\xbe\x08\0\0\x48\x83\xec\x70", 10);
	/* lea -N(%rsp),%r12; cmp 0x10(%r14),%r12; jbe */
	CHECK_X86_64("\x4c\x8d\x64\x24\x98\x4d\x3b\x66\x10\x76\x20", 11);
	CHECK_X86_64("\x4c\x8d\xa4\x24\x10\xff\xff\xff\x4d\x3b\x66\x10\x0f\x86\xaa\x01\0\0", 18);
	/* mov %rsp,%r12; sub $N,%r12; jb; cmp 0x10(%r14),%r12; jbe */
	CHECK_X86_64("\x49\x89\xe4\x49\x81\xec\x58\x5d\0\0\x0f\x82\xa2\0\0\0"
		     "\x4d\x3b\x66\x10\x0f\x86\x98\0\0\0",
		26);
}

TEST(x86_64_functions_without_a_check_have_none)
{
	CHECK_X86_64("\x48\x83\xec\x30\x49\x3b\x66\x10\x76\x20", 0); /* sub $0x30,%rsp first */
	CHECK_X86_64("\x76\x20\x48\x83\xec\x30", 0);
	CHECK_X86_64("\x49\x3b\x66\x10\x48\x83\xec\x30", 0); /* no jump */
	uint8_t cut[] = {0x49, 0x3b, 0x66, 0x10};
	CHECK_INT(machine_x86_64.go_stack_check(cut, sizeof(cut)), 0);
}

static void check_arm64(const uint32_t *insns, size_t count, size_t want)
{
	uint8_t code[BYTES];
	memcpy(code, insns, count * sizeof(*insns));
	CHECK_INT(machine_arm64.go_stack_check(code, count * sizeof(*insns)), want);
}

#define CHECK_ARM64(insns, want) check_arm64(insns, sizeof(insns) / sizeof(*(insns)), want)

TEST(arm64_checks_of_stacks_end_behind_the_branch)
{
	/* ldr x16,[x28,#16]; cmp sp,x16; b.ls; str x30,[sp,#-112]! */
	CHECK_ARM64(((uint32_t[]){0xf9400b90, 0xeb3063ff, 0x54004709, 0xf8190ffe}), 12);
	/* ... sub x17,sp,#256; cmp x17,x16; b.ls */
	CHECK_ARM64(((uint32_t[]){0xf9400b90, 0xd10403f1, 0xeb10023f, 0x54000c09}), 16);
	/* ... movz x27; movk x27; subs x17,sp,x27; b.lo; cmp x17,x16; b.ls */
	CHECK_ARM64(((uint32_t[]){0xf9400b90, 0xd293d31b, 0xf2a0049b, 0xeb3b63f1, 0x54000103,
			    0xeb10023f, 0x540000c9, 0xd503201f}),
		28);
}

TEST(arm64_functions_without_a_check_have_none)
{
	CHECK_ARM64(((uint32_t[]){0xf8190ffe, 0xf9400b90, 0xeb3063ff, 0x54004709}), 0);
	CHECK_ARM64(((uint32_t[]){0xf9400b90, 0xeb3063ff}), 0);
	CHECK_ARM64(((uint32_t[]){0xf9400b90}), 0);
}
