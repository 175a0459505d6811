#include "report/compare/baseline/sample_count.h"

#include "format/file/reader.h"

static void count(void *context, const struct layout_sample *sample)
{
	(void)sample;
	++*(uint64_t *)context;
}

struct err *sample_count(int fd, uint64_t *ret)
{
	static const struct reader_visitor visitor = {.sample = count};
	struct reader_result result;
	uint64_t samples = 0;
	try(reader_read(fd, &visitor, &samples, &result));
	*ret = samples;
	return NULL;
}
