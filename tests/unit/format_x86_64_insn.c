/* Instructions of x86-64: lengths as objdump has them, and what each does to general registers. */
#include "format/machine/x86_64_insn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

/* One line of objdump: address, bytes, text. */
static bool check_objdump_line(const char *line)
{
	uint8_t bytes[32];
	size_t len = 0;
	const char *at = strchr(line, ':');
	unsigned byte;
	int used;
	if (!at || line[0] != ' ')
		return false;
	at++;
	while (*at == '\t' || *at == ' ')
		at++;
	while (len < sizeof(bytes) && sscanf(at, "%2x%n", &byte, &used) == 1 && used == 2 &&
		at[2] == ' ') {
		bytes[len++] = (uint8_t)byte;
		at += 3;
	}
	while (*at == ' ' || *at == '\t')
		at++;
	struct x86_64_insn insn = {0};
	if (!len || strncmp(at, "(bad)", 5) == 0)
		return len > 0;
	bool is_known = x86_64_insn_decode(bytes, len, &insn);
	for (const char *prefix = "repz \0bnd \0notrack \0"; *prefix; prefix += strlen(prefix) + 1)
		if (strncmp(at, prefix, strlen(prefix)) == 0)
			at += strlen(prefix);
	bool is_return = strncmp(at, "ret", 3) == 0;
	bool is_call = strncmp(at, "call", 4) == 0;
	bool is_jump = strncmp(at, "jmp", 3) == 0;
	if (!is_known || insn.len != len || is_return != (insn.kind == X86_64_RETURN) ||
		is_call != (insn.kind == X86_64_CALL || insn.kind == X86_64_CALL_INDIRECT) ||
		is_jump != (insn.kind == X86_64_JUMP || insn.kind == X86_64_JUMP_INDIRECT))
		unit_fail(__FILE__, __LINE__, "%u bytes, kind %u: %s", insn.len, insn.kind, line);
	return true;
}

static void check_objdump(const char *path)
{
	char command[200], line[500];
	snprintf(command, sizeof(command), "objdump -dw '%s' 2>/dev/null | head -n 150000", path);
	FILE *objdump = popen(command, "r");
	size_t seen = 0;
	while (objdump && fgets(line, sizeof(line), objdump))
		seen += check_objdump_line(line);
	if (objdump)
		pclose(objdump);
	if (!seen)
		unit_skip("no objdump, or no such file");
}

TEST(instructions_are_as_long_as_objdump_says)
{
	char self[64];
	snprintf(self, sizeof(self), "/proc/%d/exe", (int)getpid());
	check_objdump(self);
}

/* It has vectors of each generation, written by hand. */
TEST(instructions_of_the_c_library)
{
	check_objdump("/lib/x86_64-linux-gnu/libc.so.6");
}

/* "kind reg base value writes", each as far as the kind has it. */
static void check_insn(const char *bytes, size_t len, unsigned kind, unsigned reg, unsigned base,
	int64_t value, unsigned writes, int line)
{
	struct x86_64_insn insn;
	if (!x86_64_insn_decode((const uint8_t *)bytes, len, &insn)) {
		unit_fail(__FILE__, line, "no instruction");
		return;
	}
	if (insn.len != len || insn.kind != kind || insn.reg != reg || insn.base != base ||
		insn.value != value || insn.writes != writes)
		unit_fail(__FILE__, line, "%u bytes, kind %u, %u, %u, %lld, writes %#x", insn.len,
			insn.kind, insn.reg, insn.base, (long long)insn.value, insn.writes);
}

#define CHECK_INSN(bytes, kind, reg, base, value, writes) \
	check_insn(bytes, sizeof(bytes) - 1, kind, reg, base, value, writes, __LINE__)

enum {
	NO = X86_64_NO_REGISTER,
};

TEST(instructions_that_move_addresses)
{
	CHECK_INSN("\x48\x89\xe5", X86_64_ADDRESS, 5, 4, 0, 1 << 5);           /* mov %rsp,%rbp */
	CHECK_INSN("\x48\x8b\xec", X86_64_ADDRESS, 5, 4, 0, 1 << 5);           /* likewise */
	CHECK_INSN("\x89\xe5", X86_64_PLAIN, NO, NO, 0, 1 << 5);               /* %esp,%ebp */
	CHECK_INSN("\x48\x83\xec\x18", X86_64_ADDRESS, 4, 4, -24, 1 << 4);     /* sub */
	CHECK_INSN("\x48\x81\xc4\0\1\0\0", X86_64_ADDRESS, 4, 4, 256, 1 << 4); /* add */
	CHECK_INSN("\x48\x83\xe4\xf0", X86_64_OTHER, NO, NO, 0, 1 << 4);       /* and */
	CHECK_INSN("\x48\x83\xfc\x10", X86_64_PLAIN, NO, NO, 0, 0);            /* cmp */
	CHECK_INSN("\x48\x8d\x64\x24\x08", X86_64_ADDRESS, 4, 4, 8, 1 << 4);   /* lea */
	CHECK_INSN("\x4c\x8d\x5c\x24\x08", X86_64_ADDRESS, 11, 4, 8, 1 << 11); /* lea, %r11 */
	CHECK_INSN("\x48\x8d\x44\x04\x08", X86_64_PLAIN, NO, NO, 0, 1);        /* an index */
	CHECK_INSN("\x48\x8d\x05\1\0\0\0", X86_64_PLAIN, NO, NO, 0, 1);        /* of rip */
	CHECK_INSN("\x49\x8b\x5b\xf0", X86_64_LOAD, 3, 11, -16, 1 << 3);       /* -16(%r11) */
	CHECK_INSN("\x48\x89\x5c\x24\x10", X86_64_STORE, 3, 4, 16, 0);         /* 16(%rsp) */
	CHECK_INSN("\x48\xff\xc4", X86_64_ADDRESS, 4, 4, 1, 1 << 4);           /* inc */
	CHECK_INSN("\xc9", X86_64_LEAVE, NO, NO, 0, 1 << 4 | 1 << 5);          /* leave */
	CHECK_INSN("\xb8\x0f\0\0\0", X86_64_CONSTANT, 0, NO, 15, 1);           /* mov $15,%eax */
	CHECK_INSN("\x48\xc7\xc0\xff\xff\xff\xff", X86_64_CONSTANT, 0, NO, -1, 1);
}

TEST(instructions_that_push_and_pop)
{
	CHECK_INSN("\x41\x57", X86_64_PUSH, 15, NO, 0, 0);
	CHECK_INSN("\x41\x5f", X86_64_POP, 15, NO, 0, 1 << 15);
	CHECK_INSN("\x68\x78\x56\x34\x12", X86_64_PUSH, NO, NO, 0x12345678, 0);
	CHECK_INSN("\xff\x70\x08", X86_64_PUSH, NO, 0, 0, 0); /* of memory */
	CHECK_INSN("\x66\x50", X86_64_OTHER, 0, NO, 0, 0);    /* 2 bytes */
	CHECK_INSN("\x5c", X86_64_OTHER, 4, NO, 0, 1 << 4);   /* pop %rsp */
	CHECK_INSN("\x8f\0", X86_64_POP, NO, 0, 0, 0);
	CHECK_INSN("\x8f\x45\x08", X86_64_POP, NO, 5, 8, 0);
	CHECK_INSN("\xca\x00\x7e", X86_64_PLAIN, NO, NO, 0, 0); /* as Poly/ML has it */
}

TEST(instructions_that_lead_elsewhere)
{
	CHECK_INSN("\xe8\x10\0\0\0", X86_64_CALL, NO, NO, 16, 0);
	CHECK_INSN("\xff\xd0", X86_64_CALL_INDIRECT, NO, NO, 0, 0);
	CHECK_INSN("\xff\x25\0\0\0\0", X86_64_JUMP_INDIRECT, NO, NO, 0, 0);
	CHECK_INSN("\xeb\xfe", X86_64_JUMP, NO, NO, -2, 0);
	CHECK_INSN("\x0f\x84\0\1\0\0", X86_64_BRANCH, NO, NO, 256, 0);
	CHECK_INSN("\xf3\xc3", X86_64_RETURN, NO, NO, 0, 0);
	CHECK_INSN("\xc2\x08\0", X86_64_RETURN, NO, NO, 8, 0);
	CHECK_INSN("\x0f\x0b", X86_64_STOP, NO, NO, 0, 0);
	CHECK_INSN("\x0f\x05", X86_64_SYSCALL, NO, NO, 0, 1 | 2 | 1 << 11);
}

/* Vector registers have numbers, too: they must not be taken for general ones. */
TEST(instructions_on_vectors)
{
	CHECK_INSN("\x0f\x28\xec", X86_64_PLAIN, NO, NO, 0, 0);              /* movaps */
	CHECK_INSN("\x66\x0f\x7e\xe4", X86_64_OTHER, NO, NO, 0, 1 << 4);     /* movd %xmm4,%esp */
	CHECK_INSN("\xf3\x0f\x7e\xe4", X86_64_PLAIN, NO, NO, 0, 0);          /* movq */
	CHECK_INSN("\xc5\xf8\x77", X86_64_PLAIN, NO, NO, 0, 0);              /* vzeroupper */
	CHECK_INSN("\xc5\xfd\xd7\xe8", X86_64_PLAIN, NO, NO, 0, 1 << 5);     /* vpmovmskb */
	CHECK_INSN("\xc4\xe2\xd8\xf3\xcd", X86_64_OTHER, NO, NO, 0, 1 << 4); /* blsr %rbp,%rsp */
	CHECK_INSN("\x62\xf1\x7c\x48\x28\xec", X86_64_PLAIN, NO, NO, 0, 0);  /* vmovaps */
	CHECK_INSN("\x62\xf3\x7d\x48\x3a\xc5\x01", X86_64_PLAIN, NO, NO, 0, 0); /* vinserti32x8 */
}

TEST(instructions_on_bytes)
{
	CHECK_INSN("\xb4\x01", X86_64_PLAIN, NO, NO, 0, 1);                   /* %ah is no %spl */
	CHECK_INSN("\x40\xb4\x01", X86_64_OTHER, NO, NO, 0, 1 << 4);          /* that is */
	CHECK_INSN("\x0f\x94\xc5", X86_64_PLAIN, NO, NO, 0, 1 << 1);          /* sete %ch */
	CHECK_INSN("\x0f\xa2", X86_64_PLAIN, NO, NO, 0, 15);                  /* cpuid */
	CHECK_INSN("\xf7\xf1", X86_64_PLAIN, NO, NO, 0, 1 | 1 << 2);          /* div */
	CHECK_INSN("\xf7\xc5\1\0\0\0", X86_64_PLAIN, NO, NO, 0, 0);           /* test */
	CHECK_INSN("\x48\x87\xd9", X86_64_PLAIN, NO, NO, 0, 1 << 3 | 1 << 1); /* xchg */
}

/* Whatever the bytes: nothing beyond their end is read. */
TEST(instructions_of_random_bytes)
{
	srand(5);
	for (int round = 0; round < 200000; round++) {
		size_t len = 1 + (size_t)rand() % 16;
		uint8_t *bytes = malloc(len);
		for (size_t i = 0; i < len; i++)
			bytes[i] = (uint8_t)rand();
		struct x86_64_insn insn;
		if (x86_64_insn_decode(bytes, len, &insn))
			CHECK(insn.len > 0 && insn.len <= len);
		free(bytes);
	}
}
