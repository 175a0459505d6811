/*
 * Maps and unmaps executable memory as fast as it can, as plugin loaders and compilers of code do:
 *   mmap_storm SECONDS [FILE]     of no file, or of a file
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	enum {
		BYTES = 4096,
	};
	double until = now() + (argc > 1 ? atof(argv[1]) : 1);
	int fd = argc > 2 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
	if (argc > 2 && fd < 0) {
		perror(argv[2]);
		return 1;
	}
	long count = 0;
	for (; now() < until; count++) {
		int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE;
		void *memory = mmap(NULL, BYTES, PROT_READ | PROT_EXEC, flags, fd, 0);
		if (memory == MAP_FAILED) {
			perror("mmap");
			return 1;
		}
		munmap(memory, BYTES);
	}
	printf("%ld\n", count);
	return 0;
}
