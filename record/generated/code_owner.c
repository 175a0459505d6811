#include "record/generated/code_owner.h"

#include <stddef.h>
#include <string.h>

#include "record/runtime/runtime.h"

/* Shared libraries by how their files' names begin. */
static const struct library_owner {
	const char *prefix, *name;
} libraries[] = {
	{"libpcre2-", "[pcre2 jit]"},
	{"libpcre.so", "[pcre jit]"},
};

const char *code_owner_of_caller(const char *path, enum runtime_kind kind)
{
	const struct runtime *runtime = runtime_of(kind);
	const char *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path;
	if (runtime && runtime->called_code)
		return runtime->called_code;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (strncmp(file, libraries[i].prefix, strlen(libraries[i].prefix)) == 0)
			return libraries[i].name;
	return NULL;
}
