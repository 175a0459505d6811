/* Where a variable of the thread is, by the machine code that reads it. */
#include "record/runtime/thread_variable.h"

#include <elf.h>
#include <string.h>

#include "tests/unit/unit.h"

enum {
	ADDRESS = 0x401000,
	MAX_CODE = 64,
	NOP = 0x90,
};

/* The code, as a string, stands at ADDRESS; what follows it are NOPs. */
static bool find(const char *code, size_t len, struct thread_variable *ret)
{
	uint8_t bytes[MAX_CODE + THREAD_VARIABLE_BEHIND_BYTES];
	memset(bytes, NOP, sizeof(bytes));
	memcpy(bytes, code, len);
	return thread_variable_of_code(EM_X86_64, bytes, len, ADDRESS, ret);
}

static void check(const char *file, int line, const char *code, size_t len,
	const struct thread_variable *want)
{
	struct thread_variable got = {0};
	if (!find(code, len, &got))
		unit_fail(file, line, "nothing found");
	unit_check_int(file, line, "place", (long long)got.place, (long long)want->place);
	unit_check_int(file, line, "kind", got.kind, want->kind);
	unit_check_int(file, line, "more", got.more, want->more);
}

#define CHECK_FOUND(code, ...) \
	check(__FILE__, __LINE__, (code), sizeof(code) - 1, &(struct thread_variable)__VA_ARGS__)
#define CHECK_NOTHING(code) CHECK(!find((code), sizeof(code) - 1, &(struct thread_variable){0}))

#define LEA_RDI     "\x48\x8d\x3d"
#define CALL        "\xe8\x11\x22\x33\x44"
#define MOV_FS_RAX  "\x64\x48\x8b\x04\x25"
#define MOV_FS_RBX  "\x64\x48\x8b\x1c\x25"
#define LEA_RAX_RAX "\x48\x8d\x80"

/* data16 lea slot(%rip),%rdi; data16 data16 rex.W call __tls_get_addr */
TEST(general_dynamic_has_all_in_its_slot)
{
	CHECK_FOUND("\x66" LEA_RDI "\x00\x20\x00\x00\x66\x66\x48" CALL,
		{.place = ADDRESS + 8 + 0x2000, .kind = THREAD_VARIABLE_IN_SLOT});
	CHECK_FOUND("\x66" LEA_RDI "\xf0\xff\xff\xff\x66\x66\x48" CALL,
		{.place = ADDRESS + 8 - 16, .kind = THREAD_VARIABLE_IN_SLOT});
	/* What is done with the address is not the variable's place. */
	CHECK_FOUND("\x66" LEA_RDI "\x00\x20\x00\x00\x66\x48" CALL "\x48\x8b\x40\x10",
		{.place = ADDRESS + 8 + 0x2000, .kind = THREAD_VARIABLE_IN_SLOT});
}

/* lea slot(%rip),%rdi; call __tls_get_addr; mov displacement(%rax),%reg */
TEST(local_dynamic_adds_to_its_slot)
{
	const uint64_t slot = ADDRESS + 7 + 0x100;
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL "\x48\x8b\x40\x18",
		{.place = slot, .kind = THREAD_VARIABLE_IN_SLOT, .more = 0x18});
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL "\x48\x8b\x80\x18\x02\x00\x00",
		{.place = slot, .kind = THREAD_VARIABLE_IN_SLOT, .more = 0x218});
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL "\x5a\x48\x8b\x58\x20", /* pop %rdx */
		{.place = slot, .kind = THREAD_VARIABLE_IN_SLOT, .more = 0x20});
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL "\x48\x8b\x00", /* mov (%rax),%rax */
		{.place = slot, .kind = THREAD_VARIABLE_IN_SLOT});
}

/* The address goes elsewhere, or is moved, before it is read: nothing can be said of the rest. */
TEST(what_is_added_is_only_taken_from_a_load)
{
	const uint64_t slot = ADDRESS + 7 + 0x100;
	CHECK_FOUND(
		LEA_RDI "\x00\x01\x00\x00" CALL, {.place = slot, .kind = THREAD_VARIABLE_IN_SLOT});
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL "\x48\x8b\xc8\x18", /* mov %rax,%rcx */
		{.place = slot, .kind = THREAD_VARIABLE_IN_SLOT});
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL "\x48\x8b\x43\x18", /* mov 24(%rbx),%rax */
		{.place = slot, .kind = THREAD_VARIABLE_IN_SLOT});
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL "\x48\x89\x40\x18", /* a store */
		{.place = slot, .kind = THREAD_VARIABLE_IN_SLOT});
}

/* mov %fs:offset,%reg */
TEST(local_executable_is_below_the_threads_pointer)
{
	CHECK_FOUND(MOV_FS_RAX "\xf8\xff\xff\xff", {.place = (uint64_t)-8});
	CHECK_FOUND(MOV_FS_RBX "\x00\xff\xff\xff", {.place = (uint64_t)-256});
}

/* mov %fs:0,%rax; lea offset(%rax),%rax */
TEST(linkers_make_a_general_access_local)
{
	CHECK_FOUND(MOV_FS_RAX "\x00\x00\x00\x00" LEA_RAX_RAX "\xe0\xff\xff\xff",
		{.place = (uint64_t)-32});
	/* The thread's pointer for something else. */
	CHECK_NOTHING(MOV_FS_RAX "\x00\x00\x00\x00\x48\x8d\x40\xe0");
}

TEST(the_stack_protectors_word_is_passed_over)
{
	CHECK_NOTHING(MOV_FS_RAX "\x28\x00\x00\x00");
	CHECK_FOUND(MOV_FS_RAX "\x28\x00\x00\x00\x48\x89\x44\x24\x08" MOV_FS_RBX "\xf0\xff\xff\xff",
		{.place = (uint64_t)-16});
}

TEST(the_first_access_counts)
{
	CHECK_FOUND("\x55\x48\x89\xe5" MOV_FS_RAX "\xf8\xff\xff\xff" MOV_FS_RBX "\xf0\xff\xff\xff",
		{.place = (uint64_t)-8});
	CHECK_FOUND("\x55" LEA_RDI "\x00\x01\x00\x00" CALL MOV_FS_RAX "\xf8\xff\xff\xff",
		{.place = ADDRESS + 1 + 7 + 0x100, .kind = THREAD_VARIABLE_IN_SLOT});
}

TEST(other_code_reads_no_variable_of_the_thread)
{
	CHECK_NOTHING("");
	CHECK_NOTHING("\x55\x48\x89\xe5\xc3");
	CHECK_NOTHING(LEA_RDI "\x00\x01\x00\x00\x48\x89\xfe"); /* an address, no call behind it */
	CHECK_NOTHING("\x48\x8d\x35\x00\x01\x00\x00" CALL);    /* lea ...,%rsi */
	CHECK_NOTHING("\x48\x8b\x04\x25\xf8\xff\xff\xff");     /* not in the thread's segment */
	CHECK_NOTHING("\x64\x48\x8b\x00");                     /* mov %fs:(%rax),%rax */
	CHECK_NOTHING("\x64\x8b\x04\x25\xf8\xff\xff\xff");     /* 32 bits: no pointer */
}

/* An access may reach behind the last byte where one may begin, and not begin there. */
TEST(accesses_begin_within_the_function)
{
	static const uint8_t access[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff};
	uint8_t code[MAX_CODE + THREAD_VARIABLE_BEHIND_BYTES];
	struct thread_variable variable = {.place = 1};
	memset(code, NOP, sizeof(code));
	memcpy(code + 20, access, sizeof(access));
	CHECK(!thread_variable_of_code(EM_X86_64, code, 20, ADDRESS, &variable));
	CHECK_INT(variable.place, 1); /* untouched */
	CHECK(thread_variable_of_code(EM_X86_64, code, 21, ADDRESS, &variable));
	CHECK_INT(variable.place, -8);
}

/* ---- arm64 ---- */

static void check_arm64(const uint32_t *insns, size_t count, enum thread_variable_kind kind,
	uint64_t place, uint32_t more)
{
	uint8_t bytes[MAX_CODE];
	struct thread_variable got;
	for (size_t i = 0; i < count * 4; i++)
		bytes[i] = (uint8_t)(insns[i / 4] >> i % 4 * 8);
	if (!thread_variable_of_code(EM_AARCH64, bytes, count * 4, ADDRESS, &got))
		unit_fail(__FILE__, __LINE__, "nothing found");
	CHECK_INT(got.kind, kind);
	CHECK_INT(got.place, place);
	CHECK_INT(got.more, more);
}

#define CHECK_ARM64(kind, place, more, ...) \
	check_arm64((const uint32_t[]){__VA_ARGS__}, \
		sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (kind), (place), \
		(more))

/* mrs x0, tpidr_el0; add x0, x0, #0x1, lsl #12; ldr x1, [x0, #40] */
TEST(arm64_has_the_distance_in_its_code)
{
	CHECK_ARM64(THREAD_VARIABLE_AT, 0x1028, 0, 0xd53bd040, 0x91400400, 0xf9401401);
}

/* mrs x2, tpidr_el0; adrp x1, page; ldr x1, [x1, #24]; ldr x0, [x2, x1], or add and ldr #8 */
TEST(arm64_has_the_distance_in_a_word)
{
	const uint64_t slot = ADDRESS + 24;
	CHECK_ARM64(THREAD_VARIABLE_BY_DISTANCE, slot, 0, 0xd53bd042, 0x90000001, 0xf9400c21,
		0xf8616840);
	CHECK_ARM64(THREAD_VARIABLE_BY_DISTANCE, slot, 8, 0xd53bd042, 0x90000001, 0xf9400c21,
		0x8b010040, 0xf9400400);
}

/* As rb_thread_current() of libruby 3.1 has it. */
TEST(arm64_has_the_distance_in_a_descriptor)
{
	CHECK_ARM64(THREAD_VARIABLE_BY_DISTANCE, ADDRESS + 0x17f000 + 1000 + 8, 0, 0xd53bd041,
		0xa9bf7bfd, 0x910003fd, 0xf0000be0, 0xf941f402, 0x910fa000, 0xd63f0040, 0xf8606820);
}

/* Another's word, and a call in between that returns what is not known. */
TEST(arm64_code_that_reads_no_variable)
{
	static const uint32_t insns[] = {
		0xd53bd041, 0xf0000be0, 0xf941f402, 0x94000010, 0xf8606820};
	uint8_t bytes[sizeof(insns)];
	for (size_t i = 0; i < sizeof(insns); i++)
		bytes[i] = (uint8_t)(insns[i / 4] >> i % 4 * 8);
	CHECK(!thread_variable_of_code(
		EM_AARCH64, bytes, sizeof(bytes), ADDRESS, &(struct thread_variable){0}));
}
