/*
 * An image of .NET that was compiled ahead of time, made by hand: types Space.Outer, its nested
 * <>c, Space.Box`1; functions Outer.Run with a funclet, a lambda in Run, and Box<int>.Hold. Of
 * x86-64, or of arm64.
 */
#ifndef EBPROF_FORGED_CLR_H
#define EBPROF_FORGED_CLR_H

#include <stdbool.h>
#include <string.h>

#include "format/base/bytes.h"

enum {
	FORGED_CLR_OFFSET = 0x200,   /* of its section in the file, */
	FORGED_CLR_ADDRESS = 0x1000, /* ... and in memory */
	FORGED_CLR_BYTES = 0xa00,
	FORGED_CLR_FUNCTIONS = 4,
	FORGED_CLR_FUNCTION_BYTES = 0x40, /* each */
	/* Places in the section. */
	FORGED_CLR_READY = 0x080,
	FORGED_CLR_RUNTIME_FUNCTIONS = 0x100,
	FORGED_CLR_UNWIND = 0x140,
	FORGED_CLR_METHODS = 0x180,
	FORGED_CLR_INSTANCES = 0x1a0,
	FORGED_CLR_DEBUG_INFO = 0x1c0,
	FORGED_CLR_METADATA = 0x200,
	FORGED_CLR_DEBUG = 0x4a0,
	FORGED_CLR_PDB_STAMP = 0x55667788,
	FORGED_CLR_THUNKS = 0x500,
	FORGED_CLR_CODE = 0x600,
};

static inline void forged_clr_at(struct bytes_buf *out, size_t at)
{
	while (out->len < FORGED_CLR_OFFSET + at)
		bytes_put_u8(out, 0);
}

static inline void forged_clr_put_headers(struct bytes_buf *out, bool is_arm64)
{
	bytes_put(out, "MZ", 2);
	while (out->len < 0x3c)
		bytes_put_u8(out, 0);
	bytes_put_u32(out, 0x40);
	bytes_put(out, "PE\0\0", 4);
	bytes_put_u16(out, (is_arm64 ? 0xaa64 : 0x8664) ^ 0x7b79);
	bytes_put_u16(out, 1); /* sections */
	bytes_put_u32(out, 0x12345678);
	bytes_put_u64(out, 0);
	bytes_put_u16(out, 112 + 16 * 8);
	bytes_put_u16(out, 0x2022);
	size_t optional = out->len;
	bytes_put_u16(out, 0x20b);
	while (out->len < optional + 56)
		bytes_put_u8(out, 0);
	bytes_put_u32(out, FORGED_CLR_ADDRESS + FORGED_CLR_BYTES);
	bytes_put_u32(out, FORGED_CLR_OFFSET);
	while (out->len < optional + 108)
		bytes_put_u8(out, 0);
	bytes_put_u32(out, 16);
	for (uint32_t i = 0; i < 16; i++) {
		bytes_put_u32(out, i == 14  ? FORGED_CLR_ADDRESS
				   : i == 6 ? FORGED_CLR_ADDRESS + FORGED_CLR_DEBUG
					    : 0);
		bytes_put_u32(out, i == 14 ? 72 : i == 6 ? 28 : 0);
	}
	bytes_put(out, ".text\0\0\0", 8);
	bytes_put_u32(out, FORGED_CLR_BYTES);
	bytes_put_u32(out, FORGED_CLR_ADDRESS);
	bytes_put_u32(out, FORGED_CLR_BYTES);
	bytes_put_u32(out, FORGED_CLR_OFFSET);
	bytes_put_u64(out, 0);
	bytes_put_u32(out, 0);
	bytes_put_u32(out, 0x60000020);
}

static inline void forged_clr_put_unwind(struct bytes_buf *out)
{
	/* push rbp; push r15; push rbx; sub $0x18, rsp: of most of them. */
	forged_clr_at(out, FORGED_CLR_UNWIND);
	bytes_put(out,
		"\x01\x08\x04\x00"
		"\x08\x22"
		"\x04\x30"
		"\x03\xf0"
		"\x01\x50",
		12);
	/* push rbp; sub $0x88, rsp; lea 0x80(rsp), rbp: of the lambda. */
	forged_clr_at(out, FORGED_CLR_UNWIND + 0x20);
	bytes_put(out,
		"\x01\x10\x04\x85"
		"\x10\x03"
		"\x08\x01\x11\x00"
		"\x01\x50",
		12);
}

/* Epilogues stand in the middle of functions, and the lambda has another one at its end. */
static inline void forged_clr_put_xdata(struct bytes_buf *out)
{
	const uint32_t insns = FORGED_CLR_FUNCTION_BYTES / 4;
	/* stp x29, x30, [sp, #-48]!; str x19, [sp, #40]; mov x29, sp; ...; ldr x19, [sp, #40];
	 * ldp x29, x30, [sp], #48; ret */
	forged_clr_at(out, FORGED_CLR_UNWIND);
	bytes_put_u32(out, insns | 2 << 22 | 2U << 27);
	bytes_put_u32(out, 4 | 1 << 22);
	bytes_put_u32(out, 9 | 1 << 22);
	bytes_put(out, "\xe1\xd0\x05\x85\xe4\xe4\xe4\xe4", 8);
	/* sub sp, sp, #0x90; stp x29, x30, [sp, #16]; add x29, sp, #16; ...;
	 * ldp x29, x30, [sp, #16]; add sp, sp, #0x90; br x0 */
	forged_clr_at(out, FORGED_CLR_UNWIND + 0x20);
	bytes_put_u32(out, insns | 1 << 21 | 5 << 22 | 2U << 27);
	bytes_put(out, "\xe2\x02\x42\x09\xe4\x42\x09\xe4", 8);
}

static inline void forged_clr_put_ready(struct bytes_buf *out, bool is_arm64)
{
	const struct {
		uint32_t type, at, len;
	} sections[] = {
		{102, FORGED_CLR_RUNTIME_FUNCTIONS, FORGED_CLR_FUNCTIONS * (is_arm64 ? 8 : 12)},
		{103, FORGED_CLR_METHODS, 0x20},
		{105, FORGED_CLR_DEBUG_INFO, 0x20},
		{106, FORGED_CLR_THUNKS, 21},
		{109, FORGED_CLR_INSTANCES, 0x20},
	};
	forged_clr_at(out, FORGED_CLR_READY);
	bytes_put(out, "RTR\0", 4);
	bytes_put_u16(out, 9);
	bytes_put_u16(out, 2);
	bytes_put_u32(out, 0);
	bytes_put_u32(out, 5);
	for (size_t i = 0; i < 5; i++) {
		bytes_put_u32(out, sections[i].type);
		bytes_put_u32(out, FORGED_CLR_ADDRESS + sections[i].at);
		bytes_put_u32(out, sections[i].len);
	}
	forged_clr_at(out, FORGED_CLR_RUNTIME_FUNCTIONS);
	for (uint32_t i = 0; i < FORGED_CLR_FUNCTIONS; i++) {
		uint32_t begin =
			FORGED_CLR_ADDRESS + FORGED_CLR_CODE + i * FORGED_CLR_FUNCTION_BYTES;
		bytes_put_u32(out, begin);
		if (!is_arm64)
			bytes_put_u32(out, begin + FORGED_CLR_FUNCTION_BYTES);
		bytes_put_u32(out, FORGED_CLR_ADDRESS + FORGED_CLR_UNWIND + (i == 2 ? 0x20 : 0));
	}
	if (is_arm64)
		forged_clr_put_xdata(out);
	else
		forged_clr_put_unwind(out);
}

/* Methods 1, 3 and 4 have functions 0, 2 and, by its arguments, 3. */
static inline void forged_clr_put_entries(struct bytes_buf *out)
{
	static const uint8_t methods[] = {
		(4 << 2) << 1,                    /* four methods, offsets of a byte */
		1,                                /* the first 16 begin there */
		1 << 1, 1 << 1,                   /* of these, only those below 8, below 4 */
		(3 << 2 | 3) << 1,                /* those below 2, and three bytes on the others */
		0 << 1, (0 << 1) << 1,            /* only the first: function 0 */
		(0 << 2 | 1) << 1, (2 << 1) << 1, /* only the third: function 2 */
	};
	static const uint8_t instances[] = {
		0,                           /* one bucket, offsets of a byte */
		2, 4,                        /* of its entries: begin, end */
		0x99, 1 << 1,                /* a part of its hash, how far to the signature */
		0x40,                        /* it has an owner: */
		0x15, 0x12, 4 << 2, 1, 0x08, /* Box`1 of int */
		4,                           /* its method's row */
		(3 << 1) << 1,               /* function 3 */
	};
	forged_clr_at(out, FORGED_CLR_METHODS);
	bytes_put(out, methods, sizeof(methods));
	forged_clr_at(out, FORGED_CLR_INSTANCES);
	bytes_put(out, instances, sizeof(instances));
	/* The same tree by functions: of 0, at -2, 0 and 12 of the IL from 0, 19 and 63 on; 2 has
	 * the same. */
	static const uint8_t debug[] = {
		(4 << 2) << 1, 1, 1 << 1, 1 << 1, (11 << 2 | 3) << 1, 0 << 1,
		0 << 1, /* it stands here: two lengths, three pairs, all of nibbles */
		0x07, 0x03, 0x21, 0x3a, 0x23, 0x4d, 0x79, 0x00, (0 << 2 | 1) << 1,
		9 << 1, /* it stands nine bytes ahead */
	};
	forged_clr_at(out, FORGED_CLR_DEBUG_INFO);
	bytes_put(out, debug, sizeof(debug));
}

/* Texts by where they are in the heap. */
static inline uint16_t forged_clr_text(struct bytes_buf *strings, const char *text)
{
	uint16_t at = (uint16_t)strings->len;
	bytes_put(strings, text, strlen(text) + 1);
	return at;
}

static inline void forged_clr_put_tables(struct bytes_buf *out, struct bytes_buf *strings)
{
	static const struct {
		const char *name, *space;
		uint16_t first_method;
	} types[] = {
		{"<Module>", "", 1}, {"Outer", "Space", 1}, {"<>c", "", 3}, {"Box`1", "Space", 4}};
	static const char *const methods[] = {"Run", ".ctor", "<Run>b__0_0", "Hold"};
	bytes_put_u32(out, 0);
	bytes_put(out, "\x02\x00\x00\x01", 4); /* version; heaps are narrow */
	bytes_put_u64(out, 1ULL << 0 | 1ULL << 2 | 1ULL << 6 | 1ULL << 0x29);
	bytes_put_u64(out, 0);
	bytes_put_u32(out, 1);
	bytes_put_u32(out, 4);
	bytes_put_u32(out, 4);
	bytes_put_u32(out, 1);
	bytes_put_u16(out, 0);
	bytes_put_u16(out, forged_clr_text(strings, "forged.dll"));
	bytes_put_u16(out, 1); /* its identity */
	bytes_put_u32(out, 0);
	for (size_t i = 0; i < 4; i++) {
		bytes_put_u32(out, 0);
		bytes_put_u16(out, forged_clr_text(strings, types[i].name));
		bytes_put_u16(out, *types[i].space ? forged_clr_text(strings, types[i].space) : 0);
		bytes_put_u16(out, 0);
		bytes_put_u16(out, 1);
		bytes_put_u16(out, types[i].first_method);
	}
	for (size_t i = 0; i < 4; i++) {
		bytes_put_u32(out, 0);
		bytes_put_u32(out, 0);
		bytes_put_u16(out, forged_clr_text(strings, methods[i]));
		bytes_put_u16(out, 0);
		bytes_put_u16(out, 1);
	}
	bytes_put_u16(out, 3); /* <>c is nested in Outer */
	bytes_put_u16(out, 2);
}

static inline void forged_clr_put_metadata(struct bytes_buf *out)
{
	struct bytes_buf tables = {0}, strings = {0};
	bytes_put_u8(&strings, 0);
	forged_clr_put_tables(&tables, &strings);
	uint32_t at = 0x80;
	forged_clr_at(out, FORGED_CLR_METADATA);
	bytes_put(out, "BSJB\x01\x00\x01\x00\0\0\0\0\x0c\0\0\0v4.0.30319\0\0", 28);
	bytes_put_u16(out, 0);
	bytes_put_u16(out, 3);
	bytes_put_u32(out, at);
	bytes_put_u32(out, (uint32_t)tables.len);
	bytes_put(out, "#~\0\0", 4);
	at += 0x180;
	bytes_put_u32(out, at);
	bytes_put_u32(out, (uint32_t)strings.len);
	bytes_put(out, "#Strings\0\0\0\0", 12);
	at += 0x80;
	bytes_put_u32(out, at);
	bytes_put_u32(out, 16);
	bytes_put(out, "#GUID\0\0\0", 8);
	forged_clr_at(out, FORGED_CLR_METADATA + 0x80);
	bytes_put(out, tables.data, tables.len);
	forged_clr_at(out, FORGED_CLR_METADATA + 0x200);
	bytes_put(out, strings.data, strings.len);
	forged_clr_at(out, FORGED_CLR_METADATA + 0x280);
	bytes_put(out, "0123456789abcdef", 16);
	bytes_buf_deinit(&tables);
	bytes_buf_deinit(&strings);
}

/* The PDB that it has, and where that was. */
static inline void forged_clr_put_debug(struct bytes_buf *out)
{
	forged_clr_at(out, FORGED_CLR_DEBUG);
	bytes_put_u32(out, 0);
	bytes_put_u32(out, FORGED_CLR_PDB_STAMP);
	bytes_put_u32(out, 0x504d0100);
	bytes_put_u32(out, 2);
	bytes_put_u32(out, 24 + 16);
	bytes_put_u32(out, FORGED_CLR_ADDRESS + FORGED_CLR_DEBUG + 28);
	bytes_put_u32(out, 0);
	bytes_put(out, "RSDSfedcba9876543210\x01\0\0\0/src/forged.pdb", 24 + 16);
}

/* The lambda has another prologue; epilogues stand in the middle of functions, too. */
static inline void forged_clr_put_code(struct bytes_buf *out)
{
	static const uint8_t usual[] = {0x55, 0x41, 0x57, 0x53, 0x48, 0x83, 0xec, 0x18, 0x90, 0x48,
		0x83, 0xc4, 0x18, 0x5b, 0x41, 0x5f, 0x5d, 0xc3, 0x90};
	static const uint8_t lambda[] = {0x55, 0x48, 0x81, 0xec, 0x88, 0, 0, 0, 0x48, 0x8d, 0xac,
		0x24, 0x80, 0, 0, 0, 0x90, 0x48, 0x8d, 0x65, 0x08, 0x5d, 0xe9, 0, 0, 0, 0, 0x90};
	static const uint8_t thunk[] = {0x48, 0x8d, 0x05, 0, 0, 0, 0, 0x6a, 0x01, 0xff, 0x35, 0, 0,
		0, 0, 0xff, 0x25, 0, 0, 0, 0};
	forged_clr_at(out, FORGED_CLR_THUNKS);
	bytes_put(out, thunk, sizeof(thunk));
	for (uint32_t i = 0; i < FORGED_CLR_FUNCTIONS; i++) {
		forged_clr_at(out, FORGED_CLR_CODE + i * FORGED_CLR_FUNCTION_BYTES);
		bytes_put(out, i == 2 ? lambda : usual, i == 2 ? sizeof(lambda) : sizeof(usual));
	}
	forged_clr_at(out, FORGED_CLR_BYTES);
}

static inline struct bytes_buf forged_clr_make_for(bool is_arm64)
{
	struct bytes_buf out = {0};
	forged_clr_put_headers(&out, is_arm64);
	forged_clr_at(&out, 8);
	bytes_put_u32(&out, FORGED_CLR_ADDRESS + FORGED_CLR_METADATA);
	bytes_put_u32(&out, 0x300);
	forged_clr_at(&out, 64);
	bytes_put_u32(&out, FORGED_CLR_ADDRESS + FORGED_CLR_READY);
	bytes_put_u32(&out, 0x60);
	forged_clr_put_ready(&out, is_arm64);
	forged_clr_put_entries(&out);
	forged_clr_put_metadata(&out);
	forged_clr_put_debug(&out);
	forged_clr_put_code(&out);
	return out;
}

static inline struct bytes_buf forged_clr_make(void)
{
	return forged_clr_make_for(false);
}

#endif
