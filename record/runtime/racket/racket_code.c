#include "record/runtime/racket/racket_code.h"

#include <string.h>

enum {
	CALL_BYTES = 5,
	MOVE_BYTES = 7,
};

/* Where an instruction that ends there leads to, by its last four bytes. */
static uint64_t racket_code_target(const uint8_t *code, size_t end, uint64_t address)
{
	int32_t distance;
	memcpy(&distance, code + end - sizeof(distance), sizeof(distance));
	return address + end + (uint64_t)(int64_t)distance;
}

bool racket_code_find_text(const uint8_t *code, size_t len, uint64_t address, uint64_t *ret)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x05};
	if (len < RACKET_LEA_BYTES || memcmp(code, lea, sizeof(lea)) != 0)
		return false;
	*ret = racket_code_target(code, RACKET_LEA_BYTES, address);
	return true;
}

bool racket_code_find_argument(
	const uint8_t *code, size_t len, uint64_t address, uint64_t callee, uint64_t *ret)
{
	static const uint8_t move[] = {0x48, 0x8b, 0x35};
	for (size_t at = MOVE_BYTES; at + CALL_BYTES <= len; at++) {
		if (code[at] != 0xe8 ||
			racket_code_target(code, at + CALL_BYTES, address) != callee ||
			memcmp(code + at - MOVE_BYTES, move, sizeof(move)) != 0)
			continue;
		*ret = racket_code_target(code, at, address);
		return true;
	}
	return false;
}
