/*
 * Any stack and memory, walked by the BPF programs over the emulated kernel of the unit tests, by
 * any rules and by any row of any runtime. The input is: how the tick strikes, the runtime, a
 * period, pc and registers (u64), the rules of the file's functions as they are in the map, the
 * words of the row, then words of memory: {u16 place, u64 word} each. What has none is 0, or, with
 * a period, the same as so many words before: stacks and lists of as many frames as there is room
 * for. So that more than noise comes of it, the top byte of a word may ask for an address: 1 in the
 * file's code, 2 in the stack, 3 in code of no file, 4 in the heap, 5 in the file's data.
 */
#include <stdlib.h>
#include <string.h>

#include "format/base/bytes.h"
#include "record/unwind/table_store.h"
#include "record/unwind/unwind_rows.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/emulate/map.h"

enum {
	CODE = 0x400000, /* as in tests/unit/bpf_runtime_fixture.h */
	CODE_BYTES = 0x10000,
	DATA = CODE + 0x5000,
	JIT = 0x600000,
	JIT_BYTES = 0x10000,
	STACK = 0x7000000,
	HEAP = 0x8000000,

	THREAD_WORDS = 256, /* at address 0, where the emulated thread pointer is */
	DATA_WORDS = 16,
	STACK_WORDS = 2048,
	HEAP_WORDS = 4096,
	WORDS = THREAD_WORDS + DATA_WORDS + STACK_WORDS + HEAP_WORDS,

	FUNCTIONS = 4,
	/* A thousand a frame; what was seen in 600 s of CPU is below 1,000 in all. */
	MAX_READS = 1000 * EVENT_MAX_USER_FRAMES,
};

enum tick_kind {
	TICK_IN_USER_CODE,
	TICK_WITHOUT_LOOP,
	TICK_IN_KERNEL,
	TICK_KINDS,
};

static const uint64_t function_offsets[FUNCTIONS + 1] = {0x800, 0x1000, 0x2000, 0x2800, 0x3000};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static uint64_t memory[WORDS];
static uint32_t file; /* its number; 0: nothing was set up yet */

/* ---- the process, made once ---- */

static void map_process(void)
{
	static const struct emulated_file code = {.inode = 1};
	static const struct emulated_vma vmas[] = {{CODE, CODE + CODE_BYTES, 0, &code, true},
		{JIT, JIT + JIT_BYTES, 0, NULL, true},
		{STACK, STACK + STACK_WORDS * 8, 0, NULL, false}};
	static const struct {
		uint64_t address;
		size_t words;
	} regions[] = {
		{0, THREAD_WORDS}, {DATA, DATA_WORDS}, {STACK, STACK_WORDS}, {HEAP, HEAP_WORDS}};
	const uint64_t *words = memory;
	emulate_mappings(vmas, sizeof(vmas) / sizeof(*vmas), 0);
	for (size_t i = 0; i < sizeof(regions) / sizeof(*regions); i++) {
		emulate_memory(regions[i].address, words, regions[i].words * sizeof(*words));
		words += regions[i].words;
	}
}

/* Of rules that differ, so that each has a place of its own in the map. */
static struct err *build_table(struct unwind_table *ret)
{
	struct unwind_rows rows;
	unwind_rows_init(&rows, ret);
	for (int i = 0; i < FUNCTIONS; i++) {
		struct unwind_rule rule = {
			.cfa = UNWIND_CFA_REGISTER, .cfa_offset = 64 * i + 64, .ra = UNWIND_AT_CFA};
		unwind_rows_put(&rows, function_offsets[i], &rule);
	}
	unwind_rows_put_none(&rows, function_offsets[FUNCTIONS]);
	struct err *err = unwind_rows_finish(&rows);
	unwind_rows_deinit(&rows);
	ret->runtime.kind = RUNTIME_PYTHON; /* that there is one: each input has its own */
	return err;
}

static void set_up(void)
{
	static struct unwind_table table; /* kept, as the store is */
	static struct table_store *store;
	struct unwind_registers leaf = {.ip = CODE + function_offsets[0]};
	emulate_boot(EMULATED_6_13);
	map_process();
	struct err *err = build_table(&table);
	if (!err)
		err = emulate_table_store(2 * UNWIND_SHARD_WORDS * 4, &store);
	if (err)
		abort();
	emulate_tick(&leaf);
	const struct event_file *event = emulated_record(EVENT_FILE, 0);
	if (!event)
		abort();
	file = event->file;
	table_store_bind(store, file, table_store_add(store, &table));
	*emulated_variables().row_kinds = ~0U;
}

/* ---- one input ---- */

static uint64_t get_word(struct bytes_cursor *input)
{
	uint64_t word = bytes_get_u64(input), low = word & 0xffffffff;
	switch (word >> 56) {
	case 1:
		return CODE + low % CODE_BYTES;
	case 2:
		return STACK + low % (STACK_WORDS * 8);
	case 3:
		return JIT + low % JIT_BYTES;
	case 4:
		return HEAP + low % (HEAP_WORDS * 8);
	case 5:
		return DATA + low % (DATA_WORDS * 8);
	default:
		return word;
	}
}

static void get_bytes(struct bytes_cursor *input, void *to, size_t len)
{
	const uint8_t *bytes = bytes_get(input, len);
	if (bytes)
		memcpy(to, bytes, len);
}

static void put_rules(struct bytes_cursor *input)
{
	struct unwind_rule *rules = (void *)emulated_map_of(emulated_rules_map())->values;
	for (int i = 0; i < FUNCTIONS; i++)
		get_bytes(input, &rules[emulated_find_rule(file, function_offsets[i])],
			sizeof(*rules));
}

static void put_row(struct bytes_cursor *input, uint32_t kind)
{
	struct runtime_row *rows = (void *)emulated_map_of(emulated_runtime_rows_map())->values;
	struct runtime_row *row = &rows[emulated_unwind_file(file)->runtime - 1];
	row->kind = kind;
	get_bytes(input, row->words, sizeof(row->words));
}

/* A word that leads to itself, or to others by a distance, does so wherever it is repeated. */
static uint64_t repeated_word(size_t i, uint32_t period)
{
	uint64_t word = memory[i - period];
	bool is_address = (word >= STACK && word < STACK + STACK_WORDS * 8) ||
			  (word >= HEAP && word < HEAP + HEAP_WORDS * 8);
	return is_address ? word + period * 8ULL : word;
}

static void put_memory(struct bytes_cursor *input, uint32_t period)
{
	static bool is_put[WORDS];
	memset(memory, 0, sizeof(memory));
	memset(is_put, 0, sizeof(is_put));
	while (bytes_left(input) >= sizeof(uint16_t) + sizeof(uint64_t)) {
		uint16_t place = bytes_get_u16(input) % WORDS;
		memory[place] = get_word(input);
		is_put[place] = true;
	}
	for (size_t i = THREAD_WORDS + DATA_WORDS + period; period && i < WORDS; i++)
		if (!is_put[i])
			memory[i] = repeated_word(i, period);
}

static void check_stacks(void)
{
	const struct event_stack *stack;
	for (size_t n = 0; (stack = emulated_record(EVENT_STACK, n)); n++)
		if (stack->end > EVENT_END_NO_MAPPING || stack->nr_frames > EVENT_MAX_USER_FRAMES)
			abort();
	if (emulated_count(EVENT_SAMPLE) != 1 || emulated.user_reads > MAX_READS)
		abort();
	emulate_drain();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static void (*const ticks[TICK_KINDS])(const struct unwind_registers *) = {
		[TICK_IN_USER_CODE] = emulate_tick,
		[TICK_WITHOUT_LOOP] = emulate_tick_without_loop,
		[TICK_IN_KERNEL] = emulate_tick_in_kernel};
	struct bytes_cursor input = bytes_cursor(bytes, len);
	struct unwind_registers regs = {0};
	if (!file)
		set_up();
	emulate_forget();
	uint8_t tick = bytes_get_u8(&input) % TICK_KINDS;
	uint8_t kind = bytes_get_u8(&input) % RUNTIME_MAX_KINDS;
	uint8_t period = bytes_get_u8(&input);
	regs.ip = get_word(&input);
	for (int i = 0; i < 16; i++)
		regs.reg[i] = get_word(&input);
	put_rules(&input);
	put_row(&input, kind);
	put_memory(&input, period);
	for (int i = 0; i < 2; i++) { /* the second time, the programs know the process */
		emulated.user_reads = 0;
		emulated.time_ns += 1000000;
		++*emulated_variables().generation;
		ticks[tick](&regs);
		check_stacks();
	}
	return 0;
}
