/* Whether the call ahead of a return address can have led to where a thread is. */
#include "format/machine/x86_64_call.h"

#include <string.h>

#include "format/base/mem.h"
#include "tests/unit/code_bytes.h"
#include "tests/unit/unit.h"

enum {
	ADDRESS = CODE_BYTES_ADDRESS,
	RA = ADDRESS + 5, /* behind a call at ADDRESS */
};

static bool may_lead(const uint8_t *bytes, size_t len, uint64_t offset)
{
	struct code_bytes code = {bytes, len};
	const struct machine_code machine_code = {.read = code_bytes_read, .context = &code};
	return x86_64_may_have_called(&machine_code, RA, ADDRESS + offset);
}

/* Whether the call at the beginning of the bytes may have led to an offset. */
#define LEADS_TO(offset, ...) \
	__extension__({ \
		static const uint8_t bytes_[] = {__VA_ARGS__}; \
		may_lead(bytes_, sizeof(bytes_), (offset)); \
	})

#define CALL_16 0xe8, 11, 0, 0, 0, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90
#define NOP     0x90
#define RET     0xc3
#define UD2     0x0f, 0x0b

TEST(call_leads_into_its_function_alone)
{
	CHECK(LEADS_TO(16, CALL_16, NOP, RET, NOP, RET));
	CHECK(LEADS_TO(17, CALL_16, NOP, RET, NOP, RET));
	CHECK(!LEADS_TO(18, CALL_16, NOP, RET, NOP, RET));
	CHECK(!LEADS_TO(18, CALL_16, UD2, NOP, RET));
	/* Not between its instructions: there is nothing that leads there. */
	CHECK(!LEADS_TO(17, CALL_16, 0x48, 0x89, 0xc8, RET)); /* mov %rcx,%rax */
}

TEST(call_leads_along_jumps_and_branches)
{
	/* jmp to 20 */
	CHECK(LEADS_TO(20, CALL_16, 0xeb, 2, UD2, NOP, RET));
	CHECK(!LEADS_TO(18, CALL_16, 0xeb, 2, UD2, NOP, RET));
	/* jz to 20: both */
	CHECK(LEADS_TO(18, CALL_16, 0x74, 2, NOP, RET, NOP, RET));
	CHECK(LEADS_TO(20, CALL_16, 0x74, 2, NOP, RET, NOP, RET));
	/* A jump in circles ends. */
	CHECK(!LEADS_TO(18, CALL_16, 0xeb, 0xfe, NOP, RET));
	/* jmp *%rax may lead anywhere. */
	CHECK(LEADS_TO(30, CALL_16, 0xff, 0xe0));
}

TEST(call_leads_over_calls_but_not_into_them)
{
	/* call 24; nop; ret; nop; 24: ret */
	CHECK(LEADS_TO(21, CALL_16, 0xe8, 3, 0, 0, 0, NOP, RET, NOP, RET));
	CHECK(!LEADS_TO(24, CALL_16, 0xe8, 3, 0, 0, 0, NOP, RET, NOP, RET));
	/* call 21: what follows is a function of its own, as its call does not return. */
	CHECK(!LEADS_TO(22, CALL_16, 0xe8, 1, 0, 0, 0, NOP, NOP, RET));
}

/* What it pushes, or puts where its return address was, a return goes to. */
TEST(call_of_a_function_that_returns_elsewhere)
{
	CHECK(LEADS_TO(40, CALL_16, 0x50, RET));                   /* push %rax; ret */
	CHECK(!LEADS_TO(40, CALL_16, 0x50, 0x58, RET));            /* pop %rax between */
	CHECK(LEADS_TO(40, CALL_16, 0x48, 0x89, 0x04, 0x24, RET)); /* mov %rax,(%rsp) */
}

TEST(call_that_does_not_tell_its_target)
{
	static const uint8_t by_register[] = {NOP, NOP, NOP, 0xff, 0xd0}; /* call *%rax */
	CHECK(may_lead(by_register, sizeof(by_register), 100));
	CHECK(may_lead(by_register, 3, 100));   /* its bytes are not there */
	CHECK(LEADS_TO(100, 0xe8, 0, 1, 0, 0)); /* its target's are not */
}

/* Code that goes on longer than it is followed may lead there. */
TEST(call_of_endless_code)
{
	enum {
		LEN = 1 << 16
	};
	CLEANUP_FREE uint8_t *bytes = mem_alloc(LEN);
	static const uint8_t call[] = {CALL_16};
	memset(bytes, NOP, LEN);
	memcpy(bytes, call, sizeof(call));
	CHECK(may_lead(bytes, LEN, LEN - 1));
}

/* ---- behind a call of what follows it ---- */

/* Where the thread is: in bytes from there on. */
static bool may_lead_within(const char *text, size_t len, uint64_t at)
{
	uint8_t bytes[64] = {0xe8, 3, 0, 0, 0, 0xcc, 0xcc, 0xcc};
	memcpy(bytes + 8, text, len);
	return may_lead(bytes, 8 + len, 8 + at);
}

#define MAY_HAVE_CALLED(text, at) may_lead_within(text, sizeof(text) - 1, at)

TEST(call_that_led_there)
{
	CHECK(MAY_HAVE_CALLED("\x90\xc3", 0));
	CHECK(MAY_HAVE_CALLED("\x90\xc3", 1));
	CHECK(MAY_HAVE_CALLED("\xeb\x01\xcc\x90\xc3", 3)); /* jmp: on another one's behalf */
	CHECK(MAY_HAVE_CALLED("\x74\x01\xc3\x90\xc3", 3)); /* je */
	CHECK(MAY_HAVE_CALLED("\xe8\0\1\0\0\x90\xc3", 5)); /* behind a call */
	CHECK(MAY_HAVE_CALLED("\xe8\0\0\0\0\x58\xc3", 6)); /* call 1f; 1: pop %rax */
}

TEST(call_that_led_elsewhere)
{
	CHECK(!MAY_HAVE_CALLED("\x90\xc3\x90\xc3", 2));
	CHECK(!MAY_HAVE_CALLED("\x53\x90\x5b\xc3\x90\xc3", 4)); /* push %rbx; pop %rbx */
	CHECK(!MAY_HAVE_CALLED("\x0f\x0b\x90\xc3", 2));         /* ud2 */
	/* push %rbp; mov %rsp,%rbp; sub $16,%rsp; leave; ret */
	CHECK(!MAY_HAVE_CALLED("\x55\x48\x89\xe5\x48\x83\xec\x10\xc9\xc3\x90\xc3", 10));
	/* call of a function that begins behind it, and so never returns */
	CHECK(!MAY_HAVE_CALLED("\xe8\x01\0\0\0\x90\x90\xc3", 6));
}

TEST(call_that_may_have_led_anywhere)
{
	CHECK(MAY_HAVE_CALLED("\xff\xe0\x90\xc3", 2));             /* jmp *%rax */
	CHECK(MAY_HAVE_CALLED("\x50\xc3\x90\xc3", 2));             /* push %rax; ret */
	CHECK(MAY_HAVE_CALLED("\x4c\x89\x1c\x24\xc3\x90\xc3", 5)); /* mov %r11,(%rsp); ret */
	CHECK(MAY_HAVE_CALLED("\x06", 30));                        /* no instruction */
	CHECK(MAY_HAVE_CALLED("\xe9\x00\x10\0\0", 30));            /* what cannot be read */
}

/* ---- calls by hand ---- */

static bool keeps_own_stack(const uint8_t *bytes, size_t len)
{
	uint8_t all[2048];
	struct code_bytes code = {all, sizeof(all)};
	const struct machine_code machine_code = {.read = code_bytes_read, .context = &code};
	memset(all, NOP, sizeof(all));
	memcpy(all + 700, bytes, len);
	bool is_near = x86_64_keeps_own_stack(&machine_code, ADDRESS + 900);
	CHECK(!x86_64_keeps_own_stack(&machine_code, ADDRESS + 1900));
	return is_near;
}

#define KEEPS_OWN_STACK(...) \
	__extension__({ \
		static const uint8_t bytes_[] = {__VA_ARGS__}; \
		keeps_own_stack(bytes_, sizeof(bytes_)); \
	})

/* lea 25(%rip), %rcx; mov %rcx, disp(%r13); jmp: as Chez Scheme calls */
#define LEA_RCX(ahead) 0x48, 0x8d, 0x0d, ahead, 0, 0, 0
#define JUMP           0xe9, 0, 0, 0, 0

TEST(return_address_that_is_stored_ahead_of_a_jump_is_of_another_stack)
{
	CHECK(KEEPS_OWN_STACK(LEA_RCX(25), 0x49, 0x89, 0x4d, 0x00, JUMP));
	CHECK(KEEPS_OWN_STACK(LEA_RCX(25), 0x48, 0x89, 0x4d, 0x08, JUMP));   /* 8(%rbp) */
	CHECK(!KEEPS_OWN_STACK(LEA_RCX(25), 0x49, 0x89, 0x45, 0x00, JUMP));  /* another register */
	CHECK(!KEEPS_OWN_STACK(LEA_RCX(25), 0x48, 0x89, 0x4f, 0x08, JUMP));  /* 8(%rdi) */
	CHECK(!KEEPS_OWN_STACK(LEA_RCX(25), 0x48, 0x89, 0x4c, 0x24, 0x08));  /* 8(%rsp) */
	CHECK(!KEEPS_OWN_STACK(LEA_RCX(120), 0x49, 0x89, 0x4d, 0x00, JUMP)); /* far away */
	CHECK(!KEEPS_OWN_STACK(LEA_RCX(0), 0x49, 0x89, 0x4d, 0x00, JUMP));
	CHECK(!KEEPS_OWN_STACK(NOP));
}

/* ---- makecontext() ---- */

static bool begins_context(const uint8_t *bytes, size_t len)
{
	struct code_bytes code = {bytes, len};
	const struct machine_code machine_code = {.read = code_bytes_read, .context = &code};
	return x86_64_begins_context(&machine_code, ADDRESS);
}

TEST(what_contexts_return_to_takes_the_stack_pointer_from_rbx)
{
	static const uint8_t plain[] = {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff,
		0x74, 0x08, 0xe8, 0, 0, 0, 0};
	static const uint8_t marked[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c,
		0x24, 0x48, 0x85, 0xff, 0x74, 0x08};
	static const uint8_t other[] = {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xc0,
		0x74, 0x08, 0xe8, 0, 0, 0, 0};
	CHECK(begins_context(plain, sizeof(plain)));
	CHECK(begins_context(plain, 11));
	CHECK(!begins_context(plain, 10));
	CHECK(begins_context(marked, sizeof(marked)));
	CHECK(!begins_context(other, sizeof(other)));
}
