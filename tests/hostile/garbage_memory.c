/*
 * Loaded into an interpreter by LD_PRELOAD: the script calls getppid() or clock() from deep
 * within itself, and what is called so does not return. It writes garbage over the interpreter's
 * memory instead, and ends the process after a while: words that point at themselves, at each other
 * in circles, at places that are not mapped; sizes that are huge or negative. The stack, code and
 * what libc needs stay, so that a profiler goes from the native stack into that memory.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum {
	REGIONS_MAX = 256,
	MAPS_BYTES = 1 << 16,
};

static struct region {
	uint64_t *start;
	size_t words;
} regions[REGIONS_MAX];
static size_t nr_regions;
static char maps[MAPS_BYTES];
static uint64_t state = 88172645463325252U;

/* xorshift64 */
static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* The heap, and memory of no file that can be written: but neither stacks nor threads' own. */
static bool is_prey(const char *line, const char *end, uint64_t start, uint64_t stop)
{
	const char *path = memchr(line, '/', (size_t)(end - line));
	const char *special = memchr(line, '[', (size_t)(end - line));
	uint64_t own = (uint64_t)__builtin_thread_pointer();
	uint64_t frame = (uint64_t)__builtin_frame_address(0);
	bool is_heap = special && strncmp(special, "[heap]", 6) == 0;
	bool is_ours = (own >= start && own < stop) || (frame >= start && frame < stop);
	return !path && (!special || is_heap) && !is_ours && memmem(line, 60, " rw-p ", 6);
}

static void find_regions(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	for (ssize_t got; (got = read(fd, maps + len, MAPS_BYTES - 1 - len)) > 0;)
		len += (size_t)got;
	close(fd);
	for (char *line = maps, *end; (end = strchr(line, '\n')) && nr_regions < REGIONS_MAX;
		line = end + 1) {
		char *dash, *space;
		uint64_t start = strtoull(line, &dash, 16), stop = strtoull(dash + 1, &space, 16);
		if (is_prey(line, end, start, stop))
			regions[nr_regions++] = (struct region){
				(uint64_t *)start, (size_t)(stop - start) / sizeof(uint64_t)};
	}
}

static uint64_t *draw_word(void)
{
	const struct region *region = &regions[draw() % nr_regions];
	return region->start + draw() % region->words;
}

static uint64_t draw_garbage(uint64_t *at)
{
	switch (draw() % 8) {
	case 0:
		return (uint64_t)at;
	case 1:
		return (uint64_t)at - 8 * (draw() % 64);
	case 2:
		return (uint64_t)draw_word();
	case 3:
		return draw();
	case 4:
		return UINT64_MAX;
	case 5:
		return (uint64_t)1 << draw() % 64;
	case 6: /* another one's value: of the right kind, in the wrong place */
		return *draw_word();
	default:
		return 0;
	}
}

static void write_garbage(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	state ^= (uint64_t)now.tv_nsec << 20;
	find_regions();
	if (!nr_regions)
		_exit(1);
	/* The first moment of it is the most telling: little is wrong yet. Then all over again. */
	for (uint64_t turn = 0; turn < 3000000; turn++) {
		uint64_t *at = draw_word();
		*at = draw_garbage(at);
		for (volatile int i = 0; turn < 20000 && i < 5000; i++)
			;
	}
	_exit(0);
}

pid_t getppid(void)
{
	write_garbage();
	return 0;
}

clock_t clock(void)
{
	write_garbage();
	return 0;
}
