#include <string.h>

#include "format/base/bytes.h"
#include "format/dwarf/cfi.h"
#include "tests/unit/unit.h"

enum {
	VADDR = 0x10000,
	CODE = 0x1000, /* where the function stands */
	RBP = 6,
	RIP = 16,
};

/* An .eh_frame under construction: one CIE, then functions. */
struct builder {
	struct bytes_buf out;
};

static void put_entry(struct builder *builder, const struct bytes_buf *body)
{
	bytes_put_u32(&builder->out, (uint32_t)body->len);
	bytes_put(&builder->out, body->data, body->len);
}

/* "zR" with pc-relative 4-byte pointers; on entry CFA is rsp+8 and the return address below it. */
static void put_cie(struct builder *builder, const char *augmentation)
{
	static const uint8_t on_entry[] = {0x0c, 7, 8, 0x90, 1};
	struct bytes_buf body = {0};
	bytes_put_u32(&body, 0);
	bytes_put_u8(&body, 1);
	bytes_put(&body, augmentation, strlen(augmentation) + 1);
	bytes_put_varint(&body, 1);
	bytes_put_u8(&body, 0x78); /* -8 */
	bytes_put_u8(&body, 16);
	bytes_put_varint(&body, 1);
	bytes_put_u8(&body, 0x1b);
	bytes_put(&body, on_entry, sizeof(on_entry));
	put_entry(builder, &body);
	bytes_buf_deinit(&body);
}

static void put_fde(struct builder *builder, uint32_t start, uint32_t len, const void *program,
	size_t program_len)
{
	struct bytes_buf body = {0};
	uint32_t at = (uint32_t)builder->out.len + 4;
	bytes_put_u32(&body, at); /* back to the CIE at 0 */
	bytes_put_u32(&body, start - (VADDR + at + 4));
	bytes_put_u32(&body, len);
	bytes_put_varint(&body, 0);
	bytes_put(&body, program, program_len);
	put_entry(builder, &body);
	bytes_buf_deinit(&body);
}

struct log {
	uint64_t addresses[64];
	struct cfi_row rows[64];
	size_t count;
	uint64_t start, end;
};

static bool on_function(void *context, uint64_t start, uint64_t end)
{
	struct log *log = context;
	log->start = start;
	log->end = end;
	return true;
}

static void on_row(void *context, uint64_t address, const struct cfi_row *row)
{
	struct log *log = context;
	if (log->count == 64)
		return;
	log->addresses[log->count] = address;
	log->rows[log->count++] = *row;
}

static struct cfi_result walk(const uint8_t *bytes, size_t len, struct log *log)
{
	struct cfi_section section = {
		.kind = CFI_EH_FRAME,
		.bytes = bytes,
		.len = len,
		.vaddr = VADDR,
		.machine = &unwind_x86_64,
	};
	struct cfi_visitor visitor = {.context = log, .function = on_function, .row = on_row};
	struct cfi_result result;
	memset(log, 0, sizeof(*log));
	cfi_walk(&section, &visitor, &result);
	return result;
}

static struct cfi_result walk_program(const void *program, size_t len, struct log *log)
{
	struct builder builder = {0};
	put_cie(&builder, "zR");
	put_fde(&builder, CODE, 0x100, program, len);
	struct cfi_result result = walk(builder.out.data, builder.out.len, log);
	bytes_buf_deinit(&builder.out);
	return result;
}

TEST(cfi_follows_a_prologue)
{
	/* push rbp; mov rbp,rsp ... leave */
	static const uint8_t program[] = {
		0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x02, 0x50, 0x0c, 7, 8};
	struct log log;
	struct cfi_result result = walk_program(program, sizeof(program), &log);
	CHECK_INT(result.functions, 1);
	CHECK_INT(result.bad_functions, 0);
	CHECK_INT(log.start, CODE);
	CHECK_INT(log.end, CODE + 0x100);
	CHECK_INT(log.count, 4);
	static const uint64_t addresses[] = {CODE, CODE + 1, CODE + 4, CODE + 0x54};
	static const int registers[] = {7, 7, 6, 7}, offsets[] = {8, 16, 16, 8};
	for (size_t i = 0; i < log.count && i < 4; i++) {
		CHECK_INT(log.addresses[i], addresses[i]);
		CHECK_INT(log.rows[i].cfa_kind, UNWIND_CFA_REGISTER);
		CHECK_INT(log.rows[i].cfa_register, registers[i]);
		CHECK_INT(log.rows[i].cfa_offset, offsets[i]);
		CHECK_INT(log.rows[i].registers[RBP].kind, i ? UNWIND_AT_CFA : UNWIND_SAME);
		CHECK_INT(log.rows[i].registers[RBP].offset, i ? -16 : 0);
		CHECK_INT(log.rows[i].registers[RIP].kind, UNWIND_AT_CFA);
		CHECK_INT(log.rows[i].registers[RIP].offset, -8);
	}
}

TEST(cfi_remembers_and_restores)
{
	static const uint8_t program[] = {
		0x0e, 32, 0x0a, 0x44, 0x0e, 64, 0x44, 0x0b, 0x44, 0x86, 3, 0x44, 0xc6};
	struct log log;
	CHECK_INT(walk_program(program, sizeof(program), &log).bad_functions, 0);
	CHECK_INT(log.count, 5);
	CHECK_INT(log.rows[0].cfa_offset, 32);
	CHECK_INT(log.rows[1].cfa_offset, 64);
	CHECK_INT(log.rows[2].cfa_offset, 32);
	CHECK_INT(log.rows[3].registers[RBP].kind, UNWIND_AT_CFA);
	CHECK_INT(log.rows[4].registers[RBP].kind, UNWIND_SAME);
}

TEST(cfi_knows_the_plt_and_realigned_stacks)
{
	static const uint8_t plt[] = {
		0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
	static const uint8_t deref[] = {0x0f, 3, 0x76, 0x78, 0x06};
	static const uint8_t other[] = {0x0f, 2, 0x30, 0x31};
	struct log log;
	walk_program(plt, sizeof(plt), &log);
	CHECK_INT(log.rows[0].cfa_kind, UNWIND_CFA_PLT);
	CHECK_INT(log.rows[0].cfa_offset, 11);
	walk_program(deref, sizeof(deref), &log);
	CHECK_INT(log.rows[0].cfa_kind, UNWIND_CFA_DEREF);
	CHECK_INT(log.rows[0].cfa_register, 6);
	CHECK_INT(log.rows[0].cfa_offset, -8);
	walk_program(other, sizeof(other), &log);
	CHECK_INT(log.rows[0].cfa_kind, UNWIND_CFA_EXPRESSION);
}

static void check_deref(const void *program, size_t len, int offset, int offset2)
{
	struct log log;
	walk_program(program, len, &log);
	CHECK_INT(log.rows[0].cfa_kind, UNWIND_CFA_DEREF);
	CHECK_INT(log.rows[0].cfa_register, 6);
	CHECK_INT(log.rows[0].cfa_offset, offset);
	CHECK_INT(log.rows[0].cfa_offset2, offset2);
}

/* breg6 0, deref, lit16, plus stands in SBCL's call_into_lisp_. */
TEST(cfi_adds_constants_to_what_it_dereferences)
{
	check_deref("\x0f\x05\x76\x00\x06\x40\x22", 7, 0, 16);
	check_deref("\x0f\x07\x76\x08\x38\x1c\x06\x23\x18", 9, 0, 24);
	check_deref("\x0f\x09\x76\x00\x06\x08\x90\x22\x09\xf0\x22", 11, 0, 128);
	check_deref("\x0f\x09\x76\x00\x06\x0a\x00\x01\x1c\x38\x22", 11, 0, -248);
	struct log log;
	walk_program("\x0f\x04\x76\x00\x06\x40", 6, &log); /* one number too many, cut */
	CHECK(log.count == 0 || log.rows[0].cfa_kind != UNWIND_CFA_DEREF);
	walk_program("\x0f\x04\x76\x00\x06\x40\x1e", 7, &log); /* multiplied */
	CHECK(log.count == 0 || log.rows[0].cfa_kind != UNWIND_CFA_DEREF);
	walk_program("\x0f\x05\x76\x00\x06\x40\x1e", 7, &log);
	CHECK_INT(log.rows[0].cfa_kind, UNWIND_CFA_EXPRESSION);
}

TEST(cfi_tells_the_outermost_frame)
{
	static const uint8_t program[] = {0x07, 16};
	struct log log;
	walk_program(program, sizeof(program), &log);
	CHECK_INT(log.rows[0].registers[RIP].kind, UNWIND_UNDEFINED);
}

static void check_refused(const void *program, size_t len, const char *why)
{
	struct log log;
	struct cfi_result result = walk_program(program, len, &log);
	CHECK_INT(result.bad_functions, 1);
	CHECK_STR(result.bad_what, why);
}

TEST(cfi_refuses_what_makes_no_sense)
{
	uint8_t remembers[100];
	memset(remembers, 0x0a, sizeof(remembers));
	check_refused(remembers, sizeof(remembers), "too many remembered states");
	check_refused("\x0b", 1, "a restore without a remember");
	check_refused("\x3f", 1, "an unknown instruction");
	check_refused("\x0e", 1, "an instruction that is cut");
	check_refused("\x0f\x7f\x30", 3, "an instruction that is cut");
	check_refused("\x0f\x02\x30\x31\x0e\x10", 6, "half a rule for the CFA");
	check_refused("\x0e\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, "an instruction that is cut");
	check_refused("\x41\x01\x00\x00\xff\xff", 6, "a row that goes back");
}

/* Whatever is cut off or flipped: no crash, and nothing out of the section is read (sanitizers). */
TEST(cfi_survives_damage)
{
	static const uint8_t program[] = {
		0x41, 0x0e, 16, 0x86, 2, 0x0f, 3, 0x76, 0x78, 0x06, 0x0a, 0x41, 0x0b};
	struct builder builder = {0};
	put_cie(&builder, "zR");
	put_fde(&builder, CODE, 0x100, program, sizeof(program));
	put_fde(&builder, CODE + 0x100, 0x100, program, sizeof(program));
	size_t len = builder.out.len;
	struct log log;
	for (size_t cut = 0; cut <= len; cut++) {
		uint8_t *copy = mem_alloc(cut);
		memcpy(copy, builder.out.data, cut);
		walk(copy, cut, &log);
		mem_free(copy);
	}
	for (size_t bit = 0; bit < len * 8; bit++) {
		builder.out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		walk(builder.out.data, len, &log);
		builder.out.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	CHECK_INT(walk(builder.out.data, len, &log).functions, 2);
	bytes_buf_deinit(&builder.out);
}
