/* What containers and pods are called: by labels of some of their samples. */
#include "report/load/group_names.h"

#include <string.h>

#include "format/base/str.h"
#include "report/analyse/scope.h"
#include "tests/unit/forged.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

#define ID(digit)     digit "123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DOCKER(digit) "/system.slice/docker-" ID(digit) ".scope"
#define POD_UID       "2b801b7a-5266-4386-864e-45ed71136371"

struct grouped {
	struct fixture fixture;
	uint32_t stack;
};

static void grouped_begin(struct grouped *grouped)
{
	uint32_t thread;
	uint32_t object = fixture_begin(&grouped->fixture, "[vdso]", &thread);
	uint32_t frame = fixture_frame(&grouped->fixture, object, 0x10, "run");
	grouped->stack = FIXTURE_STACK(&grouped->fixture, frame);
}

static uint32_t grouped_label(
	struct grouped *grouped, uint32_t rest, const char *key, const char *value)
{
	struct layout_label label = {.rest = rest,
		.key = fixture_string(&grouped->fixture, key),
		.value = fixture_string(&grouped->fixture, value)};
	return writer_label(grouped->fixture.writer, &label);
}

/* Of a process in that control group: one sample without labels, one with these. */
static void grouped_process(struct grouped *grouped, uint32_t pid, const char *cgroup,
	const char *container, uint32_t labels)
{
	struct fixture *fixture = &grouped->fixture;
	struct layout_process process = {.pid = pid,
		.cgroup = fixture_string(fixture, cgroup),
		.container = fixture_string(fixture, container)};
	uint32_t thread =
		fixture_thread(fixture, writer_process(fixture->writer, &process), pid, "app");
	const uint32_t sets[] = {0, labels};
	for (size_t i = 0; i < 2; i++) {
		struct layout_sample sample = {.time_ns = fixture->time_ns += 1000000,
			.event = fixture->event,
			.thread = thread,
			.user_stack = grouped->stack,
			.weight = 1,
			.labels = sets[i]};
		writer_sample(fixture->writer, &sample);
	}
}

static const struct profile_process *process_with(const struct profile *profile, uint32_t pid)
{
	vec_each(&profile->processes, process)
		if (process->info.pid == pid)
			return process;
	CHECK(!"the process is there");
	return NULL;
}

TEST(one_sample_names_a_container_and_its_other_processes)
{
	struct grouped grouped;
	grouped_begin(&grouped);
	uint32_t web = grouped_label(&grouped, 0, "container.name", "web");
	grouped_process(&grouped, 11, DOCKER("0"), ID("0"), web);
	grouped_process(&grouped, 12, DOCKER("0"), ID("0"), 0);
	grouped_process(&grouped, 13, DOCKER("a"), ID("a"), 0);
	grouped_process(&grouped, 14, "/user.slice", "", web);
	struct profile *profile = fixture_profile(&grouped.fixture);
	CHECK_STR(scope_container(process_with(profile, 11)), "web");
	CHECK_STR(scope_container(process_with(profile, 12)), "web");
	CHECK_STR(scope_container(process_with(profile, 13)), ID("a"));
	CHECK_STR(scope_container(process_with(profile, 14)), "/user.slice");
	CHECK(scope_is_within(process_with(profile, 12), "web"));
	CHECK(scope_is_within(process_with(profile, 12), "0123456789ab"));
	CHECK(!scope_is_within(process_with(profile, 12), "we"));
	CHECK(scope_is_in_container(process_with(profile, 12), ID("0")));
	CHECK(!scope_is_in_container(process_with(profile, 13), "web"));
	profile_destroy(profile);
}

TEST(containers_of_one_name_are_told_apart)
{
	struct grouped grouped;
	grouped_begin(&grouped);
	uint32_t web = grouped_label(&grouped, 0, "container.name", "web");
	grouped_process(&grouped, 11, DOCKER("0"), ID("0"), web);
	grouped_process(&grouped, 12, DOCKER("a"), ID("a"), web);
	struct profile *profile = fixture_profile(&grouped.fixture);
	CHECK_STR(scope_container(process_with(profile, 11)), "web (0123456789ab)");
	CHECK_STR(scope_container(process_with(profile, 12)), "web (a123456789ab)");
	CHECK(scope_is_within(process_with(profile, 11), "web"));
	CHECK(scope_is_within(process_with(profile, 12), "web"));
	profile_destroy(profile);
}

TEST(pods_and_their_containers_have_the_names_of_kubernetes)
{
	static const char cgroup[] = "/kubepods/burstable/pod" POD_UID "/" ID("0");
	struct grouped grouped;
	grouped_begin(&grouped);
	uint32_t space = grouped_label(&grouped, 0, "k8s.namespace.name", "shop");
	uint32_t pod = grouped_label(&grouped, space, "k8s.pod.name", "cart-7d9");
	grouped_process(&grouped, 11, cgroup, ID("0"),
		grouped_label(&grouped, pod, "k8s.container.name", "app"));
	grouped_process(&grouped, 12, "/system.slice/nginx.service", "", 0);
	struct profile *profile = fixture_profile(&grouped.fixture);
	const struct profile_process *process = process_with(profile, 11);
	CHECK_STR(scope_container(process), "shop/cart-7d9/app");
	CHECK_STR(scope_pod(process), "shop/cart-7d9");
	CHECK_STR(process->pod, POD_UID);
	CHECK_STR(process_with(profile, 12)->unit, "nginx.service");
	CHECK_STR(scope_pod(process_with(profile, 12)), "");
	CHECK(scope_is_within(process, "cart-7d9"));
	CHECK(scope_is_within(process, "shop/cart-7d9"));
	CHECK(scope_is_within(process, "app"));
	CHECK(!scope_is_within(process, "shop"));
	CHECK(scope_is_within(process, POD_UID));
	profile_destroy(profile);
}
