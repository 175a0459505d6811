#include "report/compare/baseline/sha256.h"

#include <string.h>

#include "format/base/mem.h"
#include "tests/unit/unit.h"

static void check_digest(const char *text, size_t len, const char *want)
{
	char digest[SHA256_DIGITS + 1];
	sha256_of(text, len, digest);
	CHECK_STR(digest, want);
}

/* FIPS 180-2, appendix B, and the empty message of NIST's SHA256ShortMsg.rsp. */
TEST(sha256_vectors_of_nist)
{
	static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	check_digest("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check_digest("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check_digest(two_blocks, strlen(two_blocks),
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	CLEANUP_FREE char *million = mem_alloc(1000000);
	memset(million, 'a', 1000000);
	check_digest(million, 1000000,
		"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Where the length does, or does no longer, fit into the last block; as sha256sum has them. */
TEST(sha256_at_the_end_of_a_block)
{
	static const struct {
		size_t len;
		const char *digest;
	} messages[] = {
		{55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
		{56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"},
		{63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
		{64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
		{65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"},
		{119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"},
		{120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"},
		{128, "24da1b81d0b16df6428eee73c69fcb2a93c76bc6df706f0c6670fe6bfe800464"},
	};
	char text[128];
	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++)
		check_digest(text, messages[i].len, messages[i].digest);
}
