#include "report/write/export/export.h"

static const struct exporter all[] = {
#define X(format, function, format_name, file_suffix, its_traits, text) \
	[format] = { \
		.name = format_name, \
		.suffix = file_suffix, \
		.help = text, \
		.traits = its_traits, \
		.write = function, \
	},
	EXPORT_FORMATS(X)
#undef X
};

const struct exporter *export_all(size_t *count)
{
	*count = EXPORT_FORMAT_COUNT;
	return all;
}
