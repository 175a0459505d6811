#include "report/write/export/export.h"

#include <string.h>

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

static const struct exporter *exporter_by_suffix(const char *name, size_t len)
{
	const struct exporter *found = NULL;
	size_t longest = 0;
	for (size_t i = 0; i < EXPORT_FORMAT_COUNT; i++) {
		size_t suffix = strlen(all[i].suffix);
		if (suffix <= longest || suffix >= len ||
			memcmp(name + len - suffix, all[i].suffix, suffix) != 0)
			continue;
		longest = suffix;
		found = &all[i];
	}
	return found;
}

const struct exporter *export_of_name(const char *file_name)
{
	static const char packed[] = ".gz";
	size_t len = strlen(file_name), end = sizeof(packed) - 1;
	const struct exporter *found = exporter_by_suffix(file_name, len);
	if (!found && len > end && strcmp(file_name + len - end, packed) == 0)
		found = exporter_by_suffix(file_name, len - end);
	return found;
}
