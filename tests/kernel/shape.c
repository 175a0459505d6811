/*
 * A program whose stacks are known, one shape after the other for MILLISECONDS each:
 *   main a b c spin                  a chain of calls
 *   main deep (400 times) bottom     a recursion
 *   main reads ... read [kernel]     the leaf in the kernel
 *   main sorts ... compare           through frames of the C library
 *   main raises ... on_signal        through a signal frame
 * It is built with and without frame pointers, static and dynamic; without, only
 * call frame information leads from one frame to the next; and without that, only
 * its code.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* Not inlined, not merged, no tail calls: each stays a frame of its own. */
#define FRAME     __attribute__((noinline, noclone, noipa))
#define NO_TAIL() __asm__ volatile("" ::: "memory")

enum {
	DEPTH = 400,
	READ_BYTES = 1 << 20, /* /dev/zero fills it in the kernel: that is where the time goes */
};

static volatile sig_atomic_t is_over;

static void on_alarm(int number)
{
	(void)number;
	is_over = 1;
}

/* Without a call, so that it is the leaf in every sample. */
static inline __attribute__((always_inline)) unsigned burn(void)
{
	unsigned value = 1;
	while (!is_over)
		for (volatile int i = 0; i < 1000; i++)
			value = value * 1664525 + 1013904223;
	return value;
}

FRAME static unsigned spin(void)
{
	return burn();
}

FRAME static unsigned c(unsigned x)
{
	unsigned result = spin() + x;
	NO_TAIL();
	return result;
}

/* Frames of different sizes, with different registers saved. */
FRAME static unsigned b(unsigned x)
{
	volatile char room[200] = {(char)x};
	unsigned result = c(x + 1) ^ (unsigned)room[0];
	NO_TAIL();
	return result;
}

FRAME static unsigned a(unsigned x, unsigned y, unsigned z)
{
	unsigned result = b(x) + b(0) * x + y * z;
	NO_TAIL();
	return result;
}

FRAME static unsigned bottom(void)
{
	return burn();
}

FRAME static unsigned deep(unsigned left) /* NOLINT(misc-no-recursion) */
{
	unsigned result = left > 1 ? deep(left - 1) + left : bottom();
	NO_TAIL();
	return result;
}

FRAME static int reads(void)
{
	static char buffer[READ_BYTES];
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC), bad = fd < 0;
	while (!is_over && !bad)
		bad = read(fd, buffer, sizeof(buffer)) < 0 && errno != EINTR;
	close(fd);
	return bad;
}

FRAME static int compare(const void *left, const void *right)
{
	unsigned value = burn();
	NO_TAIL();
	return value ? *(const char *)left - *(const char *)right : 0;
}

FRAME static int sorts(void)
{
	char letters[] = "shape";
	qsort(letters, strlen(letters), 1, compare);
	return letters[0] != 'a';
}

static void on_signal(int number)
{
	(void)number;
	burn();
	NO_TAIL();
}

FRAME static int raises(void)
{
	int result = raise(SIGUSR1);
	NO_TAIL();
	return result;
}

static void begin(long milliseconds)
{
	struct itimerval once = {
		.it_value = {milliseconds / 1000, milliseconds % 1000 * 1000},
	};
	is_over = 0;
	setitimer(ITIMER_REAL, &once, NULL);
}

int main(int argc, char **argv)
{
	long milliseconds = argc > 1 ? strtol(argv[1], NULL, 10) : 600;
	signal(SIGALRM, on_alarm);
	signal(SIGUSR1, on_signal);
	begin(milliseconds);
	unsigned result = a(1, 2, 3);
	begin(milliseconds);
	result += deep(DEPTH);
	begin(milliseconds);
	int bad = reads();
	begin(milliseconds);
	bad |= sorts();
	begin(milliseconds);
	bad |= raises();
	printf("%u\n", result);
	return bad;
}
