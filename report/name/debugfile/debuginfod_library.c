#include "report/name/debugfile/debuginfod_library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "format/base/hex.h"
#include "format/base/shared_library.h"
#include "format/base/str.h"

#ifdef EBPROF_STATIC

bool debuginfod_library_load(struct debuginfod_library *ret)
{
	(void)ret;
	return false;
}

bool debuginfod_library_is_possible(void)
{
	return false;
}

#else

bool debuginfod_library_load(struct debuginfod_library *ret)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return false;
	struct debuginfod_library found = {0};
	shared_library_find(library, "debuginfod_find_section", &found.find_section);
	shared_library_find(library, "debuginfod_set_verbose_fd", &found.set_verbose_fd);
	bool has_all =
		shared_library_find(library, "debuginfod_begin", &found.begin) &&
		shared_library_find(library, "debuginfod_end", &found.end) &&
		shared_library_find(library, "debuginfod_find_debuginfo", &found.find_debuginfo) &&
		shared_library_find(library, "debuginfod_set_progressfn", &found.set_progressfn) &&
		shared_library_find(library, "debuginfod_get_url", &found.get_url);
	if (has_all)
		*ret = found;
	else
		dlclose(library);
	return has_all;
}

bool debuginfod_library_is_possible(void)
{
	return true;
}

#endif

/* debuginfod_find_debuginfo(3), "CACHE"; false when there is none. */
static bool put_cache(struct str *path)
{
	const char *chosen = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME");
	const char *cache = getenv("XDG_CACHE_HOME");
	if (chosen) {
		str_puts(path, chosen);
		return true;
	}
	str_printf(path, "%s/.debuginfod_client_cache", home ? home : "");
	if (access(str_text(path), F_OK) == 0)
		return true;
	str_truncate(path, 0);
	if (cache)
		str_printf(path, "%s/debuginfod_client", cache);
	else if (home)
		str_printf(path, "%s/.cache/debuginfod_client", home);
	return path->len > 0;
}

uint64_t debuginfod_library_room(void)
{
	CLEANUP(str_deinit) struct str path = {0};
	struct statvfs fs;
	if (!put_cache(&path) || statvfs(str_text(&path), &fs))
		return UINT64_MAX;
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static void debuginfod_library_forget(struct str *path, const char *kind, const char *name)
{
	size_t len = path->len;
	struct stat st;
	str_printf(path, "%s%s", kind, name);
	if (lstat(str_text(path), &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
		unlink(str_text(path));
	str_truncate(path, len);
}

void debuginfod_library_forget_miss(const uint8_t *build_id, size_t len, const char *section)
{
	CLEANUP(str_deinit) struct str path = {0};
	if (!put_cache(&path))
		return;
	str_putc(&path, '/');
	hex_put(&path, build_id, len);
	str_putc(&path, '/');
	if (section)
		debuginfod_library_forget(&path, "section-", section);
	/* Where there are no sections it asks for what has them. */
	debuginfod_library_forget(&path, "debuginfo", "");
	debuginfod_library_forget(&path, "executable", "");
}
