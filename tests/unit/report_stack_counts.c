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

TEST(frames_are_counted_by_how_they_were_found)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread, object = fixture_begin(&fixture, "/bin/program", &thread);
	uint32_t root = frame_with(&fixture, object, 0x10, UNWIND_FOUND_BY_RULE);
	uint32_t read = frame_with(&fixture, object, 0x20, UNWIND_FOUND_BY_CODE);
	uint32_t scanned = frame_with(&fixture, object, 0x30, UNWIND_FOUND_BY_SCAN);
	uint32_t cut = frame_with(&fixture, 0, LAYOUT_TRUNCATED_JIT, 0);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, root, root), 0, 1);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, root, read), 0, 2);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, root, scanned, read), 0, 4);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, cut, read), 0, 8);
	fixture_samples(&fixture, thread, 0, FIXTURE_STACK(&fixture, root), 16);
	struct profile *profile = fixture_profile(&fixture);
	struct stack_counts stacks = stack_counts_of(profile);
	CHECK_INT(stacks.complete, 3); /* reading code proves a step */
	CHECK_INT(stacks.by_guesses, 4);
	CHECK_INT(stacks.frames[UNWIND_FOUND_BY_RULE], 2 + 2 + 4);
	CHECK_INT(stacks.frames[UNWIND_FOUND_BY_CODE], 2 + 4 + 8);
	CHECK_INT(stacks.frames[UNWIND_FOUND_BY_FRAME_POINTER], 0);
	CHECK_INT(stacks.frames[UNWIND_FOUND_BY_SCAN], 4);
	CLEANUP(str_deinit) struct str text = {0};
	stack_counts_put_frames(&stacks, &text);
	CHECK_STR(str_text(&text), "30.8% by rules, 53.8% by reading code, "
				   "15.4% guessed by scans of the stack");
	static const char *const words[] = {"rules", "code", "guesses", "truncated", "kernel"};
	uint8_t *proofs = stack_proofs_of(profile);
	vec_each(&profile->samples, sample) {
		size_t n = (size_t)(sample - profile->samples.data);
		const char *word = words[n < 1 ? 0 : n < 3 ? 1 : n < 7 ? 2 : n < 15 ? 3 : 4];
		CHECK_STR(stack_proof_word(proofs[sample->stack]), word);
	}
	mem_free(proofs);
	profile_destroy(profile);
}
