#include "record/event/pmu_cpus.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

#include "format/base/str.h"
#include "record/host/proc.h"

/* False: there is no such file, or it holds nothing of that kind. */
static bool read_pmu_type(const char *devices, const char *pmu, uint32_t *ret)
{
	CLEANUP(str_deinit) struct str path = {0}, text = {0};
	str_printf(&path, "%s/%s/type", devices, pmu);
	if (!proc_read_file(str_text(&path), &text))
		return false;
	char *end;
	errno = 0;
	unsigned long type = strtoul(str_text(&text), &end, 10);
	*ret = (uint32_t)type;
	return end != str_text(&text) && !errno && type <= UINT32_MAX;
}

static bool read_pmu_cpus(
	const char *devices, const char *pmu, const char *file, struct cpu_list *ret)
{
	CLEANUP(str_deinit) struct str path = {0}, text = {0};
	str_printf(&path, "%s/%s/%s", devices, pmu, file);
	if (!proc_read_file(str_text(&path), &text))
		return false;
	struct err *err = cpu_list_parse(str_text(&text), ret);
	bool is_list = !err;
	err_destroy(err);
	return is_list;
}

void pmu_cpus_read(const char *devices, struct pmu_cpus *ret)
{
	DIR *dir = opendir(devices);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		struct pmu_cpus_row row = {0};
		if (*entry->d_name == '.' || !read_pmu_type(devices, entry->d_name, &row.type))
			continue;
		row.is_of_cores = read_pmu_cpus(devices, entry->d_name, "cpus", &row.cpus);
		if (row.is_of_cores || read_pmu_cpus(devices, entry->d_name, "cpumask", &row.cpus))
			vec_push(ret, row);
		else
			vec_deinit(&row.cpus);
	}
	if (dir)
		closedir(dir);
}

void pmu_cpus_deinit(struct pmu_cpus *pmus)
{
	vec_each(pmus, pmu)
		vec_deinit(&pmu->cpus);
	vec_deinit(pmus);
}

static const struct pmu_cpus_row *find_pmu(const struct pmu_cpus *pmus, uint32_t type)
{
	vec_each(pmus, pmu)
		if (pmu->type == type)
			return pmu;
	return NULL;
}

bool pmu_cpus_has(const struct pmu_cpus *pmus, uint32_t type, int cpu)
{
	const struct pmu_cpus_row *pmu = find_pmu(pmus, type);
	return !pmu || cpu_list_has(&pmu->cpus, cpu);
}

static bool has_kinds_of_cores(const struct pmu_cpus *pmus)
{
	size_t count = 0;
	vec_each(pmus, pmu)
		count += pmu->is_of_cores;
	return count > 1;
}

/* Intel's P cores have the type of raw events, whose codes mean other events to its E cores. */
bool pmu_cpus_are_several(const struct pmu_cpus *pmus, uint32_t type)
{
	bool is_of_processor =
		type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
	return is_of_processor && !find_pmu(pmus, type) && has_kinds_of_cores(pmus);
}

bool pmu_cpus_are_some(const struct pmu_cpus *pmus, uint32_t type)
{
	const struct pmu_cpus_row *pmu = find_pmu(pmus, type);
	return pmu && pmu->is_of_cores && has_kinds_of_cores(pmus);
}

bool pmu_cpus_are_outside(const struct pmu_cpus *pmus, uint32_t type)
{
	const struct pmu_cpus_row *pmu = find_pmu(pmus, type);
	return pmu && !pmu->is_of_cores;
}
