/*
 * Does so many things that the kernel counts, and says how many: WAY N [WAY N]...
 *   faults        touches N pages that it never touched before; 256 MB of them at a time
 *   children      N processes, each of which touches 100
 *   switches      gives its CPU away N times, by sleeping
 *   migrations    goes N times to another CPU
 *   writes        writes N times to the address 0x10000000
 *   calls         calls getppid() N times
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	WATCHED_ADDRESS = 0x10000000,
	CHILD_PAGES = 100,
	MAPPED_PAGES = 1 << 16,
};

__attribute__((noinline)) static void touch_pages(volatile char *at, long pages)
{
	long page = sysconf(_SC_PAGESIZE);
	for (long i = 0; i < pages; i++)
		at[i * page] = 1;
}

static size_t bytes_of(long pages)
{
	return (size_t)(pages * sysconf(_SC_PAGESIZE));
}

static void *map_pages(long pages)
{
	size_t bytes = bytes_of(pages);
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	madvise(at, bytes, MADV_NOHUGEPAGE);
	return at;
}

__attribute__((noinline)) static void do_faults(long count)
{
	for (long left = count, pages; left > 0; left -= pages) {
		pages = left < MAPPED_PAGES ? left : MAPPED_PAGES;
		void *at = map_pages(pages);
		touch_pages(at, pages);
		munmap(at, bytes_of(pages));
	}
}

__attribute__((noinline)) static void do_children(long count)
{
	for (long i = 0; i < count; i++) {
		if (fork() == 0) {
			do_faults(CHILD_PAGES);
			_exit(0);
		}
		wait(NULL);
	}
}

__attribute__((noinline)) static void do_switches(long count)
{
	struct timespec moment = {.tv_nsec = 100000};
	for (long i = 0; i < count; i++)
		nanosleep(&moment, NULL);
}

__attribute__((noinline)) static void do_migrations(long count)
{
	cpu_set_t cpus;
	for (long i = 0; i < count; i++) {
		int now = sched_getcpu();
		CPU_ZERO(&cpus);
		CPU_SET(now == 0 ? 1 : 0, &cpus);
		sched_setaffinity(0, sizeof(cpus), &cpus);
	}
}

__attribute__((noinline)) static void do_writes(long count)
{
	volatile int *at = mmap((void *)WATCHED_ADDRESS, 4096, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	for (long i = 0; i < count; i++)
		*at = (int)i;
}

__attribute__((noinline)) static void do_calls(long count)
{
	for (long i = 0; i < count; i++)
		syscall(SYS_getppid);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(long count);
	} ways[] = {{"faults", do_faults}, {"children", do_children}, {"switches", do_switches},
		{"migrations", do_migrations}, {"writes", do_writes}, {"calls", do_calls}};
	for (int i = 1; i + 1 < argc; i += 2)
		for (size_t way = 0; way < sizeof(ways) / sizeof(*ways); way++)
			if (strcmp(argv[i], ways[way].name) == 0)
				ways[way].run(atol(argv[i + 1]));
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("faults %ld\nswitches %ld\ncpu_us %ld\n", usage.ru_minflt + usage.ru_majflt,
		usage.ru_nvcsw + usage.ru_nivcsw,
		(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec +
			usage.ru_stime.tv_usec);
	return 0;
}
