/* Any text as a mangled name: either nothing is appended, or at most the budget. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/base/str.h"
#include "report/symbol/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	CLEANUP_FREE char *name = mem_strndup(bytes, len);
	struct str out = {0};
	str_puts(&out, "before ");
	size_t start = out.len;
	bool ok = demangle(name, &out);
	if (ok ? out.len <= start || out.len - start > DEMANGLE_OUTPUT_MAX : out.len != start)
		abort();
	if (memcmp(out.data, "before ", start) != 0)
		abort();
	str_deinit(&out);
	return 0;
}
