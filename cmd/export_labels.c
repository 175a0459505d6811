#include "cmd/export_labels.h"

#include <string.h>

#include "format/base/mem.h"
#include "report/write/export/export.h"

struct err *export_labels_parse(const char *text, void *member)
{
	static const struct {
		const char *name;
		enum export_label label;
	} names[] = {
#define X(label, bit, word) {word, label},
		EXPORT_LABELS(X)
#undef X
	};
	uint32_t labels = 0;
	CLEANUP_FREE char *copy = mem_strdup(text);
	char *rest = copy;
	for (char *word; (word = strsep(&rest, ","));) {
		uint32_t label = 0;
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (strcmp(word, names[i].name) == 0)
				label = names[i].label;
		if (!label && strcmp(word, "none") != 0)
			return err_new(ERR_USAGE,
				"\"%s\" is none of comm, thread, pid, tid, "
				"container, cgroup, cpu, origin, unwind, none",
				word);
		labels |= label;
	}
	*(uint32_t *)member = labels;
	return NULL;
}
