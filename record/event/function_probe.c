#include "record/event/function_probe.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/base/nearest.h"
#include "format/base/path.h"
#include "format/base/str.h"
#include "format/elf/elf_symbols.h"
#include "format/elf/go_pclntab.h"
#include "record/event/probe_place.h"
#include "record/event/source_line.h"
#include "record/task/program_files.h"

/* What a user wrote. */
struct probe_words {
	char *path;
	const char *place; /* a function, or FILE:LINE */
	char *file;        /* of the line, if it is one; else NULL, 0 */
	uint32_t line;
};

/* False: it is in no segment of the file. */
static bool offset_of_address(const struct elf_file *elf, uint64_t address, uint64_t *ret)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t at = address - segments[i].vaddr;
		if (address < segments[i].vaddr || at >= segments[i].filesz)
			continue;
		*ret = segments[i].offset + at;
		return true;
	}
	return false;
}

/* `entry`: of a function, or of a line's code, which may be the first of one. */
static void add_offset(struct function_probe *probe, struct elf_file *elf, uint64_t entry)
{
	uint64_t offset = probe_place_once(elf, entry);
	vec_each(&probe->offsets, it)
		if (*it == offset)
			return;
	vec_push(&probe->offsets, offset);
}

static bool is_like_function(const char *wanted, const char *name)
{
	return strstr(name, wanted) && !strstr(name, "@plt");
}

/* By distance, else the shortest name that has the wanted one in it. */
static struct err *no_function(struct elf_file *elf, const struct function_probe *probe,
	const struct elf_symbols *symbols, const char *function)
{
	struct nearest nearest = nearest_to(function);
	const char *like = NULL;
	vec_each(&symbols->symbols, symbol) {
		const char *name = elf_symbols_name(symbols, symbol);
		nearest_offer(&nearest, name);
		if (is_like_function(function, name) && (!like || strlen(name) < strlen(like)))
			like = name;
	}
	const char *best = nearest.word ? nearest.word : like;
	if (best)
		return err_new(ERR_USAGE, "%s has no function \"%s\": did you mean %s?",
			probe->path, function, best);
	if (elf_file_find_section(elf, ".symtab"))
		return err_new(ERR_USAGE,
			"%s has no function \"%s\": there is none, or the compiler has put it "
			"into all of its callers",
			probe->path, function);
	return err_new(ERR_USAGE,
		"%s has no function \"%s\": it has names of %zu functions, the others were "
		"stripped",
		probe->path, function, symbols->symbols.len);
}

static struct err *find_named_function(
	struct elf_file *elf, const char *function, struct function_probe *probe)
{
	struct elf_symbols symbols = {0};
	bool is_chosen_late = false;
	try(elf_symbols_read(elf, &symbols));
	vec_each(&symbols.symbols, symbol) {
		uint64_t offset;
		if (strcmp(elf_symbols_name(&symbols, symbol), function) != 0)
			continue;
		if (symbol->type == STT_GNU_IFUNC)
			is_chosen_late = true;
		else if (offset_of_address(elf, symbol->address, &offset))
			add_offset(probe, elf, offset);
	}
	struct err *err = NULL;
	if (!probe->offsets.len && is_chosen_late)
		err = err_new(ERR_USAGE,
			"%s: %s is one of several functions, which the loader chooses (IFUNC): "
			"name that, __%s_avx2 or the like",
			probe->path, function, function);
	else if (!probe->offsets.len)
		err = no_function(elf, probe, &symbols, function);
	elf_symbols_deinit(&symbols);
	return err;
}

static struct err *find_line(
	struct elf_file *elf, const struct probe_words *words, struct function_probe *probe)
{
	struct source_line line = {0};
	try(source_line_find(elf, probe->path, words->file, words->line, &line));
	vec_each(&line.addresses, address) {
		uint64_t offset;
		if (offset_of_address(elf, *address, &offset))
			add_offset(probe, elf, offset);
	}
	source_line_deinit(&line);
	if (probe->offsets.len)
		return NULL;
	return err_new(ERR_USAGE, "%s: its debug information has %s:%u where the file has nothing",
		probe->path, words->file, words->line);
}

static struct err *find_in_file(
	const struct probe_words *words, bool needs_return, struct function_probe *probe)
{
	CLEANUP_FD int fd = open(probe->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct elf_file *elf;
	if (fd < 0)
		return err_sys(errno, "cannot open %s", probe->path);
	try(err_wrap(elf_file_open(fd, &elf), "%s", probe->path));
	struct err *err;
	if (needs_return && go_pclntab_is_in(elf))
		err = err_new(ERR_USAGE,
			"%s is a Go program: it moves its stacks, and a probe of a return would "
			"crash it; uprobe:PATH:FUNCTION has its calls",
			probe->path);
	else if (words->line)
		err = find_line(elf, words, probe);
	else
		err = find_named_function(elf, words->place, probe);
	elf_file_destroy(elf);
	return err;
}

static void probe_words_deinit(struct probe_words *words)
{
	mem_free(words->path);
	mem_free(words->file);
}

/* A line's number; 0: it is none. */
static uint32_t number_of_line(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	return *text >= '1' && *text <= '9' && !*end && number <= INT32_MAX ? (uint32_t)number : 0;
}

/* From the right: a path may hold colons, too. */
static struct err *split_words(const char *text, struct probe_words *ret)
{
	const char *colon = strrchr(text, ':');
	if (!colon || colon == text || !colon[1])
		return err_new(ERR_USAGE, "\"%s\" is not PATH:FUNCTION", text);
	struct probe_words words = {.line = number_of_line(colon + 1), .place = colon + 1};
	words.path = mem_strndup(text, (size_t)(colon - text));
	char *file = words.line ? strrchr(words.path, ':') : NULL;
	if (words.line && (!file || file == words.path || !file[1])) {
		mem_free(words.path);
		return err_new(ERR_USAGE, "\"%s\" is not PATH:FILE:LINE", text);
	}
	if (file) {
		*file = 0;
		words.file = mem_strdup(file + 1);
		words.place = text + (file + 1 - words.path);
	}
	*ret = words;
	return NULL;
}

static struct err *find_probe(
	const char *kind, const struct probe_words *words, struct function_probe *ret)
{
	bool needs_return = strcmp(kind, "uprobe") != 0;
	if (words->line && needs_return)
		return err_new(ERR_USAGE,
			"a line does not return: uprobe:%s:%s has each time that it is come to",
			words->path, words->place);
	struct function_probe probe = {.path = program_files_path(words->path)};
	if (!probe.path)
		return err_sys(errno, "cannot open %s", words->path);
	struct str event = {0};
	str_printf(&event, "%s:%s:%s", kind, path_last_part(probe.path), words->place);
	probe.event = str_steal(&event);
	struct err *err = find_in_file(words, needs_return, &probe);
	if (err)
		function_probe_deinit(&probe);
	else
		*ret = probe;
	return err;
}

struct err *function_probe_find(const char *kind, const char *text, struct function_probe *ret)
{
	struct probe_words words = {0};
	try(split_words(text, &words));
	struct err *err = find_probe(kind, &words, ret);
	probe_words_deinit(&words);
	return err;
}

void function_probe_deinit(struct function_probe *probe)
{
	free(probe->path); /* realpath()'s */
	mem_free(probe->event);
	vec_deinit(&probe->offsets);
}
