/* Where functions begin in code that no table describes. */
#include <string.h>

#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "format/machine/x86_64_functions.h"
#include "tests/unit/unit.h"

struct code {
	uint8_t bytes[256];
	size_t len;
};

static void put(struct code *code, const char *bytes, size_t len)
{
	memcpy(code->bytes + code->len, bytes, len);
	code->len += len;
}

#define PUT(code, bytes) put(code, bytes, sizeof(bytes) - 1)

/* int3, as lld fills up. */
static void align(struct code *code)
{
	while (code->len % 16)
		code->bytes[code->len++] = 0xcc;
}

static void check_starts(const struct code *code, const char *want)
{
	struct machine_functions starts = {0};
	CLEANUP(str_deinit) struct str text = {0};
	x86_64_find_functions(code->bytes, code->len, 0x401000, &starts);
	for (size_t i = 0; i < starts.len; i++)
		str_printf(&text, "%s%u", i ? " " : "", starts.data[i]);
	CHECK_STR(str_text(&text), want);
	vec_deinit(&starts);
}

TEST(functions_begin_behind_what_fills_up)
{
	struct code code = {0};
	PUT(&code, "\x66\x90");     /* what filled up before it */
	PUT(&code, "\x31\xc0\xc3"); /* xor %eax,%eax; ret */
	align(&code);               /* 16 */
	PUT(&code,
		"\xff\xe0\x0f\x1f\x40\x00\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00"); /* jmp *%rax */
	PUT(&code, "\x48\xb8\xc3\x90\x90\x90\x90\x90\x90\x90"); /* movabs with a ret in it */
	PUT(&code, "\xf4");
	check_starts(&code, "2 16 32");
}

TEST(a_block_that_is_jumped_to_begins_no_function)
{
	struct code code = {0};
	PUT(&code, "\x85\xff\x75\x0c\xc3"); /* test %edi,%edi; jne 16; ret */
	align(&code);
	PUT(&code, "\x89\xf8\xc3"); /* 16: its end */
	align(&code);
	PUT(&code, "\xe9\xdb\xff\xff\xff"); /* 32: a tail call of the first one */
	align(&code);
	check_starts(&code, "0 32");
}

TEST(a_branch_back_joins_what_it_crosses)
{
	struct code code = {0};
	PUT(&code, "\x31\xc0\xff\xc0\xc3"); /* 0 */
	align(&code);
	PUT(&code, "\x3d\x00\x01\x00\x00\x72\xeb\xc3"); /* 16: cmp; jb 2 */
	align(&code);
	PUT(&code, "\xc3");
	check_starts(&code, "0 32");
}

TEST(what_is_called_is_a_function_wherever_it_stands)
{
	struct code code = {0};
	PUT(&code, "\xe8\x03\x00\x00\x00"); /* call 8 */
	PUT(&code, "\x31\xc0\xc3");
	PUT(&code, "\xf3\x0f\x1e\xfa\xe8\x03\x00\x00\x00"); /* 8: endbr64; call 20 */
	PUT(&code, "\x0f\x0b\x90\xc3");                     /* ud2; nop */
	check_starts(&code, "0 8 20");
}

TEST(vector_instructions_have_their_lengths)
{
	struct code code = {0};
	PUT(&code, "\xc5\xf5\xfe\xc2");                     /* vpaddd %ymm2,%ymm1,%ymm0 */
	PUT(&code, "\xc4\xe3\x75\x46\xc2\x31");             /* vperm2i128 $0x31 */
	PUT(&code, "\xc5\xfd\x70\xc1\xc3");                 /* vpshufd $0xc3 */
	PUT(&code, "\x62\xf1\x75\x48\xfe\x44\x24\x01");     /* vpaddd 64(%rsp),%zmm1,%zmm0 */
	PUT(&code, "\x62\xf3\x75\x48\x25\xc2\xc3");         /* vpternlogd $0xc3 */
	PUT(&code, "\x66\x0f\x3a\x0f\xc1\xc3");             /* palignr $0xc3 */
	PUT(&code, "\x0f\x38\xf0\x05\xc3\xcc\xcc\xcc\xc3"); /* movbe -0x33333..(%rip),%eax; ret */
	align(&code);
	PUT(&code, "\xc3");
	check_starts(&code, "0 48");
}

TEST(any_bytes_end)
{
	uint8_t bytes[4096];
	struct machine_functions starts = {0};
	uint32_t seed = 1;
	for (int run = 0; run < 200; run++) {
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
		x86_64_find_functions(bytes, sizeof(bytes) - (size_t)run, seed, &starts);
		for (size_t i = 1; i < starts.len; i++)
			CHECK(starts.data[i - 1] < starts.data[i]);
	}
	x86_64_find_functions(bytes, 0, 0, &starts);
	CHECK_INT(starts.len, 0);
	vec_deinit(&starts);
}

#define CHECK_LENGTH(bytes, expected) \
	CHECK_INT(machine_x86_64.function_length((const uint8_t *)(bytes), sizeof(bytes) - 1), \
		expected)

/* Of code at a program's entry, which no table describes. */
TEST(function_ends_where_it_never_goes_on)
{
	CHECK_LENGTH("\x90\xc3\x90\x90", 2);
	CHECK_LENGTH("\xe8\0\0\0\0\x41\xff\xe4\x55", 8);       /* call; jmp *%r12 */
	CHECK_LENGTH("\x74\x01\xc3\xf4\x55", 4);               /* je behind the ret */
	CHECK_LENGTH("\xe8\0\0\0\0\x0f\x1f\x40\0\x55\xc3", 5); /* call; nop: no return */
	CHECK_LENGTH("\x90\x90", 2);                           /* no end */
	CHECK_LENGTH("\x90\x06\x90", 1);                       /* no code */
}
