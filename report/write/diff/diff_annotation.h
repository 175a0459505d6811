/* What annotations of source lines have in common, on GitHub and on GitLab. */
#ifndef EBPROF_DIFF_ANNOTATION_H
#define EBPROF_DIFF_ANNOTATION_H

#include "report/write/diff/diff_writer.h"

/* As the repository has it, if it is one of its files; its bytes are as they were recorded. */
void diff_put_source_path(
	struct str *out, const struct diff_writer_options *options, const char *file);
/* Escaped: the name and what happened to it, a sentence with the numbers. */
void diff_put_annotation(
	struct str *out, const struct difference *diff, const struct diff_row *row);
/* The name alone, of a length that is shown. */
void diff_put_annotated_name(
	struct str *out, const struct difference *diff, const struct diff_row *row);

#endif
