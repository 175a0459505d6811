#include "record/script_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/vm/vm.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/elf/elf_stapsdt.h"
#include "record/proc.h"
#include "record/program_files.h"
#include "record/script_probe_base.h"
#include "record/usdt_argument.h"

enum {
	NONE = -1,
	MAX_EVENTS = 4,
	MAX_COMMANDS = 3,
};

/*
 * Sources: Include/pydtrace.d of CPython 3.6 to 3.11; probes.d of Ruby 3.1; Zend/zend_dtrace.d of
 * PHP 8.2. Ruby tells of a C method where it was called, which is no line of its own.
 */
struct event {
	const char *name;
	bool is_return;
	signed char text[SHADOW_TEXTS], line; /* numbers of arguments */
};

static const struct language {
	const char *name, *provider, *separator;
	enum vm_kind vm;
	enum script_probe_owner owner;
	uint8_t flags;
	const char *commands[MAX_COMMANDS]; /* that PATH may have */
	struct event events[MAX_EVENTS];
} languages[] = {
	{
		.name = "php",
		.provider = "php",
		.separator = "::",
		.vm = VM_PHP,
		.owner = SCRIPT_PROBE_IN_FRAME, /* dtrace_execute_ex() calls execute_ex() */
		.flags = SHADOW_IS_ALONE,
		.commands = {"php"},
		.events = {{"function__entry", false, {0, 1, 3, 4}, 2},
			{"function__return", true, {0, 1, 3, 4}, 2}},
	},
	{
		.name = "python",
		.provider = "python",
		.separator = "",
		.vm = VM_PYTHON,
		.owner = SCRIPT_PROBE_IN_CALLEE, /* dtrace_function_entry() */
		.commands = {"python3", "python"},
		.events = {{"function__entry", false, {1, 0, NONE, NONE}, 2},
			{"function__return", true, {1, 0, NONE, NONE}, 2}},
	},
	{
		.name = "ruby",
		.provider = "ruby",
		.separator = "#",
		.vm = VM_RUBY,
		.owner = SCRIPT_PROBE_IN_CALLEE, /* vm_trace() and what it calls */
		.commands = {"ruby"},
		.events = {{"method__entry", false, {1, 2, 0, NONE}, 3},
			{"method__return", true, {1, 2, 0, NONE}, 3},
			{"cmethod__entry", false, {1, NONE, 0, NONE}, NONE},
			{"cmethod__return", true, {1, NONE, 0, NONE}, NONE}},
	},
};

enum {
	NR_LANGUAGES = sizeof(languages) / sizeof(*languages)
};

/* ---- what is wanted ---- */

static const struct language *find_language(const char *name, size_t len)
{
	for (size_t i = 0; i < NR_LANGUAGES; i++)
		if (strlen(languages[i].name) == len && memcmp(languages[i].name, name, len) == 0)
			return &languages[i];
	return NULL;
}

static struct err *unknown_language(const char *text, size_t len)
{
	CLEANUP(str_deinit) struct str known = {0};
	for (size_t i = 0; i < NR_LANGUAGES; i++)
		str_printf(&known, "%s%s", i ? ", " : "", languages[i].name);
	return err_new(ERR_USAGE, "\"%.*s\" has no probes that are known here: %s", (int)len, text,
		str_text(&known));
}

static void add_file(void *context, const char *path)
{
	script_probes_add_file(context, path);
}

/* One that was named, and its libraries. */
static struct err *add_named(struct script_probes *probes, const char *path, size_t len,
	const struct language *language)
{
	CLEANUP_FREE char *name = mem_strndup(path, len);
	if (access(name, R_OK))
		return err_sys(errno, "cannot open %s", name);
	script_probes_add_file(probes, name);
	program_files_each(name, add_file, probes);
	vec_each(&probes->files, file)
		if (file->vms >> language->vm & 1)
			return NULL;
	return err_new(ERR_USAGE,
		"%s has no USDT probes %s:%s: it was built without them (ebprof record --list-usdt "
		"shows those that a file has)",
		name, language->provider, language->events[0].name);
}

struct err *script_probes_parse(const char *text, struct script_probes *probes)
{
	for (;; text++) {
		size_t len = strcspn(text, ",:");
		const struct language *language = find_language(text, len);
		if (!language)
			return unknown_language(text, len);
		probes->vms |= 1U << language->vm;
		text += len;
		if (*text == ':') {
			size_t path_len = strcspn(++text, ",");
			try(add_named(probes, text, path_len, language));
			text += path_len;
		}
		if (!*text)
			return NULL;
	}
}

/* ---- the places of a file ---- */

static bool take_arguments(
	const struct event *event, const char *arguments, struct shadow_place *place)
{
	for (int i = 0; i < SHADOW_TEXTS; i++)
		if (event->text[i] != NONE && !usdt_argument_parse(arguments,
						      (unsigned)event->text[i], &place->text[i]))
			return false;
	return event->line == NONE ||
	       usdt_argument_parse(arguments, (unsigned)event->line, &place->line);
}

static bool has_place(const struct script_probes *probes, size_t first, uint64_t offset)
{
	for (size_t i = first; i < probes->places.len; i++)
		if (probes->places.data[i].offset == offset)
			return true;
	return false;
}

static void add_place(struct script_probes *probes, size_t first, const struct language *language,
	const struct event *event, const struct elf_stapsdt_probe *probe)
{
	struct script_probe place = {
		.offset = probe->offset,
		.semaphore_offset = probe->semaphore_offset,
		.shadow = {.vm = (unsigned char)language->vm, .flags = language->flags},
	};
	if (probes->places.len + 1 >= SHADOW_MAX_PLACES || has_place(probes, first, probe->offset))
		return;
	place.shadow.flags |= event->is_return ? SHADOW_IS_RETURN : 0;
	size_t len = strlen(language->separator);
	memcpy(place.shadow.separator, language->separator,
		len < sizeof(place.shadow.separator) ? len : 0);
	if (take_arguments(event, probe->arguments, &place.shadow))
		vec_push(&probes->places, place);
}

static void add_places(struct script_probes *probes, size_t first, const struct language *language,
	const struct elf_stapsdt_probe *probe)
{
	for (int i = 0; i < MAX_EVENTS && language->events[i].name; i++)
		if (strcmp(probe->name, language->events[i].name) == 0)
			add_place(probes, first, language, &language->events[i], probe);
}

/* The languages whose probes the file has. */
static uint32_t scan(struct script_probes *probes, struct elf_file *elf)
{
	uint32_t vms = 0;
	struct elf_stapsdt list;
	struct err *err = elf_stapsdt_read(elf, &list);
	if (err) {
		err_destroy(err); /* a file that is not asked for by name */
		return 0;
	}
	for (size_t i = 0; i < NR_LANGUAGES; i++) {
		const struct language *language = &languages[i];
		size_t first = probes->places.len;
		vec_each(&list.probes, probe)
			if (probes->vms >> language->vm & 1 &&
				strcmp(probe->provider, language->provider) == 0)
				add_places(probes, first, language, probe);
		size_t count = probes->places.len - first;
		if (!count)
			continue;
		vms |= 1U << language->vm;
		script_probe_base(elf, language->owner, probes->places.data + first, count);
		for (size_t j = first; j < probes->places.len; j++)
			probes->places.data[j].shadow.group += (unsigned char)first;
	}
	elf_stapsdt_deinit(&list);
	return vms;
}

static bool is_known(const struct script_probes *probes, const struct stat *file_stat)
{
	vec_each(&probes->files, file)
		if (file->device == file_stat->st_dev && file->inode == file_stat->st_ino)
			return true;
	return false;
}

void script_probes_add_file(struct script_probes *probes, const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat file_stat;
	struct elf_file *elf;
	if (fd < 0 || fstat(fd, &file_stat) || is_known(probes, &file_stat))
		return;
	struct err *err = elf_file_open(fd, &elf);
	if (err) {
		err_destroy(err);
		return;
	}
	size_t first = probes->places.len;
	struct script_probe_file file = {
		.path = mem_strdup(path),
		.device = file_stat.st_dev,
		.inode = file_stat.st_ino,
		.vms = scan(probes, elf),
	};
	for (size_t i = first; i < probes->places.len; i++)
		probes->places.data[i].path = file.path;
	vec_push(&probes->files, file);
	elf_file_destroy(elf);
}

/* ---- files of programs ---- */

void script_probes_add_command(struct script_probes *probes, const char *name)
{
	if (name)
		program_files_each(name, add_file, probes);
	for (size_t i = 0; i < NR_LANGUAGES; i++)
		for (int j = 0; probes->vms >> languages[i].vm & 1 && j < MAX_COMMANDS; j++)
			if (languages[i].commands[j])
				program_files_each(languages[i].commands[j], add_file, probes);
}

struct process_files {
	struct script_probes *probes;
	uint32_t pid;
};

/* By the way that the process sees it: it may live in a container. */
static void add_mapping(void *context, const struct proc_mapping *mapping)
{
	const struct process_files *it = context;
	CLEANUP(str_deinit) struct str path = {0};
	if (mapping->path[0] != '/')
		return;
	str_printf(&path, "/proc/%u/root%s", it->pid, mapping->path);
	script_probes_add_file(it->probes, str_text(&path));
}

void script_probes_add_process(struct script_probes *probes, uint32_t pid)
{
	struct process_files it = {probes, pid};
	proc_each_mapping(pid, add_mapping, &it);
}

void script_probes_add_all_processes(struct script_probes *probes)
{
	struct proc_pids pids = {0};
	proc_list_pids(&pids);
	for (size_t i = 0; i < pids.len; i++)
		script_probes_add_process(probes, pids.data[i]);
	vec_deinit(&pids);
}

struct err *script_probes_check(const struct script_probes *probes)
{
	for (size_t i = 0; i < NR_LANGUAGES; i++) {
		const struct language *language = &languages[i];
		bool is_there = !(probes->vms >> language->vm & 1);
		vec_each(&probes->files, file)
			is_there |= file->vms >> language->vm & 1;
		if (!is_there)
			return err_new(ERR_USAGE,
				"no %s with USDT probes %s:%s was found: what is to be profiled "
				"maps none; if it will, give --usdt-stacks %s:PATH",
				language->name, language->provider, language->events[0].name,
				language->name);
	}
	return NULL;
}

void script_probes_deinit(struct script_probes *probes)
{
	vec_each(&probes->files, file)
		mem_free(file->path);
	vec_deinit(&probes->files);
	vec_deinit(&probes->places);
}
