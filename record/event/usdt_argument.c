#include "record/event/usdt_argument.h"

#include <stdlib.h>
#include <string.h>

#include "format/machine/machine_operand.h"

/* Arguments are SIZE@OPERAND, with spaces in between. Source: "User Space Probe Implementation" of
 * the SystemTap wiki. */

static bool usdt_argument_parse_text(
	const struct machine *machine, const char *text, struct shadow_argument *ret)
{
	static const unsigned char sources[] = {[MACHINE_OPERAND_CONSTANT] = SHADOW_CONSTANT,
		[MACHINE_OPERAND_REGISTER] = SHADOW_REGISTER,
		[MACHINE_OPERAND_MEMORY] = SHADOW_MEMORY};
	struct machine_operand operand = {0};
	char *end;
	long bytes = strtol(text, &end, 0);
	if (bytes < -8 || bytes > 8 || *end != '@')
		return false;
	long size = labs(bytes);
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return false;
	if (!machine_operand_parse(machine, end + 1, &operand))
		return false;
	*ret = (struct shadow_argument){.source = sources[operand.kind],
		.bytes = (signed char)bytes,
		.offset = operand.value,
		.register_offset = operand.register_offset};
	return true;
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
