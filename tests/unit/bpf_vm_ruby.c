/* Ticks in a process that is CRuby 3.1 as far as the walk can tell: what it sends for it. */
#include <string.h>

#include "bpf/vm/vm.h"
#include "record/table_store.h"
#include "record/unwind_rows.h"
#include "record/vm/ruby_layout.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x400000, /* the interpreter; file offsets are addresses less this */
	CORE = 0x1000, /* file offsets of vm_exec_core(), of rb_vm_exec(), and of who calls that */
	LOOP = 0x1800,
	CALLER = 0x2000,
	END = 0x3000,
	SLOT = 0x5000,
	JIT = 0x600000,
	STACK = 0x7000000,
	STACK_WORDS = 512,
	FIRST_SP = 4,      /* word of the stack */
	NATIVE_WORDS = 32, /* of each native frame */
	HEAP = 0x8000000,
	HEAP_WORDS = 1024,
	/* Words of the heap: objects that stand for themselves. */
	MODULES = 0,
	MODULE = 3,
	BLOCK = 16,
	CONTEXT = 32,
	INNER_CODE = 48, /* iseq, body, and the rest of each */
	OUTER_CODE = 112,
	LABEL = 176,
	PATH = 184,
	INSTRUCTIONS = 192,
	ENTRIES = 208,
	ENVIRONMENTS = 224,
	FRAMES = 512,
	FRAME_WORDS = 8,
	THREAD_WORDS = 16,

	METHOD = 0x11110001, /* kinds of frames, and what is said of them */
	BLOCK_KIND = 0x22220001,
	CFUNC = 0x55550001,
	FINISH = 0x20,
	IS_C = 0x80,
};

struct fixture {
	struct table_store *store;
	struct unwind_table table;
	struct unwind_registers regs;
	uint64_t slot[2];
	uint64_t thread[THREAD_WORDS]; /* at address 0, where the emulated thread pointer is */
	uint64_t heap[HEAP_WORDS], stack[STACK_WORDS];
	uint32_t nr_frames;
};

static uint64_t heap_address(uint64_t word)
{
	return HEAP + word * 8;
}

static uint64_t stack_address(uint64_t word)
{
	return STACK + word * 8;
}

static void build_table(struct fixture *fixture)
{
	static const struct unwind_rule loop = {.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = UNWIND_SP,
		.cfa_offset = NATIVE_WORDS * 8,
		.ra = UNWIND_AT_CFA,
		.ra_offset = -8,
		.flags = UNWIND_INTERPRETER};
	static const struct unwind_rule caller = {
		.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_UNDEFINED};
	struct unwind_rows rows;
	unwind_rows_init(&rows, &fixture->table);
	unwind_rows_put(&rows, CORE, &loop);
	unwind_rows_put(&rows, CALLER, &caller);
	unwind_rows_put_none(&rows, END);
	CHECK_OK(unwind_rows_finish(&rows));
	unwind_rows_deinit(&rows);
	struct ruby_vm *row = &fixture->table.vm.ruby;
	fixture->table.vm.kind = VM_RUBY;
	CHECK(ruby_layout_of_version(31, row));
	row->flags |= RUBY_CONTEXT_IS_IN_SLOT;
	row->context = SLOT;
	row->core_start[0] = CORE;
	row->core_end[0] = row->loop_start = LOOP;
	row->loop_end = CALLER;
}

static void put_string(struct fixture *fixture, uint64_t at, const char *text)
{
	fixture->heap[at] = 5 | strlen(text) << 14;
	memcpy(&fixture->heap[at + 2], text, strlen(text));
}

/* Code with a body right behind it; one entry for all of its three words. */
static void put_code(struct fixture *fixture, uint64_t at, uint64_t line)
{
	uint64_t *iseq = fixture->heap + at, *body = iseq + 4;
	iseq[0] = 0x701a;
	iseq[2] = heap_address(at + 4);
	body[0] = 3ULL << 32;
	body[1] = heap_address(INSTRUCTIONS);
	body[8] = heap_address(PATH);
	body[10] = heap_address(LABEL);
	body[11] = line << 1 | 1;
	body[15] = heap_address(ENTRIES);
	body[17] = 1;
}

/* Called from the one before. */
static void push_frame(struct fixture *fixture, uint64_t kind, uint64_t code, uint64_t place)
{
	uint64_t number = fixture->nr_frames++, at = FRAMES - fixture->nr_frames * FRAME_WORDS;
	uint64_t *frame = fixture->heap + at;
	frame[0] = heap_address(INSTRUCTIONS + place);
	frame[2] = code ? heap_address(code) : 0;
	frame[4] = heap_address(ENVIRONMENTS + number);
	fixture->heap[ENVIRONMENTS + number] = kind;
	fixture->heap[CONTEXT + 2] = heap_address(at);
}

/* The native frames: rb_vm_exec() through vm_exec_core(), `loops` times. */
static void put_native(struct fixture *fixture, uint64_t loops)
{
	uint64_t at = FIRST_SP - 1;
	for (uint64_t i = 0; i < 2 * loops; i++) {
		uint64_t is_last = i == 2 * loops - 1;
		uint64_t function = is_last ? CALLER : i & 1 ? CORE : LOOP;
		fixture->stack[at += NATIVE_WORDS] = CODE + function + 5;
	}
}

static void setup(struct fixture *fixture)
{
	static const struct emulated_file file = {.inode = 1};
	static const struct emulated_vma vmas[] = {{CODE, CODE + 0x10000, 0, &file, true},
		{JIT, JIT + 0x1000, 0, NULL, true},
		{STACK, STACK + STACK_WORDS * 8, 0, NULL, false}};
	emulate_boot(EMULATED_6_13);
	emulate_mappings(vmas, 3, 0);
	*fixture = (struct fixture){.slot = {MODULE, 8}};
	build_table(fixture);
	CHECK_OK(emulate_table_store(2 * UNWIND_SHARD_WORDS * 4, &fixture->store));
	fixture->thread[1] = heap_address(MODULES);
	fixture->heap[MODULES + 2 * MODULE] = heap_address(BLOCK);
	fixture->heap[BLOCK + 1] = heap_address(CONTEXT);
	fixture->heap[CONTEXT] = heap_address(FRAMES - 256);
	fixture->heap[CONTEXT + 1] = 256;
	put_string(fixture, LABEL, "ab");
	put_string(fixture, PATH, "c.rb");
	put_code(fixture, INNER_CODE, 10);
	put_code(fixture, OUTER_CODE, 20);
	fixture->heap[ENTRIES] = 12;
	emulate_memory(0, fixture->thread, sizeof(fixture->thread));
	emulate_memory(CODE + SLOT, fixture->slot, sizeof(fixture->slot));
	emulate_memory(HEAP, fixture->heap, sizeof(fixture->heap));
	emulate_memory(STACK, fixture->stack, sizeof(fixture->stack));
	fixture->regs.ip = CODE + CORE + 0x500;
	fixture->regs.reg[UNWIND_SP] = stack_address(FIRST_SP);
	put_native(fixture, 1);
	emulate_tick(&fixture->regs);
	const struct event_file *event = emulated_record(EVENT_FILE, 0);
	CHECK(event != NULL);
	table_store_bind(fixture->store, event ? event->file : 1,
		table_store_add(fixture->store, &fixture->table));
}

/* A method that a program called. */
static void setup_call(struct fixture *fixture)
{
	setup(fixture);
	push_frame(fixture, METHOD | FINISH, OUTER_CODE, 2);
	push_frame(fixture, METHOD, INNER_CODE, 0);
}

static void teardown(struct fixture *fixture)
{
	table_store_destroy(fixture->store);
	unwind_table_deinit(&fixture->table);
}

static const uint64_t *tick(struct fixture *fixture, uint32_t *count)
{
	emulate_drain();
	++*emulated_generation();
	emulate_tick(&fixture->regs);
	const struct event_stack *stack = emulated_record(EVENT_STACK, 0);
	CHECK(stack != NULL);
	*count = stack ? stack->nr_frames : 0;
	return stack ? (const uint64_t *)(stack + 1) : NULL;
}

/* A letter a frame: script, native, anonymous. */
static const char *shape_of(const uint64_t *words, uint32_t count)
{
	static const char letters[] = {
		[EVENT_FRAME_FILE] = 'n', [EVENT_FRAME_ANONYMOUS] = 'a', [EVENT_FRAME_VM] = 's'};
	static char shape[64];
	uint32_t i = 0;
	for (; i < count && i < sizeof(shape) - 1; i++)
		shape[i] = letters[words[i] >> EVENT_FRAME_KIND_SHIFT];
	shape[i] = 0;
	return shape;
}

static uint32_t number_of(uint64_t word)
{
	return word >> VM_FRAME_CODE_SHIFT & ((1 << VM_FRAME_CODE_BITS) - 1);
}

static uint32_t place_of(uint64_t word)
{
	return word & ((1 << VM_FRAME_CODE_SHIFT) - 1);
}

TEST(script_frames_come_before_both_functions_of_the_loop)
{
	struct fixture fixture;
	uint32_t count;
	setup_call(&fixture);
	const uint64_t *words = tick(&fixture, &count);
	CHECK_STR(shape_of(words, count), "ssnnn");
	CHECK_INT(place_of(words[0]), 0);
	CHECK_INT(place_of(words[1]), 1); /* the counter is ahead */
	const struct event_vm_code *code = emulated_record(EVENT_VM_CODE, 0);
	CHECK(code != NULL && number_of(words[0]) == code->number);
	CHECK_INT(code->first_line, 10);
	CHECK_INT(code->unit[0], 0);
	CHECK_INT(code->bytes[VM_TEXT_NAME], 2);
	CHECK_INT(code->bytes[VM_TEXT_FILE], 4);
	CHECK_INT(code->bytes[VM_TEXT_LINES], 8 + 12);
	CHECK(memcmp(code + 1, "abc.rb\3\0\0\0\1\0\0\0\f", 15) == 0);
	CHECK(number_of(words[0]) != number_of(words[1]));
	teardown(&fixture);
}

TEST(each_loop_has_the_frames_up_to_the_next_mark)
{
	struct fixture fixture;
	uint32_t count;
	setup_call(&fixture);
	push_frame(&fixture, CFUNC | IS_C, 0, 0);
	push_frame(&fixture, BLOCK_KIND | FINISH, INNER_CODE, 2);
	put_native(&fixture, 2);
	const uint64_t *words = tick(&fixture, &count);
	CHECK_STR(shape_of(words, count), "snnssnnn");
	CHECK_INT(number_of(words[0]), number_of(words[3]));
	teardown(&fixture);
}

TEST(code_is_sent_once_until_it_changes)
{
	struct fixture fixture;
	uint32_t count;
	setup_call(&fixture);
	uint32_t number = number_of(tick(&fixture, &count)[0]);
	CHECK_INT(number_of(tick(&fixture, &count)[0]), number);
	CHECK_INT(emulated_count(EVENT_VM_CODE), 0);
	fixture.heap[INNER_CODE + 4 + 11] = 11 << 1 | 1; /* another one at the same address */
	CHECK(number_of(tick(&fixture, &count)[0]) != number);
	CHECK_INT(emulated_count(EVENT_VM_CODE), 1);
	teardown(&fixture);
}

TEST(what_is_no_code_gets_no_name)
{
	struct fixture fixture;
	uint32_t count;
	setup_call(&fixture);
	fixture.heap[INNER_CODE] = 0x601a; /* another internal object */
	const uint64_t *words = tick(&fixture, &count);
	CHECK_STR(shape_of(words, count), "ssnnn");
	CHECK_INT(number_of(words[0]), 0);
	CHECK_INT(place_of(words[0]), VM_RUBY << VM_FRAME_FAILED_KIND_SHIFT | VM_FAILED_TORN);
	CHECK(number_of(words[1]) != 0);
	teardown(&fixture);
}

TEST(a_thread_without_a_context_says_so)
{
	struct fixture fixture;
	uint32_t count;
	setup_call(&fixture);
	fixture.heap[BLOCK + 1] = 0;
	const uint64_t *words = tick(&fixture, &count);
	CHECK_INT(place_of(words[0]), VM_RUBY << VM_FRAME_FAILED_KIND_SHIFT | VM_FAILED_STATE);
	fixture.heap[BLOCK + 1] = heap_address(CONTEXT);
	fixture.heap[CONTEXT + 2] = heap_address(FRAMES + 8); /* outside of its stack */
	words = tick(&fixture, &count);
	CHECK_INT(place_of(words[0]), VM_RUBY << VM_FRAME_FAILED_KIND_SHIFT | VM_FAILED_STATE);
	teardown(&fixture);
}

TEST(frames_without_a_mark_end_with_their_stack)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	push_frame(&fixture, METHOD, OUTER_CODE, 0);
	push_frame(&fixture, METHOD, INNER_CODE, 0);
	CHECK_STR(shape_of(tick(&fixture, &count), 5), "ssnnn");
	CHECK_INT(count, 5);
	fixture.heap[FRAMES - 2 * FRAME_WORDS + 4] = 0x99; /* an environment that is none */
	const uint64_t *words = tick(&fixture, &count);
	CHECK_STR(shape_of(words, count), "snnn");
	CHECK_INT(place_of(words[0]), VM_RUBY << VM_FRAME_FAILED_KIND_SHIFT | VM_FAILED_UNREADABLE);
	teardown(&fixture);
}

TEST(compiled_code_returns_to_the_loop)
{
	struct fixture fixture;
	uint32_t count;
	setup_call(&fixture);
	tick(&fixture, &count); /* whose process it is */
	fixture.regs.ip = JIT + 0x100;
	fixture.stack[FIRST_SP] = 0x1234;
	fixture.stack[FIRST_SP + 1] = CODE + LOOP + 9;
	fixture.stack[FIRST_SP + 1 + NATIVE_WORDS] = CODE + CALLER + 5;
	CHECK_STR(shape_of(tick(&fixture, &count), 5), "assnn");
	CHECK_INT(count, 5);
	teardown(&fixture);
}
