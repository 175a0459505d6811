/* Ticks in a thread that publishes what it works at: the labels that they send. */
#include <string.h>

#include "tests/unit/bpf_labels_sent.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	/* Words of the heap. */
	RECORD = 0,
	BLOCKS = 200, /* of glibc: how many, the first one, pairs */
	BLOCK = 300,
	/* ... of the thread. */
	VARIABLE = 8,
	ALL = 1U << EVENT_LABEL_TRACE | 1U << EVENT_LABEL_SPAN | 1U << EVENT_LABEL_THREAD,
};

static void context_setup(struct runtime_fixture *fixture)
{
	runtime_fixture_init(fixture, 64);
	runtime_fixture_show_thread(fixture);
	emulate_config()->label_sources = ALL;
	emulate_thread_context(
		&(struct event_thread_context){.start_ns = 5, .exec_id = 1, .place = VARIABLE * 8});
	*thread_word(fixture, VARIABLE) = heap_address(RECORD);
	runtime_fixture_bind(fixture);
}

static void put_record(struct runtime_fixture *fixture, const void *attributes, uint16_t bytes)
{
	uint8_t *record = (uint8_t *)(fixture->heap + RECORD);
	memset(record, 0, 700);
	record[0] = 0xab;
	record[16] = 0xcd;
	record[24] = 1;
	memcpy(record + 26, &bytes, sizeof(bytes));
	memcpy(record + 28, attributes, bytes < 600 ? bytes : 600);
}

TEST(a_thread_says_what_it_works_at)
{
	struct runtime_fixture fixture;
	context_setup(&fixture);
	put_record(&fixture, "", 0);
	CHECK_STR(sent_labels(&fixture), "7:16 bytes 8:8 bytes 1");
	put_record(&fixture, "\001\002xy\002\000", 6);
	CHECK_STR(sent_labels(&fixture), "7:16 bytes 8:8 bytes \001=xy \002= 1");
	emulate_config()->label_sources = 1U << EVENT_LABEL_SPAN;
	CHECK_STR(sent_labels(&fixture), "8:8 bytes 1");
	emulate_config()->label_sources = ALL;
	memset(fixture.heap + RECORD, 0, 24); /* no trace, but attributes */
	CHECK_STR(sent_labels(&fixture), "\001=xy \002= 1");
	((uint8_t *)(fixture.heap + RECORD))[24] = 0; /* it is being changed */
	CHECK_STR(sent_labels(&fixture), "0");
	*thread_word(&fixture, VARIABLE) = 0; /* nothing */
	CHECK_STR(sent_labels(&fixture), "0");
	runtime_fixture_deinit(&fixture);
}

TEST(another_image_has_no_context_of_the_one_before)
{
	struct runtime_fixture fixture;
	context_setup(&fixture);
	put_record(&fixture, "", 0);
	emulate_thread_context(
		&(struct event_thread_context){.start_ns = 5, .exec_id = 2, .place = VARIABLE * 8});
	CHECK_STR(sent_labels(&fixture), "0");
	emulate_thread_context(
		&(struct event_thread_context){.start_ns = 6, .exec_id = 1, .place = VARIABLE * 8});
	CHECK_STR(sent_labels(&fixture), "0");
	runtime_fixture_deinit(&fixture);
}

TEST(variables_of_libraries_are_in_blocks_of_threads)
{
	struct runtime_fixture fixture;
	struct event_thread_context context = {
		.start_ns = 5, .exec_id = 1, .module = 3, .module_shift = 4, .place = 16};
	context_setup(&fixture);
	put_record(&fixture, "", 0);
	emulate_thread_context(&context);
	*thread_word(&fixture, THREAD_MODULES) = heap_address(BLOCKS);
	fixture.heap[BLOCKS - 2] = 3;
	fixture.heap[BLOCKS + 6] = heap_address(BLOCK);
	fixture.heap[BLOCK + 2] = heap_address(RECORD);
	CHECK_STR(sent_labels(&fixture), "7:16 bytes 8:8 bytes 1");
	fixture.heap[BLOCKS + 6] = ~0ULL; /* the thread has not used one */
	CHECK_STR(sent_labels(&fixture), "0");
	fixture.heap[BLOCKS + 6] = heap_address(BLOCK);
	fixture.heap[BLOCKS - 2] = 2; /* the vector was not made longer yet */
	CHECK_STR(sent_labels(&fixture), "0");
	context.module_shift = 3; /* musl's, which begins with the number */
	emulate_thread_context(&context);
	*thread_word(&fixture, THREAD_MODULES) = 0;
	*thread_word(&fixture, THREAD_MUSL_MODULES) = heap_address(BLOCKS);
	fixture.heap[BLOCKS] = 3;
	fixture.heap[BLOCKS + 3] = heap_address(BLOCK);
	CHECK_STR(sent_labels(&fixture), "7:16 bytes 8:8 bytes 1");
	runtime_fixture_deinit(&fixture);
}

TEST(records_that_lie_cost_labels_and_no_sample)
{
	struct runtime_fixture fixture;
	char attributes[600];
	context_setup(&fixture);
	*thread_word(&fixture, VARIABLE) = 0xdead0000;
	CHECK_STR(sent_labels(&fixture), "4");
	*thread_word(&fixture, VARIABLE) = heap_address(RECORD);
	put_record(&fixture, "\001\377x", 3); /* longer than all attributes together */
	CHECK_STR(sent_labels(&fixture), "7:16 bytes 8:8 bytes 1");
	put_record(&fixture, "\001", 1);
	CHECK_STR(sent_labels(&fixture), "7:16 bytes 8:8 bytes 1");
	memset(attributes, 0,
		sizeof(attributes)); /* many that are empty, and a length that is too */
	put_record(&fixture, attributes, 0xffff);
	const char *labels = sent_labels(&fixture);
	CHECK_STR(labels + strlen(labels) - 2, " 9");
	*thread_word(&fixture, VARIABLE) =
		HEAP + HEAP_WORDS * 8 - 28; /* the last memory that there is */
	memcpy((uint8_t *)fixture.heap + HEAP_WORDS * 8 - 28, fixture.heap + RECORD, 28);
	CHECK_STR(sent_labels(&fixture), "7:16 bytes 8:8 bytes 13");
	runtime_fixture_deinit(&fixture);
}
