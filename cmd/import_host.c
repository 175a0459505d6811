#include "cmd/import_host.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

#include "format/base/clock.h"
#include "format/base/fd.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "record/generated/perf_map.h"
#include "record/task/kernel.h"
#include "record/task/process.h"
#include "report/model/regular_file.h"

enum {
	DEVICE_MAJOR_SHIFT = 20, /* of layout_object.device */
};

struct import_machine {
	struct import_host host;
	uint64_t made_ns;
	struct regular_file_rules *rules;
	struct object_table objects;
	struct kernel kernel;
};

/* Where no build ID was recorded, a release that runs on the host of that name. */
static bool is_same_kernel(const struct layout_object *here, const struct import_kernel *recorded)
{
	const struct layout_object *object = &recorded->object;
	struct utsname name;
	if (object->build_id_len)
		return here->build_id_len == object->build_id_len &&
		       memcmp(here->build_id, object->build_id, here->build_id_len) == 0;
	return recorded->release && recorded->host && !uname(&name) &&
	       strcmp(name.release, recorded->release) == 0 &&
	       strcmp(name.nodename, recorded->host) == 0;
}

/* It stands elsewhere with each boot. */
static bool is_kernel_here(struct import_machine *machine, const struct import_kernel *recorded)
{
	kernel_load(&machine->kernel, &machine->objects, 0);
	const struct layout_object *here = &machine->kernel.object->info;
	return !machine->kernel.is_hidden && here->base && here->base == recorded->object.base &&
	       is_same_kernel(here, recorded);
}

static bool kernel_symbol_here(void *context, const struct import_kernel *kernel, uint64_t address,
	struct import_symbol *ret)
{
	struct import_machine *machine = context;
	struct kernel_symbol symbol;
	if (!is_kernel_here(machine, kernel))
		return false;
	kernel_symbols_wait(&machine->kernel.symbols);
	if (!kernel_symbols_find(&machine->kernel.symbols, address, &symbol))
		return false;
	*ret = (struct import_symbol){
		.address = symbol.address, .size = symbol.size, .name = symbol.name};
	return true;
}

/* What was changed in place since keeps its inode, but not its time. */
static bool same_file_here(void *context, const char *path, struct layout_object *object)
{
	const struct import_machine *machine = context;
	struct stat st;
	if (!object->inode || stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	uint32_t device = major(st.st_dev) << DEVICE_MAJOR_SHIFT | minor(st.st_dev);
	uint64_t mtime_ns = clock_from_timespec(st.st_mtim);
	if (st.st_ino != object->inode || device != object->device || mtime_ns > machine->made_ns)
		return false;
	object->size_bytes = (uint64_t)st.st_size;
	object->mtime_ns = mtime_ns;
	return true;
}

/* Of an address that several functions had, the one whose line is the last. */
struct last_function {
	uint64_t start;
	char *name;
};

struct code_use {
	import_symbol_fn *use;
	void *context;
	struct str name;
	struct last_function *last; /* for each address; name NULL: it is known for sure, or not */
};

static void use_map_entry(void *context, const struct perf_map_entry *entry)
{
	struct code_use *use = context;
	str_truncate(&use->name, 0);
	str_write(&use->name, entry->name, entry->name_len);
	use->use(use->context, &(struct import_symbol){.address = entry->start,
				       .size = entry->size,
				       .name = str_text(&use->name)});
}

/* The places of an address come in the order of the file's lines. */
static void note_last_function(void *context, const struct code_place *place)
{
	struct code_use *use = context;
	struct last_function *last = &use->last[place->index];
	mem_free(last->name);
	*last = (struct last_function){place->start, mem_strdup(place->name)};
}

/* A symbol for each run of addresses of one function, up to the last of them. */
static void use_last_functions(struct code_use *use, const struct import_code *code)
{
	for (size_t i = 0; i < code->count; i++) {
		const struct last_function *it = &use->last[i];
		bool goes_on = i + 1 < code->count && use->last[i + 1].name && it->name &&
			       use->last[i + 1].start == it->start &&
			       strcmp(use->last[i + 1].name, it->name) == 0;
		if (it->name && !goes_on)
			use->use(use->context, &(struct import_symbol){it->start,
						       code->addresses[i] - it->start + 1, it->name,
						       .is_latest = true});
	}
	for (size_t i = 0; i < code->count; i++)
		mem_free(use->last[i].name);
}

static bool is_recorded_here(const char *host)
{
	struct utsname name;
	return host && !uname(&name) && strcmp(name.nodename, host) == 0;
}

/*
 * A map that was written to since is another process's, or has put other code there; one that is
 * older than the program is of a process that had the number before. When that began on the wall
 * clock follows from the file's time, which is some seconds behind the last sample.
 */
static bool is_map_of(const struct import_code *code, uint64_t made_ns, uint64_t mtime_ns)
{
	const uint64_t late_ns = 60ULL * NS_PER_S;
	return mtime_ns <= made_ns &&
	       (!code->program_age_ns || mtime_ns + late_ns >= made_ns - code->program_age_ns);
}

static size_t code_symbols_here(
	void *context, const struct import_code *code, import_symbol_fn *use, void *use_context)
{
	enum {
		MAX_NS = 2000 * 1000 * 1000
	};
	const struct import_machine *machine = context;
	struct code_use into = {.use = use, .context = use_context};
	CLEANUP_FREE struct last_function *last = mem_zalloc_array(code->count, sizeof(*last));
	into.last = last;
	const struct perf_map_wanted wanted = {code->addresses, code->first_ns, code->count};
	const struct perf_map_names names = {use_map_entry, note_last_function, &into};
	const struct file_growth growth = {0};
	char path[32];
	struct stat st;
	if (!is_recorded_here(code->host))
		return 0;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", code->pid);
	CLEANUP_FD int fd = regular_file_open(path, machine->rules, &st);
	if (fd < 0 || !is_map_of(code, machine->made_ns, clock_from_timespec(st.st_mtim)))
		return 0;
	size_t given_up = perf_map_read(fd, &growth, &wanted, MAX_NS, &names);
	use_last_functions(&into, code);
	str_deinit(&into.name);
	return given_up;
}

struct vdso_use {
	import_symbol_fn *use;
	void *context;
};

static void use_vdso_symbol(void *context, const struct elf_symbol *symbol, const char *name)
{
	const struct vdso_use *use = context;
	use->use(use->context,
		&(struct import_symbol){
			.address = symbol->address, .size = symbol->size, .name = name});
}

static void vdso_symbols_here(
	void *context, const struct layout_object *vdso, import_symbol_fn *use, void *use_context)
{
	struct import_machine *machine = context;
	const struct layout_object *here = &process_vdso(&machine->objects)->info;
	if (vdso->build_id_len && vdso->build_id_len == here->build_id_len &&
		memcmp(vdso->build_id, here->build_id, here->build_id_len) == 0)
		process_vdso_symbols(use_vdso_symbol, &(struct vdso_use){use, use_context});
}

struct import_machine *import_machine_create(uint64_t made_ns)
{
	struct import_machine *machine = mem_zalloc(sizeof(*machine));
	machine->made_ns = made_ns;
	machine->rules = regular_file_rules_create(0);
	machine->host = (struct import_host){
		.kernel_symbol = kernel_symbol_here,
		.same_file = same_file_here,
		.code_symbols = code_symbols_here,
		.vdso_symbols = vdso_symbols_here,
		.context = machine,
	};
	return machine;
}

void import_machine_destroy(struct import_machine *machine)
{
	if (!machine)
		return;
	kernel_deinit(&machine->kernel);
	object_table_deinit(&machine->objects);
	regular_file_rules_destroy(machine->rules);
	mem_free(machine);
}

const struct import_host *import_machine_host(const struct import_machine *machine)
{
	return &machine->host;
}
