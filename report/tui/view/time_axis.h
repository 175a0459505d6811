/* Instants of a recording as text, and where an axis of time has its ticks. */
#ifndef EBPROF_TIME_AXIS_H
#define EBPROF_TIME_AXIS_H

#include "report/model/profile.h"
#include "report/tui/grid.h"

/* As precise as steps of that size need: "12.25 s", "5 min", "3 h". */
void time_axis_put(struct str *out, uint64_t at_ns, uint64_t step_ns);
/* A line of ticks with their times, for columns of equal duration. */
void time_axis_draw(struct grid *grid, struct rect line, uint64_t from_ns, uint64_t column_ns);

/* The wall-clock time of an instant since the recording's beginning, to the ms; or nothing. */
void time_axis_put_wall(struct str *out, const struct profile *profile, uint64_t at_ns);

#endif
