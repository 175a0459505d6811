/* Ticks in a process that is PHP 8.2 as far as the walk can tell: what it sends for it. */
#include <string.h>

#include "bpf/vm/vm.h"
#include "record/table_store.h"
#include "record/unwind_rows.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x400000, /* the interpreter; file offsets are addresses less this */
	LOOP = 0x1000,   /* file offsets of its loop and of a function that calls that */
	RESUME = 0x1040, /* where the loop jumps to compiled code */
	CALLER = 0x2000,
	END = 0x3000,
	GLOBALS = 0x5000, /* current_execute_data */
	STACK_TOP = 32,
	COMPILED = 0x6000000, /* memory without a file */
	STACK = 0x7000000,
	STACK_WORDS = 512,
	LOOP_BYTES = 256, /* of its native frame */
	HEAP = 0x8000000,
	HEAP_WORDS = 512,
	/* Words of the heap: objects that stand for themselves. */
	INNER = 480, /* frames of 5 * 16 bytes */
	NATIVE = 16,
	BEHIND_NATIVE = 26, /* a frame right behind that of a function in C */
	OUTER = 40,
	SPIN = 64, /* functions */
	SORT = 96,
	MAIN = 128,
	SPIN_TEXT = 160,
	SORT_TEXT = 168,
	FILE_TEXT = 176,
	CLASS = 184,
	CLASS_TEXT = 192,
	SPIN_OPLINES = 256,
	MAIN_OPLINES = 320,
	TOP = 1 << 17,
};

struct fixture {
	struct table_store *store;
	struct unwind_table table;
	struct unwind_registers regs;
	uint64_t globals[5]; /* the stack's top, and the frame */
	uint64_t heap[HEAP_WORDS], stack[STACK_WORDS];
};

static uint64_t heap_address(uint64_t word)
{
	return HEAP + word * 8;
}

static void build_table(struct fixture *fixture)
{
	static const struct unwind_rule loop = {.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = UNWIND_SP,
		.cfa_offset = LOOP_BYTES,
		.ra = UNWIND_AT_CFA,
		.ra_offset = -8,
		.flags = UNWIND_INTERPRETER};
	static const struct unwind_rule caller = {
		.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_UNDEFINED};
	struct unwind_rows rows;
	unwind_rows_init(&rows, &fixture->table);
	unwind_rows_put(&rows, LOOP, &loop);
	unwind_rows_put(&rows, CALLER, &caller);
	unwind_rows_put_none(&rows, END);
	CHECK_OK(unwind_rows_finish(&rows));
	unwind_rows_deinit(&rows);
	fixture->table.vm.kind = VM_PHP;
	fixture->table.vm.php = (struct php_vm){
		.frame = GLOBALS,
		.loop = LOOP,
		.resume = RESUME,
		.version = 82,
		.stack_top = STACK_TOP,
		.code_file = 152,
		.code_start = 88,
		.generator_frame = 56,
		.generator_children = 160,
		.generator_child = 168,
	};
}

static void put_text(struct fixture *fixture, uint64_t at, const char *text, size_t len)
{
	fixture->heap[at + 2] = len;
	memcpy(&fixture->heap[at + 3], text, len + 1);
}

/* Of lines `first` to `first` + 9. */
static void put_function(
	struct fixture *fixture, uint64_t at, uint64_t name, uint64_t oplines, uint64_t first)
{
	uint64_t *code = fixture->heap + at;
	code[0] = 2;
	code[1] = name ? heap_address(name) : 0;
	code[11] = heap_address(oplines);
	code[19] = heap_address(FILE_TEXT);
	code[20] = (first + 9) << 32 | first;
	for (uint64_t i = 0; i < 4; i++)
		fixture->heap[oplines + 4 * i + 3] = first + i;
}

/* At its code's third instruction. */
static void put_frame(
	struct fixture *fixture, uint64_t at, uint64_t code, uint64_t previous, uint64_t info)
{
	uint64_t *frame = fixture->heap + at;
	frame[0] = fixture->heap[code + 11] ? fixture->heap[code + 11] + 64 : 0;
	frame[3] = heap_address(code);
	frame[5] = info;
	frame[6] = previous ? heap_address(previous) : 0;
}

/* In the loop, which runs INNER, called by OUTER. */
static void setup(struct fixture *fixture)
{
	static const struct emulated_file file = {.inode = 1};
	static const struct emulated_vma vmas[] = {{CODE, CODE + 0x10000, 0, &file, true},
		{COMPILED, COMPILED + 0x1000, 0, NULL, true},
		{STACK, STACK + STACK_WORDS * 8, 0, NULL, false}};
	emulate_boot(EMULATED_6_13);
	emulate_mappings(vmas, 3, 0);
	*fixture = (struct fixture){.globals = {heap_address(HEAP_WORDS)}};
	build_table(fixture);
	CHECK_OK(emulate_table_store(2 * UNWIND_SHARD_WORDS * 4, &fixture->store));
	fixture->globals[4] = heap_address(INNER);
	put_text(fixture, SPIN_TEXT, "spin", 4);
	put_text(fixture, SORT_TEXT, "usort", 5);
	put_text(fixture, FILE_TEXT, "/a.php", 6);
	put_text(fixture, CLASS_TEXT, "C\0/a.php:1", 10);
	fixture->heap[CLASS + 1] = heap_address(CLASS_TEXT);
	put_function(fixture, SPIN, SPIN_TEXT, SPIN_OPLINES, 10);
	put_function(fixture, MAIN, 0, MAIN_OPLINES, 1);
	fixture->heap[SORT] = 1;
	fixture->heap[SORT + 1] = heap_address(SORT_TEXT);
	put_frame(fixture, INNER, SPIN, OUTER, 0);
	put_frame(fixture, NATIVE, SORT, OUTER, 0);
	put_frame(fixture, OUTER, MAIN, 0, TOP);
	emulate_memory(CODE + GLOBALS - STACK_TOP, fixture->globals, sizeof(fixture->globals));
	emulate_memory(HEAP, fixture->heap, sizeof(fixture->heap));
	emulate_memory(STACK, fixture->stack, sizeof(fixture->stack));
	fixture->regs.ip = CODE + LOOP + 0x500;
	fixture->regs.reg[UNWIND_SP] = STACK + 32;
	fixture->stack[4 + LOOP_BYTES / 8 - 1] = CODE + CALLER + 5;
	emulate_tick(&fixture->regs);
	const struct event_file *event = emulated_record(EVENT_FILE, 0);
	CHECK(event != NULL);
	table_store_bind(fixture->store, event ? event->file : 1,
		table_store_add(fixture->store, &fixture->table));
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

static bool is_vm(uint64_t word)
{
	return word >> EVENT_FRAME_KIND_SHIFT == EVENT_FRAME_VM;
}

static uint32_t number_of(uint64_t word)
{
	return word >> VM_FRAME_CODE_SHIFT & ((1 << VM_FRAME_CODE_BITS) - 1);
}

static uint32_t place_of(uint64_t word)
{
	return word & ((1 << VM_FRAME_CODE_SHIFT) - 1);
}

TEST(php_frames_come_before_the_loop_with_lines)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	const uint64_t *words = tick(&fixture, &count);
	CHECK_INT(count, 4);
	CHECK(is_vm(words[0]) && is_vm(words[1]) && !is_vm(words[2]) && !is_vm(words[3]));
	CHECK_INT(place_of(words[0]), 12);
	CHECK_INT(place_of(words[1]), 3);
	const struct event_vm_code *code = emulated_record(EVENT_VM_CODE, 0);
	CHECK(code != NULL && number_of(words[0]) == code->number);
	CHECK_INT(code->first_line, 10);
	CHECK_INT(code->unit[0], VM_UNIT_UTF8);
	CHECK_INT(code->bytes[VM_TEXT_NAME], 4);
	CHECK(memcmp(code + 1, "spin/a.php", 10) == 0);
	code = emulated_record(EVENT_VM_CODE, 1);
	CHECK(code != NULL && memcmp(code + 1, "{main}/a.php", 12) == 0);
	teardown(&fixture);
}

TEST(php_leaf_line_is_that_of_the_register)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	fixture.heap[INNER] = 0;
	CHECK_INT(place_of(tick(&fixture, &count)[0]), 10); /* the first */
	fixture.regs.reg[14] = heap_address(INNER);
	fixture.regs.reg[15] = heap_address(SPIN_OPLINES) + 32;
	CHECK_INT(place_of(tick(&fixture, &count)[0]), 11);
	fixture.regs.reg[15] = heap_address(MAIN_OPLINES); /* of other code */
	CHECK_INT(place_of(tick(&fixture, &count)[0]), 10);
	teardown(&fixture);
}

TEST(php_methods_have_their_class)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	fixture.heap[SPIN + 2] = heap_address(CLASS);
	tick(&fixture, &count);
	const struct event_vm_code *code = emulated_record(EVENT_VM_CODE, 0);
	CHECK(code != NULL && memcmp(code + 1, "C::spin/a.php", 13) == 0);
	teardown(&fixture);
}

TEST(php_functions_in_c_are_frames_and_closures_are_one_code)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	fixture.globals[4] = heap_address(NATIVE);
	const uint64_t *words = tick(&fixture, &count);
	CHECK_INT(count, 4);
	CHECK_INT(place_of(words[0]), 0);
	const struct event_vm_code *code = emulated_record(EVENT_VM_CODE, 0);
	CHECK(code != NULL && memcmp(code + 1, "usort", 5) == 0);
	fixture.globals[4] = heap_address(INNER);
	uint32_t number = number_of(tick(&fixture, &count)[0]);
	memcpy(&fixture.heap[400], &fixture.heap[SPIN], 24 * 8);
	put_frame(&fixture, INNER, 400, OUTER, 0);
	CHECK_INT(number_of(tick(&fixture, &count)[0]), number);
	fixture.heap[400 + 20]++; /* other lines: other code at the same address */
	CHECK(number_of(tick(&fixture, &count)[0]) != number);
	teardown(&fixture);
}

TEST(php_loop_that_ends_leaves_the_frames_to_the_next)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	fixture.globals[4] = heap_address(NATIVE);
	put_frame(&fixture, BEHIND_NATIVE, SPIN, NATIVE, TOP);
	fixture.stack[4 + LOOP_BYTES / 8 - 1] = CODE + LOOP + 0x205; /* another loop */
	fixture.stack[4 + 2 * LOOP_BYTES / 8 - 1] = CODE + CALLER + 5;
	fixture.regs.reg[14] = heap_address(BEHIND_NATIVE);
	const uint64_t *words = tick(&fixture, &count);
	CHECK_INT(count, 5);
	CHECK(!is_vm(words[0]) && is_vm(words[1]) && is_vm(words[2]) && !is_vm(words[3]));
	teardown(&fixture);
}

TEST(php_frames_are_left_where_the_native_stack_ends)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	fixture.heap[INNER + 5] = TOP; /* of a loop whose caller's is not there */
	const uint64_t *words = tick(&fixture, &count);
	CHECK_INT(count, 4);
	CHECK(is_vm(words[0]) && !is_vm(words[1]) && !is_vm(words[2]) && is_vm(words[3]));
	CHECK_INT(place_of(words[3]), 3);
	teardown(&fixture);
}

TEST(php_torn_and_unreadable_frames_have_no_names)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	fixture.heap[SPIN] = 7;
	const uint64_t *words = tick(&fixture, &count);
	CHECK_INT(number_of(words[0]), 0);
	CHECK_INT(place_of(words[0]), VM_PHP << VM_FRAME_FAILED_KIND_SHIFT | VM_FAILED_TORN);
	CHECK(number_of(words[1]) != 0);
	fixture.globals[4] = 0x1234;
	words = tick(&fixture, &count);
	CHECK_INT(count, 3);
	CHECK_INT(place_of(words[0]), VM_PHP << VM_FRAME_FAILED_KIND_SHIFT | VM_FAILED_UNREADABLE);
	teardown(&fixture);
}

TEST(php_frames_in_a_circle_end)
{
	struct fixture fixture;
	uint32_t count;
	setup(&fixture);
	put_frame(&fixture, INNER, SPIN, INNER, 0);
	tick(&fixture, &count);
	CHECK_INT(count, EVENT_MAX_USER_FRAMES);
	fixture.heap[INNER + 3] = 0; /* of nobody, for ever */
	tick(&fixture, &count);
	CHECK(count <= EVENT_MAX_USER_FRAMES);
	teardown(&fixture);
}
