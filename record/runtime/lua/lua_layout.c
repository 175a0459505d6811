/*
 * Sources: offsetof() and the macros of lstate.h, lobject.h, lopcodes.h of Lua 5.1.5, 5.2.4, 5.3.6,
 * 5.4.2, 5.4.4, 5.4.7, 5.4.9, 5.5.1 for x86-64.
 */
#include "record/runtime/lua/lua_layout.h"

#include "record/runtime/lua/lua_lines.h"

/* What several versions have in common. */
#define INSTRUCTIONS_UNTIL_53 \
	.op_mask = 63, .shift_a = 6, .shift_b = 23, .mask_b = 511, .shift_c = 14, .mask_c = 255, \
	.jump_shift = 14, .jump_bias = 131071
#define READS_OF_52_AND_53 .get_upvalue = 5, .get_global = 6, .get_field = 7, .self = 12
#define PROTO_UNTIL_52 \
	.proto_type = 9, .proto_constants = 16, .proto_code = 24, .proto_upvalues = 56, \
	.proto_lines = 40, .proto_locals = 48
#define STATE_SINCE_52 .state_global = 24, .state_call = 32
#define VALUES_SINCE_52 \
	.value_closure = 0x46, .value_name = 0x44, .closure_proto = 24, .upvalue_bytes = 16

static const struct lua_row lua_51 = {
	.code =
		{
			.sets_a = {0x31bc3ffc7f},
			.sets_from = {0x230000008, 0x0},
			INSTRUCTIONS_UNTIL_53,
			.call = 28,
			.get_upvalue = 4,
			.get_global = 5,
			.get_field = 6,
			.self = 11,
			.jump = 22,
			.tail_call = 29,
			.closure = 36,
		},
	.flags = LUA_STATUS_TELLS_LUA | LUA_STATUS_TELLS_SAME_LOOP | LUA_CALLS_IN_ARRAY |
		 LUA_GLOBALS_HAVE_NAMES,
	.state_global = 32,
	.state_call = 40,
	.state_place = 48,
	.state_error = 168,
	.call_function = 48,
	.call_place = 64,
	.call_bytes = 40,
	.value_closure = 6,
	.value_name = 4,
	.closure_proto = 32,
	.upvalue_bytes = 8,
	PROTO_UNTIL_52,
	.proto_source = 64,
	.proto_nr_code = 80,
	.proto_nr_lines = 84,
	.proto_nr_locals = 92,
	.proto_first_line = 96,
	.state_main = 176,
	.status_kind = 1 << 0,
	.status_loop = 1 << 1,
	.status_tail = 1 << 2,
};

static const struct lua_row lua_52 = {
	.code =
		{
			.sets_a = {0x6b707ff8ff},
			.sets_from = {0x460000010, 0x0},
			INSTRUCTIONS_UNTIL_53,
			.call = 29,
			READS_OF_52_AND_53,
			.jump = 23,
		},
	.flags = LUA_STATUS_TELLS_LUA | LUA_STATUS_TELLS_SAME_LOOP,
	STATE_SINCE_52,
	.state_error = 112,
	.call_place = 56,
	.call_status = 34,
	VALUES_SINCE_52,
	PROTO_UNTIL_52,
	.proto_source = 72,
	.proto_nr_code = 88,
	.proto_nr_lines = 92,
	.proto_nr_locals = 100,
	.proto_first_line = 104,
	.state_main = 264,
	.status_kind = 1 << 0,
	.status_loop = 1 << 2,
	.status_tail = 1 << 6,
};

static const struct lua_row lua_53 = {
	.code =
		{
			.sets_a = {0x35b83ffff8ff},
			.sets_from = {0x23000000010, 0x0},
			INSTRUCTIONS_UNTIL_53,
			.call = 36,
			READS_OF_52_AND_53,
			.jump = 30,
		},
	.flags = LUA_STATUS_TELLS_LUA,
	STATE_SINCE_52,
	.state_error = 88,
	.call_place = 40,
	.call_status = 66,
	VALUES_SINCE_52,
	.proto_type = 9,
	.proto_constants = 48,
	.proto_code = 56,
	.proto_upvalues = 88,
	.proto_lines = 72,
	.proto_locals = 80,
	.proto_source = 104,
	.proto_nr_code = 24,
	.proto_nr_lines = 28,
	.proto_nr_locals = 36,
	.proto_first_line = 40,
	.state_main = 200,
	.status_kind = 1 << 1,
	.status_loop = 1 << 3,
	.status_tail = 1 << 5,
};

static const struct lua_row lua_54 = {
	.code =
		{
			.sets_a = {0x3e3ffffff87bff, 0x3a638},
			.sets_from = {0x100, 0x1030},
			.op_mask = 127,
			.shift_a = 7,
			.shift_b = 16,
			.shift_c = 24,
			.mask_b = 255,
			.mask_c = 255,
			.jump_bias = 16777215,
			.jump_shift = 7,
			.call = 68,
			.get_upvalue = 9,
			.get_global = 11,
			.get_field = 14,
			.self = 20,
			.jump = 56,
		},
	.flags = LUA_LINES_ARE_DELTAS,
	STATE_SINCE_52,
	.state_error = 88,
	.call_place = 32,
	.call_status = 62,
	VALUES_SINCE_52,
	.proto_type = 10,
	.proto_constants = 56,
	.proto_code = 64,
	.proto_upvalues = 80,
	.proto_lines = 88,
	.proto_whole_lines = 96,
	.proto_locals = 104,
	.proto_source = 112,
	.proto_nr_code = 24,
	.proto_nr_lines = 28,
	.proto_nr_whole_lines = 40,
	.proto_nr_locals = 36,
	.proto_first_line = 44,
	.state_main = 264,
	.status_kind = 1 << 1,
	.status_loop = 1 << 2,
	.status_tail = 1 << 5,
};

/* What is as in 5.4 is not said again; its instructions have the same numbers as far as they
 * matter. */
static void change_to_55(struct lua_row *row)
{
	row->flags |= LUA_MAIN_IS_INSIDE | LUA_STRINGS_MAY_POINT | LUA_METHODS_HAVE_NAMES;
	row->call_status = 60;
	row->state_main = 1416;
	row->status_kind = 1 << 15;
	row->status_loop = 1 << 16;
	row->status_tail = 1 << 22;
}

bool lua_layout_of_version(uint32_t version, uint32_t release, struct lua_row *ret)
{
	static const struct lua_row *const versions[] = {
		&lua_51, &lua_52, &lua_53, &lua_54, &lua_54};
	if (version < LUA_FIRST_VERSION || version > LUA_LAST_VERSION)
		return false;
	*ret = *versions[version - LUA_FIRST_VERSION];
	ret->version = (uint8_t)version;
	if (version == 54 && release < 3) /* lua_State has no tbclist yet */
		ret->state_error = 80;
	if (version == 55)
		change_to_55(ret);
	return true;
}

bool lua_layout_is_sound(const struct lua_row *row)
{
	const uint8_t in_proto[] = {row->proto_constants, row->proto_code, row->proto_upvalues,
		row->proto_lines, row->proto_whole_lines, row->proto_locals, row->proto_source,
		row->proto_nr_code, row->proto_nr_lines, row->proto_nr_whole_lines,
		row->proto_nr_locals, row->proto_first_line};
	bool is_sound = row->version >= LUA_FIRST_VERSION && row->version <= LUA_LAST_VERSION &&
			row->call_place < LUA_CALL_BYTES && row->call_status < LUA_CALL_BYTES - 3 &&
			row->call_function < LUA_CALL_BYTES && row->code.shift_a < 32 &&
			row->code.op_mask;
	for (size_t i = 0; i < sizeof(in_proto); i++)
		is_sound &= in_proto[i] < LUA_PROTO_BYTES;
	return is_sound;
}
