#include "record/script/script_probes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/elf/elf_stapsdt.h"
#include "record/event/usdt_argument.h"
#include "record/host/proc.h"
#include "record/script/script_probe_base.h"
#include "record/task/program_files.h"

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
	enum runtime_kind runtime;
	enum script_probe_owner owner;
	uint8_t flags;
	const char *commands[MAX_COMMANDS]; /* that PATH may have */
	struct event events[MAX_EVENTS];
	const char *variable; /* of the environment, without which they are silent; or NULL */
	const char *advice;   /* where they are silent, */
	const char *absence;  /* where there are none */
} languages[] = {
	{
		.name = "php",
		.provider = "php",
		.separator = "::",
		.runtime = RUNTIME_PHP,
		.owner = SCRIPT_PROBE_IN_FRAME, /* dtrace_execute_ex() calls execute_ex() */
		.flags = SHADOW_IS_ALONE,
		.commands = {"php"},
		.events = {{"function__entry", false, {0, 1, 3, 4}, 2},
			{"function__return", true, {0, 1, 3, 4}, 2}},
		.variable = "USE_ZEND_DTRACE", /* a number: zend_startup() of Zend/zend.c */
		.absence = "nothing that was profiled maps a PHP with USDT probes",
		.advice = "PHP's probes tell of functions only in processes with "
			  "USE_ZEND_DTRACE=1 in their environment",
	},
	{
		.name = "python",
		.provider = "python",
		.separator = "",
		.runtime = RUNTIME_PYTHON,
		.owner = SCRIPT_PROBE_IN_CALLEE, /* dtrace_function_entry() */
		.commands = {"python3", "python"},
		.events = {{"function__entry", false, {1, 0, NONE, NONE}, 2},
			{"function__return", true, {1, 0, NONE, NONE}, 2}},
		.absence = "nothing that was profiled maps a Python with USDT probes",
		/* github.com/python/cpython, issue 98894 */
		.advice = "Python's probes are whole until 3.10; 3.11 tells of functions entered "
			  "only while sys.setprofile() or sys.settrace() is in use",
	},
	{
		.name = "ruby",
		.provider = "ruby",
		.separator = "#",
		.runtime = RUNTIME_RUBY,
		.owner = SCRIPT_PROBE_IN_CALLEE, /* vm_trace() and what it calls */
		.commands = {"ruby"},
		.events = {{"method__entry", false, {1, 2, 0, NONE}, 3},
			{"method__return", true, {1, 2, 0, NONE}, 3},
			{"cmethod__entry", false, {1, NONE, 0, NONE}, NONE},
			{"cmethod__return", true, {1, NONE, 0, NONE}, NONE}},
		.absence = "nothing that was profiled maps a Ruby with USDT probes",
		/* bugs.ruby-lang.org, 14104 and 14582; vm_trace() of vm_insnhelper.c */
		.advice = "Ruby since 2.5 tells of methods, but those in C, only while a "
			  "TracePoint is enabled: TracePoint.new(:call, :return) {}.enable",
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

static void script_probes_add_open_file(void *context, const char *path)
{
	script_probes_add_file(context, path);
}

/* One that was named, and its libraries. */
static struct err *add_named(
	struct script_probes *probes, const char *path, size_t len, const struct language *language)
{
	CLEANUP_FREE char *name = mem_strndup(path, len);
	if (access(name, R_OK))
		return err_sys(errno, "cannot open %s", name);
	script_probes_add_file(probes, name);
	program_files_each(name, script_probes_add_open_file, probes);
	vec_each(&probes->files, file)
		if (file->runtimes >> language->runtime & 1)
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
		probes->runtimes |= 1U << language->runtime;
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
	const struct machine *machine = machine_native();
	for (int i = 0; i < SHADOW_TEXTS; i++)
		if (event->text[i] != NONE && !usdt_argument_parse(machine, arguments,
						      (unsigned)event->text[i], &place->text[i]))
			return false;
	return event->line == NONE ||
	       usdt_argument_parse(machine, arguments, (unsigned)event->line, &place->line);
}

static bool has_place(const struct script_probes *probes, size_t first, uint64_t offset)
{
	for (size_t i = first; i < probes->places.len; i++)
		if (probes->places.data[i].offset == offset)
			return true;
	return false;
}

static void script_probes_add_place(struct script_probes *probes, size_t first,
	const struct language *language, const struct event *event,
	const struct elf_stapsdt_probe *probe)
{
	struct script_probe place = {
		.offset = probe->offset,
		.semaphore_offset = probe->semaphore_offset,
		.shadow = {.runtime = (unsigned char)language->runtime, .flags = language->flags},
	};
	if (has_place(probes, first, probe->offset))
		return;
	if (probes->places.len + 1 >= SHADOW_MAX_PLACES) {
		probes->misses_files = true;
		return;
	}
	place.shadow.flags |= event->is_return ? SHADOW_IS_RETURN : 0;
	size_t len = strlen(language->separator);
	memcpy(place.shadow.separator, language->separator,
		len < sizeof(place.shadow.separator) ? len : 0);
	place.event = (unsigned)(event - language->events);
	if (take_arguments(event, probe->arguments, &place.shadow))
		vec_push(&probes->places, place);
}

static void add_places(struct script_probes *probes, size_t first, const struct language *language,
	const struct elf_stapsdt_probe *probe)
{
	for (int i = 0; i < MAX_EVENTS && language->events[i].name; i++)
		if (strcmp(probe->name, language->events[i].name) == 0)
			script_probes_add_place(
				probes, first, language, &language->events[i], probe);
}

/* The languages whose probes the file has. */
static uint32_t script_probes_scan(struct script_probes *probes, struct elf_file *elf)
{
	uint32_t runtimes = 0;
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
			if (probes->runtimes >> language->runtime & 1 &&
				strcmp(probe->provider, language->provider) == 0)
				add_places(probes, first, language, probe);
		size_t count = probes->places.len - first;
		if (!count)
			continue;
		runtimes |= 1U << language->runtime;
		script_probe_base(elf, language->owner, probes->places.data + first, count);
		for (size_t j = first; j < probes->places.len; j++)
			probes->places.data[j].shadow.group += (unsigned char)first;
	}
	elf_stapsdt_deinit(&list);
	return runtimes;
}

static uint64_t mtime_ns(const struct stat *file_stat)
{
	return clock_from_timespec(file_stat->st_mtim);
}

/* NULL: it has not been looked at. */
static const struct script_probe_file *script_probes_find_file(
	const struct script_probes *probes, const struct stat *file_stat)
{
	vec_each(&probes->files, file)
		if (file->device == file_stat->st_dev && file->inode == file_stat->st_ino &&
			file->mtime_ns == mtime_ns(file_stat))
			return file;
	return NULL;
}

/* Takes the descriptor. The languages whose probes the file has; of one that is not ELF, none. */
static uint32_t add_open_file(struct script_probes *probes, int file_fd, const char *path)
{
	CLEANUP_FD int fd = file_fd;
	struct stat file_stat;
	struct elf_file *elf;
	if (fstat(fd, &file_stat))
		return 0;
	const struct script_probe_file *known = script_probes_find_file(probes, &file_stat);
	if (known)
		return known->runtimes;
	struct err *err = elf_file_open(fd, &elf);
	if (err) {
		err_destroy(err);
		return 0;
	}
	size_t first = probes->places.len;
	struct script_probe_file file = {
		.path = mem_strdup(path),
		.fd = -1,
		.device = file_stat.st_dev,
		.inode = file_stat.st_ino,
		.mtime_ns = mtime_ns(&file_stat),
		.runtimes = script_probes_scan(probes, elf),
	};
	elf_file_destroy(elf);
	if (file.runtimes)
		file.fd = steal_fd(fd);
	for (size_t i = first; i < probes->places.len; i++) {
		probes->places.data[i].path = file.path;
		probes->places.data[i].file_fd = file.fd;
	}
	vec_push(&probes->files, file);
	return file.runtimes;
}

static uint32_t add_file_at(struct script_probes *probes, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? 0 : add_open_file(probes, fd, path);
}

void script_probes_add_file(struct script_probes *probes, const char *path)
{
	add_file_at(probes, path);
}

/* What has none is opened once. What has some, each time: of one build there may be many files. */
void script_probes_add_object(struct script_probes *probes, const struct object *object,
	const struct object_location *where)
{
	while (probes->have_none.len <= object->serial)
		vec_push(&probes->have_none, false);
	if (probes->have_none.data[object->serial])
		return;
	int fd = object_open_any(object, where);
	if (fd >= 0 && !add_open_file(probes, fd, object->path))
		probes->have_none.data[object->serial] = true;
}

/* ---- files of programs ---- */

struct program {
	struct script_probes *probes;
	uint32_t pid;      /* 0: a command */
	uint32_t runtimes; /* of whom there are probes in its files */
};

static void script_probes_add_program_file(void *context, const char *path)
{
	struct program *program = context;
	program->runtimes |= add_file_at(program->probes, path);
}

/* The very file, also when another is at its path by now; as the process, which may be contained,
 * sees it. */
static bool add_mapping(void *context, const struct proc_mapping *mapping)
{
	struct program *program = context;
	const struct object object = {
		.path = (char *)mapping->path, .files = program->probes->target_files};
	struct object_location where = {program->pid, mapping->start, mapping->end};
	int fd = mapping->path[0] == '/' ? object_open_any(&object, &where) : -1;
	if (fd >= 0)
		program->runtimes |= add_open_file(program->probes, fd, mapping->path);
	return true;
}

/* The variable's number; -1: it is not known. */
static int read_variable(const struct program *program, const char *name)
{
	CLEANUP(str_deinit) struct str path = {0}, text = {0};
	const char *own = getenv(name);
	if (!program->pid)
		return own ? atoi(own) : 0;
	str_printf(&path, "/proc/%u/environ", program->pid);
	if (!proc_read_file(str_text(&path), &text) || !text.len)
		return -1;
	const char *at = str_text(&text), *end = at + text.len;
	for (size_t len = strlen(name); at < end; at += strlen(at) + 1)
		if (strncmp(at, name, len) == 0 && at[len] == '=')
			return atoi(at + len + 1);
	return 0;
}

static struct err *check_environment(const struct program *program)
{
	for (size_t i = 0; i < NR_LANGUAGES; i++) {
		const char *name = languages[i].variable;
		if (!name || !(program->runtimes >> languages[i].runtime & 1) ||
			read_variable(program, name) != 0)
			continue;
		CLEANUP(str_deinit) struct str who = {0};
		if (program->pid)
			str_printf(&who, "that of process %u", program->pid);
		return err_new(ERR_USAGE, "%s; it is not in %s", languages[i].advice,
			program->pid ? str_text(&who) : "this one");
	}
	return NULL;
}

struct err *script_probes_add_command(struct script_probes *probes, const char *name)
{
	struct program program = {.probes = probes};
	if (name)
		program_files_each(name, script_probes_add_program_file, &program);
	for (size_t i = 0; i < NR_LANGUAGES; i++)
		for (int j = 0; probes->runtimes >> languages[i].runtime & 1 && j < MAX_COMMANDS;
			j++)
			if (languages[i].commands[j])
				program_files_each(languages[i].commands[j],
					script_probes_add_open_file, probes);
	return check_environment(&program);
}

struct err *script_probes_add_process(struct script_probes *probes, uint32_t pid)
{
	struct program program = {probes, pid, 0};
	proc_each_mapping(pid, NULL, add_mapping, &program);
	return check_environment(&program);
}

/* A program that has no such probes is not what the user asked for by name. */
void script_probes_add_all_processes(struct script_probes *probes)
{
	struct proc_pids pids = {0};
	proc_list_pids(&pids);
	for (size_t i = 0; i < pids.len; i++)
		err_destroy(script_probes_add_process(probes, pids.data[i]));
	vec_deinit(&pids);
}

static bool is_absent(const struct script_probes *probes, const struct language *language)
{
	vec_each(&probes->files, file)
		if (file->runtimes >> language->runtime & 1)
			return false;
	return true;
}

struct err *script_probes_check(const struct script_probes *probes)
{
	for (size_t i = 0; i < NR_LANGUAGES; i++) {
		const struct language *language = &languages[i];
		if (probes->runtimes >> language->runtime & 1 && is_absent(probes, language))
			return err_new(ERR_USAGE,
				"no %s with USDT probes %s:%s was found: no target maps one; if "
				"one "
				"will, give --usdt-stacks %s:PATH",
				language->name, language->provider, language->events[0].name,
				language->name);
	}
	return NULL;
}

/* ---- what was heard ---- */

void script_probes_sum(const struct script_probes *probes, const struct shadow_counters *counted,
	uint64_t *entries, uint64_t *returns)
{
	*entries = *returns = 0;
	for (size_t i = 0; i < probes->places.len; i++) {
		const struct shadow_place *place = &probes->places.data[i].shadow;
		*(place->flags & SHADOW_IS_RETURN ? returns : entries) += counted->hits[i + 1];
	}
}

/* Few functions are entered for those that are left; those that are still running do not count. */
static bool is_silent(const struct script_probes *probes, const struct language *language,
	const struct shadow_counters *counted)
{
	enum {
		MANY = 8
	};
	uint64_t heard[MAX_EVENTS] = {0};
	for (size_t i = 0; i < probes->places.len; i++) {
		const struct script_probe *place = &probes->places.data[i];
		if (place->shadow.runtime == language->runtime)
			heard[place->event] += counted->hits[i + 1];
	}
	return heard[0] * MANY <= heard[1];
}

void script_probes_advise(const struct script_probes *probes, const struct shadow_counters *counted,
	const char **ret, size_t max)
{
	size_t count = 0;
	for (size_t i = 0; i < NR_LANGUAGES && count < max; i++) {
		const struct language *language = &languages[i];
		if (!(probes->runtimes >> language->runtime & 1))
			continue;
		if (is_absent(probes, language))
			ret[count++] = language->absence;
		else if (is_silent(probes, language, counted))
			ret[count++] = language->advice;
	}
	if (probes->misses_files && count < max)
		ret[count] = "of some files with probes of functions these are not in use: they "
			     "are too many, or cannot be placed";
}

void script_probes_deinit(struct script_probes *probes)
{
	vec_each(&probes->files, file) {
		mem_free(file->path);
		mem_close_fd(&file->fd);
	}
	vec_deinit(&probes->files);
	vec_deinit(&probes->have_none);
	vec_deinit(&probes->places);
}
