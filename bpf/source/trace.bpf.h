/*
 * Tracepoints of the kernel. The program is called with the record that the kernel has made of the
 * hit for perf: so fields are where tracefs says, and no type of this kernel needs to be known.
 * While it runs no other program of perf events or tracepoints does on this CPU, see
 * trace_call_bpf() of kernel/trace/bpf_trace.c: they have one lane. Hits meanwhile are missed,
 * which the kernel counts.
 */
#ifndef EBPROF_SOURCE_TRACE_BPF_H
#define EBPROF_SOURCE_TRACE_BPF_H

#include "bpf/source/time_selector.bpf.h"
#include "bpf/take_sample.bpf.h"

/* False until the recorder lets hits count, and again when it has done with them. */
volatile bool takes_traces;

/* What the kernel hands over. Its first 8 bytes, the fields that all records have, have been
 * overwritten: of these, filters know common_pid only. */
struct trace_record {
	__u64 hidden;
};

/* By the number that the recorder attached the program with. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the recorder, as that of trace_passed */
	__type(key, __u32);
	__type(value, struct event_trace_point);
} trace_points SEC(".maps");

/* Hits, or their values, since the last sample. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event_time_selector);
} trace_passed SEC(".maps");

/* Patterns, by the numbers that comparisons have. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the recorder */
	__type(key, __u32);
	__type(value, struct event_trace_glob);
} trace_globs SEC(".maps");

static __always_inline bool compare_numbers(
	const struct event_trace_term *term, __u64 field, bool is_less)
{
	switch (term->operation) {
	case EVENT_TRACE_EQUAL:
		return field == term->value;
	case EVENT_TRACE_NOT_EQUAL:
		return field != term->value;
	case EVENT_TRACE_LESS:
		return is_less;
	case EVENT_TRACE_AT_MOST:
		return is_less || field == term->value;
	case EVENT_TRACE_MORE:
		return !is_less && field != term->value;
	case EVENT_TRACE_AT_LEAST:
		return !is_less;
	default:
		return field & term->value;
	}
}

/* As a number of 64 bits. */
static __always_inline __u64 widen_field(__u64 field, __u32 bytes, bool is_signed)
{
	__u32 unused_bits = (8 - (bytes & 15)) * 8 & 63;
	field <<= unused_bits;
	return is_signed ? (__u64)((__s64)field >> unused_bits) : field >> unused_bits;
}

/* What a hit weighs; of a field that is below 0, nothing. */
static __noinline __u64 value_of_hit(const void *record, const struct event_trace_point *point)
{
	__u64 field = 0;
	if (!point->value_bytes)
		return 1;
	if (bpf_probe_read_kernel(
		    &field, sizeof(field), (const char *)record + point->value_offset))
		return 0;
	field = widen_field(field, point->value_bytes, point->value_is_signed);
	return point->value_is_signed && (__s64)field < 0 ? 0 : field;
}

static __noinline bool number_fits(const void *record, const struct event_trace_term *term)
{
	__u64 field = 0;
	if (term->offset < sizeof(struct trace_record))
		field = (__u32)bpf_get_current_pid_tgid();
	else if (bpf_probe_read_kernel(&field, sizeof(field), (const char *)record + term->offset))
		return false;
	field = widen_field(field, term->bytes, term->is_signed);
	bool is_less = term->is_signed ? (__s64)field < (__s64)term->value : field < term->value;
	return compare_numbers(term, field, is_less);
}

/* Where the text of a field is in the record, and how many bytes it has at most. */
static __always_inline __u32 find_text(
	const void *record, const struct event_trace_term *term, __u32 *bytes)
{
	__u32 where = term->bytes_in_place << 16 | term->offset;
	if (term->is_located)
		bpf_probe_read_kernel(&where, sizeof(where), (const char *)record + term->offset);
	*bytes = where >> 16;
	return where & 0xffff;
}

/* A text that is compared with a pattern. */
struct trace_text {
	char bytes[EVENT_TRACE_MAX_GLOB_TEXT];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trace_text);
} trace_texts SEC(".maps");

enum {
	GLOB_ENDS = 63, /* beside the states, which have less bits: there is no more text */
	GLOB_BYTES = 8, /* at a time */
};

/* Some bytes of the text. Global, so that it is verified once, not for each of them. */
__noinline __u64 match_glob(__u32 number, __u32 at, __u64 states);
__noinline __u64 match_glob(__u32 number, __u32 at, __u64 states)
{
	__u32 zero = 0;
	const struct event_trace_glob *glob = bpf_map_lookup_elem(&trace_globs, &number);
	const struct trace_text *text = bpf_map_lookup_elem(&trace_texts, &zero);
	if (!glob || !text)
		return 1ULL << GLOB_ENDS;
	for (__u32 i = 0; i < GLOB_BYTES; i++) {
		__u8 byte = text->bytes[(at + i) & (EVENT_TRACE_MAX_GLOB_TEXT - 1)];
		if (!byte)
			return states | 1ULL << GLOB_ENDS;
		states = (states & glob->parts_of[byte]) << 1 | (states & glob->stars);
	}
	return states;
}

static __noinline bool is_like(const void *text, __u32 bytes, __u32 number)
{
	__u32 zero = 0;
	const struct event_trace_glob *glob = bpf_map_lookup_elem(&trace_globs, &number);
	struct trace_text *copy = bpf_map_lookup_elem(&trace_texts, &zero);
	__u64 states = 1;
	if (bytes > sizeof(copy->bytes))
		bytes = sizeof(copy->bytes);
	if (!glob || !copy || bpf_probe_read_kernel_str(copy->bytes, bytes, text) < 0)
		return false;
	for (__u32 at = 0; at < EVENT_TRACE_MAX_GLOB_TEXT && !(states >> GLOB_ENDS);
		at += GLOB_BYTES)
		states = match_glob(number, at, states);
	return states >> (glob->nr_parts & 63) & 1;
}

static __noinline bool text_fits(const void *record, const struct event_trace_term *term)
{
	__u64 text[2] = {0, 0};
	const __u64 *wanted = (const __u64 *)term->text;
	__u32 bytes, offset = find_text(record, term, &bytes);
	if (term->operation == EVENT_TRACE_LIKE)
		return is_like((const char *)record + offset, bytes, term->glob);
	bpf_probe_read_kernel_str(text, sizeof(text), (const char *)record + offset);
	bool is_equal = text[0] == wanted[0] && text[1] == wanted[1];
	return is_equal == (term->operation == EVENT_TRACE_EQUAL);
}

static __always_inline bool passes_filter(const void *record, const struct event_trace_point *point)
{
	__u32 at = point->nr_terms ? 0 : EVENT_TRACE_PASSES;
	for (int i = 0; i < EVENT_TRACE_MAX_TERMS && at < EVENT_TRACE_MAX_TERMS; i++) {
		asm volatile("" : "+r"(at)); /* the verifier is to see the bound */
		const struct event_trace_term *term =
			&point->terms[at & (EVENT_TRACE_MAX_TERMS - 1)];
		bool fits = term->bytes ? number_fits(record, term) : text_fits(record, term);
		at = fits ? term->yes : term->no;
	}
	return at == EVENT_TRACE_PASSES;
}

/* Of hits that are counted, one of a period stands for it. */
static __always_inline __u64 select_hit(
	struct event_time_selector *passed, const struct event_trace_point *point, __u64 value)
{
	if (point->value_bytes)
		return select_by_time(passed, value, point->period);
	if (++passed->passed < point->period)
		return 0;
	passed->passed = 0;
	return point->period;
}

/* Accounts for a hit; what its sample stands for. 0: it makes none. */
static __noinline __u64 admit_trace(
	const void *record, const struct event_trace_point *point, __u32 number)
{
	__u64 value = value_of_hit(record, point);
	struct event_counters *counted = count_event(point->source, value);
	struct event_time_selector *passed = bpf_map_lookup_elem(&trace_passed, &number);
	if (!counted || !passed)
		return 0;
	if (!(__u32)bpf_get_current_pid_tgid()) {
		count_as(counted, EVENT_COUNTER_IDLE, value);
	} else if (!is_target() || !passes_filter(record, point)) {
		count_as(counted, EVENT_COUNTER_FILTERED, value);
	} else {
		__u64 selected = select_hit(passed, point, value);
		if (selected)
			return selected;
		count_as(counted, EVENT_COUNTER_BELOW, value);
	}
	return 0;
}

/* As begin_tick_walk(). */
static __noinline int begin_trace_walk(
	void *record, struct scratch *scratch, const struct event_trace_point *point, __u64 value)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	take_lane(scratch, EVENT_LANE_INTERRUPT);
	begin_sample(task, scratch, point->source, point->event, value);
	scratch->sample.measured = value_of_hit(record, point);
	if (!point->has_no_kernel_stack)
		finish_kernel_stack(&scratch->kernel, bpf_get_stack(record, scratch->kernel.address,
							      sizeof(scratch->kernel.address), 0));
	return begin_walk_from_kernel(task, scratch);
}

static __always_inline int begin_trace(struct trace_record *record, bool has_loop)
{
	__u32 number = KERNEL_HAS_HELPER(get_attach_cookie) ? bpf_get_attach_cookie(record) : 0;
	const struct event_trace_point *point = bpf_map_lookup_elem(&trace_points, &number);
	struct scratch *scratch = scratch_of_lane(EVENT_LANE_INTERRUPT);
	__u64 value = takes_traces && point && scratch ? admit_trace(record, point, number) : 0;
	if (!value)
		return NEXT_NONE;
	return begin_trace_walk(record, scratch, point, value);
}

SAMPLING_PROGRAMS("tracepoint", trace, struct trace_record, begin_trace)

#endif
