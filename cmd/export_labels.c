#include "cmd/export_labels.h"

#include <string.h>

#include "format/base/mem.h"
#include "report/write/export/export.h"

const struct opt_word export_labels_words[] = {
#define X(label, bit, word) {word, label, false},
	EXPORT_LABELS(X)
#undef X
		{"none", 0, false},
	{0},
};

struct err *export_labels_parse(const struct opt *row, const char *text, void *member)
{
	uint32_t labels = 0;
	CLEANUP_FREE char *copy = mem_strdup(text);
	char *rest = copy;
	for (char *word; (word = strsep(&rest, ","));) {
		uint32_t label;
		try(opt_find_word(row, word, strlen(word), &label));
		labels |= label;
	}
	*(uint32_t *)member = labels;
	return NULL;
}
