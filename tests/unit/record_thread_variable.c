/* Where a variable of the thread is, by the machine code that reads it. */
#include "record/runtime/thread_variable.h"

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
	return thread_variable_of_code(bytes, len, ADDRESS, ret);
}

static void check(const char *file, int line, const char *code, size_t len,
	const struct thread_variable *want)
{
	struct thread_variable got = {0};
	if (!find(code, len, &got))
		unit_fail(file, line, "nothing found");
	unit_check_int(file, line, "place", (long long)got.place, (long long)want->place);
	unit_check_int(file, line, "is_in_slot", got.is_in_slot, want->is_in_slot);
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
		{.place = ADDRESS + 8 + 0x2000, .is_in_slot = true});
	CHECK_FOUND("\x66" LEA_RDI "\xf0\xff\xff\xff\x66\x66\x48" CALL,
		{.place = ADDRESS + 8 - 16, .is_in_slot = true});
	/* What is done with the address is not the variable's place. */
	CHECK_FOUND("\x66" LEA_RDI "\x00\x20\x00\x00\x66\x48" CALL "\x48\x8b\x40\x10",
		{.place = ADDRESS + 8 + 0x2000, .is_in_slot = true});
}

/* lea slot(%rip),%rdi; call __tls_get_addr; mov displacement(%rax),%reg */
TEST(local_dynamic_adds_to_its_slot)
{
	const uint64_t slot = ADDRESS + 7 + 0x100;
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL "\x48\x8b\x40\x18",
		{.place = slot, .is_in_slot = true, .more = 0x18});
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL "\x48\x8b\x80\x18\x02\x00\x00",
		{.place = slot, .is_in_slot = true, .more = 0x218});
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL "\x5a\x48\x8b\x58\x20", /* pop %rdx */
		{.place = slot, .is_in_slot = true, .more = 0x20});
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL "\x48\x8b\x00", /* mov (%rax),%rax */
		{.place = slot, .is_in_slot = true});
}

/* The address goes elsewhere, or is moved, before it is read: nothing can be said of the rest. */
TEST(what_is_added_is_only_taken_from_a_load)
{
	const uint64_t slot = ADDRESS + 7 + 0x100;
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL, {.place = slot, .is_in_slot = true});
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL "\x48\x8b\xc8\x18", /* mov %rax,%rcx */
		{.place = slot, .is_in_slot = true});
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL "\x48\x8b\x43\x18", /* mov 24(%rbx),%rax */
		{.place = slot, .is_in_slot = true});
	CHECK_FOUND(LEA_RDI "\x00\x01\x00\x00" CALL "\x48\x89\x40\x18", /* a store */
		{.place = slot, .is_in_slot = true});
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
		{.place = ADDRESS + 1 + 7 + 0x100, .is_in_slot = true});
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
	CHECK(!thread_variable_of_code(code, 20, ADDRESS, &variable));
	CHECK_INT(variable.place, 1); /* untouched */
	CHECK(thread_variable_of_code(code, 21, ADDRESS, &variable));
	CHECK_INT(variable.place, -8);
}
