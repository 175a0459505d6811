#include "record/host/siphash.h"

#include <endian.h>
#include <string.h>

static uint64_t siphash_word_at(const uint8_t *bytes)
{
	uint64_t word;
	memcpy(&word, bytes, sizeof(word));
	return le64toh(word);
}

static inline uint64_t rotate(uint64_t word, int bits)
{
	return word << bits | word >> (64 - bits);
}

static inline void mix(uint64_t v[4], int rounds)
{
	for (int i = 0; i < rounds; i++) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

static inline void siphash_add_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	mix(v, 1);
	v[0] ^= word;
}

void siphash_init(struct siphash *hash, const uint8_t key[SIPHASH_KEY_BYTES])
{
	/* "somepseudorandomlygeneratedbytes" */
	static const uint64_t initial[4] = {
		0x736f6d6570736575, 0x646f72616e646f6d, 0x6c7967656e657261, 0x7465646279746573};
	*hash = (struct siphash){0};
	for (int i = 0; i < 4; i++)
		hash->v[i] = initial[i] ^ siphash_word_at(key + i % 2 * 8);
}

void siphash_add(struct siphash *hash, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	size_t have = hash->len % 8;
	hash->len += len;
	if (have) {
		size_t take = len < 8 - have ? len : 8 - have;
		memcpy(hash->rest + have, at, take);
		if (have + take < 8)
			return;
		siphash_add_word(hash->v, siphash_word_at(hash->rest));
		at += take;
		len -= take;
	}
	uint64_t v[4];
	memcpy(v, hash->v, sizeof(v)); /* in registers */
	for (; len >= 8; at += 8, len -= 8)
		siphash_add_word(v, siphash_word_at(at));
	memcpy(hash->v, v, sizeof(v));
	if (len)
		memcpy(hash->rest, at, len);
}

uint64_t siphash_finish(struct siphash *hash)
{
	uint64_t last = hash->len << 56;
	for (size_t i = 0; i < hash->len % 8; i++)
		last |= (uint64_t)hash->rest[i] << (8 * i);
	siphash_add_word(hash->v, last);
	hash->v[2] ^= 0xff;
	mix(hash->v, 3);
	return hash->v[0] ^ hash->v[1] ^ hash->v[2] ^ hash->v[3];
}
