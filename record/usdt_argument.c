#include "record/usdt_argument.h"

#include <ctype.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

/*
 * SIZE@OPERAND, with spaces in between, where the operand is one of the assembler: %reg, OFF(%reg),
 * $NUMBER. Source: "User Space Probe Implementation" of the SystemTap wiki. Indexed memory and
 * addresses of variables, which compilers make for constants and globals, are not read.
 */
#if defined(__x86_64__)
/* The first members of it are those of the kernel's struct pt_regs: arch/x86/include/asm/ptrace.h
 */
static const struct {
	const char *names[4]; /* of 8, 4, 2, 1 bytes */
	uint16_t offset;
} registers[] = {
#define REGISTER(a, b, c, d, member) \
	{ \
		{a, b, c, d}, offsetof(struct user_regs_struct, member) \
	}
	REGISTER("rax", "eax", "ax", "al", rax),
	REGISTER("rbx", "ebx", "bx", "bl", rbx),
	REGISTER("rcx", "ecx", "cx", "cl", rcx),
	REGISTER("rdx", "edx", "dx", "dl", rdx),
	REGISTER("rsi", "esi", "si", "sil", rsi),
	REGISTER("rdi", "edi", "di", "dil", rdi),
	REGISTER("rbp", "ebp", "bp", "bpl", rbp),
	REGISTER("rsp", "esp", "sp", "spl", rsp),
	REGISTER("r8", "r8d", "r8w", "r8b", r8),
	REGISTER("r9", "r9d", "r9w", "r9b", r9),
	REGISTER("r10", "r10d", "r10w", "r10b", r10),
	REGISTER("r11", "r11d", "r11w", "r11b", r11),
	REGISTER("r12", "r12d", "r12w", "r12b", r12),
	REGISTER("r13", "r13d", "r13w", "r13b", r13),
	REGISTER("r14", "r14d", "r14w", "r14b", r14),
	REGISTER("r15", "r15d", "r15w", "r15b", r15),
#undef REGISTER
};
#else
static const struct {
	const char *names[4];
	uint16_t offset;
} registers[1];
#endif

static bool is_name(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && memcmp(name, text, len) == 0;
}

static bool find_register(const char *text, size_t len, uint16_t *ret)
{
	for (size_t i = 0; i < sizeof(registers) / sizeof(*registers); i++)
		for (size_t width = 0; width < 4; width++)
			if (is_name(registers[i].names[width], text, len)) {
				*ret = registers[i].offset;
				return true;
			}
	return false;
}

/* An int; *text behind it. 0, and nothing is skipped, where there is none. */
static bool take_number(const char **text, int *ret)
{
	char *end;
	long number = strtol(*text, &end, 0);
	*text = end;
	*ret = (int)number;
	return number >= INT_MIN && number <= INT_MAX;
}

/* "%reg" or "OFF(%reg)" */
static bool parse_place(const char *text, struct shadow_argument *ret)
{
	bool is_memory = *text != '%';
	if (is_memory && (!take_number(&text, &ret->offset) || *text++ != '('))
		return false;
	if (*text++ != '%')
		return false;
	size_t len = strcspn(text, is_memory ? "), " : " ");
	if (is_memory && (text[len] != ')' || (text[len + 1] && text[len + 1] != ' ')))
		return false;
	ret->source = is_memory ? SHADOW_MEMORY : SHADOW_REGISTER;
	return find_register(text, len, &ret->register_offset);
}

static bool parse(const char *text, struct shadow_argument *ret)
{
	struct shadow_argument argument = {0};
	int bytes;
	if (!take_number(&text, &bytes) || *text++ != '@')
		return false;
	if (bytes < -8 || bytes > 8)
		return false;
	int size = abs(bytes);
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return false;
	argument.bytes = (signed char)bytes;
	bool is_sound;
	if (*text == '$') {
		text++;
		argument.source = SHADOW_CONSTANT;
		is_sound = (isdigit((unsigned char)*text) || *text == '-') &&
			   take_number(&text, &argument.offset) && (!*text || *text == ' ');
	} else {
		is_sound = parse_place(text, &argument);
	}
	if (is_sound)
		*ret = argument;
	return is_sound;
}

bool usdt_argument_parse(const char *arguments, unsigned number, struct shadow_argument *ret)
{
	arguments += strspn(arguments, " ");
	for (; number && *arguments; number--) {
		arguments += strcspn(arguments, " ");
		arguments += strspn(arguments, " ");
	}
	return *arguments && parse(arguments, ret);
}
