/*
 * How long the unwind table of a file takes to be built, and to be loaded from the cache, and
 * what it takes. Each file in a process of its own, for its peak of memory.
 *   unwind_table FILE...
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/elf/elf_file.h"
#include "record/unwind/table_cache.h"
#include "record/unwind/unwind_table.h"

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double peak_mb(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

static double table_mb(const struct unwind_table *table)
{
	size_t bytes = table->rows.len * sizeof(*table->rows.data) +
		       table->pages.len * sizeof(*table->pages.data) +
		       table->rules.len * sizeof(*table->rules.data);
	return (double)bytes / 1e6;
}

/* The best of some, in a folder that goes away. Negative when there is no build ID. */
static struct err *measure_load(struct elf_file *file, const struct unwind_table *table,
	const struct table_inputs *inputs, double *best)
{
	char folder[] = "/tmp/ebprof-bench.XXXXXX", command[64];
	struct cache *cache;
	static const uint8_t id[] = "of this file";
	const size_t len = sizeof(id);
	*best = -1;
	if (!mkdtemp(folder))
		return err_new(ERR_IO, "no folder");
	try(table_cache_open(folder, &cache));
	try(table_cache_store(cache, id, (uint32_t)len, table, inputs));
	for (int i = 0; i < 5; i++) {
		struct unwind_table loaded;
		struct table_inputs found = {0};
		bool is_found;
		double begun = now_ms();
		try(table_cache_load(cache, id, (uint32_t)len, &loaded, &found, &is_found));
		if (is_found && !table_inputs_match(&found, file))
			return err_new(ERR_FORMAT, "of another file");
		double took = now_ms() - begun;
		table_inputs_deinit(&found);
		if (is_found)
			unwind_table_deinit(&loaded);
		if (is_found && (*best < 0 || took < *best))
			*best = took;
	}
	cache_close(cache);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command) ? err_new(ERR_IO, "%s", command) : NULL;
}

static struct err *measure(const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY);
	struct elf_file *file;
	struct unwind_table table;
	double load_ms, before_mb = peak_mb(), begun = now_ms();
	try(elf_file_open(fd, &file));
	struct table_inputs inputs;
	table_inputs_begin(&inputs, file);
	try(unwind_table_build(file, &table));
	if (!table_inputs_end(&inputs, file))
		return err_new(ERR_UNSUPPORTED, "too many places to be kept");
	double build_ms = now_ms() - begun, built_mb = peak_mb() - before_mb;
	try(measure_load(file, &table, &inputs, &load_ms));
	printf("%s: built %.1f ms, loaded %.2f ms, %zu rows (%llu before merging), %zu rules, "
	       "%zu pages, %.1f MB, made from %zu places, peak +%.1f MB\n",
		path, build_ms, load_ms, table.rows.len, (unsigned long long)table.statistics.rows,
		table.rules.len, table.pages.len, table_mb(&table), inputs.places.len, built_mb);
	unwind_table_deinit(&table);
	table_inputs_deinit(&inputs);
	elf_file_destroy(file);
	return NULL;
}

int main(int argc, char **argv)
{
	int failed = 0;
	for (int i = 1; i < argc; i++) {
		fflush(stdout);
		pid_t child = fork();
		if (!child) {
			struct err *err = measure(argv[i]);
			if (err)
				printf("%s: %s\n", argv[i], err_message(err));
			exit(err != NULL);
		}
		int status;
		waitpid(child, &status, 0);
		failed |= status != 0;
	}
	return failed;
}
