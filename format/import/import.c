#include "format/import/import.h"

#include <string.h>

#include "format/import/import_file.h"
#include "format/import/import_folded.h"
#include "format/import/import_output.h"
#include "format/import/import_perf.h"
#include "format/import/import_pprof.h"
#include "format/import/import_rows.h"

struct import_format {
	const char *name;
	bool (*is)(const uint8_t *head, size_t len);
	struct err *(*read)(const struct import_file *file, struct import_output *output,
		struct import_result *result)ERR_MUST_CHECK;
};

static const struct import_format rows_format = {
	"rows of a table", import_rows_is, import_rows_read};

/* Those whose first bytes are sure come first. */
static const struct import_format *const formats[] = {
	&(const struct import_format){"perf.data", import_perf_is, import_perf_read},
	&rows_format,
	&(const struct import_format){"folded stacks", import_folded_is, import_folded_read},
	&(const struct import_format){"pprof profile", import_pprof_is, import_pprof_read},
};

bool import_is_recording(const void *head, size_t len)
{
	size_t compared = len < LAYOUT_MAGIC_BYTES ? len : LAYOUT_MAGIC_BYTES;
	return len && memcmp(head, LAYOUT_MAGIC, compared) == 0;
}

static const struct import_format *find_import_format(const void *head, size_t len)
{
	if (import_is_recording(head, len))
		return NULL;
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (formats[i]->is(head, len))
			return formats[i];
	return NULL;
}

const char *import_format_of(const void *head, size_t len)
{
	const struct import_format *format = find_import_format(head, len);
	return format ? format->name : NULL;
}

static struct err *import_write_file(const struct import_file *file,
	const struct import_format *format, struct writer_sink sink, struct import_result *result)
{
	struct import_output *output = import_output_create(sink);
	import_output_meta(output, LAYOUT_META_IMPORT, format->name);
	result->is_whole = true;
	struct err *err = format->read(file, output, result);
	if (!err)
		err = import_output_finish(output, result->is_whole);
	import_output_destroy(output);
	return err;
}

static struct err *choose_import_format(
	enum import_as as, const void *head, size_t len, const struct import_format **ret)
{
	*ret = as == IMPORT_AS_ROWS ? &rows_format : find_import_format(head, len);
	if (as == IMPORT_AS_ROWS && import_is_recording(head, len))
		return err_new(ERR_USAGE, "it is a recording");
	return *ret ? NULL : err_new(ERR_FORMAT, "a file of no format that is known here");
}

static struct err *find_format_of_file(
	const struct import_file *file, enum import_as as, const struct import_format **ret)
{
	struct bytes_buf head = {0};
	uint64_t len = file->bytes < IMPORT_HEAD_BYTES ? file->bytes : IMPORT_HEAD_BYTES;
	struct err *err = import_file_read(file, 0, len, "the beginning", &head);
	if (!err)
		err = choose_import_format(as, head.data, head.len, ret);
	bytes_buf_deinit(&head);
	return err;
}

struct err *import_write(int fd, enum import_as as, const struct import_host *host,
	struct writer_sink sink, struct import_result *ret)
{
	struct import_file file;
	const struct import_format *format;
	try(import_file_init(&file, fd, host));
	try(find_format_of_file(&file, as, &format));
	struct import_result result = {.format = format->name};
	struct err *err =
		err_wrap(import_write_file(&file, format, sink, &result), "%s", format->name);
	if (err)
		import_result_deinit(&result);
	else
		*ret = result;
	return err;
}

void import_result_deinit(struct import_result *result)
{
	str_deinit(&result->notes);
}
