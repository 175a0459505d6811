/* Ticks in a process that is .NET's CoreCLR as far as the walk can tell. */
#include <string.h>

#include "bpf/runtime/dotnet/dotnet_row.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	FRAME_BYTES = 80,
	FILE_BYTES = 0x10000,
	CODE_WORDS = 1024,
	/* Offsets in generated code: two methods, and what says how their frames are unwound. */
	INNER = 0x40,
	OUTER = 0x800,
	METHOD_BYTES = 0x100,
	UNWIND = 0x1000,
	PUSHED = 0x01, /* offsets in a method: its prologue, an epilogue, what is behind a call */
	BODY = 0x40,
	BEHIND_CALL = 0x60,
	EPILOGUE = 0x80,

	/* Words of the heap. */
	LEVELS = 0, /* of the map of code, 256 each */
	NR_LEVELS = 5,
	FRAGMENT = 1280,
	SECTION = 1300,
	CODE_HEAP = 1320,
	MAP = 1340,
	HEADERS = 1400, /* two */
	HEADER_WORDS = 16,

	/* Words of the stack. */
	OWN = 100,
	OWN_RETURN = OWN + 5, /* behind four words and the frame pointer */
	OUTER_RETURN = OWN_RETURN + 6,
	RBP = 6,
};

struct clr {
	struct runtime_fixture fixture;
	uint8_t code[CODE_WORDS * 8];
};

/* `start`: where the code begins; what stands ahead of that leads to the header. */
static void put_code(struct clr *clr, uint64_t start, uint64_t number)
{
	uint64_t *header = &clr->fixture.heap[HEADERS + number * HEADER_WORDS];
	uint64_t address = heap_address(HEADERS + number * HEADER_WORDS);
	uint32_t function[] = {
		1, (uint32_t)start, (uint32_t)start + METHOD_BYTES, (uint32_t)UNWIND};
	header[3] = 0x1000 + number; /* its method */
	memcpy(&header[4], function, sizeof(function));
	memcpy(clr->code + start - 8, &address, sizeof(address));
	memcpy(clr->code + start + EPILOGUE, "\x48\x83\xc4\x20\x5d\xc3", 6);
	memcpy(clr->code + start + BEHIND_CALL - 5, "\xe8\0\0\0\0", 5);
}

static void put_maps(struct runtime_fixture *fixture)
{
	uint64_t *heap = fixture->heap;
	for (uint64_t level = 0; level < NR_LEVELS; level++)
		for (uint64_t i = 0; i < 256; i++)
			heap[LEVELS + level * 256 + i] =
				level + 1 < NR_LEVELS ? heap_address(LEVELS + (level + 1) * 256)
						      : heap_address(FRAGMENT);
	const uint64_t fragment[] = {0, JIT, JIT + CODE_WORDS * 8, heap_address(SECTION)};
	const uint64_t section[] = {JIT, JIT + CODE_WORDS * 8, 2, 0, 0, heap_address(CODE_HEAP)};
	const uint64_t code_heap[] = {0, 0, JIT, JIT + CODE_WORDS * 8, JIT, heap_address(MAP)};
	memcpy(&heap[FRAGMENT], fragment, sizeof(fragment));
	memcpy(&heap[SECTION], section, sizeof(section));
	memcpy(&heap[CODE_HEAP], code_heap, sizeof(code_heap));
	/* Four bits for each 32 bytes, the first ones highest. */
	uint32_t map[] = {[INNER / 256] = 1U << 20, [OUTER / 256] = 1U << 28};
	memcpy(&heap[MAP], map, sizeof(map));
	fixture->data[0] = heap_address(LEVELS);
}

static void setup(struct clr *clr)
{
#if !defined(__x86_64__)
	unit_skip("compiled code of .NET is known on x86-64 alone");
#endif
	struct runtime_fixture *fixture = &clr->fixture;
	memset(clr->code, 0x90, sizeof(clr->code));
	runtime_fixture_init(fixture, FRAME_BYTES);
	emulate_memory(JIT, clr->code, sizeof(clr->code));
	fixture->table.runtime.kind = RUNTIME_DOTNET;
	fixture->table.runtime.end_page = FILE_BYTES >> RUNTIME_PAGE_SHIFT;
	struct dotnet_row *row = (void *)fixture->table.runtime.words;
	*row = (struct dotnet_row){.dac_table = DATA, .version = 9};
	put_maps(fixture);
	put_code(clr, INNER, 0);
	put_code(clr, OUTER, 1);
	/* push rbp; sub $0x20, rsp */
	memcpy(clr->code + UNWIND, "\x01\x05\x02\x00\x05\x32\x01\x50", 8);
	runtime_fixture_bind(fixture);
	runtime_fixture_tick(fixture); /* in the file: the process is known to have it */
	fixture->stack[OWN_RETURN] = JIT + OUTER + BEHIND_CALL;
	fixture->stack[OUTER_RETURN] = CODE + CALLER + 8;
	fixture->regs.known = ~0ULL;
	fixture->regs.ip = JIT + INNER + BODY;
	fixture->regs.reg[UNWIND_SP] = stack_address(OWN);
}

static void want_both(struct clr *clr, uint32_t offset)
{
	runtime_fixture_tick(&clr->fixture);
	CHECK_STR(runtime_fixture_shape(&clr->fixture), "ssn");
	CHECK_INT(place_of(clr->fixture.words[0]), offset | RUNTIME_FRAME_IS_LEAF);
	CHECK_INT(place_of(clr->fixture.words[1]), BEHIND_CALL - 1);
	CHECK(number_of(clr->fixture.words[0]) != number_of(clr->fixture.words[1]));
}

TEST(methods_are_left_by_their_unwind_information)
{
	struct clr clr;
	setup(&clr);
	want_both(&clr, BODY);
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK(code && code->is_inlined);
	CHECK_INT(code ? code->bytes[RUNTIME_TEXT_LINES] : 0, sizeof(struct dotnet_code));
	runtime_fixture_deinit(&clr.fixture);
}

TEST(methods_are_left_from_within_prologue_and_epilogue)
{
	struct clr clr;
	setup(&clr);
	clr.fixture.regs.ip = JIT + INNER;
	clr.fixture.regs.reg[UNWIND_SP] = stack_address(OWN_RETURN);
	want_both(&clr, 0);
	clr.fixture.regs.ip = JIT + INNER + PUSHED;
	clr.fixture.regs.reg[UNWIND_SP] = stack_address(OWN_RETURN - 1);
	want_both(&clr, PUSHED);
	clr.fixture.regs.ip = JIT + INNER + EPILOGUE + 4;
	want_both(&clr, EPILOGUE + 4);
	clr.fixture.regs.ip++;
	clr.fixture.regs.reg[UNWIND_SP] = stack_address(OWN_RETURN);
	want_both(&clr, EPILOGUE + 5);
	runtime_fixture_deinit(&clr.fixture);
}

/* An image in memory of no file, with a table of its functions and without headers ahead of them.
 */
TEST(functions_of_images_in_memory_are_left_by_their_unwind_information)
{
	enum {
		HEADERS_AT = 0x180,
		TABLE = 0x1800,
		MODULE = 0x5000,
	};
	const uint32_t functions[] = {
		INNER, INNER + METHOD_BYTES, UNWIND, OUTER, OUTER + METHOD_BYTES, UNWIND};
	const uint32_t table[] = {TABLE, sizeof(functions)}, headers = HEADERS_AT;
	struct clr clr;
	setup(&clr);
	memset(clr.code + INNER - 8, 0, 8);
	memset(clr.code + OUTER - 8, 0, 8);
	clr.fixture.heap[SECTION + 2] = 0;
	clr.fixture.heap[SECTION + 4] = MODULE;
	memcpy(clr.code + 0x3c, &headers, sizeof(headers));
	memcpy(clr.code + HEADERS_AT + 160, table, sizeof(table));
	memcpy(clr.code + TABLE, functions, sizeof(functions));
	memcpy(clr.code + INNER + EPILOGUE, "\x48\x83\xc4\x20\x5d\xc3", 6);
	want_both(&clr, BODY);
	const struct event_code *sent = emulated_record(EVENT_CODE, 0);
	CHECK(sent);
	struct dotnet_code code = {.start = 0};
	if (sent)
		memcpy(&code, sent + 1, sizeof(code));
	CHECK_INT(code.header, DOTNET_READY);
	CHECK_INT(code.method, MODULE);
	CHECK_INT(code.start, JIT + INNER);
	want_both(&clr, BODY); /* by what is known of the place */
	/* What lies behind its functions is no code of theirs. */
	clr.fixture.regs.ip = JIT + INNER + METHOD_BYTES + 8;
	runtime_fixture_tick(&clr.fixture);
	CHECK(runtime_fixture_shape(&clr.fixture)[0] != 's');
	runtime_fixture_deinit(&clr.fixture);
}

/* A stub has no frame, but may have pushed a word above its return address. */
TEST(stubs_are_left_by_what_is_behind_a_call)
{
	struct clr clr;
	uint64_t kind = 7;
	setup(&clr);
	memcpy(clr.code + INNER - 8, &kind, sizeof(kind));
	clr.fixture.regs.reg[UNWIND_SP] = stack_address(OWN_RETURN - 1);
	runtime_fixture_tick(&clr.fixture);
	CHECK_STR(runtime_fixture_shape(&clr.fixture), "ssn");
	CHECK_INT(place_of(clr.fixture.words[1]), BEHIND_CALL - 1);
	runtime_fixture_deinit(&clr.fixture);
}

/* Code of no range that is known is a helper if a method calls it, else another compiler's. */
TEST(helpers_are_called_by_methods)
{
	enum {
		ELSEWHERE = 0x1800, /* in generated code: the runtime's ends here */
		CALL_BYTES = 5,
	};
	struct clr clr;
	setup(&clr);
	clr.fixture.heap[FRAGMENT + 2] = clr.fixture.heap[SECTION + 1] = JIT + ELSEWHERE;
	memcpy(clr.code + ELSEWHERE, "\xe8\0\0\0\0", CALL_BYTES);
	clr.fixture.regs.ip = JIT + ELSEWHERE + CALL_BYTES + 1;
	clr.fixture.regs.reg[UNWIND_SP] = stack_address(OWN_RETURN);
	runtime_fixture_tick(&clr.fixture);
	CHECK_STR(runtime_fixture_shape(&clr.fixture), "ssn");
	clr.fixture.stack[OWN_RETURN] = JIT + ELSEWHERE + CALL_BYTES;
	runtime_fixture_tick(&clr.fixture);
	CHECK(runtime_fixture_shape(&clr.fixture)[0] == 'a');
	runtime_fixture_deinit(&clr.fixture);
}

/* What is known of an address counts as long as the same header stands there. */
TEST(other_code_at_an_address_is_seen)
{
	struct clr clr;
	setup(&clr);
	want_both(&clr, BODY);
	uint32_t before = number_of(clr.fixture.words[0]);
	uint64_t header = heap_address(HEADERS + 2 * HEADER_WORDS);
	memcpy(&clr.fixture.heap[HEADERS + 2 * HEADER_WORDS], &clr.fixture.heap[HEADERS],
		HEADER_WORDS * 8);
	clr.fixture.heap[HEADERS + 2 * HEADER_WORDS + 3] = 0x2000;
	memcpy(clr.code + INNER - 8, &header, sizeof(header));
	want_both(&clr, BODY);
	CHECK(number_of(clr.fixture.words[0]) != before);
	runtime_fixture_deinit(&clr.fixture);
}

/* A program in one file: its libraries, which follow behind the runtime there, are mapped from it,
 * too. Where they are says nothing of where the runtime is. */
TEST(libraries_in_the_file_of_the_runtime_are_not_it)
{
	enum {
		LIBRARY = 0x500000,
	};
	static const struct emulated_file file = {.inode = 1};
	static const struct emulated_vma vmas[] = {{CODE, CODE + FILE_BYTES, 0, &file, true},
		{LIBRARY, LIBRARY + 0x1000, FILE_BYTES, &file, true},
		{JIT, JIT + 0x10000, 0, NULL, true},
		{STACK, STACK + STACK_WORDS * 8, 0, NULL, false}};
	struct clr clr;
	setup(&clr);
	struct unwind_registers leaf = clr.fixture.regs;
	emulate_mappings(vmas, sizeof(vmas) / sizeof(*vmas), 0);
	clr.fixture.regs.ip = LIBRARY + 0x10;
	runtime_fixture_tick(&clr.fixture);
	CHECK_STR(runtime_fixture_shape(&clr.fixture), "n");
	clr.fixture.regs = leaf;
	want_both(&clr, BODY);
	runtime_fixture_deinit(&clr.fixture);
}

/* Maps that lead nowhere, or to themselves, cost their bounds and no more. */
TEST(maps_of_code_may_be_damaged)
{
	struct clr clr;
	setup(&clr);
	clr.fixture.heap[FRAGMENT] = heap_address(FRAGMENT);
	clr.fixture.heap[FRAGMENT + 2] = JIT;
	runtime_fixture_tick(&clr.fixture);
	CHECK(clr.fixture.count >= 1);
	clr.fixture.data[0] = 0x123456789000;
	runtime_fixture_tick(&clr.fixture);
	CHECK(clr.fixture.count >= 1);
	runtime_fixture_deinit(&clr.fixture);
}
