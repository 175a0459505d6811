#include "report/model/text/base64.h"

#include <string.h>

#include "format/base/mem.h"
#include "report/model/text/byte_sink.h"
#include "tests/unit/unit.h"

static void check_base64(const char *text, size_t piece, const char *want)
{
	struct bytes_buf out = {0};
	struct base64_sink base64 = {.sink = byte_sink_to_bytes(&out)};
	struct byte_sink sink = base64_sink_open(&base64);
	for (size_t at = 0, len = strlen(text); at < len; at += piece)
		CHECK_OK(sink.write(sink.context, text + at, len - at < piece ? len - at : piece));
	CHECK_OK(base64_sink_finish(&base64));
	bytes_put_u8(&out, 0);
	CHECK_STR((const char *)out.data, want);
	bytes_buf_deinit(&out);
}

/* RFC 4648, section 10. */
TEST(base64_of_the_rfc)
{
	for (size_t piece = 1; piece <= 7; piece++) {
		check_base64("", piece, "");
		check_base64("f", piece, "Zg==");
		check_base64("fo", piece, "Zm8=");
		check_base64("foo", piece, "Zm9v");
		check_base64("foob", piece, "Zm9vYg==");
		check_base64("fooba", piece, "Zm9vYmE=");
		check_base64("foobar", piece, "Zm9vYmFy");
		check_base64("\xff\xef\xbe?>", piece, "/+++Pz4=");
	}
}

TEST(base64_of_much)
{
	enum {
		LENGTH = 50000
	};
	CLEANUP_FREE char *text = mem_alloc(LENGTH + 1), *want = mem_alloc(LENGTH / 3 * 4 + 8);
	memset(text, 'f', LENGTH + 1);
	text[LENGTH] = 0;
	for (size_t i = 0; i < LENGTH / 3; i++)
		strcpy(want + 4 * i, "ZmZm");
	strcpy(want + LENGTH / 3 * 4, "ZmY="); /* 50000 = 3 * 16666 + 2 */
	check_base64(text, LENGTH, want);
	check_base64(text, 16385, want);
}
