#include "cmd/record_options.h"

#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/runtime/runtime_names.h"
#include "record/source/sources.h"

enum {
	DEFAULT_HZ = 999, /* for a command or pids; off the beat of things that run at 1000 Hz */
	DEFAULT_HZ_SYSTEM = 99,
	MAX_HZ = 100000,
};

/* ---- parsers ---- */

static struct err *parse_frequency(const char *text, void *member)
{
	struct record_options *options = member;
	options->frequency_given = true;
	options->frequency_is_max = false;
	if (strcmp(text, "max") == 0) {
		uint64_t max = MAX_HZ;
		FILE *file = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
		unsigned long allowed;
		if (file && fscanf(file, "%lu", &allowed) == 1 && allowed < max)
			max = allowed;
		if (file)
			fclose(file);
		options->frequency_hz = (uint32_t)max;
		options->frequency_is_max = true;
		return NULL;
	}
	try(opt_u32(text, &options->frequency_hz));
	if (!options->frequency_hz || options->frequency_hz > MAX_HZ)
		return err_new(ERR_USAGE, "%s Hz is not between 1 and %d", text, MAX_HZ);
	return NULL;
}

static struct err *parse_period(const char *text, void *member)
{
	struct record_options *options = member;
	options->period_given = true;
	return opt_u64(text, &options->period);
}

/* perf's ":u" and ":k" behind an event. */
static struct err *parse_modifiers(const char *text, struct record_options *options)
{
	bool user = strchr(text, 'u'), kernel = strchr(text, 'k');
	if (!*text || text[strspn(text, "uk")])
		return err_new(ERR_USAGE, "\":%s\": only :u and :k are known", text);
	options->all_user |= user && !kernel;
	options->all_kernel |= kernel && !user;
	return NULL;
}

static struct err *parse_event(const char *text, void *member)
{
	struct record_options *options = member;
	struct record_events *events = &options->events;
	static const char usdt[] = "usdt:";
	static const struct {
		const char *name;
		enum session_event event;
	} names[] = {
		{"auto", SESSION_EVENT_AUTO},
		{"cycles", SESSION_EVENT_CYCLES},
		{"cpu-cycles", SESSION_EVENT_CYCLES},
		{"cpu-clock", SESSION_EVENT_CPU_CLOCK},
	};
	if (strncmp(text, usdt, strlen(usdt)) == 0) {
		vec_push(&events->usdt, text + strlen(usdt));
		return NULL;
	}
	size_t len = strcspn(text, ":");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strlen(names[i].name) != len || memcmp(text, names[i].name, len) != 0)
			continue;
		events->timer = names[i].event;
		events->is_timer_given = true;
		return text[len] ? parse_modifiers(text + len + 1, options) : NULL;
	}
	CLEANUP(str_deinit) struct str known = {0};
	sources_put_help(&known);
	return err_new(ERR_USAGE, "\"%s\" is none of %s", text, str_text(&known));
}

static struct err *parse_snapshot_bytes(const char *text, struct record_call_graph *call_graph)
{
	enum {
		MIN = 1024,
		MAX = 64 << 10
	};
	uint64_t bytes;
	try(opt_size(text, &bytes));
	if (bytes < MIN || bytes > MAX)
		return err_new(ERR_USAGE, "%s bytes of a stack: not between 1K and 64K", text);
	call_graph->snapshot_bytes = (uint32_t)bytes;
	return NULL;
}

static struct err *parse_call_graph(const char *text, void *member)
{
	struct record_call_graph *call_graph = member;
	static const struct {
		const char *name;
		enum session_call_graph how;
	} names[] = {
		{"auto", SESSION_CALL_GRAPH_AUTO},
		{"fp", SESSION_CALL_GRAPH_FP},
		{"dwarf", SESSION_CALL_GRAPH_DWARF},
		{"both", SESSION_CALL_GRAPH_BOTH},
	};
	size_t len = strcspn(text, ",");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strlen(names[i].name) != len || memcmp(text, names[i].name, len) != 0)
			continue;
		call_graph->how = names[i].how;
		return text[len] ? parse_snapshot_bytes(text + len + 1, call_graph) : NULL;
	}
	return err_new(ERR_USAGE, "\"%s\" is none of auto, dwarf[,BYTES], fp", text);
}

static struct err *parse_switch(const char *text, void *member)
{
	struct session_switch *switching = member;
	if (!text || strcmp(text, "signal") == 0) {
		switching->on_signal = true;
		return NULL;
	}
	struct err *err = opt_size(text, &switching->bytes);
	/* "10M" is a size, "10m", "10s" and "10" are times: the unit decides. */
	bool is_size = !err && strpbrk(text, "BKMG");
	err_destroy(err);
	if (is_size)
		return NULL;
	switching->bytes = 0;
	try(opt_duration(text, &switching->interval_ns));
	return NULL;
}

static struct err *parse_ring(const char *text, void *member)
{
	uint64_t *bytes = member;
	struct err *err = opt_u64(text, bytes); /* perf: a bare number counts pages */
	if (!err) {
		*bytes *= (uint64_t)sysconf(_SC_PAGESIZE);
	} else {
		err_destroy(err);
		try(opt_size(text, bytes));
	}
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	if (*bytes < page || *bytes > (1 << 30) || *bytes & (*bytes - 1))
		return err_new(
			ERR_USAGE, "\"%s\" is not a power of two between a page and 1 GiB", text);
	return NULL;
}

static struct err *parse_unwanted_runtimes(const char *text, void *member)
{
	return runtime_names_parse(text, member);
}

/* --no-NAME: what --no-vm NAME is. */
#define DEFINE_PARSE_NO(kind, number, runtime) \
	static struct err *parse_no_##runtime(const char *text, void *member) \
	{ \
		(void)text; \
		return runtime_names_parse(#runtime, member); \
	}
RUNTIMES(DEFINE_PARSE_NO)

/* getpwnam() would ask shared libraries, which a static program does not have. */
static bool find_user(const char *name, uint32_t *uid)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user = NULL;
	while (file && (user = fgetpwent(file)) && strcmp(user->pw_name, name) != 0)
		;
	if (user)
		*uid = user->pw_uid;
	if (file)
		fclose(file);
	return user;
}

static struct err *parse_user(const char *text, void *member)
{
	struct record_options *options = member;
	options->of_user = true;
	if (find_user(text, &options->uid))
		return NULL;
	if (!isdigit((unsigned char)*text))
		return err_new(ERR_USAGE,
			"/etc/passwd has no user \"%s\": give the number of the user", text);
	return opt_u32(text, &options->uid);
}

static struct err *parse_cpus(const char *text, void *member)
{
	return cpu_list_parse(text, member);
}

/* ---- rows ---- */

#define FIELD(name) offsetof(struct record_options, name)

const struct opt record_options_rows[] = {
	{"pid", 'p', "PID[,PID]", opt_u32_list, FIELD(pids), "profile running processes", "What",
		NULL},
	{"tid", 't', "TID[,TID]", opt_u32_list, FIELD(tids), "profile single threads", NULL, NULL},
	{"all-cpus", 'a', NULL, opt_flag, FIELD(all), "profile the whole system", NULL, NULL},
	{"uid", 'u', "USER", parse_user, 0, "profile all processes of a user: name or number", NULL,
		NULL},
	{"cpu", 'C', "LIST", parse_cpus, FIELD(cpus), "only these CPUs: 0-3,8", NULL, NULL},
	{"all-user", 0, NULL, opt_flag, FIELD(all_user), "only ticks in user code", NULL, NULL},
	{"all-kernel", 0, NULL, opt_flag, FIELD(all_kernel), "only ticks in the kernel", NULL,
		NULL},
	{"no-inherit", 'i', NULL, opt_flag, FIELD(no_inherit), "do not follow new children", NULL,
		NULL},
	{"tree", 0, NULL, opt_flag, FIELD(tree),
		"with -p: the children that run already, and theirs, too", NULL, NULL},
	{"freq", 'F', "N|max", parse_frequency, 0,
		"samples a second and CPU (999; 99 with -a, -u); max: for 25% of the CPU time",
		"How", NULL},
	{"count", 'c', "N", parse_period, 0, "a sample every N events instead", NULL, NULL},
	{"event", 'e', "EVENT", parse_event, 0,
		"cycles, cpu-clock, auto: cycles where they count; usdt:PATH:PROVIDER:NAME", NULL,
		NULL},
	{"list-usdt", 0, "PATH", opt_string, FIELD(listed_path),
		"print the USDT probes of a program or library, and end", NULL, NULL},
	{"call-graph", 0, "HOW", parse_call_graph, FIELD(call_graph),
		"how to unwind: auto, fp (frame pointers), dwarf[,BYTES] (by the report)", NULL,
		NULL},
	{"no-vm", 0, "NAME[,NAME]|all", parse_unwanted_runtimes, FIELD(unwanted_runtimes),
		"without the frames of what these interpreters run: python, ruby ...", NULL, NULL},
#define ROW_NO(kind, number, runtime) \
	{"no-" #runtime, 0, NULL, parse_no_##runtime, FIELD(unwanted_runtimes), \
		"--no-vm " #runtime, NULL, NULL},
	RUNTIMES(ROW_NO) // a line of its own
	{"usdt-stacks", 0, "LANG[:PATH],...", opt_string, FIELD(usdt_stacks),
		"script frames by USDT probes of functions: php, python, ruby", NULL, NULL},
	{"call-stacks", 'g', NULL, opt_flag, FIELD(call_stacks), "stacks are always recorded", NULL,
		NULL},
	{"unwind-memory", 0, "SIZE", opt_size, FIELD(table_bytes),
		"for unwind tables in the kernel", NULL, "32M"},
	{"unwind-cache", 0, "DIR", opt_cache_folder, FIELD(cache_folder),
		"where unwind tables are kept between recordings; none: nowhere", NULL, NULL},
	{"delay", 'D', "MS", opt_milliseconds, FIELD(delay_ns), "begin after so many ms", NULL,
		NULL},
	{"duration", 0, "TIME", opt_duration, FIELD(duration_ns),
		"stop after this time: 5, 2.5s, 1m", NULL, NULL},
	{"mmap-size", 'm', "PAGES|SIZE", parse_ring, FIELD(ring_bytes), "size of the ring buffer",
		NULL, "4M"},
	{"output", 'o', "FILE|-", opt_string, FIELD(output), "where to", "Output", "ebprof.data"},
	{"archive", 0, NULL, opt_flag, FIELD(archives),
		"put names and lines into the file at the end, to read it anywhere", NULL, NULL},
	{"no-archive", 0, NULL, opt_flag, FIELD(archives_nothing),
		"not even those of files that will be gone", NULL, NULL},
	{"max-size", 0, "SIZE", opt_size, FIELD(max_bytes), "stop when the file has this size",
		NULL, NULL},
	{"switch-output", 0, "[signal|SIZE|TIME]", parse_switch, FIELD(switching),
		"begin another file at SIGUSR2, at a size (10M) or after a time (30s)", NULL, NULL},
	{"switch-max-files", 0, "N", opt_u32, FIELD(switching.max_files),
		"keep only the last N of them", NULL, NULL},
	{"with-args", 0, NULL, opt_flag, FIELD(with_args),
		"store the command's arguments (they may hold secrets)", NULL, NULL},
	{"quiet", 'q', NULL, opt_flag, FIELD(quiet), "say nothing but errors", NULL, NULL},
	{"verbose", 'v', NULL, opt_flag, FIELD(verbose), "say where every tick went", NULL, NULL},
	{"dry-run", 0, NULL, opt_flag, FIELD(dry_run), "set everything up, then end", NULL, NULL},
	{"debug-stall", 0, "TIME", opt_duration, FIELD(stall_ns),
		"read nothing from the ring for so long (for tests)", NULL, NULL},
	{"debug-archive-time", 0, "TIME", opt_duration, FIELD(gone_names_ns),
		"how long names of files that will be gone may take (for tests)", NULL, NULL},
	{0},
};

const struct opt_foreign record_options_foreign[] = {
	{"--rate", "samply's name; here it is -F HZ"},
	{"-r", "perf's realtime priority or samply's rate? For the rate use -F HZ"},
	{"-b", "branch stacks are not recorded"},
	{"-j", "branch stacks are not recorded"},
	{"-d", "addresses of data are not recorded"},
	{"-W", "only one event is sampled, with the weight of its period"},
	{"-R", "ebprof convert --json and --perf-script write all that is recorded of a sample"},
	{"-G", "all control groups are recorded; ebprof report --container chooses of them"},
	{"--cgroup", "all control groups are recorded; ebprof report --container chooses of them"},
	{"-k", "times are CLOCK_MONOTONIC's"},
	{"--clockid", "times are CLOCK_MONOTONIC's"},
	{"--filter", "ebprof report chooses: by thread, file, function, container, time"},
	{"--per-thread", "-t TID records one, ebprof report -s tid shows them one by one"},
	{"--overwrite", "--switch-output and --switch-max-files keep the newest files"},
	{"-s", NULL}, /* counts of each thread: report -s tid */
	{"-T", NULL},
	{"--timestamp", NULL},
	{"-P", NULL},
	{"--period", NULL},
	{"--sample-cpu", NULL},
	{"-z", NULL},
	{"--compression-level", NULL},
	{"-N", NULL},
	{"--no-buildid-cache", NULL},
	{"--buildid-all", NULL},
	{"--namespaces", NULL},
	{"--all-cgroups", NULL},
	{"--strict-freq", NULL},
	{"--off-cpu", "this version samples on-CPU time only"},
	{"--timeout", "here it is --duration TIME"},
	{0},
};

/* ---- checks ---- */

struct err *record_options_choose_target(
	const struct record_options *options, int operands, enum session_target *ret)
{
	/* -a is what -u is anyway, but for the others. */
	int chosen = (options->pids.len > 0) + (options->tids.len > 0) +
		     (options->all || options->of_user);
	if (!chosen && !operands)
		return err_new(ERR_USAGE, "no target: give -- COMMAND, -p PID, -u USER or -a (see "
					  "ebprof record --help)");
	if (chosen > 1)
		return err_new(ERR_USAGE, "give one of -p, -t, -u and -a");
	/* With one of them, a command is not what is profiled: recording lasts while it runs. */
	*ret = options->pids.len   ? SESSION_PROCESSES
	       : options->tids.len ? SESSION_THREADS
	       : options->of_user  ? SESSION_USER
	       : options->all      ? SESSION_SYSTEM
				   : SESSION_COMMAND;
	return NULL;
}

static struct err *check_events(struct record_options *options)
{
	struct record_events *events = &options->events;
	if (!events->usdt.len)
		return NULL;
	if (!events->is_timer_given)
		events->timer = SESSION_EVENT_NONE;
	if (options->cpus.len)
		return err_new(ERR_USAGE, "-C chooses CPUs of the timer; probes are hit on any");
	if (options->call_graph.how == SESSION_CALL_GRAPH_BOTH)
		return err_new(ERR_USAGE, "--call-graph both compares ticks, not hits of probes");
	if (events->timer == SESSION_EVENT_NONE && (options->frequency_given || options->period))
		return err_new(ERR_USAGE, "-F and -c are the timer's: give -e cpu-clock, too");
	return NULL;
}

/* Only walks by tables know where an interpreter's loop is. */
static struct err *check_usdt_stacks(const struct record_options *options)
{
	if (!options->usdt_stacks)
		return NULL;
	if (options->call_graph.how != SESSION_CALL_GRAPH_AUTO)
		return err_new(ERR_USAGE, "--usdt-stacks goes with --call-graph auto only");
	if (options->unwanted_runtimes)
		return err_new(ERR_USAGE, "--usdt-stacks and --no-vm exclude each other");
	return NULL;
}

static bool has_switch(const struct record_options *options)
{
	const struct session_switch *switching = &options->switching;
	return switching->on_signal || switching->bytes || switching->interval_ns;
}

bool record_options_keep_files(const struct record_options *options)
{
	return options->archives || (!options->archives_nothing && !has_switch(options) &&
					    strcmp(options->output, "-") != 0);
}

struct err *record_options_check(struct record_options *options, enum session_target target)
{
	if (options->period_given && !options->period)
		return err_new(ERR_USAGE,
			"-c 0: the number of events between two samples must be 1 or more");
	if (options->frequency_given && options->period)
		return err_new(ERR_USAGE, "-F and -c exclude each other");
	if (options->tree && target != SESSION_PROCESSES)
		return err_new(ERR_USAGE, "--tree goes with -p PID");
	try(check_events(options));
	try(check_usdt_stacks(options));
	if (!options->frequency_given && !options->period &&
		options->events.timer != SESSION_EVENT_NONE)
		options->frequency_hz = target == SESSION_SYSTEM || target == SESSION_USER
						? DEFAULT_HZ_SYSTEM
						: DEFAULT_HZ;
	enum {
		SMALLEST_MAX_BYTES = 64 << 10
	};
	if (options->max_bytes && options->max_bytes < SMALLEST_MAX_BYTES)
		return err_new(ERR_USAGE, "--max-size: less than 64K holds no useful recording");
	if (options->all_user && options->all_kernel)
		return err_new(ERR_USAGE, "--all-user and --all-kernel exclude each other");
	const struct session_switch *switching = &options->switching;
	if (switching->bytes && switching->bytes < SMALLEST_MAX_BYTES)
		return err_new(
			ERR_USAGE, "--switch-output: less than 64K holds no useful recording");
	bool switches = has_switch(options);
	if (switches && strcmp(options->output, "-") == 0)
		return err_new(ERR_USAGE, "--switch-output needs a file, not standard output");
	if (options->archives && options->archives_nothing)
		return err_new(ERR_USAGE, "--archive and --no-archive exclude each other");
	if (options->archives && strcmp(options->output, "-") == 0)
		return err_new(ERR_USAGE, "--archive needs a file, not standard output");
	if (options->archives && switches)
		return err_new(ERR_USAGE, "--archive and --switch-output exclude each other: use "
					  "ebprof archive on the files");
	return NULL;
}

void record_options_deinit(struct record_options *options)
{
	vec_deinit(&options->pids);
	vec_deinit(&options->tids);
	vec_deinit(&options->cpus);
	vec_deinit(&options->events.usdt);
}
