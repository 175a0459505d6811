#include "format/machine/machine_operand.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool is_register_name(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && memcmp(name, text, len) == 0;
}

static bool find_user_register(
	const struct machine *machine, const char *text, size_t len, uint16_t *ret)
{
	const struct machine_user_register *registers = machine->user_registers;
	for (size_t i = 0; i < machine->nr_user_registers; i++)
		for (size_t width = 0; width < 4; width++)
			if (is_register_name(registers[i].names[width], text, len)) {
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

static bool ends_operand(const char *text)
{
	return !*text || *text == ' ';
}

static bool parse_constant(const char *text, struct machine_operand *ret)
{
	ret->kind = MACHINE_OPERAND_CONSTANT;
	return (isdigit((unsigned char)*text) || *text == '-') && take_number(&text, &ret->value) &&
	       ends_operand(text);
}

/* "reg", "[reg]" or "[reg, OFF]", where a sign may be ahead of numbers. */
static bool parse_arm64_place(
	const struct machine *machine, const char *text, struct machine_operand *ret)
{
	bool is_memory = *text == '[';
	text += is_memory;
	size_t len = strcspn(text, is_memory ? ",] " : " ");
	ret->kind = is_memory ? MACHINE_OPERAND_MEMORY : MACHINE_OPERAND_REGISTER;
	if (!find_user_register(machine, text, len, &ret->register_offset))
		return false;
	text += len;
	if (is_memory && *text == ',') {
		text++;
		text += strspn(text, " ");
		text += *text == '#';
		if (!isdigit((unsigned char)*text) && *text != '-')
			return false;
		if (!take_number(&text, &ret->value))
			return false;
	}
	return (!is_memory || *text++ == ']') && ends_operand(text);
}

/* "%reg" or "OFF(%reg)" */
static bool parse_x86_64_place(
	const struct machine *machine, const char *text, struct machine_operand *ret)
{
	bool is_memory = *text != '%';
	if (is_memory && (!take_number(&text, &ret->value) || *text++ != '('))
		return false;
	if (*text++ != '%')
		return false;
	size_t len = strcspn(text, is_memory ? "), " : " ");
	if (is_memory && (text[len] != ')' || (text[len + 1] && text[len + 1] != ' ')))
		return false;
	ret->kind = is_memory ? MACHINE_OPERAND_MEMORY : MACHINE_OPERAND_REGISTER;
	return find_user_register(machine, text, len, &ret->register_offset);
}

bool machine_operand_parse(
	const struct machine *machine, const char *text, struct machine_operand *ret)
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
