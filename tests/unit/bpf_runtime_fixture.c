#include "tests/unit/bpf_runtime_fixture.h"

#include <stdio.h>
#include <string.h>

#include "record/unwind/unwind_rows.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	MAX_TEXT_BYTES = 64,
	MAX_SHAPE_FRAMES = 63,
};

static void build_table(struct unwind_table *table, uint32_t frame_bytes)
{
	static const struct unwind_rule caller = {
		.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_UNDEFINED};
	struct unwind_rule rule = {.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = UNWIND_SP,
		.cfa_offset = (int32_t)frame_bytes,
		.ra = UNWIND_AT_CFA,
		.ra_offset = -8};
	struct unwind_rows rows;
	unwind_rows_init(&rows, table);
	unwind_rows_put(&rows, HELPER, &rule);
	rule.flags = UNWIND_INTERPRETER;
	unwind_rows_put(&rows, LOOP, &rule);
	unwind_rows_put(&rows, CALLER, &caller);
	unwind_rows_put_none(&rows, END);
	CHECK_OK(unwind_rows_finish(&rows));
	unwind_rows_deinit(&rows);
}

void runtime_fixture_init(struct runtime_fixture *fixture, uint32_t frame_bytes)
{
	static const struct emulated_file file = {.inode = 1};
	static const struct emulated_vma vmas[] = {{CODE, CODE + 0x10000, 0, &file, true},
		{JIT, JIT + 0x10000, 0, NULL, true},
		{STACK, STACK + STACK_WORDS * 8, 0, NULL, false}};
	*fixture = (struct runtime_fixture){.regs.ip = CODE + LOOP + 0x500};
	emulate_boot(EMULATED_6_13);
	emulate_mappings(vmas, sizeof(vmas) / sizeof(*vmas), 0);
	emulate_memory(CODE + DATA, fixture->data, sizeof(fixture->data));
	emulate_memory(HEAP, fixture->heap, sizeof(fixture->heap));
	emulate_memory(STACK, fixture->stack, sizeof(fixture->stack));
	build_table(&fixture->table, frame_bytes);
	CHECK_OK(emulate_table_store(2 * UNWIND_SHARD_WORDS * 4, &fixture->store));
}

void runtime_fixture_show_thread(struct runtime_fixture *fixture)
{
	fixture->thread[GLIBC_KEY_BLOCKS] = EMULATED_SELF + GLIBC_KEYS * 8;
	emulate_memory(EMULATED_SELF, fixture->thread, sizeof(fixture->thread));
}

void runtime_fixture_bind(struct runtime_fixture *fixture)
{
	emulate_tick(&fixture->regs);
	const struct event_file *event = emulated_record(EVENT_FILE, 0);
	CHECK(event != NULL);
	table_store_bind(fixture->store, event ? event->file : 1,
		table_store_add(fixture->store, &fixture->table));
}

void runtime_fixture_deinit(struct runtime_fixture *fixture)
{
	table_store_destroy(fixture->store);
	unwind_table_deinit(&fixture->table);
}

const uint64_t *runtime_fixture_tick(struct runtime_fixture *fixture)
{
	emulate_drain();
	++*emulated_variables().generation;
	emulated.time_ns += 1000000; /* what is kept for one walk is not this one's */
	emulate_tick(&fixture->regs);
	const struct event_stack *stack = emulated_record(EVENT_STACK, 0);
	CHECK(stack != NULL);
	fixture->count = stack ? stack->nr_frames : 0;
	fixture->words = stack ? (const uint64_t *)(stack + 1) : NULL;
	return fixture->words;
}

static char letter_of(uint64_t word)
{
	switch (word >> EVENT_FRAME_KIND_SHIFT) {
	case EVENT_FRAME_FILE:
		return 'n';
	case EVENT_FRAME_ANONYMOUS:
		return 'a';
	case EVENT_FRAME_RUNTIME:
		return 's';
	default:
		return '?';
	}
}

const char *runtime_fixture_shape(const struct runtime_fixture *fixture)
{
	static char shape[MAX_SHAPE_FRAMES + 1];
	uint32_t i = 0;
	for (; i < fixture->count && i < MAX_SHAPE_FRAMES; i++)
		shape[i] = letter_of(fixture->words[i]);
	shape[i] = '\0';
	return shape;
}

/* ---- of words ---- */

bool is_script(uint64_t word)
{
	return word >> EVENT_FRAME_KIND_SHIFT == EVENT_FRAME_RUNTIME;
}

uint32_t number_of(uint64_t word)
{
	return word >> RUNTIME_FRAME_CODE_SHIFT & ((1 << RUNTIME_FRAME_CODE_BITS) - 1);
}

uint32_t place_of(uint64_t word)
{
	return word & ((1 << RUNTIME_FRAME_CODE_SHIFT) - 1);
}

enum layout_script_failure failure_of(uint64_t word, enum runtime_kind kind)
{
	bool is_of_kind = place_of(word) >> RUNTIME_FRAME_FAILED_KIND_SHIFT == kind;
	if (!is_script(word) || number_of(word) || !is_of_kind)
		return 0;
	return place_of(word) & ((1 << RUNTIME_FRAME_FAILED_KIND_SHIFT) - 1);
}

const char *sent_text(size_t n, enum runtime_text what)
{
	static char text[MAX_TEXT_BYTES];
	const struct event_code *code = emulated_record(EVENT_CODE, n);
	text[0] = '\0';
	if (!code || code->bytes[what] >= sizeof(text))
		return text;
	const char *from = (const char *)(code + 1);
	for (int i = 0; i < (int)what; i++)
		from += code->bytes[i];
	memcpy(text, from, code->bytes[what]);
	text[code->bytes[what]] = '\0';
	return text;
}

const char *sent_frames(const struct runtime_fixture *fixture)
{
	static char frames[4 * MAX_TEXT_BYTES];
	size_t len = 0, n = 0;
	frames[0] = '\0';
	for (uint32_t i = 0; i < fixture->count && len < sizeof(frames); i++)
		if (is_script(fixture->words[i])) {
			const char *name = sent_text(n, RUNTIME_TEXT_NAME);
			len += (size_t)snprintf(frames + len, sizeof(frames) - len, "%s%s+%u",
				n ? " " : "", name, place_of(fixture->words[i]));
			n++;
		}
	return frames;
}
