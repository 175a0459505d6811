/* Any bytes as a recording, in every view of the terminal interface; see fuzz_tui.c for its keys.
 */
#include "tests/fuzz/walk_views.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	walk_views(bytes, len, NULL, 0);
	return 0;
}
