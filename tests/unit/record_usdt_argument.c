/* Where arguments of probes are, from what notes say. */
#include "record/event/usdt_argument.h"

#include <string.h>

#include "format/machine/machine.h"
#include "tests/unit/unit.h"

static void check_for(const struct machine *machine, const char *text, unsigned number,
	enum shadow_source source, int bytes, size_t register_offset, int offset)
{
	struct shadow_argument argument;
	CHECK(usdt_argument_parse(machine, text, number, &argument));
	CHECK_INT(argument.source, source);
	CHECK_INT(argument.bytes, bytes);
	CHECK_INT(argument.register_offset, register_offset);
	CHECK_INT(argument.offset, offset);
}

#define check(...) check_for(&machine_x86_64, __VA_ARGS__)

/* Of struct pt_regs; arch/x86/include/asm/ptrace.h. */
enum {
	R14 = 8,
	R13 = 16,
	RBP = 32,
	RAX = 80,
	RSI = 104,
	RSP = 152,
};

/* As they stand in Debian 12's PHP, Ruby and Python. */
TEST(arguments_of_notes)
{
	static const char php[] = "8@%rax 8@%r14 -4@%r13d 8@(%rsp) 8@16(%rsp)";
	check(php, 0, SHADOW_REGISTER, 8, RAX, 0);
	check(php, 1, SHADOW_REGISTER, 8, R14, 0);
	check(php, 2, SHADOW_REGISTER, -4, R13, 0);
	check(php, 3, SHADOW_MEMORY, 8, RSP, 0);
	check(php, 4, SHADOW_MEMORY, 8, RSP, 16);
	check("-4@-296(%rbp)", 0, SHADOW_MEMORY, -4, RBP, -296);
	check("8@%rbp  1@%sil 2@%ax", 1, SHADOW_REGISTER, 1, RSI, 0);
	check("8@%rbp 1@%sil 2@%ax", 2, SHADOW_REGISTER, 2, RAX, 0);
	check("-4@$0 8@$-7", 1, SHADOW_CONSTANT, 8, 0, -7);
}

TEST(arguments_that_cannot_be_read)
{
	static const char *const texts[] = {"", " ", "8", "8@", "@%rax", "3@%rax", "8@%", "8@%rox",
		"8@%raxx", "8@%rax,", "8@12", "8@(%rax", "8@12(%rax", "8@(rax)", "8@(%rax,%rbx,8)",
		"8@4(%rip)x", "8@name(%rip)", "8@$", "8@$x", "8@$1x", "16@%rax", "-@%rax",
		"99999999999999999999@%rax", "8@99999999999(%rax)", "8@$99999999999", "8@%ra\xff"};
	struct shadow_argument argument;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		CHECK(!usdt_argument_parse(&machine_x86_64, texts[i], 0, &argument));
	CHECK(!usdt_argument_parse(&machine_x86_64, "8@%rax 8@%rbx", 2, &argument));
}

/* As gcc and clang write them for arm64. */
TEST(arguments_of_notes_of_arm64)
{
	static const char text[] =
		"8@x0 -4@w19 8@[x29, 24] 8@[sp] -4@[sp, #-12] -4@5 8@-7 8@#9 1@w3";
	check_for(&machine_arm64, text, 0, SHADOW_REGISTER, 8, 0, 0);
	check_for(&machine_arm64, text, 1, SHADOW_REGISTER, -4, 19 * 8, 0);
	check_for(&machine_arm64, text, 2, SHADOW_MEMORY, 8, 29 * 8, 24);
	check_for(&machine_arm64, text, 3, SHADOW_MEMORY, 8, 31 * 8, 0);
	check_for(&machine_arm64, text, 4, SHADOW_MEMORY, -4, 31 * 8, -12);
	check_for(&machine_arm64, text, 5, SHADOW_CONSTANT, -4, 0, 5);
	check_for(&machine_arm64, text, 6, SHADOW_CONSTANT, 8, 0, -7);
	check_for(&machine_arm64, text, 7, SHADOW_CONSTANT, 8, 0, 9);
	check_for(&machine_arm64, text, 8, SHADOW_REGISTER, 1, 3 * 8, 0);
}

TEST(arguments_of_arm64_that_cannot_be_read)
{
	static const char *const texts[] = {"8@x31", "8@%x0", "8@[x0", "8@[x0,", "8@[x0, x1]",
		"8@[x0, 8]x", "8@[x0, 8]!", "8@x0,", "8@d0", "8@:lo12:name", "8@#", "8@5x",
		"8@[x0, 99999999999]"};
	struct shadow_argument argument;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		CHECK(!usdt_argument_parse(&machine_arm64, texts[i], 0, &argument));
}
