#include "record/source/switch_interrupts.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/vec.h"
#include "record/host/cpu.h"
#include "record/host/feature.h"

/* Its head, and a page of records. */
static size_t ring_bytes(void)
{
	return 2 * (size_t)sysconf(_SC_PAGESIZE);
}

static void close_one(const struct switch_interrupt *of)
{
	if (of->ring != MAP_FAILED)
		munmap(of->ring, ring_bytes());
	close(of->fd);
}

/* A ring that is not writable for its reader is overwritten when it is full. */
static struct err *open_one(struct switch_interrupts *all, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
		.wakeup_events = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return feature_explain(
			err_sys(errno, "perf_event_open (interrupts on CPU %d)", cpu));
	struct switch_interrupt one = {.cpu = cpu,
		.fd = fd,
		.ring = mmap(NULL, ring_bytes(), PROT_READ, MAP_SHARED, fd, 0)};
	vec_push(all, one);
	if (one.ring == MAP_FAILED)
		return feature_explain(err_sys(errno, "cannot map a ring of CPU %d", cpu));
	uint32_t key = (uint32_t)cpu;
	if (bpf_map_update_elem(all->map, &key, &fd, BPF_ANY))
		return err_sys(errno, "cannot give CPU %d to the BPF programs", cpu);
	return NULL;
}

struct err *switch_interrupts_open(struct switch_interrupts *all, int map)
{
	struct cpu_list online = {0};
	all->map = map;
	struct err *err = cpu_list_online(&online);
	for (size_t i = 0; !err && i < online.len; i++)
		err = open_one(all, online.data[i]);
	vec_deinit(&online);
	return err;
}

struct err *switch_interrupts_renew(struct switch_interrupts *all, int cpu)
{
	for (size_t i = 0; i < all->len; i++) {
		if (all->data[i].cpu != cpu)
			continue;
		close_one(&all->data[i]);
		all->data[i] = all->data[--all->len];
		break;
	}
	return open_one(all, cpu);
}

void switch_interrupts_close(struct switch_interrupts *all)
{
	vec_each(all, one)
		close_one(one);
	vec_deinit(all);
}
