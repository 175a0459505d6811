/*
 * What the path of a control group says of the processes in it. Each function appends its finding,
 * or nothing where the path has none. Paths are whatever a process of the machine chose.
 * Sources: the cgroup drivers of runc (systemd and cgroupfs), containerd and CRI-O, Kubernetes'
 * pkg/kubelet/cm, podman's libpod, systemd.unit(5) and systemd-machined, LXC's lxc.payload, and the
 * ECS agent.
 */
#ifndef EBPROF_CGROUP_PATH_H
#define EBPROF_CGROUP_PATH_H

#include "format/base/str.h"

/*
 * The innermost container: 64 hexadecimal digits (docker, containerd, CRI-O, podman), or
 * ECS's 32 with a number behind them, or the name of a machine of systemd-nspawn or LXC.
 */
void cgroup_put_container(const char *path, struct str *ret);
/* The innermost pod of Kubernetes: its UID, as its API has it. */
void cgroup_put_pod(const char *path, struct str *ret);
/*
 * The innermost unit of systemd's that is not a container's own scope: a service or scope, of the
 * system's manager or of a user's.
 */
void cgroup_put_unit(const char *path, struct str *ret);

#endif
