/*
 * Where a CPU puts a sample together, and the walk of its user stack as far as
 * it has come: BPF's own stack has no room for that.
 */
#ifndef EBPROF_SCRATCH_BPF_H
#define EBPROF_SCRATCH_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/mapping.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/runtime/runtime_walk.bpf.h"
#include "bpf/walked_task.bpf.h"
#include "format/unwind/unwind_step.h"

#include <bpf/bpf_helpers.h>

struct user_stack {
	struct event_stack head;
	__u64 frame[EVENT_MAX_USER_FRAMES];
};

struct kernel_stack {
	struct event_stack head;
	__u64 address[EVENT_MAX_KERNEL_FRAMES];
};

enum {
	WINDOW_BYTES = 1024,
	WINDOW_BELOW_BYTES = 64, /* of a return address: where its function saved registers */
};

/* A piece of the stack around the word that was asked for last. */
struct window {
	__u64 address; /* 0: nothing was read */
	__u8 bytes[WINDOW_BYTES + sizeof(__u64)];
};

enum {
	RECENT_MAPPINGS = 4, /* a power of two: an index is masked */
};

/*
 * Mappings that walks of this address space came to last, side by side: stacks go to and fro
 * between the same few, and what is kept of all of them (mapping_cache) is in cold memory.
 */
struct recent_mappings {
	__u64 identity; /* of the address space */
	__u64 next;     /* to be replaced */
	struct mapping mapping[RECENT_MAPPINGS];
};

/* Whether the walk begins once more where a runtime is met that the process was not known to have.
 */
enum walk_again {
	WALK_GOES_ON = 0,
	WALK_MISSED_CODE, /* it does: generated code was walked over that no runtime claimed */
	WALK_SEEKS,       /* ... by frame pointers, for nothing but the runtime */
	WALK_IS_AGAIN,    /* it did, or has sought one in vain */
};

struct walk {
	struct unwind_registers regs;
	struct address_space space;
	struct unwind_rule rule; /* of the frame at hand */
	struct mapping mapping;  /* of the frame before: neighbours are often in the same */
	struct window window;
	struct runtime_walk runtime;
	struct maple_search search;
	__u64 hash;
	__u64 uprobe_page;     /* where the process has it, see uprobe_page.bpf.h */
	__u64 first_return;    /* of those that lead there, in the thread's list; 0: none */
	__u64 return_instance; /* ... where the walk has come to */
	__u8 is_exact;         /* ip is where the frame is, not where a call returns to */
	__u8 found;            /* enum unwind_found: how the frame was found, */
	__u8 finds;            /* ... and how its caller is, by the rule */
	__u8 has_builtins; /* of a runtime, without rules: the mapping at hand is of such a file */
	__u8 again;        /* enum walk_again */
	__u8 is_shown;     /* the frame at hand was pushed, though the runtime could not leave it */
	__u8 asks;         /* the walk ended where the recorder is to read code */
	__u8 guess; /* enum event_stack_end: why the frame had to be guessed; 0: it was not */
	__u8 end;   /* enum event_stack_end */
};

/*
 * Where a sample is put together. Each CPU has one such place for each lane (enum event_lane), in
 * which one event at a time is under way. For an event may interrupt the walk of another, and what
 * a walk keeps for the next one would then be half of the one and half of the other: it is a
 * lane's own, too.
 */
/*
 * Of the 512 bytes of stack that the kernel allows for a chain of calls, each function takes at
 * least 32. The longest chain is tick, loop's callback, unwind_frame(), runtime_step(), and the
 * sending of a name: what the outer ones need only for a while is in functions of their own, which
 * are not inlined. `make lint` adds them up, `make check-kernel` shows whether all kernels take it.
 */
struct scratch {
	struct walk walk;
	struct recent_mappings recent;
	struct unwind_registers leaf;
	__u32 is_leaf_exact;
	struct user_stack user;
	struct kernel_stack kernel;
	struct event_sample sample;
	__u32 lane;        /* its number */
	__u32 is_busy;     /* a walk is under way */
	__u32 is_updating; /* of the first lane, for all of the CPU: see begin_update() */
	__u32 is_compared; /* the sample is sent once more, left to the report from the leaf on */
	__u32 nr_frames_before; /* of the stack before, still in `user`; 0: another process's */
	__u32 nr_files;         /* numbers given away in this lane */
	__u32 nr_codes;         /* likewise */
	/* Another event of the source that has the same stack, see end_sample(); value 0: none. */
	__u64 second_event, second_value, second_measured;
	/* What the counters of its group have counted since; of nr_members it is not 0. */
	__u64 members[EVENT_MAX_COUNTERS];
	__u32 nr_members;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* lanes: set by the recorder */
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/*
 * Counting takes more than one step of the processor's, and the events of a CPU may come between
 * each other's: those of one task between those of another, an interrupt's between any.
 */
#define COUNT(member)            __sync_fetch_and_add(&(member), 1)
#define COUNT_MANY(member, many) __sync_fetch_and_add(&(member), many)

static __always_inline struct scratch *scratch_of_lane(__u32 lane)
{
	return bpf_map_lookup_elem(&scratches, &lane);
}

/*
 * Around an update of a map that ticks update, too. Those of the processor's counter come by an
 * interrupt that nothing masks (on arm64: with pseudo-NMI): one that came while its CPU holds the
 * lock of the map would wait for that for ever, of a hash before Linux 5.11, of an LRU hash in all.
 * False: leave it.
 */
static __always_inline bool begin_update(void)
{
	struct scratch *first = scratch_of_lane(0);
	if (!first || first->is_updating)
		return false;
	first->is_updating = true;
	asm volatile("" ::: "memory");
	return true;
}

static __always_inline void end_update(void)
{
	struct scratch *first = scratch_of_lane(0);
	asm volatile("" ::: "memory");
	if (first)
		first->is_updating = false;
}

/* Its number: those that are not used are not there. */
static __always_inline __u32 task_lane(void)
{
	return config.nr_lanes - 1;
}

/* That of the walk at hand: a lane is interrupted by those before it only. Sleepers have a place
 * behind all lanes, since any event may interrupt their walk. */
static __always_inline struct scratch *get_scratch(void)
{
#ifdef WALKS_SLEEPERS
	return scratch_of_lane(config.nr_lanes);
#endif
	for (__u32 lane = 0; lane + 1 < EVENT_LANES; lane++) {
		struct scratch *scratch = scratch_of_lane(lane);
		if (lane + 1 == config.nr_lanes || !scratch || scratch->is_busy)
			return scratch;
	}
	return scratch_of_lane(EVENT_LANES - 1);
}

/* Whether these programs were loaded to find the frames of a runtime. */
static __always_inline bool has_runtime(__u32 kind)
{
	return config.runtimes >> (kind & 31) & 1;
}

/*
 * The same for a function that only a runtime needs: NULL where these programs were loaded without
 * it. `config` does not change any more, so the verifier sees that nothing behind that can run; it
 * looks at global functions without callers, too (before Linux 6.8).
 */
static __always_inline struct scratch *scratch_of_runtime(__u32 kind)
{
	return has_runtime(kind) ? get_scratch() : 0;
}

/* ... that all of them need, and those of shadow stacks. */
static __always_inline struct scratch *scratch_of_runtimes(void)
{
	return config.runtimes || config.shadow_runtimes ? get_scratch() : 0;
}

/* A return address without the signature that code may have given it. */
static __always_inline __u64 without_signature(__u64 address)
{
	return UNWIND_NATIVE->pc_mask == ~0ULL ? address : address & config.pc_mask;
}

/* Of a lane in which the kernel does not let events meet, or that try_lane() got. */
static __always_inline void take_lane(struct scratch *scratch, __u32 lane)
{
	scratch->lane = lane;
	scratch->is_busy = true;
}

/* False: another event is under way there. */
static __always_inline bool try_lane(struct scratch *scratch)
{
	return !__sync_val_compare_and_swap(&scratch->is_busy, (__u32) false, (__u32) true);
}

static __always_inline void leave_lane(struct scratch *scratch)
{
	asm volatile("" ::: "memory");
	scratch->is_busy = false;
}

/*
 * What is numbered without atomic counters, which BPF does not know before Linux 5.12: the numbers
 * are dealt out lane by lane. Those of all lanes begin above 0.
 */
static __always_inline __u64 number_of_lane(const struct scratch *scratch, __u32 nr_given)
{
	__u64 place = bpf_get_smp_processor_id() * config.nr_places + scratch->lane;
	return ((__u64)nr_given + 1) * config.nr_cpus * config.nr_places + place;
}

/* Of code of no file: the program image that has it. No file has such a number. */
static __always_inline __u64 image_space(const struct event_sample *sample)
{
	return mix(mix(mix(1, sample->pid), sample->start_ns), sample->exec_id) | 1ULL << 63;
}

static __always_inline __u64 code_space(const struct scratch *scratch)
{
	return image_space(&scratch->sample);
}

static __always_inline void push_word(struct scratch *scratch, __u64 word)
{
	__u32 n = scratch->user.head.nr_frames;
	if (n >= EVENT_MAX_USER_FRAMES)
		return;
	scratch->user.frame[n] = word;
	scratch->user.head.nr_frames = n + 1;
	scratch->walk.hash = mix(scratch->walk.hash, word);
}

/* ---- the stack's memory ---- */

/*
 * Each read from user memory costs more than the bytes it fetches: a few frames at once.
 * A word may stand anywhere if sp does; the processors we run on do not mind.
 */
__attribute__((no_sanitize("alignment"))) static long read_stack(
	void *context, __u64 address, __u64 *value)
{
	struct window *window = &((struct walk *)context)->window;
	__u64 at = address - window->address;
	if (!window->address || at > WINDOW_BYTES - sizeof(*value)) {
		window->address = address - WINDOW_BELOW_BYTES;
		if (bpf_probe_read_user(
			    window->bytes, WINDOW_BYTES, (const void *)window->address)) {
			window->address = 0; /* the end of the stack may be near */
			return bpf_probe_read_user(value, sizeof(*value), (const void *)address);
		}
		at = WINDOW_BELOW_BYTES;
	}
	*value = *(__u64 *)(window->bytes + (at & (WINDOW_BYTES - 1)));
	return 0;
}

/*
 * The same of some words, whose number is a constant, and of those above them. False: they cannot
 * be read. Word by word: clang knows of no alignment in the window, and has memcpy() move bytes.
 */
__attribute__((no_sanitize("alignment"))) static __always_inline bool read_stack_words(
	struct walk *walk, __u64 from, __u64 *ret, __u32 bytes)
{
	struct window *window = &walk->window;
	__u64 at = from - window->address;
	if (!window->address || at > WINDOW_BYTES - bytes) {
		window->address = from;
		if (bpf_probe_read_user(window->bytes, WINDOW_BYTES, (const void *)from)) {
			window->address = 0; /* the end of the stack may be near */
			return !bpf_probe_read_user(ret, bytes, (const void *)from);
		}
		at = 0;
	}
	asm volatile("" : "+r"(at)); /* or clang thinks the bounds are known */
	if (at > WINDOW_BYTES - bytes)
		return false;
	for (__u32 i = 0; i < bytes / sizeof(*ret); i++)
		ret[i] = *(__u64 *)(window->bytes + at + i * sizeof(*ret));
	return true;
}

#endif
