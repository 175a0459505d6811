#include "record/usdt_argument.h"

#include <ctype.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/machine/machine.h"

/*
 * SIZE@OPERAND, with spaces in between, where the operand is one of the assembler: %reg, OFF(%reg),
 * $NUMBER. Source: "User Space Probe Implementation" of the SystemTap wiki. Indexed memory and
 * addresses of variables, which compilers make for constants and globals, are not read.
 */

static bool usdt_argument_is_name(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && memcmp(name, text, len) == 0;
}

static bool usdt_argument_find_register(const char *text, size_t len, uint16_t *ret)
{
	const struct machine *machine = machine_native();
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
	return usdt_argument_find_register(text, len, &ret->register_offset);
}

static bool usdt_argument_parse_text(const char *text, struct shadow_argument *ret)
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
	return *arguments && usdt_argument_parse_text(arguments, ret);
}
