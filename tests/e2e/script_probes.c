/*
 * What an interpreter with USDT probes does where it enters functions of a script, and where it
 * leaves them; those of python. The functions are of script.py:
 *   <module> heavy spin            three times as long as
 *   <module> light spin
 *   <module> catcher quiet spin    after an exception: thrower, which catcher called, is never left
 * It says how many were entered, and how many left.
 *   script_probes MILLISECONDS [ROUNDS]
 * of CPU time, at least; the innermost function goes so many rounds, 500,000 or as many as are
 * given.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "usdt_probe.h"

#define FRAME     __attribute__((noinline, noclone, noipa))
#define NO_TAIL() __asm__ volatile("" ::: "memory")

enum {
	MIN_ROUNDS = 30, /* in a guest the CPU's clock may jump */
};

static unsigned entered, left;
static jmp_buf handler;

/* As CPython's dtrace_function_entry(): called for it by the frame that runs the function. */
FRAME static void tell_entry(const char *file, const char *name, int line)
{
	USDT_PROBE("python", "function__entry", "0", "8@%0 8@%1 -4@%2", "r"(file), "r"(name),
		"r"(line));
	entered++;
}

FRAME static void tell_return(const char *file, const char *name, int line)
{
	USDT_PROBE("python", "function__return", "0", "8@%0 8@%1 -4@%2", "r"(file), "r"(name),
		"r"(line));
	left++;
}

struct function {
	const char *name;
	int line;
	void (*body)(void);
};

FRAME static void interpret(const struct function *function)
{
	tell_entry("script.py", function->name, function->line);
	function->body();
	tell_return("script.py", function->name, function->line);
}

static double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static double end;
static int spin_rounds = 500000;

static void spin(void)
{
	for (volatile int i = 0; i < spin_rounds; i++)
		;
}

static void heavy(void)
{
	const struct function function = {"spin", 30, spin};
	for (int i = 0; i < 3; i++)
		interpret(&function);
}

static void light(void)
{
	const struct function function = {"spin", 30, spin};
	interpret(&function);
}

static void thrower(void)
{
	longjmp(handler, 1);
}

/* Its native frame is above that of what is called when it is over. */
FRAME static void attempt(const struct function *function)
{
	interpret(function);
	NO_TAIL();
}

static void catcher(void)
{
	const struct function functions[] = {{"thrower", 50, thrower}, {"quiet", 60, light}};
	if (!setjmp(handler))
		attempt(&functions[0]);
	interpret(&functions[1]);
}

static void module(void)
{
	static const struct function functions[] = {
		{"heavy", 10, heavy}, {"light", 20, light}, {"catcher", 40, catcher}};
	for (int rounds = 0; rounds < MIN_ROUNDS || cpu_seconds() < end; rounds++)
		for (int i = 0; i < 3; i++)
			interpret(&functions[i]);
}

int main(int argc, char **argv)
{
	static const struct function program = {"<module>", 1, module};
	end = cpu_seconds() + (argc > 1 ? strtod(argv[1], NULL) / 1000 : 1);
	if (argc > 2)
		spin_rounds = atoi(argv[2]);
	interpret(&program);
	printf("%u entered, %u left\n", entered, left);
	return 0;
}
