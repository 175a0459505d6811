#include "record/runtime_forecast.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/elf/elf_file.h"
#include "record/proc.h"
#include "record/program_files.h"
#include "record/runtime/runtime.h"
#include "record/target_file.h"

enum {
	MAX_WORDS = 16, /* of a command; programs are named by the first of them */
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

static void add_program_file(void *context, const char *path)
{
	uint32_t *runtimes = context;
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0)
		*runtimes |= runtimes_of_file(fd);
}

/* A word that is no option nor a variable may name a program; of a shell's -c each one in it. */
static void add_words(const char *text, int *nr_words, uint32_t *runtimes)
{
	static const char between[] = " \t\n;&|()'\"";
	CLEANUP_FREE char *copy = mem_strdup(text);
	char *rest;
	for (char *word = strtok_r(copy, between, &rest); word && *nr_words < MAX_WORDS;
		word = strtok_r(NULL, between, &rest)) {
		++*nr_words;
		if (word[0] != '-' && !strchr(word, '='))
			program_files_each(word, add_program_file, runtimes);
	}
}

uint32_t runtime_forecast_command(char *const *argv)
{
	uint32_t runtimes = 0;
	int nr_words = 0;
	program_files_each(argv[0], add_program_file, &runtimes);
	for (int i = 1; argv[i] && nr_words < MAX_WORDS; i++)
		add_words(argv[i], &nr_words, &runtimes);
	return runtimes;
}

struct process {
	struct target_files *files;
	uint32_t pid, runtimes;
};

static bool add_mapping(void *context, const struct proc_mapping *mapping)
{
	struct process *process = context;
	struct stat file_stat;
	if (mapping->path[0] != '/')
		return true;
	CLEANUP_FD int fd = target_file_open_mapped(
		process->files, process->pid, mapping->start, mapping->end, &file_stat);
	if (fd >= 0)
		process->runtimes |= runtimes_of_file(fd);
	return true;
}

uint32_t runtime_forecast_process(struct target_files *files, uint32_t pid)
{
	struct process process = {.files = files, .pid = pid};
	proc_each_mapping(pid, NULL, add_mapping, &process);
	return process.runtimes;
}
