/* Files of other profilers: what is made of one is a recording, which is then read as any other. */
#include <sys/mman.h>
#include <unistd.h>

#include "format/import/import.h"

#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/walk_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum {
	MAX_WALKED_BYTES = 1 << 20, /* repetitions pack well; walking them all tells no more */
};

static struct err *collect_import(void *context, const void *bytes, size_t len)
{
	bytes_put(context, bytes, len);
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char path[MEMORY_FILE_PATH_BYTES];
	struct bytes_buf made = {0};
	struct import_result result;
	int fd = memory_file_make(bytes, len, path);
	import_format_of(bytes, len < IMPORT_HEAD_BYTES ? len : IMPORT_HEAD_BYTES);
	struct err *err = import_write(fd, IMPORT_AS_IT_BEGINS, NULL,
		(struct writer_sink){collect_import, &made}, &result);
	close(fd);
	if (err) {
		WALK_ASSERT(err_message(err)[0]);
		err_destroy(err);
	} else {
		import_result_deinit(&result);
		if (made.len < MAX_WALKED_BYTES)
			walk_recording(made.data, made.len);
	}
	bytes_buf_deinit(&made);
	return 0;
}
