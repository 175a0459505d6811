/* C that is hard on readers of its debug information. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "knot.h"

static jmp_buf back;
static volatile int sink;

__attribute__((cold, noinline)) static void complain(int x)
{
	fprintf(stderr, "%d\n", x);
	if (x > 1000)
		longjmp(back, 1);
}

/* The unlikely half goes to threaded.cold. */
int threaded(const unsigned char *code, int count)
{
	static const void *const labels[] = {&&add, &&sub, &&mul, &&end};
	int total = 0, at = 0;
#include "knot_body.inc"
	goto *labels[code[at] & 3];
add:
	total += code[at];
	if (__builtin_expect(total > 1 << 20, 0)) {
		complain(total);
		total = level_2(total);
	}
	if (++at == count)
		goto end;
	goto *labels[code[at] & 3];
sub:
	total -= twist(code[at]);
	if (++at == count)
		goto end;
	goto *labels[code[at] & 3];
mul:
	total *= level_1(code[at]);
	if (++at < count)
		goto *labels[code[at] & 3];
end:
	return total;
}

__attribute__((noinline)) static int variable(int n)
{
	int row[n + 1], rows[n + 1][3];
	memset(row, 0, sizeof(row));
	memset(rows, 1, sizeof(rows));
	for (int i = 0; i < n; i++)
		row[i] = rows[i][i % 3] + level_3(i);
	return row[n / 2];
}

#ifndef __clang__
/* A function within a function, that is called through a pointer and inlined. */
static int apply(int (*f)(int), int x)
{
	return f(x) + f(x + 1);
}
__attribute__((noinline)) static int nested(int base)
{
	int add_base(int x)
	{
		return twist(x) + base;
	}
	sink = add_base(3);
	return apply(add_base, base);
}
#else
static int nested(int base)
{
	return twist(base);
}
#endif

/* Code of a section of its own, which begins a second range of the unit. */
__attribute__((noinline, section("knots"))) static int apart(int x)
{
	return level_1(x) * 7 + twist(x);
}

static inline int fact(int x)
{
	return x < 2 ? 1 : x * fact(x - 1);
}

__attribute__((noinline)) static int switched(int x)
{
	switch (x & 7) {
	case 0:
		return twist(x);
	case 1:
		return level_1(x);
	case 2:
		return x / (x | 1);
	case 3:
		x = ({
			int y = twist(x);
			y *y;
		}); /* fallthrough */
	case 4:
		return fact(x & 7);
	case 5:
		complain(x);
		return 1;
	default:
		return apart(x);
	}
}

#line 5000 "generated.y"
__attribute__((noinline)) static int generated(int x)
{
	return twist(x) +
#line 1 "generated.y"
	       level_1(x);
}
#line 104 "knot.c"

int main(int argc, char **argv)
{
	if (setjmp(back))
		return 1;
	long turns = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	unsigned char code[64];
	for (int i = 0; i < 64; i++)
		code[i] = (unsigned char)(i * 7);
	while (turns-- > 0)
		sink += threaded(code, 63) + variable(argc + 8) + nested(argc) + switched(sink) +
			generated(argc) + unwind_knot(argc + 4);
	return 0;
}
