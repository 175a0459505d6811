/* SHA-256, by whose digest a store knows its baselines. Source: FIPS 180-4 (NIST, 2015-08). */
#ifndef EBPROF_SHA256_H
#define EBPROF_SHA256_H

#include <stddef.h>

enum {
	SHA256_DIGITS = 64,
};

/* Writes the digest of `len` bytes in lower-case hexadecimal digits, and a 0 behind them. */
void sha256_of(const void *bytes, size_t len, char ret[SHA256_DIGITS + 1]);

#endif
