/* Payloads of any bytes in sound chunks: see frame_chunks.h. */
#include "tests/fuzz/frame_chunks.h"
#include "tests/fuzz/walk_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct bytes_buf file = {0};
	frame_chunks(bytes, len, &file);
	walk_recording(file.data, file.len);
	bytes_buf_deinit(&file);
	return 0;
}
