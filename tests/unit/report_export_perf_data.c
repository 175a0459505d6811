/* perf.data that is written comes back by the importer as it was: export_perf_data. */
#include "format/import/import.h"
#include "report/load/load.h"
#include "tests/unit/forged.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static struct err *perf_data_collect(void *context, const void *bytes, size_t len)
{
	bytes_put(context, bytes, len);
	return NULL;
}

static struct profile *import_back(const struct bytes_buf *file)
{
	struct bytes_buf made = {0};
	struct import_result result;
	struct profile *profile = NULL;
	int fd = forged_fd(file->data, file->len);
	CHECK_OK(import_write(fd, IMPORT_AS_IT_BEGINS, NULL,
		(struct writer_sink){perf_data_collect, &made}, &result));
	CHECK(result.is_whole);
	import_result_deinit(&result);
	close(fd);
	fd = forged_fd(made.data, made.len);
	CHECK_OK(profile_load(fd, NULL, &profile));
	close(fd);
	bytes_buf_deinit(&made);
	return profile;
}

static void put_back_stack(const struct profile *profile, uint32_t stack, struct str *out)
{
	struct profile_walk walk = profile_walk(profile, stack);
	for (uint32_t index; (index = profile_walk_next(&walk));) {
		const struct profile_frame *frame = &profile->frames.data[index];
		str_printf(out, "%s+%#llx ", profile->objects.data[frame->object].path,
			(unsigned long long)frame->offset);
	}
}

TEST(perf_data_comes_back)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t user = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/bin/app");
	uint32_t library = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/lib/libc.so.6");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 10, 0), 11, "worker");
	uint32_t work = fixture_frame(&fixture, user, 0x1020, "work");
	uint32_t start = fixture_frame(&fixture, library, 0x90, "start");
	uint32_t read = fixture_frame(&fixture, kernel, 0x30, "sys_read");
	uint32_t enter = fixture_frame(&fixture, kernel, 0x70, "enter");
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, start, work),
		FIXTURE_STACK(&fixture, enter, read), 1);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, start, work), 0, 2);
	fixture_samples(&fixture, thread, 0, 0, 1);
	struct profile *profile = fixture_profile(&fixture);
	struct bytes_buf out = {0};
	fixture_export(profile, EXPORT_PERF_DATA, 0, &out);
	struct profile *back = import_back(&out);
	CHECK_INT(back->samples.len, profile->samples.len);
	for (size_t i = 0; i < back->samples.len; i++) {
		const struct profile_sample *sample = &back->samples.data[i];
		const struct profile_sample *old = &profile->samples.data[i];
		CLEANUP(str_deinit) struct str got = {0}, wanted = {0};
		put_back_stack(back, sample->stack, &got);
		put_back_stack(profile, old->stack, &wanted);
		CHECK_STR(str_text(&got), str_text(&wanted));
		CHECK_INT(sample->time_ns, old->time_ns);
		CHECK_INT(profile_sample_value(back, sample), profile_sample_value(profile, old));
		CHECK_STR(back->threads.data[sample->thread].comm, "worker");
		CHECK_INT(back->threads.data[sample->thread].tid, 11);
		CHECK_INT(back->threads.data[sample->thread].pid, 10);
	}
	CHECK_STR(back->events.data[1].name, "cpu-clock");
	bytes_buf_deinit(&out);
	profile_destroy(back);
	profile_destroy(profile);
}
