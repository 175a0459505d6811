#include "report/tui/view/time_window.h"

static uint32_t bucket_at(const struct timeline *timeline, uint64_t at_ns)
{
	uint64_t since_ns = at_ns > timeline->from_ns ? at_ns - timeline->from_ns : 0;
	uint64_t bucket = since_ns / timeline->bucket_ns;
	return bucket < timeline->nr_buckets ? (uint32_t)bucket : timeline->nr_buckets - 1;
}

static uint64_t bucket_begin(const struct timeline *timeline, uint64_t bucket)
{
	return bucket < timeline->nr_buckets ? timeline->from_ns + bucket * timeline->bucket_ns
					     : timeline->to_ns;
}

/* Of a column when all of the time is seen. */
static uint32_t whole_column(const struct timeline *timeline, uint32_t columns)
{
	return (timeline->nr_buckets - 1) / columns + 1;
}

/* Columns are whole buckets: else some would hold more than others, and look darker. */
void time_window_place(
	struct time_window *window, const struct timeline *timeline, uint32_t columns)
{
	struct timeline_window *part = &window->part;
	while (window->zoom && !(whole_column(timeline, columns) >> window->zoom))
		window->zoom--;
	part->columns = columns;
	part->per_column = whole_column(timeline, columns) >> window->zoom;
	uint32_t shown = columns * part->per_column;
	uint32_t last = timeline->nr_buckets > shown ? timeline->nr_buckets - shown : 0;
	if (window->cursor_ns < timeline->from_ns || window->cursor_ns >= timeline->to_ns)
		window->cursor_ns = timeline->from_ns;
	uint32_t cursor = bucket_at(timeline, window->cursor_ns);
	if (part->first > cursor)
		part->first = cursor;
	if (cursor - part->first >= shown)
		part->first = cursor - shown + 1;
	if (part->first > last)
		part->first = last;
}

static void renew_span(struct time_span *span, const struct renewal *renewal)
{
	span->from_ns = renewal_time(renewal, span->from_ns);
	span->to_ns = renewal_time(renewal, span->to_ns);
}

void time_window_renew(struct time_window *window, const struct renewal *renewal)
{
	window->cursor_ns = renewal_time(renewal, window->cursor_ns);
	renew_span(&window->anchor, renewal);
	renew_span(&window->range, renewal);
}

uint32_t time_window_cursor(const struct time_window *window, const struct timeline *timeline)
{
	uint32_t bucket = bucket_at(timeline, window->cursor_ns);
	return bucket < window->part.first
		       ? 0
		       : (bucket - window->part.first) / window->part.per_column;
}

struct time_span time_window_column(
	const struct time_window *window, const struct timeline *timeline, uint32_t column)
{
	uint64_t first = window->part.first + (uint64_t)column * window->part.per_column;
	return (struct time_span){bucket_begin(timeline, first),
		bucket_begin(timeline, first + window->part.per_column)};
}

void time_window_move(struct time_window *window, const struct timeline *timeline, int by)
{
	struct timeline_window *part = &window->part;
	int64_t column = time_window_cursor(window, timeline) + (int64_t)by;
	int64_t bucket = part->first + column * part->per_column;
	if (bucket < 0)
		bucket = 0;
	if (bucket >= timeline->nr_buckets)
		return;
	window->cursor_ns = bucket_begin(timeline, (uint64_t)bucket);
	if (bucket < part->first)
		part->first = (uint32_t)bucket;
	else if (column >= part->columns)
		part->first += part->per_column;
}

void time_window_point(struct time_window *window, const struct timeline *timeline, int column)
{
	int last = (int)window->part.columns - 1;
	column = column < 0 ? 0 : column > last ? last : column;
	uint64_t bucket = window->part.first + (uint64_t)column * window->part.per_column;
	if (bucket >= timeline->nr_buckets)
		bucket = timeline->nr_buckets - 1;
	window->cursor_ns = bucket_begin(timeline, bucket);
}

bool time_window_zoom(struct time_window *window, const struct timeline *timeline, bool goes_in)
{
	if (goes_in ? window->part.per_column <= 1 : !window->zoom)
		return false;
	uint32_t columns = window->part.columns, column = time_window_cursor(window, timeline);
	window->zoom += goes_in ? 1 : -1U;
	uint32_t before = column * (whole_column(timeline, columns) >> window->zoom);
	uint32_t cursor = bucket_at(timeline, window->cursor_ns);
	window->part.first = cursor > before ? cursor - before : 0;
	time_window_place(window, timeline, columns);
	return true;
}

/* ---- ranges ---- */

static struct time_span cursor_span(
	const struct time_window *window, const struct timeline *timeline)
{
	return time_window_column(window, timeline, time_window_cursor(window, timeline));
}

void time_window_begin_range(struct time_window *window, const struct timeline *timeline)
{
	window->anchor = cursor_span(window, timeline);
	window->is_ranging = true;
	window->has_range = false;
}

/* Both columns are part of it. */
struct time_span time_window_range(
	const struct time_window *window, const struct timeline *timeline)
{
	if (!window->is_ranging)
		return window->range;
	struct time_span span = cursor_span(window, timeline);
	if (window->anchor.from_ns < span.from_ns)
		span.from_ns = window->anchor.from_ns;
	if (window->anchor.to_ns > span.to_ns)
		span.to_ns = window->anchor.to_ns;
	return span;
}

void time_window_end_range(struct time_window *window, const struct timeline *timeline)
{
	window->range = time_window_range(window, timeline);
	window->is_ranging = false;
	window->has_range = true;
}

bool time_window_has_range(const struct time_window *window)
{
	return window->is_ranging || window->has_range;
}

bool time_window_forget_range(struct time_window *window)
{
	bool had_one = time_window_has_range(window);
	window->is_ranging = window->has_range = false;
	return had_one;
}
