/* What Mono says of code that it compiled. How its memory is read tests/e2e/mono.sh shows. */
#include "record/generated/registered_mono.h"

#include <unistd.h>

#include "format/base/str.h"
#include "tests/unit/unit.h"

static void check_frames(
	const uint8_t *bytes, size_t len, uint64_t epilogue, const char *want, bool is_good)
{
	struct bytes_buf got = {0};
	CLEANUP(str_deinit) struct str text = {0};
	CHECK(registered_mono_frames(bytes, len, epilogue, &got) == is_good);
	for (size_t i = 0; i < got.len; i++)
		str_printf(&text, "%02x", got.data[i]);
	if (is_good)
		CHECK_STR(str_text(&text), want);
	bytes_buf_deinit(&got);
}

TEST(registered_mono_frames_as_dwarf_has_them)
{
	/* def_cfa rsp 8; offset rip 1; advance 1; def_cfa_offset 16; advance1 5; nop */
	static const uint8_t bytes[] = {0x0c, 7, 8, 0x90, 1, 0x41, 0x0e, 16, 0x02, 5, 0};
	check_frames(bytes, sizeof(bytes), UINT64_MAX,
		"0c0708900141"
		"0e10"
		"0205"
		"00",
		true);
}

/* The mark becomes an advance from where the instructions are to the epilogue. */
TEST(registered_mono_frames_with_an_epilogue)
{
	static const uint8_t bytes[] = {0x44, 0x03, 0, 1, 0x0a, 0x1c, 0x0b, 0x0e, 8};
	check_frames(bytes, sizeof(bytes), 0x208,
		"44"
		"030001"
		"0a"
		"0404010000"
		"0b"
		"0e08",
		true);
	check_frames(bytes, sizeof(bytes), 0x100,
		"44"
		"030001"
		"0a",
		true); /* it is behind it */
	check_frames(bytes, sizeof(bytes), UINT64_MAX,
		"44"
		"030001"
		"0a",
		true);
}

TEST(registered_mono_frames_that_make_no_sense)
{
	static const uint8_t expression[] = {0x0f, 1, 0x50}, cut[] = {0x0c, 7},
			     endless[] = {0x0e, 0x80};
	check_frames(expression, sizeof(expression), 0, "", false);
	check_frames(cut, sizeof(cut), 0, "", false);
	check_frames(endless, sizeof(endless), 0, "", false);
	check_frames(NULL, 0, 0, "", true);
}

/* A list of domains that is not there, and one that is none. */
TEST(registered_mono_list_that_cannot_be_read)
{
	uint64_t nothing[4] = {0};
	struct registered_request request = {.kind = REGISTERED_LIST,
		.pid = (uint32_t)getpid(),
		.registry = REGISTRY_MONO,
		.descriptor = 8};
	struct registered_list list = {0};
	CHECK(!registered_mono_list(&request, &list));
	request.descriptor = (uintptr_t)nothing;
	CHECK(!registered_mono_list(&request, &list));
	vec_deinit(&list.entries);
}

/* Memory as Mono lays it out: five methods, whose rules have the numbers 4 to 8 of nine. */
enum {
	METHODS = 5,
	RULES = 9,
	FIRST_USED = RULES - METHODS,
	FURTHER = 3, /* words of the heap between what is before the list and the list */
};

struct mono_memory {
	uint64_t before, rules, domains; /* variables that point to the heap */
	uint64_t domain_count;
	uint64_t domain_list[1], domain[0x150 / 8];
	struct {
		uint64_t domain, count, chunk;
	} table;
	uint64_t chunk[3 + 64];
	struct {
		uint64_t method, zero, start;
		uint32_t frames, size;
		uint64_t bits, more[2];
	} infos[METHODS];
	uint64_t heap[FURTHER + RULES];
	uint8_t frames[8]; /* bytes of instructions, def_cfa rsp 8, nop */
	uint8_t code[64];
} __attribute__((aligned(4096)));

/* What stands before the list would do for each method, too, but lacks the first numbers. */
TEST(registered_mono_list_of_rules_begins_with_number_0)
{
	static struct mono_memory memory;
	memory = (struct mono_memory){.before = (uintptr_t)memory.heap,
		.rules = (uintptr_t)(memory.heap + FURTHER),
		.domains = (uintptr_t)memory.domain_list,
		.domain_count = 1,
		.domain_list = {(uintptr_t)memory.domain},
		.table = {(uintptr_t)memory.domain, 1, (uintptr_t)memory.chunk},
		.chunk = {(uint64_t)METHODS << 32},
		.frames = {4, 0, 0, 0, 0x0c, 7, 8, 0}};
	memory.domain[0x148 / 8] = (uintptr_t)&memory.table;
	for (uint32_t i = 0; i < METHODS; i++) {
		memory.chunk[3 + i] = (uintptr_t)&memory.infos[i];
		memory.infos[i].method = memory.infos[i].start = (uintptr_t)(memory.code + i);
		memory.infos[i].frames = FIRST_USED + i;
		memory.infos[i].size = 1;
	}
	for (size_t i = 0; i < RULES; i++)
		memory.heap[FURTHER + i] = (uintptr_t)memory.frames;
	struct registered_request request = {.kind = REGISTERED_LIST,
		.pid = (uint32_t)getpid(),
		.registry = REGISTRY_MONO,
		.descriptor = (uintptr_t)&memory.domains,
		.more = 8};
	struct registered_list list = {0};
	CHECK(registered_mono_list(&request, &list));
	CHECK_INT(list.head.relevant, (uintptr_t)&memory.rules);
	CHECK_INT(list.entries.len, METHODS);
	vec_deinit(&list.entries);
}
