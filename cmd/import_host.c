#include "cmd/import_host.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "record/task/kernel.h"

enum {
	DEVICE_MAJOR_SHIFT = 20, /* of layout_object.device */
};

struct import_machine {
	struct import_host host;
	uint64_t made_ns;
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
	*ret = (struct import_symbol){symbol.address, symbol.size, symbol.name};
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

struct import_machine *import_machine_create(uint64_t made_ns)
{
	struct import_machine *machine = mem_zalloc(sizeof(*machine));
	machine->made_ns = made_ns;
	machine->host = (struct import_host){
		.kernel_symbol = kernel_symbol_here,
		.same_file = same_file_here,
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
	mem_free(machine);
}

const struct import_host *import_machine_host(const struct import_machine *machine)
{
	return &machine->host;
}
