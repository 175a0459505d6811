/* The allocator of a file, by its names. */
#include "record/event/heap_functions.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/event.h"
#include "tests/unit/unit.h"

static int find_c_library(struct dl_phdr_info *info, size_t bytes, void *context)
{
	(void)bytes;
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	*(const char **)context = info->dlpi_name;
	return 1;
}

static const struct heap_place *place_of(const struct heap_functions *found, uint32_t call)
{
	vec_each(&found->places, place)
		if ((place->call & EVENT_HEAP_CALL_MASK) == call)
			return place;
	return NULL;
}

TEST(c_library_has_all_calls)
{
	const char *path = NULL;
	dl_iterate_phdr(find_c_library, &path);
	if (!path) /* linked into the program */
		return;
	struct heap_functions found = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_OK(heap_functions_find(fd, &found));
	CHECK(found.has_allocator);
	for (uint32_t call = 0; call < EVENT_HEAP_CALLS; call++)
		CHECK(place_of(&found, call));
	/* one function of several names is one place */
	vec_each(&found.places, place)
		vec_each(&found.places, other)
			CHECK(place == other || place->entry != other->entry);
	vec_each(&found.places, place) {
		bool is_malloc = strcmp(place->name, "malloc") == 0 ||
				 strcmp(place->name, "__libc_malloc") == 0;
		bool is_free = (place->call & EVENT_HEAP_CALL_MASK) == EVENT_HEAP_FREE;
		CHECK_INT(!(place->call & EVENT_HEAP_NESTS), is_malloc || is_free);
	}
	heap_functions_deinit(&found);
	close(fd);
}

TEST(program_without_one)
{
	struct heap_functions found = {0};
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	CHECK_OK(heap_functions_find(fd, &found));
	CHECK(!found.has_allocator);
	CHECK_INT(found.places.len, 0);
	heap_functions_deinit(&found);
	close(fd);
}

TEST(no_program)
{
	struct heap_functions found = {0};
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	struct err *err = heap_functions_find(fd, &found);
	CHECK(err);
	err_destroy(err);
	close(fd);
}
