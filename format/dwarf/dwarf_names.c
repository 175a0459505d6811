#include "format/dwarf/dwarf_names.h"

enum {
	/* concrete -> abstract -> declaration is what compilers write; a loop is damage */
	HOPS_MAX = 16,
};

/* What one DIE of the chain adds to what nearer ones said. */
struct chain {
	struct dwarf_function *function;
	struct dwarf_span linkage_name, name;
	struct dwarf_value next;
};

static void take_attribute(
	struct chain *chain, const struct dwarf_unit *unit, const struct dwarf_attributes *it)
{
	struct dwarf_function *function = chain->function;
	switch (it->name) {
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		if (!chain->linkage_name.len)
			chain->linkage_name = dwarf_value_string(unit, &it->value);
		break;
	case DW_AT_name:
		if (!chain->name.len)
			chain->name = dwarf_value_string(unit, &it->value);
		break;
	case DW_AT_decl_file:
		if (!function->unit) {
			function->unit = unit;
			function->decl_file = it->value.number;
		}
		break;
	case DW_AT_decl_line:
		if (!function->decl_line)
			function->decl_line = it->value.number;
		break;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		chain->next = it->value;
		break;
	default:
		break;
	}
}

void dwarf_read_function(
	struct dwarf_reader *reader, struct dwarf_die die, struct dwarf_function *ret)
{
	*ret = (struct dwarf_function){0};
	struct chain chain = {.function = ret};
	struct dwarf_attributes it;
	for (int hops = 0; hops < HOPS_MAX && die.unit; hops++) {
		if (!dwarf_attributes_start(&it, die.unit, die.offset))
			break;
		chain.next = (struct dwarf_value){0};
		while (dwarf_attributes_next(&it))
			take_attribute(&chain, die.unit, &it);
		bool has_all = chain.linkage_name.len && ret->unit && ret->decl_line;
		if (has_all || !chain.next.form)
			break;
		die = dwarf_value_die(reader, die.unit, &chain.next);
	}
	/* The object writer of .NET's NativeAOT says line 1 of file 1 of all functions: 8, 9. */
	if (ret->decl_file == 1 && ret->decl_line == 1) {
		ret->decl_file = ret->decl_line = 0;
		ret->unit = NULL;
	}
	ret->is_linkage_name = chain.linkage_name.len;
	ret->name = chain.linkage_name.len ? chain.linkage_name : chain.name;
}

void dwarf_read_call(struct dwarf_reader *reader, struct dwarf_die die, struct dwarf_call *ret)
{
	*ret = (struct dwarf_call){.function = die};
	struct dwarf_attributes it;
	if (!dwarf_attributes_start(&it, die.unit, die.offset))
		return;
	while (dwarf_attributes_next(&it)) {
		if (it.name == DW_AT_call_file) {
			ret->file = it.value.number;
			ret->has_file = true;
		} else if (it.name == DW_AT_call_line) {
			ret->line = it.value.number;
		} else if (it.name == DW_AT_call_column) {
			ret->column = it.value.number;
		} else if (it.name == DW_AT_abstract_origin) {
			struct dwarf_die origin = dwarf_value_die(reader, die.unit, &it.value);
			if (origin.unit)
				ret->function = origin;
		}
	}
}

const struct dwarf_line_header *dwarf_unit_lines(struct dwarf_unit *unit)
{
	if (!unit->lines && unit->has_lines) {
		unit->lines = dwarf_line_header_create(
			unit->line_file, unit->line_offset, unit->header.encoding.address_bytes);
		unit->has_lines = unit->lines;
	}
	return unit->lines;
}
