/*
 * Becomes another program, and that becomes this one, as fast as it goes.
 *   exec_storm SECONDS OTHER [BYTES]     with arguments of so many bytes in all
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ARGUMENT_BYTES = 120 * 1024, /* one may have 128 KiB */
	ARGUMENTS_MAX = 64,
	TURNS = 20000,
};

int main(int argc, char **argv)
{
	if (argc < 3)
		return 1;
	alarm((unsigned)atoi(argv[1])); /* each program begins it anew: the tests end us before */
	size_t bytes = argc > 3 ? (size_t)atol(argv[3]) : 0;
	for (volatile int i = 0; i < TURNS; i++)
		;
	char *arguments[ARGUMENTS_MAX + 5] = {argv[2], argv[1], argv[0], argc > 3 ? argv[3] : NULL};
	char *one = calloc(1, ARGUMENT_BYTES + 1);
	if (!one)
		return 1;
	memset(one, '\033', ARGUMENT_BYTES);
	for (size_t i = 0; i < bytes / ARGUMENT_BYTES && i < ARGUMENTS_MAX; i++)
		arguments[4 + i] = one;
	execv(argv[2], arguments);
	perror(argv[2]);
	return 1;
}
