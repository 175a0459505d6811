/*
 * The labels that a baseline keeps: what the container, pod and service of a process are called. A
 * process has those of the sample that has the most of these keys, of several the first: names of
 * containers and pods are known later than those of services. What single samples are labelled by,
 * traces and goroutines, is as various as the samples, and left out.
 */
#ifndef EBPROF_SLIM_LABELS_H
#define EBPROF_SLIM_LABELS_H

#include "format/base/str.h"
#include "report/model/profile.h"

struct slim_labels {
	uint32_t *of_processes; /* of the profile -> set of its labels; 0: none of these */
};

void slim_labels_init(struct slim_labels *labels, const struct profile *profile);
void slim_labels_deinit(struct slim_labels *labels);

/* Those of a set: "KEY\0VALUE\0..." in the order of their keys. */
void slim_labels_put(const struct profile *profile, uint32_t set, struct str *out);

#endif
