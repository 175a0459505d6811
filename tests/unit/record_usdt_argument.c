/* Where arguments of probes are, from what notes say. */
#include "record/usdt_argument.h"

#include <string.h>
#include <sys/user.h>

#include "tests/unit/unit.h"

#if defined(__x86_64__)

static void check(const char *text, unsigned number, enum shadow_source source, int bytes,
	size_t register_offset, int offset)
{
	struct shadow_argument argument;
	CHECK(usdt_argument_parse(text, number, &argument));
	CHECK_INT(argument.source, source);
	CHECK_INT(argument.bytes, bytes);
	CHECK_INT(argument.register_offset, register_offset);
	CHECK_INT(argument.offset, offset);
}

#define OFFSET(member) offsetof(struct user_regs_struct, member)

/* As they stand in Debian 12's PHP, Ruby and Python. */
TEST(arguments_of_notes)
{
	static const char php[] = "8@%rax 8@%r14 -4@%r13d 8@(%rsp) 8@16(%rsp)";
	check(php, 0, SHADOW_REGISTER, 8, OFFSET(rax), 0);
	check(php, 1, SHADOW_REGISTER, 8, OFFSET(r14), 0);
	check(php, 2, SHADOW_REGISTER, -4, OFFSET(r13), 0);
	check(php, 3, SHADOW_MEMORY, 8, OFFSET(rsp), 0);
	check(php, 4, SHADOW_MEMORY, 8, OFFSET(rsp), 16);
	check("-4@-296(%rbp)", 0, SHADOW_MEMORY, -4, OFFSET(rbp), -296);
	check("8@%rbp  1@%sil 2@%ax", 1, SHADOW_REGISTER, 1, OFFSET(rsi), 0);
	check("8@%rbp 1@%sil 2@%ax", 2, SHADOW_REGISTER, 2, OFFSET(rax), 0);
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
		CHECK(!usdt_argument_parse(texts[i], 0, &argument));
	CHECK(!usdt_argument_parse("8@%rax 8@%rbx", 2, &argument));
}

#else

TEST(arguments_of_notes)
{
	struct shadow_argument argument;
	CHECK(!usdt_argument_parse("8@x0", 0, &argument));
}

#endif
