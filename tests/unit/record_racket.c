/* What C code of Racket tells, and how functions are called. */
#include <elf.h>

#include "record/runtime/racket/racket_code.h"
#include "record/runtime/runtime.h"
#include "tests/unit/unit.h"

TEST(a_function_that_returns_a_text_says_where_it_is)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x05, 0x45, 0x75, 0x0a, 0, 0xc3};
	static const uint32_t adrp[] = {0x90000480, 0x9130a000, 0xd65f03c0};
	struct racket_code code = {lea, sizeof(lea), 0x20a70};
	uint64_t text = 0;
	CHECK(racket_code_find_text(EM_X86_64, &code, &text));
	CHECK_INT(text, 0xc7fbc);
	code.len = 6;
	CHECK(!racket_code_find_text(EM_X86_64, &code, &text));
	code = (struct racket_code){lea + 1, sizeof(lea) - 1, 0x20a71};
	CHECK(!racket_code_find_text(EM_X86_64, &code, &text));
	code = (struct racket_code){(const uint8_t *)adrp, sizeof(adrp), 0x23900};
	CHECK(racket_code_find_text(EM_AARCH64, &code, &text));
	CHECK_INT(text, 0xb3c28);
	code.len = 8;
	CHECK(!racket_code_find_text(EM_AARCH64, &code, &text));
	code = (struct racket_code){(const uint8_t *)adrp + 4, 8, 0x23904};
	CHECK(!racket_code_find_text(EM_AARCH64, &code, &text));
}

TEST(the_second_argument_of_a_call_is_a_variable)
{
	/* S_call_help() of Debian 12. */
	static const uint8_t bytes[] = {0x48, 0x8b, 0x7c, 0x24, 0x18, 0x48, 0x8b, 0x35, 0x9b, 0xaa,
		0x0c, 0x00, 0xe8, 0x96, 0x2c, 0x00, 0x00};
	struct racket_code code = {bytes, sizeof(bytes), 0x1ddb9};
	struct racket_call call;
	CHECK(racket_code_find_call(EM_X86_64, &code, 0x20a60, &call));
	CHECK_INT(call.argument, 0xe8860);
	CHECK_INT(call.in_structure, 0);
	CHECK_INT(call.returns_to, 0x1ddca);
	CHECK(!racket_code_find_call(EM_X86_64, &code, 0x20a61, &call));
	code.len--;
	CHECK(!racket_code_find_call(EM_X86_64, &code, 0x20a60, &call));
	code = (struct racket_code){bytes + 6, sizeof(bytes) - 6, 0x1ddbf};
	CHECK(!racket_code_find_call(EM_X86_64, &code, 0x20a60, &call));
}

TEST(the_second_argument_of_a_call_is_in_a_structure)
{
	/* The same of arm64: adrp x1; ldr x1, [x1, 1176]; ldr x0, [sp, 88]; ldr x1, [x1, 7472]; bl
	 */
	static const uint32_t insns[] = {
		0xf00005e1, 0xf9424c21, 0xf9402fe0, 0xf94e9821, 0x94000b88};
	struct racket_code code = {(const uint8_t *)insns, sizeof(insns), 0x20ac0};
	struct racket_call call;
	CHECK(racket_code_find_call(EM_AARCH64, &code, 0x238f0, &call));
	CHECK_INT(call.argument, 0xdf498);
	CHECK_INT(call.in_structure, 7472);
	CHECK_INT(call.returns_to, 0x20ad4);
	CHECK(!racket_code_find_call(EM_AARCH64, &code, 0x238f4, &call));
	code.len -= 4;
	CHECK(!racket_code_find_call(EM_AARCH64, &code, 0x238f0, &call));
	code = (struct racket_code){(const uint8_t *)insns + 4, sizeof(insns) - 4, 0x20ac4};
	CHECK(!racket_code_find_call(EM_AARCH64, &code, 0x238f0, &call));
}

/* ... or the variable itself, of a program that needs no table of addresses. */
TEST(the_second_argument_of_a_call_is_a_variable_of_arm64)
{
	static const uint32_t insns[] = {0xf00005e1, 0xf9424c21, 0x94000b8a};
	const struct racket_code code = {(const uint8_t *)insns, sizeof(insns), 0x20ac0};
	struct racket_call call;
	CHECK(racket_code_find_call(EM_AARCH64, &code, 0x238f0, &call));
	CHECK_INT(call.argument, 0xdf498);
	CHECK_INT(call.in_structure, 0);
}

static void check_name(const char *name, const char *wanted)
{
	CLEANUP(str_deinit) struct str text = {0};
	CLEANUP(str_deinit) struct str file = {0};
	str_puts(&text, name);
	racket_runtime.put_texts(&text, &file);
	CHECK_STR(str_text(&text), wanted);
	CHECK_INT(file.len, 0);
}

TEST(marks_of_names_are_not_shown)
{
	check_name("fib", "fib");
	check_name("[...p/fib.rkt:9:0", "...p/fib.rkt:9:0");
	check_name("][odd", "[odd");
	check_name("", "(anonymous)");
	check_name("[", "(anonymous)");
}
