/* A recording as text, one line a visit, so that tests compare what was read with strcmp(). */
#ifndef EBPROF_RECORDING_LOG_H
#define EBPROF_RECORDING_LOG_H

#include "format/base/str.h"
#include "format/file/reader.h"
#include "tests/unit/forged.h"

typedef unsigned long long ull;

static void log_meta(void *log, const char *key, size_t key_len, const char *value, size_t len)
{
	str_printf(log, "meta %.*s=%.*s\n", (int)key_len, key, (int)len, value);
}

static void log_string(void *log, uint32_t id, const char *bytes, size_t len)
{
	str_printf(log, "string %u \"%.*s\" %zu\n", id, (int)len, bytes, len);
}

static void log_event(void *log, uint32_t id, const struct layout_event *it)
{
	str_printf(log, "event %u name %u period %llu hz %u unit %u", id, it->name, (ull)it->period,
		it->frequency_hz, it->unit);
	if (it->source)
		str_printf(log, " source %u", it->source);
	str_putc(log, '\n');
}

static void log_object(void *log, uint32_t id, const struct layout_object *it)
{
	str_printf(log, "object %u kind %u flags %u path %u build_id ", id, (unsigned)it->kind,
		it->flags, it->path);
	for (uint32_t i = 0; i < it->build_id_len; i++)
		str_printf(log, "%02x", it->build_id[i]);
	str_printf(log, " base %llx size %llu inode %llu mtime %llu device %u", (ull)it->base,
		(ull)it->size_bytes, (ull)it->inode, (ull)it->mtime_ns, it->device);
	for (uint32_t i = 0; i < it->nr_segments; i++) {
		const struct layout_segment *segment = &it->segments[i];
		str_printf(log, " [%llx %llx %llx %llx %x]", (ull)segment->vaddr,
			(ull)segment->offset, (ull)segment->filesz, (ull)segment->memsz,
			segment->flags);
	}
	str_putc(log, '\n');
}

static void log_process(void *log, uint32_t id, const struct layout_process *it)
{
	str_printf(log,
		"process %u pid %u ns_pid %u parent %u start %llu exe %u cgroup %u container %u\n",
		id, it->pid, it->ns_pid, it->parent_pid, (ull)it->start_ns, it->exe, it->cgroup,
		it->container);
}

static void log_thread(void *log, uint32_t id, const struct layout_thread *it)
{
	str_printf(log, "thread %u process %u tid %u comm %u", id, it->process, it->tid, it->comm);
	if (it->kernel_name)
		str_printf(log, " for %u", it->kernel_name);
	str_puts(log, "\n");
}

static void log_mapping(void *log, const struct layout_mapping *it)
{
	str_printf(log, "mapping process %u object %u %llx+%llx offset %llx time %llu\n",
		it->process, it->object, (ull)it->start, (ull)it->length, (ull)it->offset,
		(ull)it->time_ns);
}

static void log_frame(void *log, uint32_t id, const struct layout_frame *it)
{
	str_printf(log, "frame %u object %u offset %llx", id, it->object, (ull)it->offset);
	if (it->flags)
		str_printf(log, " flags %u", it->flags);
	str_putc(log, '\n');
}

static void log_node(void *log, uint32_t id, const struct layout_node *it)
{
	str_printf(log, "node %u parent %u frame %u\n", id, it->parent, it->frame);
	if (it->parent >= id)
		abort(); /* the reader's promise */
}

static void log_snapshot(void *log, uint32_t id, const struct layout_snapshot *it)
{
	str_printf(log, "snapshot %u process %u time %llu%s registers", id, it->process,
		(ull)it->time_ns, it->is_exact ? " exact" : "");
	for (int i = 0; i < LAYOUT_MAX_REGISTERS; i++)
		if (it->known >> i & 1)
			str_printf(log, " %d:%llx", i, (ull)it->registers[i]);
		else if (it->registers[i])
			abort(); /* the reader's promise */
	str_printf(log, " stack %llx+%x crc %lx\n", (ull)it->stack_address, it->stack_bytes,
		crc32_z(0, it->stack, it->stack_bytes));
}

static void log_sample(void *log, const struct layout_sample *it)
{
	str_printf(log, "sample %llu event %u thread %u cpu %u user %u kernel %u weight %llu",
		(ull)it->time_ns, it->event, it->thread, it->cpu, it->user_stack, it->kernel_stack,
		(ull)it->weight);
	if (it->snapshot)
		str_printf(log, " snapshot %u", it->snapshot);
	if (it->labels)
		str_printf(log, " labels %u", it->labels);
	if (it->waker)
		str_printf(log, " waker %u %u %u", it->waker, it->waker_user_stack,
			it->waker_kernel_stack);
	if (it->syscall)
		str_printf(log, " syscall %u", it->syscall);
	str_putc(log, '\n');
}

static void log_label(void *log, uint32_t id, const struct layout_label *it)
{
	str_printf(log, "label %u rest %u key %u kind %u value %llu\n", id, it->rest, it->key,
		(unsigned)it->kind, (ull)it->value);
	if (it->rest >= id)
		abort(); /* the reader's promise */
}

static void log_unwound(void *log, const struct layout_unwound *it)
{
	str_printf(log, "unwound snapshot %u node %u\n", it->snapshot, it->node);
}

static void log_symbol(void *log, const struct layout_symbol *it)
{
	str_printf(log, "symbol object %u %llx+%llx name %u\n", it->object, (ull)it->offset,
		(ull)it->size, it->name);
}

static void log_code(void *log, const struct layout_code *it)
{
	str_printf(log, "code object %u %llx of %llx time %llu name %u at %u:%u\n", it->object,
		(ull)it->offset, (ull)it->start, (ull)it->time_ns, it->name, it->file, it->line);
	if (it->sure_ns)
		str_printf(log, "... sure from %llu\n", (ull)it->sure_ns);
}

static void log_counter(void *log, const struct layout_counter_value *it)
{
	str_printf(log, "counter %u cpu %u value %llu\n", (unsigned)it->counter, it->cpu,
		(ull)it->value);
}

static void log_event_tally(void *log, const struct layout_event_tally *it)
{
	str_printf(log, "tally of source %u counter %u cpu %u count %llu sum %llu\n", it->source,
		(unsigned)it->counter, it->cpu, (ull)it->count, (ull)it->sum);
}

static void log_thread_times(void *log, const struct layout_thread_times *it)
{
	str_printf(log,
		"times of thread %u: %llu %llu %llu kernel %d %llu %llu switches %llu %llu\n",
		it->thread, (ull)it->life_ns, (ull)it->queued_ns, (ull)it->blocked_ns,
		it->has_kernel, (ull)it->kernel_on_ns, (ull)it->kernel_queued_ns,
		(ull)it->voluntary, (ull)it->involuntary);
}

static void log_clock(void *log, const struct layout_clock *it)
{
	str_printf(log, "clock %llu %llu\n", (ull)it->monotonic_ns, (ull)it->realtime_ns);
}

static void log_end(void *log, const struct layout_end *it)
{
	str_printf(log, "end %u at %llu\n", (unsigned)it->reason, (ull)it->time_ns);
}

static const struct reader_visitor log_visitor = {
	.meta = log_meta,
	.string = log_string,
	.event = log_event,
	.object = log_object,
	.process = log_process,
	.thread = log_thread,
	.mapping = log_mapping,
	.frame = log_frame,
	.node = log_node,
	.snapshot = log_snapshot,
	.label = log_label,
	.sample = log_sample,
	.symbol = log_symbol,
	.unwound = log_unwound,
	.code = log_code,
	.counter = log_counter,
	.event_tally = log_event_tally,
	.thread_times = log_thread_times,
	.clock = log_clock,
	.end = log_end,
};

/* Replaces the text of `log`. */
static inline ERR_MUST_CHECK struct err *log_read(
	const void *bytes, size_t len, struct str *log, struct reader_result *result)
{
	int fd = forged_fd(bytes, len);
	str_truncate(log, 0);
	struct err *err = reader_read(fd, &log_visitor, log, result);
	close(fd);
	return err;
}

#endif
