/* Which files a command is going to map, of programs and scripts in a folder of the test. */
#include "record/task/program_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/base/str.h"
#include "tests/unit/unit.h"

struct folder {
	char path[64];
	char self[4096]; /* this program */
};

static void setup(struct folder *folder)
{
	strcpy(folder->path, "/tmp/ebprof-program-files.XXXXXX");
	CHECK(mkdtemp(folder->path) != NULL);
	ssize_t len = readlink("/proc/self/exe", folder->self, sizeof(folder->self) - 1);
	folder->self[len > 0 ? len : 0] = '\0';
	CHECK(setenv("PATH", folder->path, true) == 0);
}

static void teardown(const struct folder *folder)
{
	CLEANUP(str_deinit) struct str command = {0};
	str_printf(&command, "/bin/rm -r '%s'", folder->path);
	CHECK(system(str_text(&command)) == 0);
}

/* What it holds is the parts, one behind the other. */
static void put_file(const struct folder *folder, const char *name, const char *first,
	const char *second, const char *third)
{
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "%s/%s", folder->path, name);
	FILE *file = fopen(str_text(&path), "w");
	CHECK(file != NULL);
	if (!file)
		return;
	fprintf(file, "%s%s%s", first, second, third);
	fclose(file);
	CHECK(chmod(str_text(&path), 0755) == 0);
}

static void link_self(const struct folder *folder, const char *name)
{
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "%s/%s", folder->path, name);
	CHECK(symlink(folder->self, str_text(&path)) == 0);
}

struct told {
	const struct folder *folder;
	unsigned all, selves, libraries_of_c;
};

static void tell(void *context, const char *path)
{
	struct told *told = context;
	told->all++;
	told->selves += strcmp(path, told->folder->self) == 0;
	told->libraries_of_c += strstr(path, "/libc.so") != NULL;
}

static struct told ask(const struct folder *folder, const char *name)
{
	struct told told = {.folder = folder};
	program_files_each(name, tell, &told);
	return told;
}

TEST(programs_are_found_with_their_libraries)
{
	struct folder folder;
	setup(&folder);
	link_self(&folder, "program");
	struct told by_name = ask(&folder, "program"), by_path = ask(&folder, folder.self);
	CHECK_INT(by_name.selves, 1);
	CHECK_INT(by_path.selves, 1);
	CHECK_INT(by_name.all, by_path.all);
	if (by_name.all > 1) /* not static */
		CHECK_INT(by_name.libraries_of_c, 1);
	teardown(&folder);
}

TEST(scripts_lead_to_what_runs_them)
{
	struct folder folder;
	setup(&folder);
	link_self(&folder, "program");
	put_file(&folder, "plain", "#!", folder.self, " -n\n");
	put_file(&folder, "by_env", "#!/usr/bin/env program\n", "", "");
	put_file(&folder, "by_env_with_options", "#! /usr/bin/env -S A=b program -n\n", "", "");
	put_file(&folder, "by_another", "#!", folder.path, "/plain\n");
	CHECK_INT(ask(&folder, "plain").selves, 1);
	CHECK_INT(ask(&folder, "by_env").selves, 1);
	CHECK_INT(ask(&folder, "by_env_with_options").selves, 1);
	CHECK_INT(ask(&folder, "by_another").selves, 1);
	teardown(&folder);
}

TEST(what_is_no_program_maps_nothing)
{
	struct folder folder;
	setup(&folder);
	put_file(&folder, "circle", "#!", folder.path, "/circle\n");
	put_file(&folder, "nobody", "#!\n", "", "");
	put_file(&folder, "only_env", "#!/usr/bin/env\n", "", "");
	put_file(&folder, "text", "no program", "", "");
	put_file(&folder, "empty", "", "", "");
	CLEANUP(str_deinit) struct str fifo = {0};
	str_printf(&fifo, "%s/fifo", folder.path);
	CHECK(mkfifo(str_text(&fifo), 0755) == 0);
	static const char *const names[] = {
		"circle", "nobody", "only_env", "text", "empty", "fifo", "absent", "", "/", "/tmp"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		CHECK_INT(ask(&folder, names[i]).all, 0);
	CHECK_INT(ask(&folder, str_text(&fifo)).all, 0);
	CHECK(unsetenv("PATH") == 0);
	CHECK_INT(ask(&folder, "text").all, 0);
	CHECK(setenv("PATH", "/tmp", true) == 0);
	teardown(&folder);
}
