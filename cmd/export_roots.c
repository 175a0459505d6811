#include "cmd/export_roots.h"

#include <string.h>

#include "format/base/mem.h"
#include "report/write/export/roots.h"

static bool find_kind(const char *word, enum root_kind *ret)
{
	static const char *const words[] = {
#define X(kind, word) word,
		ROOT_KINDS(X)
#undef X
	};
	for (size_t i = 0; i < ROOT_KIND_COUNT; i++) {
		if (strcmp(word, words[i]) == 0) {
			*ret = (enum root_kind)i;
			return true;
		}
	}
	return false;
}

struct err *export_roots_parse(const char *text, void *member)
{
	struct roots roots = {0};
	CLEANUP_FREE char *copy = mem_strdup(text);
	char *rest = copy;
	for (char *word; (word = strsep(&rest, ","));) {
		enum root_kind kind;
		if (!find_kind(word, &kind))
			return err_new(ERR_USAGE,
				"\"%s\" is none of process, thread, comm, container, cgroup, cpu, "
				"origin",
				word);
		for (uint32_t i = 0; i < roots.count; i++)
			if (roots.kinds[i] == kind)
				return err_new(ERR_USAGE, "%s is given twice", word);
		roots.kinds[roots.count++] = kind;
	}
	*(struct roots *)member = roots;
	return NULL;
}
