/*
 * .debug_line, .debug_line_str and .debug_str as a server gives them, compressed or not: two parts
 * with their lengths before them, then the rest.
 */
#include <string.h>

#include "report/name/symbol/line_sections.h"
#include "tests/fuzz/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum {
	ADDRESSES = 64,
};

static void resolve(struct line_sections *lines)
{
	uint64_t addresses[ADDRESSES];
	struct chain chains[ADDRESSES];
	volatile size_t sum = 0;
	for (size_t i = 0; i < ADDRESSES; i++)
		addresses[i] = 0x1000 + i * 16;
	line_sections_add_code(lines, 0x1000, 0x2000);
	line_sections_run(lines, addresses, ADDRESSES, chains);
	for (size_t i = 0; i < ADDRESSES; i++)
		if (chains[i].count && chains[i].frames->file)
			sum += strlen(chains[i].frames->file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char paths[LINE_SECTIONS_COUNT][MEMORY_FILE_PATH_BYTES];
	const char *const borrowed[LINE_SECTIONS_COUNT] = {paths[0], paths[1], paths[2]};
	int fds[LINE_SECTIONS_COUNT];
	for (size_t i = 0; i < LINE_SECTIONS_COUNT; i++) {
		const uint8_t *part = bytes;
		bool is_last = i + 1 == LINE_SECTIONS_COUNT;
		size_t part_len = is_last ? len : memory_file_cut(&bytes, &len, &part);
		fds[i] = memory_file_make(is_last ? bytes : part, part_len, paths[i]);
	}
	struct line_sections *lines = line_sections_open(borrowed);
	if (lines)
		resolve(lines);
	line_sections_destroy(lines);
	for (size_t i = 0; i < LINE_SECTIONS_COUNT; i++)
		close(fds[i]);
	return 0;
}
