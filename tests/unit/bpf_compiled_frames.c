/*
 * Frames of .NET's methods that the recorder finds itself, in this process, which has the maps of
 * code that a runtime has: see bpf_dotnet.c for the walk by BPF programs.
 */
#include "record/script/compiled_frames.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/runtime/dotnet/dotnet_row.h"
#include "format/base/clock.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	DAC_TABLE = 0x100, /* in the file, which is mapped so that it is at the variable */
	NR_LEVELS = 5,
	CODE_BYTES = 0x2000,
	/* In the code, which ends at a multiple of 32: a method, and how its frames are unwound. */
	METHOD = 0x40,
	METHOD_BYTES = 0x100,
	UNWIND = 0x1000,
	BODY = 0x40,
	EPILOGUE = 0x80,
	WAIT_MS = 2000,
};

struct program {
	_Alignas(32) uint8_t code[CODE_BYTES];
	uint64_t table; /* g_dacTable */
	uint64_t levels[NR_LEVELS][256];
	uint64_t fragment[4], section[6], heap[6], header[16];
	uint32_t map[CODE_BYTES / 256];
};

struct fixture {
	struct program program;
	struct table_store *store;
	struct object_table objects;
	struct process_table processes;
	struct process *process;
	struct object *file;
	struct rule_source rules;
	struct script_table scripts;
	struct compiled_frames frames;
};

static uint64_t address_of(const void *at)
{
	return (uintptr_t)at;
}

static void make_program(struct program *program)
{
	const uint64_t code = address_of(program->code), end = code + CODE_BYTES;
	const uint64_t fragment[] = {0, code, end, address_of(program->section)};
	const uint64_t section[] = {code, end, 2, 0, 0, address_of(program->heap)};
	const uint64_t heap[] = {0, 0, code, end, code, address_of(program->map)};
	const uint32_t function[] = {1, METHOD, METHOD + METHOD_BYTES, UNWIND};
	const uint64_t header = address_of(program->header);
	memset(program, 0, sizeof(*program));
	program->table = address_of(program->levels[0]);
	for (size_t level = 0; level < NR_LEVELS; level++)
		for (size_t i = 0; i < 256; i++)
			program->levels[level][i] = level + 1 < NR_LEVELS
							    ? address_of(program->levels[level + 1])
							    : address_of(program->fragment);
	memcpy(program->fragment, fragment, sizeof(fragment));
	memcpy(program->section, section, sizeof(section));
	memcpy(program->heap, heap, sizeof(heap));
	program->map[METHOD / 256] = 1U << 20;
	program->header[3] = 0x1000; /* its method, which cannot be read */
	memcpy(&program->header[4], function, sizeof(function));
	memset(program->code, 0x90, CODE_BYTES);
	memcpy(program->code + METHOD - 8, &header, sizeof(header));
	/* push rbp; sub $0x20, rsp; and the way back */
	memcpy(program->code + UNWIND, "\x01\x05\x02\x00\x05\x32\x01\x50", 8);
	memcpy(program->code + METHOD + EPILOGUE, "\x48\x83\xc4\x20\x5d\xc3", 6);
}

static void setup(struct fixture *fixture)
{
#if !defined(__x86_64__)
	unit_skip("compiled code of .NET is known on x86-64 alone");
#endif
	struct unwind_table table = {.runtime = {.kind = RUNTIME_DOTNET, .end_page = 1}};
	struct dotnet_row *row = (void *)table.runtime.words;
	*row = (struct dotnet_row){.dac_table = DAC_TABLE, .version = 9};
	*fixture = (struct fixture){.rules.objects = &fixture->objects};
	make_program(&fixture->program);
	emulate_boot(EMULATED_6_13);
	CHECK_OK(emulate_table_store(2 * UNWIND_SHARD_WORDS * 4, &fixture->store));
	fixture->rules.store = fixture->store;
	fixture->processes.objects = &fixture->objects;
	fixture->process =
		process_table_get(&fixture->processes, (uint32_t)getpid(), clock_now_ns());
	fixture->file = object_table_by_build_id(
		&fixture->objects, "/usr/lib/libcoreclr.so", (const uint8_t *)"build-id", 8);
	struct mapping mapping = {.start = address_of(&fixture->program.table) - DAC_TABLE,
		.end = address_of(&fixture->program.table) + 8,
		.object = fixture->file};
	CHECK(process_map(fixture->process, &mapping));
	*map_put(&fixture->rules.tables, fixture->file->serial, NULL) = 1ULL << 32; /* pending */
	*map_put(&fixture->rules.runtimes, fixture->file->serial, NULL) =
		table_store_add_pending(fixture->store, &table.runtime);
	script_table_init(&fixture->scripts, &fixture->objects);
	compiled_frames_init(&fixture->frames, &fixture->scripts);
	fixture->frames.rules = &fixture->rules;
}

static void teardown(struct fixture *fixture)
{
	compiled_frames_deinit(&fixture->frames);
	script_table_deinit(&fixture->scripts);
	map_deinit(&fixture->rules.tables);
	map_deinit(&fixture->rules.runtimes);
	table_store_destroy(fixture->store);
	process_table_deinit(&fixture->processes);
	object_table_deinit(&fixture->objects);
}

static enum compiled_found find(struct fixture *fixture, uint64_t offset, bool is_leaf,
	bool may_wait, struct compiled_frame *ret)
{
	return compiled_frames_find(&fixture->frames, fixture->process,
		address_of(fixture->program.code) + offset, is_leaf, clock_now_ns(), may_wait, ret);
}

static void collect(struct fixture *fixture)
{
	for (int i = 0; i < WAIT_MS && (compiled_frames_are_reading(&fixture->frames) ||
					       script_table_is_reading(&fixture->scripts));
		i++) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		script_table_collect(&fixture->scripts);
		compiled_frames_collect(&fixture->frames, &fixture->processes);
	}
}

/* Its name is read behind it. */
static enum compiled_found find_at_last(
	struct fixture *fixture, uint64_t offset, bool is_leaf, struct compiled_frame *ret)
{
	enum compiled_found found;
	for (int i = 0;
		i < 4 && (found = find(fixture, offset, is_leaf, true, ret)) == COMPILED_LATER; i++)
		collect(fixture);
	return found;
}

static uint32_t number_in(uint64_t word)
{
	return word >> RUNTIME_FRAME_CODE_SHIFT & ((1U << RUNTIME_FRAME_CODE_BITS) - 1);
}

static uint32_t place_in(uint64_t word)
{
	return word & ((1U << RUNTIME_FRAME_CODE_SHIFT) - 1);
}

TEST(compiled_frames_are_found_in_a_process)
{
	struct fixture fixture;
	struct compiled_frame leaf, end, caller;
	setup(&fixture);
	CHECK_INT(find(&fixture, METHOD + BODY, true, true, &leaf), COMPILED_LATER);
	CHECK_INT(find(&fixture, METHOD + BODY, true, false, &leaf), COMPILED_NOTHING);
	CHECK_INT(find_at_last(&fixture, METHOD + BODY, true, &leaf), COMPILED_FOUND);
	CHECK_INT(place_in(leaf.word), BODY | RUNTIME_FRAME_IS_LEAF);
	CHECK(number_in(leaf.word) >= RUNTIME_FIRST_NUMBER_OF_RECORDER);
	CHECK(leaf.rule);
	CHECK_INT(leaf.rule->cfa_offset, 0x20 + 8 + 8);
	CHECK_INT(leaf.rule->fp_offset, -16);
	CHECK_INT(find_at_last(&fixture, METHOD + EPILOGUE + 4, true, &end), COMPILED_FOUND);
	CHECK_INT(end.rule->cfa_offset, 16);
	/* Not the epilogue of a frame that was not interrupted there. */
	CHECK_INT(find_at_last(&fixture, METHOD + EPILOGUE + 4, false, &caller), COMPILED_FOUND);
	CHECK_INT(caller.rule->cfa_offset, 0x20 + 8 + 8);
	CHECK_INT(place_in(caller.word), EPILOGUE + 4);
	CHECK_INT(number_in(caller.word), number_in(leaf.word));
	teardown(&fixture);
}

/* A process may be gone soon: names are read at once, and callers are not kept waiting for them. */
TEST(compiled_frames_are_found_while_their_names_are_read)
{
	struct fixture fixture;
	struct compiled_frame frame;
	setup(&fixture);
	CHECK_INT(find(&fixture, METHOD + BODY, true, true, &frame), COMPILED_LATER);
	for (int i = 0; i < WAIT_MS && !script_table_is_reading(&fixture.scripts); i++) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		compiled_frames_collect(&fixture.frames, &fixture.processes);
	}
	CHECK(fixture.scripts.reader.sent > fixture.scripts.reader.first);
	CHECK_INT(find(&fixture, METHOD + BODY, true, true, &frame), COMPILED_FOUND);
	CHECK(frame.lacks_name && frame.rule);
	CHECK(compiled_frames_are_reading(&fixture.frames));
	collect(&fixture);
	CHECK_INT(find(&fixture, METHOD + BODY, true, true, &frame), COMPILED_FOUND);
	CHECK(!frame.lacks_name);
	teardown(&fixture);
}

/* Other code than the runtime's is nothing, and so is what is in a process without one. */
TEST(compiled_frames_are_not_found_elsewhere)
{
	struct fixture fixture;
	struct compiled_frame frame;
	setup(&fixture);
	CHECK_INT(find_at_last(&fixture, METHOD + METHOD_BYTES, true, &frame), COMPILED_NOTHING);
	CHECK_INT(find_at_last(&fixture, CODE_BYTES + 0x100, true, &frame), COMPILED_NOTHING);
	fixture.process->image++;
	*map_get(&fixture.rules.runtimes, fixture.file->serial) = TABLE_ABSENT;
	CHECK_INT(find(&fixture, METHOD + BODY, true, true, &frame), COMPILED_NOTHING);
	teardown(&fixture);
}

/* Whose code it is may not be known yet: that is waited for. What is expected is read then. */
TEST(compiled_frames_wait_for_the_runtime)
{
	struct fixture fixture;
	struct compiled_frame frame;
	setup(&fixture);
	uint64_t table = *map_get(&fixture.rules.runtimes, fixture.file->serial);
	map_remove(&fixture.rules.runtimes, fixture.file->serial);
	CHECK_INT(find(&fixture, METHOD + BODY, true, true, &frame), COMPILED_LATER);
	CHECK_INT(find(&fixture, METHOD + BODY, true, false, &frame), COMPILED_NOTHING);
	compiled_frames_expect(&fixture.frames, fixture.process->pid,
		address_of(fixture.program.code) + METHOD + BODY, true, clock_now_ns());
	compiled_frames_collect(&fixture.frames, &fixture.processes);
	CHECK(!compiled_frames_are_reading(&fixture.frames));
	*map_put(&fixture.rules.runtimes, fixture.file->serial, NULL) = table;
	compiled_frames_collect(&fixture.frames, &fixture.processes);
	collect(&fixture);
	CHECK_INT(find(&fixture, METHOD + BODY, true, false, &frame), COMPILED_FOUND);
	teardown(&fixture);
}
