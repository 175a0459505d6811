/*
 * .symtab, .strtab and the note of the build ID as a server gives them: two parts with their
 * lengths before them, then the rest.
 */
#include <string.h>

#include "report/name/symbol/symbol_sections.h"
#include "tests/fuzz/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum {
	LOOK_UPS = 64,
};

/* Every name must be readable to its end. */
static void look_up(struct symbol_index *index)
{
	volatile size_t sum = 0;
	symbol_index_build(index);
	for (uint64_t i = 0; i < LOOK_UPS; i++) {
		struct symbol_hit hit = {0};
		if (symbol_index_lookup(index, 0x1000 + i * 16, &hit))
			sum += strlen(hit.name);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static const uint8_t build_id[] = {1, 2, 3, 4, 5, 6, 7, 8};
	char paths[3][MEMORY_FILE_PATH_BYTES];
	int fds[3];
	for (size_t i = 0; i < 3; i++) {
		const uint8_t *part = bytes;
		size_t part_len = i < 2 ? memory_file_cut(&bytes, &len, &part) : len;
		fds[i] = memory_file_make(i < 2 ? part : bytes, part_len, paths[i]);
	}
	struct symbol_index *index = symbol_index_create();
	symbol_sections_read(paths[0], paths[1], index);
	look_up(index);
	symbol_index_destroy(index);
	symbol_sections_has_build_id(paths[2], build_id, sizeof(build_id));
	for (size_t i = 0; i < 3; i++)
		close(fds[i]);
	return 0;
}
