/* Lines of a kernel module: a relocatable file, placed by the symbols that were captured. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/str.h"
#include "report/name/symbol/kernel_module.h"
#include "report/name/symbol/symbolizer.h"
#include "tests/unit/unit.h"

#define RELEASE "6.1.0-test"

/* Two sections of code. */
static const char source[] =
	"__asm__(\".section .note.gnu.build-id,\\\"a\\\",@note\\n\"\n"
	"        \".long 4,8,3\\n.asciz \\\"GNU\\\"\\n.byte 1,2,3,4,5,6,7,8\\n.text\\n\");\n"
	"volatile int sink;\n"
	"static inline __attribute__((always_inline)) void inner(void) {\n"
	"	sink++;\n"
	"}\n"
	"__attribute__((noinline)) void first(void) { sink--; }\n"
	"__attribute__((noinline)) void outer(void) {\n"
	"	inner();\n"
	"}\n"
	"__attribute__((section(\".text.second\"))) void elsewhere(void) {\n"
	"	inner();\n"
	"}\n";

enum {
	TEXT = 0x500, /* where the kernel put the sections, counted from the module */
	SECOND = 0x40000,
};

struct fixture {
	char root[64];
	struct profile profile;
	struct symbolize_options options;
};

static void setup(struct fixture *fixture)
{
	CLEANUP(str_deinit) struct str command = {0};
	*fixture = (struct fixture){.root = "/tmp/ebprof-unit.XXXXXX"};
	CHECK(mkdtemp(fixture->root));
	fixture->options.files.symfs = fixture->root;
	str_printf(&command,
		"cd %s && folder=usr/lib/debug/lib/modules/%s/kernel/drivers && mkdir -p $folder "
		"&& "
		"cat >mod.c <<'END' && cc -O2 -g -c -o $folder/my-mod.ko mod.c "
		"2>/dev/null\n%sEND\n",
		fixture->root, RELEASE, source);
	if (system(str_text(&command)) != 0)
		unit_skip("no compiler here");
	struct profile *profile = &fixture->profile;
	vec_push(&profile->meta, (struct profile_meta){LAYOUT_META_KERNEL, RELEASE});
	vec_resize(&profile->objects, 2);
	profile->objects.data[1] = (struct profile_object){
		.info = {.kind = LAYOUT_OBJECT_MODULE,
			.base = 0xffffffffc0000000,
			.build_id = {1, 2, 3, 4, 5, 6, 7, 8},
			.build_id_len = 8},
		.path = "[my_mod]",
		.name = "[my_mod]",
	};
	vec_resize(&profile->frames, 1);
	profile->frames.data[0].offset = LAYOUT_TRUNCATED_UNKNOWN;
	vec_push(&profile->functions, (struct profile_function){.name = ""});
}

static void teardown(struct fixture *fixture)
{
	char command[128];
	struct profile *profile = &fixture->profile;
	snprintf(command, sizeof(command), "rm -rf '%s'", fixture->root);
	CHECK_INT(system(command), 0);
	vec_each(&profile->objects, object)
		chain_map_deinit(&object->chains);
	vec_deinit(&profile->meta);
	vec_deinit(&profile->objects);
	vec_deinit(&profile->frames);
	vec_deinit(&profile->functions);
	vec_deinit(&profile->symbols);
	arena_deinit(&profile->arena);
}

/* The file's own place of a symbol, so that tests can say where it was captured. */
static uint64_t place_of(struct fixture *fixture, const char *name)
{
	char path[256];
	uint64_t ret = UINT64_MAX;
	snprintf(path, sizeof(path), "nm %s/usr/lib/debug/lib/modules/%s/kernel/drivers/my-mod.ko",
		fixture->root, RELEASE);
	FILE *nm = popen(path, "r");
	unsigned long long address;
	char type, symbol[64];
	while (nm && fscanf(nm, "%llx %c %63s", &address, &type, symbol) == 3)
		if (strcmp(symbol, name) == 0)
			ret = address;
	if (nm)
		pclose(nm);
	if (ret == UINT64_MAX)
		unit_skip("no nm here");
	return ret;
}

static void capture(struct fixture *fixture, const char *name, uint64_t section)
{
	uint64_t offset = section + place_of(fixture, name);
	vec_push(&fixture->profile.symbols, (struct profile_symbol){1, offset, 0, name});
	vec_push(&fixture->profile.frames, (struct profile_frame){.object = 1, .offset = offset});
}

/* "inner@5 < outer@9" of a frame that was recorded. */
static void check_frame(struct fixture *fixture, uint32_t frame, const char *want)
{
	CLEANUP(str_deinit) struct str got = {0};
	const struct profile *profile = &fixture->profile;
	uint32_t at = profile->frames.data[frame].innermost;
	for (at = at ? at : frame; at; at = profile->frames.data[at].outer) {
		const struct profile_frame *it = &profile->frames.data[at];
		const char *file = it->file ? strrchr(it->file, '/') : NULL;
		str_printf(&got, "%s%s@%s:%u", got.len ? " < " : "",
			profile->functions.data[it->function].name, file ? file + 1 : "?",
			it->line);
	}
	CHECK_STR(str_text(&got), want);
}

TEST(kernel_module_gets_lines)
{
	struct fixture fixture;
	setup(&fixture);
	capture(&fixture, "first", TEXT);
	capture(&fixture, "outer", TEXT);
	capture(&fixture, "elsewhere", SECOND);
	symbolize(&fixture.profile, &fixture.options);
	check_frame(&fixture, 1, "first@mod.c:7");
	check_frame(&fixture, 2, "inner@mod.c:5 < outer@mod.c:9");
	check_frame(&fixture, 3, "inner@mod.c:5 < elsewhere@mod.c:12");
	teardown(&fixture);
}

/* As CONFIG_MODULE_COMPRESS installs them. */
static void check_packed(const char *packer, const char *suffix)
{
	struct fixture fixture;
	CLEANUP(str_deinit) struct str command = {0};
	setup(&fixture);
	capture(&fixture, "first", TEXT);
	capture(&fixture, "outer", TEXT);
	str_printf(&command,
		"cd %s && mkdir -p lib/modules/%s && "
		"%s <usr/lib/debug/lib/modules/%s/kernel/drivers/my-mod.ko "
		">lib/modules/%s/my-mod.ko.%s 2>/dev/null && rm -r usr",
		fixture.root, RELEASE, packer, RELEASE, RELEASE, suffix);
	if (system(str_text(&command)) != 0)
		unit_skip("no such packer here");
	symbolize(&fixture.profile, &fixture.options);
	check_frame(&fixture, 1, "first@mod.c:7");
	check_frame(&fixture, 2, "inner@mod.c:5 < outer@mod.c:9");
	teardown(&fixture);
}

TEST(kernel_module_packed_by_xz)
{
	check_packed("xz --check=crc32 --lzma2=dict=2MiB", "xz");
}

TEST(kernel_module_packed_by_gzip)
{
	check_packed("gzip -n", "gz");
}

#if __has_include(<zstd.h>)
TEST(kernel_module_packed_by_zstd)
{
	check_packed("zstd -q", "zst");
}
#endif

/* The name stays, and why there is no more is known. */
TEST(kernel_module_too_large_unpacked_gets_no_lines)
{
	struct fixture fixture;
	char command[200];
	setup(&fixture);
	snprintf(command, sizeof(command),
		"objcopy --compress-debug-sections "
		"%s/usr/lib/debug/lib/modules/%s/kernel/drivers/my-mod.ko",
		fixture.root, RELEASE);
	if (system(command) != 0)
		unit_skip("no objcopy here");
	capture(&fixture, "first", TEXT);
	fixture.options.unpacked_bytes_max = 1;
	symbolize(&fixture.profile, &fixture.options);
	check_frame(&fixture, 1, "first@?:0");
	CHECK(fixture.profile.objects.data[1].lacks_room);
	fixture.options.unpacked_bytes_max = 0;
	fixture.profile.objects.data[1].lacks_room = false;
	chain_map_deinit(&fixture.profile.objects.data[1].chains);
	symbolize(&fixture.profile, &fixture.options);
	check_frame(&fixture, 1, "first@mod.c:7");
	CHECK(!fixture.profile.objects.data[1].lacks_room);
	teardown(&fixture);
}

TEST(kernel_module_of_another_build_gets_none)
{
	struct fixture fixture;
	setup(&fixture);
	fixture.profile.objects.data[1].info.build_id[0] = 9;
	capture(&fixture, "first", TEXT);
	symbolize(&fixture.profile, &fixture.options);
	check_frame(&fixture, 1, "first@?:0");
	teardown(&fixture);
}

/* Where nothing was captured, the place of the section is not known. */
TEST(kernel_module_places_sections_by_symbols)
{
	struct fixture fixture;
	struct kernel_module_file module;
	setup(&fixture);
	capture(&fixture, "outer", TEXT);
	CHECK(kernel_module_find(&fixture.profile, 1, &fixture.options.files, &module));
	CHECK_INT(module.sections.len, 1);
	CHECK(kernel_module_address(&module, TEXT) != 0);
	CHECK_INT(kernel_module_address(&module, TEXT - 1), 0);
	CHECK_INT(kernel_module_address(&module, SECOND), 0);
	kernel_module_deinit(&module);
	teardown(&fixture);
}
