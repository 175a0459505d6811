/* How many samples amounts are worth, where samples stand for different ones: judgement.h says why.
 */
#ifndef EBPROF_QUANTA_H
#define EBPROF_QUANTA_H

#include "report/compare/difference.h"

struct quanta {
	const struct difference *diff;
	struct diff_amount rest_of; /* both sides: all, but what was left out */
	double *own,
		*rest; /* of each row its own quantum, and that of all else; NULL: samples are 1 */
};

/* Of a difference whose sides are known, and whether runs show how they differ. */
void quanta_init(struct quanta *quanta, const struct difference *diff, size_t nr_rows);
/* Of a row, by both sides of it; `is_out`: it was left out of the rest. */
void quanta_set(struct quanta *quanta, size_t row, const struct diff_amount sides[MATCH_SIDES],
	bool is_out);
/* From now on the rest of all rows lacks that one. */
void quanta_leave_out(struct quanta *quanta, const struct diff_amount sides[MATCH_SIDES]);
void quanta_deinit(struct quanta *quanta);

/* Of what is all there is. */
double quanta_of_whole(const struct difference *diff, const struct diff_amount sides[MATCH_SIDES]);

#endif
