/*
 * Only in static binaries (make STATIC=1). Debian 13's libelf.a
 * (elfutils 0.192) calls functions of libeu, an archive that no package holds;
 * elfutils 0.193 has them in libelf.a itself. They are the C library's search
 * trees, with a lock around them that a program of one thread does not need.
 * Weak, so that a libelf.a with the real ones wins.
 */
#include <search.h>
#include <stddef.h>

/* elfutils' lib/eu-search.h: a root, and behind it the lock, where there is one at all. */
struct search_tree {
	void *root;
};

typedef int compare_fn(const void *a, const void *b);

void eu_search_tree_init(struct search_tree *tree);
void eu_search_tree_fini(struct search_tree *tree, void (*free_node)(void *));
void *eu_tsearch(const void *key, struct search_tree *tree, compare_fn *compare);
void *eu_tfind(const void *key, struct search_tree *tree, compare_fn *compare);
void *eu_tdelete(const void *key, struct search_tree *tree, compare_fn *compare);

__attribute__((weak)) void eu_search_tree_init(struct search_tree *tree)
{
	tree->root = NULL;
}

__attribute__((weak)) void eu_search_tree_fini(struct search_tree *tree, void (*free_node)(void *))
{
	tdestroy(tree->root, free_node);
	tree->root = NULL;
}

__attribute__((weak)) void *eu_tsearch(
	const void *key, struct search_tree *tree, compare_fn *compare)
{
	return tsearch(key, &tree->root, compare);
}

__attribute__((weak)) void *eu_tfind(const void *key, struct search_tree *tree, compare_fn *compare)
{
	return tfind(key, &tree->root, compare);
}

__attribute__((weak)) void *eu_tdelete(
	const void *key, struct search_tree *tree, compare_fn *compare)
{
	return tdelete(key, &tree->root, compare);
}
