/* Which vmlinux is taken for the kernel of a recording. This very program stands for one. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/str.h"
#include "report/name/symbol/kernel_file.h"
#include "tests/unit/unit.h"

#define RELEASE "6.1.0-test"

__asm__(".pushsection .text\n.globl _text\n_text:\n.popsection\n");
extern const char text_of_kernel[] __asm__("_text");

struct fixture {
	char root[64];
	struct profile profile;
	struct profile_object object;
	struct symbol_file_options options;
};

static void make_folders(const char *root, const char *path)
{
	CLEANUP(str_deinit) struct str made = {0};
	str_puts(&made, root);
	for (const char *slash; (slash = strchr(path + 1, '/')); path = slash) {
		str_write(&made, path, (size_t)(slash - path));
		mkdir(str_text(&made), 0700);
	}
}

static void put_program_at(struct fixture *fixture, const char *path)
{
	char full[256], self[512];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	CHECK(len > 0);
	self[len] = '\0';
	snprintf(full, sizeof(full), "%s%s", fixture->root, path);
	make_folders(fixture->root, path);
	CHECK_INT(symlink(self, full), 0);
}

static void setup(struct fixture *fixture)
{
	*fixture = (struct fixture){.root = "/tmp/ebprof-unit.XXXXXX"};
	CHECK(mkdtemp(fixture->root));
	fixture->options.symfs = fixture->root;
	fixture->object = (struct profile_object){
		.info = {.kind = LAYOUT_OBJECT_KERNEL, .base = 0xffffffff9a000000},
		.path = "[kernel.kallsyms]",
		.name = "[kernel.kallsyms]",
	};
	vec_push(&fixture->profile.meta, (struct profile_meta){LAYOUT_META_KERNEL, RELEASE});
	CLEANUP_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *elf;
	CHECK_OK(elf_file_open(fd, &elf));
	size_t len;
	const uint8_t *build_id = elf_file_build_id(elf, &len);
	if (!build_id)
		unit_skip("the linker gives no build IDs here");
	memcpy(fixture->object.info.build_id, build_id, len);
	fixture->object.info.build_id_len = (uint32_t)len;
	elf_file_destroy(elf);
}

static void teardown(struct fixture *fixture)
{
	char command[128];
	vec_deinit(&fixture->profile.meta);
	snprintf(command, sizeof(command), "rm -rf '%s'", fixture->root);
	CHECK_INT(system(command), 0);
}

static bool is_found(struct fixture *fixture)
{
	struct kernel_file kernel;
	bool found =
		kernel_file_find(&fixture->profile, &fixture->object, &fixture->options, &kernel);
	CHECK_INT(found, kernel.file.debug != NULL);
	if (found) /* wherever this program was loaded: pages are */
		CHECK_INT(kernel.base & 0xfff, (uintptr_t)text_of_kernel & 0xfff);
	kernel_file_deinit(&kernel);
	return found;
}

TEST(kernel_file_is_found_in_the_usual_places)
{
	static const char *const paths[] = {
		"/usr/lib/debug/boot/vmlinux-" RELEASE,
		"/usr/lib/debug/lib/modules/" RELEASE "/vmlinux",
		"/boot/vmlinux-" RELEASE,
		"/lib/modules/" RELEASE "/build/vmlinux",
	};
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct fixture fixture;
		setup(&fixture);
		CHECK(!is_found(&fixture));
		put_program_at(&fixture, paths[i]);
		CHECK(is_found(&fixture));
		teardown(&fixture);
	}
}

TEST(kernel_file_of_another_build_is_refused)
{
	struct fixture fixture;
	setup(&fixture);
	put_program_at(&fixture, "/boot/vmlinux-" RELEASE);
	fixture.object.info.build_id[3] ^= 1;
	CHECK(!is_found(&fixture));
	fixture.object.info.build_id_len = 0;
	CHECK(!is_found(&fixture));
	teardown(&fixture);
}

/* Addresses were hidden when recording: offsets are of no use. */
TEST(kernel_file_needs_the_kernels_base)
{
	struct fixture fixture;
	setup(&fixture);
	put_program_at(&fixture, "/boot/vmlinux-" RELEASE);
	fixture.object.info.base = 0;
	CHECK(!is_found(&fixture));
	teardown(&fixture);
}

TEST(kernel_file_follows_no_release_elsewhere)
{
	static const char *const releases[] = {"", "..", "x/../" RELEASE, "/" RELEASE};
	struct fixture fixture;
	setup(&fixture);
	put_program_at(&fixture, "/boot/vmlinux-" RELEASE);
	put_program_at(&fixture, "/boot/vmlinux-x/y");
	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++) {
		fixture.profile.meta.data[0].value = releases[i];
		CHECK(!is_found(&fixture));
	}
	fixture.profile.meta.len = 0;
	CHECK(!is_found(&fixture));
	teardown(&fixture);
}
