#include "cmd/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/fd.h"
#include "format/base/mem.h"

struct err *memory_file_create(FILE **ret)
{
	CLEANUP_FD int fd = memfd_create("ebprof", MFD_CLOEXEC);
	if (fd < 0)
		return err_sys(errno, "memfd_create");
	FILE *file = fdopen(fd, "w");
	if (!file)
		return err_sys(errno, "fdopen");
	(void)steal_fd(fd);
	*ret = file;
	return NULL;
}

static struct err *memory_file_sink_write(void *context, const void *bytes, size_t len)
{
	if (fwrite(bytes, 1, len, context) != len)
		return err_sys(errno, "cannot write into memory");
	return NULL;
}

struct writer_sink memory_file_sink(FILE *file)
{
	return (struct writer_sink){.write = memory_file_sink_write, .context = file};
}

struct err *memory_file_fill(FILE *file, int fd)
{
	char piece[64 << 10];
	for (;;) {
		ssize_t got = fd_read(fd, piece, sizeof(piece));
		if (got < 0)
			return err_sys(errno, "cannot read");
		if (!got)
			return NULL;
		try(memory_file_sink_write(file, piece, (size_t)got));
	}
}

struct err *memory_file_finish(FILE *file, int *ret)
{
	bool is_whole = fflush(file) == 0;
	int fd = is_whole ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 0) : -1;
	struct err *err = fd < 0 ? err_sys(errno, "cannot write into memory") : NULL;
	fclose(file);
	if (!err && lseek(fd, 0, SEEK_SET) < 0) {
		err = err_sys(errno, "lseek");
		close(fd);
	}
	if (!err)
		*ret = fd;
	return err;
}
