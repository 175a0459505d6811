/*
 * What zlib packed, unpacked at once. libdeflate, where it was there to build with, takes half of
 * zlib's time for it.
 */
#ifndef EBPROF_INFLATE_H
#define EBPROF_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A zlib stream (RFC 1950) of exactly `len` bytes, or false. */
bool inflate_zlib(const uint8_t *packed, size_t packed_bytes, uint8_t *out, size_t len);
/* The same without head and sum: a deflate stream (RFC 1951). */
bool inflate_raw(const uint8_t *packed, size_t packed_bytes, uint8_t *out, size_t len);

#endif
