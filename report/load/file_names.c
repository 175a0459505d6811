#include "report/load/file_names.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/base/path.h"

struct files {
	struct profile_object **data;
	size_t len, cap;
};

static int by_end_of_path(const void *a, const void *b)
{
	const struct profile_object *const *one = a, *const *other = b;
	return path_compare_ends((*one)->path, (*other)->path);
}

void file_names_find(struct profile *profile)
{
	struct files files = {0};
	vec_each(&profile->objects, object)
		if (object->is_used && object->path[0] == '/')
			vec_push(&files, object);
	if (files.len)
		qsort(files.data, files.len, sizeof(*files.data), by_end_of_path);
	uint8_t from_last = 1; /* parts that tell the path from the one before it */
	for (size_t i = 0, end; i < files.len; i = end) {
		const char *path = files.data[i]->path;
		end = i + 1; /* builds of one path have one name */
		while (end < files.len && strcmp(files.data[end]->path, path) == 0)
			end++;
		uint8_t from_next =
			end < files.len ? path_parts_that_differ(path, files.data[end]->path) : 1;
		uint8_t nr_parts = from_last > from_next ? from_last : from_next;
		for (size_t k = i; nr_parts > 1 && k < end; k++)
			files.data[k]->name = path_last_parts(files.data[k]->path, nr_parts);
		from_last = from_next;
	}
	vec_deinit(&files);
}
