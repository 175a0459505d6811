#include "record/event/trace_glob.h"

#include <stdint.h>
#include <string.h>

struct glob_part {
	bool has[256]; /* the bytes that it stands for */
};

/* From behind a '[': returns what is behind its ']', NULL where there is none. */
static const char *take_glob_bracket(const char *at, const char *end, struct glob_part *part)
{
	bool is_without = at < end && *at == '!';
	const char *first = at += is_without;
	for (; at < end && (*at != ']' || at == first); at++) {
		uint8_t from = (uint8_t)*at, to = from;
		if (end - at > 2 && at[1] == '-' && at[2] != ']') {
			to = (uint8_t)at[2];
			at += 2;
		}
		for (unsigned byte = from; byte <= to; byte++)
			part->has[byte] = true;
	}
	for (unsigned byte = 1; is_without && byte < 256; byte++)
		part->has[byte] = !part->has[byte];
	return at < end ? at + 1 : NULL;
}

/* Returns what is behind the part. */
static const char *take_glob_part(const char *at, const char *end, struct glob_part *part)
{
	struct glob_part some = {0};
	const char *behind = *at == '[' ? take_glob_bracket(at + 1, end, &some) : NULL;
	memset(part, 0, sizeof(*part));
	if (behind) {
		*part = some;
		return behind;
	}
	if (*at == '?') {
		memset(part->has + 1, true, sizeof(part->has) - 1);
		return at + 1;
	}
	if (*at == '\\' && end - at > 1)
		at++;
	part->has[(uint8_t)*at] = true;
	return at + 1;
}

bool trace_glob_compile(const char *pattern, size_t len, struct event_trace_glob *ret)
{
	const char *at = pattern, *end = pattern + len;
	memset(ret, 0, sizeof(*ret));
	while (at < end) {
		struct glob_part part;
		if (*at == '*') {
			ret->stars |= 1ULL << ret->nr_parts;
			at++;
			continue;
		}
		if (ret->nr_parts == EVENT_TRACE_MAX_GLOB_PARTS)
			return false;
		at = take_glob_part(at, end, &part);
		for (int byte = 0; byte < 256; byte++)
			ret->parts_of[byte] |= (uint64_t)part.has[byte] << ret->nr_parts;
		ret->nr_parts++;
	}
	return true;
}
