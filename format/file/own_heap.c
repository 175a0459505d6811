#include "format/file/own_heap.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "format/base/path.h"

/*
 * Sources: Python's Objects/obmalloc.c (pymalloc, up to 512 bytes), Zend/zend_alloc.c of PHP, gc.c
 * of Ruby (slots), erts_alloc(3) of Erlang; LuaJIT's lj_alloc.c.
 */
static const struct own_heap {
	const char *file, *objects, *remedy;
} own_heaps[] = {
	{"libjvm.so", "objects of Java", NULL},
	{"node", "objects of JavaScript", NULL},
	{"nodejs", "objects of JavaScript", NULL},
	{"libnode.so", "objects of JavaScript", NULL},
	{"libcoreclr.so", "objects of .NET", NULL},
	{"python", "objects of Python of up to 512 bytes", "PYTHONMALLOC=malloc"},
	{"libpython", "objects of Python of up to 512 bytes", "PYTHONMALLOC=malloc"},
	{"php", "values of PHP", "USE_ZEND_ALLOC=0"},
	{"php-cgi", "values of PHP", "USE_ZEND_ALLOC=0"},
	{"php-fpm", "values of PHP", "USE_ZEND_ALLOC=0"},
	{"libphp", "values of PHP", "USE_ZEND_ALLOC=0"},
	{"ruby", "slots of Ruby's objects", NULL},
	{"libruby", "slots of Ruby's objects", NULL},
	{"beam.smp", "terms of Erlang", NULL},
	{"luajit", "objects of Lua", NULL},
	{"libluajit", "objects of Lua", NULL},
};

/* "python3.11", "libphp8.2.so", "libnode.so.108" are the file and a version. */
static bool is_version(const char *text)
{
	text += strspn(text, "-.0123456789");
	if (strncmp(text, "so", 2) == 0)
		text += 2 + strspn(text + 2, ".0123456789");
	return !*text;
}

static const struct own_heap *own_heap_find(const char *path)
{
	const char *name = path_last_part(path);
	for (size_t i = 0; i < sizeof(own_heaps) / sizeof(*own_heaps); i++) {
		size_t len = strlen(own_heaps[i].file);
		if (strncmp(name, own_heaps[i].file, len) == 0 && is_version(name + len))
			return &own_heaps[i];
	}
	return NULL;
}

const char *own_heap_of(const char *path)
{
	const struct own_heap *heap = own_heap_find(path);
	return heap ? heap->objects : NULL;
}

const char *own_heap_remedy(const char *path)
{
	const struct own_heap *heap = own_heap_find(path);
	return heap ? heap->remedy : NULL;
}
