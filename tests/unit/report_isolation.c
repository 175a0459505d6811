/* Whatever a child process does over one snapshot, the others get their stacks. */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "report/load/unwind/isolation.h"
#include "tests/unit/unit.h"

enum {
	COUNT = 60,
	OBJECTS = 3,
};

enum mischief {
	NONE,
	CRASH,
	LOOP,
	SLEEP,
	LEAVE,
	LIE, /* about an object that is not there */
};

struct job {
	struct isolation isolation;
	struct unwound unwound;
	struct profile_unwind_losses losses;
	enum mischief at[COUNT];
	uint32_t numbers[COUNT];
};

static void do_mischief(struct job *job, enum mischief mischief)
{
	struct layout_frame nowhere = {.object = OBJECTS, .offset = 1};
	switch (mischief) {
	case CRASH:
		signal(SIGSEGV, SIG_DFL); /* not the sanitizer's */
		raise(SIGSEGV);
		break;
	case LOOP:
		for (volatile unsigned turns = 0;; turns++)
			;
	case SLEEP:
		for (;;)
			pause();
	case LEAVE:
		_exit(0);
	case LIE:
		unwound_add(&job->unwound, &nowhere);
		break;
	case NONE:
		break;
	}
}

/* Many frames, shared by some: stack n begins at frame n % 50. */
static uint32_t take(void *context, size_t index)
{
	struct job *job = context;
	do_mischief(job, job->at[index]);
	for (size_t i = index % 50; i < 1000; i++)
		unwound_add(&job->unwound, &(struct layout_frame){1 + i % 2, i << 40, i % 3 == 0});
	job->unwound.steps += 1000;
	return unwound_end(&job->unwound, (enum layout_truncation)(index % 2));
}

static struct job *new_job(void)
{
	struct job *job = mem_zalloc(sizeof(*job));
	job->isolation = (struct isolation){
		.take = take,
		.context = job,
		.unwound = &job->unwound,
		.nr_objects = OBJECTS,
		.limit_ms = 40,
		.failures_left = 8,
		.losses = &job->losses,
	};
	return job;
}

static void check_stack(const struct job *job, size_t index)
{
	if (job->numbers[index] >= job->unwound.spans.len) {
		CHECK(job->numbers[index] < job->unwound.spans.len);
		return;
	}
	struct unwound_stack stack = unwound_at(&job->unwound, job->numbers[index]);
	CHECK_INT(stack.cause, index % 2);
	CHECK_INT(stack.count, 1000 - index % 50);
	for (size_t i = 0; i < stack.count; i++) {
		struct layout_frame frame = unwound_frame(&job->unwound, stack.frames[i]);
		size_t n = index % 50 + i;
		CHECK(frame.object == 1 + n % 2 && frame.offset == n << 40 &&
			frame.flags == (n % 3 == 0));
	}
}

/* Every snapshot has its stack but those over which something happens. */
static void run_and_check(struct job *job)
{
	isolation_run(&job->isolation, COUNT, job->numbers);
	for (size_t i = 0; i < COUNT; i++) {
		if (job->at[i])
			CHECK_INT(job->numbers[i], ISOLATION_NOT_UNWOUND);
		else
			check_stack(job, i);
	}
}

static void finish(struct job *job)
{
	isolation_end(&job->isolation);
	unwound_deinit(&job->unwound);
	mem_free(job);
}

TEST(all_is_well)
{
	struct job *job = new_job();
	run_and_check(job);
	CHECK_INT(job->unwound.spans.len, 50);
	CHECK_INT(job->unwound.frames.len, 1000);
	CHECK_INT(job->unwound.steps, COUNT * 1000);
	struct isolation_child *child = job->isolation.child;
	run_and_check(job); /* by the same one: it knows all stacks already */
	CHECK(job->isolation.child == child);
	CHECK_INT(job->unwound.spans.len, 50);
	CHECK_INT(job->losses.crashed + job->losses.hung + job->losses.abandoned, 0);
	finish(job);
}

TEST(crashes_cost_one_each)
{
	struct job *job = new_job();
	job->at[0] = job->at[17] = job->at[18] = job->at[COUNT - 1] = CRASH;
	run_and_check(job);
	CHECK_INT(job->losses.crashed, 4);
	CHECK_INT(job->losses.hung + job->losses.abandoned, 0);
	finish(job);
}

TEST(endless_loops_end)
{
	struct job *job = new_job();
	job->at[3] = LOOP;
	job->at[40] = SLEEP;
	run_and_check(job);
	CHECK_INT(job->losses.hung, 2);
	CHECK_INT(job->losses.crashed + job->losses.abandoned, 0);
	finish(job);
}

TEST(children_that_leave_or_lie)
{
	struct job *job = new_job();
	job->at[5] = LEAVE;
	job->at[9] = LIE;
	job->at[10] = LEAVE;
	run_and_check(job);
	CHECK_INT(job->losses.crashed, 3);
	finish(job);
}

TEST(enough_is_enough)
{
	struct job *job = new_job();
	for (int i = 10; i < 30; i++)
		job->at[i] = i % 2 ? CRASH : LEAVE;
	isolation_run(&job->isolation, COUNT, job->numbers);
	for (size_t i = 0; i < COUNT; i++)
		if (i < 10)
			check_stack(job, i);
		else
			CHECK_INT(job->numbers[i], ISOLATION_NOT_UNWOUND);
	CHECK_INT(job->losses.crashed, 8);
	CHECK_INT(job->losses.abandoned, COUNT - 18);
	isolation_run(&job->isolation, COUNT, job->numbers); /* nothing is tried any more */
	CHECK_INT(job->numbers[0], ISOLATION_NOT_UNWOUND);
	CHECK_INT(job->losses.crashed, 8);
	finish(job);
}

/* One that was killed between two runs did not die over a snapshot. */
TEST(a_child_that_is_gone_is_replaced)
{
	struct job *job = new_job();
	job->at[COUNT - 1] = LEAVE;
	run_and_check(job);
	CHECK(!job->isolation.child);
	job->at[COUNT - 1] = NONE;
	run_and_check(job);
	isolation_end(&job->isolation);
	run_and_check(job);
	CHECK_INT(job->losses.crashed, 1);
	finish(job);
}

TEST(no_process_can_be_had)
{
	struct job *job = new_job();
	struct rlimit old, none = {0}; /* of descriptors, since root may fork at will */
	CHECK(!getrlimit(RLIMIT_NOFILE, &old));
	none.rlim_max = old.rlim_max;
	CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	isolation_run(&job->isolation, COUNT, job->numbers);
	CHECK(!setrlimit(RLIMIT_NOFILE, &old));
	CHECK_INT(job->losses.abandoned, COUNT);
	CHECK_INT(job->losses.crashed, 0);
	for (size_t i = 0; i < COUNT; i++)
		CHECK_INT(job->numbers[i], ISOLATION_NOT_UNWOUND);
	finish(job);
}
