/* Labels of samples, from the file to what shows them. */
#include "report/model/label_sets.h"

#include <string.h>
#include <unistd.h>

#include "format/merge/merge.h"
#include "report/analyse/filter.h"
#include "report/analyse/roots.h"
#include "report/load/load.h"
#include "report/name/symbol/symbolizer.h"
#include "report/write/text/text.h"
#include "tests/unit/forged.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/report_protobuf_message.h"
#include "tests/unit/unit.h"

struct labelled {
	struct fixture fixture;
	uint32_t thread, object, frame, stack;
};

static void labelled_init(struct labelled *labelled)
{
	struct fixture *fixture = &labelled->fixture;
	labelled->object = fixture_begin(fixture, "[vdso]", &labelled->thread);
	labelled->frame = fixture_frame(fixture, labelled->object, 0x10, "run");
	labelled->stack = FIXTURE_STACK(fixture, labelled->frame);
}

static uint32_t text_label(
	struct labelled *labelled, uint32_t rest, const char *key, const char *value)
{
	struct layout_label label = {.rest = rest,
		.key = fixture_string(&labelled->fixture, key),
		.value = fixture_string(&labelled->fixture, value)};
	return writer_label(labelled->fixture.writer, &label);
}

static uint32_t other_label(struct labelled *labelled, uint32_t rest, const char *key,
	enum layout_label_kind kind, uint64_t value)
{
	struct layout_label label = {.rest = rest,
		.key = fixture_string(&labelled->fixture, key),
		.kind = kind,
		.value = value};
	return writer_label(labelled->fixture.writer, &label);
}

static void put_samples(struct labelled *labelled, uint32_t labels, unsigned count)
{
	struct fixture *fixture = &labelled->fixture;
	while (count--) {
		struct layout_sample sample = {
			.time_ns = fixture->time_ns += 1000000,
			.event = fixture->event,
			.thread = labelled->thread,
			.user_stack = labelled->stack,
			.weight = 1,
			.labels = labels,
		};
		writer_sample(fixture->writer, &sample);
	}
}

/* 1 sample without labels, 2 of user a, 4 of user b on page /, 8 of that and with a number, 16 that
 * the function run() began. */
static int users_file(void)
{
	struct labelled labelled;
	labelled_init(&labelled);
	uint32_t a = text_label(&labelled, 0, "user", "a");
	uint32_t b = text_label(&labelled, 0, "user", "b");
	uint32_t page = text_label(&labelled, b, "page", "/");
	uint32_t number = other_label(&labelled, page, "task", LAYOUT_LABEL_NUMBER, 1ULL << 60);
	uint32_t place = other_label(&labelled, 0, "by", LAYOUT_LABEL_PLACE, labelled.frame);
	uint32_t sets[] = {0, a, page, number, place};
	for (unsigned i = 0; i < 5; i++)
		put_samples(&labelled, sets[i], 1U << i);
	return fixture_finish(&labelled.fixture);
}

static struct profile *users(void)
{
	int fd = users_file();
	struct profile *profile = fixture_load(fd);
	close(fd);
	return profile;
}

static void check_set(const struct profile *profile, uint32_t set, const char *want)
{
	CLEANUP(str_deinit) struct str text = {0};
	label_sets_put(profile, set, &text);
	CHECK_STR(str_text(&text), want);
}

TEST(sets_of_labels_are_read_as_written)
{
	struct profile *profile = users();
	static const char *const wants[] = {"", "user=a", "user=b", "user=b, page=/",
		"user=b, page=/, task=1152921504606846976", "by=run"};
	CHECK_INT(profile->labels.len, 6);
	for (uint32_t i = 0; i < 6; i++)
		check_set(profile, i, wants[i]);
	CHECK_INT(label_sets_find(profile, 4, "user"), 2);
	CHECK_INT(label_sets_find(profile, 4, "nobody"), 0);
	uint32_t *found = label_sets_find_all(profile, "user");
	CHECK_INT(found[1], 1);
	CHECK_INT(found[3], 2);
	CHECK_INT(found[5], 0);
	mem_free(found);
	profile_destroy(profile);
}

TEST(of_two_labels_with_one_key_the_last_added_counts)
{
	struct labelled labelled;
	labelled_init(&labelled);
	uint32_t first = text_label(&labelled, 0, "user", "a");
	uint32_t other = text_label(&labelled, first, "page", "/");
	put_samples(&labelled, text_label(&labelled, other, "user", "b"), 1);
	struct profile *profile = fixture_profile(&labelled.fixture);
	check_set(profile, 3, "page=/, user=b");
	profile_destroy(profile);
}

/* What leads nowhere, is of a later version, or is one label too many leaves the rest. */
TEST(labels_that_cannot_be_leave_the_set_that_they_were_added_to)
{
	struct labelled labelled;
	labelled_init(&labelled);
	uint32_t a = text_label(&labelled, 0, "user", "a");
	put_samples(&labelled, other_label(&labelled, a, "x", (enum layout_label_kind)77, 5), 1);
	put_samples(&labelled, other_label(&labelled, a, "y", LAYOUT_LABEL_PLACE, 4711), 1);
	put_samples(&labelled, other_label(&labelled, 0, "z", LAYOUT_LABEL_PLACE, 1ULL << 40), 1);
	uint32_t deep = 0;
	for (int i = 0; i < LAYOUT_MAX_LABELS + 8; i++) {
		CLEANUP(str_deinit) struct str key = {0};
		str_printf(&key, "k%d", i);
		deep = text_label(&labelled, deep, str_text(&key), "v");
	}
	put_samples(&labelled, deep, 1);
	put_samples(&labelled, 99999, 1);
	struct profile *profile = fixture_profile(&labelled.fixture);
	check_set(profile, 2, "user=a");
	check_set(profile, 3, "user=a");
	check_set(profile, 4, "");
	size_t count = 0;
	struct label_walk walk = label_walk(profile, profile->samples.data[3].labels);
	while (label_walk_next(&walk))
		count++;
	CHECK_INT(count, LAYOUT_MAX_LABELS);
	CHECK_INT(profile->samples.data[4].labels, 0);
	CHECK_INT(profile->dangling, 2 + 8 + 1);
	profile_destroy(profile);
}

/* ---- columns, filters ---- */

static void check_table(const struct table_options *options, const char *want)
{
	struct profile *profile = users();
	CLEANUP(str_deinit) struct str text = {0};
	struct table table;
	struct filter filter = {0};
	table_init(&table, profile, options);
	text_put_table(profile, &table, options, &(struct text_options){.filter = &filter}, &text);
	table_deinit(&table);
	CHECK_STR(str_text(&text), want);
	profile_destroy(profile);
}

TEST(tables_have_columns_of_labels)
{
	check_table(
		&(struct table_options){
			.columns = {COLUMN_LABEL}, .label_keys = {"user"}, .nr_columns = 1},
		"#   self    total   samples  user\n"
		"  54.84%   54.84%        17  -\n"
		"  38.71%   38.71%        12  b\n"
		"   6.45%    6.45%         2  a\n");
	check_table(&(struct table_options){.columns = {COLUMN_LABEL, COLUMN_LABEL, COLUMN_SYM},
			    .label_keys = {"by", "task"},
			    .nr_columns = 3},
		"#   self    total   samples  by   task                 symbol\n"
		"  51.61%   51.61%        16  run  -                    [.] run\n"
		"  25.81%   25.81%         8  -    1152921504606846976  [.] run\n"
		"  22.58%   22.58%         7  -    -                    [.] run\n");
	check_table(&(struct table_options){.columns = {COLUMN_LABEL}, .nr_columns = 1},
		"#   self    total   samples  labels\n"
		"  51.61%   51.61%        16  by=run\n"
		"  25.81%   25.81%         8  user=b, page=/, task=1152921504606846976\n"
		"  12.90%   12.90%         4  user=b, page=/\n"
		"   6.45%    6.45%         2  user=a\n"
		"   3.23%    3.23%         1  -\n");
}

static size_t count_with(const char *const *labels, size_t len)
{
	struct profile *profile = users();
	struct filter filter = {.labels = {labels, len}};
	filter_samples(profile, &filter);
	size_t count = profile->samples.len;
	profile_destroy(profile);
	return count;
}

#define COUNT_WITH(...) \
	count_with((const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

TEST(samples_are_filtered_by_labels)
{
	CHECK_INT(COUNT_WITH("user=a"), 2);
	CHECK_INT(COUNT_WITH("user"), 14);
	CHECK_INT(COUNT_WITH("user=a", "user=b"), 14);
	CHECK_INT(COUNT_WITH("user=a", "page=/"), 0);
	CHECK_INT(COUNT_WITH("page=/", "user=b", "task"), 8);
	CHECK_INT(COUNT_WITH("by=run"), 16);
	CHECK_INT(COUNT_WITH("nobody"), 0);
}

/* ---- other formats ---- */

TEST(labels_are_roots_of_stacks)
{
	struct profile *profile = users();
	struct bytes_buf out = {0};
	struct roots roots = {
		.kinds = {ROOT_LABEL, ROOT_LABEL}, .keys = {(char *)"user", NULL}, .count = 2};
	roots_add(profile, &roots);
	fixture_export(profile, EXPORT_FOLDED, 0, &out);
	CHECK_STR((const char *)out.data, "[no user];[no label];run 1\n"
					  "[no user];by=run;run 16\n"
					  "user=a;user=a;run 2\n"
					  "user=b;user=b, page=/, task=1152921504606846976;run 8\n"
					  "user=b;user=b, page=/;run 4\n");
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

TEST(json_has_labels_beside_those_of_threads)
{
	struct profile *profile = users();
	struct bytes_buf out = {0};
	fixture_export(profile, EXPORT_JSON, EXPORT_LABEL_PID | EXPORT_LABEL_SAMPLE, &out);
	const char *text = (const char *)out.data;
	CHECK(strstr(text, "{\"pid\":1}") != NULL);
	CHECK(strstr(text, "{\"pid\":1,\"user\":\"b\",\"page\":\"/\",\"task\":"
			   "\"1152921504606846976\"}") != NULL);
	CHECK(strstr(text, "{\"pid\":1,\"by\":\"run\"}") != NULL);
	out.len = 0;
	fixture_export(profile, EXPORT_JSON, EXPORT_LABEL_PID, &out);
	CHECK(strstr((const char *)out.data, "user") == NULL);
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

/* One that has the name of another label is told apart from that. */
TEST(a_label_may_have_the_key_of_another_one)
{
	struct labelled labelled;
	labelled_init(&labelled);
	put_samples(&labelled, text_label(&labelled, 0, "pid", "mine"), 1);
	struct profile *profile = fixture_profile(&labelled.fixture);
	struct bytes_buf out = {0};
	fixture_export(profile, EXPORT_JSON, EXPORT_LABEL_PID | EXPORT_LABEL_SAMPLE, &out);
	CHECK(strstr((const char *)out.data, "{\"pid\":1,\"label.pid\":\"mine\"}") != NULL);
	out.len = 0;
	fixture_export(profile, EXPORT_JSON, EXPORT_LABEL_SAMPLE, &out);
	CHECK(strstr((const char *)out.data, "{\"pid\":\"mine\"}") != NULL);
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

static bool has_string(const struct bytes_buf *out, const char *text)
{
	return memmem(out->data, out->len, text, strlen(text)) != NULL;
}

static void check_binary(enum export_format format)
{
	struct profile *profile = users();
	struct export_options options = {.labels = EXPORT_LABEL_SAMPLE, .is_plain = true};
	struct bytes_buf out = {0};
	size_t count;
	const struct exporter *exporter = &export_all(&count)[format];
	CHECK_OK(exporter->write(profile, &options, byte_sink_to_bytes(&out)));
	CHECK(has_string(&out, "user") && has_string(&out, "page") && has_string(&out, "task"));
	out.len = 0;
	options.labels = EXPORT_LABEL_PID;
	CHECK_OK(exporter->write(profile, &options, byte_sink_to_bytes(&out)));
	CHECK(!has_string(&out, "user") && !has_string(&out, "task"));
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

TEST(pprof_and_otlp_have_labels)
{
	check_binary(EXPORT_PPROF);
	check_binary(EXPORT_OTLP);
}

/* Samples of one stack and thread are told apart by them. */
TEST(pprof_groups_samples_by_labels)
{
	enum {
		SAMPLE = 2,
		LABEL = 3,
	};
	struct profile *profile = users();
	struct export_options options = {.labels = EXPORT_LABEL_SAMPLE, .is_plain = true};
	struct bytes_buf out = {0};
	size_t count, labels = 0;
	CHECK_OK(export_all(&count)[EXPORT_PPROF].write(
		profile, &options, byte_sink_to_bytes(&out)));
	struct message message;
	message_parse(bytes_cursor(out.data, out.len), &message);
	CHECK_INT(message.blobs[SAMPLE].len, 5);
	for (size_t i = 0; i < message.blobs[SAMPLE].len; i++) {
		struct message sample;
		message_parse(message.blobs[SAMPLE].at[i], &sample);
		labels += sample.blobs[LABEL].len;
	}
	CHECK_INT(labels, 0 + 1 + 2 + 3 + 1);
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}

/* ---- merging ---- */

static struct err *merged_write(void *context, const void *bytes, size_t len)
{
	bytes_put(context, bytes, len);
	return NULL;
}

TEST(merged_recordings_share_sets)
{
	int fds[] = {users_file(), users_file()};
	struct merge_input inputs[] = {
		{.name = "a.data", .fd = fds[0]}, {.name = "b.data", .fd = fds[1]}};
	struct bytes_buf out = {0};
	struct merge_result result;
	CHECK_OK(merge_write(
		&(struct merge_options){.inputs = inputs, .nr_inputs = 2, .takes_twice = true},
		(struct writer_sink){merged_write, &out}, &result));
	merge_result_deinit(&result);
	close(fds[0]);
	close(fds[1]);
	int fd = forged_fd(out.data, out.len);
	struct profile *profile = fixture_load(fd);
	close(fd);
	CHECK_INT(profile->labels.len, 7); /* the vDSOs, and so places in them, are two */
	CHECK_INT(profile->samples.len, 62);
	CHECK_INT(profile->dangling, 0);
	size_t with_user = 0;
	uint32_t *found = label_sets_find_all(profile, "user");
	vec_each(&profile->samples, sample)
		with_user += found[sample->labels] != 0;
	CHECK_INT(with_user, 28);
	check_set(profile, 4, "user=b, page=/, task=1152921504606846976");
	check_set(profile, 5, "by=run");
	check_set(profile, 6, "by=run");
	mem_free(found);
	bytes_buf_deinit(&out);
	profile_destroy(profile);
}
