#include "format/base/mount_table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/fd.h"
#include "format/base/mem.h"

/* ---- reading ---- */

/* Spaces, tabs, newlines and backslashes stand there as \ooo. */
static void unescape(char *text)
{
	char *to = text;
	for (const char *from = text; *from;) {
		if (from[0] == '\\' && from[1] && from[2] && from[3]) {
			*to++ = (char)((unsigned char)(from[1] - '0') << 6 |
				       (unsigned char)(from[2] - '0') << 3 |
				       (unsigned char)(from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* "user_id=" among the options of FUSE. */
static void take_owner(struct mount *mount, const char *options)
{
	static const char key[] = "user_id=";
	bool is_fuse = strncmp(mount->type, "fuse", 4) == 0;
	const char *at = options ? strstr(options, key) : NULL;
	mount->has_owner = is_fuse && at && (at == options || at[-1] == ',');
	if (mount->has_owner)
		mount->owner_uid = (uint32_t)strtoul(at + sizeof(key) - 1, NULL, 10);
}

/* id parent major:minor root point options [tags...] - type source options */
static bool mount_table_parse(char *line, struct mount *ret)
{
	enum {
		ROOT,
		POINT,
		OPTIONS,
		NR_WORDS
	};
	char *at = line, *rest = NULL, *words[NR_WORDS];
	*ret = (struct mount){.id = strtoull(at, &at, 10)};
	ret->parent_id = strtoull(at, &at, 10);
	ret->major_no = (uint32_t)strtoul(at, &at, 10);
	if (*at++ != ':')
		return false;
	ret->minor_no = (uint32_t)strtoul(at, &at, 10);
	for (int i = 0; i < NR_WORDS; i++)
		if (!(words[i] = strtok_r(i ? NULL : at, " ", &rest)))
			return false;
	char *word;
	while ((word = strtok_r(NULL, " ", &rest)) && strcmp(word, "-") != 0)
		;
	ret->point = words[POINT];
	ret->type = strtok_r(NULL, " ", &rest);
	if (!ret->type)
		return false;
	strtok_r(NULL, " ", &rest); /* what is mounted */
	ret->options = strtok_r(NULL, " ", &rest);
	take_owner(ret, ret->options);
	unescape(words[POINT]);
	unescape(words[ROOT]);
	ret->root = words[ROOT];
	return true;
}

size_t mount_table_read(struct mount_table *table, int fd, size_t max_bytes)
{
	enum {
		FIRST_BYTES = 16 << 10
	};
	size_t len = 0, size = max_bytes < FIRST_BYTES ? max_bytes : FIRST_BYTES;
	mount_table_deinit(table);
	if (lseek(fd, 0, SEEK_SET))
		return 0;
	table->text = mem_realloc_array(NULL, size + 1, 1);
	for (ssize_t got; (got = fd_read(fd, table->text + len, size - len)) > 0;) {
		len += (size_t)got;
		if (len < size)
			continue;
		if (size == max_bytes)
			break;
		size = 2 * size < max_bytes ? 2 * size : max_bytes;
		table->text = mem_realloc_array(table->text, size + 1, 1);
	}
	table->text[len] = '\0';
	char *line = table->text;
	for (char *newline; (newline = strchr(line, '\n')); line = newline + 1) {
		struct mount mount;
		*newline = '\0';
		if (mount_table_parse(line, &mount))
			vec_push(&table->mounts, mount);
	}
	return len;
}

void mount_table_deinit(struct mount_table *table)
{
	vec_deinit(&table->mounts);
	mem_free(table->text);
	table->text = NULL;
}

/* ---- looking up ---- */

const struct mount *mount_table_find(const struct mount_table *table, uint64_t id)
{
	vec_each(&table->mounts, mount)
		if (mount->id == id)
			return mount;
	return NULL;
}

static bool is_above(const char *point, size_t len, const char *path)
{
	return strncmp(point, path, len) == 0 && (!path[len] || path[len] == '/');
}

static const struct mount *find_above(const struct mount_table *table, const struct mount *mount)
{
	vec_each(&table->mounts, above)
		if (above->parent_id == mount->id && above != mount &&
			strcmp(above->point, mount->point) == 0)
			return above;
	return NULL;
}

/* Of several at one place each lies on the one before. Users may have made any number of them.
 */
static const struct mount *topmost(const struct mount_table *table, const struct mount *mount)
{
	enum {
		MAX_STACKED = 32
	};
	const struct mount *above = mount;
	for (int i = 0; above && i < MAX_STACKED; i++) {
		mount = above;
		above = find_above(table, mount);
	}
	return mount;
}

/* One that lies higher hides those that lie in what it covers. */
const struct mount *mount_table_next(
	const struct mount_table *table, uint64_t id, const char *path, size_t begun)
{
	const struct mount *next = NULL;
	size_t next_len = 0;
	vec_each(&table->mounts, mount) {
		if (mount->parent_id != id || mount->id == id)
			continue;
		size_t len = strlen(mount->point);
		bool is_better = len > 1 && len > begun && (!next || len < next_len);
		if (!is_better || !is_above(mount->point, len, path))
			continue;
		next = mount;
		next_len = len;
	}
	return next ? topmost(table, next) : NULL;
}

bool mount_is_remote(const struct mount *mount)
{
	static const char *const types[] = {"fuse", "fuseblk", "autofs", "nfs", "nfs4", "cifs",
		"smb3", "smbfs", "ceph", "afs", "coda", "ncpfs", "9p", "virtiofs", "lustre", "gpfs",
		"beegfs", "orangefs", "pvfs2", "ocfs2", "gfs2", "panfs", "wekafs", "acfs", "vboxsf",
		"vmhgfs", "prl_fs"};
	size_t len = strcspn(mount->type, "."); /* fuse.sshfs */
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strlen(types[i]) == len && memcmp(types[i], mount->type, len) == 0)
			return true;
	return false;
}
