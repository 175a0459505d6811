/* A thread that notes how files grow. */
#include "record/host/growth_watch.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/unit.h"

enum {
	MAX_TURNS = 60 * 1000, /* of 1 ms: whatever takes a minute has stopped */
};

static void append(int fd, size_t bytes)
{
	static const char line[100] = "1000 10 f\n";
	CHECK(bytes <= sizeof(line) && write(fd, line, bytes) == (ssize_t)bytes);
}

/* The thread's figures cannot be read while they are its: it is waited for by time. */
static void let_it_look(void)
{
	usleep(100 * 1000);
}

TEST(growth_watch_notes_each_length)
{
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct file_growth growth = {0};
	/* How often the thread gets to look is the machine's affair: until it has seen three. */
	for (int i = 0; i < MAX_TURNS / 300 && growth.steps.len < 3; i++) {
		struct growth_watch *watch = growth_watch_create();
		file_growth_deinit(&growth);
		growth = (struct file_growth){0};
		CHECK_INT(ftruncate(fd, 0), 0);
		CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
		append(fd, 10);
		growth_watch_add(watch, &growth, fd);
		let_it_look();
		append(fd, 20);
		let_it_look();
		append(fd, 30);
		let_it_look();
		growth_watch_remove(watch, &growth); /* from here on it is ours again */
		growth_watch_destroy(watch);
	}
	CHECK_INT(growth.steps.len, 3);
	static const uint64_t lengths[] = {10, 30, 60};
	for (size_t i = 0; i < growth.steps.len && i < 3; i++) {
		CHECK_INT(growth.steps.data[i].bytes, lengths[i]);
		CHECK(growth.steps.data[i].first_ns <= growth.steps.data[i].last_ns);
	}
	file_growth_deinit(&growth);
	close(fd);
}

TEST(growth_watch_forgets_what_was_removed)
{
	int fd = memfd_create("map", MFD_CLOEXEC), other_fd = memfd_create("map", MFD_CLOEXEC);
	struct growth_watch *watch = growth_watch_create();
	struct file_growth growth = {0}, other = {0}, never_added = {0};
	append(fd, 10);
	append(other_fd, 10);
	growth_watch_add(watch, &growth, fd);
	growth_watch_add(watch, &other, other_fd);
	growth_watch_remove(watch, &growth);
	growth_watch_remove(watch, &never_added);
	size_t steps = growth.steps.len;
	append(fd, 10);
	let_it_look();
	CHECK_INT(growth.steps.len, steps);
	growth_watch_destroy(watch); /* also with a file that is still watched */
	file_growth_deinit(&growth);
	file_growth_deinit(&other);
	close(fd);
	close(other_fd);
}

TEST(growth_watch_without_files)
{
	growth_watch_destroy(growth_watch_create());
	growth_watch_destroy(NULL);
}
