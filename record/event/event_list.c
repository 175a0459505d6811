#include "record/event/event_list.h"

#include <dirent.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/base/str.h"
#include "record/event/event_names.h"
#include "record/event/event_spec.h"
#include "record/event/pmu.h"
#include "record/host/feature.h"
#include "record/host/tracefs.h"

struct event_listing {
	const char *pattern;
	event_list_fn *fn;
	void *context;
};

/* A pattern without wildcards is looked for anywhere in the name, as perf's. */
static bool matches_listing(const struct event_listing *listing, const char *name)
{
	CLEANUP(str_deinit) struct str anywhere = {0};
	if (!listing->pattern)
		return true;
	if (!name)
		return false;
	str_printf(&anywhere, "*%s*", listing->pattern);
	return fnmatch(strpbrk(listing->pattern, "*?[") ? listing->pattern : str_text(&anywhere),
		       name, 0) == 0;
}

static void list_event(const struct event_listing *listing, const struct event_listed *event)
{
	if (matches_listing(listing, event->name) || matches_listing(listing, event->alias))
		listing->fn(listing->context, event);
}

static struct err *try_tracepoint(const char *pattern)
{
	CLEANUP(tracepoints_deinit) struct tracepoints found = {0};
	CLEANUP_FD int root = -1;
	try(err_wrap(tracefs_open(&root), "%s", pattern));
	return tracefs_find(root, pattern, &found);
}

struct err *event_list_try(const struct event_spec *spec)
{
	struct perf_event_attr attr;
	if (spec->kind == EVENT_SPEC_TRACEPOINT)
		return try_tracepoint(spec->text);
	if (spec->kind != EVENT_SPEC_COUNTER && spec->kind != EVENT_SPEC_PMU)
		return NULL;
	try(pmu_describe(PMU_DEVICES, spec, &attr));
	return pmu_try(PMU_DEVICES, spec, &attr);
}

static void list_counter(const struct event_listing *listing, struct event_listed event)
{
	struct event_specs specs = {0};
	struct err *err = event_specs_parse(&specs, event.name);
	if (!err)
		err = event_list_try(specs.data);
	if (err)
		event.why = err_message(err);
	list_event(listing, &event);
	err_destroy(err);
	event_specs_deinit(&specs);
}

static const char cost_of_counter[] = "tens of ns an event; a sample about 10 us";

static void list_timer(const struct event_listing *listing)
{
	struct event_listed event = {.group = "time",
		.cost = "a sample about 10 us, 999 a second of CPU time (99 with -a)"};
	const char *no_cycles =
		feature_cycles_count() ? NULL : "the processor's counters are not to be had here";
	static const char *const rows[][3] = {
		{"cpu-clock", "ns", "where CPU time is spent, by a clock of the kernel"},
		{"cycles", "cycles", "where CPU time is spent, by the processor's counter"},
		{"auto", "ns", "cycles where they count, else cpu-clock: the default"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		event.name = rows[i][0];
		event.alias = i == 1 ? "cpu-cycles" : NULL;
		event.unit = rows[i][1];
		event.purpose = rows[i][2];
		event.why = i == 1 ? no_cycles : NULL;
		list_event(listing, &event);
	}
}

static void list_waits(const struct event_listing *listing)
{
	static const char *const rows[][2] = {
		{"offcpu", "what threads wait for while they are blocked"},
		{"runq", "threads that could run and have no CPU"},
		{"wall", "all of a thread's time: both of these and the time on a CPU"},
	};
	struct event_listed event = {.group = "waits",
		.unit = "ns",
		.cost = "hundreds of ns a switch; a sample about 10 us"};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		event.name = rows[i][0];
		event.purpose = rows[i][1];
		list_event(listing, &event);
	}
}

static void list_durations(const struct event_listing *listing)
{
	static const struct event_listed rows[] = {
		{"syscalls", NULL, "system calls", "ns", "how long each takes, and who calls it",
			"hundreds of ns a call in all processes; a sample about 10 us", NULL,
			false},
		{"syscall:NAME", NULL, "system calls", "ns", "this one alone",
			"hundreds of ns a call in all processes; a sample about 10 us", NULL, true},
		{"lock", NULL, "locks of the kernel", "ns",
			"waits for mutexes and semaphores of the kernel; -e offcpu has the users'",
			"hundreds of ns a contention; a sample about 10 us", NULL, false},
		{"blk-io", NULL, "requests to disks", "ns",
			"how long disks take, by disk, and who reads or writes (-s label:disk)",
			"under 1 us a request; a sample about 10 us", NULL, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		list_event(listing, &rows[i]);
}

static void list_names(const struct event_listing *listing, uint32_t type, const char *group)
{
	for (const struct event_name *row = event_names; row->name; row++)
		if (row->type == type)
			list_counter(listing,
				(struct event_listed){row->name, row->alias, group, row->unit,
					row->purpose, cost_of_counter, NULL, false});
}

static void list_caches(const struct event_listing *listing)
{
	struct event_cache_name row;
	for (size_t i = 0; event_cache_name_at(i, &row); i++)
		list_counter(
			listing, (struct event_listed){.name = row.name,
					 .group = "hardware caches",
					 .unit = strstr(row.name, "misses") ? "misses" : "accesses",
					 .purpose = "",
					 .cost = cost_of_counter});
}

/* Those that sysfs names: PMU/NAME/. Files with a dot are units and scales. */
static void list_pmu(const struct event_listing *listing, const char *pmu)
{
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, PMU_DEVICES "/%s/events", pmu);
	DIR *events = opendir(str_text(&path));
	for (struct dirent *entry; events && (entry = readdir(events));) {
		CLEANUP(str_deinit) struct str name = {0};
		if (strchr(entry->d_name, '.'))
			continue;
		str_printf(&name, "%s/%s/", pmu, entry->d_name);
		list_counter(listing, (struct event_listed){.name = str_text(&name),
					      .group = "units of the processor",
					      .unit = "events",
					      .purpose = "",
					      .cost = cost_of_counter});
	}
	if (events)
		closedir(events);
}

static void list_pmus(const struct event_listing *listing)
{
	DIR *devices = opendir(PMU_DEVICES);
	for (struct dirent *entry; devices && (entry = readdir(devices));)
		if (*entry->d_name != '.')
			list_pmu(listing, entry->d_name);
	if (devices)
		closedir(devices);
}

static void list_forms(const struct event_listing *listing)
{
	static const struct event_listed rows[] = {
		{"rHEX", NULL, "raw", "events", "an event of the processor by its number",
			cost_of_counter, NULL, true},
		{"PMU/TERM=N,.../", NULL, "raw", "events", "by the terms of a unit in " PMU_DEVICES,
			cost_of_counter, NULL, true},
		{"mem:ADDRESS/BYTES:rwx", NULL, "raw", "hits", "who reads or writes an address",
			"a trap an access, about 1 us", NULL, true},
		{"uprobe:PATH:FUNCTION", NULL, "probes of user code", "hits",
			"each call of a function", "1 to 10 us a hit", NULL, true},
		{"uprobe:PATH:FILE:LINE", NULL, "probes of user code", "hits",
			"each time that a line of a source file is come to", "1 to 10 us a hit",
			NULL, true},
		{"uretprobe:PATH:FUNCTION", NULL, "probes of user code", "hits",
			"each return of a function", "1 to 10 us a hit", NULL, true},
		{"duration:PATH:FUNCTION", NULL, "probes of user code", "ns",
			"how long a function takes, from its entry to its return",
			"2 to 20 us a call", NULL, true},
		{"usdt:PATH:PROVIDER:NAME", NULL, "probes of user code", "hits",
			"a probe that the authors put there: record --list-usdt PATH",
			"1 to 10 us a hit", NULL, true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		list_event(listing, &rows[i]);
}

/* ---- tracepoints ---- */

struct tracepoint_names {
	char **data;
	size_t len, cap;
};

static void keep_tracepoint(void *context, const char *name)
{
	vec_push((struct tracepoint_names *)context, mem_strdup(name));
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t list_tracepoints(const struct event_listing *listing)
{
	struct tracepoint_names names = {0};
	CLEANUP_FD int root = -1;
	struct err *err = tracefs_open(&root);
	if (!err)
		tracefs_each(root, keep_tracepoint, &names);
	err_destroy(err);
	if (names.len)
		qsort(names.data, names.len, sizeof(*names.data), compare_texts);
	vec_each(&names, name) {
		struct event_listed event = {.name = *name,
			.group = "tracepoints",
			.unit = "hits",
			.purpose = "",
			.cost = "1 us a hit in all processes; a sample about 10 us"};
		if (listing->pattern)
			list_event(listing, &event);
		mem_free(*name);
	}
	size_t count = names.len;
	vec_deinit(&names);
	return count;
}

size_t event_list_each(const char *pattern, event_list_fn *fn, void *context)
{
	struct event_listing listing = {pattern, fn, context};
	list_timer(&listing);
	list_waits(&listing);
	list_durations(&listing);
	list_names(&listing, PERF_TYPE_SOFTWARE, "software");
	list_names(&listing, PERF_TYPE_HARDWARE, "hardware");
	list_caches(&listing);
	list_pmus(&listing);
	list_forms(&listing);
	return list_tracepoints(&listing);
}
