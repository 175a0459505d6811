#include "report/name/debugfile/debuginfod_unfinished.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/hex.h"
#include "format/base/str.h"

enum {
	PATH_BYTES = 4096,
	/* New descriptors get the lowest number that is free. */
	DESCRIPTORS_MAX = 4096,
	BUILD_ID_DIGITS_MIN = 8,
	RANDOM_LETTERS = 6,
};

/* "/0123abcd/": where the component before the last one is a build ID. */
static bool stands_below_build_id(const char *path, const char *name)
{
	size_t digits = 0;
	const char *at = name - 1; /* the slash */
	while (at > path && strchr("0123456789abcdef", at[-1])) {
		at--;
		digits++;
	}
	return digits >= BUILD_ID_DIGITS_MIN && at > path && at[-1] == '/';
}

bool debuginfod_unfinished_is(const char *path)
{
	static const char *const begins[] = {"section-", "debuginfo.", "executable."};
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(path, '.');
	if (!slash || !dot || dot < slash || strlen(dot + 1) != RANDOM_LETTERS ||
		strcspn(dot + 1, ".- ()") != RANDOM_LETTERS ||
		!stands_below_build_id(path, slash + 1))
		return false;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (strncmp(slash + 1, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* printf() may not be called by signal handlers. */
static void debuginfod_unfinished_put_descriptor(char *path, unsigned fd)
{
	static const char folder[] = "/proc/self/fd/";
	char digits[10];
	size_t count = 0;
	do
		digits[count++] = (char)('0' + fd % 10);
	while (fd /= 10);
	path = mempcpy(path, folder, sizeof(folder) - 1);
	while (count)
		*path++ = digits[--count];
	*path = 0;
}

/* False: there is no such descriptor, or it is of something else. */
static bool find_path(unsigned fd, char path[PATH_BYTES])
{
	char link[32];
	debuginfod_unfinished_put_descriptor(link, fd);
	ssize_t len = readlink(link, path, PATH_BYTES - 1);
	path[len > 0 ? len : 0] = 0;
	return len > 0 && debuginfod_unfinished_is(path);
}

void debuginfod_unfinished_remove(void)
{
	int before = errno;
	for (unsigned fd = 0; fd < DESCRIPTORS_MAX; fd++) {
		char path[PATH_BYTES];
		if (find_path(fd, path))
			unlink(path);
	}
	errno = before;
}

uint64_t debuginfod_unfinished_bytes(const uint8_t *build_id, size_t len)
{
	CLEANUP(str_deinit) struct str folder = {0};
	uint64_t most = 0;
	str_putc(&folder, '/');
	hex_put(&folder, build_id, len);
	str_putc(&folder, '/');
	for (unsigned fd = 0; fd < DESCRIPTORS_MAX; fd++) {
		char path[PATH_BYTES];
		struct stat st;
		if (find_path(fd, path) && strstr(path, str_text(&folder)) && !stat(path, &st) &&
			(uint64_t)st.st_size > most)
			most = (uint64_t)st.st_size;
	}
	return most;
}
