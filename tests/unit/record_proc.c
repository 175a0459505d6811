#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/host/cpu.h"
#include "record/host/proc.h"
#include "tests/unit/unit.h"

struct code_mapping {
	struct str path;
	struct proc_mapping first; /* of a file */
};

static bool keep_first_file(void *context, const struct proc_mapping *mapping)
{
	struct code_mapping *kept = context;
	if (!mapping->inode)
		return true;
	str_puts(&kept->path, mapping->path);
	kept->first = *mapping;
	return false;
}

TEST(proc_reads_one_mapping_as_it_reads_all)
{
	struct code_mapping kept = {.path = {0}};
	CLEANUP(str_deinit) struct str text = {0};
	struct proc_mapping found;
	uint32_t pid = (uint32_t)getpid();
	if (access("/proc/self/map_files", X_OK) || geteuid() != 0)
		unit_skip("needs root");
	CHECK(proc_each_mapping(pid, NULL, keep_first_file, &kept));
	CHECK(proc_read_mapping(pid, kept.first.start, kept.first.end, &text, &found));
	CHECK_STR(found.path, str_text(&kept.path));
	CHECK_INT(found.inode, kept.first.inode);
	CHECK_INT(found.device, kept.first.device);
	CHECK_INT(found.is_deleted, kept.first.is_deleted);
	CHECK(!proc_read_mapping(pid, kept.first.start, kept.first.end + 4096, &text, &found));
	str_deinit(&kept.path);
}

struct seen {
	uint64_t here;
	bool found_self, found_vdso;
	int count, enough; /* 0: all */
};

static bool note_mapping(void *context, const struct proc_mapping *mapping)
{
	struct seen *seen = context;
	if (mapping->start <= seen->here && seen->here < mapping->end)
		seen->found_self = mapping->path[0] == '/' && mapping->inode;
	seen->found_vdso |= strcmp(mapping->path, "[vdso]") == 0;
	seen->count++;
	return seen->count != seen->enough;
}

TEST(own_mappings_are_read)
{
	struct seen seen = {.here = (uint64_t)(uintptr_t)note_mapping};
	CHECK(proc_each_mapping((uint32_t)getpid(), NULL, note_mapping, &seen));
	CHECK(seen.found_self);
	CHECK(seen.found_vdso);
	struct seen two = {.enough = 2};
	CHECK(proc_each_mapping((uint32_t)getpid(), NULL, note_mapping, &two));
	CHECK_INT(two.count, 2);
	CHECK(!proc_each_mapping(0x7fffffff, NULL, note_mapping, &seen));
}

TEST(own_stat_is_read)
{
	struct proc_stat stat;
	CHECK(proc_read_stat((uint32_t)getpid(), &stat));
	CHECK_INT(stat.parent_pid, getppid());
	CHECK(stat.start_ns > 0);
	CHECK(!proc_read_stat(0x7fffffff, &stat));
}

TEST(cpu_lists_are_parsed)
{
	struct cpu_list cpus = {0};
	CHECK_OK(cpu_list_parse("0-2,5,7-8\n", &cpus));
	static const int want[] = {0, 1, 2, 5, 7, 8};
	CHECK_INT(cpus.len, 6);
	for (size_t i = 0; i < cpus.len; i++)
		CHECK_INT(cpus.data[i], want[i]);
	CHECK_ERR(cpu_list_parse("3-1", &cpus), ERR_USAGE, "not a list");
	CHECK_ERR(cpu_list_parse("a", &cpus), ERR_USAGE, "not a list");
	CHECK_ERR(cpu_list_parse("1;2", &cpus), ERR_USAGE, "not a list");
	CHECK_ERR(cpu_list_parse("0-99999999", &cpus), ERR_USAGE, "none beyond");
	vec_deinit(&cpus);
}

static void *tgid_of_this_thread(void *context)
{
	*(uint32_t *)context = proc_read_tgid((uint32_t)gettid());
	return NULL;
}

TEST(proc_a_thread_has_a_process)
{
	uint32_t tgid = 0;
	pthread_t thread;
	CHECK_INT(pthread_create(&thread, NULL, tgid_of_this_thread, &tgid), 0);
	pthread_join(thread, NULL);
	CHECK_INT(tgid, getpid());
	CHECK_INT(proc_read_tgid(0x7ffffff0), 0); /* a pid that no process has */
}

/* Until it was waited for it is there, but of version 1 in the root of each hierarchy. */
TEST(what_has_ended_is_in_no_cgroup)
{
	CLEANUP(str_deinit) struct str own = {0}, ended = {0};
	pid_t child = fork();
	siginfo_t info;
	if (child == 0)
		_exit(0);
	CHECK_INT(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	CHECK(proc_read_cgroup((uint32_t)getpid(), &own));
	if (proc_read_cgroup((uint32_t)child, &ended))
		CHECK_STR(str_text(&ended), str_text(&own));
	waitpid(child, NULL, 0);
}
