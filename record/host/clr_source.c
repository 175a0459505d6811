#include "record/host/clr_source.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "record/host/target_file.h"

static bool read_clr_source(void *context, uint64_t offset, void *to, size_t len)
{
	const struct clr_source *source = context;
	if (source->fd >= 0)
		return pread(source->fd, to, len, (off_t)offset) == (ssize_t)len;
	memcpy(to, source->memory + offset, len);
	return true;
}

void clr_source_close(struct clr_source *source)
{
	clr_bytes_deinit(&source->bytes);
	mem_close_fd(&source->fd);
	mem_free(source->memory);
}

/* Takes the descriptor or the memory. */
static bool take_source(const struct clr_image *image, uint64_t size, struct clr_source *source)
{
	clr_bytes_init(&source->bytes, read_clr_source, source, size);
	if (clr_pdb_open(&source->bytes, image, &source->pdb))
		return true;
	source->bytes.is_bad = false;
	source->is_mdb = clr_mdb_open(&source->bytes, image, &source->mdb);
	if (source->is_mdb)
		return true;
	clr_source_close(source);
	return false;
}

bool clr_source_open_packed(const struct clr_image *image, struct clr_source *ret)
{
	size_t len;
	*ret = (struct clr_source){.fd = -1, .memory = clr_pdb_unpack(image, &len)};
	return ret->memory && take_source(image, len, ret);
}

static bool open_source_at(struct target_files *files, uint32_t pid, const struct clr_image *image,
	const char *path, struct clr_source *ret)
{
	struct stat st;
	*ret = (struct clr_source){.fd = target_file_open_in_root(files, pid, path, &st)};
	return ret->fd >= 0 && take_source(image, (uint64_t)st.st_size, ret);
}

/* By the name that the image says, in the image's folder. */
static void put_neighbour(const char *image_path, const char *built, struct str *ret)
{
	const char *slash = strrchr(image_path, '/'), *name = strrchr(built, '/');
	if (!slash || !built[0])
		return;
	str_write(ret, image_path, (size_t)(slash + 1 - image_path));
	str_puts(ret, name ? name + 1 : built);
}

bool clr_source_open_beside(
	uint32_t pid, const struct clr_image *image, const char *image_path, struct clr_source *ret)
{
	CLEANUP(str_deinit) struct str built = {0};
	CLEANUP(str_deinit) struct str beside = {0};
	CLEANUP(str_deinit) struct str mdb = {0};
	clr_image_put_pdb_path(image, &built);
	put_neighbour(image_path, str_text(&built), &beside);
	if (image_path[0])
		str_printf(&mdb, "%s.mdb", image_path);
	const char *paths[] = {str_text(&beside), str_text(&built), str_text(&mdb)};
	struct target_files *files = target_files_create(false);
	bool is_open = false;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths) && !is_open; i++)
		is_open = paths[i][0] == '/' && open_source_at(files, pid, image, paths[i], ret);
	target_files_destroy(files);
	return is_open;
}

void clr_source_read_points(
	const struct clr_source *source, uint32_t method, struct clr_pdb_points *ret)
{
	if (source->is_mdb)
		clr_mdb_read_points(&source->mdb, method, ret);
	else
		clr_pdb_read_points(&source->pdb, method, ret);
}

void clr_source_put_document(const struct clr_source *source, uint32_t document, struct str *out)
{
	if (source->is_mdb)
		clr_mdb_put_document(&source->mdb, document, out);
	else
		clr_pdb_put_document(&source->pdb, document, out);
}

size_t clr_source_held(const struct clr_source *source)
{
	return clr_bytes_held(&source->bytes);
}
