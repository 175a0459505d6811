#include "report/tui/sample_thread.h"

#include "report/model/sample_order.h"
#include "report/tui/quiet_thread.h"

static void *sample_thread_run(void *context)
{
	struct sample_thread *samples = context;
	struct profile *profile = samples->profile;
	sample_order_sort(profile->samples.data, profile->samples.len);
	slice_init_all(&samples->slice, profile);
	return NULL;
}

void sample_thread_begin(struct sample_thread *samples, struct profile *profile)
{
	*samples = (struct sample_thread){.profile = profile};
	samples->is_running =
		quiet_thread_create(&samples->thread, sample_thread_run, samples) == 0;
	if (!samples->is_running)
		sample_thread_run(samples);
}

void sample_thread_end(struct sample_thread *samples)
{
	if (samples->is_running)
		pthread_join(samples->thread, NULL);
	samples->is_running = false;
}

void sample_thread_deinit(struct sample_thread *samples)
{
	sample_thread_end(samples);
	slice_deinit(&samples->slice);
}
