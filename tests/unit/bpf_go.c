/* Ticks in a process that is Go as far as the walk can tell: the labels that it sends for it. */
#include <string.h>

#include "bpf/runtime/go/go_row.h"
#include "tests/unit/bpf_labels_sent.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	/* Words of the heap: objects that stand for themselves. */
	G = 0,
	SYSTEM_G = 100, /* on whose stack the goroutine's thread may be */
	M = 200,
	LABELS = 300, /* a slice, or a pointer to a map */
	MAP = 310,
	PAIRS = 320,
	BUCKETS = 600,
	OLD_BUCKETS = 900,
	TEXTS = 1200,
	TEXT_WORDS = 40, /* of each */
	BUCKET_WORDS = 34,
	/* Where the row has them, in words. */
	TLS = 8,
	G_M = 6,
	M_CURG = 24,
	G_ID = 19,
	G_CREATOR = 36,
	G_LABELS = 44,
};

static void go_setup(struct runtime_fixture *fixture, enum go_labels layout)
{
	runtime_fixture_init(fixture, 64);
	struct go_row row = {.is_known = 1,
		.tls = TLS * 8,
		.m = G_M * 8,
		.curg = M_CURG * 8,
		.goid = G_ID * 8,
		.labels = G_LABELS * 8,
		.creator = G_CREATOR * 8,
		.layout = (uint16_t)layout};
	fixture->table.runtime.kind = RUNTIME_GO;
	memcpy(fixture->table.runtime.words, &row, sizeof(row));
	*thread_word(fixture, TLS) = heap_address(G);
	fixture->heap[G + G_M] = heap_address(M);
	fixture->heap[SYSTEM_G + G_M] = heap_address(M);
	fixture->heap[M + M_CURG] = heap_address(G);
	fixture->heap[G + G_ID] = 17;
	fixture->heap[G + G_CREATOR] = 0x400123;
	fixture->heap[G + G_LABELS] = heap_address(LABELS);
	runtime_fixture_show_thread(fixture);
	emulate_config()->label_sources = 1U << EVENT_LABEL_GO | 1U << EVENT_LABEL_GOROUTINE;
	runtime_fixture_bind(fixture);
	emulate_tick(&fixture->regs); /* the process has the runtime from now on */
}

/* A Go string at `words`: number `number` of the texts. */
static void put_text(struct runtime_fixture *fixture, uint64_t *words, uint64_t number,
	const char *text, size_t len)
{
	uint64_t at = TEXTS + number * TEXT_WORDS;
	memcpy(fixture->heap + at, text, len);
	words[0] = heap_address(at);
	words[1] = len;
}

static void put_pair(
	struct runtime_fixture *fixture, uint64_t number, const char *key, const char *value)
{
	uint64_t *pair = fixture->heap + PAIRS + number * 4;
	put_text(fixture, pair, 2 * number, key, strlen(key));
	put_text(fixture, pair + 2, 2 * number + 1, value, strlen(value));
	fixture->heap[LABELS] = heap_address(PAIRS);
	fixture->heap[LABELS + 1] = number + 1;
	fixture->heap[LABELS + 2] = number + 1;
}

/* ---- which goroutine ---- */

TEST(the_goroutine_that_the_thread_runs_has_the_labels)
{
	struct runtime_fixture fixture;
	go_setup(&fixture, GO_LABELS_SLICE);
	put_pair(&fixture, 0, "user", "alice");
	put_pair(&fixture, 1, "page", "");
	CHECK_STR(sent_labels(&fixture), "user=alice page= 1:17 1");
	*thread_word(&fixture, TLS) = heap_address(SYSTEM_G); /* on the scheduler's stack */
	CHECK_STR(sent_labels(&fixture), "user=alice page= 1:17 1");
	fixture.heap[M + M_CURG] = 0; /* for none */
	CHECK_STR(sent_labels(&fixture), "0");
	fixture.heap[M + M_CURG] = heap_address(G);
	fixture.heap[G + G_M] = 0; /* amid a switch */
	CHECK_STR(sent_labels(&fixture), "0");
	*thread_word(&fixture, TLS) = 0; /* C's thread */
	CHECK_STR(sent_labels(&fixture), "0");
	*thread_word(&fixture, TLS) = 0xdead0000;
	CHECK_STR(sent_labels(&fixture), "4");
	runtime_fixture_deinit(&fixture);
}

TEST(a_goroutine_without_labels_has_a_number)
{
	struct runtime_fixture fixture;
	go_setup(&fixture, GO_LABELS_SLICE);
	fixture.heap[G + G_LABELS] = 0;
	CHECK_STR(sent_labels(&fixture), "1:17 1");
	emulate_config()->label_sources = 1U << EVENT_LABEL_GO_CREATOR;
	CHECK_STR(sent_labels(&fixture), "2:4194595 1");
	emulate_config()->label_sources = 0;
	CHECK_STR(sent_labels(&fixture), "0");
	runtime_fixture_deinit(&fixture);
}

TEST(labels_of_an_unknown_version_are_said_to_be_unknown)
{
	struct runtime_fixture fixture;
	go_setup(&fixture, GO_LABELS_SLICE);
	runtime_fixture_deinit(&fixture);
	runtime_fixture_init(&fixture, 64);
	fixture.table.runtime.kind = RUNTIME_GO;
	emulate_config()->label_sources = 7;
	runtime_fixture_bind(&fixture);
	emulate_tick(&fixture.regs);
	CHECK_STR(sent_labels(&fixture), "2");
	runtime_fixture_deinit(&fixture);
}

TEST(a_set_is_sent_once_and_anew_when_its_memory_has_other_texts)
{
	struct runtime_fixture fixture;
	go_setup(&fixture, GO_LABELS_SLICE);
	put_pair(&fixture, 0, "user", "alice");
	sent_labels(&fixture);
	emulate_drain();
	emulate_tick(&fixture.regs);
	CHECK_INT(emulated_count(EVENT_LABELS), 0);
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
	uint64_t before = sample->labels;
	put_pair(&fixture, 0, "user", "bobby");
	emulate_drain();
	emulate_tick(&fixture.regs);
	CHECK_INT(emulated_count(EVENT_LABELS), 1);
	sample = emulated_record(EVENT_SAMPLE, 0);
	CHECK(sample->labels != before);
	runtime_fixture_deinit(&fixture);
}

/* ---- maps, up to 1.23 ---- */

static void put_in_bucket(struct runtime_fixture *fixture, uint64_t bucket, uint64_t slot,
	uint64_t number, const char *key, const char *value)
{
	uint64_t *words = fixture->heap + bucket;
	((uint8_t *)words)[slot] = 77;
	put_text(fixture, words + 1 + 2 * slot, 2 * number, key, strlen(key));
	put_text(fixture, words + 17 + 2 * slot, 2 * number + 1, value, strlen(value));
}

static void put_map(struct runtime_fixture *fixture, uint8_t flags, uint8_t shift, uint64_t old)
{
	uint64_t *map = fixture->heap + MAP;
	fixture->heap[LABELS] = heap_address(MAP);
	map[0] = 3;
	map[1] = flags | (uint64_t)shift << 8;
	map[2] = heap_address(BUCKETS);
	map[3] = old;
}

TEST(maps_have_labels_in_buckets_and_in_those_that_they_had)
{
	struct runtime_fixture fixture;
	go_setup(&fixture, GO_LABELS_MAP);
	put_map(&fixture, 0, 1, 0);
	put_in_bucket(&fixture, BUCKETS, 0, 0, "a", "1");
	put_in_bucket(&fixture, BUCKETS + BUCKET_WORDS, 7, 1, "b", "22");
	((uint8_t *)(fixture.heap + BUCKETS))[3] = 1; /* free */
	CHECK_STR(sent_labels(&fixture), "a=1 b=22 1:17 1");
	put_map(&fixture, 0, 1, heap_address(OLD_BUCKETS));
	put_in_bucket(&fixture, OLD_BUCKETS, 2, 2, "c", "333");
	((uint8_t *)(fixture.heap + OLD_BUCKETS))[4] = 2; /* moved */
	fixture.heap[OLD_BUCKETS + BUCKET_WORDS] = ~0ULL; /* is none of the one that there was */
	CHECK_STR(sent_labels(&fixture), "a=1 b=22 c=333 1:17 1");
	fixture.heap[BUCKETS + BUCKET_WORDS - 1] = heap_address(OLD_BUCKETS); /* overflow */
	put_map(&fixture, 0, 1, 0);
	CHECK_STR(sent_labels(&fixture), "a=1 c=333 b=22 1:17 1");
	fixture.heap[MAP] = 0;
	CHECK_STR(sent_labels(&fixture), "1:17 1");
	runtime_fixture_deinit(&fixture);
}

/* ---- hostile memory ---- */

TEST(maps_that_lead_round_in_circles_or_are_huge_end)
{
	struct runtime_fixture fixture;
	go_setup(&fixture, GO_LABELS_MAP);
	emulate_config()->label_sources = 1U << EVENT_LABEL_GO;
	put_map(&fixture, 0, 0, 0);
	put_in_bucket(&fixture, BUCKETS, 0, 0, "a", "1");
	fixture.heap[BUCKETS + BUCKET_WORDS - 1] = heap_address(BUCKETS);
	const char *labels = sent_labels(&fixture);
	CHECK_STR(labels + strlen(labels) - 2, " 9"); /* cut */
	fixture.heap[BUCKETS + BUCKET_WORDS - 1] = 0xdead0000;
	CHECK_STR(sent_labels(&fixture), "a=1 5");
	put_map(&fixture, 0, 19, 0);
	fixture.heap[BUCKETS + BUCKET_WORDS - 1] = 0;
	labels = sent_labels(&fixture);
	CHECK(strcmp(labels + strlen(labels) - 2, " 9") == 0 ||
		strcmp(labels + strlen(labels) - 3, " 13") == 0);
	put_map(&fixture, 0, 200, 0);
	CHECK_STR(sent_labels(&fixture), "4");
	fixture.heap[LABELS] = 0xdead0000;
	CHECK_STR(sent_labels(&fixture), "4");
	runtime_fixture_deinit(&fixture);
}

TEST(slices_and_texts_that_are_too_long_are_cut)
{
	struct runtime_fixture fixture;
	char text[300];
	go_setup(&fixture, GO_LABELS_SLICE);
	emulate_config()->label_sources = 1U << EVENT_LABEL_GO;
	memset(text, 'x', sizeof(text));
	put_pair(&fixture, 0, "a", "1");
	put_text(&fixture, fixture.heap + PAIRS + 6, 3, text, sizeof(text));
	put_text(&fixture, fixture.heap + PAIRS + 4, 2, "long", 4);
	fixture.heap[LABELS + 1] = fixture.heap[LABELS + 2] = 2;
	const char *labels = sent_labels(&fixture);
	CHECK(strncmp(labels, "a=1 long=xxx", 12) == 0);
	CHECK_INT(strlen(labels), strlen("a=1 long= 9") + EVENT_LABEL_MAX_TEXT_BYTES);
	fixture.heap[PAIRS + 5] = 1ULL << 40; /* a key cannot be cut */
	CHECK_STR(sent_labels(&fixture), "a=1 9");
	fixture.heap[PAIRS + 5] = 4;
	fixture.heap[PAIRS + 6] = 0xdead0000;
	CHECK_STR(sent_labels(&fixture), "a=1 13");
	fixture.heap[LABELS + 1] = 5; /* more than it has room for */
	CHECK_STR(sent_labels(&fixture), "4");
	fixture.heap[LABELS + 1] = fixture.heap[LABELS + 2] = 1ULL << 60;
	labels = sent_labels(&fixture);
	CHECK(strstr(labels, "a=1 ") == labels);
	runtime_fixture_deinit(&fixture);
}

/* All that is sent fits, and what comes behind is said to be missing. */
TEST(a_set_of_many_long_labels_is_cut)
{
	struct runtime_fixture fixture;
	char text[EVENT_LABEL_MAX_TEXT_BYTES];
	go_setup(&fixture, GO_LABELS_SLICE);
	memset(text, 'y', sizeof(text));
	for (uint64_t i = 0; i < 40; i++) {
		put_pair(&fixture, i, "k", "");
		put_text(&fixture, fixture.heap + PAIRS + i * 4 + 2, 60, text, sizeof(text));
	}
	runtime_fixture_tick(&fixture);
	const struct event_labels *labels = emulated_record(EVENT_LABELS, 0);
	const struct event_sample *sample = emulated_record(EVENT_SAMPLE, 0);
	CHECK(labels && labels->bytes <= EVENT_LABELS_MAX_BYTES && labels->bytes > 3000);
	CHECK_INT(sample->labels & EVENT_LABELS_FLAGS, EVENT_LABELS_SET | EVENT_LABELS_CUT);
	runtime_fixture_deinit(&fixture);
}
