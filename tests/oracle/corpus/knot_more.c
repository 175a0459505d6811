#include "knot.h"

struct pair {
	int left, right;
};

/* A copy for constants and one without the unused part: .constprop, .isra. */
__attribute__((noinline)) static int chosen(const struct pair *pair, int kind, int unused)
{
	(void)unused;
	if (kind == 3)
		return level_2(pair->left);
	return twist(pair->right);
}

static int odd(int x);
static int even(int x) { return x == 0 ? 1 : odd(x - 1); }
__attribute__((noinline)) static int odd(int x) { return x == 0 ? 0 : even(x - 1) + twist(x); }

int unwind_knot(int x)
{
	struct pair pair = {x, x + 1};
	return chosen(&pair, 3, 1) + odd(x & 31) + threaded((const unsigned char *)"\1\2\3", x & 3);
}
