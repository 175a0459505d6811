#include "record/host/uprobe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "record/host/proc.h"
#include "record/host/slow_close.h"

/*
 * The PMU's number and the place of the semaphore's offset in perf_event_attr.config are what
 * sysfs says: Documentation/ABI/testing/sysfs-bus-event_source-devices-format.
 */
#define PMU "/sys/bus/event_source/devices/uprobe/"

static bool uprobe_read_number(const char *path, unsigned long *ret)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (!proc_read_file(path, &text) || !text.len)
		return false;
	char *end;
	*ret = strtoul(str_text(&text), &end, 10);
	return end != str_text(&text);
}

/* "config:32-63" */
static bool read_semaphore_shift(unsigned long *ret)
{
	CLEANUP(str_deinit) struct str text = {0};
	unsigned shift;
	if (!proc_read_file(PMU "format/ref_ctr_offset", &text) ||
		sscanf(str_text(&text), "config:%u", &shift) != 1 || shift >= 64)
		return false;
	*ret = shift;
	return true;
}

/* "config:0" */
static bool read_return_bit(uint64_t *ret)
{
	CLEANUP(str_deinit) struct str text = {0};
	unsigned bit;
	if (!proc_read_file(PMU "format/retprobe", &text) ||
		sscanf(str_text(&text), "config:%u", &bit) != 1 || bit >= 64)
		return false;
	*ret = (uint64_t)1 << bit;
	return true;
}

bool uprobe_is_known(void)
{
	unsigned long type;
	return uprobe_read_number(PMU "type", &type);
}

bool uprobe_counts_semaphores(void)
{
	unsigned long shift;
	return read_semaphore_shift(&shift);
}

bool uprobe_has_cookies(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_get_attach_cookie, NULL) == 1;
}

/* Of a file that is open, a path that leads to it, also when its own leads to another by now. */
struct path_text {
	char text[32];
};

static const char *uprobe_path_of(const struct uprobe_place *place, struct path_text *text)
{
	if (place->file_fd < 0)
		return place->path;
	snprintf(text->text, sizeof(text->text), "/proc/self/fd/%d", place->file_fd);
	return text->text;
}

static struct err *uprobe_describe(
	const struct uprobe_place *place, const char *path, struct perf_event_attr *attr)
{
	unsigned long type, shift = 0;
	uint64_t return_bit = 0;
	if (!uprobe_read_number(PMU "type", &type))
		return err_new(ERR_UNSUPPORTED,
			"probes need a kernel with uprobes: there is no " PMU "type");
	if (place->semaphore_offset && !read_semaphore_shift(&shift))
		return err_new(ERR_UNSUPPORTED,
			"the probe has a semaphore, which needs Linux 4.20 or later");
	if (place->is_return && !read_return_bit(&return_bit))
		return err_new(ERR_UNSUPPORTED, "this kernel has no probes of returns");
	if (shift && place->semaphore_offset >> (64 - shift))
		return err_new(ERR_UNSUPPORTED, "%s: the probe's semaphore is beyond %d GiB",
			place->path, 1 << (64 - shift - 30));
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.type = (uint32_t)type,
		.config = place->semaphore_offset << shift | return_bit,
		.config1 = (uintptr_t)path,
		.config2 = place->offset,
	};
	return NULL;
}

static struct err *run_program(struct uprobe *uprobe, int program_fd, uint64_t cookie)
{
	if (!uprobe_has_cookies()) {
		if (ioctl(uprobe->event_fd, PERF_EVENT_IOC_SET_BPF, program_fd))
			return err_sys(errno, "cannot attach the BPF program to a probe");
		return NULL;
	}
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = cookie);
	uprobe->link_fd = bpf_link_create(program_fd, uprobe->event_fd, BPF_PERF_EVENT, &options);
	if (uprobe->link_fd < 0)
		return err_sys(errno, "cannot attach the BPF program to a probe");
	return NULL;
}

struct err *uprobe_attach_to(uint32_t pid, const struct uprobe_place *place, int program_fd,
	uint64_t cookie, struct uprobe *ret)
{
	struct perf_event_attr attr;
	struct path_text text;
	try(uprobe_describe(place, uprobe_path_of(place, &text), &attr));
	struct uprobe uprobe = {.link_fd = -1};
	/* Of all processes, and then of one CPU only; the program runs on all. */
	uprobe.event_fd = (int)syscall(SYS_perf_event_open, &attr, pid ? (pid_t)pid : -1,
		pid ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (uprobe.event_fd < 0)
		return err_sys(errno, "cannot place a probe in %s at offset %#llx", place->path,
			(unsigned long long)place->offset);
	struct err *err = run_program(&uprobe, program_fd, cookie);
	if (err)
		uprobe_detach(&uprobe);
	else
		*ret = uprobe;
	return err;
}

struct err *uprobe_attach(
	const struct uprobe_place *place, int program_fd, uint64_t cookie, struct uprobe *ret)
{
	return uprobe_attach_to(0, place, program_fd, cookie, ret);
}

void uprobe_detach(struct uprobe *uprobe)
{
	mem_close_fd(&uprobe->link_fd);
	mem_close_fd(&uprobe->event_fd);
}

void uprobes_detach(struct uprobe *uprobes, size_t count)
{
	VEC(int) fds = {0};
	if (count)
		uprobe_detach(&uprobes[0]);
	for (size_t i = 1; i < count; i++) {
		vec_push(&fds, uprobes[i].event_fd);
		if (uprobes[i].link_fd >= 0)
			vec_push(&fds, uprobes[i].link_fd);
		uprobes[i] = (struct uprobe){-1, -1};
	}
	slow_close(fds.data, fds.len);
	vec_deinit(&fds);
}
