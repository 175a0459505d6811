/* What files of one name are called. */
#include "report/load/file_names.h"

#include <string.h>

#include "tests/unit/unit.h"

TEST(files_of_one_name_have_as_much_of_their_path_as_tells_them_apart)
{
	static const struct {
		const char *path, *name;
		bool is_used;
	} cases[] = {
		{"", "", false},
		{"/app/v1/plugin.so", "v1/plugin.so", true},
		{"/app/v2/plugin.so", "app/v2/plugin.so", true},
		{"/app/v2/plugin.so", "app/v2/plugin.so", true}, /* of another build */
		{"/app/v3/plugin.so", "plugin.so", false},       /* no sample is in it */
		{"/other/v2/plugin.so", "other/v2/plugin.so", true},
		{"/lib/libc.so.6", "libc.so.6", true},
		{"[vdso]", "[vdso]", true},
	};
	enum {
		COUNT = sizeof(cases) / sizeof(*cases),
	};
	struct profile_object objects[COUNT];
	for (int i = 0; i < COUNT; i++) {
		const char *slash = strrchr(cases[i].path, '/');
		objects[i] = (struct profile_object){.path = cases[i].path,
			.name = slash ? slash + 1 : cases[i].path,
			.is_used = cases[i].is_used};
	}
	struct profile profile = {.objects = {.data = objects, .len = COUNT}};
	file_names_find(&profile);
	for (int i = 0; i < COUNT; i++)
		CHECK_STR(objects[i].name, cases[i].name);
}
