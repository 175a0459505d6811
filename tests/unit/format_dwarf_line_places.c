#include "format/dwarf/dwarf_line_places.h"

#include <fcntl.h>
#include <unistd.h>

#include "format/dwarf/dwarf_sections.h"
#include "tests/unit/unit.h"

extern const char __executable_start[]; /* of the linker: where the file's address 0 is */

enum {
	KNOWN_LINE = __LINE__ + 6, /* in known_line() */
	KNOWN_BYTES = 64,          /* more than it has */
};

static __attribute__((noinline, noclone)) int known_line(volatile int *value)
{
	return *value * 3;
}

static void find_in_this_program(const char *name, uint32_t line, struct dwarf_line_places *ret)
{
	struct elf_file *elf;
	struct dwarf_sections sections;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK_OK(elf_file_open(fd, &elf));
	CHECK(dwarf_sections_open(elf, false, NULL, &sections));
	for (int id = 0; id < DWARF_SECTION_COUNT; id++)
		dwarf_sections_unpack(&sections, (enum dwarf_section_id)id);
	dwarf_file_read_units(&sections.file);
	dwarf_line_places_find(&sections.file, name, line, ret);
	dwarf_sections_deinit(&sections);
	elf_file_destroy(elf);
	close(fd);
}

TEST(a_line_is_where_its_code_is)
{
	int three = 3;
	struct dwarf_line_places places;
	CHECK_INT(known_line(&three), 9);
	uint64_t begin = (uint64_t)((const char *)(uintptr_t)known_line - __executable_start);
	find_in_this_program("unit/format_dwarf_line_places.c", KNOWN_LINE, &places);
	CHECK(places.has_file);
	CHECK_INT(places.paths.len, 1);
	CHECK(places.addresses.len > 0);
	vec_each(&places.addresses, address)
		CHECK(*address >= begin && *address < begin + KNOWN_BYTES);
	dwarf_line_places_deinit(&places);
}

TEST(a_line_without_code_has_neighbours)
{
	struct dwarf_line_places places;
	find_in_this_program("format_dwarf_line_places.c", 1, &places);
	CHECK(places.has_file);
	CHECK_INT(places.addresses.len, 0);
	CHECK_INT(places.before, 0);
	CHECK(places.after > 1 && places.after <= KNOWN_LINE);
	dwarf_line_places_deinit(&places);
}

/* Names are compared by whole parts; what is like them is offered. */
TEST(a_file_that_is_not_there_has_the_nearest_name)
{
	struct dwarf_line_places places;
	find_in_this_program("ormat_dwarf_line_places.c", KNOWN_LINE, &places);
	CHECK(!places.has_file);
	CHECK_INT(places.addresses.len, 0);
	CHECK(places.nearest);
	CHECK_STR(places.nearest, "format_dwarf_line_places.c");
	dwarf_line_places_deinit(&places);
}
