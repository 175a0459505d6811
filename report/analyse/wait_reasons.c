#include "report/analyse/wait_reasons.h"

#include <string.h>

#include "format/base/str.h"
#include "format/machine/machine.h"
#include "report/analyse/wakers.h"

/* X(enum, word) */
#define WAIT_REASONS(X) \
	X(WAIT_OTHER, "other") \
	X(WAIT_RUN_QUEUE, "run queue") \
	X(WAIT_FUTEX, "futex") \
	X(WAIT_POLL, "poll") \
	X(WAIT_SLEEP, "sleep") \
	X(WAIT_DISK, "disk") \
	X(WAIT_NET, "net") \
	X(WAIT_PIPE, "pipe") \
	X(WAIT_TERMINAL, "terminal") \
	X(WAIT_SIGNAL, "signal") \
	X(WAIT_IPC, "ipc") \
	X(WAIT_FAULT, "fault") \
	X(WAIT_CHILD, "child") \
	X(WAIT_KERNEL_LOCK, "kernel lock") \
	X(WAIT_FILE_LOCK, "file lock") \
	X(WAIT_STOPPED, "stopped") \
	X(WAIT_KERNEL_THREAD, "kernel thread") \
	X(WAIT_UNKNOWN, "unknown") /* there is no stack: it was over before that was read */

enum wait_reason {
#define X(reason, word) reason,
	WAIT_REASONS(X)
#undef X
	WAIT_REASON_COUNT,
};

/*
 * What the kernel's functions wait for, of Linux 5.10 to 7.2. Of the functions of a stack, from the
 * leaf on, the first that has a row decides. A name that ends with '*' stands for all that begin
 * so.
 */
static const struct wait_row {
	const char *function;
	enum wait_reason reason;
} wait_rows[] = {
	{"futex_wait*", WAIT_FUTEX},
	{"futex_do_wait", WAIT_FUTEX},
	{"futex_lock_pi*", WAIT_FUTEX},
	{"do_futex", WAIT_FUTEX},
	{"ep_poll", WAIT_POLL},
	{"do_epoll_wait", WAIT_POLL},
	{"poll_schedule_timeout", WAIT_POLL},
	{"do_sys_poll", WAIT_POLL},
	{"do_poll", WAIT_POLL},
	{"do_select", WAIT_POLL},
	{"core_sys_select", WAIT_POLL},
	{"io_cqring_wait*", WAIT_POLL},
	{"eventfd_read", WAIT_POLL},
	{"timerfd_read*", WAIT_POLL},
	{"inotify_read", WAIT_POLL},
	{"fanotify_read", WAIT_POLL},
	{"signalfd_*", WAIT_SIGNAL},
	{"do_nanosleep", WAIT_SLEEP},
	{"hrtimer_nanosleep", WAIT_SLEEP},
	{"common_nsleep*", WAIT_SLEEP},
	{"alarm_timer_nsleep", WAIT_SLEEP},
	{"msleep*", WAIT_SLEEP},
	{"usleep_range*", WAIT_SLEEP},
	{"io_schedule*", WAIT_DISK},
	{"bit_wait_io*", WAIT_DISK},
	{"folio_wait_*", WAIT_DISK},
	{"wait_on_page_bit*", WAIT_DISK},
	{"__wait_on_buffer", WAIT_DISK},
	{"submit_bio_wait", WAIT_DISK},
	{"blk_*", WAIT_DISK},
	{"blkdev_*", WAIT_DISK},
	{"balance_dirty_pages*", WAIT_DISK},
	{"wb_wait_for_completion", WAIT_DISK},
	{"jbd2_*", WAIT_DISK},
	{"ext4_*", WAIT_DISK},
	{"xfs_*", WAIT_DISK},
	{"xlog_*", WAIT_DISK},
	{"btrfs_*", WAIT_DISK},
	{"f2fs_*", WAIT_DISK},
	{"fuse_*", WAIT_DISK},
	{"request_wait_answer", WAIT_DISK},
	{"vfs_fsync*", WAIT_DISK},
	{"sync_*", WAIT_DISK},
	{"nfs*", WAIT_NET},
	{"rpc_*", WAIT_NET},
	{"sk_*", WAIT_NET},
	{"__skb_*", WAIT_NET},
	{"skb_*", WAIT_NET},
	{"sock_*", WAIT_NET},
	{"tcp_*", WAIT_NET},
	{"udp_*", WAIT_NET},
	{"inet_*", WAIT_NET},
	{"inet6_*", WAIT_NET},
	{"unix_*", WAIT_NET},
	{"vsock_*", WAIT_NET},
	{"netlink_*", WAIT_NET},
	{"__sys_recv*", WAIT_NET},
	{"__sys_send*", WAIT_NET},
	{"__sys_accept*", WAIT_NET},
	{"__sys_connect*", WAIT_NET},
	{"flock_lock_inode*", WAIT_FILE_LOCK},
	{"locks_lock_inode*", WAIT_FILE_LOCK},
	{"posix_lock_inode*", WAIT_FILE_LOCK},
	{"do_lock_file_wait*", WAIT_FILE_LOCK},
	{"__do_sys_flock", WAIT_FILE_LOCK},
	{"fcntl_setlk*", WAIT_FILE_LOCK},
	{"pipe_*", WAIT_PIPE},
	{"anon_pipe_*", WAIT_PIPE},
	{"fifo_open", WAIT_PIPE},
	{"wait_for_partner", WAIT_PIPE},
	{"n_tty_*", WAIT_TERMINAL},
	{"tty_*", WAIT_TERMINAL},
	{"do_sigtimedwait", WAIT_SIGNAL},
	{"sigsuspend", WAIT_SIGNAL},
	{"__do_sys_pause", WAIT_SIGNAL},
	{"__x64_sys_pause", WAIT_SIGNAL},
	{"do_semtimedop", WAIT_IPC},
	{"__do_semtimedop", WAIT_IPC},
	{"do_msgrcv", WAIT_IPC},
	{"do_msgsnd", WAIT_IPC},
	{"wq_sleep", WAIT_IPC},
	{"do_wait", WAIT_CHILD},
	{"__do_wait", WAIT_CHILD},
	{"kernel_wait4", WAIT_CHILD},
	{"wait_for_vfork_done", WAIT_CHILD},
	{"kernel_clone", WAIT_CHILD},
	{"__mutex_lock*", WAIT_KERNEL_LOCK},
	{"mutex_lock*", WAIT_KERNEL_LOCK},
	{"__ww_mutex_lock*", WAIT_KERNEL_LOCK},
	{"rwsem_*", WAIT_KERNEL_LOCK},
	{"down_*", WAIT_KERNEL_LOCK},
	{"__down*", WAIT_KERNEL_LOCK},
	{"percpu_rwsem_wait", WAIT_KERNEL_LOCK},
	{"__percpu_down_read*", WAIT_KERNEL_LOCK},
	{"percpu_down_write*", WAIT_KERNEL_LOCK},
	{"rt_mutex_*", WAIT_KERNEL_LOCK},
	{"rt_spin_lock*", WAIT_KERNEL_LOCK},
	{"synchronize_*", WAIT_KERNEL_LOCK},
	{"ptrace_stop", WAIT_STOPPED},
	{"ptrace_notify", WAIT_STOPPED},
	{"do_signal_stop", WAIT_STOPPED},
	{"do_jobctl_trap", WAIT_STOPPED},
	{"do_freezer_trap", WAIT_STOPPED},
	{"__refrigerator", WAIT_STOPPED},
	/* Before a faulting address is there: whatever that takes, it is a fault. */
	{"handle_mm_fault", WAIT_FAULT},
	{"do_user_addr_fault", WAIT_FAULT},
	{"do_page_fault", WAIT_FAULT},
	{"exc_page_fault", WAIT_FAULT},
	{"kthread", WAIT_KERNEL_THREAD},
};

/*
 * The kernel's own of giving up the CPU, which say nothing that the reason does not. It leaves them
 * (its "__sched" functions) out of the stack of a thread that sleeps already, which is how the wait
 * of one that slept as the recording began is read: without them here, too, both are one stack. Its
 * locks are such functions, too, and stay: they are the reason.
 */
static const char *const scheduling_functions[] = {"do_nanosleep", "schedule",
	"schedule_preempt_disabled", "schedule_timeout*", "schedule_hrtimeout*", "io_schedule*",
	"bit_wait*", "__wait_on_bit*", "out_of_line_wait_on_bit*", "do_wait_for_common",
	"wait_for_common*", "wait_for_completion*"};

/* By where it stands, so that a label of the recording's own is none. */
static const char reason_key[] = PROFILE_LABEL_REASON;

struct waiting_function {
	uint8_t reason; /* an enum wait_reason plus 1; 0: it says none */
	bool only_schedules;
};

struct reasons {
	struct profile *profile;
	struct waiting_function *of_functions; /* of those that were there at first */
	uint32_t frames[WAIT_REASON_COUNT];    /* 0: none yet */
	struct map calls;                      /* number of a system call plus 1 -> frame */
	struct map nodes;                      /* of profile_add_node() */
	struct map of_stacks;                  /* stack -> its reason */
	struct map labels;                     /* set << 32 | label's text -> the set with it */
	struct strtab texts;                   /* of labels: "key=value" */
	bool *interrupts;                      /* by waker */
	struct map stacks; /* stack << 32 | is on the run queue -> the new one */
};

static const char *word_of_reason(enum wait_reason reason)
{
	static const char *const words[] = {
#define X(reason, word) word,
		WAIT_REASONS(X)
#undef X
	};
	return words[reason];
}

/* A compiler's suffix (".constprop.0") is no part of the name. */
static bool is_of_pattern(const char *name, const char *pattern)
{
	size_t len = strlen(pattern);
	if (pattern[len - 1] == '*')
		return strncmp(name, pattern, len - 1) == 0;
	return strncmp(name, pattern, len) == 0 && (!name[len] || name[len] == '.');
}

static struct waiting_function what_waits_in(const char *name)
{
	struct waiting_function ret = {0};
	for (size_t i = 0; i < sizeof(wait_rows) / sizeof(*wait_rows) && !ret.reason; i++)
		if (is_of_pattern(name, wait_rows[i].function))
			ret.reason = (uint8_t)(wait_rows[i].reason + 1);
	for (size_t i = 0; i < sizeof(scheduling_functions) / sizeof(*scheduling_functions); i++)
		ret.only_schedules |= is_of_pattern(name, scheduling_functions[i]);
	return ret;
}

static struct waiting_function *find_waiting_functions(const struct profile *profile)
{
	struct waiting_function *ret = mem_zalloc_array(profile->functions.len + 1, sizeof(*ret));
	for (size_t i = 1; i < profile->functions.len; i++) {
		const struct profile_function *function = &profile->functions.data[i];
		if (profile_is_kernel(profile, function->object))
			ret[i] = what_waits_in(function->system_name);
	}
	return ret;
}

static const struct waiting_function *function_of_node(const struct reasons *reasons, uint32_t node)
{
	const struct profile *profile = reasons->profile;
	uint32_t frame = profile->nodes.data[node].frame;
	return &reasons->of_functions[profile->frames.data[frame].function];
}

static enum wait_reason reason_of_stack(const struct reasons *reasons, uint32_t stack)
{
	const struct profile *profile = reasons->profile;
	const struct profile_stack *it = &profile->stacks.data[stack];
	uint8_t found = 0;
	if (!it->kernel && !it->user)
		return WAIT_UNKNOWN;
	for (uint32_t node = it->kernel; node; node = profile->nodes.data[node].parent) {
		uint8_t reason = function_of_node(reasons, node)->reason;
		if (reason == WAIT_FAULT + 1)
			return WAIT_FAULT;
		found = found ? found : reason;
	}
	return found ? (enum wait_reason)(found - 1) : WAIT_OTHER;
}

static enum wait_reason known_reason_of_stack(struct reasons *reasons, uint32_t stack)
{
	bool added;
	uint64_t *known = map_put(&reasons->of_stacks, stack, &added);
	if (added)
		*known = reason_of_stack(reasons, stack);
	return (enum wait_reason) * known;
}

/* *known: one of the profile's own, 0 until it is made. */
static uint32_t object_of_leaves(struct profile *profile, uint32_t *known, const char *name)
{
	if (!*known) {
		struct profile_object object = {
			.info.kind = LAYOUT_OBJECT_KERNEL,
			.path = name,
			.name = name,
			.is_used = true,
		};
		*known = (uint32_t)profile->objects.len;
		vec_push(&profile->objects, object);
	}
	return *known;
}

/* The number tells it from others of the object, from 1 on: no two have one address. */
static uint32_t add_leaf(
	struct profile *profile, uint32_t object, uint32_t number, const struct str *name)
{
	const char *kept = arena_strndup(&profile->arena, name->data, name->len);
	struct profile_function function = {
		.name = kept,
		.system_name = kept,
		.object = object,
		.is_known = true,
		.start = number,
	};
	struct profile_frame frame = {
		.object = object,
		.function = (uint32_t)profile->functions.len,
		.offset = number,
	};
	vec_push(&profile->functions, function);
	vec_push(&profile->frames, frame);
	return (uint32_t)profile->frames.len - 1;
}

static uint32_t frame_of_reason(struct reasons *reasons, enum wait_reason reason)
{
	struct profile *profile = reasons->profile;
	if (reasons->frames[reason])
		return reasons->frames[reason];
	CLEANUP(str_deinit) struct str name = {0};
	str_printf(&name, "[wait: %s]", word_of_reason(reason));
	uint32_t object = object_of_leaves(profile, &profile->wait_object, PROFILE_WAITS);
	reasons->frames[reason] = add_leaf(profile, object, reason + 1, &name);
	return reasons->frames[reason];
}

static void put_syscall_name(const struct profile *profile, uint32_t number, struct str *name)
{
	const char *arch = profile_meta(profile, LAYOUT_META_ARCH);
	const struct machine *machine = arch ? machine_named(arch) : NULL;
	const char *known = machine ? machine_syscall_name(machine, number) : NULL;
	if (number == LAYOUT_SYSCALL_OF_32_BITS)
		str_puts(name, "[syscall: of a program of 32 bits]");
	else if (known)
		str_printf(name, "[syscall: %s]", known);
	else
		str_printf(name, "[syscall: %u]", number);
}

static uint32_t frame_of_call(struct reasons *reasons, uint32_t call)
{
	struct profile *profile = reasons->profile;
	bool added;
	uint64_t *frame = map_put(&reasons->calls, call, &added);
	if (!added)
		return (uint32_t)*frame;
	CLEANUP(str_deinit) struct str name = {0};
	put_syscall_name(profile, call - 1, &name);
	uint32_t object = object_of_leaves(profile, &profile->syscall_object, PROFILE_SYSCALLS);
	*frame = add_leaf(profile, object, call, &name);
	return (uint32_t)*frame;
}

/* The kernel's part of a stack, without what only gives up the CPU; never nothing. */
static uint32_t without_scheduling(const struct reasons *reasons, uint32_t kernel)
{
	uint32_t node = kernel;
	while (node && function_of_node(reasons, node)->only_schedules)
		node = reasons->profile->nodes.data[node].parent;
	return node ? node : kernel;
}

/* Of a wait by its reason, else by its system call. */
static uint32_t stack_with_leaf(struct reasons *reasons, uint32_t stack, enum profile_wait wait)
{
	struct profile *profile = reasons->profile;
	bool added, is_queued = wait == PROFILE_WAIT_RUN_QUEUE;
	uint64_t *known = map_put(&reasons->stacks, (uint64_t)stack << 32 | is_queued, &added);
	if (!added)
		return (uint32_t)*known;
	struct profile_stack copy = profile->stacks.data[stack];
	uint32_t frame = wait == PROFILE_NO_WAIT ? frame_of_call(reasons, copy.syscall)
			 : is_queued
				 ? frame_of_reason(reasons, WAIT_RUN_QUEUE)
				 : frame_of_reason(reasons, known_reason_of_stack(reasons, stack));
	if (wait == PROFILE_WAIT_BLOCKED)
		copy.kernel = without_scheduling(reasons, copy.kernel);
	copy.kernel = profile_add_node(profile, &reasons->nodes, copy.kernel, frame);
	*known = profile->stacks.len;
	vec_push(&profile->stacks, copy);
	return (uint32_t)*known;
}

/* The set with one label more. */
static uint32_t add_label(struct reasons *reasons, uint32_t set, const char *key, const char *value)
{
	struct profile *profile = reasons->profile;
	CLEANUP(str_deinit) struct str text = {0};
	bool added;
	str_printf(&text, "%s=%s", key, value);
	uint32_t id = strtab_intern(&reasons->texts, text.data, text.len);
	uint64_t *known = map_put(&reasons->labels, (uint64_t)set << 32 | id, &added);
	if (added) {
		*known = profile->labels.len;
		vec_push(&profile->labels,
			(struct profile_label){.rest = set,
				.kind = LAYOUT_LABEL_TEXT,
				.key = key,
				.text = arena_strndup(&profile->arena, value, strlen(value))});
	}
	return (uint32_t)*known;
}

/* By the reason; a blocked wait by its waker, too, where wakers were recorded. */
static void label_wait(
	struct reasons *reasons, struct profile_sample *sample, enum profile_wait wait)
{
	const struct profile *profile = reasons->profile;
	uint32_t waker = profile->stacks.data[sample->stack].waker;
	enum wait_reason reason = wait == PROFILE_WAIT_RUN_QUEUE
					  ? WAIT_RUN_QUEUE
					  : known_reason_of_stack(reasons, sample->stack);
	sample->labels = add_label(reasons, sample->labels, reason_key, word_of_reason(reason));
	if (wait != PROFILE_WAIT_BLOCKED || !profile->wakers.len)
		return;
	if (!reasons->interrupts)
		reasons->interrupts = wakers_find_interrupts(profile);
	sample->labels = add_label(reasons, sample->labels, PROFILE_LABEL_WAKER,
		waker_name(profile, waker, reasons->interrupts[waker]));
}

/* Stacks are fewer than samples, and stand in a row. */
static bool may_have_reasons(const struct profile *profile)
{
	vec_each(&profile->events, event)
		if (event->wait)
			return true;
	vec_each(&profile->stacks, stack)
		if (stack->syscall)
			return true;
	return false;
}

void wait_reasons_add(struct profile *profile)
{
	struct reasons reasons = {.profile = profile};
	if (!may_have_reasons(profile))
		return;
	vec_each(&profile->samples, sample) {
		enum profile_wait wait = profile->events.data[sample->event].wait;
		if (!wait && !profile->stacks.data[sample->stack].syscall)
			continue;
		if (wait && !reasons.of_functions)
			reasons.of_functions = find_waiting_functions(profile);
		if (wait)
			label_wait(&reasons, sample, wait);
		sample->stack = stack_with_leaf(&reasons, sample->stack, wait);
	}
	mem_free(reasons.of_functions);
	mem_free(reasons.interrupts);
	strtab_deinit(&reasons.texts);
	map_deinit(&reasons.of_stacks);
	map_deinit(&reasons.labels);
	map_deinit(&reasons.calls);
	map_deinit(&reasons.nodes);
	map_deinit(&reasons.stacks);
}

bool wait_reason_is_known(const char *word)
{
	for (int reason = 0; reason < WAIT_REASON_COUNT; reason++)
		if (strcmp(word_of_reason((enum wait_reason)reason), word) == 0)
			return true;
	return false;
}

void wait_reasons_hide(struct profile *profile, const char *const *words, size_t count)
{
	size_t kept = 0;
	vec_each(&profile->samples, sample) {
		bool is_hidden = false;
		uint32_t label = sample->labels;
		while (count && label && profile->labels.data[label].key != reason_key)
			label = profile->labels.data[label].rest;
		for (size_t i = 0; i < count && label && !is_hidden; i++)
			is_hidden = strcmp(profile->labels.data[label].text, words[i]) == 0;
		if (!is_hidden)
			profile->samples.data[kept++] = *sample;
	}
	profile->samples.len = kept;
}
