#include "record/host/feature.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "record/host/proc.h"
#include "record/host/uprobe.h"

/* linux/capability.h of old distributions lacks the newest names. */
enum {
	CAP_PERFMON_BIT = 38,
	CAP_BPF_BIT = 39,
};

static bool has_capability(int bit)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};
	if (syscall(SYS_capget, &header, data))
		return false;
	return data[bit / 32].effective >> (bit % 32) & 1;
}

/* A number in a file of /proc/sys; `fallback` where there is no such file. */
static long feature_read_number(const char *path, long fallback)
{
	CLEANUP(str_deinit) struct str text = {0};
	return proc_read_file(path, &text) && text.len ? strtol(str_text(&text), NULL, 10)
						       : fallback;
}

static bool file_contains(const char *path, const char *part)
{
	CLEANUP(str_deinit) struct str text = {0};
	return proc_read_file(path, &text) && strstr(str_text(&text), part);
}

static bool can_bpf(void)
{
	return has_capability(CAP_BPF_BIT) || has_capability(CAP_SYS_ADMIN);
}

static bool can_perfmon(void)
{
	return has_capability(CAP_PERFMON_BIT) || has_capability(CAP_SYS_ADMIN);
}

/* ---- locked memory: before 5.11 the maps and programs of BPF count against its limit ---- */

enum {
	/* What the recorder's maps and buffers take on a small machine, with a reserve. */
	LOCKED_MEMORY_NEEDED_BYTES = 24 << 20,
};

void feature_raise_locked_memory(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY},
		      highest = {limit.rlim_max, limit.rlim_max};
	if (setrlimit(RLIMIT_MEMLOCK, &none))
		setrlimit(RLIMIT_MEMLOCK, &highest);
}

/* Not by libbpf, which raises the limit by itself. An errno; 0 when the map can be made. */
static int try_map(unsigned bytes)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = 8,
		.max_entries = bytes / 8,
	};
	CLEANUP_FD int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	return fd < 0 ? errno : 0;
}

/* Opening nothing needs no memory: only who forbids the whole of bpf(2) says EPERM. */
static bool is_bpf_forbidden(void)
{
	union bpf_attr attr = {0};
	CLEANUP_FD int fd = (int)syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof(attr));
	return fd < 0 && errno == EPERM;
}

static bool is_locked_memory_counted(void)
{
	struct rlimit old;
	if (is_bpf_forbidden() || getrlimit(RLIMIT_MEMLOCK, &old))
		return false;
	struct rlimit nothing = {0, old.rlim_max};
	setrlimit(RLIMIT_MEMLOCK, &nothing);
	bool is_counted = try_map(8) == EPERM;
	setrlimit(RLIMIT_MEMLOCK, &old);
	return is_counted;
}

static bool is_locked_memory_short(void)
{
	if (!can_bpf() || !is_locked_memory_counted())
		return false;
	feature_raise_locked_memory();
	return try_map(LOCKED_MEMORY_NEEDED_BYTES) == EPERM;
}

/* ---- calls of programs ---- */

/* An errno; 0 when the program can be loaded: it calls a function, and then what a map has. */
static int try_tail_call(int programs)
{
	enum {
		FUNCTION = 9, /* where it is */
		CALL = 1,     /* ... called from */
	};
	const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1},
		{.code = BPF_JMP | BPF_CALL,
			.src_reg = BPF_PSEUDO_CALL,
			.imm = FUNCTION - CALL - 1},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 6},
		{.code = BPF_LD | BPF_IMM | BPF_DW,
			.dst_reg = 2,
			.src_reg = BPF_PSEUDO_MAP_FD,
			.imm = programs},
		{0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (uintptr_t)code,
		.insn_cnt = sizeof(code) / sizeof(*code),
		.license = (uintptr_t) "Dual BSD/GPL",
	};
	CLEANUP_FD int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	return fd < 0 ? errno : 0;
}

bool feature_has_tail_calls(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_PROG_ARRAY,
		.key_size = 4,
		.value_size = 4,
		.max_entries = 1,
	};
	CLEANUP_FD int programs = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	return programs < 0 || try_tail_call(programs) != EINVAL;
}

/* ---- the matrix ---- */

static void set(struct feature_result *result, enum feature_state state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void set(struct feature_result *result, enum feature_state state, const char *fmt, ...)
{
	result->state = state;
	va_list args;
	va_start(args, fmt);
	str_vprintf(&result->detail, fmt, args);
	va_end(args);
}

static void probe_kernel(struct feature_result *result)
{
	struct utsname name;
	uname(&name);
	set(result, FEATURE_OK, "%s %s", name.release, name.machine);
}

static void probe_bpf(struct feature_result *result)
{
	feature_raise_locked_memory();
	int error = try_map(8);
	if (!error)
		set(result, FEATURE_OK, "maps can be created");
	else if (!can_bpf())
		set(result, FEATURE_MISSING, "no CAP_BPF: run with sudo, or setcap cap_bpf+ep");
	else if (error == EPERM && is_locked_memory_short())
		set(result, FEATURE_LIMITED, "cannot be tried, locked memory is short");
	else
		set(result, FEATURE_MISSING, "bpf(2): %s%s", strerror(error),
			error == EPERM ? " although CAP_BPF is there: seccomp or lockdown" : "");
}

static void probe_perfmon(struct feature_result *result)
{
	long paranoid = feature_read_number("/proc/sys/kernel/perf_event_paranoid", 2);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
	};
	CLEANUP_FD int fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		set(result, FEATURE_OK, "system-wide timers open (perf_event_paranoid %ld)",
			paranoid);
	else if (!can_perfmon())
		set(result, FEATURE_MISSING,
			"no CAP_PERFMON: run with sudo, or setcap cap_perfmon+ep");
	else if (paranoid > 2 && !has_capability(CAP_SYS_ADMIN))
		set(result, FEATURE_MISSING,
			"perf_event_paranoid is %ld: set it to 2 or less, or use CAP_SYS_ADMIN",
			paranoid);
	else
		set(result, FEATURE_MISSING, "perf_event_open(2): %s%s", strerror(errno),
			errno == EPERM ? ": seccomp (a container's default profile) or lockdown"
				       : "");
}

static void probe_btf(struct feature_result *result)
{
	struct stat st;
	if (stat("/sys/kernel/btf/vmlinux", &st) == 0)
		set(result, FEATURE_OK, "/sys/kernel/btf/vmlinux, %lld KiB",
			(long long)st.st_size / 1024);
	else
		set(result, FEATURE_MISSING,
			"no /sys/kernel/btf/vmlinux: a kernel with CONFIG_DEBUG_INFO_BTF is "
			"needed");
}

static void probe_lockdown(struct feature_result *result)
{
	static const char path[] = "/sys/kernel/security/lockdown";
	if (file_contains(path, "[confidentiality]"))
		set(result, FEATURE_MISSING,
			"lockdown=confidentiality: BPF may not read memory; boot with integrity or "
			"none");
	else
		set(result, FEATURE_OK, "%s",
			file_contains(path, "[integrity]") ? "integrity" : "none");
}

static void probe_ring_buffer(struct feature_result *result)
{
	if (!can_bpf())
		set(result, FEATURE_LIMITED, "cannot be tried without CAP_BPF");
	else if (libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL) > 0)
		set(result, FEATURE_OK, "BPF_MAP_TYPE_RINGBUF");
	else if (is_bpf_forbidden() || is_locked_memory_short())
		set(result, FEATURE_LIMITED, "cannot be tried, %s",
			is_bpf_forbidden() ? "bpf(2) is forbidden" : "locked memory is short");
	else
		set(result, FEATURE_MISSING, "Linux 5.8 or later is needed");
}

static void probe_tail_calls(struct feature_result *result)
{
	if (!can_bpf() || is_bpf_forbidden())
		set(result, FEATURE_LIMITED, "cannot be tried without BPF");
	else if (feature_has_tail_calls())
		set(result, FEATURE_OK, "programs with functions can call others");
	else if (!feature_read_number("/proc/sys/net/core/bpf_jit_enable", 1))
		set(result, FEATURE_MISSING,
			"the kernel does not compile BPF: sysctl -w net.core.bpf_jit_enable=1");
	else
		set(result, FEATURE_OK,
			"programs with functions cannot call others (before Linux 6.0): each walks "
			"whole stacks by itself");
}

static void probe_memlock(struct feature_result *result)
{
	struct rlimit limit;
	if (!can_bpf() || is_bpf_forbidden())
		set(result, FEATURE_LIMITED, "cannot be tried without BPF");
	else if (!is_locked_memory_counted())
		set(result, FEATURE_OK, "does not limit BPF here (since Linux 5.11)");
	else if (!is_locked_memory_short())
		set(result, FEATURE_OK, "can be raised as far as BPF needs it");
	else if (!getrlimit(RLIMIT_MEMLOCK, &limit))
		set(result, FEATURE_MISSING,
			"limited to %llu KiB: ulimit -l unlimited, or CAP_SYS_RESOURCE to raise it",
			(unsigned long long)limit.rlim_max / 1024);
}

bool feature_cycles_count(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
	};
	CLEANUP_FD int fd =
		(int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	for (volatile int i = 0; fd >= 0 && i < 100000; i++)
		;
	uint64_t count = 0;
	return fd >= 0 && read(fd, &count, sizeof(count)) == sizeof(count) && count;
}

static void probe_cycles(struct feature_result *result)
{
	if (feature_cycles_count())
		set(result, FEATURE_OK, "count");
	else if (!can_perfmon())
		set(result, FEATURE_LIMITED, "cannot be tried without CAP_PERFMON");
	else
		set(result, FEATURE_LIMITED,
			"do not count here (a virtual machine?): using cpu-clock");
}

static void probe_kallsyms(struct feature_result *result)
{
	/* The first symbols are offsets of per-CPU data, on most kernels from 0 on. */
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address = 0;
	while (file && !address && fscanf(file, "%llx%*[^\n]", &address) == 1)
		;
	if (file)
		fclose(file);
	long restrict_level = feature_read_number("/proc/sys/kernel/kptr_restrict", 0);
	if (address)
		set(result, FEATURE_OK, "addresses are visible (kptr_restrict %ld)",
			restrict_level);
	else
		set(result, FEATURE_LIMITED,
			"addresses are hidden, kernel functions stay unnamed: %s",
			restrict_level >= 2 ? "kptr_restrict is 2, set it to 1 or 0"
					    : "needs CAP_SYSLOG");
}

static void probe_ptrace(struct feature_result *result)
{
	CLEANUP(str_deinit) struct str maps = {0};
	bool is_readable = proc_read_file("/proc/1/maps", &maps) || has_capability(CAP_SYS_PTRACE);
	if (is_readable)
		set(result, FEATURE_OK, "mappings of other users' processes can be read");
	else
		set(result, FEATURE_LIMITED,
			"no CAP_SYS_PTRACE: of processes of other users that run already, code "
			"cannot be distinguished");
}

static void probe_pid_namespace(struct feature_result *result)
{
	enum {
		INITIAL_PID_NAMESPACE = 0xEFFFFFFC, /* PROC_PID_INIT_INO, include/linux/proc_ns.h */
	};
	struct stat st;
	struct err *err = proc_check_namespace();
	if (err)
		set(result, FEATURE_MISSING, "%s", err_message(err));
	else if (stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == INITIAL_PID_NAMESPACE)
		set(result, FEATURE_OK, "the initial one");
	else
		set(result, FEATURE_OK,
			"a container's own: its processes can be recorded, others with --pid=host");
	err_destroy(err);
}

static void probe_uprobes(struct feature_result *result)
{
	if (!uprobe_is_known())
		set(result, FEATURE_LIMITED,
			"no /sys/bus/event_source/devices/uprobe: usdt events need "
			"CONFIG_UPROBE_EVENTS");
	else if (!uprobe_counts_semaphores())
		set(result, FEATURE_LIMITED, "without semaphores, which need Linux 4.20");
	else if (!can_bpf() || !can_perfmon())
		set(result, FEATURE_LIMITED, "cannot be tried without CAP_BPF and CAP_PERFMON");
	else if (!uprobe_has_cookies())
		set(result, FEATURE_LIMITED, "one probe at a time: more need Linux 5.15");
	else
		set(result, FEATURE_OK, "probes can be attached to files");
}

static const struct {
	const char *name;
	void (*probe)(struct feature_result *result);
} probes[] = {
	{"kernel", probe_kernel},
	{"BPF (CAP_BPF)", probe_bpf},
	{"perf events (CAP_PERFMON)", probe_perfmon},
	{"BTF", probe_btf},
	{"lockdown", probe_lockdown},
	{"BPF ring buffer", probe_ring_buffer},
	{"BPF tail calls", probe_tail_calls},
	{"locked memory", probe_memlock},
	{"hardware cycles", probe_cycles},
	{"uprobes (usdt events)", probe_uprobes},
	{"kernel symbols (CAP_SYSLOG)", probe_kallsyms},
	{"other processes (CAP_SYS_PTRACE)", probe_ptrace},
	{"pid namespace", probe_pid_namespace},
};

bool feature_probe(size_t index, struct feature_result *ret)
{
	if (index >= sizeof(probes) / sizeof(*probes))
		return false;
	*ret = (struct feature_result){.name = probes[index].name};
	probes[index].probe(ret);
	return true;
}

bool feature_records_commands(struct str *why)
{
	size_t len = why->len;
	struct feature_result result;
	for (size_t i = 0; feature_probe(i, &result); i++) {
		if (result.state == FEATURE_MISSING)
			str_printf(why, "%s%s: %s", why->len > len ? "; " : "", result.name,
				str_text(&result.detail));
		str_deinit(&result.detail);
	}
	return why->len == len;
}

void feature_put_refusal(struct str *ret, const char *log)
{
	static const char before[] = "prog '", behind[] = "\nprocessed ";
	const char *name = strstr(log, before), *end = NULL;
	for (const char *at = log; (at = strstr(at, behind)); at++)
		end = at;
	if (!name || !end || name > end)
		return;
	name += strlen(before);
	const char *line = end;
	while (line[-1] != '\n' && line > name)
		line--;
	str_printf(ret, "%.*s, \"%.*s\"", (int)strcspn(name, "'"), name, (int)(end - line), line);
}

static struct err *replace_message(struct err *err, const char *message)
{
	struct err *other = err_new(err_code(err), "%s", message);
	err_destroy(err);
	return other;
}

struct err *feature_explain(struct err *err)
{
	CLEANUP(str_deinit) struct str text = {0};
	struct feature_result result;
	if (!can_bpf() && !can_perfmon()) { /* a user like any other */
		str_printf(&text,
			"this needs root: run it with sudo, or give the program CAP_BPF and "
			"CAP_PERFMON, see ebprof-internals(7) (%s)",
			err_message(err));
		return replace_message(err, str_text(&text));
	}
	str_puts(&text, err_message(err));
	for (size_t i = 0; feature_probe(i, &result); i++) {
		if (result.state == FEATURE_MISSING)
			str_printf(
				&text, "; missing: %s: %s", result.name, str_text(&result.detail));
		str_deinit(&result.detail);
	}
	return replace_message(err, str_text(&text));
}
