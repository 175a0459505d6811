#include "report/name/demangle/punycode.h"

#include <string.h>

/* RFC 3492, section 5. */
enum {
	BASE = 36,
	T_MIN = 1,
	T_MAX = 26,
	SKEW = 38,
	DAMP = 700,
	INITIAL_BIAS = 72,
	INITIAL_CODE = 0x80,
};

/* A generalized variable-length integer, section 3.3; false at the end and beyond 32 bits. */
static bool read_delta(const char **at, const char *end, uint32_t bias, uint32_t *ret)
{
	uint64_t delta = 0, weight = 1;
	for (uint32_t k = BASE;; k += BASE) {
		if (*at == end)
			return false;
		char c = *(*at)++;
		uint32_t digit;
		if (c >= 'a' && c <= 'z')
			digit = (uint32_t)(c - 'a');
		else if (c >= '0' && c <= '9')
			digit = (uint32_t)(c - '0') + 26;
		else
			return false;
		delta += digit * weight;
		if (delta > UINT32_MAX)
			return false;
		uint32_t threshold = k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
		if (digit < threshold)
			break;
		weight *= BASE - threshold;
		if (weight > UINT32_MAX)
			return false;
	}
	*ret = (uint32_t)delta;
	return true;
}

/* Section 6.1. */
static uint32_t adapt(uint32_t delta, uint32_t count, bool is_first)
{
	delta = is_first ? delta / DAMP : delta / 2;
	delta += delta / count;
	uint32_t k = 0;
	for (; delta > (BASE - T_MIN) * T_MAX / 2; k += BASE)
		delta /= BASE - T_MIN;
	return k + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

bool punycode_decode(const char *ascii, size_t ascii_len, const char *insertions, size_t len,
	uint32_t code_points[PUNYCODE_MAX], size_t *count)
{
	if (ascii_len > PUNYCODE_MAX)
		return false;
	for (size_t i = 0; i < ascii_len; i++)
		code_points[i] = (unsigned char)ascii[i];
	size_t have = ascii_len;
	uint64_t code = INITIAL_CODE, place = 0;
	uint32_t bias = INITIAL_BIAS;
	for (const char *at = insertions, *end = insertions + len; at < end;) {
		uint32_t delta;
		bool is_first = at == insertions;
		if (have == PUNYCODE_MAX || !read_delta(&at, end, bias, &delta))
			return false;
		place += delta;
		have++;
		code += place / have;
		place %= have;
		if (code > 0x10ffff)
			return false;
		memmove(code_points + place + 1, code_points + place,
			(have - 1 - place) * sizeof(*code_points));
		code_points[place++] = (uint32_t)code;
		bias = adapt(delta, (uint32_t)have, is_first);
	}
	*count = have;
	return true;
}
