/* Files of labels: what is read of one, and who finds it. */
#include <stdlib.h>
#include <string.h>

#include "record/label/label_file.h"
#include "tests/fuzz/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Each stands for a process or a container, and a process is found by its number. */
static void check_targets(const struct label_file *file)
{
	vec_each(&file->targets, target) {
		volatile size_t sum = target->service ? strlen(target->service) : 0;
		if (!target->pid && !target->container_id)
			abort();
		for (size_t i = 0; i < target->nr_labels; i++) {
			if (!*target->labels[i].key || strncmp(target->labels[i].key, "__", 2) == 0)
				abort();
			sum += strlen(target->labels[i].value);
		}
		if (target->pid && label_file_find(file, target->pid, "")->pid != target->pid)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char path[MEMORY_FILE_PATH_BYTES];
	struct label_file file;
	int fd = memory_file_make(bytes, len, path);
	struct err *err = label_file_open(&file, path);
	if (!err)
		check_targets(&file);
	err_destroy(err);
	label_file_deinit(&file);
	close(fd);
	return 0;
}
