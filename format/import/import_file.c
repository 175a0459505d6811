#include "format/import/import_file.h"

#include <errno.h>
#include <unistd.h>

struct err *import_file_init(struct import_file *file, int fd, const struct import_host *host)
{
	static const struct import_host nobody = {0};
	off_t end = lseek(fd, 0, SEEK_END);
	if (end < 0)
		return err_sys(errno, "cannot seek");
	*file = (struct import_file){
		.fd = fd, .bytes = (uint64_t)end, .host = host ? host : &nobody};
	return NULL;
}

struct err *import_file_read(const struct import_file *file, uint64_t offset, uint64_t len,
	const char *what, struct bytes_buf *ret)
{
	if (offset > file->bytes || len > file->bytes - offset)
		return err_new(ERR_FORMAT,
			"%s at offset %llu would take %llu bytes, but the file ends at %llu", what,
			(unsigned long long)offset, (unsigned long long)len,
			(unsigned long long)file->bytes);
	vec_resize(ret, len);
	for (uint64_t done = 0; done < len;) {
		ssize_t got = pread(file->fd, ret->data + done, len - done, (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_sys(errno, "cannot read %s", what);
		if (!got)
			return err_new(ERR_FORMAT, "the file became shorter while it was read");
		done += (uint64_t)got;
	}
	return NULL;
}
