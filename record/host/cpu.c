#include "record/host/cpu.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/str.h"
#include "format/base/vec.h"
#include "record/host/proc.h"

enum {
	MAX_CPUS = 1 << 16
};

bool cpu_list_has(const struct cpu_list *cpus, int cpu)
{
	vec_each(cpus, has)
		if (*has == cpu)
			return true;
	return false;
}

void cpu_list_add(struct cpu_list *cpus, int cpu)
{
	if (!cpu_list_has(cpus, cpu))
		vec_push(cpus, cpu);
}

struct err *cpu_list_parse(const char *text, struct cpu_list *ret)
{
	for (const char *at = text; *at && *at != '\n';) {
		char *end;
		long first = strtol(at, &end, 10), last = first;
		if (end == at || first < 0)
			return err_new(
				ERR_USAGE, "\"%s\" is not a list of CPUs such as 0-3,8", text);
		if (*end == '-') {
			at = end + 1;
			last = strtol(at, &end, 10);
			if (end == at || last < first)
				return err_new(ERR_USAGE,
					"\"%s\" is not a list of CPUs such as 0-3,8", text);
		}
		if (last >= MAX_CPUS)
			return err_new(
				ERR_USAGE, "CPU %ld: there are none beyond %d", last, MAX_CPUS);
		for (long cpu = first; cpu <= last; cpu++)
			vec_push(ret, (int)cpu);
		if (*end && *end != ',' && *end != '\n')
			return err_new(
				ERR_USAGE, "\"%s\" is not a list of CPUs such as 0-3,8", text);
		at = *end == ',' ? end + 1 : end;
	}
	return NULL;
}

struct err *cpu_list_online(struct cpu_list *ret)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	CLEANUP(str_deinit) struct str text = {0};
	if (!proc_read_file(path, &text))
		return err_new(ERR_IO, "cannot read %s", path);
	return err_wrap(cpu_list_parse(str_text(&text), ret), "%s", path);
}
