/* By what recordings can be compared: CPU model, architecture, events. */
#include "report/compare/baseline/baseline_facts.h"

#include <sys/mman.h>
#include <unistd.h>

#include "format/merge/merge.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

/* Of two events, one of which took samples. */
static int recording(const char *cpu_model, const char *arch)
{
	struct fixture fixture;
	fixture_init(&fixture);
	if (cpu_model)
		writer_meta(fixture.writer, LAYOUT_META_CPU_MODEL, cpu_model);
	if (arch)
		writer_meta(fixture.writer, LAYOUT_META_ARCH, arch);
	writer_event(fixture.writer,
		&(struct layout_event){.name = fixture_string(&fixture, "page-faults")});
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "app");
	fixture_samples(&fixture, thread, 0, 0, 3);
	return fixture_finish(&fixture);
}

static struct err *file_write(void *context, const void *bytes, size_t len)
{
	CHECK_INT(write(*(int *)context, bytes, len), len);
	return NULL;
}

static struct profile *merged(int a, int b)
{
	struct merge_input inputs[] = {{.name = "a.data", .fd = a}, {.name = "b.data", .fd = b}};
	struct merge_result result;
	int fd = memfd_create("merged", MFD_CLOEXEC);
	CHECK_OK(merge_write(
		&(struct merge_options){.inputs = inputs, .nr_inputs = 2, .takes_twice = true},
		(struct writer_sink){.write = file_write, .context = &fd}, &result));
	merge_result_deinit(&result);
	struct profile *profile = fixture_load(fd);
	close(a);
	close(b);
	close(fd);
	return profile;
}

static void check(const struct profile *profile, bool is_forced, const char *cpu_model,
	const char *arch, const char *event)
{
	struct baseline_facts facts = {0};
	CHECK_OK(baseline_facts_find(profile, is_forced, &facts));
	CHECK_STR(str_text(&facts.cpu_model), cpu_model);
	CHECK_STR(str_text(&facts.arch), arch);
	CHECK_STR(str_text(&facts.event), event);
	baseline_facts_deinit(&facts);
}

TEST(facts_of_a_recording)
{
	int fd = recording("A CPU", "x86_64");
	struct profile *profile = fixture_load(fd);
	check(profile, false, "A CPU", "x86_64", "cpu-clock");
	profile_destroy(profile);
	close(fd);
	fd = recording(NULL, "");
	profile = fixture_load(fd);
	check(profile, false, "unknown", "unknown", "cpu-clock");
	profile->samples.len = 0;
	check(profile, false, "unknown", "unknown", "none");
	profile_destroy(profile);
	close(fd);
}

TEST(facts_of_runs_that_agree)
{
	struct profile *profile =
		merged(recording("A CPU", "x86_64"), recording("A CPU", "x86_64"));
	check(profile, false, "A CPU", "x86_64", "cpu-clock");
	profile_destroy(profile);
}

TEST(facts_of_runs_that_do_not)
{
	struct baseline_facts facts = {0};
	struct profile *profile =
		merged(recording("A CPU", "x86_64"), recording("B CPU", "x86_64"));
	CHECK_ERR(baseline_facts_find(profile, false, &facts), ERR_USAGE,
		"b.data was made on another CPU model than a.data: B CPU, and A CPU (--force takes "
		"it)");
	CHECK(!facts.cpu_model.data);
	check(profile, true, "A CPU", "x86_64", "cpu-clock");
	profile_destroy(profile);
	profile = merged(recording("A CPU", "x86_64"), recording("A CPU", "aarch64"));
	CHECK_ERR(baseline_facts_find(profile, false, &facts), ERR_USAGE, "another architecture");
	CHECK(!facts.cpu_model.data && !facts.arch.data);
	check(profile, true, "A CPU", "x86_64", "cpu-clock");
	profile_destroy(profile);
	/* One that does not say differs, too. */
	profile = merged(recording("A CPU", NULL), recording(NULL, NULL));
	CHECK_ERR(baseline_facts_find(profile, false, &facts), ERR_USAGE, "unknown, and A CPU");
	profile_destroy(profile);
}
