#include "record/source/duration.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "record/host/feature.h"
#include "record/source/source_kernel.h"

static uint32_t number_of_duration(const struct source *source)
{
	return source->number - EVENT_SOURCE_DURATION;
}

void duration_load(struct duration *duration, struct sample_bpf *bpf, const char *name)
{
	duration->bpf = bpf;
	source_kernel_choose(bpf, name);
}

int duration_program(const struct duration *duration, const char *name)
{
	return source_kernel_program(duration->bpf, name);
}

struct err *duration_open(
	struct duration *duration, const char *const *names, const int *programs, const char *lacks)
{
	for (int i = 0; i < DURATION_ENDS; i++) {
		int fd = bpf_raw_tracepoint_open(names[i], programs[i]);
		if (fd == -ENOENT)
			return err_new(ERR_UNSUPPORTED, "%s", lacks);
		if (fd < 0)
			return feature_explain(
				err_sys(-fd, "cannot attach to the tracepoint %s", names[i]));
		duration->tracepoints[i] = fd;
	}
	return NULL;
}

void duration_close(struct duration *duration)
{
	for (int i = 0; i < DURATION_ENDS; i++)
		if (duration->tracepoints[i] > 0)
			mem_close_fd(&duration->tracepoints[i]);
}

void duration_start(struct duration *duration, const struct source *source, uint64_t now_ns)
{
	struct sample_bpf__bss *bss = duration->bpf->bss;
	uint32_t number = number_of_duration(source);
	bss->duration_period_ns[number] = duration->period_ns;
	growing_period_begin(&duration->period, &bss->duration_period_ns[number], now_ns);
	bss->takes_durations |= 1U << number;
}

void duration_stop(struct duration *duration, const struct source *source)
{
	duration->bpf->bss->takes_durations &= ~(1U << number_of_duration(source));
}

void duration_deinit(struct duration *duration)
{
	duration_close(duration);
	growing_period_deinit(&duration->period);
}
