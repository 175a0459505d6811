/*
 * Sources: offsetof() over vm_core.h, iseq.h and method.h with Debian's config.h, for x86-64, of
 * Ruby 2.7.4 (bullseye), 3.1.2 (bookworm), 3.3.8 (trixie). 3.0 differs from 2.7 where 3.1 does not:
 * jit_return in the control frame and node_id in the entries came with 3.1; 3.2 has the bodies of
 * 3.3 and the control frames of 3.1 (its __bp__ went with 3.3); 3.4 is as 3.3 (Debian's 3.4.11).
 */
#include "record/runtime/ruby/ruby_layout.h"

#include <stddef.h>

enum {
	BODY_FIRST_LINE = 88, /* the last of those that are the same in all versions */
};

/* The words about entries follow each other. */
#define BODY(info) \
	.body_info = (info), .body_info_size = (info) + 16, .body_index = (info) + 24, \
	.body_bytes = (info) + 32

static const struct ruby_row versions[] = {
	[27] = {.flags = RUBY_HAS_TAGGED_LINE,
		.frame_bytes = 56,
		.context_thread = 56,
		.thread_context = 32,
		.thread_id = 72,
		.info_bytes = 8,
		.string_embedded = 16,
		BODY(120)},
	[30] = {.flags = RUBY_HAS_TAGGED_LINE,
		.frame_bytes = 56,
		.info_bytes = 8,
		.string_embedded = 16,
		BODY(120)},
	[31] = {.flags = RUBY_HAS_TAGGED_LINE,
		.frame_bytes = 64,
		.info_bytes = 12,
		.string_embedded = 16,
		BODY(120)},
	[32] = {.flags = RUBY_HAS_STRING_LENGTH,
		.frame_bytes = 64,
		.info_bytes = 12,
		.string_embedded = 24,
		BODY(112)},
	[33] = {.flags = RUBY_HAS_STRING_LENGTH,
		.is_singleton = 1 << 12,
		.frame_bytes = 56,
		.info_bytes = 12,
		.string_embedded = 24,
		BODY(112)},
	[34] = {.flags = RUBY_HAS_STRING_LENGTH,
		.is_singleton = 1 << 13,
		.frame_bytes = 56,
		.info_bytes = 12,
		.string_embedded = 24,
		BODY(112)},
};

bool ruby_layout_of_version(uint32_t version, struct ruby_row *ret)
{
	if (version >= sizeof(versions) / sizeof(*versions) || !versions[version].frame_bytes)
		return false;
	*ret = versions[version];
	ret->version = (uint8_t)version;
	return true;
}

bool ruby_layout_is_sound(const struct ruby_row *row)
{
	const unsigned ways = RUBY_CONTEXT_IS_GLOBAL | RUBY_CONTEXT_IS_IN_SLOT |
			      RUBY_CONTEXT_IS_AT | RUBY_CONTEXT_IS_BY_DISTANCE;
	const unsigned others = RUBY_HAS_STRING_LENGTH | RUBY_HAS_TAGGED_LINE;
	const unsigned way = row->flags & ways;
	const uint8_t in_body[] = {
		BODY_FIRST_LINE, row->body_info, row->body_info_size, row->body_index};
	bool is_sound = row->version >= RUBY_FIRST_VERSION && row->version <= RUBY_LAST_VERSION &&
			way && !(way & (way - 1)) && !(row->flags & ~(ways | others)) &&
			row->frame_bytes && row->frame_bytes <= RUBY_FRAME_BYTES &&
			row->body_bytes && (row->info_bytes == 8 || row->info_bytes == 12);
	for (size_t i = 0; i < sizeof(in_body); i++)
		is_sound &= in_body[i] < row->body_bytes;
	return is_sound;
}
