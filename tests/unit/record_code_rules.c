/* Words of stacks behind what was copied of them, or of which nothing was. */
#include "record/unwind/code_rules.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "format/base/clock.h"
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
