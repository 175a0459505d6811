/* Code of arm64 that is read for how its functions return: rules by instruction. */
#include <string.h>

#include "format/base/str.h"
#include "format/machine/machine.h"
#include "tests/unit/code_bytes.h"
#include "tests/unit/unit.h"

enum {
	ADDRESS = CODE_BYTES_ADDRESS,
	MAX_INSNS = 32,
	PACIASP = 0xd503233f,
	AUTIASP = 0xd50323bf,
	NOP = 0xd503201f,
	RET = 0xd65f03c0,
	PUSH_RECORD = 0xa9be7bfd, /* stp x29, x30, [sp, #-32]! */
	POP_RECORD = 0xa8c27bfd,  /* ldp x29, x30, [sp], #32 */
	SET_FP = 0x910003fd,      /* mov x29, sp */
	CALL_FAR = 0x94000100,    /* bl . + 0x400 */
	CALL_IT = 0xd63f0000,     /* blr x0 */
};

/* Code, and which of its returns are to be turned down. */
struct code {
	struct code_bytes bytes;
	unsigned rejects; /* the first so many */
	struct str log;
	uint8_t text[4 * MAX_INSNS];
};

static bool accept_return(void *context, const struct unwind_rule *rule, bool is_jump)
{
	struct code *code = context;
	(void)rule;
	str_printf(&code->log, is_jump ? "j" : "");
	return !code->rejects || !code->rejects--;
}

static void put_register(struct str *log, const char *name, unsigned kind, int offset)
{
	if (kind == UNWIND_AT_CFA)
		str_printf(log, " %s%+d", name, offset);
	else if (kind != UNWIND_SAME)
		str_printf(log, " %s?", name);
}

/* "4:sp+16 fp-16 lr-8": at which instruction what CFA, where x29 and x30 are if they have changed.
 */
static void put_rule(struct str *log, int number, const struct unwind_rule *rule)
{
	str_printf(log, "%s%d:%s%+d", log->len ? ", " : "", number,
		rule->cfa_register == UNWIND_ARM64_SP   ? "sp"
		: rule->cfa_register == UNWIND_ARM64_FP ? "fp"
							: "other",
		rule->cfa_offset);
	if (rule->flags & UNWIND_FORKS)
		str_printf(log, " forks");
	put_register(log, "fp", rule->fp, rule->fp_offset);
	put_register(log, "lr", rule->ra, rule->ra_offset);
}

static void log_rule(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct code *code = context;
	put_rule(&code->log, (int)(address - ADDRESS) / 4, rule);
}

static struct machine_code code_of(struct code *code, const uint32_t *insns)
{
	size_t count = 0;
	for (; insns[count]; count++)
		for (unsigned i = 0; i < 4; i++)
			code->text[4 * count + i] = (uint8_t)(insns[count] >> 8 * i);
	code->bytes = (struct code_bytes){code->text, 4 * count};
	return (struct machine_code){.read = code_bytes_read,
		.accepts = accept_return,
		.on_rule = log_rule,
		.context = code};
}

static void check(const uint32_t *insns, unsigned rejects, const char *expected, int line)
{
	struct code code = {.rejects = rejects};
	const struct machine_code machine_code = code_of(&code, insns);
	bool is_found = machine_arm64.find_return(&machine_code, ADDRESS);
	const char *got = is_found ? str_text(&code.log) : "none";
	if (strcmp(got, expected) != 0)
		unit_fail(__FILE__, line, "\"%s\", not \"%s\"", got, expected);
	str_deinit(&code.log);
}

#define CHECK_CODE(expected, ...) check((const uint32_t[]){__VA_ARGS__, 0}, 0, expected, __LINE__)
#define CHECK_REJECTING(n, expected, ...) \
	check((const uint32_t[]){__VA_ARGS__, 0}, n, expected, __LINE__)

TEST(arm64_return_of_a_leaf)
{
	CHECK_CODE("0:sp+0", RET);
	CHECK_CODE("1:sp+0, 0:sp+0", NOP, RET);
	CHECK_CODE("1:sp+0, 0:sp+0", AUTIASP, RET);
	CHECK_CODE("0:sp+0", 0xd65f0bff); /* retaa */
	/* add v30.4s, v29.4s, v30.4s: no general register */
	CHECK_CODE("1:sp+0, 0:sp+0", 0x4ebe87be, RET);
}

TEST(arm64_return_behind_a_record)
{
	CHECK_CODE("1:sp+0, 0:sp+32 fp-32 lr-24", POP_RECORD, RET);
	/* ldp x19, x20, [sp, #16]; ...; autiasp */
	CHECK_CODE("3:sp+0, 2:sp+0, 1:sp+32 fp-32 lr-24, 0:sp+32 fp-32 lr-24", 0xa94153f3,
		POP_RECORD, AUTIASP, RET);
	/* ldp x29, x30, [sp, #48]; add sp, sp, #64 */
	CHECK_CODE("2:sp+0, 1:sp+64, 0:sp+64 fp-16 lr-8", 0xa9437bfd, 0x910103ff, RET);
	/* ldr x30, [sp], #16 */
	CHECK_CODE("1:sp+0, 0:sp+16 lr-16", 0xf84107fe, RET);
	/* mov sp, x29; behind alloca() */
	CHECK_CODE("2:sp+0, 1:sp+32 fp-32 lr-24, 0:fp+32 fp-32 lr-24", 0x910003bf, POP_RECORD, RET);
	/* ldp d8, d9, [sp], #16 */
	CHECK_CODE("2:sp+0, 1:sp+32 fp-32 lr-24, 0:sp+48 fp-32 lr-24", 0x6cc127e8, POP_RECORD, RET);
}

/* Until a call x30 is what it was, and behind it what was stored. */
TEST(arm64_return_of_a_function_from_its_start)
{
	CHECK_CODE("6:sp+0, 5:sp+0, 4:sp+32 fp-32 lr-24, 3:sp+32 fp-32, 2:sp+32, 1:sp+0, 0:sp+0",
		PACIASP, PUSH_RECORD, SET_FP, CALL_IT, POP_RECORD, AUTIASP, RET);
	/* mov x16, #0x18; movk x16, #1, lsl #16; sub sp, sp, x16; add sp, sp, x16 */
	CHECK_CODE("4:sp+0, 3:sp+65560, 2:sp+0, 1:sp+0, 0:sp+0", 0xd2800310, 0xf2a00030, 0xcb3063ff,
		0x8b3063ff, RET);
	/* sub sp, sp, #16; and sp, sp, #-64: an alignment, undone by x29 */
	CHECK_CODE("4:sp+0, 3:sp+32 fp-32 lr-24, 2:fp+32 fp-32 lr-24, 1:fp+32 fp-32 lr-24, "
		   "0:fp+32 fp-32 lr-24",
		CALL_IT, 0x927ae7ff, 0x910003bf, POP_RECORD, RET);
}

TEST(arm64_return_behind_branches_and_jumps)
{
	/* cbz x0, 2; brk; 2: ret */
	CHECK_CODE("2:sp+0, 0:sp+0", 0xb4000040, 0xd4200000, RET);
	/* b 2; brk; 2: ret */
	CHECK_CODE("2:sp+0, 0:sp+0", 0x14000002, 0xd4200000, RET);
	/* ldp x29, x30, [sp], #32; b 3; brk; 3: another function's */
	CHECK_CODE("5:sp+0, 4:sp+32, 3:sp+0, 1:sp+0, 0:sp+32 fp-32 lr-24", POP_RECORD, 0x14000002,
		0xd4200000, PUSH_RECORD, POP_RECORD, RET);
}

/* Behind a call that never returns there is another function: its x30 is not this one's. */
TEST(arm64_return_of_another_function)
{
	CHECK_CODE("none", CALL_FAR, PUSH_RECORD, CALL_IT, POP_RECORD, RET);
	CHECK_CODE("none", CALL_FAR, RET);
	/* mov x8, #94; svc 0 */
	CHECK_CODE("none", 0xd2800bc8, 0xd4000001, RET);
	CHECK_CODE("none", 0xd4200000, RET); /* brk */
	CHECK_REJECTING(1, "none", RET);
}

/* A jump to what a register says is believed by its register, or by x30. */
TEST(arm64_return_by_a_jump)
{
	CHECK_CODE("j, 0:sp+0", 0xd61f0200);                                  /* br x16 */
	CHECK_CODE("j, 1:sp+0, 0:sp+32 fp-32 lr-24", POP_RECORD, 0xd61f0040); /* br x2 */
	CHECK_CODE("2:sp+0, 1:sp+32 fp-32 lr-24, 0:sp+32 fp-32 lr-24", 0xd61f0040, POP_RECORD, RET);
	CHECK_CODE("none", 0xd61f0040);
}

TEST(arm64_a_new_thread_has_no_caller)
{
	/* mov x8, #220; svc 0; cbz x0, 5; ret; brk; 5: brk */
	CHECK_CODE("3:sp+0, 2:sp+0 forks, 1:sp+0, 0:sp+0", 0xd2801b88, 0xd4000001, 0xb4000060, RET,
		0xd4200000, 0xd4200000);
}

/* What never returns is read from its call: bl 4; ...; 4: stp x29, x30; mov; bl; b to itself. */
TEST(arm64_what_a_call_led_to_says_where_the_return_address_is)
{
	static const uint32_t insns[] = {
		NOP, 0x94000003, NOP, NOP, PUSH_RECORD, SET_FP, CALL_IT, 0x14000000, 0};
	static const char *const expected[] = {
		"4:sp+0", "5:sp+32", "6:sp+32 fp-32", "7:sp+32 fp-32 lr-24"};
	struct code code = {0};
	const struct machine_code machine_code = code_of(&code, insns);
	for (unsigned i = 0; i < 4; i++) {
		struct unwind_rule rule;
		struct str log = {0};
		uint64_t address = ADDRESS + 16 + 4 * i;
		CHECK(machine_arm64.find_from_call(&machine_code, ADDRESS + 8, address, &rule));
		put_rule(&log, 4 + (int)i, &rule);
		CHECK_STR(str_text(&log), expected[i]);
		str_deinit(&log);
		CHECK(machine_arm64.may_have_called(&machine_code, ADDRESS + 8, address));
	}
	struct unwind_rule rule;
	CHECK(!machine_arm64.find_from_call(&machine_code, ADDRESS + 8, ADDRESS, &rule));
	CHECK(!machine_arm64.find_from_call(&machine_code, ADDRESS + 12, ADDRESS + 16, &rule));
	CHECK(!machine_arm64.may_have_called(&machine_code, ADDRESS + 8, ADDRESS));
	/* No call, or one of what a register says: it does not tell. */
	CHECK(machine_arm64.may_have_called(&machine_code, ADDRESS + 4, ADDRESS));
	CHECK(machine_arm64.may_have_called(&machine_code, ADDRESS + 28, ADDRESS));
	str_deinit(&code.log);
}
