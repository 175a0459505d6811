#include "report/write/diff/diff_writer.h"

const struct diff_writer diff_writers[DIFF_FORMAT_COUNT] = {
#define X(format, function, name, help) [format] = {name, help, function},
	DIFF_FORMATS(X)
#undef X
};
