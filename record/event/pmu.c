#include "record/event/pmu.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/base/nearest.h"
#include "format/base/str.h"
#include "record/host/feature.h"
#include "record/host/proc.h"

/* A file of the PMU, without the newline at its end. False: there is none. */
static bool read_sysfs(
	const char *devices, const char *pmu, const char *folder, const char *name, struct str *ret)
{
	CLEANUP(str_deinit) struct str path = {0};
	if (strchr(name, '/') || strchr(pmu, '/'))
		return false;
	str_printf(&path, "%s/%s/%s%s", devices, pmu, folder, name);
	if (!proc_read_file(str_text(&path), ret))
		return false;
	if (ret->len && ret->data[ret->len - 1] == '\n')
		str_truncate(ret, ret->len - 1);
	return true;
}

/* Those that there are, and which of them is meant. */
static void put_known(const char *devices, const char *pmu, const char *folder, const char *wanted,
	struct str *out)
{
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "%s/%s/%s", devices, pmu, folder);
	DIR *dir = opendir(str_text(&path));
	struct nearest nearest = nearest_to(wanted);
	struct str known = {0};
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		if (*entry->d_name == '.' || strchr(entry->d_name, '.'))
			continue;
		nearest_offer(&nearest, entry->d_name);
		str_puts(&known, known.len ? ", " : "");
		str_puts_escaped(&known, entry->d_name);
	}
	if (nearest.word)
		str_printf(out, ", did you mean %s?", nearest.word);
	else if (known.len)
		str_printf(out, ", there are: %.1000s", str_text(&known));
	if (dir)
		closedir(dir);
	str_deinit(&known);
}

/* ---- terms ---- */

static uint64_t *config_of(struct perf_event_attr *attr, const char *name, size_t len)
{
	static const char config[] = "config";
	if (len < strlen(config) || memcmp(name, config, strlen(config)) != 0)
		return NULL;
	if (len == strlen(config))
		return (uint64_t *)&attr->config;
	if (len != strlen(config) + 1)
		return NULL;
	switch (name[len - 1]) {
	case '1':
		return (uint64_t *)&attr->config1;
	case '2':
		return (uint64_t *)&attr->config2;
	case '3':
		return (uint64_t *)&attr->sig_data; /* config3 since Linux 6.3 follows it */
	default:
		return NULL;
	}
}

/* Puts a number where "config:0-7,32-35" says, the low bits first. False: it does not fit. */
static bool put_bits(struct perf_event_attr *attr, const char *format, uint64_t value)
{
	size_t len = strcspn(format, ":");
	uint64_t *config = config_of(attr, format, len);
	if (!config || config == (uint64_t *)&attr->sig_data || !format[len])
		return false;
	for (const char *at = format + len + 1; *at;) {
		char *end;
		unsigned long first = strtoul(at, &end, 10), last = first;
		if (end == at)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (first > last || last > 63)
			return false;
		for (unsigned long bit = first; bit <= last; bit++, value >>= 1)
			*config |= (value & 1) << bit;
		at = *end == ',' ? end + 1 : end;
		if (*end && *end != ',')
			return false;
	}
	return value == 0;
}

static bool read_value(const char *text, uint64_t *ret)
{
	char *end;
	errno = 0;
	*ret = strtoull(text, &end, 0);
	return end != text && !*end && !errno && *text != '-';
}

static struct err *put_pmu_term(const char *devices, const char *pmu, const char *name,
	const char *text, struct perf_event_attr *attr)
{
	CLEANUP(str_deinit) struct str format = {0};
	uint64_t value = 1;
	uint64_t *config = config_of(attr, name, strlen(name));
	if (text && !read_value(text, &value))
		return err_new(ERR_USAGE, "%s/%s=%s/: not a number", pmu, name, text);
	if (config == (uint64_t *)&attr->sig_data)
		return err_new(ERR_USAGE, "%s/config3=/ is not supported", pmu);
	if (config && text) {
		*config = value;
		return NULL;
	}
	if (read_sysfs(devices, pmu, "format/", name, &format)) {
		if (put_bits(attr, str_text(&format), value))
			return NULL;
		return err_new(ERR_USAGE, "%s/%s=%s/: does not fit into %s", pmu, name,
			text ? text : "1", str_text(&format));
	}
	CLEANUP(str_deinit) struct str known = {0};
	put_known(devices, pmu, "format", name, &known);
	return err_new(ERR_USAGE, "PMU %s has no term \"%s\"%s", pmu, name, str_text(&known));
}

/* An event that the kernel names: "event=0x3c,umask=0x1". */
static struct err *put_alias(
	const char *devices, const char *pmu, const char *text, struct perf_event_attr *attr)
{
	CLEANUP_FREE char *copy = mem_strdup(text);
	char *rest = copy;
	for (char *term; (term = strsep(&rest, ","));) {
		char *value = strchr(term, '=');
		if (value)
			*value++ = 0;
		try(put_pmu_term(devices, pmu, term, value, attr));
	}
	return NULL;
}

static struct err *pmu_put_terms(
	const char *devices, const struct event_spec *spec, struct perf_event_attr *attr)
{
	CLEANUP(str_deinit) struct str type = {0};
	uint64_t number;
	if (!read_sysfs(devices, spec->text, "", "type", &type) ||
		!read_value(str_text(&type), &number)) {
		CLEANUP(str_deinit) struct str known = {0};
		put_known(devices, "", "", spec->text, &known);
		return err_new(
			ERR_USAGE, "there is no PMU \"%s\" here%s", spec->text, str_text(&known));
	}
	attr->type = (uint32_t)number;
	vec_each(&spec->terms, term) {
		CLEANUP(str_deinit) struct str alias = {0};
		bool is_alias = !term->value &&
				read_sysfs(devices, spec->text, "events/", term->name, &alias);
		try(is_alias ? put_alias(devices, spec->text, str_text(&alias), attr)
			     : put_pmu_term(devices, spec->text, term->name, term->value, attr));
	}
	return NULL;
}

/* ---- all of an event ---- */

static void put_modifiers(const struct event_modifiers *modifiers, struct perf_event_attr *attr)
{
	bool has_level = modifiers->user || modifiers->kernel || modifiers->hypervisor;
	attr->exclude_user = has_level && !modifiers->user;
	attr->exclude_kernel = has_level && !modifiers->kernel;
	attr->exclude_hv = !modifiers->hypervisor;
	attr->exclude_guest = modifiers->host && !modifiers->guest;
	attr->exclude_host = modifiers->guest && !modifiers->host;
	attr->exclude_idle = modifiers->excludes_idle;
	attr->pinned = modifiers->is_pinned;
	attr->exclusive = modifiers->is_exclusive;
	attr->precise_ip = modifiers->is_most_precise ? 3 : modifiers->precise & 3;
}

struct err *pmu_describe(
	const char *devices, const struct event_spec *spec, struct perf_event_attr *ret)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = spec->type, .config = spec->config, .disabled = 1};
	put_modifiers(&spec->modifiers, &attr);
	if (spec->kind == EVENT_SPEC_PMU) {
		try(pmu_put_terms(devices, spec, &attr));
	} else if (spec->type == PERF_TYPE_BREAKPOINT) {
		attr.bp_addr = spec->config1;
		attr.bp_len = spec->config2;
		attr.bp_type = spec->breakpoint_type;
	}
	attr.freq = spec->frequency_hz != 0;
	if (spec->frequency_hz)
		attr.sample_freq = spec->frequency_hz;
	else
		attr.sample_period = spec->period;
	*ret = attr;
	return NULL;
}

static bool is_hardware(uint32_t type)
{
	return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
}

static struct err *explain_refusal(const struct perf_event_attr *attr, const char *name, int errnum)
{
	bool is_unknown = errnum == ENOENT || errnum == EOPNOTSUPP || errnum == ENODEV;
	if (is_unknown && is_hardware(attr->type))
		return err_new(ERR_UNSUPPORTED,
			"%s: the processor's counters are not to be had here, as in most virtual "
			"machines: try it on the host, or another event of ebprof list",
			name);
	if (is_unknown)
		return err_new(ERR_UNSUPPORTED, "%s: this kernel does not count that", name);
	if (errnum == EINVAL && attr->type == PERF_TYPE_BREAKPOINT)
		return err_new(ERR_USAGE,
			"%s: the processor cannot watch that: the address has to be a multiple of "
			"the length, which is 1, 2, 4 or 8",
			name);
	if (errnum == EINVAL && attr->freq && attr->type == PERF_TYPE_SOFTWARE)
		return err_new(ERR_USAGE,
			"%s: -F %llu is more than kernel.perf_event_max_sample_rate", name,
			(unsigned long long)attr->sample_freq);
	if (errnum == ENOSPC || errnum == EBUSY)
		return err_new(
			ERR_UNSUPPORTED, "%s: all of the processor's counters are in use", name);
	return err_wrap(feature_explain(err_sys(errnum, "perf_event_open")), "%s", name);
}

/* Where to read a PMU that is outside of the cores; -1: anywhere. */
static int cpu_outside(const char *devices, const struct event_spec *spec)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (spec->kind != EVENT_SPEC_PMU ||
		!read_sysfs(devices, spec->text, "", "cpumask", &text) || !text.len)
		return -1;
	return (int)strtol(str_text(&text), NULL, 10);
}

/* That a hypervisor's are left out is our own wish, see put_modifiers(). */
static bool forget_hypervisor(struct perf_event_attr *attr)
{
	bool may = attr->exclude_hv && !attr->exclude_user && !attr->exclude_kernel;
	if (may)
		attr->exclude_hv = 0;
	return may;
}

/* With a period of 0 it is counted, and not sampled. */
static bool opens_with_period(
	const struct perf_event_attr *attr, pid_t pid, int cpu, uint64_t period)
{
	struct perf_event_attr copy = *attr;
	copy.freq = 0;
	copy.sample_period = period;
	CLEANUP_FD int fd =
		(int)syscall(SYS_perf_event_open, &copy, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd >= 0;
}

/* Many PMUs outside of the cores have no interrupt: no overflow would be seen. */
static bool is_only_counted(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	static const uint64_t usual_period = 1 << 30;
	return !opens_with_period(attr, pid, cpu, usual_period) &&
	       opens_with_period(attr, pid, cpu, 0);
}

struct err *pmu_try(
	const char *devices, const struct event_spec *spec, struct perf_event_attr *attr)
{
	int cpu = cpu_outside(devices, spec);
	pid_t pid = cpu < 0 ? 0 : -1;
	for (;;) {
		CLEANUP_FD int fd =
			(int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		int errnum = errno;
		if (fd >= 0)
			return NULL;
		bool may_be_level = errnum == EOPNOTSUPP || errnum == EINVAL || errnum == ENOENT;
		if (errnum == EINVAL && attr->type >= PERF_TYPE_MAX && forget_hypervisor(attr))
			continue;
		if (may_be_level && attr->sample_period && is_only_counted(attr, pid, cpu))
			return err_new(ERR_UNSUPPORTED,
				"%s: its PMU counts and cannot sample: ebprof stat counts it",
				spec->name);
		if (!attr->precise_ip || !may_be_level)
			return explain_refusal(attr, spec->name, errnum);
		attr->precise_ip--;
	}
}
