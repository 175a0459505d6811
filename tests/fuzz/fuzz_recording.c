/* Any bytes as a recording: loaded, checked, walked, described. */
#include "tests/fuzz/walk_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	return walk_recording(bytes, len);
}
