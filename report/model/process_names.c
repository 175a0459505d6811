#include "report/model/process_names.h"

#include <string.h>

enum {
	COMM_MAX_BYTES = 15 /* what the kernel cuts the name of a process to */
};

void process_names_init(struct process_names *names, const struct profile *profile)
{
	*names = (struct process_names){
		.profile = profile,
		.leaders = mem_zalloc_array(profile->processes.len, sizeof(*names->leaders)),
	};
	vec_each(&profile->threads, thread)
		if (thread->tid == thread->pid)
			names->leaders[thread->process] = thread->comm;
}

void process_names_deinit(struct process_names *names)
{
	mem_free(names->leaders);
}

/*
 * The name of the process, also for samples of its other threads, so that
 * selecting by it finds them all. A first thread that only waits (as Java's)
 * was not sampled: then it is the name of the program, as exec would set it.
 */
void process_names_put(
	const struct process_names *names, const struct profile_thread *thread, struct str *out)
{
	const struct profile *profile = names->profile;
	const struct profile_object *exe =
		&profile->objects.data[profile->processes.data[thread->process].info.exe];
	const char *leader = names->leaders[thread->process];
	if (thread->tid == thread->pid)
		leader = thread->comm;
	size_t before = out->len;
	if (leader)
		str_puts(out, leader);
	else
		str_write(out, exe->name, strnlen(exe->name, COMM_MAX_BYTES));
	if (out->len == before)
		str_puts(out, thread->comm);
}
