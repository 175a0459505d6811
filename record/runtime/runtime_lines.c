#include "record/runtime/runtime_lines.h"

#include "format/base/bisect.h"
#include "format/base/mem.h"

enum {
	MARK_ENTRIES = 128, /* from one mark to the next */
};

void runtime_line_marks_init(struct runtime_line_marks *marks, const struct runtime_lines *lines,
	runtime_next_line_fn *next)
{
	struct runtime_line_entry entry = {.base = lines->first_line};
	*marks = (struct runtime_line_marks){0};
	for (size_t i = 1; next(lines, &entry); i++)
		if (i % MARK_ENTRIES == 0)
			vec_push(&marks->entries, entry);
}

void runtime_line_marks_deinit(struct runtime_line_marks *marks)
{
	vec_deinit(&marks->entries);
}

uint32_t runtime_line_marks_find(const struct runtime_line_marks *marks,
	const struct runtime_lines *lines, runtime_next_line_fn *next, uint32_t place)
{
	struct runtime_line_entry entry = {.base = lines->first_line};
	size_t behind = bisect(marks->entries.len, i, marks->entries.data[i].end <= place);
	if (behind)
		entry = marks->entries.data[behind - 1];
	while (next(lines, &entry))
		if (entry.end > place)
			return entry.line;
	return 0;
}
