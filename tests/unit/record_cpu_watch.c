#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "record/host/cpu_watch.h"
#include "tests/unit/unit.h"

enum {
	INTERVAL_NS = 1000 * 1000 * 1000,
};

static void watch_cpus(struct cpu_watch *watch, uint64_t now_ns)
{
	cpu_watch_init(watch, now_ns);
	if (!watch->cpus.len)
		unit_skip("no perf events here");
	usleep(2000);
}

TEST(cpus_that_stay_online_have_no_gap)
{
	struct cpu_watch watch;
	uint64_t now_ns = clock_now_ns();
	watch_cpus(&watch, now_ns);
	for (int i = 1; i <= 3; i++) {
		cpu_watch_check(&watch, now_ns + i * (uint64_t)INTERVAL_NS);
		CHECK_INT(watch.gaps.len, 0);
		usleep(2000);
	}
	cpu_watch_deinit(&watch);
}

/* As the kernel leaves an event of a CPU that went and came: valid, and its time stands still. */
TEST(a_dead_event_is_found_and_replaced)
{
	struct cpu_watch watch;
	uint64_t now_ns = clock_now_ns();
	watch_cpus(&watch, now_ns);
	size_t nr_cpus = watch.cpus.len;
	int cpu = watch.cpus.data[0].cpu;
	cpu_watch_check(&watch, now_ns + INTERVAL_NS);
	CHECK_INT(ioctl(watch.cpus.data[0].fd, PERF_EVENT_IOC_DISABLE, 0), 0);
	cpu_watch_check(&watch, now_ns + 2 * (uint64_t)INTERVAL_NS);
	usleep(2000);
	cpu_watch_check(&watch, now_ns + 2 * (uint64_t)INTERVAL_NS + 1); /* not due */
	CHECK_INT(watch.gaps.len, 0);
	cpu_watch_check(&watch, now_ns + 3 * (uint64_t)INTERVAL_NS);
	CHECK_INT(watch.gaps.len, 1);
	CHECK_INT(watch.gaps.data[0].cpu, cpu);
	CHECK_INT(watch.gaps.data[0].from_ns, now_ns + 2 * (uint64_t)INTERVAL_NS);
	CHECK_INT(watch.gaps.data[0].until_ns, now_ns + 3 * (uint64_t)INTERVAL_NS);
	CHECK_INT(watch.cpus.len, nr_cpus);
	usleep(2000);
	cpu_watch_check(&watch, now_ns + 4 * (uint64_t)INTERVAL_NS);
	CHECK_INT(watch.gaps.len, 0);
	cpu_watch_deinit(&watch);
}
