/*
 * SHA-256 of a library that is there, loaded when somebody keeps baselines: OpenSSL's, libgcrypt's
 * or Nettle's, one of which comes with every libcurl. A static binary has Nettle's in it.
 *
 * Source: SHA256(3ssl); libgcrypt's manual, gcry_md_hash_buffer; nettle/sha2.h of 3.7.
 */
#ifndef EBPROF_SHA256_LIBRARY_H
#define EBPROF_SHA256_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"

enum {
	SHA256_DIGITS = 64,
};

/* In lower-case hexadecimal digits. */
struct err *sha256_of(const void *bytes, size_t len, char ret[SHA256_DIGITS + 1]) ERR_MUST_CHECK;

#endif
