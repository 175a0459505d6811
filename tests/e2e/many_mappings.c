/*
 * Maps executable memory in as many pieces as it may (runtime.max_map_count), and runs code beside
 * them: many_mappings SECONDS [MAPPINGS [PROCESSES]]     60,000 mappings, 1 process Each is the
 * first page of this program's file. Further processes are forked with all of them, and map one
 * more each.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE = 4096,
};

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void spin_until(double until)
{
	for (volatile uint64_t i = 0; now() < until;)
		for (int k = 0; k < 100000; k++)
			i++;
}

int main(int argc, char **argv)
{
	double until = now() + (argc > 1 ? atof(argv[1]) : 1);
	size_t mappings = argc > 2 ? strtoul(argv[2], NULL, 10) : 60000;
	size_t processes = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 1;
	for (size_t i = 0; i < mappings; i++)
		if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			break;
	for (size_t i = 1; i < processes && now() < until; i++) {
		if (fork())
			continue;
		(void)mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		spin_until(until);
		_exit(0);
	}
	spin_until(until);
	while (wait(NULL) > 0)
		;
	return 0;
}
