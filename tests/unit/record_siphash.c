/* By what other programs compute. */
#include <string.h>

#include "record/host/siphash.h"
#include "tests/unit/unit.h"

static uint64_t sum_of(const uint8_t *key, const void *bytes, size_t len)
{
	struct siphash hash;
	siphash_init(&hash, key);
	siphash_add(&hash, bytes, len);
	return siphash_finish(&hash);
}

/* hash(b"...") of CPython 3.11 with PYTHONHASHSEED=0, whose key is 0. */
TEST(siphash_is_that_of_others)
{
	static const uint8_t zero[SIPHASH_KEY_BYTES];
	static const char text[] = "what a table was made from";
	CHECK_INT(sum_of(zero, "a", 1), (long long)0x407448d2b89b1813);
	CHECK_INT(sum_of(zero, text, 8), (long long)0xed1f979b0870c060);
	CHECK_INT(sum_of(zero, text, sizeof(text) - 1), (long long)0xba4d908ea341c014);
}

TEST(siphash_does_not_depend_on_pieces)
{
	uint8_t key[SIPHASH_KEY_BYTES], bytes[64];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	memcpy(key, bytes, sizeof(key));
	uint64_t whole = sum_of(key, bytes, sizeof(bytes));
	for (size_t first = 0; first <= 20; first++)
		for (size_t second = 0; second <= 20; second++) {
			struct siphash hash;
			siphash_init(&hash, key);
			siphash_add(&hash, bytes, first);
			siphash_add(&hash, bytes + first, second);
			siphash_add(&hash, bytes + first + second, sizeof(bytes) - first - second);
			CHECK(siphash_finish(&hash) == whole);
		}
	key[3] ^= 1;
	CHECK(sum_of(key, bytes, sizeof(bytes)) != whole);
	key[3] ^= 1;
	bytes[63] ^= 1;
	CHECK(sum_of(key, bytes, sizeof(bytes)) != whole);
	CHECK(sum_of(key, bytes, 63) != whole);
}
