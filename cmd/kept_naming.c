#include "cmd/kept_naming.h"

#include <stdio.h>

#include "format/base/mem.h"

enum {
	PATH_BYTES = 32,
};

struct kept_naming_paths {
	char file[PATH_BYTES], root[PATH_BYTES];
};

/* A name that can be opened again and again, also when the file's own is gone. */
static void kept_naming_put_descriptor(char path[PATH_BYTES], int fd)
{
	snprintf(path, PATH_BYTES, "/proc/self/fd/%d", fd);
}

static struct symbol_file_kept kept_naming_describe(
	const struct kept_file *file, struct kept_naming_paths *paths)
{
	kept_naming_put_descriptor(paths->file, file->fd);
	kept_naming_put_descriptor(paths->root, file->root_fd);
	return (struct symbol_file_kept){
		.build_id = file->build_id,
		.build_id_len = file->build_id_len,
		.size_bytes = file->size_bytes,
		.mtime_ns = file->mtime_ns,
		.path = paths->file,
		.root = file->root_fd < 0 ? NULL : paths->root,
	};
}

void kept_naming_init(struct kept_naming *kept, const struct kept_files *files)
{
	const struct kept_file *list = kept_files_list(files, &kept->count);
	kept->paths = mem_zalloc_array(kept->count, sizeof(*kept->paths));
	kept->files = mem_zalloc_array(kept->count, sizeof(*kept->files));
	for (size_t i = 0; i < kept->count; i++)
		kept->files[i] = kept_naming_describe(&list[i], &kept->paths[i]);
}

void kept_naming_deinit(struct kept_naming *kept)
{
	mem_free(kept->files);
	mem_free(kept->paths);
}
