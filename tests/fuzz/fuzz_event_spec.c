/* Events as -e names them. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"
#include "record/event/event_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Each has a name, and the text that its kind needs; a group has a number that was given away. */
static void check_specs(const struct event_specs *specs)
{
	vec_each(specs, spec) {
		bool has_text = spec->kind == EVENT_SPEC_USDT || spec->kind == EVENT_SPEC_UPROBE ||
				spec->kind == EVENT_SPEC_URETPROBE ||
				spec->kind == EVENT_SPEC_TRACEPOINT || spec->kind == EVENT_SPEC_PMU;
		if (!spec->name || !*spec->name || !spec->unit ||
			has_text != (spec->text != NULL) || (spec->period && spec->frequency_hz) ||
			spec->group > specs->nr_groups)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct event_specs specs = {0};
	char *text = mem_strndup(bytes, len);
	struct err *err = event_specs_parse(&specs, text);
	if (!err)
		check_specs(&specs);
	err_destroy(err);
	event_specs_deinit(&specs);
	mem_free(text);
	return 0;
}
