/*
 * Code quality as GitLab shows it beside a merge request's lines: a JSON array with an entry for
 * each regression whose source is known.
 *
 * Source: GitLab's documentation, "Code Quality", import results from other tools: description,
 * check_name, fingerprint, severity, location.path (relative, without ./ in front), lines.begin.
 * By its fingerprint an entry is known again in another commit's report, so no line is part of it.
 */
#include <string.h>

#include "format/base/map.h"
#include "report/model/text/json.h"
#include "report/write/diff/diff_annotation.h"
#include "report/write/diff/diff_words.h"

static void put_fingerprint(
	struct json *json, const struct difference *diff, const struct diff_row *row)
{
	CLEANUP(str_deinit) struct str name = {0}, text = {0};
	diff_put_name(&name, diff, row);
	str_printf(&name, "\n%s\n%s", row->object, row->file);
	str_printf(&text, "%016llx", (unsigned long long)map_hash_bytes(name.data, name.len, 0));
	json_put_text(json, "fingerprint", str_text(&text));
}

static void diff_gitlab_put_row(struct json *json, const struct difference *diff,
	const struct diff_writer_options *options, const struct diff_row *row)
{
	CLEANUP(str_deinit) struct str path = {0}, description = {0};
	diff_put_source_path(&path, options, row->file);
	diff_put_annotation(&description, diff, row);
	json_line(json);
	json_object(json);
	json_put_text(json, "description", str_text(&description));
	json_put_text(json, "check_name", "ebprof diff");
	put_fingerprint(json, diff, row);
	json_put_text(json, "severity", "major");
	json_put_object(json, "location");
	json_put_text(json, "path", str_text(&path));
	json_put_object(json, "lines");
	json_put_number(json, "begin", row->line ? row->line : 1);
	json_object_end(json);
	json_object_end(json);
	json_object_end(json);
}

struct err *diff_gitlab(const struct difference *diff, const struct diff_writer_options *options,
	struct byte_sink sink)
{
	struct json json = {.sink = sink};
	json_array(&json);
	vec_each(&diff->rows, row)
		if (row->self.is_tested && row->self.verdict == DIFF_REGRESSION && row->file &&
			row->file[0])
			diff_gitlab_put_row(&json, diff, options, row);
	json_array_end(&json);
	return json_finish(&json);
}
