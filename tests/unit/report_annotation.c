/* Sums by address and line: recursion, inlined functions, kernel stacks, part of the samples. */
#include "report/name/listing/annotation.h"

#include <string.h>

#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

enum {
	MS = 1000000,
};

struct annotated {
	struct fixture fixture;
	struct profile *profile;
	uint32_t object, thread, main, call, leaf;
	struct slice slice;
	struct annotation *annotation;
};

/* work() stands at two addresses: the call in line 5, and line 3. */
static void begin(struct annotated *it)
{
	*it = (struct annotated){0};
	fixture_init(&it->fixture);
	it->object = fixture_object(&it->fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t process = fixture_process(&it->fixture, 1, 0);
	it->thread = fixture_thread(&it->fixture, process, 1, "x");
	it->main = fixture_frame(&it->fixture, it->object, 0x100, "main");
	it->call = fixture_frame(&it->fixture, it->object, 0x205, "work");
	it->leaf = fixture_frame(&it->fixture, it->object, 0x203, "work");
}

static void place(struct annotated *it, uint32_t frame, const char *file, uint32_t line)
{
	it->profile->frames.data[frame].file = file;
	it->profile->frames.data[frame].line = line;
}

static void load(struct annotated *it)
{
	it->profile = fixture_profile(&it->fixture);
	place(it, it->main, "/src/main.c", 9);
	place(it, it->call, "/src/work.c", 5);
	place(it, it->leaf, "/src/work.c", 3);
}

static void annotate(struct annotated *it, uint32_t frame)
{
	struct profile *profile = it->profile;
	uint32_t *groups = mem_zalloc_array(profile->functions.len, sizeof(*groups));
	for (uint32_t i = 0; i < profile->functions.len; i++)
		for (uint32_t j = 0; !groups[i] && j <= i; j++)
			if (strcmp(profile->functions.data[i].name,
				    profile->functions.data[j].name) == 0)
				groups[i] = j;
	struct annotation_names names = {
		.frames = profile->frames.data,
		.nr_frames = profile->frames.len,
		.functions = profile->functions.data,
		.groups = groups,
	};
	slice_init_all(&it->slice, profile);
	it->annotation = annotation_create(
		profile, &names, &it->slice, groups[profile->frames.data[frame].function], NULL);
	mem_free(groups);
}

static void check_line(const struct annotated *it, const char *file, uint32_t number,
	uint64_t self_ms, uint64_t total_ms)
{
	vec_each(&it->annotation->lines, line) {
		if (strcmp(line->file, file) != 0 || line->line != number)
			continue;
		CHECK_INT(line->weight.self, self_ms * MS);
		CHECK_INT(line->weight.total, total_ms * MS);
		CHECK_INT(line->weight.self_samples, self_ms);
		CHECK_INT(line->weight.samples, total_ms);
		return;
	}
	unit_fail(__FILE__, __LINE__, "no line %u of %s", number, file);
}

static void end(struct annotated *it)
{
	annotation_destroy(it->annotation);
	slice_deinit(&it->slice);
	profile_destroy(it->profile);
}

TEST(lines_of_recursive_function)
{
	struct annotated it;
	begin(&it);
	struct fixture *f = &it.fixture;
	fixture_samples(f, it.thread, FIXTURE_STACK(f, it.main, it.leaf), 0, 5);
	fixture_samples(f, it.thread, FIXTURE_STACK(f, it.main, it.call, it.call, it.leaf), 0, 10);
	fixture_samples(f, it.thread, FIXTURE_STACK(f, it.main), 0, 2);
	load(&it);
	annotate(&it, it.leaf);
	check_line(&it, "/src/work.c", 3, 15, 15);
	check_line(&it, "/src/work.c", 5, 0, 10);
	CHECK_INT(it.annotation->whole.self, 15 * MS);
	CHECK_INT(it.annotation->whole.total, 15 * MS);
	CHECK_INT(it.annotation->places.len, 2);
	CHECK_INT(it.annotation->places.data[0].offset, 0x203);
	CHECK_INT(it.annotation->places.data[1].weight.total, 10 * MS);
	CHECK_INT(annotation_hottest(it.annotation)->offset, 0x203);
	end(&it);
}

/* As what stands for unknown code can. */
TEST(function_in_both_parts_of_a_stack)
{
	struct annotated it;
	begin(&it);
	struct fixture *f = &it.fixture;
	fixture_samples(f, it.thread, FIXTURE_STACK(f, it.main, it.call, it.call),
		FIXTURE_STACK(f, it.main, it.call, it.leaf), 5);
	fixture_samples(f, it.thread, FIXTURE_STACK(f, it.main), FIXTURE_STACK(f, it.leaf), 3);
	load(&it);
	annotate(&it, it.leaf);
	check_line(&it, "/src/work.c", 3, 8, 8);
	check_line(&it, "/src/work.c", 5, 0, 5);
	CHECK_INT(it.annotation->whole.self, 8 * MS);
	CHECK_INT(it.annotation->whole.total, 8 * MS);
	CHECK_INT(it.annotation->whole.samples, 8);
	CHECK_INT(it.annotation->places.data[0].weight.total, 8 * MS);
	CHECK_INT(it.annotation->places.data[1].weight.total, 5 * MS);
	end(&it);
}

/* main() inlined into the frame. */
static void inline_into(struct annotated *it, uint32_t frame, const char *file, uint32_t line)
{
	struct profile_frame inlined = it->profile->frames.data[frame];
	inlined.function = it->profile->frames.data[it->main].function;
	inlined.outer = frame;
	inlined.file = file;
	inlined.line = line;
	it->profile->frames.data[frame].innermost = (uint32_t)it->profile->frames.len;
	vec_push(&it->profile->frames, inlined);
}

/* Of what was inlined, the line of the call has the total and the address has the self. */
TEST(lines_of_inlined_function)
{
	struct annotated it;
	begin(&it);
	struct fixture *f = &it.fixture;
	fixture_samples(f, it.thread, FIXTURE_STACK(f, it.main, it.leaf), 0, 7);
	load(&it);
	inline_into(&it, it.leaf, "/src/inline.h", 77);
	annotate(&it, it.leaf);
	check_line(&it, "/src/work.c", 3, 0, 7);
	CHECK_INT(it.annotation->whole.self, 0);
	CHECK_INT(it.annotation->places.data[0].weight.self, 7 * MS);
	annotation_destroy(it.annotation);
	slice_deinit(&it.slice);
	annotate(&it, it.main);
	check_line(&it, "/src/inline.h", 77, 7, 7);
	check_line(&it, "/src/main.c", 9, 0, 7);
	CHECK_INT(it.annotation->whole.self, 7 * MS);
	CHECK_INT(it.annotation->whole.total, 7 * MS);
	end(&it);
}

/* The selfs of lines, and of lines that were inlined into them, are those of the addresses. */
TEST(inlined_code_has_lines_of_its_own)
{
	struct annotated it;
	begin(&it);
	struct fixture *f = &it.fixture;
	uint32_t same = fixture_frame(f, it.object, 0x20a, "work");
	uint32_t other = fixture_frame(f, it.object, 0x20c, "work");
	uint32_t entry = fixture_frame(f, it.object, 0x900, "entry");
	fixture_samples(f, it.thread, FIXTURE_STACK(f, it.main, it.leaf), 0, 7);
	fixture_samples(f, it.thread, FIXTURE_STACK(f, it.main, it.call, same), 0, 5);
	fixture_samples(f, it.thread, FIXTURE_STACK(f, it.main, it.call), 0, 3);
	fixture_samples(f, it.thread, FIXTURE_STACK(f, same), FIXTURE_STACK(f, entry), 4);
	fixture_samples(f, it.thread, FIXTURE_STACK(f, other), 0, 2);
	load(&it);
	place(&it, same, "/src/work.c", 5);
	place(&it, other, "/src/work.c", 3);
	inline_into(&it, same, "/src/inline.h", 77);
	inline_into(&it, other, NULL, 0);
	annotate(&it, it.leaf);
	check_line(&it, "/src/work.c", 3, 7, 9);
	check_line(&it, "/src/work.c", 5, 3, 12);
	const struct annotation *annotation = it.annotation;
	CHECK_INT(annotation->inlined.len, 2);
	const struct annotation_inlined *inlined = annotation->inlined.data;
	CHECK_STR(inlined[0].text, "inlined: main");
	CHECK_INT(annotation->lines.data[inlined[0].line].line, 3);
	CHECK_INT(inlined[0].number, 0);
	CHECK_INT(inlined[0].weight.self, 2 * MS);
	CHECK_STR(inlined[1].text, "inlined: inline.h:77 main");
	CHECK_INT(annotation->lines.data[inlined[1].line].line, 5);
	CHECK_INT(inlined[1].number, 77);
	CHECK_INT(inlined[1].weight.self, 5 * MS);
	CHECK_INT(inlined[1].weight.total, 9 * MS);
	CHECK_INT(annotation->whole.self, 10 * MS);
	CHECK_INT(annotation->whole_inlined.self, 7 * MS);
	uint64_t of_places = 0;
	vec_each(&annotation->places, address)
		of_places += address->weight.self;
	CHECK_INT(of_places, annotation->whole.self + annotation->whole_inlined.self);
	end(&it);
}

/* The kernel's part of a stack is on top: what called it is no leaf. */
TEST(lines_below_kernel_stack)
{
	struct annotated it;
	begin(&it);
	struct fixture *f = &it.fixture;
	uint32_t entry = fixture_frame(f, it.object, 0x900, "entry");
	fixture_samples(
		f, it.thread, FIXTURE_STACK(f, it.main, it.call), FIXTURE_STACK(f, entry), 4);
	load(&it);
	annotate(&it, it.call);
	check_line(&it, "/src/work.c", 5, 0, 4);
	check_line(&it, "/src/work.c", 3, 0, 0);
	annotation_destroy(it.annotation);
	slice_deinit(&it.slice);
	annotate(&it, entry);
	check_line(&it, "", 0, 4, 4);
	end(&it);
}

TEST(cancelled_annotation)
{
	struct annotated it;
	begin(&it);
	load(&it);
	slice_init_all(&it.slice, it.profile);
	atomic_bool is_cancelled = true;
	struct annotation_names names = {
		.frames = it.profile->frames.data,
		.nr_frames = it.profile->frames.len,
		.functions = it.profile->functions.data,
	};
	struct annotation *annotation =
		annotation_create(it.profile, &names, &it.slice, 1, &is_cancelled);
	annotation_destroy(annotation); /* small ones are done before the test looks */
	end(&it);
}
