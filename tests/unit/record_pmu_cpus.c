/* Folders as /sys/bus/event_source/devices has them on processors with one kind of cores and with
 * two. */
#include "record/event/pmu_cpus.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/unit/unit.h"

static void put_pmu(const char *pmu, const char *type, const char *file, const char *cpus)
{
	char path[64];
	FILE *out;
	mkdir(pmu, 0777);
	snprintf(path, sizeof(path), "%s/type", pmu);
	if ((out = fopen(path, "w"))) {
		fputs(type, out);
		fclose(out);
	}
	snprintf(path, sizeof(path), "%s/%s", pmu, file ? file : "");
	if (file && (out = fopen(path, "w"))) {
		fputs(cpus, out);
		fclose(out);
	}
}

TEST(pmu_of_all_cores)
{
	struct pmu_cpus pmus = {0};
	put_pmu("armv8_pmuv3_0", "9\n", "cpus", "0-3\n");
	put_pmu("software", "1\n", NULL, NULL);
	put_pmu("uncore_imc", "17\n", "cpumask", "0,18\n");
	put_pmu("strange", "none\n", "cpus", "0\n");
	put_pmu("broken", "18\n", "cpus", "x\n");
	pmu_cpus_read(".", &pmus);
	CHECK_INT(pmus.len, 2);
	CHECK(!pmu_cpus_are_several(&pmus, PERF_TYPE_HARDWARE));
	CHECK(!pmu_cpus_are_some(&pmus, 9));
	CHECK(pmu_cpus_has(&pmus, PERF_TYPE_HARDWARE, 7));
	CHECK(pmu_cpus_has(&pmus, PERF_TYPE_SOFTWARE, 7));
	CHECK(pmu_cpus_has(&pmus, 18, 7));
	CHECK(pmu_cpus_has(&pmus, 17, 18));
	CHECK(!pmu_cpus_has(&pmus, 17, 1));
	pmu_cpus_deinit(&pmus);
	pmu_cpus_read("nowhere", &pmus);
	CHECK_INT(pmus.len, 0);
}

TEST(pmu_of_big_and_of_little_cores)
{
	struct pmu_cpus pmus = {0};
	put_pmu("armv8_cortex_a53", "8\n", "cpus", "0-3\n");
	put_pmu("armv8_cortex_a73", "9\n", "cpus", "4-7\n");
	pmu_cpus_read(".", &pmus);
	CHECK(pmu_cpus_are_several(&pmus, PERF_TYPE_HARDWARE));
	CHECK(pmu_cpus_are_several(&pmus, PERF_TYPE_HW_CACHE));
	CHECK(pmu_cpus_are_several(&pmus, PERF_TYPE_RAW));
	CHECK(!pmu_cpus_are_several(&pmus, PERF_TYPE_SOFTWARE));
	CHECK(!pmu_cpus_are_several(&pmus, 9));
	CHECK(pmu_cpus_are_some(&pmus, 9));
	CHECK(!pmu_cpus_are_some(&pmus, PERF_TYPE_HARDWARE));
	CHECK(pmu_cpus_has(&pmus, PERF_TYPE_HARDWARE, 0) && pmu_cpus_has(&pmus, 9, 4));
	CHECK(!pmu_cpus_has(&pmus, 9, 0) && !pmu_cpus_has(&pmus, 8, 4));
	pmu_cpus_deinit(&pmus);
}

/* The type of Intel's P cores is that of raw events (Alder Lake, Linux 6.1). */
TEST(pmu_of_p_and_of_e_cores)
{
	struct pmu_cpus pmus = {0};
	put_pmu("cpu_core", "4\n", "cpus", "0-15\n");
	put_pmu("cpu_atom", "10\n", "cpus", "16-23\n");
	pmu_cpus_read(".", &pmus);
	CHECK(pmu_cpus_are_several(&pmus, PERF_TYPE_HARDWARE));
	CHECK(!pmu_cpus_are_several(&pmus, PERF_TYPE_RAW));
	CHECK(pmu_cpus_are_some(&pmus, PERF_TYPE_RAW) && pmu_cpus_are_some(&pmus, 10));
	CHECK(!pmu_cpus_has(&pmus, PERF_TYPE_RAW, 16));
	pmu_cpus_deinit(&pmus);
}
