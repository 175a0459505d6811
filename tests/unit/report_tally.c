/* Samples are added up whatever order they come in, and as few entries as there are keys remain. */
#include "report/write/export/tally.h"

#include "tests/unit/unit.h"

TEST(tally_adds_up_by_stack_and_group)
{
	struct tally tally = {0};
	tally_add(&tally, 7, 2, 10);
	tally_add(&tally, 0, 5, 1);
	tally_add(&tally, 3, 2, 20);
	tally_add(&tally, 7, 2, 30);
	tally_finish(&tally);
	CHECK_INT(tally.entries.len, 3);
	CHECK_INT(tally.nr_distinct, 3);
	static const struct tally_entry want[] = {{3, 2, 1, 20}, {7, 2, 2, 40}, {0, 5, 1, 1}};
	for (size_t i = 0; i < 3; i++) {
		CHECK_INT(tally.entries.data[i].group, want[i].group);
		CHECK_INT(tally.entries.data[i].stack, want[i].stack);
		CHECK_INT(tally.entries.data[i].samples, want[i].samples);
		CHECK_INT(tally.entries.data[i].value, want[i].value);
	}
	tally_deinit(&tally);
}

TEST(tally_of_nothing)
{
	struct tally tally = {0};
	tally_finish(&tally);
	CHECK_INT(tally.entries.len, 0);
	tally_deinit(&tally);
}

static uint64_t add_many(struct tally *tally, uint32_t count, uint32_t nr_stacks)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t stack = (uint32_t)((uint64_t)i * 2654435761u % nr_stacks);
		tally_add(tally, i % 3, stack, i);
		sum += i;
	}
	return sum;
}

static void check_sums(const struct tally *tally, uint64_t samples, uint64_t value)
{
	const struct tally_entry *before = NULL;
	vec_each(&tally->entries, entry) {
		samples -= entry->samples;
		value -= entry->value;
		CHECK(!before || before->stack < entry->stack ||
			(before->stack == entry->stack && before->group < entry->group));
		before = entry;
	}
	CHECK_INT(samples, 0);
	CHECK_INT(value, 0);
}

/* Of few keys there are few entries also on the way; of many not much more than of keys. */
TEST(tally_grows_with_what_is_distinct)
{
	enum {
		SAMPLES = 5000000,
		FEW = 1000,
		MANY = 1000000,
	};
	struct tally few = {0}, many = {0};
	uint64_t sum = add_many(&few, SAMPLES, FEW);
	CHECK(few.entries.cap <= 1 << 20);
	tally_finish(&few);
	CHECK_INT(few.entries.len, 3 * FEW);
	check_sums(&few, SAMPLES, sum);
	sum = add_many(&many, SAMPLES, MANY);
	tally_finish(&many);
	CHECK(many.entries.len <= 3 * MANY);
	check_sums(&many, SAMPLES, sum);
	tally_deinit(&few);
	tally_deinit(&many);
}
