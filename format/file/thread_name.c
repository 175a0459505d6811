#include "format/file/thread_name.h"

#include <string.h>

enum {
	HEAD_BYTES = 7,
	TAIL_BYTES = 6,
};

bool thread_name_is_of(const char *name, size_t len, const char *kept)
{
	static const char dots[] = "..";
	const char *tail = kept + HEAD_BYTES + strlen(dots);
	if (len <= THREAD_NAME_KEPT_BYTES || strlen(kept) != THREAD_NAME_KEPT_BYTES)
		return false;
	return memcmp(name, kept, THREAD_NAME_KEPT_BYTES) == 0 ||
	       (memcmp(name, kept, HEAD_BYTES) == 0 &&
		       memcmp(kept + HEAD_BYTES, dots, strlen(dots)) == 0 &&
		       memcmp(name + len - TAIL_BYTES, tail, TAIL_BYTES) == 0);
}
