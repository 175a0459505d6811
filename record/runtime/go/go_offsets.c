/*
 * Sources: runtime/asm_amd64.s (systemstack), runtime/proc.go (casgstatus, newproc1),
 * runtime/runtime2.go (g: atomicstatus, stackLock, goid; gopc, ancestors, startpc),
 * runtime/proflabel.go of Go 1.15, 1.19, 1.24, 1.26 and 1.27; what their compilers make of them.
 */
#include "record/runtime/go/go_offsets.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/machine/x86_64_insn.h"

enum {
	FIELDS_FROM = 0x80, /* those that are sought lie behind what the scheduler saves */
	FIELDS_TO = 0x300,
	FIELD_WORDS = (FIELDS_TO - FIELDS_FROM) / 8,
};

static int32_t number_at(const uint8_t *bytes)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, 4);
	return (int32_t)bytes_get_u32(&cursor);
}

/*
 * A load of a word of the thread: by the offset itself, mov %fs:disp32,%reg, or by one that is in a
 * register, mov %fs:(%reg),%reg, as code that can be anywhere has it. That register's number in
 * *by; X86_64_NO_REGISTER: *offset is there. Returns its length; 0: it is none.
 */
static size_t match_thread_load(const uint8_t *at, size_t left, uint8_t *by, int32_t *offset)
{
	enum {
		BY_OFFSET = 9,
		BY_REGISTER = 4,
	};
	if (left < BY_REGISTER || at[0] != 0x64 || (at[1] & 0xf8) != 0x48 || at[2] != 0x8b)
		return 0;
	if (left >= BY_OFFSET && (at[3] & 0xc7) == 4 && at[4] == 0x25) {
		*by = X86_64_NO_REGISTER;
		*offset = number_at(at + 5);
		return BY_OFFSET;
	}
	bool is_by_register = !(at[3] & 0xc0) && (at[3] & 7) != 4 && (at[3] & 7) != 5;
	*by = (at[3] & 7) | (at[1] & 1) << 3;
	return is_by_register ? BY_REGISTER : 0;
}

/*
 * On its way back it goes from the g of the system's stack by its m to m.curg, which becomes the
 * thread's: three loads, each from what the one before has loaded. The last ones of all count.
 */
bool go_offsets_of_thread(const struct go_code *code, int32_t *tls, uint16_t *m, uint16_t *curg)
{
	int64_t constants[X86_64_NO_REGISTER] = {0};
	uint8_t of_m = X86_64_NO_REGISTER; /* the register that has the m */
	bool is_found = false, is_g = false;
	struct x86_64_insn insn;
	for (size_t at = 0; at < code->len; at += insn.len) {
		uint8_t by;
		int32_t offset;
		size_t len = match_thread_load(code->bytes + at, code->len - at, &by, &offset);
		if (len) {
			insn.len = (uint8_t)len;
			*tls = by == X86_64_NO_REGISTER ? offset : (int32_t)constants[by];
			is_g = true;
			of_m = X86_64_NO_REGISTER;
			continue;
		}
		if (!x86_64_insn_decode(code->bytes + at, code->len - at, &insn))
			break;
		if (insn.kind == X86_64_CONSTANT && insn.reg < X86_64_NO_REGISTER)
			constants[insn.reg] = insn.value;
		bool is_field =
			insn.kind == X86_64_LOAD && insn.value > 0 && insn.value < FIELDS_TO;
		if (is_field && is_g && of_m == X86_64_NO_REGISTER) {
			*m = (uint16_t)insn.value;
			of_m = insn.reg;
		} else if (is_field && insn.base == of_m && insn.value >= FIELDS_FROM) {
			*curg = (uint16_t)insn.value;
			is_found = true;
		}
	}
	return is_found && *tls < 0;
}

/* lock cmpxchg %reg32,disp32(%reg): of the status; behind it are a word of 4 bytes, and goid. */
uint16_t go_offset_of_goid(const struct go_code *code)
{
	enum {
		STATUS_TO_GOID = 8,
		LENGTH = 8,
	};
	for (size_t at = 0; at + LENGTH <= code->len; at++) {
		const uint8_t *bytes = code->bytes + at;
		bool has_rex = (bytes[1] & 0xf8) == 0x40;
		const uint8_t *opcode = bytes + 1 + has_rex;
		if (bytes[0] != 0xf0 || opcode[0] != 0x0f || opcode[1] != 0xb1 ||
			(opcode[2] & 0xc0) != 0x80 || at + LENGTH + has_rex > code->len)
			continue;
		int32_t status = number_at(opcode + 3);
		return status >= FIELDS_FROM && status < FIELDS_TO
			       ? (uint16_t)(status + STATUS_TO_GOID)
			       : 0;
	}
	return 0;
}

/* Which of the words of a structure are stored to, by whichever register it goes. */
static void find_stores(const struct go_code *code, bool stores[FIELD_WORDS])
{
	struct x86_64_insn insn;
	memset(stores, 0, FIELD_WORDS * sizeof(*stores));
	for (size_t at = 0; at < code->len; at += insn.len) {
		if (!x86_64_insn_decode(code->bytes + at, code->len - at, &insn))
			return;
		bool is_field = insn.kind == X86_64_STORE && insn.base != X86_64_SP &&
				insn.value >= FIELDS_FROM && insn.value < FIELDS_TO &&
				insn.value % 8 == 0;
		if (is_field)
			stores[(insn.value - FIELDS_FROM) / 8] = true;
	}
}

/* gopc, ancestors and startpc follow each other; what is filled in like that behind them is not of
 * a g, and far away. */
uint16_t go_offset_of_creator(const struct go_code *code)
{
	enum {
		LAST = 0x150,
	};
	bool stores[FIELD_WORDS];
	find_stores(code, stores);
	for (uint16_t i = (LAST - FIELDS_FROM) / 8; i-- > 0;)
		if (stores[i] && stores[i + 1] && stores[i + 2])
			return (uint16_t)(FIELDS_FROM + i * 8);
	return 0;
}

uint16_t go_offset_of_labels(const struct go_code *code)
{
	bool stores[FIELD_WORDS];
	uint16_t found = 0, count = 0;
	find_stores(code, stores);
	for (int i = 0; i < FIELD_WORDS; i++) {
		found = stores[i] ? (uint16_t)(FIELDS_FROM + i * 8) : found;
		count += stores[i];
	}
	return count == 1 ? found : 0;
}
