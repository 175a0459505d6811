#include "record/task/kernel.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/bisect.h"
#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/elf_note.h"
#include "record/host/kallsyms.h"
#include "record/host/proc.h"

enum {
	MODULES_INTERVAL_NS = 1000 * 1000 * 1000,
	MAX_PROGRAMS = 1 << 16,
};

/* /sys/kernel/notes and the notes of modules are raw ELF note sections. */
static void read_build_id(const char *path, struct layout_object *object)
{
	CLEANUP(str_deinit) struct str notes = {0};
	if (!proc_read_file(path, &notes))
		return;
	struct bytes_cursor cursor = bytes_cursor(str_text(&notes), notes.len);
	for (struct elf_note note; elf_note_next(&cursor, &note);) {
		if (!elf_note_is(&note, ELF_NOTE_GNU, NT_GNU_BUILD_ID) ||
			note.desc_len > LAYOUT_BUILD_ID_MAX_BYTES)
			continue;
		memcpy(object->build_id, note.desc, note.desc_len);
		object->build_id_len = note.desc_len;
		return;
	}
}

/* ---- the kernel itself ---- */

static void load_base(struct kernel *kernel)
{
	CLEANUP_FD int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	kernel->is_hidden = true;
	if (fd >= 0)
		kernel->object->info.base = kallsyms_read_base(fd, &kernel->is_hidden);
}

/* ---- modules ---- */

static int compare_modules(const void *a, const void *b)
{
	const struct kernel_module *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* NULL: the address is in none. */
static struct kernel_module *find_module(const struct kernel *kernel, uint64_t address)
{
	struct kernel_module *modules = kernel->modules.data;
	size_t low = bisect(kernel->modules.len, i, modules[i].end <= address);
	bool is_inside = low < kernel->modules.len && modules[low].start <= address;
	return is_inside ? &modules[low] : NULL;
}

/* name size refcount dependencies state address. False: no such line. */
static bool parse_module(struct kernel *kernel, const char *line, struct kernel_module *ret)
{
	char name[64], bracketed[sizeof(name) + 2];
	unsigned long long size, start;
	bool is_sound = sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &size, &start) == 3 &&
			start && start + size > start;
	if (!is_sound)
		return false;
	snprintf(bracketed, sizeof(bracketed), "[%s]", name);
	*ret = (struct kernel_module){
		.start = start,
		.end = start + size,
		.object = object_table_special(kernel->objects, LAYOUT_OBJECT_MODULE, bracketed),
	};
	return true;
}

bool kernel_take_modules(struct kernel *kernel, char *text)
{
	__typeof__(kernel->modules) modules = {0};
	bool has_new = false;
	for (char *line; text && (line = strsep(&text, "\n"));) {
		struct kernel_module module;
		if (!parse_module(kernel, line, &module))
			continue;
		const struct kernel_module *known = find_module(kernel, module.start);
		if (known && known->object == module.object && known->start == module.start)
			module.is_identified = known->is_identified;
		else
			has_new = true;
		module.object->info.base = module.start;
		vec_push(&modules, module);
	}
	if (modules.len)
		qsort(modules.data, modules.len, sizeof(*modules.data), compare_modules);
	vec_deinit(&kernel->modules);
	memcpy(&kernel->modules, &modules, sizeof(modules));
	return has_new;
}

static bool load_modules(struct kernel *kernel, uint64_t now_ns)
{
	CLEANUP(str_deinit) struct str text = {0};
	kernel->modules_read_ns = now_ns;
	if (!proc_read_file("/proc/modules", &text))
		return false; /* a kernel without loadable modules */
	return kernel_take_modules(kernel, text.data);
}

/* Not of all of them at once: there are 200, and few turn up. */
static void identify(struct kernel_module *module)
{
	if (module->is_identified)
		return;
	module->is_identified = true;
	const char *bracketed = module->object->path;
	char path[128];
	snprintf(path, sizeof(path), "/sys/module/%.*s/notes/.note.gnu.build-id",
		(int)strlen(bracketed) - 2, bracketed + 1);
	read_build_id(path, &module->object->info);
}

/* ---- BPF programs ---- */

/* What the recorder costs is not taken for the programs' own. */
static void name_program(struct kernel *kernel, struct kernel_program *program, const char *name)
{
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "[%s%s]", bpf_program_is_own(program->start) ? "ebprof: " : "", name);
	program->object = object_table_special(kernel->objects, LAYOUT_OBJECT_BPF, str_text(&path));
	program->object->info.base = program->start;
	program->object->info.size_bytes = program->end - program->start;
}

static bool kernel_has_room(const struct kernel *kernel, uint64_t start, uint64_t length)
{
	return length && start + length >= start && kernel->programs.len < MAX_PROGRAMS;
}

void kernel_add_program(struct kernel *kernel, uint64_t start, uint64_t length, const char *name)
{
	struct kernel_program program = {.start = start, .end = start + length};
	if (!name[0] || !kernel_has_room(kernel, start, length))
		return;
	program.name = mem_strdup(name);
	vec_push(&kernel->programs, program);
}

/* Of the many that there may be few are sampled: those get their objects then. */
static void add_loaded(void *context, const struct bpf_program_function *function)
{
	struct kernel *kernel = context;
	if (kernel_has_room(kernel, function->start, function->length))
		vec_push(&kernel->programs, (struct kernel_program){.start = function->start,
						    .end = function->start + function->length,
						    .id = function->id});
}

static struct bpf_program_function kernel_function_of(const struct kernel_program *program)
{
	return (struct bpf_program_function){
		program->id, program->start, program->end - program->start};
}

/* When it is gone, its name in kallsyms is left. */
static void identify_program(struct kernel *kernel, struct kernel_program *program)
{
	CLEANUP(str_deinit) struct str name = {0};
	struct bpf_program_function function = kernel_function_of(program);
	if (program->object || (!program->id && !program->name))
		return;
	if (program->name)
		name_program(kernel, program, program->name);
	else if (bpf_program_name(&function, &name))
		name_program(kernel, program, str_text(&name));
	else
		program->id = 0;
}

/* NULL: in none that is known. */
static struct kernel_program *kernel_find_program(const struct kernel *kernel, uint64_t address)
{
	for (size_t i = kernel->programs.len; i--;) {
		struct kernel_program *program = &kernel->programs.data[i];
		if (address >= program->start && address < program->end)
			return program;
	}
	return NULL;
}

bool kernel_program_line(struct kernel *kernel, const struct object *object, uint64_t offset,
	const char **file, uint32_t *line)
{
	uint64_t address = object->info.base + offset;
	struct kernel_program *program = kernel_find_program(kernel, address);
	if (!program || program->object != object)
		return false;
	struct bpf_program_function function = kernel_function_of(program);
	if (!program->are_lines_read)
		bpf_lines_read(&function, &program->lines);
	program->are_lines_read = true;
	const struct bpf_line *found = bpf_lines_find(&program->lines, address);
	if (!found || found->address < program->start)
		return false;
	*file = strtab_get(&program->lines.files, found->file);
	*line = found->line;
	return true;
}

/* ---- addresses ---- */

void kernel_load(struct kernel *kernel, struct object_table *objects, uint64_t now_ns)
{
	if (kernel->objects)
		return;
	kernel->objects = objects;
	kernel->object = object_table_special(objects, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	read_build_id("/sys/kernel/notes", &kernel->object->info);
	load_base(kernel);
	load_modules(kernel, now_ns);
	bpf_program_each(add_loaded, kernel);
}

void kernel_deinit(struct kernel *kernel)
{
	kernel_symbols_deinit(&kernel->symbols);
	vec_deinit(&kernel->modules);
	vec_each(&kernel->programs, program) {
		bpf_lines_deinit(&program->lines);
		mem_free(program->name);
	}
	vec_deinit(&kernel->programs);
}

/* While the end of the kernel is not known, all is the kernel's: that is not for long. */
static bool is_outside(const struct kernel *kernel, uint64_t address)
{
	uint64_t end = kernel_symbols_text_end(&kernel->symbols);
	return end && (address < kernel->object->info.base || address >= end);
}

static struct object *resolve_program(struct kernel *kernel, uint64_t address, uint64_t *offset)
{
	bool is_text = kernel_symbols_text_end(&kernel->symbols) && !is_outside(kernel, address);
	struct kernel_program *program = is_text ? NULL : kernel_find_program(kernel, address);
	if (!program)
		return NULL;
	identify_program(kernel, program);
	*offset = address - program->start;
	return program->object;
}

struct object *kernel_resolve(
	struct kernel *kernel, uint64_t address, uint64_t now_ns, uint64_t *offset)
{
	struct kernel_module *module = find_module(kernel, address);
	struct object *object = module ? NULL : resolve_program(kernel, address, offset);
	if (object)
		return object;
	bool is_due = now_ns >= kernel->modules_read_ns + MODULES_INTERVAL_NS;
	if (!module && is_due && is_outside(kernel, address) && load_modules(kernel, now_ns)) {
		kernel_symbols_start(&kernel->symbols, "");
		module = find_module(kernel, address);
	}
	if (module)
		identify(module);
	if (module || is_outside(kernel, address))
		kernel_symbols_want_all(&kernel->symbols);
	object = module ? module->object : kernel->object;
	*offset = address - object->info.base;
	return object;
}
