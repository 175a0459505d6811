/*
 * Labels of processes and containers by a file: Prometheus' file_sd JSON, as discovery agents write
 * it for Grafana Alloy and Pyroscope. It is read again when it changes.
 *
 *   [{"targets": ["x"], "labels": {"__container_id__": "docker://0123...", "team": "shop"}}]
 *
 * A target is a process by __process_pid__, or a container by __container_id__,
 * __meta_docker_container_id or __meta_kubernetes_pod_container_id. Labels that begin with "__" are
 * discovery's own and not put; but those of Kubernetes and docker tell the name of a service.
 *
 * Source: prometheus.io, configuration, file_sd_config; alloy, ebpf/discovery/target.go.
 */
#ifndef EBPROF_LABEL_FILE_H
#define EBPROF_LABEL_FILE_H

#include <stdint.h>

#include "format/base/err.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"

struct label_pair {
	const char *key, *value;
};

struct label_target {
	uint32_t pid;             /* 0: it is a container */
	const char *container_id; /* or NULL */
	const struct label_pair *labels;
	size_t nr_labels;
	const char *service; /* by the rules of Pyroscope's agent; NULL: nothing tells */
};

struct label_file {
	const char *path; /* NULL: there is none */
	struct arena arena;
	VEC(struct label_target) targets;
	struct map by_pid;               /* -> index */
	uint64_t inode, mtime_ns, bytes; /* of what was read */
	uint64_t looked_ns;
	uint32_t nr_reads; /* how often it was read: other targets may hold */
	struct err *last;  /* why it could not be read again; what was read before holds */
};

/* ERR_FORMAT, ERR_IO: it cannot be read, or is no such list. */
struct err *label_file_open(struct label_file *file, const char *path) ERR_MUST_CHECK;
void label_file_deinit(struct label_file *file);
/* The next look reads it, whether it seems to have changed or not. */
void label_file_expect_other(struct label_file *file);
/* Looks whether it has changed, not more than some times a second. True: other labels hold. */
bool label_file_renew(struct label_file *file, uint64_t now_ns);
/* By pid, or else by the container's ID; NULL: it has neither. */
const struct label_target *label_file_find(
	const struct label_file *file, uint32_t pid, const char *container_id);

#endif
