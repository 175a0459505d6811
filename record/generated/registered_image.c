#include "record/generated/registered_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/bisect.h"
#include "format/base/mem.h"
#include "format/dwarf/cfi_file.h"
#include "format/dwarf/cfi_operations.h"
#include "format/elf/elf_file.h"
#include "format/elf/elf_relocate.h"
#include "format/elf/elf_symbols.h"
#include "format/machine/machine.h"
#include "record/unwind/cfi_rule.h"

void registered_image_deinit(struct registered_image *image)
{
	vec_deinit(&image->code);
	vec_deinit(&image->symbols);
	vec_deinit(&image->rules);
	vec_deinit(&image->lines);
	str_deinit(&image->names);
	bytes_buf_deinit(&image->copied);
	*image = (struct registered_image){0};
}

/* ---- code ---- */

struct image_reader {
	struct elf_file *elf;
	const struct elf_section *sections;
	size_t nr_sections;
	const struct unwind_machine *machine;
	struct registered_image *image;
};

static bool is_relocatable(const struct image_reader *reader)
{
	return elf_file_type(reader->elf) == ET_REL;
}

static void add_piece(struct registered_image *image, uint64_t start, uint64_t size)
{
	struct registered_piece piece = {start, start + size};
	if (!start || piece.end <= start)
		return;
	image->is_cut |= image->code.len >= REGISTERED_IMAGE_MAX_CODE;
	if (image->code.len < REGISTERED_IMAGE_MAX_CODE)
		vec_push(&image->code, piece);
}

static int compare_pieces(const void *a, const void *b)
{
	const struct registered_piece *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* In order, and none within another one. */
static void sort_pieces(struct registered_image *image)
{
	size_t left = 0;
	struct registered_piece *data = image->code.data;
	if (image->code.len)
		qsort(data, image->code.len, sizeof(*data), compare_pieces);
	for (size_t i = 0; i < image->code.len; i++) {
		if (left && data[i].start < data[left - 1].end) {
			if (data[i].end > data[left - 1].end)
				data[left - 1].end = data[i].end;
			continue;
		}
		data[left++] = data[i];
	}
	image->code.len = left;
}

/* QEMU's section has no bytes in the image: the code is elsewhere. */
static void registered_image_read_code(struct image_reader *reader)
{
	for (size_t i = 1; i < reader->nr_sections; i++)
		if (reader->sections[i].flags & SHF_EXECINSTR)
			add_piece(
				reader->image, reader->sections[i].addr, reader->sections[i].size);
	size_t count;
	const struct elf_segment *segments = elf_file_segments(reader->elf, &count);
	for (size_t i = 0; i < count && !reader->image->code.len; i++)
		if (segments[i].flags & PF_X)
			add_piece(reader->image, segments[i].vaddr, segments[i].memsz);
	sort_pieces(reader->image);
}

/* ---- functions ---- */

static uint64_t registered_image_address_of(
	const struct image_reader *reader, const struct elf_symbol *symbol)
{
	if (!is_relocatable(reader))
		return symbol->address;
	bool is_loaded =
		symbol->section < reader->nr_sections && reader->sections[symbol->section].addr;
	return is_loaded ? reader->sections[symbol->section].addr + symbol->address : 0;
}

static void add_symbol(
	struct registered_image *image, uint64_t start, uint64_t size, const char *name)
{
	size_t len = strlen(name);
	bool is_full = image->symbols.len >= REGISTERED_IMAGE_MAX_SYMBOLS ||
		       len > REGISTERED_IMAGE_MAX_NAMES - image->names.len;
	image->is_cut |= is_full;
	if (is_full || !registered_image_has(image, start))
		return;
	struct registered_symbol symbol = {start, start + size, (uint32_t)image->names.len};
	if (symbol.end < start)
		symbol.end = start;
	str_write(&image->names, name, len);
	str_putc(&image->names, '\0');
	vec_push(&image->symbols, symbol);
}

static int registered_image_compare_symbols(const void *a, const void *b)
{
	const struct registered_symbol *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end; /* the longest one first */
}

/* One without a size goes on to the next one, or the end of its piece of code. */
static void end_symbols(struct registered_image *image)
{
	for (size_t i = 0; i < image->symbols.len; i++) {
		struct registered_symbol *symbol = &image->symbols.data[i];
		size_t piece =
			bisect(image->code.len, k, image->code.data[k].start <= symbol->start);
		uint64_t end = image->code.data[piece - 1].end;
		if (i + 1 < image->symbols.len && symbol[1].start < end)
			end = symbol[1].start;
		if (symbol->end == symbol->start)
			symbol->end = end;
	}
}

static struct err *registered_image_read_symbols(struct image_reader *reader)
{
	struct registered_image *image = reader->image;
	struct elf_symbols symbols = {0};
	try(elf_symbols_read(reader->elf, &symbols));
	vec_each(&symbols.symbols, symbol)
		add_symbol(image, registered_image_address_of(reader, symbol), symbol->size,
			elf_symbols_name(&symbols, symbol));
	elf_symbols_deinit(&symbols);
	if (image->symbols.len)
		qsort(image->symbols.data, image->symbols.len, sizeof(*image->symbols.data),
			registered_image_compare_symbols);
	size_t left = 0;
	vec_each(&image->symbols, symbol)
		if (!left || symbol->start != image->symbols.data[left - 1].start)
			image->symbols.data[left++] = *symbol;
	image->symbols.len = left;
	end_symbols(image);
	return NULL;
}

/* ---- rules ---- */

/* Where the section stands, and what its relocations say, which no linker has filled in. */
static struct err *relocate_section(
	struct image_reader *reader, struct cfi_section *section, const char *name, uint8_t *bytes)
{
	const struct elf_section *found = elf_file_find_section(reader->elf, name);
	if (!found || !is_relocatable(reader))
		return NULL;
	struct elf_layout layout = {0};
	for (size_t i = 0; i < reader->nr_sections; i++)
		vec_push(&layout.addresses, reader->sections[i].addr);
	struct err *err = elf_relocate(
		reader->elf, &layout, (size_t)(found - reader->sections), bytes, section->len);
	elf_layout_deinit(&layout);
	return err;
}

/* Pointers may count from the code: LuaJIT and PHP have them so. */
static void set_bases(const struct image_reader *reader, struct cfi_section *section)
{
	if (reader->image->code.len)
		section->text_vaddr = reader->image->code.data[0].start;
}

static int registered_image_compare_functions(const void *a, const void *b)
{
	const struct cfi_function *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void put_image_rule(
	struct registered_image *image, uint64_t start, const struct unwind_rule *rule)
{
	struct registered_rule row = {start, *rule};
	image->is_cut |= image->rules.len >= REGISTERED_IMAGE_MAX_RULES;
	if (image->rules.len >= REGISTERED_IMAGE_MAX_RULES)
		return;
	size_t len = image->rules.len;
	if (len && image->rules.data[len - 1].start == start)
		image->rules.data[len - 1] = row;
	else
		vec_push(&image->rules, row);
}

static void on_image_row(void *context, uint64_t address, const struct cfi_row *row)
{
	struct image_reader *reader = context;
	struct unwind_rule rule = cfi_rule(row, reader->machine);
	put_image_rule(reader->image, address, &rule);
}

/* Functions in code that is described; of two that overlap the first counts. */
static void read_rules(struct image_reader *reader, const struct cfi_section *section)
{
	static const struct unwind_rule none;
	VEC(struct cfi_function) functions = {0};
	struct cfi_reader *cfi = cfi_reader_create(section);
	struct cfi_function function;
	while (functions.len < REGISTERED_IMAGE_MAX_RULES && cfi_reader_next(cfi, &function))
		if (registered_image_has(reader->image, function.start))
			vec_push(&functions, function);
	if (functions.len)
		qsort(functions.data, functions.len, sizeof(*functions.data),
			registered_image_compare_functions);
	uint64_t covered = 0;
	vec_each(&functions, it) {
		bool is_last = it + 1 == functions.data + functions.len;
		if (it->start < covered || it->end <= it->start ||
			(!is_last && it->end > it[1].start))
			continue;
		covered = cfi_reader_run(cfi, it->entry, on_image_row, reader);
		put_image_rule(reader->image, covered, &none);
	}
	cfi_reader_destroy(cfi);
	vec_deinit(&functions);
}

static struct err *read_frames(
	struct image_reader *reader, enum cfi_section_kind kind, const char *name)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct cfi_section section;
	if (reader->image->rules.len) /* the other section had them */
		return NULL;
	try(cfi_file_read(reader->elf, kind, &bytes, &section));
	if (!bytes)
		return NULL;
	try(relocate_section(reader, &section, name, bytes));
	set_bases(reader, &section);
	read_rules(reader, &section);
	return NULL;
}

/* ---- the whole ---- */

static struct err *registered_image_read_image(struct image_reader *reader)
{
	if (elf_file_machine(reader->elf) != machine_native()->elf)
		return err_new(ERR_UNSUPPORTED, "code of another machine");
	try(elf_file_sections(reader->elf, &reader->sections, &reader->nr_sections));
	registered_image_read_code(reader);
	try(registered_image_read_symbols(reader));
	try(read_frames(reader, CFI_EH_FRAME, ".eh_frame"));
	return read_frames(reader, CFI_DEBUG_FRAME, ".debug_frame");
}

struct err *registered_image_read(const void *bytes, size_t len, struct registered_image *ret)
{
	struct registered_image image = {0};
	struct image_reader reader = {
		.image = &image, .machine = machine_registers(machine_native()->elf)};
	try(elf_file_open_memory(bytes, len, &reader.elf));
	struct err *err = registered_image_read_image(&reader);
	elf_file_destroy(reader.elf);
	if (err)
		registered_image_deinit(&image);
	else
		*ret = image;
	return err;
}

/* ---- a function alone ---- */

/* A .debug_frame of one function. Where it begins, CFA = rsp + 8. */
static void put_section(const struct registered_function *function, struct bytes_buf *ret)
{
	enum {
		CIE_BYTES = 12,
		RETURN_ADDRESS = 16,
	};
	static const uint8_t cie[CIE_BYTES] = {0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78,
		RETURN_ADDRESS, DW_CFA_offset | RETURN_ADDRESS, 1, DW_CFA_nop};
	bytes_put_u32(ret, CIE_BYTES);
	bytes_put(ret, cie, CIE_BYTES);
	bytes_put_u32(ret, (uint32_t)(4 + 16 + function->frames_len));
	bytes_put_u32(ret, 0);
	bytes_put_u64(ret, function->start);
	bytes_put_u64(ret, function->size);
	bytes_put(ret, function->frames, function->frames_len);
}

static void add_function_lines(
	struct registered_image *image, const struct registered_function *function)
{
	size_t len = function->file ? strlen(function->file) : 0;
	if (!len || len > REGISTERED_IMAGE_MAX_NAMES - image->names.len)
		return;
	uint32_t file = (uint32_t)image->names.len;
	str_write(&image->names, function->file, len);
	str_putc(&image->names, '\0');
	for (size_t i = 0; i < function->nr_lines && i < REGISTERED_IMAGE_MAX_LINES; i++) {
		struct registered_line line = function->lines[i];
		line.file = file;
		vec_push(&image->lines, line);
	}
}

void registered_image_of_function(
	const struct registered_function *function, struct registered_image *ret)
{
	struct image_reader reader = {
		.image = ret, .machine = machine_registers(machine_native()->elf)};
	add_piece(ret, function->start, function->size);
	if (function->name)
		add_symbol(ret, function->start, function->size, function->name);
	add_function_lines(ret, function);
	if (!function->frames_len)
		return;
	struct bytes_buf bytes = {0};
	put_section(function, &bytes);
	struct cfi_section section = {.kind = CFI_DEBUG_FRAME,
		.bytes = bytes.data,
		.len = bytes.len,
		.machine = reader.machine};
	read_rules(&reader, &section);
	bytes_buf_deinit(&bytes);
}

void registered_image_of_frames(
	const void *bytes, size_t len, uint64_t address, struct registered_image *ret)
{
	struct image_reader reader = {
		.image = ret, .machine = machine_registers(machine_native()->elf)};
	struct cfi_section section = {.kind = CFI_EH_FRAME,
		.bytes = bytes,
		.len = len,
		.vaddr = address,
		.machine = reader.machine};
	struct cfi_reader *cfi = cfi_reader_create(&section);
	struct cfi_function function;
	while (cfi_reader_next(cfi, &function))
		add_piece(ret, function.start, function.end - function.start);
	cfi_reader_destroy(cfi);
	sort_pieces(ret);
	read_rules(&reader, &section);
}

/* ---- between the worker and the recorder, which are one program ---- */

#define put_list(list, ret) bytes_put_blob((ret), (list)->data, (list)->len * sizeof(*(list)->data))

#define get_list(list, cursor) \
	do { \
		size_t len_; \
		const uint8_t *bytes_ = bytes_get_blob((cursor), &len_); \
		size_t count_ = bytes_ ? len_ / sizeof(*(list)->data) : 0; \
		vec_resize((list), count_); \
		if (count_) \
			memcpy((list)->data, bytes_, count_ * sizeof(*(list)->data)); \
	} while (0)

void registered_image_put(const struct registered_image *image, struct bytes_buf *ret)
{
	put_list(&image->code, ret);
	put_list(&image->symbols, ret);
	put_list(&image->rules, ret);
	put_list(&image->lines, ret);
	put_list(&image->names, ret);
	put_list(&image->copied, ret);
	bytes_put_u8(ret, image->is_cut);
}

static bool registered_image_is_sound(const struct registered_image *image)
{
	if (image->names.len && image->names.data[image->names.len - 1])
		return false;
	vec_each(&image->symbols, symbol)
		if (symbol->name >= image->names.len)
			return false;
	vec_each(&image->lines, line)
		if (line->file >= image->names.len)
			return false;
	return true;
}

bool registered_image_get(struct bytes_cursor *cursor, struct registered_image *ret)
{
	*ret = (struct registered_image){0};
	get_list(&ret->code, cursor);
	get_list(&ret->symbols, cursor);
	get_list(&ret->rules, cursor);
	get_list(&ret->lines, cursor);
	get_list(&ret->names, cursor);
	get_list(&ret->copied, cursor);
	ret->is_cut = bytes_get_u8(cursor);
	if (!cursor->overrun && registered_image_is_sound(ret))
		return true;
	registered_image_deinit(ret);
	return false;
}

/* ---- searching ---- */

bool registered_image_has(const struct registered_image *image, uint64_t address)
{
	size_t after = bisect(image->code.len, i, image->code.data[i].start <= address);
	return after && address < image->code.data[after - 1].end;
}

enum registered_match registered_image_match(
	const struct registered_image *image, uint64_t address, const uint8_t *bytes, size_t len)
{
	size_t at = 0;
	vec_each(&image->code, piece) {
		uint64_t size = piece->end - piece->start, offset = address - piece->start;
		if (at >= image->copied.len || size > image->copied.len - at)
			break;
		if (address < piece->start || offset >= size) {
			at += (size_t)size;
			continue;
		}
		if (len > size - offset)
			len = (size_t)(size - offset);
		bool is_same = memcmp(image->copied.data + at + offset, bytes, len) == 0;
		return is_same ? REGISTERED_MATCHES : REGISTERED_DIFFERS;
	}
	return REGISTERED_MATCH_UNKNOWN;
}

const struct registered_symbol *registered_image_symbol(
	const struct registered_image *image, uint64_t address)
{
	size_t after = bisect(image->symbols.len, i, image->symbols.data[i].start <= address);
	const struct registered_symbol *symbol = after ? &image->symbols.data[after - 1] : NULL;
	return symbol && address < symbol->end ? symbol : NULL;
}

const struct registered_line *registered_image_line(
	const struct registered_image *image, uint64_t address)
{
	size_t after = bisect(image->lines.len, i, image->lines.data[i].start <= address);
	const struct registered_line *line = after ? &image->lines.data[after - 1] : NULL;
	return line && line->line && registered_image_has(image, address) ? line : NULL;
}

const struct unwind_rule *registered_image_rule(
	const struct registered_image *image, uint64_t address)
{
	size_t after = bisect(image->rules.len, i, image->rules.data[i].start <= address);
	const struct unwind_rule *rule = after ? &image->rules.data[after - 1].rule : NULL;
	bool is_none = !rule || (rule->cfa == UNWIND_CFA_NONE && rule->ra != UNWIND_UNDEFINED);
	return is_none || !registered_image_has(image, address) ? NULL : rule;
}

size_t registered_image_bytes(const struct registered_image *image)
{
	return image->code.len * sizeof(*image->code.data) +
	       image->symbols.len * sizeof(*image->symbols.data) +
	       image->rules.len * sizeof(*image->rules.data) +
	       image->lines.len * sizeof(*image->lines.data) + image->names.len + image->copied.len;
}
