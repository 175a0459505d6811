/* Baselines: what they keep of recordings, and how they become small. */
#include "report/compare/baseline/slim.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/merge/merge.h"
#include "report/compare/diff_tree.h"
#include "report/model/label_sets.h"
#include "tests/unit/diff_pair.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

enum {
	SECOND = 1000000000,
};

static const struct layout_clock early = {5ULL * SECOND, 1700000000ULL * SECOND};
static const struct layout_clock late = {95ULL * SECOND, 1700000100ULL * SECOND};

/* ---- making them ---- */

static struct slim_result slim_of(
	const struct profile *profile, uint64_t max_bytes, struct bytes_buf *bytes)
{
	struct slim_result result = {0};
	bytes->len = 0;
	CHECK_OK(slim_write(profile, &(struct slim_options){max_bytes}, bytes, &result));
	return result;
}

static struct profile *load_bytes(const struct bytes_buf *bytes)
{
	int fd = memfd_create("baseline", MFD_CLOEXEC);
	CHECK_INT(write(fd, bytes->data, bytes->len), bytes->len);
	struct profile *profile = fixture_load(fd);
	close(fd);
	return profile;
}

static struct err *file_write(void *context, const void *bytes, size_t len)
{
	CHECK_INT(write(*(int *)context, bytes, len), len);
	return NULL;
}

static struct profile *merged(const int *fds, size_t count)
{
	struct merge_input inputs[4] = {
		{.name = "a.data", .fd = fds[0]}, {.name = "b.data", .fd = fds[1]}};
	struct merge_result result;
	int fd = memfd_create("merged", MFD_CLOEXEC);
	CHECK_OK(merge_write(
		&(struct merge_options){.inputs = inputs, .nr_inputs = count, .takes_twice = false},
		(struct writer_sink){.write = file_write, .context = &fd}, &result));
	merge_result_deinit(&result);
	struct profile *profile = fixture_load(fd);
	close(fd);
	return profile;
}

/* ---- what a profile says, as lines: no ids, no order ---- */

static void put_stack(const struct profile *profile, uint32_t stack, struct str *out)
{
	struct profile_walk walk = profile_walk(profile, stack);
	for (uint32_t at; (at = profile_walk_next(&walk));) {
		const struct profile_frame *frame = &profile->frames.data[at];
		const struct profile_function *function = &profile->functions.data[frame->function];
		str_printf(out, " %s|%s|%s:%u", profile->objects.data[frame->object].path,
			function->name, frame->file ? frame->file : "", frame->line);
	}
}

/* How many samples, and of which weight, the line of a run has. */
struct tally {
	struct strtab lines;
	VEC(struct tally_count {
		uint64_t samples;
		uint64_t weight;
	})
	counts;
};

static void tally_take(struct tally *tally, const struct profile *profile, const char *run)
{
	vec_each(&profile->samples, sample) {
		const struct profile_thread *thread = &profile->threads.data[sample->thread];
		if (strcmp(profile_thread_origin(profile, sample->thread), run) != 0)
			continue;
		CLEANUP(str_deinit) struct str line = {0};
		str_printf(&line, "%s %s:", profile->events.data[sample->event].name, thread->comm);
		put_stack(profile, sample->stack, &line);
		uint32_t id = strtab_intern(&tally->lines, str_text(&line), line.len);
		if (id >= tally->counts.len)
			vec_resize(&tally->counts, (size_t)id + 1);
		tally->counts.data[id].samples++;
		tally->counts.data[id].weight += sample->weight;
	}
}

static void tally_deinit(struct tally *tally)
{
	strtab_deinit(&tally->lines);
	vec_deinit(&tally->counts);
}

static void check_same(const struct profile *a, const char *run_of_a, const struct profile *b,
	const char *run_of_b)
{
	struct tally x = {0}, y = {0};
	tally_take(&x, a, run_of_a);
	tally_take(&y, b, run_of_b);
	CHECK(x.counts.len > 0);
	CHECK_INT(y.counts.len, x.counts.len);
	for (uint32_t i = 0; i < x.counts.len; i++) {
		const char *line = strtab_get(&x.lines, i);
		uint32_t id = strtab_intern(&y.lines, line, strlen(line));
		CHECK_STR(id < y.counts.len ? line : "", line);
		CHECK_INT(y.counts.data[id].samples, x.counts.data[i].samples);
		CHECK_INT(y.counts.data[id].weight, x.counts.data[i].weight);
	}
	tally_deinit(&x);
	tally_deinit(&y);
}

/* ---- recordings ---- */

/* Functions of a library, of the kernel and of a script; two addresses of one line. */
static int small_recording(const struct layout_clock *clock, unsigned count)
{
	struct fixture fixture;
	fixture_init_at(&fixture, clock);
	writer_meta(fixture.writer, LAYOUT_META_CPU_MODEL, "A CPU");
	uint32_t library = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/lib/one.so");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel]");
	uint32_t script = fixture_object(&fixture, LAYOUT_OBJECT_SCRIPT, "python");
	uint32_t process = fixture_process(&fixture, 42, library);
	uint32_t thread = fixture_thread(&fixture, process, 42, "app");
	uint32_t twin = fixture_thread(&fixture, process, 43, "app");
	uint32_t outer = fixture_frame(&fixture, library, 0x100, "outer");
	uint32_t inner = fixture_frame(&fixture, library, 0x200, "inner");
	uint32_t nameless = fixture_frame(&fixture, library, 0x300, NULL);
	uint32_t call = fixture_frame(&fixture, kernel, 0x400, "sys_call");
	uint32_t line = fixture_line(&fixture, script, LAYOUT_SCRIPT_FIRST, "f", "f.py", 3);
	uint32_t other = fixture_line(&fixture, script, LAYOUT_SCRIPT_FIRST + 1, "f", "f.py", 3);
	uint32_t cut = fixture_frame(&fixture, 0, LAYOUT_TRUNCATED_NO_RULE, NULL);
	uint32_t deep = FIXTURE_STACK(&fixture, outer, inner);
	fixture_samples(&fixture, thread, deep, 0, 3 * count);
	fixture_samples(&fixture, twin, deep, 0, count);
	fixture_samples(&fixture, thread, deep, FIXTURE_STACK(&fixture, call), 2);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, outer, nameless), 0, 1);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, outer, line), 0, 4);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, outer, other), 0, 5);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, cut, inner), 0, 1);
	return fixture_finish(&fixture);
}

TEST(a_baseline_has_what_its_recording_has)
{
	int fd = small_recording(&early, 10);
	struct profile *profile = fixture_load(fd);
	struct bytes_buf bytes = {0};
	struct slim_result result = slim_of(profile, 0, &bytes);
	struct profile *slim = load_bytes(&bytes);
	CHECK_INT(result.runs, 1);
	CHECK_INT(result.cut_samples, 0);
	CHECK_INT(result.samples, profile->samples.len);
	check_same(profile, "", slim, "");
	CHECK_STR(profile_meta(slim, LAYOUT_META_CPU_MODEL), "A CPU");
	CHECK_STR(profile_meta(slim, LAYOUT_META_BASELINE_RUNS), "1");
	CHECK(!profile_meta(slim, LAYOUT_META_BASELINE_CUT));
	CHECK_INT(slim->dangling, 0);
	profile_destroy(slim);
	profile_destroy(profile);
	bytes_buf_deinit(&bytes);
	close(fd);
}

TEST(runs_stay_apart_and_keep_their_times)
{
	int fds[] = {small_recording(&late, 7), small_recording(&early, 20)};
	struct profile *profile = merged(fds, 2);
	struct bytes_buf bytes = {0};
	CHECK_INT(slim_of(profile, 0, &bytes).runs, 2);
	struct profile *slim = load_bytes(&bytes);
	/* By their times, not as they were named. */
	check_same(profile, "b.data", slim, "run1");
	check_same(profile, "a.data", slim, "run2");
	CHECK_INT(slim->samples.data[0].time_ns, profile->samples.data[0].time_ns);
	size_t last = profile->samples.len - 1;
	CHECK_INT(slim->samples.data[last].time_ns, profile->samples.data[last].time_ns);
	CHECK_INT(profile_wall_ns(slim, slim->samples.data[0].time_ns),
		profile_wall_ns(profile, profile->samples.data[0].time_ns));
	profile_destroy(slim);
	profile_destroy(profile);
	bytes_buf_deinit(&bytes);
	close(fds[0]);
	close(fds[1]);
}

TEST(the_same_runs_make_the_same_bytes)
{
	int fds[] = {small_recording(&late, 7), small_recording(&early, 20)};
	int turned[] = {fds[1], fds[0]};
	struct profile *one = merged(fds, 2), *two = merged(turned, 2);
	struct bytes_buf first = {0}, second = {0};
	slim_of(one, 0, &first);
	slim_of(two, 0, &second);
	CHECK_INT(first.len, second.len);
	CHECK(memcmp(first.data, second.data, first.len) == 0);
	/* A baseline of a baseline has all of it, too. */
	struct profile *slim = load_bytes(&first);
	slim_of(slim, 0, &second);
	struct profile *again = load_bytes(&second);
	check_same(slim, "run1", again, "run1");
	check_same(slim, "run2", again, "run2");
	profile_destroy(again);
	profile_destroy(slim);
	profile_destroy(one);
	profile_destroy(two);
	bytes_buf_deinit(&first);
	bytes_buf_deinit(&second);
	close(fds[0]);
	close(fds[1]);
}

TEST(lines_are_one_place_and_threads_of_a_name_are_one)
{
	int fd = small_recording(&early, 10);
	struct profile *profile = fixture_load(fd);
	struct bytes_buf bytes = {0};
	slim_of(profile, 0, &bytes);
	struct profile *slim = load_bytes(&bytes);
	CHECK_INT(profile->threads.len - slim->threads.len, 1);
	CHECK_INT(profile->frames.len - slim->frames.len, 1); /* both of f.py:3 */
	CHECK_INT(slim->mappings.len, 0);
	profile_destroy(slim);
	profile_destroy(profile);
	bytes_buf_deinit(&bytes);
	close(fd);
}

/* Code of one address that changed is told apart without times. */
TEST(versions_of_code_stay_apart)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t jit = fixture_object(&fixture, LAYOUT_OBJECT_ANONYMOUS, "//anon");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t frame = fixture_frame(&fixture, jit, 0x1000, NULL);
	uint64_t start_ns = fixture.time_ns;
	static const char *const names[] = {"early", "late"};
	for (int i = 0; i < 2; i++)
		writer_code(fixture.writer, &(struct layout_code){.object = jit,
						    .offset = 0x1000,
						    .start = 0x1000,
						    .time_ns = i ? start_ns + 10000000 : 1,
						    .name = fixture_string(&fixture, names[i])});
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, frame), 0, 25);
	struct profile *profile = fixture_profile(&fixture);
	struct bytes_buf bytes = {0};
	slim_of(profile, 0, &bytes);
	struct profile *slim = load_bytes(&bytes);
	check_same(profile, "", slim, "");
	profile_destroy(slim);
	profile_destroy(profile);
	bytes_buf_deinit(&bytes);
}

TEST(weights_keep_their_sums)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/lib/one.so");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 0x10, "f"));
	uint32_t other = FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 0x20, "g"));
	for (uint64_t i = 0; i < 20; i++)
		writer_sample(
			fixture.writer, &(struct layout_sample){.time_ns = fixture.time_ns + i,
						.event = fixture.event,
						.thread = thread,
						.user_stack = i % 3 ? stack : other,
						.weight = i * i * 12345});
	struct profile *profile = fixture_profile(&fixture);
	struct bytes_buf bytes = {0};
	slim_of(profile, 0, &bytes);
	struct profile *slim = load_bytes(&bytes);
	check_same(profile, "", slim, "");
	profile_destroy(slim);
	profile_destroy(profile);
	bytes_buf_deinit(&bytes);
}

/* ---- cutting ---- */

enum {
	NR_FUNCTIONS = 300,
	NR_STACKS = 4000,
};

/* One hot function below a hot caller, and leaves that are reached by thousands of rare ways. */
static struct profile *wide_profile(void)
{
	struct fixture fixture;
	uint32_t frames[NR_FUNCTIONS];
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "/lib/wide.so");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	for (unsigned i = 0; i < NR_FUNCTIONS; i++) {
		char name[40];
		snprintf(name, sizeof(name), "function_number_%u", i);
		frames[i] = fixture_frame(&fixture, object, 0x100 * (i + 1), name);
	}
	uint32_t outer = FIXTURE_STACK(&fixture, frames[0]);
	uint32_t hot = writer_node(fixture.writer, &(struct layout_node){outer, frames[1]});
	fixture_samples(&fixture, thread, hot, 0, 5000);
	for (unsigned i = 0; i < NR_STACKS; i++) {
		uint32_t node = outer;
		for (unsigned k = 0; k < 5; k++) {
			unsigned way = 2 + (i * 7919 + k * 104729) % (NR_FUNCTIONS - 12);
			node = writer_node(
				fixture.writer, &(struct layout_node){node, frames[way]});
		}
		uint32_t leaf = frames[NR_FUNCTIONS - 10 + i % 10];
		node = writer_node(fixture.writer, &(struct layout_node){node, leaf});
		fixture_samples(&fixture, thread, node, 0, 1);
	}
	return fixture_profile(&fixture);
}

static uint64_t self_of(const struct profile *profile, const char *name)
{
	uint64_t samples = 0;
	vec_each(&profile->samples, sample) {
		struct profile_walk walk = profile_walk(profile, sample->stack);
		uint32_t frame = profile_walk_next(&walk);
		uint32_t function = profile->frames.data[frame].function;
		samples += strcmp(profile->functions.data[function].name, name) == 0;
	}
	return samples;
}

TEST(rare_stacks_are_cut_and_self_times_stay)
{
	struct profile *profile = wide_profile();
	struct bytes_buf bytes = {0};
	struct slim_result whole = slim_of(profile, 0, &bytes);
	CHECK_INT(whole.cut_samples, 0);
	size_t limit = bytes.len / 4;
	struct slim_result cut = slim_of(profile, limit, &bytes);
	CHECK(bytes.len <= limit);
	CHECK(cut.cut_samples > 0 && cut.cut_samples <= NR_STACKS && cut.cut_below > 1);
	struct profile *slim = load_bytes(&bytes);
	CHECK_INT(slim->samples.len, profile->samples.len);
	CHECK_INT(self_of(slim, "function_number_1"), 5000);
	for (unsigned i = NR_FUNCTIONS - 10; i < NR_FUNCTIONS; i++) {
		char name[40];
		snprintf(name, sizeof(name), "function_number_%u", i);
		CHECK_INT(self_of(slim, name), self_of(profile, name));
	}
	CHECK(profile_meta(slim, LAYOUT_META_BASELINE_CUT));
	profile_destroy(slim);
	profile_destroy(profile);
	bytes_buf_deinit(&bytes);
}

/* Returns how many paths end in a mark. */
static unsigned check_paths(
	const struct diff_tree *diff, const struct tree_weight *base, const struct tree_weight *new)
{
	unsigned nr_marks = 0;
	size_t count = diff->tree.nodes.len;
	CLEANUP_FREE bool *is_below = mem_zalloc_array(count, sizeof(*is_below));
	for (size_t i = 0; i < count; i++) {
		const struct tree_node *node = &diff->tree.nodes.data[i];
		bool is_mark = i && node->function == diff->left_out;
		if (!is_below[node->parent]) {
			CHECK_INT(base[i].samples, new[i].samples);
			nr_marks += is_mark;
		}
		is_below[i] = is_mark || (i && is_below[node->parent]);
	}
	return nr_marks;
}

/* A path without a mark has all samples, and a mark all that its caller's other callees had. */
TEST(what_was_cut_differs_from_its_recording_nowhere)
{
	struct profile *profiles[MATCH_SIDES] = {[MATCH_NEW] = wide_profile()};
	struct bytes_buf bytes = {0};
	slim_of(profiles[MATCH_NEW], 0, &bytes);
	size_t whole = bytes.len;
	for (size_t part = 2; part <= 8; part *= 2) {
		struct diff_pair pair;
		slim_of(profiles[MATCH_NEW], whole / part, &bytes);
		profiles[MATCH_BASE] = load_bytes(&bytes);
		diff_pair_init(&pair, profiles[MATCH_BASE], profiles[MATCH_NEW]);
		CHECK(check_paths(&pair.diff, pair.weights[MATCH_BASE], pair.weights[MATCH_NEW]) >
			0);
		diff_pair_deinit(&pair);
		profile_destroy(profiles[MATCH_BASE]);
	}
	profile_destroy(profiles[MATCH_NEW]);
	bytes_buf_deinit(&bytes);
}

TEST(what_cannot_become_so_small_is_refused)
{
	struct profile *profile = wide_profile();
	struct bytes_buf bytes = {0};
	struct slim_result result = {0};
	CHECK_ERR(slim_write(profile, &(struct slim_options){50}, &bytes, &result), ERR_USAGE,
		"does not fit");
	CHECK_INT(bytes.len, 0);
	profile_destroy(profile);
}

TEST(nothing_is_no_baseline)
{
	struct fixture fixture;
	struct bytes_buf bytes = {0};
	struct slim_result result = {0};
	fixture_init(&fixture);
	struct profile *profile = fixture_profile(&fixture);
	CHECK_ERR(slim_write(profile, &(struct slim_options){0}, &bytes, &result), ERR_USAGE,
		"no samples");
	profile_destroy(profile);
}

/* The leaf of a system call is made of its number: of the same stack it tells samples apart. */
TEST(system_calls_are_kept)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 0x10, "main"));
	for (uint32_t number = 1; number <= 3; number++)
		writer_sample(fixture.writer, &(struct layout_sample){
						      .time_ns = fixture.time_ns += 1000000,
						      .event = fixture.event,
						      .thread = thread,
						      .user_stack = stack,
						      .weight = number,
						      .syscall = number == 3 ? 1 : number,
					      });
	struct profile *profile = fixture_profile(&fixture);
	struct bytes_buf bytes = {0};
	slim_of(profile, 0, &bytes);
	struct profile *slim = load_bytes(&bytes);
	uint64_t weights[3] = {0};
	vec_each(&slim->samples, sample) {
		uint32_t number = slim->stacks.data[sample->stack].syscall;
		CHECK(number < 3);
		weights[number < 3 ? number : 0] += sample->weight;
	}
	CHECK_INT(weights[0], 0);
	CHECK_INT(weights[1], 4);
	CHECK_INT(weights[2], 2);
	profile_destroy(slim);
	profile_destroy(profile);
	bytes_buf_deinit(&bytes);
}

/* What a service is called stays, slim_labels has which keys; what each request is called goes. */
TEST(labels_of_services_are_kept)
{
	static const char *const services[] = {"cart", "shop"};
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 0x10, "main"));
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t pid = 10 + i;
		uint32_t thread =
			fixture_thread(&fixture, fixture_process(&fixture, pid, 0), pid, "app");
		struct layout_label trace = {.key = fixture_string(&fixture, "trace_id"),
			.value = fixture_string(&fixture, i % 2 ? "1" : "2")};
		struct layout_label service = {.rest = writer_label(fixture.writer, &trace),
			.key = fixture_string(&fixture, "service_name"),
			.value = fixture_string(&fixture, services[i / 2])};
		uint32_t sets[] = {0, writer_label(fixture.writer, &service)};
		for (size_t k = 0; k < 2; k++)
			writer_sample(fixture.writer, &(struct layout_sample){
							      .time_ns = fixture.time_ns += 1000000,
							      .event = fixture.event,
							      .thread = thread,
							      .user_stack = stack,
							      .weight = 1,
							      .labels = sets[k],
						      });
	}
	struct profile *profile = fixture_profile(&fixture);
	struct bytes_buf bytes = {0};
	slim_of(profile, 0, &bytes);
	struct profile *slim = load_bytes(&bytes);
	uint64_t counts[2] = {0};
	CHECK_INT(slim->threads.len, 3); /* one of each service, and none */
	CHECK_INT(slim->samples.len, 8);
	vec_each(&slim->samples, sample) {
		CHECK(!label_sets_find(slim, sample->labels, "trace_id"));
		uint32_t label = label_sets_find(slim, sample->labels, "service_name");
		counts[label && label_has_value(slim, label, "shop")]++;
	}
	CHECK_INT(counts[0], 4);
	CHECK_INT(counts[1], 4);
	profile_destroy(slim);
	profile_destroy(profile);
	bytes_buf_deinit(&bytes);
}

/* The recorder knows the service at once, and what the container is called half a second later. */
TEST(labels_that_come_later_are_kept)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t stack = FIXTURE_STACK(&fixture, fixture_frame(&fixture, object, 0x10, "main"));
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 10, "app");
	struct layout_label service = {.key = fixture_string(&fixture, "service_name"),
		.value = fixture_string(&fixture, "cart")};
	struct layout_label container = {.rest = writer_label(fixture.writer, &service),
		.key = fixture_string(&fixture, "container.name"),
		.value = fixture_string(&fixture, "web")};
	uint32_t sets[] = {container.rest, writer_label(fixture.writer, &container)};
	for (size_t i = 0; i < 2; i++)
		writer_sample(fixture.writer, &(struct layout_sample){
						      .time_ns = fixture.time_ns += 1000000,
						      .event = fixture.event,
						      .thread = thread,
						      .user_stack = stack,
						      .weight = 1,
						      .labels = sets[i],
					      });
	struct profile *profile = fixture_profile(&fixture);
	struct bytes_buf bytes = {0};
	slim_of(profile, 0, &bytes);
	struct profile *slim = load_bytes(&bytes);
	CHECK_INT(slim->samples.len, 2);
	vec_each(&slim->samples, sample) {
		uint32_t label = label_sets_find(slim, sample->labels, "container.name");
		CHECK(label && label_has_value(slim, label, "web"));
		label = label_sets_find(slim, sample->labels, "service_name");
		CHECK(label && label_has_value(slim, label, "cart"));
	}
	profile_destroy(slim);
	profile_destroy(profile);
	bytes_buf_deinit(&bytes);
}
