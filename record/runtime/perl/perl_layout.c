/*
 * Sources: offsetof() over the headers that Debian installs for 5.32.1, 5.36.0, 5.40.1 and 5.42.3
 * (x86-64, with threads), and over those of 5.28.0, 5.30.0, 5.34.0 and 5.38.0 with the config.h of
 * the nearest of these.
 */
#include "record/runtime/perl/perl_layout.h"

#include <string.h>

enum {
	FIRST_MINOR = 28,
	LAST_MINOR = 42,
};

bool perl_layout_of_version(uint32_t minor, struct perl_row *ret)
{
	if (minor < FIRST_MINOR || minor > LAST_MINOR ||
		minor & 1) /* odd: on the way to a release */
		return false;
	bool is_before_32 = minor < 32, is_before_34 = minor < 34, is_before_38 = minor < 38;
	*ret = (struct perl_row){
		.version = (uint8_t)minor,
		.context_bytes = is_before_32 ? 96 : 104,
		.context_cv = is_before_32 ? 64 : 72,
		.context_depth = is_before_32 ? 72 : 80,
		.context_module = is_before_32 ? 56 : 64,
		.stack_type = is_before_32 ? 40 : 44,
		.saved_op = is_before_38 ? 18 : 19,
		.cop = is_before_34 ? 224 : 208,
		.stack = is_before_34 ? 240 : 224,
		.environment = is_before_34 || !is_before_38 ? 776 : 760,
		.stash_name_is_inside = minor >= 36,
	};
	return true;
}

bool perl_layout_is_sound(const struct perl_row *row)
{
	struct perl_row known;
	if (!perl_layout_of_version(row->version, &known) || !row->key)
		return false;
	known.key = row->key;
	known.nextstate = row->nextstate;
	return memcmp(&known, row, sizeof(known)) == 0;
}
