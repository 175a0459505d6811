#include "record/source/kernel_function.h"

#include <fcntl.h>

#include "format/base/mem.h"
#include "record/host/kallsyms.h"

struct function_search {
	struct kernel_function *functions;
	size_t count;
};

static bool look_for_kernel_functions(void *context, const struct kallsyms_symbol *symbol)
{
	struct function_search *search = context;
	bool is_done = true;
	for (size_t i = 0; i < search->count; i++) {
		struct kernel_function *found = &search->functions[i];
		if (found->at.start && !found->at.end && symbol->address > found->at.start)
			found->at.end = symbol->address;
		if (!found->is_there && kallsyms_has_name(symbol, found->name)) {
			found->is_there = true;
			found->at = (struct event_function){symbol->address, 0};
		}
		is_done = is_done && found->at.end;
	}
	return !is_done;
}

void kernel_functions_find(struct kernel_function *functions, size_t count)
{
	CLEANUP_FD int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	struct function_search search = {functions, count};
	if (fd >= 0)
		kallsyms_read(fd, look_for_kernel_functions, &search);
}
