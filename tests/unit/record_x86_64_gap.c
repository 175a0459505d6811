/* Rules for code without call frame information, from its bytes: start-up code and system calls. */
#include "format/machine/x86_64_gap.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/base/str.h"
#include "record/unwind/unwind_table.h"
#include "tests/unit/unit.h"

enum {
	OFFSET = 0x1000, /* of the gap in its file */
	OUTERMOST = 0x2000,
	FRAME_OF_24 = 0x3000, /* rsp+24, rbp below the return address */
};

/* What the rest of the file has. */
static bool rule_at(void *context, uint64_t offset, struct unwind_rule *ret)
{
	(void)context;
	*ret = (struct unwind_rule){.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_UNDEFINED};
	if (offset == OUTERMOST)
		return true;
	*ret = (struct unwind_rule){.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = UNWIND_SP,
		.cfa_offset = 24,
		.ra = UNWIND_AT_CFA,
		.ra_offset = -8,
		.fp = UNWIND_AT_CFA,
		.fp_offset = -16};
	return offset == FRAME_OF_24;
}

/* "0:16 b-16 f, 4:outermost, 6:none": at which offset what CFA, saved rbp and rbx, forking. */
static void log_rule(void *context, uint64_t offset, const struct unwind_rule *rule)
{
	struct str *log = context;
	str_printf(log, "%s%llx:", log->len ? " " : "", (unsigned long long)offset - OFFSET);
	if (!rule) {
		str_puts(log, "none");
		return;
	}
	if (rule->ra == UNWIND_UNDEFINED) {
		str_puts(log, "outermost");
		return;
	}
	CHECK(rule->cfa == UNWIND_CFA_REGISTER && rule->cfa_register == UNWIND_SP);
	CHECK(rule->ra == UNWIND_AT_CFA && rule->ra_offset == -8);
	str_printf(log, "%d", rule->cfa_offset);
	if (rule->fp == UNWIND_AT_CFA)
		str_printf(log, "p%d", rule->fp_offset);
	else if (rule->fp != UNWIND_SAME)
		str_puts(log, "p?");
	if (rule->extra == UNWIND_AT_CFA)
		str_printf(log, "b%d", rule->extra_offset);
	else if (rule->extra != UNWIND_SAME)
		str_puts(log, "b?");
	if (rule->flags & UNWIND_FORKS)
		str_puts(log, "!");
}

static void check_code(const char *code, size_t len, const char *want)
{
	struct str log = {0};
	/* Of exactly this length, so that a sanitizer sees what is read behind it. */
	CLEANUP_FREE uint8_t *copy = mem_alloc(len);
	memcpy(copy, code, len);
	struct machine_gap gap = {copy, len, OFFSET, rule_at, log_rule, &log};
	x86_64_find_gap_rules(&gap);
	CHECK_STR(str_text(&log), want);
	str_deinit(&log);
}

#define CHECK_CODE(code, want) check_code(code, sizeof(code) - 1, want)

TEST(gap_of_init_and_fini)
{
	CHECK_CODE("\x48\x83\xec\x08"             /* sub $8,%rsp */
		   "\x48\x8b\x05\xcd\x6f\x52\x00" /* mov __gmon_start__(%rip),%rax */
		   "\x48\x85\xc0"                 /* test %rax,%rax */
		   "\x74\x02"                     /* je */
		   "\xff\xd0"                     /* call *%rax */
		   "\x48\x83\xc4\x08"             /* add $8,%rsp */
		   "\xc3",
		"0:8 4:16 b:16 e:16 10:16 12:16 16:8 17:none");
	CHECK_CODE(
		"\xf3\x0f\x1e\xfa\x48\x83\xec\x08\x48\x83\xc4\x08\xc3", "0:8 4:8 8:16 c:8 d:none");
}

/* __do_global_dtors_aux of crtbegin.o, and one that ends in a jump to who knows where. */
TEST(gap_of_crtbegin)
{
	CHECK_CODE("\x80\x3d\x49\xee\x0c\x00\x00" /* cmpb $0,x(%rip) */
		   "\x75\x11"                     /* jne */
		   "\x55"                         /* push %rbp */
		   "\x48\x89\xe5"                 /* mov %rsp,%rbp */
		   "\xe8\x00\x00\x10\x00"         /* call */
		   "\xc6\x05\x21\xee\x0c\x00\x01" /* movb $1,x(%rip) */
		   "\x5d"                         /* pop %rbp */
		   "\xc3\xc3",
		"0:8 7:8 9:8 a:16p-16 d:16p-16 12:16p-16 19:16p-16 1a:8 1b:8 1c:none");
	CHECK_CODE("\x48\x85\xc0\x74\x02\xff\xe0\xc3", "0:8 3:8 5:8 7:8 8:none");
	CHECK_CODE("\xff\xe0", "0:none 2:none");
}

/* In glibc rules end at the system call of clone() and clone3(), and begin again behind. */
TEST(gap_behind_clone)
{
	static const char code[] = "\x0f\x05"                 /* syscall */
				   "\x48\x85\xc0"             /* test %rax,%rax */
				   "\x7c\x13"                 /* jl */
				   "\x0f\x84\xf1\x0f\x00\x00" /* je OUTERMOST - OFFSET - 13 + ... */
				   "\xc3";
	char moved[sizeof(code)];
	memcpy(moved, code, sizeof(code));
	int32_t distance = OUTERMOST - OFFSET - 13;
	memcpy(moved + 9, &distance, sizeof(distance));
	check_code(moved, sizeof(code) - 1, "0:8 2:8! 5:8! 7:8! d:8 e:none");
	/* Where the way of the result 0 has a caller, it is no thread's. */
	distance = FRAME_OF_24 - OFFSET - 13;
	memcpy(moved + 9, &distance, sizeof(distance));
	moved[13] = '\x90'; /* nop: only the branch says something */
	check_code(moved, sizeof(code) - 1, "0:24p-16 2:24p-16 5:24p-16 7:24p-16 d:24p-16 e:none");
}

/* musl: the number and what the thread does first stand in the same code. */
TEST(gap_that_is_clone)
{
	CHECK_CODE("\xb8\x38\x00\x00\x00" /* mov $56,%eax */
		   "\x0f\x05"             /* syscall */
		   "\x85\xc0"             /* test %eax,%eax */
		   "\x75\x0a"             /* jne */
		   "\x31\xed"             /* xor %ebp,%ebp */
		   "\x41\xff\xd1"         /* call *%r9 */
		   "\xb0\x3c"             /* mov $60,%al */
		   "\x0f\x05"             /* syscall */
		   "\xf4"                 /* hlt */
		   "\xc3",
		"0:8 5:8 7:8! 9:8! b:outermost d:outermost 10:outermost 12:outermost "
		"14:outermost 15:8 16:none");
	/* Without a number: where the result is 0, another stack may be in use. */
	CHECK_CODE("\x0f\x05\x85\xc0\x75\x02\x31\xed\xc3", "0:8 2:8 4:8 6:8p? 8:8 9:none");
	CHECK_CODE(
		"\x0f\x05\x85\xc0\x75\x03\x31\xed\xf4\xc3", "0:8 2:8 4:8 6:none 8:none 9:8 a:none");
	/* Another call that may give 0: both ways go on. */
	CHECK_CODE("\xb8\x27\x00\x00\x00\x0f\x05\x85\xc0\x75\x03\x31\xed\xf4\xc3",
		"0:8 5:8 7:8 9:8 b:8 d:8p? e:8 f:none");
}

TEST(gap_that_goes_on_where_rules_are)
{
	int32_t distance = FRAME_OF_24 - OFFSET - 7;
	char code[] = "\x55\x51\xe9\0\0\0\0"; /* push %rbp, push %rcx, jmp */
	memcpy(code + 3, &distance, sizeof(distance));
	check_code(code, sizeof(code) - 1, "0:8 1:16p-16 2:24p-16 7:none");
}

/* What cannot be told exactly has no rule. */
TEST(gap_that_cannot_be_told)
{
	CHECK_CODE("\x50\xc3", "");                              /* push, ret: a jump */
	CHECK_CODE("\xeb\x01\x48\x83\xc4\x08\xc3", "");          /* into an instruction */
	CHECK_CODE("\x74\x01\x50\xc3", "");                      /* two ways with two frames */
	CHECK_CODE("\xc9\xc3", "0:none 1:8 2:none");             /* leave */
	CHECK_CODE("\x48\x83\xe4\xf0\xc3", "0:none 4:8 5:none"); /* and $-16,%rsp */
	CHECK_CODE("\x5c\xc3", "0:none 1:8 2:none");             /* pop %rsp */
	CHECK_CODE("\x90\xd6\xc3", "0:none 1:none");             /* no instruction */
	CHECK_CODE("\xe8\0\0\0\0\x90\x50\x58\xc3", "0:none 5:8 6:8 7:16 8:8 9:none");
	CHECK_CODE("\xe8\0\0\0\0\xf4\xc3", "0:none 5:none 6:8 7:none"); /* that never returns */
	CHECK_CODE("\x48\x83\xc4\x08\xf4", "0:none 4:none 5:none");
}

/* Whatever the bytes: nothing beyond their end is read, and nothing goes on for ever. */
TEST(gap_of_random_bytes)
{
	srand(3);
	for (int round = 0; round < 3000; round++) {
		size_t len = 1 + (size_t)rand() % 64;
		CLEANUP_FREE uint8_t *code = mem_alloc(len);
		static const uint8_t common[] = {0x48, 0x50, 0x58, 0x5d, 0x55, 0x74, 0x75, 0xeb,
			0xe8, 0xc3, 0x0f, 0x05, 0x83, 0xec, 0xc4, 0x08, 0x85, 0xc0, 0x90, 0xff};
		for (size_t i = 0; i < len; i++)
			code[i] = rand() % 8 ? common[(size_t)rand() % sizeof(common)]
					     : (uint8_t)rand();
		struct str log = {0};
		struct machine_gap gap = {code, len, OFFSET, rule_at, log_rule, &log};
		x86_64_find_gap_rules(&gap);
		str_deinit(&log);
	}
}

/* ---- a file ---- */

static void check_section(struct elf_file *elf, const struct unwind_table *table, const char *name)
{
	const struct elf_section *section = elf_file_find_section(elf, name);
	if (!section)
		return;
	const struct unwind_rule *rule = unwind_table_find(table, section->offset);
	CHECK_INT(rule->cfa, UNWIND_CFA_REGISTER);
	CHECK_INT(rule->cfa_offset, 8);
	rule = unwind_table_find(table, section->offset + section->size - 1); /* ret */
	CHECK_INT(rule->cfa, UNWIND_CFA_REGISTER);
	CHECK_INT(rule->cfa_offset, 8);
	rule = unwind_table_find(table, section->offset + section->size);
	CHECK_INT(rule->cfa, UNWIND_CFA_NONE);
}

TEST(gaps_of_this_program)
{
	CLEANUP_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *elf = NULL;
	struct unwind_table table;
	CHECK_OK(elf_file_open(fd, &elf));
	if (elf_file_machine(elf) != EM_X86_64)
		unit_skip("not x86-64");
	CHECK_OK(unwind_table_build(elf, &table));
	CHECK_OK(unwind_table_check(&table));
	check_section(elf, &table, ".init");
	check_section(elf, &table, ".fini");
	unwind_table_deinit(&table);
	elf_file_destroy(elf);
}
