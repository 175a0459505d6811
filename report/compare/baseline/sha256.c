#include "report/compare/baseline/sha256.h"

#include <stdint.h>
#include <string.h>

#include "format/base/bytes.h"

enum {
	BLOCK_BYTES = 64,
	ROUNDS = 64,
	WORDS = 8,
	LENGTH_BYTES = 8, /* at the end of the last block: of the message, in bits */
};

/* The first 32 bits of the fractions of the cube roots of the first 64 primes: section 4.2.2. */
static const uint32_t round_constants[ROUNDS] = {
	0x428a2f98,
	0x71374491,
	0xb5c0fbcf,
	0xe9b5dba5,
	0x3956c25b,
	0x59f111f1,
	0x923f82a4,
	0xab1c5ed5,
	0xd807aa98,
	0x12835b01,
	0x243185be,
	0x550c7dc3,
	0x72be5d74,
	0x80deb1fe,
	0x9bdc06a7,
	0xc19bf174,
	0xe49b69c1,
	0xefbe4786,
	0x0fc19dc6,
	0x240ca1cc,
	0x2de92c6f,
	0x4a7484aa,
	0x5cb0a9dc,
	0x76f988da,
	0x983e5152,
	0xa831c66d,
	0xb00327c8,
	0xbf597fc7,
	0xc6e00bf3,
	0xd5a79147,
	0x06ca6351,
	0x14292967,
	0x27b70a85,
	0x2e1b2138,
	0x4d2c6dfc,
	0x53380d13,
	0x650a7354,
	0x766a0abb,
	0x81c2c92e,
	0x92722c85,
	0xa2bfe8a1,
	0xa81a664b,
	0xc24b8b70,
	0xc76c51a3,
	0xd192e819,
	0xd6990624,
	0xf40e3585,
	0x106aa070,
	0x19a4c116,
	0x1e376c08,
	0x2748774c,
	0x34b0bcb5,
	0x391c0cb3,
	0x4ed8aa4a,
	0x5b9cca4f,
	0x682e6ff3,
	0x748f82ee,
	0x78a5636f,
	0x84c87814,
	0x8cc70208,
	0x90befffa,
	0xa4506ceb,
	0xbef9a3f7,
	0xc67178f2,
};

/* The same of the square roots of the first 8: section 5.3.3. */
static const uint32_t initial_words[WORDS] = {
	0x6a09e667,
	0xbb67ae85,
	0x3c6ef372,
	0xa54ff53a,
	0x510e527f,
	0x9b05688c,
	0x1f83d9ab,
	0x5be0cd19,
};

static uint32_t rotate_right(uint32_t word, unsigned bits)
{
	return word >> bits | word << (32 - bits);
}

static uint32_t sha256_read_word(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Section 6.2.2, steps 1 to 4. Its letters: a to h are words[0] to words[7] here. */
static void sha256_add_block(uint32_t words[WORDS], const uint8_t block[BLOCK_BYTES])
{
	uint32_t schedule[ROUNDS], next[WORDS];
	for (size_t i = 0; i < 16; i++)
		schedule[i] = sha256_read_word(block + 4 * i);
	for (size_t i = 16; i < ROUNDS; i++) {
		uint32_t x = schedule[i - 15], y = schedule[i - 2];
		uint32_t sigma0 = rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3;
		uint32_t sigma1 = rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10;
		schedule[i] = sigma1 + schedule[i - 7] + sigma0 + schedule[i - 16];
	}
	memcpy(next, words, sizeof(next));
	for (size_t i = 0; i < ROUNDS; i++) {
		uint32_t a = next[0], b = next[1], c = next[2], e = next[4];
		uint32_t sum0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
		uint32_t sum1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
		uint32_t choice = (e & next[5]) ^ (~e & next[6]);
		uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
		uint32_t t1 = next[7] + sum1 + choice + round_constants[i] + schedule[i];
		memmove(next + 1, next, sizeof(next) - sizeof(*next));
		next[4] += t1;
		next[0] = t1 + sum0 + majority;
	}
	for (size_t i = 0; i < WORDS; i++)
		words[i] += next[i];
}

/* A bit of 1, zeros, and the length fill the last block, or the last two: section 5.1.1. */
static void sha256_add_end(
	uint32_t words[WORDS], const uint8_t *rest, size_t rest_len, uint64_t bits)
{
	uint8_t blocks[2 * BLOCK_BYTES] = {0};
	size_t len = rest_len + 1 + LENGTH_BYTES <= BLOCK_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;
	if (rest_len)
		memcpy(blocks, rest, rest_len);
	blocks[rest_len] = 0x80;
	for (size_t i = 0; i < LENGTH_BYTES; i++)
		blocks[len - 1 - i] = (uint8_t)(bits >> 8 * i);
	for (size_t at = 0; at < len; at += BLOCK_BYTES)
		sha256_add_block(words, blocks + at);
}

void sha256_of(const void *bytes, size_t len, char ret[SHA256_DIGITS + 1])
{
	static const char digits[] = "0123456789abcdef";
	uint32_t words[WORDS];
	memcpy(words, initial_words, sizeof(words));
	const uint8_t *at = bytes, *end = at + len / BLOCK_BYTES * BLOCK_BYTES;
	for (; at < end; at += BLOCK_BYTES)
		sha256_add_block(words, at);
	sha256_add_end(words, at, len % BLOCK_BYTES, (uint64_t)len * 8);
	for (size_t i = 0; i < SHA256_DIGITS; i++)
		ret[i] = digits[words[i / 8] >> (28 - 4 * (i % 8)) & 15];
	ret[SHA256_DIGITS] = '\0';
}
