/* Lines of this file, as places in this program. */
#include "record/event/source_line.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "record/event/function_probe.h"
#include "tests/unit/unit.h"

static const char this_file[] = "tests/unit/record_source_line.c";

static int places_to_come_to;

__attribute__((noipa)) static void come_here(void)
{
	places_to_come_to++;
}
static const uint32_t line_of_code = __LINE__ - 2, line_without = __LINE__;

static struct err *find_line_here(const char *file, uint32_t line, struct source_line *ret)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *elf;
	CHECK_OK(elf_file_open(fd, &elf));
	struct err *err = source_line_find(elf, "exe", file, line, ret);
	elf_file_destroy(elf);
	close(fd);
	return err;
}

/* Where the function stands in the file, and how far the line is from there. */
TEST(line_is_in_its_function)
{
	struct source_line line = {0};
	struct function_probe function, same;
	char text[64];
	come_here();
	CHECK_OK(find_line_here(this_file, line_of_code, &line));
	CHECK_OK(function_probe_find("uprobe", "/proc/self/exe:come_here", &function));
	snprintf(text, sizeof(text), "/proc/self/exe:%s:%u", this_file, line_of_code);
	CHECK_OK(function_probe_find("uprobe", text, &same));
	CHECK_INT(line.addresses.len, same.offsets.len);
	CHECK(same.offsets.data[0] >= function.offsets.data[0] &&
		same.offsets.data[0] < function.offsets.data[0] + 256);
	source_line_deinit(&line);
	function_probe_deinit(&function);
	function_probe_deinit(&same);
}

TEST(what_is_not_there)
{
	struct source_line line = {0};
	CHECK_ERR(find_line_here(this_file, line_without, &line), ERR_USAGE,
		"the nearest lines that have some are");
	CHECK_ERR(find_line_here("record_source_lime.c", line_of_code, &line), ERR_USAGE,
		"did you mean record_source_line.c?");
	CHECK_ERR(find_line_here("line.c", line_of_code, &line), ERR_USAGE,
		"has no code of a source file \"line.c\"");
	CHECK_INT(line.addresses.len, 0);
}
