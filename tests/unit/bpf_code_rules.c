/* Stacks through code that has no rules, by what the recorder found in it. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/machine/machine.h"
#include "record/task/process.h"
#include "record/unwind/code_rules.h"
#include "record/unwind/rule_source.h"
#include "tests/unit/bpf_unwind_fixture.h"

static uint64_t code_bytes[4] = {0x1111, 0x2222, 0x3333, 0x4444};

/* As the recorder does after it read the code at an address; the bytes are there. */
static void tell(
	struct fixture *fixture, uint64_t space, uint64_t address, enum code_rule_kind kind)
{
	static const struct unwind_rule rule = {AT_SP(16), RA};
	struct code_key key = {space, address};
	struct code_rule known = {
		.rule = table_store_intern_rule(fixture->store, &rule),
		.kind = kind,
		.code = {code_bytes[0], code_bytes[1]},
	};
	CHECK(known.rule != 0);
	emulate_code_rule(&key, &known);
}

/* Where the rule of a frame that called from there is kept. */
static uint64_t call_in(enum function function)
{
	return offset_in(function) - 1;
}

static uint64_t by_code(uint64_t frame)
{
	return frame | (uint64_t)UNWIND_FOUND_BY_CODE << EVENT_FRAME_FOUND_SHIFT;
}

static uint32_t setup_reading(struct fixture *fixture, enum function function)
{
	uint32_t file = setup_ready(fixture, function);
	emulate_config()->reads_code = true;
	emulate_memory(in(NO_RULE), code_bytes, sizeof(code_bytes));
	emulate_memory(JIT + 0x10, code_bytes, sizeof(code_bytes));
	return file;
}

TEST(recorder_is_asked_for_code_without_a_rule)
{
	struct fixture fixture;
	uint32_t file = setup_reading(&fixture, ONE_WORD);
	push(&fixture, in(NO_RULE));
	fixture.regs.reg[UNWIND_FP] = fixture.regs.reg[UNWIND_SP] + 64; /* might be one */
	const struct event_stack *stack = tick(&fixture);
	check_frames(stack, EVENT_END_TABLE_PENDING, FRAMES(LEAF(file, ONE_WORD)));
	const struct event_snapshot *snapshot = emulated_record(EVENT_SNAPSHOT, 0);
	CHECK(snapshot && snapshot->hash == stack->hash);
	CHECK(snapshot && snapshot->registers.ip == in(NO_RULE));
	CHECK(snapshot && snapshot->code_space >> 63);
	teardown(&fixture);
}

TEST(code_of_a_file_is_known_by_its_offset)
{
	struct fixture fixture;
	uint32_t file = setup_reading(&fixture, ONE_WORD);
	push(&fixture, in(NO_RULE));
	push(&fixture, 0);
	push(&fixture, in(OUTERMOST));
	tell(&fixture, file, call_in(NO_RULE), CODE_RULE_READ);
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, ONE_WORD), caller_frame(file, NO_RULE),
			by_code(caller_frame(file, OUTERMOST))));
	teardown(&fixture);
}

/* As where a function ends with a call that never returns, and the next one begins. */
TEST(rule_of_a_call_is_not_that_of_the_instruction_behind_it)
{
	struct fixture fixture;
	uint32_t file = setup_reading(&fixture, ONE_WORD);
	push(&fixture, in(NO_RULE));
	push(&fixture, 0);
	push(&fixture, in(OUTERMOST));
	tell(&fixture, file, offset_in(NO_RULE), CODE_RULE_READ);
	check_frames(tick(&fixture), EVENT_END_TABLE_PENDING, FRAMES(LEAF(file, ONE_WORD)));
	teardown(&fixture);
}

static uint64_t code_space(struct fixture *fixture)
{
	tick(fixture);
	const struct event_snapshot *snapshot = emulated_record(EVENT_SNAPSHOT, 0);
	CHECK(snapshot != NULL);
	return snapshot ? snapshot->code_space : 0;
}

static uint64_t jit_frame(uint64_t address)
{
	return (uint64_t)EVENT_FRAME_ANONYMOUS << EVENT_FRAME_KIND_SHIFT | address;
}

TEST(code_of_memory_is_known_while_its_bytes_stand_there)
{
	struct fixture fixture;
	uint32_t file = setup_reading(&fixture, ONE_WORD);
	fixture.regs.ip = JIT + 0x10;
	push(&fixture, 0);
	push(&fixture, in(OUTERMOST));
	tell(&fixture, code_space(&fixture), JIT + 0x10, CODE_RULE_READ);
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(jit_frame(JIT + 0x10), by_code(caller_frame(file, OUTERMOST))));
	code_bytes[1] = 0x5555;
	check_frames(tick(&fixture), EVENT_END_TABLE_PENDING, NO_FRAMES);
	teardown(&fixture);
}

/* Another program image has other code there. */
TEST(code_of_memory_is_that_of_one_image)
{
	struct fixture fixture;
	setup_reading(&fixture, ONE_WORD);
	fixture.regs.ip = JIT + 0x10;
	push(&fixture, 0);
	push(&fixture, in(OUTERMOST));
	tell(&fixture, code_space(&fixture), JIT + 0x10, CODE_RULE_READ);
	CHECK_INT(tick(&fixture)->end, EVENT_END_COMPLETE);
	emulated.exec_id++;
	check_frames(tick(&fixture), EVENT_END_TABLE_PENDING, NO_FRAMES);
	teardown(&fixture);
}

TEST(frame_pointer_that_the_recorder_found_is_a_guess)
{
	struct fixture fixture;
	uint32_t file = setup_reading(&fixture, ONE_WORD);
	push(&fixture, in(NO_RULE));
	push(&fixture, 0);
	push(&fixture, in(OUTERMOST));
	tell(&fixture, file, call_in(NO_RULE), CODE_RULE_GUESSED);
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, ONE_WORD), caller_frame(file, NO_RULE),
			guessed(caller_frame(file, OUTERMOST))));
	teardown(&fixture);
}

/* It has tried: the walk does what it does without a recorder that reads. */
TEST(recorder_is_not_asked_again_for_what_it_cannot_tell)
{
	struct fixture fixture;
	uint32_t file = setup_reading(&fixture, ONE_WORD);
	push(&fixture, in(NO_RULE));
	tell(&fixture, file, call_in(NO_RULE), CODE_RULE_NONE);
	const struct event_stack *stack = tick(&fixture);
	check_frames(stack, EVENT_END_NO_RULE,
		FRAMES(LEAF(file, ONE_WORD), caller_frame(file, NO_RULE)));
	CHECK_INT(stack->has_snapshot, false);
	teardown(&fixture);
}

TEST(recorder_is_not_asked_while_the_ring_is_full)
{
	struct fixture fixture;
	uint32_t file = setup_reading(&fixture, ONE_WORD);
	push(&fixture, in(NO_RULE));
	emulate_config()->snapshot_limit_bytes = 100;
	tick(&fixture);
	emulate_tick(&fixture.regs);
	check_frames(emulated_record(EVENT_STACK, 0), EVENT_END_TABLE_PENDING,
		FRAMES(LEAF(file, ONE_WORD)));
	++*emulated_variables().generation;
	emulate_tick(&fixture.regs);
	check_frames(emulated_record(EVENT_STACK, 1), EVENT_END_NO_RULE,
		FRAMES(LEAF(file, ONE_WORD), caller_frame(file, NO_RULE)));
	CHECK_INT(*emulated_variables().code_unasked, 2); /* by both */
	teardown(&fixture);
}

/* ---- what the recorder finds ---- */

__attribute__((noinline)) static uint64_t own_return_address(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

/* Code of this process, and a stack that is full of one return address. */
struct reader {
	struct process_table processes;
	struct object_table objects;
	struct rule_source rules;
	struct code_rules code;
	struct process *process;
	struct snapshot snapshot;
	uint64_t ra;
};

static void reader_init(struct reader *reader)
{
	enum {
		TABLE_BYTES = 64 << 20,
		WORDS = 64,
	};
	uint64_t (*volatile called)(void) = own_return_address; /* which may lead anywhere */
	uint64_t now_ns = clock_now_ns();
	*reader = (struct reader){.ra = called()};
	reader->processes.objects = &reader->objects;
	rule_source_prepare(&reader->rules);
	reader->rules.objects = &reader->objects;
	CHECK_OK(emulate_table_store(TABLE_BYTES, &reader->rules.store));
	reader->rules.rows.store = reader->rules.store;
	CHECK_OK(table_builder_create(NULL, &reader->rules.builder));
	code_rules_init(&reader->code, &reader->processes);
	code_rules_begin(&reader->code, &reader->rules, -1);
	reader->process = process_table_get(&reader->processes, (uint32_t)getpid(), now_ns);
	reader->snapshot = (struct snapshot){
		.head = {.pid = (uint32_t)getpid(), .time_ns = now_ns},
		.code_space = 1ULL << 63,
		.stack_address = STACK,
	};
	vec_resize(&reader->snapshot.stack, WORDS * sizeof(reader->ra));
	for (size_t i = 0; i < WORDS; i++)
		memcpy(reader->snapshot.stack.data + i * sizeof(reader->ra), &reader->ra,
			sizeof(reader->ra));
}

static void reader_deinit(struct reader *reader)
{
	vec_deinit(&reader->snapshot.stack);
	code_rules_deinit(&reader->code);
	rule_source_deinit(&reader->rules);
	process_table_deinit(&reader->processes);
	object_table_deinit(&reader->objects);
}

/* Of a file that the BPF side has no number for. */
static enum code_rule_kind read_code(struct reader *reader, const void *address)
{
	struct code_stack stack = {.code = &reader->code, .snapshot = &reader->snapshot};
	struct unwind_registers regs = {
		.ip = (uintptr_t)address, .known = 1ULL << UNWIND_SP | 1ULL << UNWIND_ARM64_RA};
	const struct unwind_rule *rule = NULL;
	enum code_rule_kind kind;
	regs.reg[UNWIND_SP] = reader->snapshot.stack_address;
	regs.reg[UNWIND_ARM64_RA] = reader->ra;
	const struct code_frame frame = {.snapshot = &reader->snapshot,
		.stack = &stack,
		.process = reader->process,
		.mapping = process_find_mapping(&reader->processes, reader->process, regs.ip,
			reader->snapshot.head.time_ns, true),
		.regs = &regs,
		.is_exact = true};
	CHECK(frame.mapping != NULL);
	if (!frame.mapping)
		return CODE_RULE_NONE;
	while (code_rules_choose(&reader->code, &frame, true, &rule, &kind) ==
		EVENT_END_TABLE_PENDING) {
		code_pages_collect(&reader->code.pages);
		rule_source_collect(&reader->rules);
	}
	return kind;
}

/* Else the callers of generated code would be where those of the file's function are. */
TEST(rules_of_a_file_without_a_number_are_not_those_of_memory)
{
	struct reader reader;
	if (!machine_native()->find_return)
		unit_skip("code of this machine is not read");
	emulate_boot(EMULATED_6_13);
	void *nothing = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(nothing != MAP_FAILED);
	memset(nothing, 0xff, 4096);
	void *function;
	uint64_t (*pointer)(void) = own_return_address;
	memcpy(&function, &pointer, sizeof(function));
	reader_init(&reader);
	CHECK_INT(read_code(&reader, function), CODE_RULE_READ);
	CHECK(read_code(&reader, nothing) != CODE_RULE_READ);
	CHECK_INT(reader.code.statistics.inherited, 0);
	reader_deinit(&reader);
	munmap(nothing, 4096);
}
