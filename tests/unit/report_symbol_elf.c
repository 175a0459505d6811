/* The index over real files: this program, as nm sees it, and libc. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/err.h"
#include "format/base/mem.h"
#include "report/name/symbol/symbol_index.h"
#include "tests/unit/unit.h"

static struct symbol_index *index_file(const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	struct elf_file *file = NULL;
	struct elf_symbols symbols = {0};
	struct symbol_index *index = symbol_index_create();
	CHECK_OK(elf_file_open(fd, &file));
	if (file)
		CHECK_OK(elf_symbols_read(file, &symbols));
	symbol_index_add_elf(index, &symbols);
	symbol_index_build(index);
	elf_file_destroy(file);
	return index;
}

/* Compares one line of nm; returns whether it was a function with a size. */
static bool check_nm_line(const struct symbol_index *index, const char *line)
{
	unsigned long long address, size;
	char type, name[1000];
	if (sscanf(line, "%llx %llx %c %999s", &address, &size, &type, name) != 4 ||
		!strchr("tTwWi", type) || size == 0)
		return false;
	struct symbol_hit hit = {0};
	if (!symbol_index_lookup(index, address, &hit))
		unit_fail(__FILE__, __LINE__, "%s at %#llx is not found", name, address);
	else if (hit.start != address) /* the same name, or an alias: same address */
		unit_fail(__FILE__, __LINE__, "%s at %#llx is in %s", name, address, hit.name);
	return true;
}

/* For other programs: an emulator shows this program its own /proc alone. */
static const char *path_of_this_program(void)
{
	static char path[512];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	CHECK(len > 0);
	return path;
}

TEST(every_symbol_of_nm_resolves)
{
	struct symbol_index *index = index_file("/proc/self/exe");
	char command[600];
	snprintf(command, sizeof(command), "nm -S %s 2>/dev/null", path_of_this_program());
	FILE *nm = popen(command, "r");
	char line[1200];
	size_t seen = 0;
	while (nm && fgets(line, sizeof(line), nm))
		seen += check_nm_line(index, line);
	if (!nm || pclose(nm) != 0)
		unit_skip("no nm");
	CHECK(seen > 100);
	symbol_index_destroy(index);
}

TEST(libc_has_malloc)
{
	Dl_info info;
	struct link_map *map;
	CHECK(dladdr1((void *)(uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info,
		(void **)&map, RTLD_DL_LINKMAP));
	struct symbol_index *index = index_file(info.dli_fname);
	struct symbol_hit hit = {0};
	CHECK(symbol_index_lookup(index, (uintptr_t)info.dli_saddr - map->l_addr + 1, &hit));
	CHECK_STR(hit.name, "gnu_get_libc_version");
	bool has_malloc = false;
	for (uint64_t address = 0; address < 4 << 20 && !has_malloc; address += 16)
		has_malloc = symbol_index_lookup(index, address, &hit) &&
			     strstr(hit.name, "malloc") && !strchr(hit.name, '@');
	CHECK(has_malloc);
	symbol_index_destroy(index);
}

/* Compares one line of objdump: "0000000000026030 <realloc@plt>:", or with @VERSION before @plt. */
static bool check_stub_line(const struct symbol_index *index, const char *line)
{
	unsigned long long address;
	char name[1000];
	if (sscanf(line, "%llx <%999[^>]>:", &address, name) != 2 || name[0] == '*')
		return false; /* that of an ifunc, which objdump does not name */
	char *end = strchr(name, '@');
	if (!end || strcmp(name + strlen(name) - 4, "@plt") != 0)
		return false;
	memcpy(end, "@plt", sizeof("@plt"));
	struct symbol_hit hit = {0};
	if (!symbol_index_lookup(index, address, &hit))
		unit_fail(__FILE__, __LINE__, "%s at %#llx is not found", name, address);
	else if (hit.start != address || strcmp(hit.name, name) != 0)
		unit_fail(__FILE__, __LINE__, "%s at %#llx is %s", name, address, hit.name);
	return true;
}

static size_t check_stubs(const char *path)
{
	struct symbol_index *index = index_file(path);
	char command[1000], line[1200];
	/* The one of this machine may know arm64's files, or another one does. */
	snprintf(command, sizeof(command),
		"for objdump in objdump aarch64-linux-gnu-objdump; do $objdump -d "
		"--no-show-raw-insn -j .plt -j .plt.sec -j .plt.got '%s' 2>/dev/null; done",
		path);
	FILE *objdump = popen(command, "r");
	size_t seen = 0;
	while (objdump && fgets(line, sizeof(line), objdump))
		seen += check_stub_line(index, line);
	if (objdump)
		pclose(objdump); /* it fails where one of the sections is missing */
	symbol_index_destroy(index);
	return seen;
}

/* Of libc and of libm, which have ifuncs of their own, and of this program. */
TEST(plt_stubs_are_those_of_objdump)
{
	static const char *const functions[] = {"gnu_get_libc_version", "lgamma"};
	size_t seen = check_stubs(path_of_this_program());
	for (size_t i = 0; i < 2; i++) {
		Dl_info info;
		void *function = dlsym(RTLD_DEFAULT, functions[i]);
		if (function && dladdr(function, &info))
			seen += check_stubs(info.dli_fname);
	}
	if (!seen)
		unit_skip("no objdump, or no PLT");
}

TEST(plt_stubs_are_named)
{
	struct symbol_index *index = index_file("/proc/self/exe");
	CLEANUP_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *file = NULL;
	CHECK_OK(elf_file_open(fd, &file));
	const struct elf_section *plt = elf_file_find_section(file, ".plt");
	if (!plt || elf_file_machine(file) != EM_X86_64)
		unit_skip("no PLT");
	struct symbol_hit hit = {0};
	CHECK(!symbol_index_lookup(index, plt->addr, &hit)); /* the header entry */
	CHECK(symbol_index_lookup(index, plt->addr + 16, &hit));
	CHECK(hit.name && strstr(hit.name, "@plt"));
	elf_file_destroy(file);
	symbol_index_destroy(index);
}
