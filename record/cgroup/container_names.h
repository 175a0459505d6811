/*
 * What containers are called, by the files that their runtimes keep, and by no socket: docker,
 * podman and CRI-O (containers/storage), containerd, and the links that the kubelet makes for logs.
 *
 * These files are root's, but what stands in them the users of containers chose. They are read once
 * for each container, some times more while nothing is found: a runtime may write one late.
 */
#ifndef EBPROF_CONTAINER_NAMES_H
#define EBPROF_CONTAINER_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"

struct container_name {
	/* NULL: not known. Kubernetes has pods, each in a namespace, with containers. */
	const char *name, *image, *pod, *k8s_namespace, *k8s_container;
	const char *service;    /* that an annotation of its pod for Pyroscope says */
	const char *ecs_family; /* of Amazon's ECS: what its task is called */
};

struct container_names {
	const char *root; /* where the files are looked for: "" */
	VEC(struct known_container *) known;
};

void container_names_deinit(struct container_names *names);
/* Looks again for those that are not known. True: some are now. To be called now and then. */
bool container_names_renew(struct container_names *names, uint64_t now_ns);
/*
 * `id` as cgroup_put_container() has it. Borrowed: what it points to lives as long as the names.
 * All NULL: nothing is known.
 */
const struct container_name *container_names_find(
	struct container_names *names, const char *id, uint64_t now_ns);

#endif
