/* Code that is read for how its functions return: rules by instruction, and what is no return. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/str.h"
#include "format/machine/machine.h"
#include "tests/unit/code_bytes.h"
#include "tests/unit/unit.h"

enum {
	ADDRESS = CODE_BYTES_ADDRESS,
};

/* Code, and which of its returns are to be turned down. */
struct code {
	struct code_bytes bytes;
	unsigned rejects; /* the first so many */
	bool has_frame;   /* the frame pointer is where the stack pointer is */
	struct str log;
};

static bool accept_return(void *context, const struct unwind_rule *rule, bool is_jump)
{
	struct code *code = context;
	(void)rule;
	(void)is_jump;
	return !code->rejects || !code->rejects--;
}

static void put_register(struct str *log, const char *name, unsigned kind, int offset)
{
	if (kind == UNWIND_AT_CFA)
		str_printf(log, " %s%+d", name, offset);
	else if (kind == UNWIND_AT_SP)
		str_printf(log, " %s@%+d", name, offset);
	else if (kind == UNWIND_AT_FP)
		str_printf(log, " %s=bp%+d", name, offset);
	else if (kind == UNWIND_UNDEFINED)
		str_printf(log, " %s?", name);
}

/* "4:sp+16 bp-16": at which offset what CFA, where rbp and rbx are if they have changed. */
static void log_rule(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct code *code = context;
	struct str *log = &code->log;
	const char *base = rule->cfa_register == UNWIND_X86_64_SP   ? "sp"
			   : rule->cfa_register == UNWIND_X86_64_FP ? "bp"
								    : "other";
	str_printf(log, "%s%d:", log->len ? ", " : "", (int)(address - ADDRESS));
	if (rule->cfa == UNWIND_CFA_DEREF)
		str_printf(
			log, "*(%s%+d)%+d", base, (short)rule->cfa_offset, rule->cfa_offset >> 16);
	else
		str_printf(log, "%s%+d", base, rule->cfa_offset);
	if (rule->flags & UNWIND_FORKS)
		str_printf(log, " forks");
	if (rule->flags & UNWIND_SWITCHES_STACKS)
		str_printf(log, " switches");
	if (rule->ra_offset != -8)
		str_printf(log, " ra%+d", rule->ra_offset);
	put_register(log, "bp", rule->fp, rule->fp_offset);
	put_register(log, "bx", rule->extra, rule->extra_offset);
}

static bool find_return(struct code *code)
{
	const struct machine_code machine_code = {.read = code_bytes_read,
		.accepts = accept_return,
		.on_rule = log_rule,
		.context = code,
		.has_frame_bytes = code->has_frame};
	return machine_x86_64.find_return(&machine_code, ADDRESS);
}

static void check(struct code code, const char *expected, int line)
{
	bool is_found = find_return(&code);
	const char *got = is_found ? str_text(&code.log) : "none";
	if (strcmp(got, expected) != 0)
		unit_fail(__FILE__, line, "\"%s\", not \"%s\"", got, expected);
	str_deinit(&code.log);
}

#define CODE(text)                 .bytes = {(text), sizeof(text) - 1}
#define CHECK_CODE(text, expected) check((struct code){CODE(text)}, expected, __LINE__)
#define CHECK_REJECTING(n, text, expected) \
	check((struct code){CODE(text), .rejects = (n)}, expected, __LINE__)

/* A branch leads past code that is longer than what is followed, as kernels of OpenBLAS are. */
TEST(return_behind_long_code)
{
	static uint8_t text[64 << 10] = {0x0f, 0x84}; /* je to the end */
	const uint32_t past = sizeof(text) - 6 - 1;
	memset(text + 6, 0x90, past);
	memcpy(text + 2, &past, sizeof(past));
	text[sizeof(text) - 1] = 0xc3;
	struct code code = {.bytes = {text, sizeof(text)}};
	CHECK(find_return(&code));
	str_deinit(&code.log);
}

TEST(return_of_a_leaf)
{
	CHECK_CODE("\xc3", "0:sp+8");
	CHECK_CODE("\x90\xc3", "1:sp+8, 0:sp+8");
	CHECK_CODE("\xc2\x10\0", "0:sp+24 ra-24"); /* pops 16 bytes of arguments */
}

TEST(return_behind_pops)
{
	/* pop %rbx, pop %rbp, ret */
	CHECK_CODE("\x5b\x5d\xc3", "2:sp+8, 1:sp+16 bp-16, 0:sp+24 bp-16 bx-24");
	/* add $24,%rsp; ret */
	CHECK_CODE("\x48\x83\xc4\x18\xc3", "4:sp+8, 0:sp+32");
	/* mov 8(%rsp),%rbx; add $24,%rsp; ret */
	CHECK_CODE("\x48\x8b\x5c\x24\x08\x48\x83\xc4\x18\xc3", "9:sp+8, 5:sp+32, 0:sp+32 bx-24");
}

TEST(return_of_a_function_from_its_start)
{
	/* push %rbp; mov %rsp,%rbp; sub $16,%rsp; leave; ret */
	CHECK_CODE("\x55\x48\x89\xe5\x48\x83\xec\x10\xc9\xc3",
		"9:sp+8, 8:bp+16 bp-16, 4:bp+16 bp-16, 1:sp+16, 0:sp+8");
	/* push %rbx; xor %ebx,%ebx; pop %rbx; ret */
	CHECK_CODE("\x53\x31\xdb\x5b\xc3", "4:sp+8, 3:sp+16 bx-16, 1:sp+16, 0:sp+8");
}

TEST(return_by_the_frame_pointer)
{
	CHECK_CODE("\xc9\xc3", "1:sp+8, 0:bp+16 bp-16"); /* leave, ret */
	/* lea -8(%rbp),%rsp; pop %rbx; pop %rbp; ret */
	CHECK_CODE("\x48\x8d\x65\xf8\x5b\x5d\xc3",
		"6:sp+8, 5:bp+16 bp-16, 4:bp+16 bp-16 bx-24, 0:bp+16 bp-16 bx-24");
}

/* JavaScript's calls pop their arguments: behind one the stack pointer is not what was pushed. */
TEST(return_of_a_caller_whose_callee_pops)
{
	/* push %rbp; mov %rsp,%rbp; push $1; call; leave; ret */
	CHECK_CODE("\x55\x48\x89\xe5\x6a\x01\xe8\0\1\0\0\xc9\xc3",
		"12:sp+8, 11:bp+16 bp-16, 6:bp+16 bp-16, 4:bp+16 bp-16, 1:sp+16, 0:sp+8");
}

/* SBCL's callers make the frame of what they call, which pops the frame pointer. */
TEST(return_of_a_caller_that_makes_frames)
{
	/* sub $16,%rsp; mov %rbp,(%rsp); mov %rsp,%rbp; call; cmovb %rbx,%rsp; mov %rbp,%rsp;
	 * pop %rbp; ret */
	CHECK_CODE("\x48\x83\xec\x10\x48\x89\x2c\x24\x48\x8b\xec\xe8\0\1\0\0\x48\x0f\x42\xe3"
		   "\x48\x8b\xe5\x5d\xc3",
		"24:sp+8, 23:bp+16 bp-16, 20:bp+16 bp-16, 16:bp+16 bp-16, "
		"8:bp+16 bp-16, 4:bp+16 bp-16, 0:bp+16 bp-16");
	/* lea -16(%rsp),%r10; sub $160,%rsp; mov %rbp,(%r10); mov %r10,%rbp; call; leave; ret */
	CHECK_CODE("\x4c\x8d\x54\x24\xf0\x48\x81\xec\xa0\0\0\0\x49\x89\x2a\x49\x8b\xea"
		   "\xe8\0\1\0\0\xc9\xc3",
		"24:sp+8, 23:bp+16 bp-16, 15:bp+16 bp-16, 12:bp+16 bp-16, "
		"5:bp+16 bp-16, 0:bp+16 bp-16");
	/* push %rbp; mov %rsp,%rbp; call; pop %rbp; ret: its own frame */
	CHECK_CODE("\x55\x48\x89\xe5\xe8\0\1\0\0\x5d\xc3",
		"10:sp+8, 9:bp+16 bp-16, 4:bp+16 bp-16, 1:sp+16, 0:sp+8");
	/* Go's: sub $8,%rsp; mov %rbp,(%rsp); lea (%rsp),%rbp; call; mov (%rsp),%rbp; add $8,%rsp;
	 * ret */
	CHECK_CODE("\x48\x83\xec\x08\x48\x89\x2c\x24\x48\x8d\x2c\x24\xe8\0\1\0\0\x48\x8b\x2c\x24"
		   "\x48\x83\xc4\x08\xc3",
		"25:sp+8, 21:sp+16, 17:bp+16 bp-16, 12:bp+16 bp-16, 8:sp+16, 4:sp+16, 0:sp+8");
}

/* Its callee's first instruction puts the return address where no rule finds it. */
TEST(return_address_that_is_moved)
{
	/* pop 8(%rbp); mov %rbp,%rsp; pop %rbp; ret */
	CHECK_CODE("\x8f\x45\x08\x48\x8b\xe5\x5d\xc3", "none");
}

/* x264 keeps the old stack pointer in a frame that it has aligned. */
TEST(return_address_that_is_popped_with_arguments)
{
	/* leave; pop %r8; lea (%rsp,%rbx,8),%rsp; push %r8; ret */
	CHECK_CODE("\xc9\x41\x58\x48\x8d\x24\xdc\x41\x50\xc3", "3:sp+0, 1:sp+8, 0:bp+16 bp-16");
	/* The same with what was in the register at first, and by a jump */
	CHECK_CODE("\xc9\x48\x8d\x24\xdc\x41\x50\xc3", "none");
	CHECK_CODE("\xc9\x41\x58\x48\x8d\x24\xdc\x41\x50\xff\xe0", "none");
}

TEST(return_of_a_function_that_aligns_its_stack_from_its_start)
{
	/* lea 8(%rsp),%r10; and $-16,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp; push %r10;
	 * mov -8(%rbp),%r10; leave; lea -8(%r10),%rsp; ret */
	CHECK_CODE("\x4c\x8d\x54\x24\x08\x48\x83\xe4\xf0\x41\xff\x72\xf8\x55\x48\x89\xe5\x41\x52"
		   "\x4c\x8b\x55\xf8\xc9\x49\x8d\x62\xf8\xc3",
		"28:sp+8, 5:sp+8, 0:sp+8");
}

TEST(return_by_a_saved_stack_pointer)
{
	/* mov 64(%rsp),%rsp; pop %rbx; ret */
	CHECK_CODE("\x48\x8b\x64\x24\x40\x5b\xc3", "6:sp+8, 5:sp+16 bx-16, 0:*(sp+64)+16 bx-16");
}

/* gcc keeps r10 in a frame that it has aligned: written by one register, read by another. */
TEST(return_by_a_register_that_is_saved_on_the_way)
{
	/* push %r10; sub $104,%rsp; mov -8(%rbp),%r10; leave; lea -8(%r10),%rsp; ret */
	static const char text[] =
		"\x41\x52\x48\x83\xec\x68\x4c\x8b\x55\xf8\xc9\x49\x8d\x62\xf8\xc3";
	check((struct code){CODE(text), .has_frame = true}, "15:sp+8, 0:other+0 bp=bp+0", __LINE__);
}

TEST(return_behind_branches_and_jumps)
{
	/* je to pop %rbp, ret; else a loop without an end */
	CHECK_CODE("\x74\x02\xeb\xfe\x5d\xc3", "5:sp+8, 4:sp+16 bp-16, 0:sp+16 bp-16");
	CHECK_CODE("\xeb\x01\x0b\xc3", "3:sp+8, 0:sp+8");
	CHECK_CODE("\xe8\x05\0\0\0\xc3", "5:sp+8, 0:sp+8");            /* a call is stepped over */
	CHECK_CODE("\xe8\0\0\0\0\x58\xc3", "6:sp+8, 5:sp+16, 0:sp+8"); /* call 1f; 1: pop %rax */
}

TEST(return_that_is_turned_down)
{
	/* a call that never returns, and another function: je over both */
	CHECK_REJECTING(
		1, "\x74\x06\xe8\0\1\0\0\xc3\x5d\xc3", "9:sp+8, 8:sp+16 bp-16, 0:sp+16 bp-16");
	CHECK_REJECTING(1, "\xc3", "none");
}

/* On another function's behalf, or by a table of cases. */
TEST(return_by_a_jump)
{
	CHECK_CODE("\xff\xe0", "0:sp+8");
	CHECK_REJECTING(1, "\xff\xe0\x5d\xc3", "3:sp+8, 2:sp+16 bp-16, 0:sp+16 bp-16");
	CHECK_CODE("\x3e\xff\xe0\x5d\xc3", "4:sp+8, 3:sp+16 bp-16, 0:sp+16 bp-16"); /* notrack */
}

/* push of an address, jmp: a call that returns there. */
TEST(return_behind_a_call_by_hand)
{
	CHECK_CODE("\x68\x09\0\1\0\xff\xe0\x90\x90\xc3", "9:sp+8, 5:sp+16, 0:sp+8");
	CHECK_CODE("\x68\x09\0\1\0\xc3\x90\x90\x90\xc3", "9:sp+8, 5:sp+16, 0:sp+8"); /* ret */
	CHECK_CODE("\x50\xc3", "none"); /* push, ret: a jump to an unknown place */
}

TEST(return_that_is_none)
{
	CHECK_CODE("\x0f\x0b", "none");                   /* ud2 */
	CHECK_CODE("\xeb\xfe", "none");                   /* for ever */
	CHECK_CODE("\xb8\x3c\0\0\0\x0f\x05\xc3", "none"); /* exit() */
	CHECK_CODE("\x48\x83\xe4\xf0\xc3", "none");       /* and $-16,%rsp */
	CHECK_CODE("\x90\x90", "none");                   /* the end of what can be read */
	CHECK_CODE("\x06", "none");                       /* no instruction */
}

/* Whatever the bytes: it ends, and the frame it was asked for has the last rule. */
TEST(return_of_random_bytes)
{
	static const uint8_t common[] = {0x48, 0x50, 0x58, 0x5d, 0x55, 0x74, 0x75, 0xeb, 0xe8, 0xc3,
		0x0f, 0x89, 0x8b, 0x24, 0xec, 0xc4, 0x08, 0xff, 0x90, 0xc9};
	srand(7);
	for (int round = 0; round < 3000; round++) {
		char bytes[96];
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (char)(rand() % 8 ? common[(size_t)rand() % sizeof(common)]
						     : rand());
		struct code code = {.bytes = {bytes, sizeof(bytes)}, .rejects = rand() % 3u};
		bool is_found = find_return(&code);
		CHECK(is_found == (code.log.len != 0));
		const char *last = is_found ? strrchr(str_text(&code.log), ',') : NULL;
		CHECK(!last || strncmp(last, ", 0:", 4) == 0);
		str_deinit(&code.log);
	}
}

/* ---- code that never returns: by where it was called from, or begins ---- */

static bool accept_all(void *context, const struct unwind_rule *rule, bool is_jump)
{
	(void)context, (void)rule, (void)is_jump;
	return true;
}

/* "cfa ra fp" of the instruction at `offset`, by the call that ends at `ra`; 0: by how it begins.
 */
static const char *rule_from(const struct code_bytes *bytes, size_t ra, size_t offset)
{
	static char text[64];
	const struct machine_code code = {
		.read = code_bytes_read, .accepts = accept_all, .context = (void *)bytes};
	struct unwind_rule rule;
	bool is_found =
		ra ? machine_x86_64.find_from_call(&code, ADDRESS + ra, ADDRESS + offset, &rule)
		   : machine_x86_64.find_from_begin(&code, ADDRESS + offset, &rule);
	if (!is_found)
		return "none";
	snprintf(text, sizeof(text), "%s+%d fp%d%+d%s",
		rule.cfa_register == UNWIND_X86_64_SP ? "sp" : "bp", rule.cfa_offset, rule.fp,
		rule.fp_offset, rule.ra == UNWIND_AT_SP ? " ra at sp+0" : "");
	return text;
}

TEST(what_a_call_led_to_says_where_the_return_address_is)
{
	/* call f; hlt; f: push %rbx; sub $32, %rsp; 1: call f (at 20); jmp 1b */
	static const uint8_t text[] = {0xe8, 1, 0, 0, 0, 0xf4, 0x53, 0x48, 0x83, 0xec, 0x20, 0xe8,
		4, 0, 0, 0, 0xeb, 0xf9, 0xcc, 0xcc, 0xc3};
	struct code_bytes bytes = {text, sizeof(text)};
	CHECK_STR(rule_from(&bytes, 5, 6), "sp+8 fp0+0");
	CHECK_STR(rule_from(&bytes, 5, 7), "sp+16 fp0+0");
	CHECK_STR(rule_from(&bytes, 5, 16), "sp+48 fp0+0");
	CHECK_STR(rule_from(&bytes, 16, 16), "none"); /* it led to what returns */
	CHECK_STR(rule_from(&bytes, 16, 20), "sp+8 fp0+0");
	CHECK_STR(rule_from(&bytes, 9, 16), "none"); /* no call */
	CHECK_STR(rule_from(&bytes, 0, 16), "none"); /* it begins like nothing else */
}

/* call f; hlt; f: push %rbp; mov %rsp, %rbp; push %r15; push %rbx; sub $8, %rsp; jmp *%rax; two
 * cases of its table: 1: jmp 1b, and: call g; jmp *%rax; nops, and g: push %rcx; 1: jmp 1b */
TEST(a_case_of_a_table_has_the_frame_pointer_of_its_function)
{
	static const uint8_t text[] = {0xe8, 1, 0, 0, 0, 0xf4, 0x55, 0x48, 0x89, 0xe5, 0x41, 0x57,
		0x53, 0x48, 0x83, 0xec, 0x08, 0xff, 0xe0, 0xeb, 0xfe, 0xe8, 6, 0, 0, 0, 0xeb, 0xf7,
		0x66, 0x90, 0x90, 0xcc, 0x51, 0xeb, 0xfe};
	struct code_bytes bytes = {text, sizeof(text)};
	CHECK_STR(rule_from(&bytes, 5, 21), "bp+16 fp1-16");
	CHECK_STR(rule_from(&bytes, 5, 26), "bp+16 fp1-16");
	CHECK_STR(rule_from(&bytes, 5, 22), "none"); /* no instruction */
	CHECK_STR(rule_from(&bytes, 5, 33), "none"); /* another function */
	CHECK_STR(rule_from(&bytes, 26, 33), "sp+16 fp0+0");
}

/* As SBCL's functions begin: pop 8(%rbp); lea -16(%rbp), %rsp; and $-16, %rsp; 1: nop; jmp 1b */
TEST(a_frame_that_the_caller_has_made_is_known_by_its_begin)
{
	static const uint8_t text[] = {0xcc, 0x8f, 0x45, 0x08, 0x48, 0x8d, 0x65, 0xf0, 0x48, 0x83,
		0xe4, 0xf0, 0x90, 0xeb, 0xfd};
	uint8_t all[1024];
	memset(all, 0xcc, sizeof(all));
	memcpy(all + 600, text, sizeof(text));
	struct code_bytes bytes = {all, sizeof(all)};
	CHECK_STR(rule_from(&bytes, 0, 612), "bp+16 fp1-16");
	CHECK_STR(rule_from(&bytes, 0, 604), "bp+16 fp1-16");
	CHECK_STR(rule_from(&bytes, 0, 601), "bp+16 fp1-16 ra at sp+0");
	CHECK_STR(rule_from(&bytes, 0, 640), "none");
}

/* One that makes the frame of what it calls itself, below a return address that it took away. */
TEST(what_was_called_by_a_frame_that_was_made_may_make_others)
{
	/* call f; hlt; f: pop 8(%rbp); sub $16, %rsp; mov %rbp, (%rsp); mov %rsp, %rbp; call g;
	 * 1: jmp 1b; g: ret */
	static const uint8_t text[] = {0xe8, 1, 0, 0, 0, 0xf4, 0x8f, 0x45, 0x08, 0x48, 0x83, 0xec,
		0x10, 0x48, 0x89, 0x2c, 0x24, 0x48, 0x8b, 0xec, 0xe8, 2, 0, 0, 0, 0xeb, 0xfe, 0xc3};
	struct code_bytes bytes = {text, sizeof(text)};
	CHECK_STR(rule_from(&bytes, 5, 9), "bp+16 fp1-16");
	CHECK_STR(rule_from(&bytes, 5, 17), "bp+16 fp1-16");
	CHECK_STR(rule_from(&bytes, 5, 25), "bp+16 fp1-16");
}

TEST(a_frame_pointer_is_known_by_the_begin)
{
	/* push %rbp; mov %rsp, %rbp; sub $64, %rsp; 1: jmp 1b */
	static const uint8_t text[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40, 0xeb, 0xfe};
	uint8_t all[1024];
	memset(all, 0xcc, sizeof(all));
	memcpy(all + 600, text, sizeof(text));
	struct code_bytes bytes = {all, sizeof(all)};
	CHECK_STR(rule_from(&bytes, 0, 608), "bp+16 fp1-16");
}

/* mov $56, %eax; syscall; test %rax, %rax; jl 1f; je child; 1: ret; child: pop %rax; ret; and with
 * jne to the return. As the C library's clone() and clone3(). */
TEST(a_new_thread_has_no_caller)
{
	CHECK_CODE("\xb8\x38\0\0\0\x0f\x05\x48\x85\xc0\x7c\x02\x74\x01\xc3\x58\xc3",
		"14:sp+8, 12:sp+8 forks, 10:sp+8 forks, 7:sp+8 forks, 5:sp+8, 0:sp+8");
	CHECK_CODE("\xb8\xb3\1\0\0\x0f\x05\x48\x85\xc0\x75\x02\x58\xc3\xc3",
		"14:sp+8, 10:sp+8 forks, 7:sp+8 forks, 5:sp+8, 0:sp+8");
	CHECK_CODE("\xb8\x39\0\0\0\x0f\x05\x48\x85\xc0\x75\x01\xc3\xc3", /* fork */
		"12:sp+8, 10:sp+8, 7:sp+8, 5:sp+8, 0:sp+8");
}

/* As Poly/ML's run-time leaves its code: push %rcx; pop %rcx; mov 48(%rbp), %rsp; sub $8, %rsp;
 * pop %rbx; pop %rbp; ret */
TEST(a_stack_that_was_put_aside_is_another_one)
{
	CHECK_CODE("\x51\x59\x48\x8b\x65\x30\x48\x83\xec\x08\x5b\x5d\xc3",
		"12:sp+8, 11:sp+16 bp-16, 10:sp+24 bp-16 bx-24, "
		"6:sp+16 bp-16 bx-24, 2:*(bp+48)+16 switches bp-16 bx-24, "
		"1:*(bp+48)+16 switches bp-16 bx-24, 0:*(bp+48)+16 switches bp-16 bx-24");
	/* mov -8(%rbp), %rsp; ret: it is a frame's own */
	CHECK_CODE("\x48\x8b\x65\xf8\xc3", "4:sp+8, 0:*(bp-8)+8");
}

/* The byte of its length word; cmp 24(%rbp), %rsp; jae 1f; call *88(%rbp); 1: push 8(%rbp);
 * push %r14; 2: nop; cmp 24(%rbp), %rsp; jae 2b; jmp 2b. Ahead of it is nothing to be read. */
TEST(code_of_poly_ml_is_known_by_its_begin)
{
	static const uint8_t text[] = {0x02, 0x48, 0x3b, 0x65, 0x18, 0x73, 0x03, 0xff, 0x55, 0x58,
		0xff, 0x75, 0x08, 0x41, 0x56, 0x90, 0x48, 0x3b, 0x65, 0x18, 0x73, 0xf9, 0xeb, 0xf7,
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
	struct code_bytes bytes = {text, sizeof(text)};
	CHECK_STR(rule_from(&bytes, 0, 15), "sp+24 fp0+0");
	CHECK_STR(rule_from(&bytes, 0, 22), "sp+24 fp0+0");
	CHECK_STR(rule_from(&bytes, 0, 10), "sp+8 fp0+0");
	CHECK_STR(rule_from(&bytes, 0, 24), "none");
}
