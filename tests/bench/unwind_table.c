/*
 * How long the unwind table of a file takes, and what it takes.
 *   unwind_table FILE...
 */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/elf/elf_file.h"
#include "record/unwind_table.h"

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static struct err *measure(const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY);
	struct elf_file *file;
	double begun = now_ms();
	try(elf_file_open(fd, &file));
	struct unwind_table table;
	try(unwind_table_build(file, &table));
	double built = now_ms();
	size_t size = table.rows.len * sizeof(*table.rows.data) +
		      table.pages.len * sizeof(*table.pages.data) +
		      table.rules.len * sizeof(*table.rules.data);
	printf("%s: built %.1f ms, %llu raw rows, %zu rows, %zu rules, %zu pages, "
	       "%.1f MB\n",
		path, built - begun, (unsigned long long)table.statistics.rows, table.rows.len,
		table.rules.len, table.pages.len, (double)size / 1e6);
	unwind_table_deinit(&table);
	elf_file_destroy(file);
	return NULL;
}

int main(int argc, char **argv)
{
	int failed = 0;
	for (int i = 1; i < argc; i++) {
		struct err *err = measure(argv[i]);
		if (err) {
			printf("%s: %s\n", argv[i], err_message(err));
			err_destroy(err);
			failed = 1;
		}
	}
	return failed;
}
