/*
 * Only in static binaries (make STATIC=1). Debian 13's libelf.a (elfutils 0.192)
 * calls two functions of libeu, an archive that no package holds; elfutils 0.193
 * has them in libelf.a itself. They set up and tear down a tree that serves
 * elf_getdata_rawchunk(3) alone, which neither libbpf nor we call: leaving it
 * empty is enough. Weak, so that a libelf.a with the real ones wins.
 */
void eu_search_tree_init(void *tree, int (*compare)(const void *, const void *));
void eu_search_tree_fini(void *tree, void (*free_node)(void *));

__attribute__((weak)) void eu_search_tree_init(
	void *tree, int (*compare)(const void *, const void *))
{
	(void)tree;
	(void)compare;
}

__attribute__((weak)) void eu_search_tree_fini(void *tree, void (*free_node)(void *))
{
	(void)tree;
	(void)free_node;
}
