/*
 * A program of fixed work, of which one function's can be more: heavy() takes 50 % of its time,
 * medium() 30 %, light() 20 %; with an argument PERCENT, medium() takes so many percent of that.
 *   slower PERCENT [ROUNDS]
 */
#include <stdlib.h>

#define FRAME __attribute__((noinline, noclone, noipa))

enum {
	UNIT = 20000,
};

#define DEFINE_WORK(name) \
	FRAME static void name(int units) \
	{ \
		for (volatile int i = 0; i < units * (UNIT / 100); i++) \
			; \
	}

DEFINE_WORK(heavy)
DEFINE_WORK(medium)
DEFINE_WORK(light)

int main(int argc, char **argv)
{
	int percent = argc > 1 ? atoi(argv[1]) : 100;
	int rounds = argc > 2 ? atoi(argv[2]) : 5000;
	for (int i = 0; i < rounds; i++) {
		heavy(500);
		medium(3 * percent);
		light(200);
	}
	return 0;
}
