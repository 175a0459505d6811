/* Ticks in a process that is Erlang's BEAM as far as the walk can tell. */
#include <string.h>

#include "bpf/runtime/erlang/erlang_row.h"
#include "tests/unit/bpf_labels_sent.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	FRAME_BYTES = 80,
	CODE_WORDS = 1024,
	/* Generated code: what modules share, and two of them, of one function each. */
	SHARED = JIT + 0x100,
	EXIT = JIT + 0x200, /* where processes return to at their end */
	OUTER = JIT + 0x800,
	INNER = JIT + 0x1000,
	HEAD_FUNCTIONS = 96, /* offsets in a module */
	HEAD_MD5 = HEAD_FUNCTIONS - 16,
	MD5 = 0xc0,
	INFO = 0x100,
	BODY = INFO + 40,
	MODULE_BYTES = 0x600,

	/* Words of the heap. */
	ARRAY = 0, /* of modules */
	SEGMENTS = 16,
	SEGMENT = 32,
	ATOMS = 64, /* of five words, with the text behind it */
	ATOM_WORDS = 8,
	PROCESS = 512,
	SCHEDULER = 768,
	REGISTRY = 400, /* of a name, or a dictionary */

	/* Words of the stack: the scheduler's data, its caller's return address, a process's stack.
	 */
	BASE = 96,
	REGISTERS = 8,
	DATA_END = 32,
	OWN = 300,

	STOP = 88, /* offsets in a process, and in what is known of a scheduler */
	RESUME = 256,
	INITIAL = 448,
	OF_SCHEDULER = 760,
	CURRENT = 168,
	REGISTERED = 48,
	DICTIONARY = 416,
	THREAD = 32,
};

/* Registers of generated code, how it goes on behind calls of C, and what functions begin with. */
#if defined(__x86_64__)
enum {
	REGISTERS_AT = REGISTERS * 8,
	REGISTERS_REGISTER = 3,
	PROCESS_REGISTER = 13,
};
#define STACK_OF_PROCESS  "\x49\x8b\x65\x58" /* mov rsp, [r13 + 88] */
#define STACK_OF_REGISTER "\x90\x48\x89\xec"
#define NEXT_PROCESS      "\x49\x89\xc5"
#define MAKE_ROOM         "\x48\x83\xec\x18" /* sub rsp, 24 */
#else
enum {
	REGISTERS_AT = 0,
	REGISTERS_REGISTER = 19,
	STACK_REGISTER = 20,
	PROCESS_REGISTER = 21,
};
#define STACK_OF_PROCESS  "\x1f\x20\x03\xd5\xb7\x52\x45\xa9" /* ldp x23, x20, [x21, 80] */
#define STACK_OF_REGISTER "\x1f\x20\x03\xd5"
#define NEXT_PROCESS      "\xf5\x03\x00\xaa"
#define MAKE_ROOM         "\x94\x62\x00\xd1" /* sub x20, x20, 24 */
#endif

enum atom {
	ATOM_BEAM,
	ATOM_EXIT,
	ATOM_OUTER,
	ATOM_INNER,
	ATOM_RUN,
	ATOM_OTHER,
	ATOM_LIBRARY,
	ATOM_INIT,
	ATOM_INITIAL_CALL,
};

static const char *const texts[] = {"erts_beamasm", "normal_exit", "outer", "inner", "run", "other",
	"proc_lib", "init_p", "$initial_call"};

static uint64_t atom(enum atom number)
{
	return (uint64_t)number << 6 | 0xb;
}

struct beam {
	struct runtime_fixture fixture;
	uint8_t code[CODE_WORDS * 8], native[16];
};

static void put_word(struct beam *beam, uint64_t address, uint64_t word)
{
	memcpy(beam->code + (address - JIT), &word, sizeof(word));
}

static void put_module(
	struct beam *beam, uint64_t start, enum atom module, enum atom function, uint64_t md5)
{
	put_word(beam, start, 1);
	put_word(beam, start + HEAD_MD5, start + MD5);
	put_word(beam, start + HEAD_FUNCTIONS, start + INFO);
	put_word(beam, start + HEAD_FUNCTIONS + 8, start + MODULE_BYTES);
	put_word(beam, start + MD5, md5);
	put_word(beam, start + INFO + 16, atom(module));
	put_word(beam, start + INFO + 24, atom(function));
	put_word(beam, start + INFO + 32, 12);
}

static void put_atoms(struct runtime_fixture *fixture)
{
	fixture->heap[SEGMENTS] = heap_address(SEGMENT);
	for (uint64_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		uint64_t *entry = &fixture->heap[ATOMS + i * ATOM_WORDS];
		fixture->heap[SEGMENT + i] = heap_address(ATOMS + i * ATOM_WORDS);
		entry[3] = strlen(texts[i]);
		entry[4] = heap_address(ATOMS + i * ATOM_WORDS + 5);
		memcpy(&entry[5], texts[i], strlen(texts[i]));
	}
}

static void put_tables(struct runtime_fixture *fixture)
{
	const uint64_t array[] = {OUTER, OUTER + MODULE_BYTES, INNER, INNER + MODULE_BYTES};
	memcpy(&fixture->heap[ARRAY], array, sizeof(array));
	fixture->data[4] = heap_address(ARRAY); /* the second of three tables */
	fixture->data[5] = fixture->data[6] = 2;
	fixture->data[12] = heap_address(SEGMENTS);
}

static void put_process(struct runtime_fixture *fixture)
{
	uint64_t *process = &fixture->heap[PROCESS];
	process[0] = 3;
	process[STOP / 8] = stack_address(OWN);
	process[OF_SCHEDULER / 8] = heap_address(SCHEDULER);
	process[INITIAL / 8] = atom(ATOM_OUTER);
	process[INITIAL / 8 + 1] = atom(ATOM_RUN);
	fixture->heap[SCHEDULER] = stack_address(BASE);
	fixture->heap[SCHEDULER + CURRENT / 8] = heap_address(PROCESS);
	*thread_value(fixture, 4) = heap_address(SCHEDULER);
	fixture->heap[SCHEDULER + THREAD / 8] = EMULATED_SELF;
}

/* Of the process that is interrupted. */
static void put_stack(struct runtime_fixture *fixture, uint64_t stack)
{
#if defined(__x86_64__)
	fixture->regs.reg[UNWIND_SP] = stack;
#else
	fixture->regs.reg[STACK_REGISTER] = stack;
#endif
}

/* A frame's: the frame pointer, which leads to another one, and where it returns to. */
static void put_record(struct runtime_fixture *fixture, uint64_t at, uint64_t to, uint64_t address)
{
	fixture->stack[at] = stack_address(to);
	fixture->stack[at + 1] = address;
}

/* A call, whose last byte is ahead of `at`. */
static void put_call(struct beam *beam, uint64_t at, uint64_t target)
{
#if defined(__x86_64__)
	uint32_t distance = (uint32_t)(target - at);
	beam->code[at - 5 - JIT] = 0xe8;
#else
	uint32_t distance = 0x94000000 | ((uint32_t)(target - (at - 4)) >> 2 & 0x3ffffff);
#endif
	memcpy(beam->code + (at - 4 - JIT), &distance, sizeof(distance));
}

/* `scheduler_return`: a file offset. */
static void setup_with(struct beam *beam, bool is_complete, uint32_t scheduler_return)
{
	struct runtime_fixture *fixture = &beam->fixture;
	memset(beam->code, 0, sizeof(beam->code));
	runtime_fixture_init(fixture, FRAME_BYTES);
	runtime_fixture_show_thread(fixture);
	emulate_memory(JIT, beam->code, sizeof(beam->code));
#if defined(__x86_64__)
	memset(beam->native, 0xe8, sizeof(beam->native)); /* calls, all of it */
#else
	memset(beam->native, 0x97, sizeof(beam->native));
#endif
	emulate_memory(CODE + CALLER, beam->native, sizeof(beam->native));
	fixture->table.runtime.kind = RUNTIME_ERLANG;
	struct erlang_row *row = (void *)fixture->table.runtime.words;
	*row = (struct erlang_row){.is_complete = is_complete,
		.version = 25,
		.ranges = DATA,
		.atoms = DATA + 12 * 8,
		.scheduler_return = scheduler_return,
		.own_module = (uint32_t)atom(ATOM_BEAM),
		.normal_exit = (uint32_t)atom(ATOM_EXIT),
		.registers_at = REGISTERS_AT,
		.registers_bytes = DATA_END * 8,
		.functions_at = HEAD_FUNCTIONS,
		.resume_at = RESUME,
		.scheduler_at = OF_SCHEDULER,
		.initial_at = INITIAL,
		.current_at = CURRENT,
		.registered_at = REGISTERED,
		.dictionary_at = DICTIONARY,
		.thread_at = THREAD,
		.id_shift = 4,
		.id_bits = 15};
	put_atoms(fixture);
	put_tables(fixture);
	put_process(fixture);
	put_module(beam, OUTER, ATOM_OUTER, ATOM_RUN, 1);
	put_module(beam, INNER, ATOM_INNER, ATOM_RUN, 2);
	put_word(beam, EXIT - 24, atom(ATOM_BEAM));
	put_word(beam, EXIT - 16, atom(ATOM_EXIT));
	put_record(fixture, BASE + DATA_END, BASE + DATA_END + 2, CODE + CALLER + 8);
	fixture->stack[OWN] = OUTER + BODY + 0x40;
	fixture->stack[OWN + 1] = 0x3b; /* a term */
	fixture->stack[OWN + 2] = EXIT;
	runtime_fixture_bind(fixture);
	runtime_fixture_tick(fixture); /* in the file: the process is known to have it */
	/* Interrupted in a function that has nothing on the stack of its process. */
	fixture->regs.known = ~0ULL;
	fixture->regs.ip = INNER + BODY + 0x20;
	fixture->regs.reg[UNWIND_SP] = stack_address(BASE);
	fixture->regs.reg[REGISTERS_REGISTER] = stack_address(BASE) + REGISTERS_AT;
	fixture->regs.reg[PROCESS_REGISTER] = heap_address(PROCESS);
	put_stack(fixture, stack_address(OWN));
}

static void setup(struct beam *beam)
{
	setup_with(beam, true, 0);
}

/* Interrupted in C that a module's code called, which is at hand again behind `restores`. */
static void call_native_of(struct beam *beam, uint64_t from, const char *restores, size_t len)
{
	struct runtime_fixture *fixture = &beam->fixture;
	fixture->regs.ip = CODE + HELPER + 0x40;
	fixture->regs.reg[UNWIND_SP] = stack_address(BASE) - FRAME_BYTES;
	fixture->stack[BASE - 1] = from;
	memcpy(beam->code + (from - JIT), restores, len);
}

#define call_native(beam, from, restores) call_native_of(beam, from, restores, sizeof(restores) - 1)

TEST(functions_are_found_on_the_stack_of_a_process)
{
	struct beam beam;
	setup(&beam);
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "ssn");
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "inner:run/12");
	CHECK_STR(sent_text(1, RUNTIME_TEXT_NAME), "outer:run/12");
	CHECK_INT(place_of(beam.fixture.words[0]), (BODY - INFO + 0x20) | RUNTIME_FRAME_IS_LEAF);
	CHECK_INT(place_of(beam.fixture.words[1]), BODY - INFO + 0x3f);
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK(code && code->is_inlined);
	CHECK_INT(code ? code->bytes[RUNTIME_TEXT_LINES] : 0, sizeof(struct erlang_function));
	runtime_fixture_deinit(&beam.fixture);
}

/* The process is found by what the thread keeps: its register is not known any more. */
TEST(native_code_is_called_by_a_process)
{
	struct beam beam;
	setup(&beam);
	call_native(&beam, INNER + BODY + 0x20, STACK_OF_PROCESS);
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "nssn");
	runtime_fixture_deinit(&beam.fixture);
}

/* In a match program, the thread keeps a process without a stack; the register does not. */
TEST(a_pseudo_process_is_seen_through)
{
	struct beam beam;
	setup(&beam);
	uint64_t *pseudo = &beam.fixture.heap[PROCESS + 1024];
	pseudo[0] = 3;
	pseudo[OF_SCHEDULER / 8] = heap_address(SCHEDULER);
	beam.fixture.heap[SCHEDULER + CURRENT / 8] = heap_address(PROCESS + 1024);
	call_native(&beam, INNER + BODY + 0x20, STACK_OF_PROCESS);
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "nssn");
	beam.fixture.regs.reg[PROCESS_REGISTER] = 0; /* it was saved */
	beam.fixture.stack[BASE - 4] = heap_address(PROCESS);
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "nssn");
	beam.fixture.stack[BASE - 4] = 0;
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "nssn");
	CHECK_INT(failure_of(beam.fixture.words[2], RUNTIME_ERLANG), LAYOUT_SCRIPT_UNREADABLE);
	runtime_fixture_deinit(&beam.fixture);
}

/* Shared code is no frame where it has called C, but it is where it was interrupted. */
TEST(shared_code_is_the_emulators_own)
{
	struct beam beam;
	setup(&beam);
#if defined(__x86_64__)
	beam.fixture.stack[OWN] |= 3; /* a call from anywhere */
#endif
	beam.fixture.regs.ip = SHARED;
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "ssn");
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "erts_beamasm");
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK(code && code->is_of_runtime);
#if defined(__x86_64__)
	beam.fixture.regs.reg[UNWIND_FP] = stack_address(OWN);
#endif
	call_native(&beam, SHARED, STACK_OF_REGISTER);
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "nsn");
	runtime_fixture_deinit(&beam.fixture);
}

TEST(a_scheduler_that_looks_for_work_has_no_process)
{
	struct beam beam;
	setup(&beam);
	call_native(&beam, SHARED, NEXT_PROCESS);
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "nsn");
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "erts_beamasm");
	runtime_fixture_deinit(&beam.fixture);
}

#if !defined(__x86_64__)
/* Ahead of it is what calls before have left, behind it the record of its caller's frame. */
TEST(a_schedulers_frame_is_the_one_that_ends_at_its_callers)
{
	struct beam beam;
	struct runtime_fixture *fixture = &beam.fixture;
	enum {
		PLACES = BASE + DATA_END,
	};
	setup(&beam);
	runtime_fixture_tick(fixture);
	uint64_t caller = fixture->words[2];
	put_record(fixture, PLACES, PLACES + 4, CODE + CALLER + 12);
	put_record(fixture, PLACES + 2, PLACES + 4, CODE + CALLER + 8);
	put_record(fixture, PLACES + 4, PLACES + 40, CODE + CALLER + 12);
	runtime_fixture_tick(fixture);
	CHECK_STR(runtime_fixture_shape(fixture), "ssn");
	CHECK_INT(fixture->words[2], caller);
	runtime_fixture_deinit(fixture);
}

/* GCC 15 puts a frame's record behind what the function keeps: so the caller's is further behind.
 */
static const char *shape_of_far_record(struct beam *beam, uint32_t scheduler_return)
{
	struct runtime_fixture *fixture = &beam->fixture;
	enum {
		PLACES = BASE + DATA_END,
	};
	setup_with(beam, true, scheduler_return);
	put_record(fixture, PLACES, PLACES + 10, CODE + CALLER + 8); /* of a call before */
	put_record(fixture, PLACES + 2, PLACES + 10, CODE + CALLER + 8);
	put_record(fixture, PLACES + 4, PLACES + 40, CODE + CALLER + 12);
	put_record(fixture, PLACES + 10, PLACES + 40, CODE + CALLER + 12);
	runtime_fixture_tick(fixture);
	return runtime_fixture_shape(fixture);
}

TEST(a_schedulers_frame_is_the_one_that_returns_to_its_thread)
{
	struct beam beam;
	CHECK_STR(shape_of_far_record(&beam, CALLER + 8), "ssn");
	CHECK_INT(beam.fixture.words[2] & 0xffff, CALLER + 7);
	runtime_fixture_deinit(&beam.fixture);
}

TEST(a_record_of_no_known_thread_is_none_of_a_scheduler)
{
	struct beam beam;
	CHECK_STR(shape_of_far_record(&beam, 0), "ss");
	runtime_fixture_deinit(&beam.fixture);
}
#endif

/* At the same addresses, with the same size. */
TEST(another_module_at_the_same_place_has_its_own_name)
{
	struct beam beam;
	setup(&beam);
	runtime_fixture_tick(&beam.fixture);
	uint32_t number = number_of(beam.fixture.words[0]);
	runtime_fixture_tick(&beam.fixture);
	CHECK_INT(number_of(beam.fixture.words[0]), number);
	put_module(&beam, INNER, ATOM_INNER, ATOM_OTHER, 3);
	runtime_fixture_tick(&beam.fixture);
	CHECK(number_of(beam.fixture.words[0]) != number);
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "inner:other/12");
	runtime_fixture_deinit(&beam.fixture);
}

/* Room for three variables, which hold what a call of outer:run/12 has left there. */
TEST(what_calls_have_left_is_no_frame)
{
	struct beam beam;
	setup(&beam);
	memcpy(beam.code + (INNER + BODY - JIT), MAKE_ROOM, 4);
	put_stack(&beam.fixture, stack_address(OWN - 3));
	beam.fixture.stack[OWN - 3] = 0x3b;
	beam.fixture.stack[OWN - 2] = INNER + BODY + 0x80;
	put_call(&beam, INNER + BODY + 0x80, OUTER + BODY);
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "ssn");
	CHECK_STR(sent_text(1, RUNTIME_TEXT_NAME), "outer:run/12");
	put_call(
		&beam, INNER + BODY + 0x80, INNER + BODY); /* of the function itself: it recurses */
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "sssn");
	runtime_fixture_deinit(&beam.fixture);
}

#if defined(__aarch64__)
/* Ahead of where a function pushes its return address, and behind where it pops it. */
TEST(a_return_address_that_is_not_on_the_stack_is_in_a_register)
{
	static const uint32_t epilogue[] = {0xf840869e, 0x710006d6, 0x54000044, 0xd65f03c0};
	struct beam beam;
	setup(&beam);
	beam.fixture.regs.ip = INNER + BODY;
	beam.fixture.regs.reg[UNWIND_RA] = OUTER + BODY + 0x20;
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "sssn");
	CHECK_INT(place_of(beam.fixture.words[1]), BODY - INFO + 0x1f);
	beam.fixture.regs.ip = INNER + BODY + 4;
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "ssn");
	memcpy(beam.code + (INNER + BODY + 0x40 - JIT), epilogue, sizeof(epilogue));
	for (uint64_t insn = 1; insn < 4; insn++) {
		beam.fixture.regs.ip = INNER + BODY + 0x40 + insn * 4;
		runtime_fixture_tick(&beam.fixture);
		CHECK_STR(runtime_fixture_shape(&beam.fixture), "sssn");
	}
	beam.fixture.regs.ip = INNER + BODY + 0x50; /* behind the return */
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "ssn");
	beam.fixture.regs.ip = INNER + BODY; /* of the first function of a process */
	beam.fixture.regs.reg[UNWIND_RA] = EXIT;
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "sn");
	runtime_fixture_deinit(&beam.fixture);
}

/* By a register, or, while it calls C, by a frame on the scheduler's stack; what was jumped to
 * returns to where its caller does. */
TEST(shared_code_returns_to_who_called_it)
{
	struct beam beam;
	setup(&beam);
	beam.fixture.regs.ip = SHARED;
	beam.fixture.regs.reg[UNWIND_RA] = INNER + BODY + 0x30;
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "sssn");
	CHECK_STR(sent_text(1, RUNTIME_TEXT_NAME), "inner:run/12");
	beam.fixture.regs.reg[UNWIND_RA] = beam.fixture.stack[OWN];
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "ssn");
	call_native(&beam, SHARED, STACK_OF_PROCESS);
	beam.fixture.regs.reg[UNWIND_SP] = stack_address(BASE - 2) - FRAME_BYTES;
	beam.fixture.stack[BASE - 3] = SHARED;
	beam.fixture.stack[BASE - 2] = stack_address(BASE);
	beam.fixture.stack[BASE - 1] = INNER + BODY + 0x30;
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "nssn");
	CHECK_INT(place_of(beam.fixture.words[1]), BODY - INFO + 0x2f);
	runtime_fixture_deinit(&beam.fixture);
}
#endif

/* The garbage collector has moved the stack and freed the old one just now. */
TEST(a_stack_that_cannot_be_read_leaves_its_caller)
{
	struct beam beam;
	setup(&beam);
	beam.fixture.heap[PROCESS + STOP / 8] = 0x10000000;
	beam.fixture.heap[PROCESS + RESUME / 8] = OUTER + BODY + 0x40;
	call_native(&beam, INNER + BODY + 0x20, STACK_OF_PROCESS);
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "nsssn");
	CHECK_STR(sent_text(1, RUNTIME_TEXT_NAME), "outer:run/12");
	CHECK_INT(failure_of(beam.fixture.words[3], RUNTIME_ERLANG), LAYOUT_SCRIPT_UNREADABLE);
	runtime_fixture_deinit(&beam.fixture);
}

/* A dirty scheduler's loop is C, which has a process's work at hand. */
TEST(dirty_work_is_of_its_process)
{
	struct beam beam;
	setup(&beam);
	beam.fixture.heap[PROCESS + OF_SCHEDULER / 8] = 0;
	beam.fixture.regs.ip = CODE + LOOP + 0x40;
	beam.fixture.regs.reg[UNWIND_SP] = stack_address(BASE) - FRAME_BYTES;
	beam.fixture.stack[BASE - 1] = CODE + CALLER + 8;
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "snn");
	CHECK_STR(sent_text(0, RUNTIME_TEXT_NAME), "outer:run/12");
	beam.fixture.heap[SCHEDULER + CURRENT / 8] = 0;
	runtime_fixture_tick(&beam.fixture);
	CHECK_STR(runtime_fixture_shape(&beam.fixture), "nn");
	runtime_fixture_deinit(&beam.fixture);
}

/* ---- labels ---- */

static void setup_labels(struct beam *beam, bool is_complete)
{
	setup_with(beam, is_complete, 0);
	beam->fixture.heap[PROCESS] = 12ULL << 19 | 345 << 4 | 3;
	beam->fixture.heap[PROCESS + INITIAL / 8 + 2] = 7;
	emulate_config()->label_sources =
		1U << EVENT_LABEL_ERLANG_PID | 1U << EVENT_LABEL_ERLANG_PROCESS;
}

TEST(a_sample_has_the_process_that_ran)
{
	struct beam beam;
	setup_labels(&beam, true);
	uint64_t id = 12ULL << 32 | 345;
	char want[64];
	snprintf(want, sizeof(want), "3:%llu =outer:run/7 1", (unsigned long long)id);
	CHECK_STR(sent_labels(&beam.fixture), want);
	beam.fixture.heap[PROCESS + REGISTERED / 8] = heap_address(REGISTRY);
	beam.fixture.heap[REGISTRY + 4] = atom(ATOM_OTHER);
	snprintf(want, sizeof(want), "3:%llu =other 1", (unsigned long long)id);
	CHECK_STR(sent_labels(&beam.fixture), want);
	emulate_config()->label_sources = 1U << EVENT_LABEL_ERLANG_PROCESS;
	CHECK_STR(sent_labels(&beam.fixture), "=other 1");
	runtime_fixture_deinit(&beam.fixture);
}

TEST(a_process_of_a_library_function_goes_by_what_it_runs)
{
	struct beam beam;
	setup_labels(&beam, true);
	emulate_config()->label_sources = 1U << EVENT_LABEL_ERLANG_PROCESS;
	uint64_t *heap = beam.fixture.heap, *process = &heap[PROCESS];
	process[INITIAL / 8] = atom(ATOM_LIBRARY);
	process[INITIAL / 8 + 1] = atom(ATOM_INIT);
	process[INITIAL / 8 + 2] = 5;
	CHECK_STR(sent_labels(&beam.fixture), "=proc_lib:init_p/5 1");
	process[DICTIONARY / 8] = heap_address(REGISTRY);
	heap[REGISTRY + 1] = 2;                              /* places, of which */
	heap[REGISTRY + 3] = 0x3b;                           /* ... one is empty, */
	heap[REGISTRY + 4] = heap_address(REGISTRY + 8) + 1; /* ... and one has two entries */
	heap[REGISTRY + 8] = 0x3b;
	heap[REGISTRY + 9] = heap_address(REGISTRY + 10) + 1;
	heap[REGISTRY + 10] = heap_address(REGISTRY + 12) + 2;
	heap[REGISTRY + 11] = 0x3b;
	const uint64_t entry[] = {2 << 6, atom(ATOM_INITIAL_CALL), heap_address(REGISTRY + 16) + 2},
		       call[] = {3 << 6, atom(ATOM_INNER), atom(ATOM_RUN), 112 << 4 | 15};
	memcpy(&heap[REGISTRY + 12], entry, sizeof(entry));
	memcpy(&heap[REGISTRY + 16], call, sizeof(call));
	CHECK_STR(sent_labels(&beam.fixture), "=inner:run/112 1");
	heap[REGISTRY + 19] = 1; /* a list of arguments */
	CHECK_STR(sent_labels(&beam.fixture), "=proc_lib:init_p/5 1");
	heap[REGISTRY + 11] = heap_address(REGISTRY + 10) + 1; /* without end */
	CHECK_STR(sent_labels(&beam.fixture), "=proc_lib:init_p/5 1");
	runtime_fixture_deinit(&beam.fixture);
}

/* While ETS runs a match program. */
TEST(a_pseudo_process_has_the_labels_of_the_real_one)
{
	struct beam beam;
	setup_labels(&beam, true);
	emulate_config()->label_sources = 1U << EVENT_LABEL_ERLANG_PID;
	uint64_t *pseudo = &beam.fixture.heap[PROCESS + 1024];
	pseudo[0] = 0xfffffff3;
	pseudo[OF_SCHEDULER / 8] = heap_address(SCHEDULER);
	beam.fixture.heap[PROCESS] = 9 << 4 | 3;
	beam.fixture.heap[SCHEDULER + CURRENT / 8] = heap_address(PROCESS + 1024);
	CHECK_STR(sent_labels(&beam.fixture), "3:9 1");
	beam.fixture.regs.reg[PROCESS_REGISTER] = 0;
	beam.fixture.regs.reg[UNWIND_SP] = stack_address(8);
	CHECK_STR(sent_labels(&beam.fixture), "4");
	beam.fixture.stack[200] = heap_address(PROCESS);
	CHECK_STR(sent_labels(&beam.fixture), "3:9 1");
	runtime_fixture_deinit(&beam.fixture);
}

TEST(a_thread_without_a_process_is_a_scheduler_or_none)
{
	struct beam beam;
	setup_labels(&beam, true);
	beam.fixture.heap[SCHEDULER + CURRENT / 8] = 0;
	CHECK_STR(sent_labels(&beam.fixture), "4:0 1");
	beam.fixture.heap[SCHEDULER + CURRENT / 8 + 1] = EVENT_LABEL_SCHEDULER_OF_IO;
	CHECK_STR(sent_labels(&beam.fixture), "4:2 1");
	beam.fixture.heap[SCHEDULER + THREAD / 8] += 8; /* another thread's */
	CHECK_STR(sent_labels(&beam.fixture), "0");
	runtime_fixture_deinit(&beam.fixture);
}

TEST(labels_are_unknown_until_the_row_is_complete)
{
	struct beam beam;
	setup_labels(&beam, false);
	CHECK_STR(sent_labels(&beam.fixture), "2");
	runtime_fixture_deinit(&beam.fixture);
}

/* A stack of nothing but terms, and modules without end. */
TEST(what_makes_no_sense_ends)
{
	struct beam beam;
	setup(&beam);
	for (int i = OWN; i < STACK_WORDS; i++)
		beam.fixture.stack[i] = OUTER + 4; /* of no function */
	runtime_fixture_tick(&beam.fixture);
	CHECK_INT(failure_of(beam.fixture.words[1], RUNTIME_ERLANG), LAYOUT_SCRIPT_UNREADABLE);
	beam.fixture.data[5] = beam.fixture.data[6] = ~0ULL;
	runtime_fixture_tick(&beam.fixture);
	CHECK(beam.fixture.count != 0);
	runtime_fixture_deinit(&beam.fixture);
}
