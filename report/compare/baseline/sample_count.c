#include "report/compare/baseline/sample_count.h"

#include "format/file/reader.h"

static void count(void *context, const struct layout_sample *sample)
{
	struct sample_count *ret = context;
	(void)sample;
	ret->samples++;
}

/* Of several the first: when it began to sample. */
static void sample_count_note_begin(void *context, const struct layout_clock *clock)
{
	struct sample_count *ret = context;
	if (!ret->begun_ns)
		ret->begun_ns = clock->monotonic_ns;
}

static void sample_count_note_end(void *context, const struct layout_end *end)
{
	struct sample_count *ret = context;
	ret->ended_ns = end->time_ns;
}

struct err *sample_count(int fd, struct sample_count *ret)
{
	static const struct reader_visitor visitor = {
		.sample = count, .clock = sample_count_note_begin, .end = sample_count_note_end};
	struct reader_result result;
	*ret = (struct sample_count){0};
	return reader_read(fd, &visitor, ret, &result);
}
