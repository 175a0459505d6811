/*
 * The recorder numbers the functions of scripts as it meets them, so in a merged recording each
 * language has an object for each recording that was merged, and one function has another number
 * in each. Views tell functions apart by object before they compare names.
 */
#ifndef EBPROF_SCRIPT_OBJECTS_H
#define EBPROF_SCRIPT_OBJECTS_H

#include "report/model/profile.h"

/*
 * All places in scripts of one language get the first of its objects, those of the others with
 * offsets behind its own. Codes have to be sorted afterwards. A function that several recordings
 * have is then to the views what one that was compiled several times is: see namesakes.h.
 */
void script_objects_join(struct profile *profile);

#endif
