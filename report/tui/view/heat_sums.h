/*
 * What the rows of the heat view hold, column by column. A row can be of very many threads, so it
 * is summed once for each model and window, and kept while it is among those that were seen lately.
 */
#ifndef EBPROF_HEAT_SUMS_H
#define EBPROF_HEAT_SUMS_H

#include "report/tui/model.h"

enum {
	HEAT_ROWS_KEPT = 256,
};

struct heat_sums {
	struct timeline_window window;      /* what all of it is of; no columns: of nothing */
	uint64_t thread_peak, process_peak; /* the largest cells of any row */
	uint32_t tasks[HEAT_ROWS_KEPT];     /* of each row that is kept its task plus 1 */
	VEC(struct timeline_sum) sums;      /* of those rows, one behind the other */
};

void heat_sums_deinit(struct heat_sums *sums);
/* The model or its rows are others. */
void heat_sums_forget(struct heat_sums *sums);
/* Begins anew where the window is another one. Processes have a peak only if they are rows. */
void heat_sums_place(struct heat_sums *sums, const struct model *model,
	const struct timeline_window *window, bool has_processes);
/* Of a task of the model, one for each column; valid until the next call. */
const struct timeline_sum *heat_sums_of(
	struct heat_sums *sums, const struct model *model, uint32_t task);

#endif
