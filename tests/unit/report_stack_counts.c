#include "report/analyse/stack_counts.h"

#include <string.h>

#include "report/write/cut_stacks.h"
#include "report/write/text/text.h"
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
	struct event_choices choices;
	event_choices_init(&choices, profile);
	text_put_head(profile,
		&(struct text_head){.event = main_event_of(profile),
			.choices = &choices,
			.samples = 7,
			.samples_before_filter = 7,
			.samples_of_all_events = 7},
		&head);
	event_choices_deinit(&choices);
	CHECK(strstr(str_text(&head),
		", 28.6% of stacks reached by guesses, 57.1% of stacks truncated"));
	profile_destroy(profile);
}

/* Two files: the caller of one is guessed, the other's cuts the stack. */
TEST(files_in_which_stacks_are_cut_or_guessed_are_named)
{
	struct fixture fixture;
	struct slice slice;
	uint32_t thread, program = fixture_begin(&fixture, "/bin/program", &thread);
	uint32_t library = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/lib/bare.so");
	uint32_t root = frame_with(&fixture, program, 0x10, UNWIND_FOUND_BY_RULE);
	uint32_t guessed = frame_with(&fixture, program, 0x20, UNWIND_FOUND_BY_FRAME_POINTER);
	uint32_t leaf = frame_with(&fixture, library, 0x30, UNWIND_FOUND_BY_RULE);
	uint32_t cut = frame_with(&fixture, 0, LAYOUT_TRUNCATED_NO_RULE, 0);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, root, guessed, leaf), 0, 1);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, cut, root, leaf), 0, 2);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, cut, leaf), 0, 4);
	struct profile *profile = fixture_profile(&fixture);
	slice_init_all(&slice, profile);
	struct object_stacks *stacks = object_stacks_of(profile, &slice);
	uint64_t guesses = 0, cuts = 0;
	for (size_t i = 0; i < profile->objects.len; i++) {
		guesses += stacks[i].guessed;
		cuts += stacks[i].truncated;
		const char *path = profile->objects.data[i].path;
		if (strcmp(path, "/lib/bare.so") == 0) {
			CHECK_INT(stacks[i].guessed, 1);
			CHECK_INT(stacks[i].truncated, 4);
			CHECK_INT(stacks[i].truncated_by[LAYOUT_TRUNCATED_NO_RULE], 4);
			CHECK_INT(stacks[i].callers[UNWIND_FOUND_BY_FRAME_POINTER], 1);
			CHECK_INT(stacks[i].callers[UNWIND_FOUND_BY_RULE], 2);
		} else if (strcmp(path, "/bin/program") == 0) {
			CHECK_INT(stacks[i].truncated, 2);
			CHECK_INT(stacks[i].guessed, 0);
		}
	}
	CHECK_INT(guesses, 1); /* they add up to what all stacks are */
	CHECK_INT(cuts, 6);
	mem_free(stacks);
	slice_deinit(&slice);
	CLEANUP(str_deinit) struct str text = {0};
	cut_stacks_put(profile, &text);
	const char *first = strstr(str_text(&text), "57.1% cut, 14.3% guessed in /lib/bare.so");
	const char *second = strstr(str_text(&text), "28.6% cut in /bin/program");
	CHECK(first && second && first < second); /* the worst is first */
	CHECK(strstr(str_text(&text), "fix: compile it with -fasynchronous-unwind-tables"));
	profile_destroy(profile);
}

TEST(frames_are_counted_by_how_they_were_found)
{
	struct fixture fixture;
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

/* Each step is proven, but not which of the functions inlined at the leaf it is. */
TEST(leaves_guessed_among_inlined_functions_are_counted)
{
	struct fixture fixture;
	uint32_t thread, object = fixture_begin(&fixture, "[java]", &thread);
	uint32_t root = frame_with(&fixture, object, 0x10, UNWIND_FOUND_BY_RULE);
	uint32_t guess = frame_with(&fixture, object, 0x20, LAYOUT_FRAME_GUESSED_INLINED);
	uint32_t cut = frame_with(&fixture, 0, LAYOUT_TRUNCATED_JIT, 0);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, root), 0, 1);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, root, guess), 0, 3);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, cut, guess), 0, 4);
	struct profile *profile = fixture_profile(&fixture);
	struct stack_counts stacks = stack_counts_of(profile);
	CHECK_INT(stacks.complete, 4);
	CHECK_INT(stacks.guessed, 0);
	CHECK_INT(stacks.guessed_inlined, 7);
	CLEANUP(str_deinit) struct str text = {0};
	stack_counts_put_guessed_inlined(&stacks, 8, &text);
	CHECK(strstr(str_text(&text), "87.5% of samples"));
	uint8_t *proofs = stack_proofs_of(profile);
	static const char *const words[] = {"rules", "inlined", "truncated"};
	vec_each(&profile->samples, sample) {
		size_t n = (size_t)(sample - profile->samples.data);
		CHECK_STR(stack_proof_word(proofs[sample->stack]), words[n < 1     ? 0
									   : n < 4 ? 1
										   : 2]);
	}
	mem_free(proofs);
	profile_destroy(profile);
}
