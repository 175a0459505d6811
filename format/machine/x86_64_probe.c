#include "format/machine/x86_64_probe.h"

#include <stdbool.h>
#include <string.h>

/* An instruction by what it begins with, and how many bytes it has. */
struct opening {
	uint8_t bytes[4];
	size_t nr_bytes, length;
};

/* Bytes of the instruction, where it is one of them; 0: another one. */
static size_t opening_bytes(const struct opening *rows, size_t count, const uint8_t *code)
{
	for (size_t i = 0; i < count; i++)
		if (memcmp(code, rows[i].bytes, rows[i].nr_bytes) == 0)
			return rows[i].length;
	return 0;
}

/* Bytes of an instruction that changes neither arguments nor the stack; 0: another one. */
static size_t harmless_bytes(const uint8_t *code)
{
	static const struct opening rows[] = {
		{{0xf3, 0x0f, 0x1e, 0xfa}, 4, 4}, /* endbr64 */
		{{0x48, 0x85, 0xff}, 3, 3},       /* test %rdi,%rdi */
		{{0x48, 0x85, 0xf6}, 3, 3},       /* test %rsi,%rsi */
		{{0x48, 0x89, 0xf8}, 3, 3},       /* mov %rdi,%rax */
		{{0x80, 0x3d}, 2, 7},             /* cmpb $N,OFFSET(%rip) */
		{{0x49, 0x3b, 0x66, 0x10}, 4, 4}, /* cmp 0x10(%r14),%rsp: of Go, is there stack? */
	};
	return opening_bytes(rows, sizeof(rows) / sizeof(*rows), code);
}

/*
 * Whether the kernel emulates the instruction, which costs a tenth of having the processor step
 * over it: push, nop, call, and jumps. Source: arch/x86/kernel/uprobes.c, branch_setup_xol_ops()
 * and push_setup_xol_ops(); 6.18.
 */
static bool is_emulated(const uint8_t *code)
{
	bool is_push = (code[0] & 0xf8) == 0x50 || (code[0] == 0x41 && (code[1] & 0xf8) == 0x50);
	bool is_jump = code[0] == 0xe9 || code[0] == 0xeb || (code[0] & 0xf0) == 0x70 ||
		       (code[0] == 0x0f && (code[1] & 0xf0) == 0x80);
	return is_push || is_jump || code[0] == 0x90 || code[0] == 0xe8;
}

enum {
	LONGEST = 8, /* bytes of what is looked at */
};

size_t x86_64_cheap_probe(const uint8_t *code, size_t len)
{
	for (size_t at = 0; at + LONGEST <= len;) {
		if (is_emulated(code + at))
			return at;
		size_t bytes = harmless_bytes(code + at);
		if (!bytes)
			break;
		at += bytes;
	}
	return 0;
}

/* Source: cmd/internal/obj/x86/obj6.go of Go 1.19, stacksplit(). */
size_t x86_64_go_stack_check(const uint8_t *code, size_t len)
{
	static const struct opening rows[] = {
		{{0x4c, 0x8d, 0x64, 0x24}, 4, 5}, /* lea N(%rsp),%r12: of 8 bits */
		{{0x4c, 0x8d, 0xa4, 0x24}, 4, 8}, /* ... of 32 */
		{{0x49, 0x89, 0xe4}, 3, 3},       /* mov %rsp,%r12 */
		{{0x49, 0x81, 0xec}, 3, 7},       /* sub $N,%r12 */
		{{0x0f, 0x82}, 2, 6},             /* jb */
	};
	static const struct opening last[] = {
		{{0x76}, 1, 2},       /* jbe */
		{{0x0f, 0x86}, 2, 6}, /* ... far away */
	};
	static const struct opening compare[] = {
		{{0x49, 0x3b, 0x66, 0x10}, 4, 4}, /* cmp 0x10(%r14),%rsp */
		{{0x4d, 0x3b, 0x66, 0x10}, 4, 4}, /* cmp 0x10(%r14),%r12 */
	};
	size_t at = 0, bytes;
	while (at + LONGEST <= len &&
		(bytes = opening_bytes(rows, sizeof(rows) / sizeof(*rows), code + at)))
		at += bytes;
	bytes = at + LONGEST <= len
			? opening_bytes(compare, sizeof(compare) / sizeof(*compare), code + at)
			: 0;
	at += bytes;
	if (!bytes || at + LONGEST > len)
		return 0;
	bytes = opening_bytes(last, sizeof(last) / sizeof(*last), code + at);
	return bytes ? at + bytes : 0;
}
