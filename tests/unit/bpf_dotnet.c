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
	UNWIND_ELSEWHERE = 0x8000, /* where no memory is */
	BEHIND_CALL = 0x60,        /* offsets in a method */
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

	OWN = 100, /* word of the stack, where the frame of the leaf begins in its body */
	FRAME_WORDS = 6,
};

/* How far a leaf has come. */
enum stage {
	ENTERED,
	PUSHED, /* the first instruction has run */
	IN_BODY,
	LEAVING, /* the next instruction is the last but one, ... */
	LEFT,    /* ... or the last one */
	STAGES,
};

struct place {
	uint32_t offset;
	uint64_t sp, fp; /* words of the stack */
};

/* The machine's. */
#if defined(__aarch64__)
enum {
	OWN_RETURN = OWN + 1, /* words of the stack */
	OUTER_RETURN = OWN_RETURN + FRAME_WORDS,
};

static const struct place places[STAGES] = {
	[ENTERED] = {0, OWN + FRAME_WORDS, OWN + FRAME_WORDS},
	[PUSHED] = {4, OWN, OWN + FRAME_WORDS},
	[IN_BODY] = {0x40, OWN, OWN},
	[LEAVING] = {EPILOGUE, OWN, OWN},
	[LEFT] = {EPILOGUE + 4, OWN + FRAME_WORDS, OWN + FRAME_WORDS},
};
/* stp x29, x30, [sp, #-48]!; mov x29, sp */
static const uint32_t prologue[] = {0xa9bd7bfd, 0x910003fd};
/* ldp x29, x30, [sp], #48; ret */
static const uint32_t epilogue[] = {0xa8c37bfd, 0xd65f03c0}, call[] = {0x94000000};
static const uint32_t padding[] = {0xd503201f};
/* An epilogue, whose codes are the prologue's from the second on. */
static const uint32_t unwind[] = {
	METHOD_BYTES / 4 | 1 << 22 | 1 << 27, EPILOGUE / 4 | 1 << 22, 0xe4e485e1};
#else
enum {
	OWN_RETURN = OWN + 5, /* behind four words and the frame pointer */
	OUTER_RETURN = OWN_RETURN + FRAME_WORDS,
};

static const struct place places[STAGES] = {
	[ENTERED] = {0, OWN_RETURN, 0},
	[PUSHED] = {1, OWN_RETURN - 1, 0},
	[IN_BODY] = {0x40, OWN, 0},
	[LEAVING] = {EPILOGUE + 4, OWN_RETURN - 1, 0},
	[LEFT] = {EPILOGUE + 5, OWN_RETURN, 0},
};
/* push rbp; sub $0x20, rsp */
static const uint8_t prologue[] = {0x55, 0x48, 0x83, 0xec, 0x20};
/* add $0x20, rsp; pop rbp; ret */
static const uint8_t epilogue[] = {0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3}, call[] = {0xe8, 0, 0, 0, 0};
static const uint8_t padding[] = {0x90};
static const uint8_t unwind[] = {0x01, 0x05, 0x02, 0x00, 0x05, 0x32, 0x01, 0x50};
#endif

struct clr {
	struct runtime_fixture fixture;
	uint8_t code[CODE_WORDS * 8];
};

/* The function that a table has of the code from `start` on. Returns where the next one is. */
static uint8_t *put_function(uint8_t *at, uint64_t start, uint64_t unwind_info)
{
#if defined(__aarch64__)
	const uint32_t function[] = {(uint32_t)start, (uint32_t)unwind_info};
#else
	const uint32_t function[] = {
		(uint32_t)start, (uint32_t)start + METHOD_BYTES, (uint32_t)unwind_info};
#endif
	memcpy(at, function, sizeof(function));
	return at + sizeof(function);
}

/* `start`: where the code begins; what stands ahead of that leads to the header. */
static void put_code(struct clr *clr, uint64_t start, uint64_t number)
{
	uint64_t *header = &clr->fixture.heap[HEADERS + number * HEADER_WORDS];
	uint64_t address = heap_address(HEADERS + number * HEADER_WORDS);
	uint8_t *count = (uint8_t *)&header[4];
	header[3] = 0x1000 + number; /* its method */
	memcpy(count, &(uint32_t){1}, 4);
	put_function(count + 4, start, UNWIND);
	memcpy(clr->code + start - 8, &address, sizeof(address));
	memcpy(clr->code + start, prologue, sizeof(prologue));
	memcpy(clr->code + start + EPILOGUE, epilogue, sizeof(epilogue));
	memcpy(clr->code + start + BEHIND_CALL - sizeof(call), call, sizeof(call));
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

/* What the leaf has returned from, and will return to, is in a register on arm64. */
static void put_leaf(struct clr *clr, enum stage stage)
{
	struct unwind_registers *regs = &clr->fixture.regs;
	regs->ip = JIT + INNER + places[stage].offset;
	regs->reg[UNWIND_SP] = stack_address(places[stage].sp);
	regs->reg[UNWIND_FP] = stack_address(places[stage].fp);
	if (UNWIND_RA < UNWIND_SP)
		regs->reg[UNWIND_RA] = stage == ENTERED || stage == LEFT
					       ? JIT + OUTER + BEHIND_CALL
					       : JIT + INNER + BEHIND_CALL;
}

static void setup(struct clr *clr)
{
	struct runtime_fixture *fixture = &clr->fixture;
	for (size_t at = 0; at < sizeof(clr->code); at += sizeof(padding))
		memcpy(clr->code + at, padding, sizeof(padding));
	runtime_fixture_init(fixture, FRAME_BYTES);
	emulate_memory(JIT, clr->code, sizeof(clr->code));
	fixture->table.runtime.kind = RUNTIME_DOTNET;
	fixture->table.runtime.end_page = FILE_BYTES >> RUNTIME_PAGE_SHIFT;
	struct dotnet_row *row = (void *)fixture->table.runtime.words;
	*row = (struct dotnet_row){.dac_table = DATA, .version = 9};
	put_maps(fixture);
	put_code(clr, INNER, 0);
	put_code(clr, OUTER, 1);
	memcpy(clr->code + UNWIND, unwind, sizeof(unwind));
	runtime_fixture_bind(fixture);
	runtime_fixture_tick(fixture); /* in the file: the process is known to have it */
	fixture->stack[OWN_RETURN] = JIT + OUTER + BEHIND_CALL;
	fixture->stack[OUTER_RETURN] = CODE + CALLER + 8;
	if (OWN_RETURN == OWN + 1) /* behind the caller's frame pointer */
		fixture->stack[OWN] = stack_address(OWN + FRAME_WORDS);
	fixture->regs.known = ~0ULL;
	put_leaf(clr, IN_BODY);
}

static void want_both(struct clr *clr, enum stage stage)
{
	put_leaf(clr, stage);
	runtime_fixture_tick(&clr->fixture);
	CHECK_STR(runtime_fixture_shape(&clr->fixture), "ssn");
	CHECK_INT(place_of(clr->fixture.words[0]), places[stage].offset | RUNTIME_FRAME_IS_LEAF);
	CHECK_INT(place_of(clr->fixture.words[1]), BEHIND_CALL - 1);
	CHECK(number_of(clr->fixture.words[0]) != number_of(clr->fixture.words[1]));
}

TEST(methods_are_left_by_their_unwind_information)
{
	struct clr clr;
	setup(&clr);
	want_both(&clr, IN_BODY);
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK(code && code->is_inlined);
	CHECK_INT(code ? code->bytes[RUNTIME_TEXT_LINES] : 0, sizeof(struct dotnet_code));
	runtime_fixture_deinit(&clr.fixture);
}

TEST(methods_are_left_from_within_prologue_and_epilogue)
{
	struct clr clr;
	setup(&clr);
	for (enum stage stage = ENTERED; stage < STAGES; stage++)
		want_both(&clr, stage);
	runtime_fixture_deinit(&clr.fixture);
}

/* What is said of a prologue may not be there: its instructions are. */
TEST(methods_are_left_by_their_prologues)
{
	struct clr clr;
	setup(&clr);
	put_function((uint8_t *)&clr.fixture.heap[HEADERS + 4] + 4, INNER, UNWIND_ELSEWHERE);
	want_both(&clr, ENTERED);
	want_both(&clr, PUSHED);
	want_both(&clr, IN_BODY);
	runtime_fixture_deinit(&clr.fixture);
}

#if defined(__aarch64__)
TEST(methods_may_have_many_epilogues)
{
	enum {
		MANY = 20, /* whose words are read in two goes; that of the leaf is the last but one
			    */
	};
	struct clr clr;
	uint32_t record[2 + MANY + 1] = {METHOD_BYTES / 4, MANY | 1 << 16};
	setup(&clr);
	for (uint32_t i = 0; i < MANY; i++)
		record[2 + i] = (EPILOGUE / 4 - 2 * (MANY - 2 - i)) | 1 << 22;
	record[2 + MANY] = 0xe4e485e1;
	memcpy(clr.code + UNWIND, record, sizeof(record));
	want_both(&clr, LEAVING);
	want_both(&clr, LEFT);
	runtime_fixture_deinit(&clr.fixture);
}

/* Functions of a method: the last one that begins ahead of a place has it, up to its end. */
TEST(handlers_are_functions_of_methods)
{
	enum {
		HANDLER = 0x200, /* in OUTER: behind the method itself */
		NR_HANDLERS = 5,
	};
	struct clr clr;
	setup(&clr);
	uint8_t *count = (uint8_t *)&clr.fixture.heap[HEADERS + HEADER_WORDS + 4];
	memcpy(count, &(uint32_t){1 + NR_HANDLERS}, 4);
	uint8_t *at = put_function(count + 4, OUTER, UNWIND);
	for (uint64_t i = 0; i < NR_HANDLERS; i++)
		at = put_function(at, OUTER + HANDLER + i * METHOD_BYTES / 4, UNWIND);
	memcpy(clr.code + OUTER + HANDLER + METHOD_BYTES - sizeof(call), call, sizeof(call));
	clr.fixture.stack[OWN_RETURN] = JIT + OUTER + HANDLER + METHOD_BYTES;
	runtime_fixture_tick(&clr.fixture);
	CHECK_STR(runtime_fixture_shape(&clr.fixture), "ssn");
	CHECK_INT(place_of(clr.fixture.words[1]), HANDLER + METHOD_BYTES - 1);
	/* Between the method and its handlers there is nothing. */
	clr.fixture.stack[OWN_RETURN] = JIT + OUTER + METHOD_BYTES + 0x10;
	runtime_fixture_tick(&clr.fixture);
	CHECK(runtime_fixture_shape(&clr.fixture)[1] != 's');
	runtime_fixture_deinit(&clr.fixture);
}
#endif

/* An image in memory of no file, with a table of its functions and without headers ahead of them.
 */
TEST(functions_of_images_in_memory_are_left_by_their_unwind_information)
{
	enum {
		HEADERS_AT = 0x180,
		TABLE = 0x1800,
		MODULE = 0x5000,
	};
	struct clr clr;
	setup(&clr);
	uint8_t *first = clr.code + TABLE;
	uint8_t *behind = put_function(put_function(first, INNER, UNWIND), OUTER, UNWIND);
	const uint32_t table[] = {TABLE, (uint32_t)(behind - first)}, headers = HEADERS_AT;
	memset(clr.code + INNER - 8, 0, 8);
	memset(clr.code + OUTER - 8, 0, 8);
	clr.fixture.heap[SECTION + 2] = 0;
	clr.fixture.heap[SECTION + 4] = MODULE;
	memcpy(clr.code + 0x3c, &headers, sizeof(headers));
	memcpy(clr.code + HEADERS_AT + 160, table, sizeof(table));
	want_both(&clr, IN_BODY);
	const struct event_code *sent = emulated_record(EVENT_CODE, 0);
	CHECK(sent);
	struct dotnet_code code = {.start = 0};
	if (sent)
		memcpy(&code, sent + 1, sizeof(code));
	CHECK_INT(code.header, DOTNET_READY);
	CHECK_INT(code.method, MODULE);
	CHECK_INT(code.start, JIT + INNER);
	want_both(&clr, IN_BODY); /* by what is known of the place */
	/* What lies behind its functions is no code of theirs. */
	clr.fixture.regs.ip = JIT + INNER + METHOD_BYTES + 8;
	runtime_fixture_tick(&clr.fixture);
	CHECK(runtime_fixture_shape(&clr.fixture)[0] != 's');
	runtime_fixture_deinit(&clr.fixture);
}

/* A stub has no frame, but may have pushed a word above its return address on x86-64. */
TEST(stubs_are_left_by_what_is_behind_a_call)
{
	struct clr clr;
	uint64_t kind = 7;
	setup(&clr);
	memcpy(clr.code + INNER - 8, &kind, sizeof(kind));
	put_leaf(&clr, ENTERED);
	if (OWN_RETURN != OWN + 1)
		clr.fixture.regs.reg[UNWIND_SP] -= 8;
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
	};
	struct clr clr;
	setup(&clr);
	clr.fixture.heap[FRAGMENT + 2] = clr.fixture.heap[SECTION + 1] = JIT + ELSEWHERE;
	memcpy(clr.code + ELSEWHERE, call, sizeof(call));
	put_leaf(&clr, ENTERED);
	clr.fixture.regs.ip = JIT + ELSEWHERE + sizeof(call) + 4;
	runtime_fixture_tick(&clr.fixture);
	CHECK_STR(runtime_fixture_shape(&clr.fixture), "ssn");
	clr.fixture.stack[OWN_RETURN] = JIT + ELSEWHERE + sizeof(call);
	if (UNWIND_RA < UNWIND_SP)
		clr.fixture.regs.reg[UNWIND_RA] = JIT + ELSEWHERE + sizeof(call);
	runtime_fixture_tick(&clr.fixture);
	CHECK(runtime_fixture_shape(&clr.fixture)[0] == 'a');
	runtime_fixture_deinit(&clr.fixture);
}

/* What is known of an address counts as long as the same header stands there. */
TEST(other_code_at_an_address_is_seen)
{
	struct clr clr;
	setup(&clr);
	want_both(&clr, IN_BODY);
	uint32_t before = number_of(clr.fixture.words[0]);
	uint64_t header = heap_address(HEADERS + 2 * HEADER_WORDS);
	memcpy(&clr.fixture.heap[HEADERS + 2 * HEADER_WORDS], &clr.fixture.heap[HEADERS],
		HEADER_WORDS * 8);
	clr.fixture.heap[HEADERS + 2 * HEADER_WORDS + 3] = 0x2000;
	memcpy(clr.code + INNER - 8, &header, sizeof(header));
	want_both(&clr, IN_BODY);
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
	clr.fixture.regs.reg[UNWIND_FP] = 0;
	if (UNWIND_RA < UNWIND_SP) /* nothing has called it */
		clr.fixture.regs.reg[UNWIND_RA] = 0;
	runtime_fixture_tick(&clr.fixture);
	CHECK_STR(runtime_fixture_shape(&clr.fixture), "n");
	clr.fixture.regs = leaf;
	want_both(&clr, IN_BODY);
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
