#include "record/event/usdt_argument.h"

#include <ctype.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/machine/machine.h"

/*
 * SIZE@OPERAND, with spaces in between, where the operand is one of the assembler: %reg, OFF(%reg),
 * $NUMBER; on arm64 reg, [reg], [reg, OFF], NUMBER. Source: "User Space Probe Implementation" of
 * the SystemTap wiki; gcc 12 for arm64. Indexed memory and addresses of variables, which compilers
 * make for constants and globals, are not read.
 */

static bool usdt_argument_is_name(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && memcmp(name, text, len) == 0;
}

static bool usdt_argument_find_register(
	const struct machine *machine, const char *text, size_t len, uint16_t *ret)
{
	const struct machine_user_register *registers = machine->user_registers;
	for (size_t i = 0; i < machine->nr_user_registers; i++)
		for (size_t width = 0; width < 4; width++)
			if (usdt_argument_is_name(registers[i].names[width], text, len)) {
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

static bool ends_argument(const char *text)
{
	return !*text || *text == ' ';
}

static bool parse_constant(const char *text, struct shadow_argument *ret)
{
	ret->source = SHADOW_CONSTANT;
	return (isdigit((unsigned char)*text) || *text == '-') &&
	       take_number(&text, &ret->offset) && ends_argument(text);
}

/* "reg", "[reg]" or "[reg, OFF]", where a sign may be ahead of numbers. */
static bool parse_arm64_place(
	const struct machine *machine, const char *text, struct shadow_argument *ret)
{
	bool is_memory = *text == '[';
	text += is_memory;
	size_t len = strcspn(text, is_memory ? ",] " : " ");
	ret->source = is_memory ? SHADOW_MEMORY : SHADOW_REGISTER;
	if (!usdt_argument_find_register(machine, text, len, &ret->register_offset))
		return false;
	text += len;
	if (is_memory && *text == ',') {
		text++;
		text += strspn(text, " ");
		text += *text == '#';
		if (!isdigit((unsigned char)*text) && *text != '-')
			return false;
		if (!take_number(&text, &ret->offset))
			return false;
	}
	return (!is_memory || *text++ == ']') && ends_argument(text);
}

/* "%reg" or "OFF(%reg)" */
static bool parse_x86_64_place(
	const struct machine *machine, const char *text, struct shadow_argument *ret)
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
	return usdt_argument_find_register(machine, text, len, &ret->register_offset);
}

static bool parse_operand(
	const struct machine *machine, const char *text, struct shadow_argument *ret)
{
	bool is_arm64 = machine->operand_syntax == MACHINE_OPERANDS_ARM64;
	bool has_sign = *text == (is_arm64 ? '#' : '$');
	bool is_constant =
		has_sign || (is_arm64 && (isdigit((unsigned char)*text) || *text == '-'));
	if (is_constant)
		return parse_constant(text + has_sign, ret);
	return is_arm64 ? parse_arm64_place(machine, text, ret)
			: parse_x86_64_place(machine, text, ret);
}

static bool usdt_argument_parse_text(
	const struct machine *machine, const char *text, struct shadow_argument *ret)
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
	bool is_sound = parse_operand(machine, text, &argument);
	if (is_sound)
		*ret = argument;
	return is_sound;
}

/* Behind an argument, in whose brackets there may be a space. */
static const char *skip_argument(const char *arguments)
{
	bool is_within = false;
	for (; *arguments && (is_within || *arguments != ' '); arguments++)
		is_within = *arguments == '[' || (is_within && *arguments != ']');
	return arguments + strspn(arguments, " ");
}

bool usdt_argument_parse(const struct machine *machine, const char *arguments, unsigned number,
	struct shadow_argument *ret)
{
	arguments += strspn(arguments, " ");
	for (; number && *arguments; number--)
		arguments = skip_argument(arguments);
	return *arguments && usdt_argument_parse_text(machine, arguments, ret);
}
