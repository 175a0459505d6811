#include "record/unwind/runtime_forecast.h"

#include <fcntl.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/elf/elf_file.h"
#include "record/runtime/runtime.h"
#include "record/task/program_files.h"

enum {
	MAX_NAMES_BYTES = 16 << 20,
};

/* What cannot be read has no runtime that frames could be found of. */
static uint32_t runtimes_of_file(int fd)
{
	struct elf_file *elf;
	struct runtime_file file = {0};
	struct err *err = elf_file_open(fd, &elf);
	if (!err) {
		err = runtime_detect(elf, &file);
		elf_file_destroy(elf);
	}
	bool is_found = !err && file.row.kind != RUNTIME_NONE;
	err_destroy(err);
	return is_found ? 1U << file.row.kind : 0;
}

struct forecast {
	uint32_t runtimes;
	bool may_start_others; /* programs, or libraries, that the command line does not name */
};

/* The C library itself, which everything maps. */
static bool is_of_c_library(const char *path)
{
	static const char *const begins[] = {"libc.", "libc-", "ld-", "libpthread", "libdl."};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static bool runtime_forecast_has_name(const uint8_t *names, size_t len, const char *name)
{
	for (size_t at = 0; at < len; at += strnlen((const char *)names + at, len - at) + 1)
		if (strncmp((const char *)names + at, name, len - at) == 0)
			return true;
	return false;
}

/* By the names that it links with: without one of these it asks no C library for it. */
static bool may_start_programs(struct elf_file *elf)
{
	static const char *const starts[] = {"execve", "execv", "execvp", "execvpe", "execl",
		"execlp", "execle", "fexecve", "posix_spawn", "posix_spawnp", "system", "popen",
		"dlopen", "dlmopen"};
	const struct elf_section *section = elf_file_find_section(elf, ".dynstr");
	CLEANUP_FREE uint8_t *names = NULL;
	if (!section || section->size > MAX_NAMES_BYTES)
		return true; /* linked statically, or it is not known */
	struct err *err = elf_file_read(elf, section->offset, section->size, &names);
	bool is_found = err != NULL;
	err_destroy(err);
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts) && !is_found; i++)
		is_found = runtime_forecast_has_name(names, section->size, starts[i]);
	return is_found;
}

static void runtime_forecast_add_program_file(void *context, const char *path)
{
	struct forecast *forecast = context;
	struct elf_file *elf;
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return;
	forecast->runtimes |= runtimes_of_file(fd);
	if (forecast->may_start_others || is_of_c_library(path))
		return;
	struct err *err = elf_file_open(fd, &elf);
	if (!err) {
		forecast->may_start_others = may_start_programs(elf);
		elf_file_destroy(elf);
	}
	err_destroy(err); /* a script, whose interpreter is looked at as well */
}

uint32_t runtime_forecast_command(const char *program)
{
	struct forecast forecast = {0};
	program_files_each(program, runtime_forecast_add_program_file, &forecast);
	return forecast.may_start_others ? runtimes_all() : forecast.runtimes;
}

uint32_t runtime_forecast_session(const struct session_options *options)
{
	uint32_t runtimes = 0;
	if (options->call_graph == SESSION_CALL_GRAPH_FP)
		return 0;
	if (session_is_system_wide(options) || options->nr_pids)
		runtimes = runtimes_with_frames();
	if (options->target == SESSION_COMMAND)
		runtimes = runtime_forecast_command(options->argv[0]);
	return runtimes & runtimes_with_frames() & ~options->unwanted_runtimes;
}
