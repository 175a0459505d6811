#include "report/analyse/stack_counts.h"

#include <string.h>

#include "report/write/text.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static uint32_t frame_with(
	struct fixture *fixture, uint32_t object, uint64_t offset, uint32_t flags)
{
	return writer_frame(fixture->writer, &(struct layout_frame){object, offset, flags});
}

/* By hand: a walk by a frame pointer reaches the root, but that proves no step. */
TEST(stacks_reached_by_guesses_are_not_complete)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread, object = fixture_begin(&fixture, "/bin/program", &thread);
	uint32_t root = frame_with(&fixture, object, 0x10, 0);
	uint32_t ruled = frame_with(&fixture, object, 0x20, 0);
	uint32_t guessed = frame_with(&fixture, object, 0x20, LAYOUT_FRAME_GUESSED);
	uint32_t cut = frame_with(&fixture, 0, LAYOUT_TRUNCATED_JIT, 0);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, root, ruled), 0, 1);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, root, guessed, ruled), 0, 2);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, cut, guessed, ruled), 0, 4);
	struct profile *profile = fixture_profile(&fixture);
	struct stack_counts stacks = stack_counts_of(profile);
	CHECK_INT(stacks.complete, 1);
	CHECK_INT(stacks.by_guesses, 2);
	CHECK_INT(stacks.truncated, 4);
	CHECK_INT(stacks.kernel_only, 0);
	CHECK_INT(stacks.guessed, 6);
	CLEANUP(str_deinit) struct str text = {0};
	stack_counts_put(&stacks, 7, &text);
	CHECK_STR(str_text(&text),
		"14.3% complete, 28.6% reached by guesses, 57.1% truncated, 0.0% kernel only");
	CLEANUP(str_deinit) struct str head = {0};
	text_put_head(profile, 7, 7, &head);
	CHECK(strstr(str_text(&head),
		", 28.6% of stacks reached by guesses, 57.1% of stacks truncated"));
	profile_destroy(profile);
}
