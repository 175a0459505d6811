/* A file that compiles in a moment: what short-lived compilers are busy with in the benchmarks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		printf("%zu %ld\n", strlen(argv[i]), strtol(argv[i], NULL, 10));
	return 0;
}
