/* Where source is looked for, what is never opened, and that objdump is a program like others. */
#include "report/name/listing/source_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/name/listing/disassembly.h"
#include "tests/unit/unit.h"

static char folder[] = "/tmp/ebprof-source.XXXXXX";

static void put_file(const char *name, const char *text, size_t len)
{
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "%s/%s", folder, name);
	FILE *file = fopen(str_text(&path), "w");
	CHECK(file && fwrite(text, 1, len, file) == len && fclose(file) == 0);
}

static void begin(void)
{
	CHECK(mkdtemp(folder));
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "%s/lib", folder);
	CHECK(mkdir(str_text(&path), 0700) == 0);
}

static void end(void)
{
	CLEANUP(str_deinit) struct str command = {0};
	str_printf(&command, "rm -rf %s", folder);
	CHECK(system(str_text(&command)) == 0);
}

static struct source_file read_below(const char *name)
{
	const char *dirs[] = {folder};
	struct debug_dirs list = {dirs, 1, 1};
	struct source_file file;
	source_file_read(name, &list, NULL, &file);
	return file;
}

TEST(source_lines)
{
	begin();
	static const char text[] = "one\r\n\ta\tb\n\nx\0y\xff\x1b[m";
	put_file("lib/a.c", text, sizeof(text) - 1);
	struct source_file file = read_below("/build/pkg/src/../lib/a.c");
	CHECK_INT(source_file_count(&file), 4);
	CHECK_STR(source_file_line(&file, 1), "one");
	CHECK_STR(source_file_line(&file, 2), "        a       b");
	CHECK_STR(source_file_line(&file, 3), "");
	CHECK_STR(source_file_line(&file, 4), "x\\x00y\xff\x1b[m");
	CHECK(!source_file_line(&file, 0) && !source_file_line(&file, 5));
	CHECK(file.path && strstr(file.path, "/lib/a.c"));
	source_file_deinit(&file);
	end();
}

/* What is not there is told with what was tried; nothing leads out of the folder. */
TEST(source_not_found)
{
	begin();
	put_file("secret.c", "x\n", 2);
	CLEANUP(str_deinit) struct str lib = {0};
	str_printf(&lib, "%s/lib", folder);
	const char *dirs[] = {str_text(&lib)};
	struct debug_dirs list = {dirs, 1, 1};
	struct source_file file;
	source_file_read("../secret.c", &list, NULL, &file);
	CHECK(!file.path && strstr(str_text(&file.problem), "lib/secret.c"));
	CHECK(strstr(str_text(&file.problem), "--source-dir"));
	source_file_deinit(&file);
	source_file_read("relative/x.c", NULL, NULL, &file);
	CHECK(!file.path && strstr(str_text(&file.problem), "relative/x.c is not here"));
	source_file_deinit(&file);
	end();
}

TEST(source_of_other_kinds)
{
	begin();
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "%s/fifo.c", folder);
	CHECK(mkfifo(str_text(&path), 0600) == 0);
	const char *names[] = {
		str_text(&path), "/dev/zero", "/proc/self/environ", "/proc/kmsg", folder};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct source_file file;
		source_file_read(names[i], NULL, NULL, &file);
		CHECK(!file.path && file.problem.len);
		source_file_deinit(&file);
	}
	put_file("large.c", "", 0);
	str_truncate(&path, 0);
	str_printf(&path, "%s/large.c", folder);
	CHECK(truncate(str_text(&path), (16 << 20) + 1) == 0);
	struct source_file file;
	source_file_read(str_text(&path), NULL, NULL, &file);
	CHECK(!file.path && strstr(str_text(&file.problem), "larger than 16 MB"));
	source_file_deinit(&file);
	end();
}

/* Root shows sudo's caller nothing that this user may not read, and is root again after that. */
TEST(source_of_another_user_under_sudo)
{
	if (geteuid())
		unit_skip("not root");
	begin();
	put_file("secret.c", "secret\n", 7);
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "%s/secret.c", folder);
	CHECK_INT(chmod(folder, 0755), 0);
	CHECK_INT(chmod(str_text(&path), 0600), 0);
	CHECK_INT(setenv("SUDO_UID", "65534", 1), 0);
	CHECK_INT(setenv("SUDO_GID", "65534", 1), 0);
	struct source_file file;
	source_file_read(str_text(&path), NULL, NULL, &file);
	CHECK(!file.path && strstr(str_text(&file.problem), "permission denied"));
	source_file_deinit(&file);
	CHECK_INT(chmod(str_text(&path), 0644), 0);
	source_file_read(str_text(&path), NULL, NULL, &file);
	CHECK_STR(source_file_line(&file, 1), "secret");
	source_file_deinit(&file);
	CHECK_INT(chmod(folder, 0700), 0);
	source_file_read(str_text(&path), NULL, NULL, &file);
	CHECK(!file.path && strstr(str_text(&file.problem), "permission denied"));
	source_file_deinit(&file);
	CHECK_INT(unsetenv("SUDO_UID"), 0);
	source_file_read(str_text(&path), NULL, NULL, &file);
	CHECK_STR(source_file_line(&file, 1), "secret");
	source_file_deinit(&file);
	end();
}

TEST(objdump_is_missing)
{
	setenv("PATH", "/nonexistent", 1);
	CLEANUP_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct disassembly_request request = {.fd = fd, .start = 0, .end = 1};
	struct disassembly disassembly;
	disassembly_run(&request, &disassembly);
	CHECK_STR(str_text(&disassembly.problem),
		"objdump cannot be run: it is not here; it belongs to binutils");
	disassembly_deinit(&disassembly);
}

static void put_objdump(const char *script)
{
	put_file("objdump", script, strlen(script));
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "%s/objdump", folder);
	CHECK(chmod(str_text(&path), 0700) == 0);
	str_truncate(&path, 0);
	str_printf(&path, "%s:/usr/bin:/bin", folder);
	setenv("PATH", str_text(&path), 1);
}

/* Any program may be called so. */
TEST(objdump_says_odd_things)
{
	begin();
	put_objdump("#!/bin/sh\n"
		    "printf ' 1004:\\tcall   10 <_ZN1a1bEv+0x4>\\n'\n"
		    "printf ' 1000:\\tnop\\t\\n 999999:\\tnop\\n zz:\\tx\\n:\\t\\n'\n"
		    "head -c 100000 /dev/zero | tr '\\0' x; exit 3\n");
	CLEANUP_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct disassembly_request request = {.fd = fd, .start = 0x1000, .end = 0x2000};
	struct disassembly disassembly;
	disassembly_run(&request, &disassembly);
	CHECK_INT(disassembly.list.len, 2);
	CHECK_STR(disassembly_text(&disassembly, 0), "nop");
	CHECK_STR(disassembly_text(&disassembly, 1), "call   10 <a::b()+0x4>");
	CHECK_STR(str_text(&disassembly.problem), "");
	disassembly_deinit(&disassembly);
	end();
}

TEST(objdump_is_stopped)
{
	begin();
	put_objdump("#!/bin/sh\nexec sleep 1000\n");
	CLEANUP_FD int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	atomic_bool is_cancelled = true;
	struct disassembly_request request = {
		.fd = fd, .start = 0x1000, .end = 0x2000, .is_cancelled = &is_cancelled};
	struct disassembly disassembly;
	disassembly_run(&request, &disassembly);
	CHECK_STR(str_text(&disassembly.problem), "objdump was stopped");
	disassembly_deinit(&disassembly);
	put_objdump("#!/bin/sh\nexec yes ' 1000:\tnop'\n");
	request.is_cancelled = NULL;
	disassembly_run(&request, &disassembly);
	CHECK(strstr(str_text(&disassembly.problem), "left out"));
	disassembly_deinit(&disassembly);
	end();
}
