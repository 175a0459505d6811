#include "record/task/watched_tasks.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/host/proc.h"

struct err *watched_tasks_open(const uint32_t *ids, size_t count, struct watched_tasks *ret)
{
	ret->ids = ids;
	for (size_t i = 0; i < count; i++) {
		if (!proc_is_alive(ids[i]))
			return err_new(ERR_USAGE, "there is no process %u", ids[i]);
		if (proc_is_zombie(ids[i]))
			return err_new(ERR_USAGE,
				"process %u has ended: it is a zombie, which its parent has not "
				"waited for",
				ids[i]);
		vec_push(&ret->fds, (int)syscall(SYS_pidfd_open, ids[i], 0)); /* close-on-exec */
	}
	return NULL;
}

/* A pidfd is readable once a process is dead: a zombie, too, and also when another process has its
 * number later. */
static bool is_gone(const struct watched_tasks *tasks, size_t index)
{
	struct pollfd task = {.fd = tasks->fds.data[index], .events = POLLIN};
	if (task.fd < 0)
		return !proc_is_alive(tasks->ids[index]);
	return poll(&task, 1, 0) == 1;
}

bool watched_tasks_are_gone(const struct watched_tasks *tasks)
{
	for (size_t i = 0; i < tasks->fds.len; i++)
		if (!is_gone(tasks, i))
			return false;
	return tasks->fds.len > 0;
}

void watched_tasks_deinit(struct watched_tasks *tasks)
{
	vec_each(&tasks->fds, fd)
		mem_close_fd(fd);
	vec_deinit(&tasks->fds);
}
