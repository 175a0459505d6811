#include "format/dwarf/dwarf_abbrev.h"

#include "format/base/vec.h"

/* The instructions of a program; what follows each of them is in brackets. */
enum op {
	OP_END,
	OP_SKIP, /* [bytes] */
	OP_LEB,
	OP_VALUE, /* [form, 2 bytes]: all that is rare */
	OP_STRING,
	OP_BLOCK,    /* [bytes of its length, 0: LEB128] */
	OP_CAPTURE,  /* [slot, form in 2 bytes] */
	OP_CONSTANT, /* [slot, 8 bytes] */
	OP_BROKEN,   /* an unknown form: where the DIE ends is not known either */
};

int dwarf_form_size(uint16_t form, struct dwarf_encoding encoding)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return encoding.address_bytes;
	case DW_FORM_ref_addr: /* version 2 made it an address: DWARF 3, 1.5.1 */
		return encoding.version <= 2 ? encoding.address_bytes : encoding.offset_bytes;
	case DW_FORM_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return encoding.offset_bytes;
	case DW_FORM_string:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_block:
	case DW_FORM_exprloc:
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_indirect:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return -1;
	default:
		return -2;
	}
}

/* Forms that are one LEB128. */
static bool is_leb(uint16_t form)
{
	switch (form) {
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return true;
	default:
		return false;
	}
}

/* The bytes that hold a block's length, 0 for LEB128, -1 when the form is no block. */
static int block_length_bytes(uint16_t form)
{
	switch (form) {
	case DW_FORM_block1:
		return 1;
	case DW_FORM_block2:
		return 2;
	case DW_FORM_block4:
		return 4;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return 0;
	default:
		return -1;
	}
}

uint64_t dwarf_form_number(
	struct bytes_cursor *cursor, uint16_t form, struct dwarf_encoding encoding)
{
	if (form == DW_FORM_sdata)
		return (uint64_t)dwarf_sleb(cursor);
	if (is_leb(form))
		return dwarf_uleb(cursor);
	int size = dwarf_form_size(form, encoding);
	return form == DW_FORM_flag_present ? 1 : dwarf_unsigned(cursor, (unsigned)size);
}

void dwarf_form_skip(struct bytes_cursor *cursor, uint16_t form, struct dwarf_encoding encoding)
{
	if (form == DW_FORM_indirect) { /* the form stands before the value: DWARF 5, 7.5.3 */
		form = (uint16_t)dwarf_uleb(cursor);
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const) {
			dwarf_overrun(cursor);
			return;
		}
	}
	int size = dwarf_form_size(form, encoding);
	int length_bytes = block_length_bytes(form);
	if (size >= 0)
		dwarf_skip(cursor, (uint64_t)size);
	else if (is_leb(form))
		dwarf_skip_leb(cursor);
	else if (form == DW_FORM_string)
		dwarf_text(cursor);
	else if (length_bytes == 0)
		dwarf_skip(cursor, dwarf_uleb(cursor));
	else if (length_bytes > 0)
		dwarf_skip(cursor, dwarf_unsigned(cursor, (unsigned)length_bytes));
	else
		dwarf_overrun(cursor);
}

/* ---- compiling ---- */

static uint8_t dwarf_abbrev_kind_of(uint64_t tag)
{
	switch (tag) {
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_skeleton_unit:
	case DW_TAG_namespace:
	case DW_TAG_module:
		return DWARF_SCOPE;
	case DW_TAG_class_type:
	case DW_TAG_interface_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return DWARF_TYPE;
	case DW_TAG_subprogram:
		return DWARF_FUNCTION;
	case DW_TAG_inlined_subroutine:
		return DWARF_INLINED;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return DWARF_BLOCK;
	default:
		return DWARF_OTHER;
	}
}

static bool dwarf_abbrev_has_code(uint8_t kind)
{
	return kind == DWARF_FUNCTION || kind == DWARF_INLINED || kind == DWARF_BLOCK;
}

/* The slot that keeps this attribute, or -1. */
static int dwarf_abbrev_slot_of(uint64_t attribute, const struct dwarf_abbrev *abbrev)
{
	if (attribute == DW_AT_sibling)
		return abbrev->has_children ? DWARF_SLOT_SIBLING : -1;
	if (!dwarf_abbrev_has_code(abbrev->kind))
		return -1;
	switch (attribute) {
	case DW_AT_low_pc:
		return DWARF_SLOT_LOW_PC;
	case DW_AT_high_pc:
		return DWARF_SLOT_HIGH_PC;
	case DW_AT_ranges:
		return DWARF_SLOT_RANGES;
	default:
		return -1;
	}
}

static bool is_number(uint16_t form, int size)
{
	return is_leb(form) || (size > 0 && size <= 8);
}

struct compiler {
	struct dwarf_abbrevs *abbrevs;
	uint64_t skipped;   /* bytes that are still to be put into an OP_SKIP */
	uint64_t bytes;     /* of the DIE so far, while is_fixed */
	uint8_t sibling_at; /* or DWARF_NO_SIBLING */
	bool is_fixed;
};

static void put_op(struct compiler *compiler, uint8_t op)
{
	vec_push(&compiler->abbrevs->programs, op);
}

static void flush_skip(struct compiler *compiler)
{
	for (; compiler->skipped;
		compiler->skipped -= compiler->skipped > 255 ? 255 : compiler->skipped) {
		put_op(compiler, OP_SKIP);
		put_op(compiler, compiler->skipped > 255 ? 255 : (uint8_t)compiler->skipped);
	}
}

/* An instruction with its operand of `bytes` bytes, before which a slot stands where it has one. */
static void dwarf_abbrev_put_instruction(
	struct compiler *compiler, enum op op, int slot, uint64_t operand, int bytes)
{
	flush_skip(compiler);
	put_op(compiler, (uint8_t)op);
	if (slot >= 0)
		put_op(compiler, (uint8_t)slot);
	for (int i = 0; i < bytes; i++)
		put_op(compiler, (uint8_t)(operand >> (8 * i)));
}

static void compile_attribute(
	struct compiler *compiler, int slot, uint16_t form, int size, int64_t constant)
{
	int length_bytes = block_length_bytes(form);
	if (slot >= 0 && form == DW_FORM_implicit_const)
		dwarf_abbrev_put_instruction(compiler, OP_CONSTANT, slot, (uint64_t)constant, 8);
	else if (slot >= 0 && is_number(form, size))
		dwarf_abbrev_put_instruction(compiler, OP_CAPTURE, slot, form, 2);
	else if (size >= 0)
		compiler->skipped += (unsigned)size; /* of a slot too: data16 is no number */
	else if (is_leb(form))
		dwarf_abbrev_put_instruction(compiler, OP_LEB, -1, 0, 0);
	else if (form == DW_FORM_string)
		dwarf_abbrev_put_instruction(compiler, OP_STRING, -1, 0, 0);
	else if (length_bytes >= 0)
		dwarf_abbrev_put_instruction(compiler, OP_BLOCK, -1, (uint64_t)length_bytes, 1);
	else if (form == DW_FORM_indirect)
		dwarf_abbrev_put_instruction(compiler, OP_VALUE, -1, form, 2);
	else
		dwarf_abbrev_put_instruction(compiler, OP_BROKEN, -1, 0, 0);
}

static int dwarf_abbrev_size_of(const struct dwarf_abbrevs *abbrevs, uint16_t form)
{
	return form < DWARF_FORMS ? abbrevs->form_sizes[form]
				  : dwarf_form_size(form, abbrevs->encoding);
}

/* What a walk needs to know to step over such a DIE without running its program. */
static void measure_attribute(struct compiler *compiler, int slot, uint16_t form, int size)
{
	if (slot == DWARF_SLOT_SIBLING && form == DW_FORM_ref4 &&
		compiler->bytes < DWARF_NO_SIBLING)
		compiler->sibling_at = (uint8_t)compiler->bytes;
	else if (slot >= 0 || size < 0)
		compiler->is_fixed = false;
	compiler->bytes += size > 0 ? (unsigned)size : 0;
}

/* One abbreviation behind its code; false at the end of what is sound. */
static bool compile(
	struct dwarf_abbrevs *abbrevs, struct bytes_cursor *cursor, struct dwarf_abbrev *ret)
{
	uint64_t tag = dwarf_uleb(cursor);
	struct dwarf_abbrev abbrev = {
		.tag = tag > UINT16_MAX ? 0 : (uint16_t)tag, .kind = dwarf_abbrev_kind_of(tag)};
	abbrev.has_children = dwarf_u8(cursor);
	abbrev.specs = (uint32_t)bytes_offset(cursor);
	abbrev.program = (uint32_t)abbrevs->programs.len;
	struct compiler compiler = {
		.abbrevs = abbrevs, .sibling_at = DWARF_NO_SIBLING, .is_fixed = true};
	bool is_placed = false;
	for (;;) {
		uint64_t attribute = dwarf_uleb(cursor), form = dwarf_uleb(cursor);
		int64_t constant = form == DW_FORM_implicit_const ? dwarf_sleb(cursor) : 0;
		if (cursor->overrun)
			return false;
		if (!attribute && !form)
			break;
		uint16_t narrow = form > UINT16_MAX ? 0 : (uint16_t)form;
		int slot = dwarf_abbrev_slot_of(attribute, &abbrev);
		int size = dwarf_abbrev_size_of(abbrevs, narrow);
		if (slot < 0 && size >= 0) { /* nearly all */
			compiler.skipped += (unsigned)size;
			compiler.bytes += (unsigned)size;
			continue;
		}
		compile_attribute(&compiler, slot, narrow, size, constant);
		measure_attribute(&compiler, slot, narrow, size);
		is_placed |= slot > DWARF_SLOT_SIBLING;
	}
	if (abbrev.kind == DWARF_FUNCTION && !is_placed)
		abbrev.kind = DWARF_DECLARED;
	bool is_fixed = compiler.is_fixed && compiler.bytes < DWARF_VARIES;
	abbrev.fixed = is_fixed ? (uint32_t)compiler.bytes : DWARF_VARIES;
	abbrev.sibling_at = compiler.sibling_at;
	flush_skip(&compiler);
	put_op(&compiler, OP_END);
	*ret = abbrev;
	return true;
}

static struct bytes_cursor start_table(struct dwarf_abbrevs *abbrevs, struct dwarf_span section,
	uint64_t offset, struct dwarf_encoding encoding)
{
	struct bytes_cursor cursor = dwarf_cursor_at(section, offset);
	if (bytes_left(&cursor) > INT32_MAX) /* offsets are kept in 32 bits */
		cursor.end = cursor.pos + INT32_MAX;
	*abbrevs = (struct dwarf_abbrevs){
		.bytes = {cursor.pos, bytes_left(&cursor)}, .encoding = encoding};
	for (unsigned form = 0; form < DWARF_FORMS; form++)
		abbrevs->form_sizes[form] = (int8_t)dwarf_form_size((uint16_t)form, encoding);
	return cursor;
}

static void put_abbrev(struct dwarf_abbrevs *abbrevs, uint64_t code, struct dwarf_abbrev abbrev)
{
	if (code == abbrevs->list.len + 1 && abbrevs->nr_dense == abbrevs->list.len) {
		abbrevs->nr_dense++;
	} else if (code > abbrevs->nr_dense) {
		bool added;
		uint64_t *index = map_put(&abbrevs->sparse, code, &added);
		if (added)
			*index = abbrevs->list.len;
	}
	vec_push(&abbrevs->list, abbrev);
}

void dwarf_abbrevs_init(struct dwarf_abbrevs *abbrevs, struct dwarf_span section, uint64_t offset,
	struct dwarf_encoding encoding)
{
	struct bytes_cursor cursor = start_table(abbrevs, section, offset, encoding);
	struct dwarf_abbrev abbrev;
	for (uint64_t code; (code = dwarf_uleb(&cursor)) && compile(abbrevs, &cursor, &abbrev);)
		put_abbrev(abbrevs, code, abbrev);
	abbrevs->parsed = bytes_offset(&cursor);
}

/* An abbreviation behind its code; the cursor overruns when it has no end. */
static void skip_abbrev(struct bytes_cursor *cursor)
{
	dwarf_skip_leb(cursor);
	dwarf_u8(cursor);
	for (uint64_t attribute = 1, form = 1; (attribute || form) && !cursor->overrun;) {
		attribute = dwarf_uleb(cursor);
		form = dwarf_uleb(cursor);
		if (form == DW_FORM_implicit_const)
			dwarf_skip_leb(cursor);
	}
}

void dwarf_abbrevs_init_one(struct dwarf_abbrevs *abbrevs, struct dwarf_span section,
	uint64_t offset, struct dwarf_encoding encoding, uint64_t code)
{
	struct bytes_cursor cursor = start_table(abbrevs, section, offset, encoding);
	struct dwarf_abbrev abbrev;
	uint64_t found;
	while ((found = dwarf_uleb(&cursor)) && found != code)
		skip_abbrev(&cursor);
	if (found && compile(abbrevs, &cursor, &abbrev))
		put_abbrev(abbrevs, code, abbrev);
	abbrevs->parsed = bytes_offset(&cursor);
}

void dwarf_abbrevs_deinit(struct dwarf_abbrevs *abbrevs)
{
	vec_deinit(&abbrevs->list);
	vec_deinit(&abbrevs->programs);
	map_deinit(&abbrevs->sparse);
}

const struct dwarf_abbrev *dwarf_abbrevs_find_sparse(
	const struct dwarf_abbrevs *abbrevs, uint64_t code)
{
	const uint64_t *index = map_get(&abbrevs->sparse, code);
	return index ? &abbrevs->list.data[*index] : NULL;
}

/* ---- running ---- */

static uint16_t get_form(const uint8_t *op)
{
	return (uint16_t)(op[0] | op[1] << 8);
}

static uint64_t dwarf_abbrev_get_constant(const uint8_t *op)
{
	uint64_t value = 0;
	for (int i = 0; i < 8; i++)
		value |= (uint64_t)op[i] << (8 * i);
	return value;
}

/* The usual forms of what is captured, without the way through tables. */
static inline uint64_t capture_number(
	struct bytes_cursor *cursor, uint16_t form, struct dwarf_encoding encoding)
{
	switch (form) {
	case DW_FORM_data1:
		return dwarf_u8(cursor);
	case DW_FORM_data4:
	case DW_FORM_ref4:
		return dwarf_u32(cursor);
	case DW_FORM_data8:
		return dwarf_u64(cursor);
	case DW_FORM_addr:
		return encoding.address_bytes == 8 ? dwarf_u64(cursor)
						   : dwarf_unsigned(cursor, encoding.address_bytes);
	case DW_FORM_sec_offset:
		return encoding.offset_bytes == 4 ? dwarf_u32(cursor) : dwarf_u64(cursor);
	default:
		return dwarf_form_number(cursor, form, encoding);
	}
}

void dwarf_abbrev_run_program(const struct dwarf_abbrevs *abbrevs,
	const struct dwarf_abbrev *abbrev, struct bytes_cursor *cursor,
	struct dwarf_captured *captured)
{
	struct dwarf_encoding encoding = abbrevs->encoding;
	for (const uint8_t *op = abbrevs->programs.data + abbrev->program;;) {
		switch ((enum op) * op++) {
		case OP_END:
			return;
		case OP_SKIP:
			dwarf_skip(cursor, *op++);
			break;
		case OP_LEB:
			dwarf_skip_leb(cursor);
			break;
		case OP_VALUE:
			dwarf_form_skip(cursor, get_form(op), encoding);
			op += 2;
			break;
		case OP_STRING:
			dwarf_text(cursor);
			break;
		case OP_BLOCK: {
			unsigned bytes = *op++;
			dwarf_skip(
				cursor, bytes ? dwarf_unsigned(cursor, bytes) : dwarf_uleb(cursor));
			break;
		}
		case OP_CAPTURE:
			captured->forms[op[0]] = get_form(op + 1);
			captured->values[op[0]] =
				capture_number(cursor, get_form(op + 1), encoding);
			op += 3;
			break;
		case OP_CONSTANT:
			captured->forms[op[0]] = DW_FORM_implicit_const;
			captured->values[op[0]] = dwarf_abbrev_get_constant(op + 1);
			op += 9;
			break;
		case OP_BROKEN:
		default:
			dwarf_overrun(cursor);
			return;
		}
	}
}
