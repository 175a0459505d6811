#include "cmd/live_threads.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t live_threads_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

/* The next entry that is a number; 0: there is none. */
static uint32_t next_id_of(DIR *folder)
{
	for (struct dirent *it; folder && (it = readdir(folder));) {
		uint32_t number = (uint32_t)strtoul(it->d_name, NULL, 10);
		if (number)
			return number;
	}
	return 0;
}

void live_threads_read(struct live_threads *ret)
{
	DIR *processes = opendir("/proc");
	for (uint32_t pid; (pid = next_id_of(processes));) {
		char path[32];
		snprintf(path, sizeof(path), "/proc/%u/task", pid);
		DIR *tasks = opendir(path);
		for (uint32_t tid; (tid = next_id_of(tasks));)
			map_put(&ret->ids, live_threads_key(pid, tid), NULL);
		if (tasks)
			closedir(tasks);
	}
	if (processes)
		closedir(processes);
}

bool live_threads_have(const void *threads, uint32_t pid, uint32_t tid)
{
	const struct live_threads *live = threads;
	return map_get(&live->ids, live_threads_key(pid, tid)) != NULL;
}

void live_threads_deinit(struct live_threads *threads)
{
	map_deinit(&threads->ids);
}
