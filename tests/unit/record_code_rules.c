/* Words of stacks behind what was copied of them, or of which nothing was; files of callers. */
#include "record/unwind/code_rules.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/machine/machine.h"
#include "tests/unit/unit.h"

/* Until it is read, or cannot be. */
static long read_word(
	struct code_rules *code, const struct snapshot *snapshot, const void *at, uint64_t *ret)
{
	for (;;) {
		struct code_stack stack = {.code = code, .snapshot = snapshot};
		unsigned long long value = 0;
		long result = code_rules_read_stack(&stack, (uintptr_t)at, &value);
		*ret = value;
		if (!stack.is_pending)
			return result;
		struct pollfd fd = {.fd = code_pages_fd(&code->pages), .events = POLLIN};
		poll(&fd, 1, 10);
		code_pages_collect(&code->pages);
	}
}

TEST(what_was_not_copied_is_read_from_its_process)
{
	uint64_t words[4] = {11, 22, 33, 44}, value;
	struct process_table processes = {0};
	struct code_rules code = {0};
	code_rules_init(&code, &processes);
	struct snapshot snapshot = {.head = {.pid = (uint32_t)getpid(), .time_ns = clock_now_ns()},
		.is_uncopied = true};
	snapshot.registers.reg[UNWIND_SP] = (uintptr_t)&words[1];
	CHECK(!read_word(&code, &snapshot, &words[2], &value) && value == 33);
	CHECK(!read_word(&code, &snapshot, &words[0], &value) && value == 11); /* in the red zone */
	CHECK(read_word(&code, &snapshot, NULL, &value));
	snapshot.is_uncopied = false;
	CHECK(read_word(&code, &snapshot, &words[2], &value));
	code_rules_deinit(&code);
}

__attribute__((noinline)) static uint64_t own_return_address(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

static struct code_frame frame_of(
	struct process *process, const struct mapping *mapping, const struct code_stack *stack)
{
	static const struct unwind_registers regs = {.ip = 0x1000};
	return (struct code_frame){.snapshot = stack->snapshot,
		.stack = stack,
		.process = process,
		.mapping = mapping,
		.regs = &regs};
}

/* A file that is met by reading code alone may be in another root: its mapping leads to it. */
TEST(file_of_a_caller_is_known_by_its_mapping)
{
	struct process_table processes = {0};
	struct object_table objects = {0};
	struct code_rules code = {0};
	if (!machine_native()->may_have_called)
		unit_skip("code of this machine is not read");
	uint64_t (*volatile called)(void) = own_return_address; /* which may lead anywhere */
	uint64_t ra = called(), now_ns = clock_now_ns();
	processes.objects = &objects;
	code_rules_init(&code, &processes);
	struct process *process = process_table_get(&processes, (uint32_t)getpid(), now_ns);
	const struct mapping *own = process_find_mapping(&processes, process, ra, now_ns, true);
	CHECK(own && own->object->info.kind == LAYOUT_OBJECT_FILE);
	own->object->where = (struct object_location){0};
	const struct mapping memory = {.object = object_table_anonymous(&objects)};
	struct snapshot snapshot = {.head = {.pid = process->pid, .time_ns = now_ns}};
	struct code_stack stack = {.code = &code, .snapshot = &snapshot};
	const struct code_frame frame = frame_of(process, &memory, &stack);
	bool is_pending = false;
	uint8_t bytes[16];
	size_t got = 0;
	while (code_pages_get(&code.pages, process->pid, own, ra - sizeof(bytes), now_ns, bytes,
		       sizeof(bytes), &got) == CODE_READ_LATER) {
		struct pollfd fd = {.fd = code_pages_fd(&code.pages), .events = POLLIN};
		poll(&fd, 1, 10);
		code_pages_collect(&code.pages);
	}
	code_rules_is_caller(&code, &frame, ra, &is_pending);
	CHECK_INT(own->object->where.pid, getpid());
	CHECK(own->object->where.start <= ra && ra < own->object->where.end);
	code_rules_deinit(&code);
	process_table_deinit(&processes);
	object_table_deinit(&objects);
}

/* Code of this process, and a frame in memory of which nothing is known. */
struct counted {
	struct code_rules code;
	struct process_table processes;
	struct object_table objects;
	struct mapping memory;
	struct snapshot snapshot;
	struct code_stack stack;
	struct code_frame frame;
};

static void counted_init(struct counted *counted)
{
	uint64_t now_ns = clock_now_ns();
	*counted = (struct counted){0};
	counted->processes.objects = &counted->objects;
	code_rules_init(&counted->code, &counted->processes);
	struct process *process =
		process_table_get(&counted->processes, (uint32_t)getpid(), now_ns);
	counted->memory = (struct mapping){
		.end = 0x10000, .object = object_table_anonymous(&counted->objects)};
	counted->snapshot = (struct snapshot){.head = {.pid = process->pid, .time_ns = now_ns}};
	counted->stack =
		(struct code_stack){.code = &counted->code, .snapshot = &counted->snapshot};
	counted->frame = frame_of(process, &counted->memory, &counted->stack);
	CHECK(target_reader_has_time_left(&counted->code.pages.reader, process->pid));
	target_reader_charge(&counted->code.pages.reader, process->pid, NS_PER_S);
	counted->code.left_since_ns = now_ns;
}

static void counted_deinit(struct counted *counted)
{
	code_rules_deinit(&counted->code);
	process_table_deinit(&counted->processes);
	object_table_deinit(&counted->objects);
}

/* The step is guessed then, and counted. */
TEST(code_that_there_is_no_time_to_read_is_counted)
{
	struct counted counted;
	const struct unwind_rule *rule = NULL;
	enum code_rule_kind kind = CODE_RULE_READ;
	counted_init(&counted);
	counted.code.left_ns = 1;
	CHECK_INT(code_rules_choose(&counted.code, &counted.frame, true, &rule, &kind),
		EVENT_END_COMPLETE);
	CHECK_INT(kind, CODE_RULE_NONE);
	CHECK_INT(counted.code.statistics.unread, 1);
	counted_deinit(&counted);
}

/* Nor is it kept that no caller was found, where the memory was not read: the next time it may be.
 */
TEST(code_whose_memory_was_not_read_is_counted_and_forgotten)
{
	struct counted counted;
	const struct unwind_rule *rule = NULL;
	enum code_rule_kind kind = CODE_RULE_READ;
	counted_init(&counted);
	if (!machine_native()->find_return)
		unit_skip("code of this machine is not read");
	for (uint64_t i = 0; i < 5; i++) {
		counted.code.left_ns = 2 * NS_PER_S;
		counted.snapshot.head.time_ns = clock_now_ns();
		while (code_rules_choose(&counted.code, &counted.frame, true, &rule, &kind) ==
			EVENT_END_TABLE_PENDING)
			code_pages_collect(&counted.code.pages);
		CHECK_INT(kind, CODE_RULE_NONE);
		CHECK_INT(counted.code.statistics.unread, i + 1);
	}
	CHECK_INT(counted.code.statistics.failed, 0);
	counted_deinit(&counted);
}

static void ask_for(struct counted *counted, uint64_t address)
{
	struct unwind_registers regs = {.ip = address};
	const struct unwind_rule *rule = NULL;
	enum code_rule_kind kind;
	counted->frame.regs = &regs;
	counted->code.left_ns = 1;
	code_rules_choose(&counted->code, &counted->frame, true, &rule, &kind);
}

/* A program that is started again and again asks for the same places, and each time for some more.
 */
TEST(places_that_are_asked_for_again_are_not_forgotten)
{
	enum {
		PLACES = 200 * 1000, /* more than are kept */
		BETWEEN = 50 * 1000,
		USUAL = 0x1000,
	};
	struct counted counted;
	counted_init(&counted);
	if (!machine_native()->find_return)
		unit_skip("code of this machine is not read");
	ask_for(&counted, USUAL);
	counted.code.known.list.data[0].failures = 7;
	size_t most = 0;
	for (uint64_t i = 1; i <= PLACES; i++) {
		ask_for(&counted, USUAL + i);
		size_t kept = counted.code.known.list.len + counted.code.older.list.len;
		most = kept > most ? kept : most;
		if (i % BETWEEN == 0)
			ask_for(&counted, USUAL);
	}
	bool is_kept = false;
	vec_each(&counted.code.known.list, known)
		is_kept |= known->failures == 7;
	CHECK(is_kept);
	CHECK(most <= 2 * 64 * 1024);
	counted_deinit(&counted);
}
