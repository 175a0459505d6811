/* What C code of Racket tells, and how functions are called. */
#include "record/runtime/racket/racket_code.h"
#include "record/runtime/runtime.h"
#include "tests/unit/unit.h"

TEST(a_function_that_returns_a_text_says_where_it_is)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x05, 0x45, 0x75, 0x0a, 0, 0xc3};
	uint64_t text = 0;
	CHECK(racket_code_find_text(lea, sizeof(lea), 0x20a70, &text));
	CHECK_INT(text, 0xc7fbc);
	CHECK(!racket_code_find_text(lea, 6, 0x20a70, &text));
	CHECK(!racket_code_find_text(lea + 1, sizeof(lea) - 1, 0x20a71, &text));
}

TEST(the_second_argument_of_a_call_is_a_variable)
{
	/* S_call_help() of Debian 12. */
	static const uint8_t code[] = {0x48, 0x8b, 0x7c, 0x24, 0x18, 0x48, 0x8b, 0x35, 0x9b, 0xaa,
		0x0c, 0x00, 0xe8, 0x96, 0x2c, 0x00, 0x00};
	uint64_t variable = 0;
	CHECK(racket_code_find_argument(code, sizeof(code), 0x1ddb9, 0x20a60, &variable));
	CHECK_INT(variable, 0xe8860);
	CHECK(!racket_code_find_argument(code, sizeof(code), 0x1ddb9, 0x20a61, &variable));
	CHECK(!racket_code_find_argument(code, sizeof(code) - 1, 0x1ddb9, 0x20a60, &variable));
	CHECK(!racket_code_find_argument(code + 6, sizeof(code) - 6, 0x1ddbf, 0x20a60, &variable));
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
