#include "report/name/listing/function_code.h"

#include <elf.h>
#include <string.h>

#include "report/name/symbol/kernel_file.h"
#include "report/name/symbol/symbol_resolver.h"

enum {
	MAX_CODE_BYTES = 1 << 20,
	UNKNOWN_SIZE_BYTES = 4096, /* of what begins where no symbol says its length */
};

/* ---- the file ---- */

static const char *const refusals[] = {
	[LAYOUT_OBJECT_MODULE] = "code of kernel modules is not disassembled",
	[LAYOUT_OBJECT_BPF] = "code of BPF programs is in no file",
	[LAYOUT_OBJECT_VDSO] = "code of the vDSO is in no file",
	[LAYOUT_OBJECT_ANONYMOUS] = "code that was compiled at run time is in no file",
	[LAYOUT_OBJECT_SCRIPT] = "scripts have no machine code",
	[LAYOUT_OBJECT_UNKNOWN] = "it is not known which file this code is of",
};

static const char *function_code_refusal_of(const struct function_code_request *request)
{
	const struct profile *profile = request->profile;
	enum layout_object_kind kind = request->object->info.kind;
	if (request->object_index == profile->wait_object && profile->wait_object)
		return "a wait is no code: its callers have the code that waits";
	if (request->object_index == profile->syscall_object && profile->syscall_object)
		return "a system call's name is no code: its callers have the code that calls";
	if (kind == LAYOUT_OBJECT_FILE || kind == LAYOUT_OBJECT_KERNEL)
		return NULL;
	size_t count = sizeof(refusals) / sizeof(*refusals);
	const char *known = (size_t)kind < count ? refusals[kind] : NULL;
	return known ? known : refusals[LAYOUT_OBJECT_UNKNOWN];
}

/* Debug files have the sections of code, but nothing in them. */
static bool function_code_has_code(int fd, uint16_t *machine)
{
	struct elf_file *elf;
	struct err *err = elf_file_open(fd, &elf);
	err_destroy(err);
	if (err)
		return false;
	bool has_any = elf_file_find_section(elf, ".text");
	*machine = elf_file_machine(elf);
	elf_file_destroy(elf);
	return has_any;
}

struct code_file {
	struct kernel_file kernel; /* `file` is that of any object */
	int fd;                    /* with code, or -1 */
	uint16_t machine;
	uint64_t address; /* of the place that was asked for */
};

static void find_own(const struct function_code_request *request,
	const struct symbol_file_options *options, struct code_file *ret)
{
	static const enum symbol_file_kind kinds[] = {SYMBOL_FILE_OWN, SYMBOL_FILE_DEBUG};
	const struct profile_object *object = request->object;
	symbol_file_find(object, options, &ret->kernel.file);
	ret->address = symbol_file_address(object, &ret->kernel.file, request->offset);
	for (size_t i = 0; ret->fd < 0 && i < sizeof(kinds) / sizeof(*kinds); i++) {
		CLEANUP_FD int fd = symbol_file_open(object, options, kinds[i]);
		if (fd >= 0 && function_code_has_code(fd, &ret->machine))
			ret->fd = steal_fd(fd);
	}
}

static void find_kernel(const struct function_code_request *request,
	const struct symbol_file_options *options, struct code_file *ret)
{
	const struct profile_object *object = request->object;
	if (!kernel_file_find(request->profile, object, options, &ret->kernel))
		return;
	ret->address = ret->kernel.base + request->offset;
	CLEANUP_FD int fd = ret->kernel.file.debug_fd;
	ret->kernel.file.debug_fd = -1;
	if (function_code_has_code(fd, &ret->machine))
		ret->fd = steal_fd(fd);
}

/* ---- lines ---- */

static struct function_code_place function_code_place_of(
	const struct function_code_request *request, const struct chain *chain)
{
	struct function_code_place place = {0};
	uint32_t own = chain->count ? chain->count - 1 : 0;
	bool is_there = chain->count && !request->is_inlined;
	for (uint32_t i = 0; request->is_inlined && !is_there && i < chain->count; i++) {
		own = i;
		is_there = chain->frames[i].function &&
			   strcmp(chain->frames[i].function, request->function) == 0;
	}
	if (is_there && chain->frames[own].line) {
		place.file = chain->frames[own].file;
		place.line = chain->frames[own].line;
	}
	if (chain->count && (!is_there || own > 0)) {
		place.inlined = chain->frames[0].function;
		place.inlined_file = chain->frames[0].file;
		place.inlined_line = chain->frames[0].line;
	}
	return place;
}

static void function_code_find_lines(const struct function_code_request *request,
	struct symbol_file *file, struct function_code *ret)
{
	size_t count = ret->disassembly.list.len;
	CLEANUP_FREE struct resolver_place *asked = mem_zalloc_array(count + 1, sizeof(*asked));
	for (size_t i = 0; i < count; i++) {
		uint64_t address = ret->disassembly.list.data[i].address;
		asked[i] = (struct resolver_place){address, address, address};
	}
	struct resolver_sources sources = resolver_sources_of(file);
	sources.symbols = symbol_file_index(file);
	resolver_run(&sources, asked, count, &ret->chains);
	ret->places = mem_zalloc_array(count + 1, sizeof(*ret->places));
	for (size_t i = 0; i < count; i++) {
		struct chain chain = {0};
		chain_map_find(&ret->chains, ret->disassembly.list.data[i].address, &chain);
		ret->places[i] = function_code_place_of(request, &chain);
	}
}

/* ---- */

/* Where the function begins and ends that holds the address, by its symbol or its bounds. */
static bool find_extent(
	struct code_file *file, struct function_bounds *bounds, struct function_extent *ret)
{
	struct symbol_hit hit;
	bool has_bounds = bounds && function_bounds_find(bounds, file->address, ret);
	bool has_symbol =
		symbol_index_lookup(symbol_file_index(&file->kernel.file), file->address, &hit);
	if (!has_symbol || (hit.is_extended && has_bounds && ret->start > hit.start))
		return has_bounds;
	*ret = (struct function_extent){.start = hit.start, .end = hit.start + hit.size};
	return true;
}

static struct function_extent extent_of(
	struct code_file *file, struct function_bounds *bounds, struct str *problem)
{
	struct function_extent extent;
	if (!find_extent(file, bounds, &extent)) {
		str_puts(problem, "nothing says where this function begins and ends: shown is "
				  "what follows an address in it");
		return (struct function_extent){
			.start = file->address, .end = file->address + UNKNOWN_SIZE_BYTES};
	}
	if (extent.end - extent.start > MAX_CODE_BYTES) {
		str_puts(problem, "of this function only the first MB of code is shown");
		extent.end = extent.start + MAX_CODE_BYTES;
	}
	return extent;
}

static void disassemble(const struct function_code_request *request, struct code_file *file,
	struct function_code *ret)
{
	struct elf_file *code = file->kernel.file.code;
	struct function_bounds *bounds = code ? function_bounds_create(code) : NULL;
	struct function_extent extent = extent_of(file, bounds, &ret->problem);
	struct disassembly_request disassembly = {
		.fd = file->fd,
		.start = extent.start,
		.end = extent.end,
		.is_intel = request->is_intel &&
			    (file->machine == EM_X86_64 || file->machine == EM_386),
		.demangle = request->demangle,
		.index = symbol_file_index(&file->kernel.file),
		.bounds = bounds,
		.is_cancelled = request->is_cancelled,
	};
	disassembly_run(&disassembly, &ret->disassembly);
	function_bounds_destroy(bounds);
	if (ret->disassembly.problem.len) {
		str_truncate(&ret->problem, 0);
		str_puts(&ret->problem, str_text(&ret->disassembly.problem));
	}
	ret->bias = file->address - request->offset;
	function_code_find_lines(request, &file->kernel.file, ret);
}

void function_code_read(const struct function_code_request *request, struct function_code *ret)
{
	*ret = (struct function_code){.object = request->object_index};
	const struct profile_object *object = request->object;
	enum layout_object_kind kind = object->info.kind;
	const char *refusal = function_code_refusal_of(request);
	if (refusal) {
		str_puts(&ret->problem, refusal);
		return;
	}
	struct symbol_file_options options = *request->files;
	options.debuginfod = NULL;
	struct code_file file = {.fd = -1, .kernel.file = SYMBOL_FILE_NONE};
	if (kind == LAYOUT_OBJECT_KERNEL)
		find_kernel(request, &options, &file);
	else
		find_own(request, &options, &file);
	if (file.fd >= 0)
		disassemble(request, &file, ret);
	else if (kind == LAYOUT_OBJECT_KERNEL)
		str_puts(&ret->problem,
			"no vmlinux of the recorded kernel is here: install its debug package");
	else
		str_printf(&ret->problem, "no assembly of %s: %s", object->path,
			file.kernel.file.problem ? file.kernel.file.problem
						 : "the file is not on this machine");
	mem_close_fd(&file.fd);
	kernel_file_deinit(&file.kernel);
}

void function_code_deinit(struct function_code *code)
{
	disassembly_deinit(&code->disassembly);
	mem_free(code->places);
	str_deinit(&code->problem);
	chain_map_deinit(&code->chains);
}

bool function_code_find(
	const struct function_code *code, uint32_t object, uint64_t offset, size_t *ret)
{
	const struct instruction *list = code->disassembly.list.data;
	size_t low = 0, high = code->disassembly.list.len;
	uint64_t address = offset + code->bias;
	if (object != code->object || !high || address < list[0].address)
		return false;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		*(list[middle].address <= address ? &low : &high) = middle;
	}
	enum {
		LONGEST_INSTRUCTION = 16 /* bytes; x86 has 15 */
	};
	if (address - list[low].address >= LONGEST_INSTRUCTION)
		return false;
	*ret = low;
	return true;
}
