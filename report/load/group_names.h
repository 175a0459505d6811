/*
 * What the control groups of processes are called: units and pods by their paths, containers and
 * pods by the labels of their samples. The recorder puts those (record --label-sources container).
 */
#ifndef EBPROF_GROUP_NAMES_H
#define EBPROF_GROUP_NAMES_H

#include "report/model/profile.h"

/*
 * Sets `unit`, `pod`, `container_name` and `pod_name` of all processes: "" where there is none, or
 * none is known. One sample with the label names all processes of the container. Where several
 * containers or pods have one name, each has the beginning of its ID behind it: "web
 * (0123456789ab)".
 */
void group_names_find(struct profile *profile);

#endif
