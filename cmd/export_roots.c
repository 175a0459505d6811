#include "cmd/export_roots.h"

#include <string.h>

#include "format/base/mem.h"
#include "report/analyse/roots.h"
#include "report/model/label_sets.h"

const struct opt_word export_roots_words[] = {
#define X(kind, word) {word, kind, false},
	ROOT_KINDS(X)
#undef X
		{0},
};

static bool is_same_root(const struct roots *roots, uint32_t index, uint32_t kind, const char *key)
{
	const char *other = roots->keys[index];
	return roots->kinds[index] == kind && !key == !other && (!key || !strcmp(key, other));
}

/* A key of labels, or one of the words. */
static struct err *export_roots_add(const struct opt *row, const char *word, struct roots *roots)
{
	uint32_t kind = ROOT_LABEL;
	size_t len = strlen(word);
	const char *key = label_key_of_word(word, &len);
	if (!key)
		try(opt_find_word(row, word, strlen(word), &kind));
	for (uint32_t i = 0; i < roots->count; i++)
		if (is_same_root(roots, i, kind, key))
			return err_new(ERR_USAGE, "%s is given twice", word);
	if (roots->count == ROOTS_MAX)
		return err_new(ERR_USAGE, "there is no room for so many");
	roots->keys[roots->count] = key ? mem_strdup(key) : NULL;
	roots->kinds[roots->count++] = (enum root_kind)kind;
	return NULL;
}

struct err *export_roots_parse(const struct opt *row, const char *text, void *member)
{
	CLEANUP(roots_deinit) struct roots roots = {0};
	CLEANUP_FREE char *copy = mem_strdup(text);
	char *rest = copy;
	for (char *word; (word = strsep(&rest, ","));)
		try(export_roots_add(row, word, &roots));
	roots_deinit(member);
	*(struct roots *)member = roots;
	roots.count = 0;
	return NULL;
}
