/*
 * The terminal interface on any recording, without a terminal. The input: how many keys (1 byte),
 * these (see walk_views.h), and payloads of any bytes for sound chunks (see frame_chunks.h).
 */
#include "tests/fuzz/frame_chunks.h"
#include "tests/fuzz/walk_views.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	enum {
		MAX_KEYS = 64
	};
	if (!len)
		return 0;
	size_t nr_keys = bytes[0] % (MAX_KEYS + 1);
	if (nr_keys > len - 1)
		nr_keys = len - 1;
	const uint8_t *keys = bytes + 1;
	struct bytes_buf file = {0};
	frame_chunks(keys + nr_keys, len - 1 - nr_keys, &file);
	walk_views(file.data, file.len, keys, nr_keys);
	bytes_buf_deinit(&file);
	return 0;
}
