#include "record/kernel.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "record/proc.h"

/* /sys/kernel/notes and the notes of modules are raw ELF note sections. */
static void read_build_id(const char *path, struct layout_object *object)
{
	CLEANUP(str_deinit) struct str notes = {0};
	if (!proc_read_file(path, &notes))
		return;
	struct bytes_cursor cursor = bytes_cursor(str_text(&notes), notes.len);
	while (bytes_left(&cursor)) {
		uint32_t name_len = bytes_get_u32(&cursor), len = bytes_get_u32(&cursor);
		uint32_t type = bytes_get_u32(&cursor);
		const uint8_t *name = bytes_get(&cursor, ((size_t)name_len + 3) & ~(size_t)3);
		const uint8_t *bytes = bytes_get(&cursor, ((size_t)len + 3) & ~(size_t)3);
		if (!name || !bytes)
			return;
		bool is_build_id = type == NT_GNU_BUILD_ID && name_len == 4 &&
				   memcmp(name, "GNU", 4) == 0 && len <= LAYOUT_BUILD_ID_MAX_BYTES;
		if (is_build_id) {
			memcpy(object->build_id, bytes, len);
			object->build_id_len = len;
			return;
		}
	}
}

static int compare_modules(const void *a, const void *b)
{
	const struct kernel_module *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* name size refcount dependencies state address */
static void load_modules(struct kernel *kernel, struct object_table *objects)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (!proc_read_file("/proc/modules", &text))
		return; /* a kernel without loadable modules */
	char *rest = text.data;
	for (char *line; rest && (line = strsep(&rest, "\n"));) {
		char name[64], path[128];
		unsigned long long size, start;
		if (sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &size, &start) != 3 || !start)
			continue;
		char bracketed[sizeof(name) + 2];
		snprintf(bracketed, sizeof(bracketed), "[%s]", name);
		struct kernel_module module = {
			.start = start,
			.end = start + size,
			.object = object_table_special(objects, LAYOUT_OBJECT_MODULE, bracketed),
		};
		module.object->info.base = start;
		snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", name);
		read_build_id(path, &module.object->info);
		vec_push(&kernel->modules, module);
	}
	if (kernel->modules.len)
		qsort(kernel->modules.data, kernel->modules.len, sizeof(*kernel->modules.data),
			compare_modules);
}

static int compare_symbols(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name; /* the order of kallsyms */
}

/* address type name [module] */
static void load_symbols(struct kernel *kernel)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	if (!file)
		return;
	char *line = NULL;
	size_t cap = 0;
	while (getline(&line, &cap, file) > 0) {
		char *at;
		uint64_t address = strtoull(line, &at, 16);
		if (at[0] != ' ' || !at[1] || at[2] != ' ' || !strchr("tTwW", at[1]))
			continue;
		char *name = at + 3;
		name[strcspn(name, "\t\n")] = '\0';
		if (!address)
			continue;
		if (strcmp(name, "_text") == 0)
			kernel->object->info.base = address;
		struct kernel_symbol symbol = {
			.address = address,
			.name = (uint32_t)kernel->names.len,
		};
		str_write(&kernel->names, name, strlen(name) + 1);
		vec_push(&kernel->symbols, symbol);
	}
	free(line);
	fclose(file);
	if (!kernel->symbols.len)
		return;
	qsort(kernel->symbols.data, kernel->symbols.len, sizeof(*kernel->symbols.data),
		compare_symbols);
	size_t len = kernel->symbols.len;
	struct kernel_symbol *symbols = kernel->symbols.data;
	for (size_t i = len - 1; i-- > 0;)
		symbols[i].size = symbols[i + 1].address == symbols[i].address
					  ? symbols[i + 1].size
					  : symbols[i + 1].address - symbols[i].address;
}

void kernel_load(struct kernel *kernel, struct object_table *objects)
{
	if (kernel->is_loaded)
		return;
	kernel->is_loaded = true;
	kernel->object = object_table_special(objects, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	read_build_id("/sys/kernel/notes", &kernel->object->info);
	load_modules(kernel, objects);
	load_symbols(kernel);
	kernel->is_hidden = !kernel->symbols.len;
}

void kernel_deinit(struct kernel *kernel)
{
	vec_deinit(&kernel->modules);
	vec_deinit(&kernel->symbols);
	str_deinit(&kernel->names);
}

struct object *kernel_resolve(const struct kernel *kernel, uint64_t address, uint64_t *offset)
{
	struct object *object = kernel->object;
	vec_each(&kernel->modules, module)
		if (address >= module->start && address < module->end)
			object = module->object;
	*offset = address - object->info.base;
	return object;
}

/* The last symbol at or before the address, and of several at one address the first one listed. */
struct kernel_symbol *kernel_find_symbol(struct kernel *kernel, uint64_t address)
{
	size_t low = 0, high = kernel->symbols.len;
	struct kernel_symbol *symbols = kernel->symbols.data;
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (symbols[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	size_t found = low - 1;
	while (found && symbols[found - 1].address == symbols[found].address)
		found--;
	return &symbols[found];
}

const char *kernel_symbol_name(const struct kernel *kernel, const struct kernel_symbol *symbol)
{
	return kernel->names.data + symbol->name;
}
