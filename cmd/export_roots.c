#include "cmd/export_roots.h"

#include <string.h>

#include "format/base/mem.h"
#include "report/write/export/roots.h"

const struct opt_word export_roots_words[] = {
#define X(kind, word) {word, kind, false},
	ROOT_KINDS(X)
#undef X
		{0},
};

struct err *export_roots_parse(const struct opt *row, const char *text, void *member)
{
	struct roots roots = {0};
	CLEANUP_FREE char *copy = mem_strdup(text);
	char *rest = copy;
	for (char *word; (word = strsep(&rest, ","));) {
		uint32_t kind;
		try(opt_find_word(row, word, strlen(word), &kind));
		for (uint32_t i = 0; i < roots.count; i++)
			if (roots.kinds[i] == kind)
				return err_new(ERR_USAGE, "%s is given twice", word);
		roots.kinds[roots.count++] = (enum root_kind)kind;
	}
	*(struct roots *)member = roots;
	return NULL;
}
