/* Shadow stacks: what probes of functions entered and left make of them, and what samples take. */
#include <stddef.h>
#include <string.h>

#include "bpf/runtime/runtime_row.h"
#include "record/unwind/table_store.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x400000,
	CODE_BYTES = 0x10000,
	STACK = 0x7000000,
	STACK_BYTES = 0x10000,
	TEXTS = 0x500000,
	TEXT_BYTES = 32,
	MAX_TEXTS = 32,

	ENTRY = 1, /* places: of one function */
	RETURN = 2,
	OTHER_RETURN = 3, /* of another one */
	ALONE = 4,        /* an entry where each function has a native frame of its own */
	OFFSET = 24,      /* their sp_offset */

	/* Registers. */
#if defined(__x86_64__)
	NAME = 3, /* rbx, rsi, rdi, r13 */
	FILE_NAME = 4,
	CLASS = 5,
	LINE = 13,
#elif defined(__aarch64__)
	NAME = 19, /* x19 to x22 */
	FILE_NAME = 20,
	CLASS = 21,
	LINE = 22,
#endif
};

static char texts[MAX_TEXTS][TEXT_BYTES]; /* a function's name is the text of its number */
static uint8_t stack[STACK_BYTES];
static struct table_store *rules;

/* Where a register is in the machine's struct pt_regs. */
static uint16_t offset_of(uint32_t number)
{
#if defined(__x86_64__)
	static const uint16_t offsets[16] = {
		[NAME] = 5 * 8, [FILE_NAME] = 13 * 8, [CLASS] = 14 * 8, [LINE] = 2 * 8};
	return offsets[number];
#elif defined(__aarch64__)
	return (uint16_t)(number * 8);
#endif
}

static struct shadow_argument in_register(uint32_t number, signed char bytes)
{
	return (struct shadow_argument){SHADOW_REGISTER, bytes, offset_of(number), 0};
}

static void put_place(uint32_t number, unsigned char flags, unsigned char group)
{
	struct shadow_place place = {
		.runtime = RUNTIME_PHP,
		.flags = flags,
		.group = group,
		.sp_offset = OFFSET,
		.text = {[SHADOW_NAME] = in_register(NAME, 8),
			[SHADOW_FILE] = in_register(FILE_NAME, 8),
			[SHADOW_CLASS] = in_register(CLASS, 8)},
		.line = in_register(LINE, -4),
		.separator = "::",
	};
	emulate_shadow_place(number, &place);
}

static void boot(void)
{
	const struct emulated_vma vma = {
		.start = CODE, .end = CODE + CODE_BYTES, .is_executable = true};
	emulate_boot(EMULATED_6_13);
	CHECK_OK(emulate_table_store(1, &rules));
	emulate_config()->nr_lanes = emulate_config()->nr_places = EVENT_LANES;
	emulate_config()->shadow_runtimes = 1U << RUNTIME_PHP;
	emulate_mappings(&vma, 1, 0);
	for (int i = 0; i < MAX_TEXTS; i++)
		memcpy(texts[i], (char[]){'f', (char)('a' + i), '\0'}, 3);
	emulate_memory(TEXTS, texts, sizeof(texts));
	emulate_memory(STACK, stack, sizeof(stack));
	put_place(ENTRY, 0, 1);
	put_place(RETURN, SHADOW_IS_RETURN, 1);
	put_place(OTHER_RETURN, SHADOW_IS_RETURN, 2);
	put_place(ALONE, SHADOW_IS_ALONE, 1);
}

static uint64_t text(uint32_t number)
{
	return TEXTS + number * TEXT_BYTES;
}

/* At so many bytes from the lower end of the stack. */
static void call_at(uint64_t ip, uint64_t place, uint32_t function, uint32_t depth)
{
	struct unwind_registers regs = {.ip = ip};
	regs.reg[UNWIND_SP] = STACK + depth;
	regs.reg[NAME] = text(function);
	regs.reg[FILE_NAME] = text(MAX_TEXTS - 1);
	regs.reg[LINE] = 0xdead00000000ULL + 10 + function;
	emulated.cookie = place;
	emulate_call(&regs);
}

/* The place's own instruction. */
static void call(uint64_t place, uint32_t function, uint32_t depth)
{
	call_at(CODE + place, place, function, depth);
}

static const struct event_code *code_of(uint32_t number)
{
	const struct event_code *code;
	for (size_t i = 0; (code = emulated_record(EVENT_CODE, i)); i++)
		if (code->number == number)
			return code;
	return NULL;
}

static const struct event_stack *sample(uint32_t depth)
{
	struct unwind_registers regs = {.ip = CODE};
	regs.reg[UNWIND_SP] = STACK + depth;
	++*emulated_variables().generation; /* each stack is sent */
	emulate_tick(&regs);
	const struct event_stack *last = NULL, *next;
	for (size_t i = 0; (next = emulated_record(EVENT_STACK, i)); i++)
		last = next;
	return last;
}

/* The functions of a sample, leaf first, are those of the string: "cba". '!': one is missing. */
static void check_functions(uint32_t depth, const char *functions)
{
	const struct event_stack *taken = sample(depth);
	const uint64_t *words = (const void *)(taken + 1);
	CHECK_INT(taken->nr_frames, 1 + strlen(functions)); /* after the native one */
	for (size_t i = 0; functions[i]; i++) {
		uint64_t word = words[1 + i];
		CHECK_INT(word >> EVENT_FRAME_KIND_SHIFT, EVENT_FRAME_RUNTIME);
		uint32_t number =
			word >> RUNTIME_FRAME_CODE_SHIFT & ((1U << RUNTIME_FRAME_CODE_BITS) - 1);
		if (functions[i] == '!') {
			CHECK_INT(number, 0);
			continue;
		}
		const struct event_code *code = code_of(number);
		CHECK(code != NULL);
		const char *name = (const char *)(code + 1);
		CHECK_INT(code->bytes[RUNTIME_TEXT_NAME], 2);
		CHECK_INT(name[1], functions[i]);
		CHECK_INT(word & ((1U << RUNTIME_FRAME_CODE_SHIFT) - 1), 10 + functions[i] - 'a');
	}
}

TEST(functions_entered_and_left)
{
	boot();
	call(ENTRY, 0, 900);
	check_functions(800, "a");
	call(ENTRY, 1, 800);
	call(ENTRY, 2, 700);
	check_functions(600, "cba");
	call(RETURN, 2, 700);
	call(RETURN, 1, 800);
	check_functions(800, "a");
	call(RETURN, 0, 900);
	check_functions(800, "");
	CHECK_INT(emulated_shadow_counters()->hits[ENTRY], 3);
	CHECK_INT(emulated_shadow_counters()->hits[RETURN], 3);
	CHECK_INT(emulated_shadow_counters()->missed_returns, 0);
	CHECK_INT(emulated_shadow_counters()->unmatched, 0);
}

/* A name is sent once, with what the arguments said. */
TEST(names_of_entered_functions)
{
	boot();
	for (int i = 0; i < 3; i++) {
		call(ENTRY, 4, 900);
		call(RETURN, 4, 900);
	}
	CHECK_INT(emulated_count(EVENT_CODE), 1);
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK_INT(code->kind, RUNTIME_PHP);
	CHECK_INT(code->version, RUNTIME_VERSION_LINES);
	CHECK_INT(code->first_line, 14);
	CHECK_INT(code->bytes[RUNTIME_TEXT_FILE], 2);
	CHECK(memcmp(code + 1, "fef\x80", 3) == 0);
	/* Other code at the same place is other code. */
	memcpy(texts[4], "other", 6);
	call(ENTRY, 4, 900);
	CHECK_INT(emulated_count(EVENT_CODE), 2);
}

TEST(names_with_classes)
{
	boot();
	struct unwind_registers regs = {.ip = CODE};
	regs.reg[UNWIND_SP] = STACK + 800;
	regs.reg[NAME] = text(1);
	regs.reg[CLASS] = text(2);
	emulated.cookie = ENTRY;
	emulate_call(&regs);
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK_INT(code->bytes[RUNTIME_TEXT_NAME], 6);
	CHECK_INT(code->bytes[RUNTIME_TEXT_FILE], 0); /* there was none */
	CHECK(memcmp(code + 1, "fc::fb", 6) == 0);
}

/* What could not be named then is tried again when it is entered once more. */
TEST(names_that_cannot_be_sent)
{
	boot();
	uint64_t ring_bytes = emulated.ring_bytes;
	emulated.ring_bytes = 0;
	call(ENTRY, 0, 900);
	emulated.ring_bytes = ring_bytes;
	check_functions(800, "!");
	call(RETURN, 0, 900);
	emulate_busy_hit(true); /* another task's, which has the place where names are made */
	call(ENTRY, 0, 900);
	emulate_busy_hit(false);
	check_functions(800, "!");
	call(RETURN, 0, 900);
	call(ENTRY, 0, 900);
	check_functions(800, "a");
}

/* longjmp() left what was below; the next function is entered above it. */
TEST(lower_frames_are_gone)
{
	boot();
	call(ENTRY, 0, 900);
	call(ENTRY, 1, 800);
	call(ENTRY, 2, 700);
	call(ENTRY, 3, 850);
	check_functions(840, "da");
	CHECK_INT(emulated_shadow_counters()->missed_returns, 2);
	/* By a return, too. */
	call(ENTRY, 4, 700);
	call(RETURN, 3, 850);
	check_functions(840, "a");
	CHECK_INT(emulated_shadow_counters()->missed_returns, 3);
}

/* A sample well above them does not take them, and leaves them. */
TEST(samples_above_frames)
{
	boot();
	call(ENTRY, 0, 9000);
	call(ENTRY, 1, 800);
	check_functions(8000, "a");
	check_functions(700, "ba");
}

/* In a loop that runs function after function these are where the first one was. */
TEST(functions_of_one_native_frame)
{
	boot();
	call(ENTRY, 0, 900);
	call(ENTRY, 1, 900);
	check_functions(800, "ba");
	call(RETURN, 1, 900);
	check_functions(800, "a");
	call(ALONE, 2, 900); /* but there it takes the place of others */
	check_functions(800, "c");
}

/* The innermost of equal functions returns, if that is where it was entered. */
TEST(recursion)
{
	boot();
	for (uint32_t i = 0; i < 4; i++)
		call(ENTRY, 0, 900 - 100 * i);
	check_functions(500, "aaaa");
	call(RETURN, 0, 600);
	check_functions(600, "aaa");
	call(RETURN, 0, 800); /* the one below was left without a word */
	check_functions(800, "a");
}

/* From another function of the runtime the place is known but roughly. */
TEST(returns_of_another_group)
{
	boot();
	call(ENTRY, 0, 9000);
	call(ENTRY, 1, 5000);
	call(OTHER_RETURN, 1, 5100);
	check_functions(4000, "a");
	call(ENTRY, 1, 5000);
	call(OTHER_RETURN, 0, 5000); /* it would be another, further in */
	check_functions(4000, "ba");
	CHECK_INT(emulated_shadow_counters()->unmatched, 1);
}

/* Of what was entered before there were probes. */
TEST(returns_without_an_entry)
{
	boot();
	call(RETURN, 0, 900);
	check_functions(800, "");
	call(ENTRY, 1, 800);
	call(RETURN, 5, 800);
	check_functions(700, "b");
	call(RETURN, 1, 800);
	call(RETURN, 0, 900);
	check_functions(800, "");
	CHECK_INT(emulated_shadow_counters()->unmatched, 2); /* the first had no stack at all */
}

TEST(frames_that_are_too_deep)
{
	boot();
	enum {
		MORE = SHADOW_MAX_FRAMES + 3
	};
	for (uint32_t i = 0; i < MORE; i++)
		call(ENTRY, i == 0, 20000 - 16 * i);
	const struct event_stack *taken = sample(100);
	const uint64_t *words = (const void *)(taken + 1);
	CHECK_INT(taken->nr_frames, 1 + 1 + SHADOW_MAX_FRAMES);
	CHECK_INT(words[1] & ((1 << RUNTIME_FRAME_FAILED_KIND_SHIFT) - 1), LAYOUT_SCRIPT_DEEP);
	CHECK_INT(emulated_shadow_counters()->deep, 3);
	for (uint32_t i = MORE - 1; i >= SHADOW_MAX_FRAMES; i--)
		call(RETURN, 0, 20000 - 16 * i);
	CHECK_INT(sample(100)->nr_frames, 1 + SHADOW_MAX_FRAMES);
	/* All of them are gone at once. */
	for (uint32_t i = SHADOW_MAX_FRAMES; i < MORE; i++)
		call(ENTRY, 0, 20000 - 16 * i);
	call(ENTRY, 3, 19990);
	check_functions(19980, "db");
}

/* Threads have stacks of their own, also one behind the other under one number. */
TEST(stacks_of_threads)
{
	boot();
	call(ENTRY, 0, 900);
	emulated.tid++;
	check_functions(800, "");
	call(ENTRY, 1, 900);
	check_functions(800, "b");
	emulated.tid--;
	check_functions(800, "a");
	emulated.exec_id++;
	check_functions(800, "");
	call(ENTRY, 2, 900);
	check_functions(800, "c");
	emulated.start_ns++;
	check_functions(800, "");
}

TEST(calls_of_others_are_filtered)
{
	boot();
	emulate_config()->filter = EVENT_FILTER_PROCESS;
	call(ENTRY, 0, 900);
	CHECK_INT(emulated_shadow_counters()->filtered, 1);
	emulate_target(emulated.pid, 0);
	check_functions(800, "");
	call(ENTRY, 0, 900);
	check_functions(800, "a");
	call(SHADOW_MAX_PLACES + 5, 0, 800); /* no such places */
	call(9, 0, 800);
	check_functions(700, "a");
}

/* Arguments on the stack, constants, and what cannot be read. */
TEST(arguments_of_all_kinds)
{
	boot();
	struct shadow_place place = {
		.runtime = RUNTIME_PHP,
		.text = {[SHADOW_NAME] = {SHADOW_MEMORY, 8, offset_of(CLASS), -16}},
		.line = {SHADOW_CONSTANT, -4, 0, 77},
	};
	emulate_shadow_place(ENTRY, &place);
	uint64_t name = text(6);
	memcpy(stack + 0x100 - 16, &name, sizeof(name));
	struct unwind_registers regs = {.ip = CODE};
	regs.reg[UNWIND_SP] = STACK + 800;
	regs.reg[CLASS] = STACK + 0x100;
	emulated.cookie = ENTRY;
	emulate_call(&regs);
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	CHECK_INT(code->first_line, 77);
	CHECK(memcmp(code + 1, "fg", 2) == 0);
	regs.reg[CLASS] = 0x666;
	regs.reg[UNWIND_SP] = STACK + 700;
	emulate_call(&regs);
	CHECK_INT(emulated_count(EVENT_CODE), 1);
	const struct event_stack *taken = sample(600);
	CHECK_INT(taken->nr_frames, 3);
}

/* Two probes in one file that is known by two names: each hit runs the program for both. */
TEST(hits_that_are_told_twice)
{
	enum {
		TWIN = 10 /* numbers more: those of the other name */
	};
	boot();
	put_place(ENTRY + TWIN, 0, 3);
	put_place(RETURN + TWIN, SHADOW_IS_RETURN, 3);
	for (uint32_t i = 0; i < 3; i++) {
		call_at(CODE, ENTRY, i, 900 - 100 * i);
		call_at(CODE, ENTRY + TWIN, i, 900 - 100 * i);
	}
	check_functions(600, "cba");
	call_at(CODE + 1, RETURN, 2, 700);
	call_at(CODE + 1, RETURN + TWIN, 2, 700);
	check_functions(700, "ba");
	call_at(CODE, ENTRY, 2, 700);
	call_at(CODE, ENTRY + TWIN, 2, 700);
	check_functions(600, "cba");
	CHECK_INT(emulated_shadow_counters()->hits[ENTRY], 4);
	CHECK_INT(emulated_shadow_counters()->hits[ENTRY + TWIN], 0);
	CHECK_INT(emulated_shadow_counters()->hits[RETURN], 1);
	CHECK_INT(emulated_shadow_counters()->unmatched, 0);
}

TEST(calls_that_time_themselves)
{
	boot();
	emulate_config()->times_calls = true;
	call(ENTRY, 0, 900);
	check_functions(800, "a");
	CHECK_INT(emulated_shadow_counters()->ns, 0); /* here clocks stand still */
}
