/*
 * The header ahead of code leads to the method's descriptor, whose chunk has the type, whose module
 * has the image: names are in its metadata, by the method's row. Types that a method or its type
 * was given are found by their method tables.
 *
 * Sources: src/coreclr/vm/{method.hpp,methodtable.h,ceeload.h,peassembly.h,peimage.h,
 * peimagelayout.h,generics.h} of .NET 8, 9, 10; verified on live processes of 8.0.0 to 10.0.12, on
 * arm64 of 9.0.23 and 10.0.15.
 */
#include "record/runtime/dotnet/dotnet_method.h"

#include <string.h>

#include "bpf/runtime/dotnet/dotnet_row.h"
#include "bpf/runtime/dotnet/dotnet_walk.h"
#include "format/clr/clr_names.h"
#include "record/host/proc.h"
#include "record/runtime/dotnet/dotnet_images.h"
#include "record/runtime/dotnet/dotnet_lines.h"
#include "record/runtime/runtime_inlined.h"
#include "record/runtime/runtime_memory.h"

enum {
	/* The header of code. */
	HEADER_DEBUG_INFO = 0,
	MAX_FUNCTIONS = 256,

	/* MethodDesc, and the MethodDescChunk that it stands in. */
	METHOD_ROW = 0,   /* u16: the lower bits */
	METHOD_INDEX = 2, /* u8: in the chunk, in words */
	METHOD_FLAGS = 6, /* u16 */
	METHOD_ROW_BITS = 12,
	METHOD_CLASS = 7, /* of the flags */
	METHOD_CLASS_INSTANTIATED = 5,
	METHOD_CLASS_DYNAMIC = 7,
	CHUNK_BYTES = 24,
	CHUNK_TABLE = 0,
	CHUNK_ROW = 18, /* u16: the upper bits */

	/* MethodTable. */
	TABLE_FLAGS = 0,
	TABLE_IS_GENERIC = 0x30,
	TABLE_CATEGORY = 0xf0000,
	TABLE_IS_ARRAY = 0x80000, /* of two categories */
	TABLE_IS_ANY_ARRAY = 0xc0000,
	TABLE_MODULE = 0x18,
	TABLE_INSTANCE = 0x30, /* its dictionaries; of an array what it is of */
	TABLE_ROW_8 = 10,      /* u16 */
	TABLE_ROW = 8,         /* u32, the upper 24 bits */

	ASSEMBLY_IMAGE = 8,
	LAYOUT_BASE = 8,
	LAYOUT_SIZE = 16,
	LAYOUT_FLAGS = 20,
	LAYOUT_IS_MAPPED = 1,
	MAX_IMAGE_BYTES = 1 << 30,

	MAX_ARGUMENTS = 16,
	MAX_TYPE_DEPTH = 6, /* of arguments in arguments, */
	MAX_TYPES = 64,     /* ... and in all of a name */
	MAX_NAME_BYTES = 500,
	LAST_PLACE = INT32_MAX,

	/* Behind a lock, whose size is the machine's before .NET 10. */
#if defined(__x86_64__)
	MODULE_ASSEMBLY_9 = 0x118,
#else
	MODULE_ASSEMBLY_9 = 0x120,
#endif
};

/* Where versions differ. */
struct layout {
	uint16_t module_assembly;          /* of a Module: its PEAssembly */
	uint16_t image_flat, image_map;    /* of a PEImage: its layouts */
	uint8_t dynamic_name;              /* of the MethodDesc of a dynamic method */
	uint8_t arguments, argument_count; /* of that of a generic method */
};

static const struct layout layouts[] = {
	[8] = {0x110, 0x70, 0x78, 24, 16, 26},
	[9] = {MODULE_ASSEMBLY_9, 0x70, 0x78, 32, 24, 34},
	[10] = {0xd8, 0x78, 0x80, 32, 24, 34},
};

struct reading {
	uint32_t pid;
	uint32_t version;
	uint64_t start_ns; /* of the process */
	const struct layout *layout;
	struct dotnet_images *images;
	uint32_t *types_left; /* to be read for the name at hand */
};

/* ---- memory ---- */

static bool dotnet_read_u64(const struct reading *reading, uint64_t address, uint64_t *ret)
{
	return runtime_read_process(reading->pid, address, ret, sizeof(*ret));
}

static bool dotnet_read_u32(const struct reading *reading, uint64_t address, uint32_t *ret)
{
	return runtime_read_process(reading->pid, address, ret, sizeof(*ret));
}

static bool dotnet_read_u16(const struct reading *reading, uint64_t address, uint16_t *ret)
{
	return runtime_read_process(reading->pid, address, ret, sizeof(*ret));
}

static void dotnet_put_c_text(const struct reading *reading, uint64_t address, struct str *out)
{
	for (size_t i = 0; i < MAX_NAME_BYTES; i++) {
		char c = 0;
		if (!runtime_read_process(reading->pid, address + i, &c, 1) || !c)
			return;
		str_putc(out, c);
	}
}

/* ---- images ---- */

static struct dotnet_image *open_layout(const struct reading *reading, uint64_t layout)
{
	uint32_t flags;
	struct dotnet_image_place place = {.pid = reading->pid, .start_ns = reading->start_ns};
	if (!layout || !dotnet_read_u64(reading, layout + LAYOUT_BASE, &place.base) ||
		!place.base || !dotnet_read_u32(reading, layout + LAYOUT_SIZE, &place.size) ||
		!dotnet_read_u32(reading, layout + LAYOUT_FLAGS, &flags) ||
		place.size > MAX_IMAGE_BYTES)
		return NULL;
	place.is_mapped = flags & LAYOUT_IS_MAPPED;
	return dotnet_images_open(reading->images, &place);
}

/* The image of a module; good until the next one is opened. NULL: it has none. */
static struct dotnet_image *open_module(const struct reading *reading, uint64_t module)
{
	uint64_t assembly, image, flat = 0, mapped = 0;
	if (!dotnet_read_u64(reading, module + reading->layout->module_assembly, &assembly) ||
		!dotnet_read_u64(reading, assembly + ASSEMBLY_IMAGE, &image) ||
		!dotnet_read_u64(reading, image + reading->layout->image_flat, &flat) ||
		!dotnet_read_u64(reading, image + reading->layout->image_map, &mapped))
		return NULL;
	struct dotnet_image *found = open_layout(reading, mapped);
	return found ? found : open_layout(reading, flat);
}

/* ---- types ---- */

static void put_type_at(const struct reading *reading, uint64_t type, int depth, struct str *out);

static bool dotnet_take_arguments(const struct reading *reading, uint64_t list, uint32_t count,
	int depth, struct clr_arguments *ret)
{
	for (uint32_t i = 0; i < count && i < MAX_ARGUMENTS; i++) {
		CLEANUP(str_deinit) struct str name = {0};
		uint64_t type;
		if (!dotnet_read_u64(reading, list + 8ULL * i, &type))
			return false;
		put_type_at(reading, type, depth + 1, &name);
		clr_arguments_add(ret, str_text(&name));
	}
	return true;
}

/* What the parameters of a type are, and those of the types around it. */
static void take_type_arguments(
	const struct reading *reading, uint64_t table, int depth, struct clr_arguments *ret)
{
	uint32_t flags;
	uint64_t instance, dictionary;
	uint16_t counts[2]; /* dictionaries: of its bases and its own; arguments */
	if (!dotnet_read_u32(reading, table + TABLE_FLAGS, &flags) || !(flags & TABLE_IS_GENERIC) ||
		!dotnet_read_u64(reading, table + TABLE_INSTANCE, &instance) ||
		!runtime_read_process(reading->pid, instance - 4, counts, sizeof(counts)) ||
		!counts[0] ||
		!dotnet_read_u64(reading, instance + 8ULL * (counts[0] - 1), &dictionary))
		return;
	dotnet_take_arguments(reading, dictionary, counts[1], depth, ret);
}

static uint32_t row_of_table(const struct reading *reading, uint64_t table)
{
	uint32_t row = 0;
	uint16_t short_row = 0;
	if (reading->version == 8)
		return dotnet_read_u16(reading, table + TABLE_ROW_8, &short_row) ? short_row : 0;
	return dotnet_read_u32(reading, table + TABLE_ROW, &row) ? row >> 8 : 0;
}

/* A type by its method table; what has none (pointers, and so on) is "?". */
static void put_type_at(const struct reading *reading, uint64_t type, int depth, struct str *out)
{
	uint32_t flags;
	uint64_t module, element;
	if (depth > MAX_TYPE_DEPTH || !*reading->types_left || type & 3 ||
		!dotnet_read_u32(reading, type, &flags)) {
		str_putc(out, '?');
		return;
	}
	--*reading->types_left;
	if ((flags & TABLE_IS_ANY_ARRAY) == TABLE_IS_ARRAY) {
		if (!dotnet_read_u64(reading, type + TABLE_INSTANCE, &element))
			return;
		put_type_at(reading, element, depth + 1, out);
		str_puts(out, "[]");
		return;
	}
	CLEANUP(clr_arguments_deinit) struct clr_arguments arguments = {0};
	take_type_arguments(reading, type, depth, &arguments);
	const struct dotnet_image *image = dotnet_read_u64(reading, type + TABLE_MODULE, &module)
						   ? open_module(reading, module)
						   : NULL;
	if (!image) {
		str_putc(out, '?');
		return;
	}
	clr_names_put_type(&image->image.metadata, row_of_table(reading, type), &arguments, out);
}

/* ---- methods ---- */

/* Of the method whose code it is. */
struct method {
	uint64_t address, table; /* of its MethodDesc and its type's MethodTable */
	uint32_t class, row;
};

static bool take_method(const struct reading *reading, uint64_t address, struct method *ret)
{
	uint8_t index;
	uint16_t row, flags, chunk_row;
	*ret = (struct method){.address = address};
	if (!dotnet_read_u16(reading, address + METHOD_ROW, &row) ||
		!runtime_read_process(reading->pid, address + METHOD_INDEX, &index, 1) ||
		!dotnet_read_u16(reading, address + METHOD_FLAGS, &flags))
		return false;
	uint64_t chunk = address - 8ULL * index - CHUNK_BYTES;
	const uint32_t mask = (1U << METHOD_ROW_BITS) - 1;
	ret->class = flags & METHOD_CLASS;
	if (!dotnet_read_u64(reading, chunk + CHUNK_TABLE, &ret->table) ||
		!dotnet_read_u16(reading, chunk + CHUNK_ROW, &chunk_row))
		return false;
	ret->row = (chunk_row & mask) << METHOD_ROW_BITS | (row & mask);
	return true;
}

static void take_method_arguments(
	const struct reading *reading, const struct method *method, struct clr_arguments *ret)
{
	uint64_t list;
	uint16_t count;
	if (method->class == METHOD_CLASS_INSTANTIATED &&
		dotnet_read_u64(reading, method->address + reading->layout->arguments, &list) &&
		dotnet_read_u16(reading, method->address + reading->layout->argument_count, &count))
		dotnet_take_arguments(reading, list, count, 0, ret);
}

static bool read_dotnet_function(const struct reading *reading, const struct dotnet_code *code,
	uint32_t index, struct dotnet_function *ret)
{
	uint64_t at = code->header + DOTNET_HEADER_FUNCTIONS + (uint64_t)index * sizeof(*ret);
	return runtime_read_process(reading->pid, at, ret, sizeof(*ret));
}

/* Where it ends, 0: that is not known; and how long its unwind information is, without its last
 * bytes, 0: it cannot be read. */
#if defined(__x86_64__)
static uint32_t read_dotnet_function_end(const struct reading *reading,
	const struct dotnet_code *code, const struct dotnet_function *function)
{
	(void)reading, (void)code;
	return function->end;
}

static uint32_t read_unwind_bytes(const struct reading *reading, const struct dotnet_code *code,
	const struct dotnet_function *function)
{
	uint8_t head[UNWIND_INFO_HEAD_BYTES];
	bool is_read = runtime_read_process(
		reading->pid, code->section + function->unwind_info, head, sizeof(head));
	return is_read ? (uint32_t)sizeof(head) + 2U * head[2] : 0;
}
#else
static bool read_xdata_head(const struct reading *reading, const struct dotnet_code *code,
	const struct dotnet_function *function, struct unwind_xdata_head *ret)
{
	uint32_t words[UNWIND_XDATA_HEAD_WORDS];
	return runtime_read_process(
		       reading->pid, code->section + function->unwind_info, words, sizeof(words)) &&
	       unwind_xdata_take_head(words, ret);
}

static uint32_t read_dotnet_function_end(const struct reading *reading,
	const struct dotnet_code *code, const struct dotnet_function *function)
{
	struct unwind_xdata_head head;
	return read_xdata_head(reading, code, function, &head) ? function->begin + head.bytes : 0;
}

static uint32_t read_unwind_bytes(const struct reading *reading, const struct dotnet_code *code,
	const struct dotnet_function *function)
{
	struct unwind_xdata_head head;
	return read_xdata_head(reading, code, function, &head) ? head.codes + head.code_bytes - 1
							       : 0;
}
#endif

/* How long the code is, with its funclets; 0: that is not known. */
static uint32_t count_code_bytes(const struct reading *reading, const struct dotnet_code *code)
{
	uint32_t count = 0;
	struct dotnet_function first, last;
	if (!dotnet_read_u32(reading, code->header + DOTNET_HEADER_COUNT, &count) || !count ||
		count > MAX_FUNCTIONS || !read_dotnet_function(reading, code, 0, &first) ||
		!read_dotnet_function(reading, code, count - 1, &last))
		return 0;
	uint32_t end = read_dotnet_function_end(reading, code, &last);
	return end > first.begin ? end - first.begin : 0;
}

/* What is made of code. */
struct made {
	struct str name, file;
	struct runtime_inlined inlined;
};

static void dotnet_add_lines(const struct reading *reading, const struct dotnet_code *code,
	struct dotnet_image *image, uint32_t method, struct made *made)
{
	struct dotnet_lines lines = {.pid = reading->pid,
		.version = reading->version,
		.image = image,
		.method = method,
		.code_bytes = count_code_bytes(reading, code)};
	if (dotnet_read_u64(reading, code->header + HEADER_DEBUG_INFO, &lines.debug_info))
		dotnet_lines_add(&lines, &made->file, &made->inlined);
}

static bool put_method(const struct reading *reading, const struct method *method,
	const struct dotnet_code *code, struct made *made)
{
	struct str *name = &made->name;
	uint64_t module, text;
	if (method->class == METHOD_CLASS_DYNAMIC) {
		if (!dotnet_read_u64(
			    reading, method->address + reading->layout->dynamic_name, &text))
			return false;
		dotnet_put_c_text(reading, text, name);
		return name->len;
	}
	CLEANUP(clr_arguments_deinit) struct clr_arguments of_type = {0};
	CLEANUP(clr_arguments_deinit) struct clr_arguments of_method = {0};
	take_type_arguments(reading, method->table, 0, &of_type);
	take_method_arguments(reading, method, &of_method);
	struct dotnet_image *image = dotnet_read_u64(reading, method->table + TABLE_MODULE, &module)
					     ? open_module(reading, module)
					     : NULL;
	if (!image)
		return false;
	clr_names_put_method(&image->image.metadata, method->row, &of_type, &of_method, name);
	dotnet_add_lines(reading, code, image, method->row, made);
	return name->len;
}

/* ---- reading ---- */

/* src/coreclr/vm/codeman.h, enum StubCodeBlockKind. */
static const char *stub_name(uint64_t kind)
{
	static const char *const names[DOTNET_STUB_KINDS] = {
		[DOTNET_STUB_PRECODE] = "[precode]",
		[DOTNET_STUB_HELPER] = "[helper]",
		[1] = "[jump stub]",
		[2] = "[jump stub]",
		[3] = "[dynamic helper]",
		[4] = "[precode]",
		[5] = "[precode]",
		[6] = "[dispatch stub]",
		[7] = "[resolve stub]",
		[8] = "[lookup stub]",
		[9] = "[vtable call stub]",
	};
	return kind < DOTNET_STUB_KINDS && names[kind] ? names[kind] : "[stub]";
}

/*
 * Has what the BPF side goes by in memory: it reads by the mapping that code runs in, of which the
 * process itself has used only the pages that it has run. To read them here is enough.
 */
static void touch_unwind_info(const struct reading *reading, const struct dotnet_code *code)
{
	uint32_t count = 0;
	uint8_t byte;
	struct dotnet_function function;
	dotnet_read_u32(reading, code->header + DOTNET_HEADER_COUNT, &count);
	for (uint32_t i = 0; i < count && i < MAX_FUNCTIONS; i++) {
		if (!read_dotnet_function(reading, code, i, &function))
			continue;
		uint32_t bytes = read_unwind_bytes(reading, code, &function);
		if (!bytes)
			return;
		runtime_read_process(
			reading->pid, code->section + function.unwind_info + bytes, &byte, 1);
	}
}

/* Whether the method's code is still what is there. */
static bool is_the_code(const struct reading *reading, const struct dotnet_code *code)
{
	uint64_t header, method;
	return dotnet_read_u64(reading, code->start - 8, &header) && header == code->header &&
	       dotnet_read_u64(reading, header + DOTNET_HEADER_METHOD, &method) &&
	       method == code->method;
}

/* Of an image in memory that was compiled ahead of time. False: it has no name. */
static bool put_ready_function(
	const struct reading *reading, const struct dotnet_code *code, struct str *name)
{
	struct dotnet_image *image = open_module(reading, code->method);
	uint64_t place = image ? code->start - image->place.base : UINT64_MAX;
	uint32_t function;
	return place <= UINT32_MAX &&
	       clr_image_find_function(&image->image, (uint32_t)place, &function) &&
	       clr_ready_put_name(dotnet_image_ready(image), function, name);
}

/* ---- code ---- */

static bool make_code(
	const struct reading *reading, const struct dotnet_code *code, struct made *made)
{
	struct method method;
	if (code->header == DOTNET_READY)
		return put_ready_function(reading, code, &made->name);
	if (code->header < DOTNET_STUB_KINDS) {
		str_puts(&made->name, stub_name(code->header));
		return true;
	}
	return is_the_code(reading, code) && take_method(reading, code->method, &method) &&
	       put_method(reading, &method, code, made);
}

static void made_deinit(struct made *made)
{
	str_deinit(&made->name);
	str_deinit(&made->file);
	runtime_inlined_deinit(&made->inlined);
}

bool dotnet_method_read(
	void **kept, uint32_t pid, const void *given, size_t len, struct bytes_buf *ret)
{
	struct dotnet_code code;
	CLEANUP(made_deinit)
	struct made made = {.inlined = {.has_ranges = true, .knows_leaves = true}};
	struct runtime_inlined *inlined = &made.inlined;
	if (len != sizeof(code))
		return false;
	memcpy(&code, given, sizeof(code));
	if (code.row.version >= sizeof(layouts) / sizeof(*layouts) ||
		!layouts[code.row.version].module_assembly)
		return false;
	struct proc_stat stat;
	if (!proc_read_stat(pid, &stat))
		return false;
	if (!*kept)
		*kept = dotnet_images_create();
	uint32_t types_left = MAX_TYPES;
	struct reading reading = {.pid = pid,
		.version = code.row.version,
		.start_ns = stat.start_ns,
		.images = *kept,
		.layout = &layouts[code.row.version],
		.types_left = &types_left};
	if (code.header >= DOTNET_STUB_KINDS)
		touch_unwind_info(&reading, &code);
	if (!make_code(&reading, &code, &made))
		return false;
	struct runtime_inlined_function function = {.name = str_text(&made.name),
		.name_len = made.name.len,
		.file = str_text(&made.file),
		.file_len = made.file.len};
	vec_push(&inlined->functions, function);
	if (!inlined->places.len) { /* nothing is known of lines */
		struct runtime_inlined_scope scope = {.function = 0};
		struct runtime_inlined_place place = {.offset = LAST_PLACE, .scope = 1};
		vec_push(&inlined->scopes, scope);
		vec_push(&inlined->places, place);
	}
	runtime_inlined_put(ret, inlined);
	return true;
}

void dotnet_method_put_texts(struct str *name, struct str *file)
{
	static const char unknown[] = "(unknown)";
	(void)file;
	if (!name->len)
		str_write(name, unknown, sizeof(unknown) - 1);
}

bool dotnet_method_next_line(const struct runtime_lines *lines, struct runtime_line_entry *entry)
{
	(void)lines, (void)entry;
	return false;
}
