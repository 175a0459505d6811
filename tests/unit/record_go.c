/* Where Go keeps things, by the code of its runtime: as the compilers of some versions made it. */
#include "record/runtime/go/go_offsets.h"

#include <elf.h>

#include "tests/unit/unit.h"

#define CODE(...) \
	(&(struct go_code){.bytes = (const uint8_t[]){__VA_ARGS__}, \
		.len = sizeof((const uint8_t[]){__VA_ARGS__})})

/* The end of runtime.systemstack. */
TEST(a_thread_leads_to_what_it_runs)
{
	int32_t tls = 0;
	uint16_t m = 0, curg = 0;
	/* 1.27: mov %fs:-8,%rax; mov 0x30(%rax),%rbx; mov 0xb8(%rbx),%rax; mov %rax,%fs:-8; ret */
	CHECK(go_offsets_of_thread(CODE(0x64, 0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff, 0x48,
					   0x8b, 0x58, 0x30, 0x48, 0x8b, 0x83, 0xb8, 0, 0, 0, 0x64,
					   0x48, 0x89, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff, 0xc3),
		&tls, &m, &curg));
	CHECK_INT(tls, -8);
	CHECK_INT(m, 0x30);
	CHECK_INT(curg, 0xb8);
	/* 1.19, position-independent, with variables of C's before: mov $-0x18,%rcx; mov
	 * %fs:(%rcx),%rax ... */
	CHECK(go_offsets_of_thread(
		CODE(0x48, 0xc7, 0xc1, 0xe8, 0xff, 0xff, 0xff, 0x64, 0x48, 0x8b, 0x01, 0x48, 0x8b,
			0x58, 0x30, 0x48, 0x8b, 0x83, 0xc0, 0, 0, 0, 0xc3),
		&tls, &m, &curg));
	CHECK_INT(tls, -0x18);
	CHECK_INT(curg, 0xc0);
}

/* By an offset that the loader puts into the GOT, as in a library: there is none in the code. */
TEST(a_thread_whose_place_is_not_in_the_code_is_unknown)
{
	int32_t tls = 0;
	uint16_t m = 0, curg = 0;
	CHECK(!go_offsets_of_thread(
		CODE(0x48, 0x8b, 0x0d, 1, 2, 3, 0, 0x64, 0x48, 0x8b, 0x01, 0x48, 0x8b, 0x58, 0x30,
			0x48, 0x8b, 0x83, 0xc0, 0, 0, 0, 0xc3),
		&tls, &m, &curg));
	CHECK(!go_offsets_of_thread(&(struct go_code){0}, &tls, &m, &curg));
}

TEST(offsets_in_a_goroutine)
{
	/* lock cmpxchg %edx,0x90(%rbx); lock cmpxchg %ecx,0x98(%r8); one of something else */
	CHECK_INT(go_offset_of_goid(CODE(0x90, 0xf0, 0x0f, 0xb1, 0x93, 0x90, 0, 0, 0, 0xc3)), 0x98);
	CHECK_INT(go_offset_of_goid(CODE(0xf0, 0x41, 0x0f, 0xb1, 0x88, 0x98, 0, 0, 0, 0xc3)), 0xa0);
	CHECK_INT(go_offset_of_goid(CODE(0xf0, 0x0f, 0xb1, 0x93, 0x90, 0, 1, 0, 0xc3)), 0);
	CHECK_INT(go_offset_of_goid(CODE(0x90, 0xc3)), 0);
	/* mov %rax,0x160(%rcx); ret; and two different ones */
	CHECK_INT(go_offset_of_labels(CODE(0x48, 0x89, 0x81, 0x60, 1, 0, 0, 0xc3)), 0x160);
	CHECK_INT(go_offset_of_labels(CODE(
			  0x48, 0x89, 0x81, 0x60, 1, 0, 0, 0x48, 0x89, 0x81, 0x68, 1, 0, 0, 0xc3)),
		0);
	/* three stores beside each other; three that are too far away to be a g's */
	CHECK_INT(go_offset_of_creator(CODE(0x48, 0x89, 0x81, 0x30, 1, 0, 0, 0x48, 0x89, 0x82, 0x20,
			  1, 0, 0, 0x48, 0x89, 0x81, 0x28, 1, 0, 0, 0xc3)),
		0x120);
	CHECK_INT(go_offset_of_creator(CODE(0x48, 0x89, 0x81, 0x80, 1, 0, 0, 0x48, 0x89, 0x82, 0x88,
			  1, 0, 0, 0x48, 0x89, 0x81, 0x90, 1, 0, 0, 0xc3)),
		0);
}

/* ---- arm64, of Go 1.19 ---- */

static struct go_code arm64_code(uint8_t *room, const uint32_t *insns, size_t count)
{
	for (size_t i = 0; i < count * 4; i++)
		room[i] = (uint8_t)(insns[i / 4] >> i % 4 * 8);
	return (struct go_code){
		.bytes = room, .len = count * 4, .address = 0x70ad0, .machine = EM_AARCH64};
}

#define ARM64_CODE(...) \
	arm64_code((uint8_t[64]){0}, (const uint32_t[]){__VA_ARGS__}, \
		sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* ldr x3,[x28,#48]; ldr x28,[x3,#192], behind a load of the goroutine's stack pointer */
TEST(arm64_leads_from_the_register_to_what_a_thread_runs)
{
	int32_t tls = 7;
	uint16_t m = 0, curg = 0;
	struct go_code code = ARM64_CODE(0xf9401f83, 0xf9401b83, 0xf940607c);
	CHECK(go_offsets_of_thread(&code, &tls, &m, &curg));
	CHECK_INT(tls, 7);
	CHECK_INT(m, 48);
	CHECK_INT(curg, 192);
	code = ARM64_CODE(0xf9401b83, 0xaa0003e3, 0xf940607c); /* x3 becomes another */
	CHECK(!go_offsets_of_thread(&code, &tls, &m, &curg));
}

/* add x5,x0,#0x90; casal w27,w2,[x5], or ldaxr w27,[x5] */
TEST(arm64_goid_is_behind_the_status)
{
	struct go_code code = ARM64_CODE(0x91024005, 0x88fbfca2);
	CHECK_INT(go_offset_of_goid(&code), 0x98);
	code = ARM64_CODE(0x91024005, 0x885ffcbb);
	CHECK_INT(go_offset_of_goid(&code), 0x98);
	code = ARM64_CODE(0x91024005, 0xaa0003e5, 0x885ffcbb);
	CHECK_INT(go_offset_of_goid(&code), 0);
}

/* str x0,[x28,#360] */
TEST(arm64_labels_are_stored_to)
{
	struct go_code code = ARM64_CODE(0xf900b780);
	CHECK_INT(go_offset_of_labels(&code), 360);
}

/* adrp x27, page; add x27,x27,#0x66c; ldrsb x0,[x27] */
TEST(arm64_says_whether_there_is_c)
{
	struct go_code code = ARM64_CODE(0x90000adb, 0x9119b37b, 0x39800360);
	CHECK_INT(go_address_of_cgo(&code), 0x1c866c);
	code = ARM64_CODE(0x39800360);
	CHECK_INT(go_address_of_cgo(&code), 0);
}
