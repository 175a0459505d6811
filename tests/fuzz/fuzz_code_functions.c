/* Code in which functions are looked for, of all machines that can. */
#include <stdint.h>
#include <stdlib.h>

#include "format/base/vec.h"
#include "format/machine/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const struct machine *const machines[] = {&machine_x86_64, &machine_arm64};
	struct machine_functions starts = {0};
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		if (!machines[i]->find_functions)
			continue;
		machines[i]->find_functions(bytes, len, 0x401000, &starts);
		for (size_t k = 0; k < starts.len; k++)
			if (starts.data[k] >= len || (k && starts.data[k] <= starts.data[k - 1]))
				abort();
	}
	vec_deinit(&starts);
	return 0;
}
