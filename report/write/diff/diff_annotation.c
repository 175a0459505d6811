#include "report/write/diff/diff_annotation.h"

#include <string.h>

#include "report/name/listing/source_file.h"
#include "report/write/diff/diff_words.h"

enum {
	NAME_WIDTH = 200,
};

void diff_put_source_path(
	struct str *out, const struct diff_writer_options *options, const char *file)
{
	CLEANUP(str_deinit) struct str plain = {0}, root = {0};
	source_file_put_plain_path(&plain, file);
	if (options->source_root)
		source_file_put_plain_path(&root, options->source_root);
	const char *path = str_text(&plain);
	bool is_below =
		root.len && strncmp(path, root.data, root.len) == 0 && path[root.len] == '/';
	if (file[0] != '/')
		str_puts(out, path + (path[0] == '/'));
	else
		str_puts(out, is_below ? path + root.len + 1 : path);
}

void diff_put_annotated_name(
	struct str *out, const struct difference *diff, const struct diff_row *row)
{
	diff_put_name_within(out, diff, row, NAME_WIDTH);
}

void diff_put_annotation(struct str *out, const struct difference *diff, const struct diff_row *row)
{
	diff_put_annotated_name(out, diff, row);
	str_putc(out, ' ');
	diff_put_judgement(out, diff, &row->self);
}
