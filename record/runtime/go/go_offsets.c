/*
 * Sources: runtime/asm_amd64.s (systemstack), runtime/proc.go (casgstatus, newproc1),
 * runtime/runtime2.go (g: atomicstatus, stackLock, goid; gopc, ancestors, startpc),
 * runtime/proflabel.go, runtime/{asm,tls}_arm64.s of Go 1.15, 1.19, 1.24, 1.26 and 1.27; what their
 * compilers make of them.
 */
#include "record/runtime/go/go_offsets.h"

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/machine/arm64_insn.h"
#include "format/machine/x86_64_insn.h"

enum {
	FIELDS_FROM = 0x80, /* those that are sought lie behind what the scheduler saves */
	FIELDS_TO = 0x300,
	STATUS_TO_GOID = 8, /* behind the status are a word of 4 bytes, and goid */
	FIELD_WORDS = (FIELDS_TO - FIELDS_FROM) / 8,
};

/* ---- x86-64 ---- */

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
static bool thread_of_x86_64(const struct go_code *code, int32_t *tls, uint16_t *m, uint16_t *curg)
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
		bool loads = insn.kind == X86_64_LOAD && insn.value > 0 && insn.value < FIELDS_TO;
		if (loads && is_g && of_m == X86_64_NO_REGISTER) {
			*m = (uint16_t)insn.value;
			of_m = insn.reg;
		} else if (loads && insn.base == of_m && insn.value >= FIELDS_FROM) {
			*curg = (uint16_t)insn.value;
			is_found = true;
		}
	}
	return is_found && *tls < 0;
}

/* lock cmpxchg %reg32,disp32(%reg): of the status; behind it are a word of 4 bytes, and goid. */
static uint16_t goid_of_x86_64(const struct go_code *code)
{
	enum {
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

static bool is_field(int64_t offset)
{
	return offset >= FIELDS_FROM && offset < FIELDS_TO && offset % 8 == 0;
}

static void stores_of_x86_64(const struct go_code *code, bool stores[FIELD_WORDS])
{
	struct x86_64_insn insn;
	for (size_t at = 0; at < code->len; at += insn.len) {
		if (!x86_64_insn_decode(code->bytes + at, code->len - at, &insn))
			return;
		if (insn.kind == X86_64_STORE && insn.base != X86_64_SP && is_field(insn.value))
			stores[(insn.value - FIELDS_FROM) / 8] = true;
	}
}

/* ---- arm64 ---- */

enum {
	GOROUTINE = 28, /* the register that has it */
};

static struct arm64_insn arm64_at(const struct go_code *code, size_t at)
{
	return arm64_insn_decode(code->bytes + at, code->len - at, code->address + at);
}

/* ldr xM,[x28,#m]; ldr x28,[xM,#curg]. */
static bool thread_of_arm64(const struct go_code *code, uint16_t *m, uint16_t *curg)
{
	uint8_t of_m = ARM64_NO_REGISTER;
	for (size_t at = 0; at < code->len; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_at(code, at);
		bool loads = insn.kind == ARM64_LOAD && insn.bytes == 8 && insn.value < FIELDS_TO;
		if (loads && insn.base == GOROUTINE && insn.reg != ARM64_FP) {
			*m = (uint16_t)insn.value;
			of_m = insn.reg;
		} else if (loads && insn.base == of_m && insn.reg == GOROUTINE) {
			*curg = (uint16_t)insn.value;
			return true;
		} else if (of_m < ARM64_NO_REGISTER && insn.writes >> of_m & 1) {
			of_m = ARM64_NO_REGISTER;
		}
	}
	return false;
}

/* add xN,xG,#status; ldaxr wV,[xN], or casal wV,wV,[xN]. */
static uint16_t goid_of_arm64(const struct go_code *code)
{
	uint64_t sums[ARM64_SP] = {0};
	for (size_t at = 0; at + ARM64_INSN_BYTES <= code->len; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_at(code, at);
		uint32_t word = (uint32_t)number_at(code->bytes + at);
		bool is_exclusive =
			(word & 0xfffffc00) == 0x885ffc00 || (word & 0xffe0fc00) == 0x88e0fc00;
		unsigned base = word >> 5 & 31;
		if (is_exclusive && base < ARM64_SP && is_field((int64_t)sums[base]))
			return (uint16_t)(sums[base] + STATUS_TO_GOID);
		for (unsigned i = 0; i < ARM64_SP; i++)
			if (insn.writes >> i & 1)
				sums[i] = 0;
		if (insn.kind == ARM64_SUM && insn.reg < ARM64_SP)
			sums[insn.reg] = insn.value;
	}
	return 0;
}

static void stores_of_arm64(const struct go_code *code, bool stores[FIELD_WORDS])
{
	for (size_t at = 0; at < code->len; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_at(code, at);
		if (insn.kind == ARM64_STORE && insn.bytes == 8 && insn.base != ARM64_SP &&
			is_field((int64_t)insn.value))
			stores[(insn.value - FIELDS_FROM) / 8] = true;
	}
}

/* The first byte that is loaded from an address that is known. */
uint64_t go_address_of_cgo(const struct go_code *code)
{
	struct arm64_values values = {.known = 0};
	for (size_t at = 0; at < code->len; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_at(code, at);
		uint64_t address = code->address;
		bool of_thread, is_byte = insn.kind == ARM64_LOAD && insn.bytes == 1;
		if (is_byte && arm64_values_address(&values, &insn, &address, &of_thread))
			return address;
		arm64_values_run(&values, &insn);
	}
	return 0;
}

/* ---- both ---- */

bool go_offsets_of_thread(const struct go_code *code, int32_t *tls, uint16_t *m, uint16_t *curg)
{
	return code->machine == EM_AARCH64 ? thread_of_arm64(code, m, curg)
					   : thread_of_x86_64(code, tls, m, curg);
}

uint16_t go_offset_of_goid(const struct go_code *code)
{
	return code->machine == EM_AARCH64 ? goid_of_arm64(code) : goid_of_x86_64(code);
}

/* Which of the words of a structure are stored to, by whichever register it goes. */
static void find_stores(const struct go_code *code, bool stores[FIELD_WORDS])
{
	memset(stores, 0, FIELD_WORDS * sizeof(*stores));
	if (code->machine == EM_AARCH64)
		stores_of_arm64(code, stores);
	else
		stores_of_x86_64(code, stores);
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
