/* The part of a timeline that is seen, with a cursor and a range of time in it. */
#ifndef EBPROF_TIME_WINDOW_H
#define EBPROF_TIME_WINDOW_H

#include "report/analyse/timeline.h"
#include "report/tui/renewal.h"

/* from <= time < to, since the recording's beginning. */
struct time_span {
	uint64_t from_ns, to_ns;
};

struct time_window {
	struct timeline_window part; /* per_column is 0 until it was placed */
	uint64_t cursor_ns;
	unsigned zoom; /* how often the columns were halved */
	bool is_ranging, has_range;
	struct time_span anchor, range;
};

/* Times are since the beginning of a newer state of the recording now. */
void time_window_renew(struct time_window *window, const struct renewal *renewal);
/* So many columns, at least 1; the cursor is brought into sight. */
void time_window_place(
	struct time_window *window, const struct timeline *timeline, uint32_t columns);
/* The cursor's column. */
uint32_t time_window_cursor(const struct time_window *window, const struct timeline *timeline);
struct time_span time_window_column(
	const struct time_window *window, const struct timeline *timeline, uint32_t column);
/* The cursor, by columns; what is seen follows. */
void time_window_move(struct time_window *window, const struct timeline *timeline, int by);
/* The cursor, to a column; nearest where there is none. */
void time_window_point(struct time_window *window, const struct timeline *timeline, int column);
/* Around the cursor; false when there is no further. */
bool time_window_zoom(struct time_window *window, const struct timeline *timeline, bool goes_in);

/* A range is either under way, and ends at the cursor, or fixed. */
void time_window_begin_range(struct time_window *window, const struct timeline *timeline);
void time_window_end_range(struct time_window *window, const struct timeline *timeline);
bool time_window_has_range(const struct time_window *window);
/* False when there was none. */
bool time_window_forget_range(struct time_window *window);
struct time_span time_window_range(
	const struct time_window *window, const struct timeline *timeline);

#endif
