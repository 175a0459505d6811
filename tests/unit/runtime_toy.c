/*
 * A new runtime is a folder on either side and a row of RUNTIMES: this one is known to the whole
 * recorder, and to the walk, though no other file knows it.
 */
#include "tests/unit/runtime_toy.h"

#include <fcntl.h>
#include <unistd.h>

#include "bpf/event.h"
#include "record/runtime/runtime.c" /* the table of runtimes, with a row more */
#include "record/runtime/runtime_names.h"
#include "record/script/script_table.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

/* ---- the runtime, on the recorder's side ---- */

static struct err *detect(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	const struct elf_section *loop = elf_file_find_section(elf, ".toy");
	struct toy_row *row = (void *)file->row.words;
	*is_found = file->is_runtime = loop;
	if (!loop)
		return NULL;
	row->frame = file->loop_start = loop->addr;
	file->loop_end = loop->addr + loop->size;
	return NULL;
}

static void place(struct runtime_row *row, uint64_t address_to_file)
{
	struct toy_row *toy = (void *)row->words;
	toy->frame += address_to_file;
}

static bool is_sound(const struct runtime_row *row)
{
	const struct toy_row *toy = (const void *)row->words;
	return toy->frame;
}

const struct runtime toy_runtime = {
	.version = 1,
	.name = "toy",
	.object = "[toy]",
	.detect = detect,
	.place = place,
	.is_sound = is_sound,
};

/* The one with a compiler, which no file has. */
static struct err *detect_none(struct elf_file *elf, struct runtime_file *file, bool *is_found)
{
	(void)elf, (void)file;
	*is_found = false;
	return NULL;
}

static void place_nothing(struct runtime_row *row, uint64_t address_to_file)
{
	(void)row, (void)address_to_file;
}

static bool is_always_sound(const struct runtime_row *row)
{
	(void)row;
	return true;
}

const struct runtime toy_compiler_runtime = {
	.version = 1,
	.name = "toy-compiler",
	.object = "[toy compiler]",
	.detect = detect_none,
	.place = place_nothing,
	.is_sound = is_always_sound,
};

/* ---- what becomes of it ---- */

/* This program has a toy in it. */
__attribute__((section(".toy"), noinline, used)) static int toy_loop(int argument)
{
	return argument + 1;
}

TEST(toy_is_found_in_a_file)
{
	struct elf_file *elf;
	struct runtime_file file;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK_OK(elf_file_open(fd, &elf));
	CHECK_OK(runtime_detect(elf, &file));
	CHECK_INT(file.row.kind, RUNTIME_TOY);
	CHECK(file.loop_end > file.loop_start);
	CHECK(runtime_row_is_sound(&file.row));
	const struct toy_row *row = (const void *)file.row.words;
	CHECK_INT(row->frame, file.loop_start + file.address_to_file);
	CHECK(runtime_row_has_place(&file.row, file.loop_start + file.address_to_file));
	CHECK(!runtime_row_has_place(&file.row, (uint64_t)lseek(fd, 0, SEEK_END) + 4096));
	elf_file_destroy(elf);
	close(fd);
	CHECK_INT(toy_loop(1), 2);
}

TEST(toy_has_an_option)
{
	uint32_t kinds = 0;
	CHECK_OK(runtime_names_parse("toy", &kinds));
	CHECK_INT(kinds, 1U << RUNTIME_TOY);
	CHECK_OK(runtime_names_parse("all", &kinds));
	CHECK(kinds & 1U << RUNTIME_RUBY);
}

/* In the loop, which has two frames in hand. */
static void setup(struct runtime_fixture *fixture)
{
	enum {
		LOOP_BYTES = 64,
		SP = 8,    /* a word of the stack */
		INNER = 0, /* words of the heap */
		OUTER = 2,
		INNER_NAME = 4,
		OUTER_NAME = 5,
	};
	runtime_fixture_init(fixture, LOOP_BYTES);
	fixture->table.runtime = (struct runtime_row){.kind = RUNTIME_TOY, .words = {DATA}};
	fixture->data[0] = heap_address(INNER);
	fixture->heap[INNER] = heap_address(OUTER);
	fixture->heap[INNER + 1] = heap_address(INNER_NAME);
	fixture->heap[OUTER + 1] = heap_address(OUTER_NAME);
	memcpy(&fixture->heap[INNER_NAME], "inner", sizeof("inner"));
	memcpy(&fixture->heap[OUTER_NAME], "outer", sizeof("outer"));
	fixture->regs.reg[UNWIND_SP] = stack_address(SP);
	fixture->stack[SP + LOOP_BYTES / 8 - 1] = CODE + CALLER + 5;
	runtime_fixture_bind(fixture);
}

TEST(toy_frames_come_before_the_loop)
{
	struct runtime_fixture fixture;
	setup(&fixture);
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "ssnn");
	CHECK_STR(sent_frames(&fixture), "inner+0 outer+0");
	runtime_fixture_deinit(&fixture);
}

TEST(toy_functions_have_names_and_an_object)
{
	struct runtime_fixture fixture;
	struct object_table objects = {0};
	struct script_table scripts;
	struct script_place found;
	uint64_t offset;
	setup(&fixture);
	const uint64_t *words = runtime_fixture_tick(&fixture);
	const struct event_code *code = emulated_record(EVENT_CODE, 0);
	script_table_init(&scripts, &objects);
	script_table_take(&scripts, code, sizeof(*code) + code->bytes[RUNTIME_TEXT_NAME]);
	CHECK_STR(script_table_find(&scripts, words[0], &offset)->path, "[toy]");
	script_table_describe(&scripts, offset, &found);
	CHECK_STR(found.name, "inner");
	script_table_deinit(&scripts);
	object_table_deinit(&objects);
	runtime_fixture_deinit(&fixture);
}

/*
 * What the one compiled is called by the other's loop, and that is called by such code again:
 * programs of both groups walk, by turns.
 */
TEST(toy_frames_come_between_those_of_the_other_group)
{
	enum {
		COMPILER = 0x500000, /* its file */
		SP = 40,             /* words of the stack: the leaf, which has two, */
		LOOP_SP = SP + 2,    /* ... the loop, which has eight, */
		OUTER_SP = LOOP_SP + 8,
	};
	static const struct emulated_file files[] = {{.inode = 1}, {.inode = 2}};
	static const struct emulated_vma vmas[] = {{CODE, CODE + 0x10000, 0, &files[0], true},
		{COMPILER, COMPILER + 0x10000, 0, &files[1], true},
		{JIT, JIT + 0x10000, 0, NULL, true},
		{STACK, STACK + STACK_WORDS * 8, 0, NULL, false}};
	struct runtime_fixture fixture;
	setup(&fixture);
	fixture.table.runtime.kind = RUNTIME_TOY_COMPILER; /* of the second file */
	emulate_mappings(vmas, sizeof(vmas) / sizeof(*vmas), 0);
	emulate_drain();
	fixture.regs.ip = COMPILER;
	emulate_tick(&fixture.regs);
	const struct event_file *event = emulated_record(EVENT_FILE, 0);
	CHECK(event != NULL);
	table_store_bind(fixture.store, event ? event->file : 2,
		table_store_add(fixture.store, &fixture.table));
	runtime_fixture_tick(&fixture); /* the process is known to have it */

	fixture.stack[SP + 1] = CODE + LOOP + 5;
	fixture.stack[LOOP_SP + 7] = JIT + 0x300;
	fixture.stack[OUTER_SP + 1] = CODE + CALLER + 5;
	fixture.regs.ip = JIT + 0x40;
	fixture.regs.reg[UNWIND_SP] = stack_address(SP);
	runtime_fixture_tick(&fixture);
	CHECK_STR(runtime_fixture_shape(&fixture), "sssnsn");
	emulate_drain();
	++*emulated_variables().generation;
	emulate_tick_without_loop(&fixture.regs);
	const struct event_stack *stack = emulated_record(EVENT_STACK, 0);
	CHECK_INT(stack ? stack->nr_frames : 0, fixture.count);
	runtime_fixture_deinit(&fixture);
}
