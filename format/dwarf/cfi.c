/*
 * Every number in the section is a stranger's: lengths are bounded by the
 * section, the number of instructions by their bytes, the stack of
 * remember/restore by a constant, and addresses must ascend.
 */
#include "format/dwarf/cfi.h"

#include "format/base/bytes.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/dwarf/cfi_machine.h"
#include "format/dwarf/cfi_numbers.h"
#include "format/dwarf/dwarf_cursor.h"

enum {
	AUGMENTATION_MAX = 16,
	/* Linkers merge equal CIEs, and those of compilers have some 10 bytes of instructions. */
	CIES_MAX = 1 << 16,
	CIE_INSTRUCTIONS_MAX = 256,
};

struct cfi_reader {
	struct cfi_section section;
	struct bytes_cursor cursor; /* of cfi_reader_next() */
	struct cfi_result result;
	VEC(struct cfi_cie) cies;
	struct map cie_by_offset; /* offset -> index */
	size_t last_cie;          /* most functions share one with their neighbour */
};

/* ---- common information entries ---- */

static const char *parse_augmentation(const struct cfi_reader *reader, struct bytes_cursor *cursor,
	const char *letters, struct cfi_cie *cie)
{
	if (!letters[0])
		return NULL;
	if (letters[0] != 'z')
		return "an augmentation without a length";
	cie->has_augmentation_data = true;
	struct bytes_cursor data = bytes_get_cursor(cursor, dwarf_uleb(cursor));
	for (const char *letter = letters + 1; *letter; letter++) {
		switch (*letter) {
		case 'R':
			cie->pointer_encoding = bytes_get_u8(&data);
			break;
		case 'P': /* the personality routine is for exceptions */
			cfi_get_pointer(&reader->section, &data,
				bytes_get_u8(&data) & (uint8_t)~DW_EH_PE_indirect);
			break;
		case 'L':
			bytes_get_u8(&data);
			break;
		case 'S':
			cie->is_signal_frame = true;
			break;
		case 'B': /* arm64: return addresses are signed with the other key */
		case 'G':
			break;
		default:
			return "an unknown augmentation";
		}
	}
	return data.overrun ? "an augmentation that is cut" : NULL;
}

static const char *parse_cie(struct cfi_reader *reader, struct bytes_cursor body,
	struct cfi_cie *cie, struct bytes_cursor *instructions)
{
	uint8_t version = bytes_get_u8(&body);
	bool is_known = version == 1 || version == 3 || version == 4;
	if (!is_known)
		return "an unknown version";
	char letters[AUGMENTATION_MAX] = {0};
	for (size_t i = 0; (letters[i] = (char)bytes_get_u8(&body)); i++)
		if (i + 2 > sizeof(letters))
			return "an augmentation that is too long";
	if (version == 4) {
		uint8_t address_bytes = bytes_get_u8(&body), segment_bytes = bytes_get_u8(&body);
		if (address_bytes != 8 || segment_bytes)
			return "addresses of another size";
	}
	cie->code_align = dwarf_uleb(&body);
	cie->data_align = dwarf_sleb(&body);
	uint32_t return_register = version == 1 ? bytes_get_u8(&body) : cfi_get_register(&body);
	if (return_register >= CFI_REGISTERS)
		return "a return address in no register";
	cie->return_register = (uint8_t)return_register;
	cie->pointer_encoding = DW_EH_PE_absptr;
	const char *fault = parse_augmentation(reader, &body, letters, cie);
	if (fault)
		return fault;
	if (body.overrun)
		return "a CIE that is cut";
	*instructions = bytes_get_cursor(&body, bytes_left(&body));
	return NULL;
}

/* ---- entries ---- */

/* An entry of the section: a CIE, or the FDE of a function. */
struct entry {
	uint64_t offset;    /* of its length field */
	uint64_t id_offset; /* of its id field */
	uint64_t id;
	bool is_64;               /* 64-bit DWARF */
	struct bytes_cursor body; /* behind the id */
};

static bool cfi_get_entry(
	const struct cfi_reader *reader, struct bytes_cursor *cursor, struct entry *ret)
{
	const uint8_t *base = reader->section.bytes;
	ret->offset = (uint64_t)(cursor->pos - base);
	uint64_t len = bytes_get_u32(cursor);
	ret->is_64 = len == UINT32_MAX;
	if (ret->is_64)
		len = bytes_get_u64(cursor);
	if (!len || cursor->overrun) /* a length of 0 terminates .eh_frame */
		return false;
	ret->body = bytes_get_cursor(cursor, len);
	ret->id_offset = (uint64_t)(ret->body.pos - base);
	bool is_wide = ret->is_64 && reader->section.kind == CFI_DEBUG_FRAME;
	ret->id = is_wide ? bytes_get_u64(&ret->body) : bytes_get_u32(&ret->body);
	if (ret->is_64 && reader->section.kind == CFI_EH_FRAME && ret->id)
		ret->body.overrun = true; /* no compiler writes 64-bit .eh_frame of that kind */
	return !cursor->overrun;
}

static bool is_cie(const struct cfi_reader *reader, const struct entry *entry)
{
	if (reader->section.kind == CFI_EH_FRAME)
		return entry->id == 0;
	return entry->id == (entry->is_64 ? UINT64_MAX : UINT32_MAX);
}

/* .eh_frame: the distance back from the id field; .debug_frame: an offset in the section. */
static uint64_t cie_offset_of(const struct cfi_reader *reader, const struct entry *entry)
{
	return reader->section.kind == CFI_EH_FRAME ? entry->id_offset - entry->id : entry->id;
}

/* Runs the CIE's instructions once: each of its functions begins with what they set up. */
static const char *set_up_cie(struct cfi_reader *reader, struct cfi_cie *cie)
{
	const struct cfi_section *section = &reader->section;
	if (cie->offset >= section->len)
		return "no CIE";
	struct bytes_cursor instructions, cursor = bytes_cursor(section->bytes + cie->offset,
						  section->len - (size_t)cie->offset);
	struct entry entry;
	if (!cfi_get_entry(reader, &cursor, &entry) || !is_cie(reader, &entry))
		return "no CIE";
	const char *fault = parse_cie(reader, entry.body, cie, &instructions);
	if (fault)
		return fault;
	if (bytes_left(&instructions) > CIE_INSTRUCTIONS_MAX)
		return "a CIE that is too long";
	struct cfi_row remembered[CFI_REMEMBERED_MAX];
	struct cfi_machine machine = {.section = section, .cie = cie, .remembered = remembered};
	machine.row.is_signal_frame = cie->is_signal_frame;
	machine.row.return_register = cie->return_register;
	/* What no instruction mentions is undefined in theory, but the ABI preserves some. */
	for (unsigned i = 0; i < CFI_REGISTERS; i++)
		machine.row.registers[i].kind =
			section->machine->preserved >> i & 1 ? UNWIND_SAME : UNWIND_UNDEFINED;
	fault = cfi_machine_run(&machine, instructions);
	cie->initial = machine.row;
	return fault;
}

static const struct cfi_cie *find_cie(struct cfi_reader *reader, uint64_t offset)
{
	if (reader->cies.len && reader->cies.data[reader->last_cie].offset == offset)
		return &reader->cies.data[reader->last_cie];
	static const struct cfi_cie one_too_many = {.fault = "too many CIEs"};
	uint64_t *known = map_get(&reader->cie_by_offset, offset);
	if (!known && reader->cies.len == CIES_MAX)
		return &one_too_many;
	if (known) {
		reader->last_cie = *known;
	} else {
		struct cfi_cie cie = {.offset = offset};
		cie.fault = set_up_cie(reader, &cie);
		reader->last_cie = reader->cies.len;
		*map_put(&reader->cie_by_offset, offset, NULL) = reader->cies.len;
		vec_push(&reader->cies, cie);
	}
	return &reader->cies.data[reader->last_cie];
}

static const char *parse_fde(struct cfi_reader *reader, struct entry *entry,
	const struct cfi_cie **cie, struct cfi_function *function)
{
	*cie = find_cie(reader, cie_offset_of(reader, entry));
	if ((*cie)->fault)
		return (*cie)->fault;
	struct bytes_cursor *body = &entry->body;
	uint64_t start = cfi_get_pointer(&reader->section, body, (*cie)->pointer_encoding);
	uint64_t len =
		cfi_get_plain_pointer(body, (*cie)->pointer_encoding & CFI_POINTER_FORMAT_MASK);
	if ((*cie)->has_augmentation_data)
		bytes_get(body, dwarf_uleb(body));
	*function = (struct cfi_function){.start = start, .entry = entry->offset};
	if (body->overrun || __builtin_add_overflow(start, len, &function->end))
		return "an FDE that is cut";
	return NULL;
}

static void cfi_note_bad(struct cfi_reader *reader, const char *fault, uint64_t offset)
{
	struct cfi_result *result = &reader->result;
	if (result->bad_functions++)
		return;
	result->bad_what = fault;
	result->bad_offset = offset;
}

/* ---- the reader ---- */

struct cfi_reader *cfi_reader_create(const struct cfi_section *section)
{
	struct cfi_reader *reader = mem_zalloc(sizeof(*reader));
	reader->section = *section;
	reader->cursor = bytes_cursor(section->bytes, section->len);
	return reader;
}

void cfi_reader_destroy(struct cfi_reader *reader)
{
	if (!reader)
		return;
	vec_deinit(&reader->cies);
	map_deinit(&reader->cie_by_offset);
	mem_free(reader);
}

const struct cfi_result *cfi_reader_result(const struct cfi_reader *reader)
{
	return &reader->result;
}

bool cfi_reader_next(struct cfi_reader *reader, struct cfi_function *ret)
{
	struct entry entry;
	while (reader->section.machine && bytes_left(&reader->cursor) >= 4 &&
		!reader->cursor.overrun && !cfi_is_stopped(&reader->section)) {
		if (!cfi_get_entry(reader, &reader->cursor, &entry))
			continue; /* a terminator: static linking leaves some in the middle */
		if (is_cie(reader, &entry))
			continue; /* parsed when the first function needs it */
		const struct cfi_cie *cie;
		struct cfi_function function;
		const char *fault = parse_fde(reader, &entry, &cie, &function);
		if (fault) {
			cfi_note_bad(reader, fault, entry.offset);
			continue;
		}
		if (!function.start || function.start == function.end)
			continue; /* code that the linker dropped */
		reader->result.functions++;
		*ret = function;
		return true;
	}
	return false;
}

uint64_t cfi_reader_run(
	struct cfi_reader *reader, uint64_t offset, cfi_on_row *on_row, void *context)
{
	struct bytes_cursor cursor =
		bytes_cursor(reader->section.bytes + offset, reader->section.len - (size_t)offset);
	const struct cfi_cie *cie;
	struct entry entry;
	struct cfi_function function;
	if (!cfi_get_entry(reader, &cursor, &entry) || parse_fde(reader, &entry, &cie, &function))
		return 0; /* cfi_reader_next() gives no such entry */
	struct cfi_row remembered[CFI_REMEMBERED_MAX];
	struct cfi_machine machine = {
		.section = &reader->section,
		.cie = cie,
		.address = function.start,
		.end = function.end,
		.on_row = on_row,
		.context = context,
		.row = cie->initial,
		.remembered = remembered,
	};
	const char *fault = cfi_machine_run(&machine, entry.body);
	if (!fault)
		cfi_machine_emit(&machine);
	reader->result.rows += machine.rows;
	if (fault) {
		cfi_note_bad(reader, fault, offset);
		return machine.address < function.end ? machine.address : function.end;
	}
	return function.end;
}

struct bytes_cursor cfi_expression(const struct cfi_section *section, int32_t offset)
{
	struct bytes_cursor cursor =
		bytes_cursor(section->bytes + offset, section->len - (size_t)offset);
	return bytes_get_cursor(&cursor, dwarf_uleb(&cursor));
}

static void ignore_row(void *context, uint64_t address, const struct cfi_row *row)
{
	(void)context, (void)address, (void)row;
}

void cfi_walk(const struct cfi_section *section, const struct cfi_visitor *visitor,
	struct cfi_result *ret)
{
	struct cfi_reader *reader = cfi_reader_create(section);
	struct cfi_function function;
	cfi_on_row *on_row = visitor->row ? visitor->row : ignore_row;
	while (cfi_reader_next(reader, &function)) {
		if (visitor->function &&
			!visitor->function(visitor->context, function.start, function.end))
			break;
		cfi_reader_run(reader, function.entry, on_row, visitor->context);
	}
	*ret = reader->result;
	cfi_reader_destroy(reader);
}
