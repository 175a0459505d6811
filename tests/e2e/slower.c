/*
 * A program of fixed work, of which one function's can be more: heavy() takes 50 % of its time,
 * medium() 30 %, light() 20 %; with an argument PERCENT, medium() takes so many percent of that.
 *   slower PERCENT [ROUNDS]
 *   slower calibrate SECONDS    prints how many ROUNDS take so much CPU time here, with 100 percent
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRAME __attribute__((noinline, noclone, noipa))

enum {
	UNIT = 20000,
};

/*
 * A chain of multiplications takes as long each time. A loop over a variable in memory does not:
 * how soon what was stored can be loaded again depends on what the CPU foresees, by up to the
 * factor 2 from run to run and from function to function.
 */
#define DEFINE_WORK(name) \
	FRAME static void name(int units) \
	{ \
		unsigned long product = 1; \
		for (int i = 0; i < units * (UNIT / 100); i++) { \
			product *= 6364136223846793005UL; \
			__asm__ volatile("" : "+r"(product)); \
		} \
	}

DEFINE_WORK(heavy)
DEFINE_WORK(medium)
DEFINE_WORK(light)

static void work(int rounds, int percent)
{
	for (int i = 0; i < rounds; i++) {
		heavy(500);
		medium(3 * percent);
		light(200);
	}
}

static int rounds_of(double seconds)
{
	enum {
		STEP = 100
	};
	int rounds = 0;
	clock_t began = clock();
	while (clock() - began < CLOCKS_PER_SEC / 5) {
		work(STEP, 100);
		rounds += STEP;
	}
	return (int)(rounds * seconds / ((double)(clock() - began) / CLOCKS_PER_SEC)) + 1;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "calibrate") == 0) {
		printf("%d\n", rounds_of(strtod(argv[2], NULL)));
		return 0;
	}
	work(argc > 2 ? atoi(argv[2]) : 5000, argc > 1 ? atoi(argv[1]) : 100);
	return 0;
}
