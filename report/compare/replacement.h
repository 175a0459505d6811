/*
 * What only one side has may be what the other has in another shape: a function that was split in
 * two is gone, and its parts are new. By itself each would be a change. So rows of one object of
 * which one side has none are judged as one, too, and a row whose verdict that does not share is
 * inconclusive.
 */
#ifndef EBPROF_REPLACEMENT_H
#define EBPROF_REPLACEMENT_H

#include "report/compare/judgement.h"

/* Whether rows make any such group; is_tested: which are judged by self. */
bool replacement_is_there(const struct difference *diff, const bool *is_tested);

/*
 * Puts diff->replacements, and withholds verdicts of self. `family`: by which the rows were judged;
 * `has_changed`: those whose hits its rest lacks, NULL: none.
 */
void replacement_judge(
	struct difference *diff, const struct judgement_family *family, const bool *has_changed);

#endif
