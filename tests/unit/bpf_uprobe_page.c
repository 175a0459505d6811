/* Stacks of a thread that uprobes have led into the kernel's page. */
#include "tests/unit/bpf_unwind_fixture.h"

enum {
	PAGE = 0x7ff0000,
	COPY = PAGE + 128,
#if defined(__x86_64__)
	RETURN_BYTES = 8, /* that an entered function has above its stack pointer's word */
#else
	RETURN_BYTES = 0,
#endif
};

static uint32_t setup_probed(struct fixture *fixture, enum function function)
{
	uint32_t file = setup_ready(fixture, function);
	emulated.uprobes.page = PAGE;
	return file;
}

static void note_return(uint64_t returned_sp, uint64_t ra)
{
	struct emulated_uprobes *uprobes = &emulated.uprobes;
	uprobes->returns[uprobes->nr_returns].sp = returned_sp - RETURN_BYTES;
	uprobes->returns[uprobes->nr_returns++].ra = ra;
}

/* A return address that the page's stands for. */
static void push_probed(struct fixture *fixture, uint64_t ra)
{
	push(fixture, PAGE);
	note_return(address_of(fixture, fixture->words), ra);
}

TEST(probed_functions_return_to_their_callers)
{
	struct fixture fixture;
	uint32_t file = setup_probed(&fixture, ONE_WORD);
	note_return(STACK + 8, in(SIGNAL)); /* was left by longjmp() */
	push_probed(&fixture, in(TWO_WORDS));
	note_return(address_of(&fixture, fixture.words), in(TWO_WORDS)); /* by two probes */
	push(&fixture, 0);
	push_probed(&fixture, in(ONE_WORD));
	push(&fixture, in(ONE_WORD));
	push_probed(&fixture, in(OUTERMOST));
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, ONE_WORD), caller_frame(file, TWO_WORDS),
			caller_frame(file, ONE_WORD), caller_frame(file, ONE_WORD),
			caller_frame(file, OUTERMOST)));
	teardown(&fixture);
}

/* The address is written before the kernel notes what was there. */
TEST(a_return_that_is_not_noted_cuts_the_stack)
{
	struct fixture fixture;
	uint32_t file = setup_probed(&fixture, ONE_WORD);
	push(&fixture, PAGE);
	push_probed(&fixture, in(OUTERMOST));
	check_frames(tick(&fixture), EVENT_END_NO_MAPPING, FRAMES(LEAF(file, ONE_WORD)));
	teardown(&fixture);
}

TEST(a_copied_instruction_is_where_it_was_copied_from)
{
	struct fixture fixture;
	uint32_t file = setup_probed(&fixture, ONE_WORD);
	push(&fixture, in(OUTERMOST));
	emulated.uprobes.instruction = in(ONE_WORD)-5;
	emulated.uprobes.copy = COPY;
	fixture.regs.ip = COPY;
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, ONE_WORD) - 5, caller_frame(file, OUTERMOST)));
	fixture.regs.ip = COPY + 4;
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(LEAF(file, ONE_WORD) - 1, caller_frame(file, OUTERMOST)));
	teardown(&fixture);
}

TEST(a_function_that_has_returned_is_over)
{
	struct fixture fixture;
	uint32_t file = setup_probed(&fixture, ONE_WORD);
	fixture.regs.ip = PAGE;
	note_return(address_of(&fixture, fixture.words), in(ONE_WORD));
	push(&fixture, in(OUTERMOST));
	check_frames(tick(&fixture), EVENT_END_COMPLETE,
		FRAMES(caller_frame(file, ONE_WORD), caller_frame(file, OUTERMOST)));
	teardown(&fixture);
}

#if defined(__x86_64__)
/* From Linux 6.11 on. */
TEST(what_functions_return_to_pushes_three_registers)
{
	static const struct {
		uint64_t inside, nr_words;
		bool is_over; /* the system call, which forgets the function, */
	} places[] = {{1, 1, false}, {2, 2, false}, {4, 3, false}, {0xd, 3, false}, {0xd, 2, true},
		{0xf, 1, true}, {0x10, 0, true}};
	struct fixture fixture;
	uint32_t file = setup_probed(&fixture, ONE_WORD);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		fixture.words = fixture.stack + 16;
		fixture.regs.ip = PAGE + places[i].inside;
		emulated.uprobes.nr_returns = 0;
		for (uint64_t word = 0; word < places[i].nr_words; word++)
			push(&fixture, 7);
		if (places[i].is_over) /* ... and has put this there instead */
			push(&fixture, in(TWO_WORDS));
		else
			note_return(address_of(&fixture, fixture.words), in(TWO_WORDS));
		push(&fixture, 0);
		push_probed(&fixture, in(OUTERMOST)); /* the caller is probed, too */
		check_frames(tick(&fixture), EVENT_END_COMPLETE,
			FRAMES(caller_frame(file, TWO_WORDS), caller_frame(file, OUTERMOST)));
	}
	teardown(&fixture);
}

/* Of a stack that is left to others, who have no list. */
TEST(copied_stacks_have_the_return_addresses)
{
	struct fixture fixture;
	setup(&fixture, ONE_WORD);
	emulated.uprobes.page = PAGE;
	push_probed(&fixture, in(TWO_WORDS));
	push(&fixture, PAGE); /* is no return address */
	push_probed(&fixture, in(OUTERMOST));
	check_frames(tick(&fixture), EVENT_END_TABLE_PENDING, NO_FRAMES);
	const struct event_snapshot_chunk *chunk = emulated_record(EVENT_SNAPSHOT_CHUNK, 0);
	uint64_t words[3];
	CHECK(chunk && chunk->address == STACK);
	if (chunk)
		memcpy(words, chunk->bytes + sizeof(*words) * 16, sizeof(words));
	CHECK(chunk && words[0] == in(TWO_WORDS) && words[1] == PAGE && words[2] == in(OUTERMOST));
	teardown(&fixture);
}
#endif
