/*
 * What files are called: by the last part of their path, and where several that were sampled end in
 * it, by as many parts as tell them apart: v1/plugin.so and v2/plugin.so.
 */
#ifndef EBPROF_FILE_NAMES_H
#define EBPROF_FILE_NAMES_H

#include "report/model/profile.h"

/* When all objects and frames are there. */
void file_names_find(struct profile *profile);

#endif
