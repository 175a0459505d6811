/* Inlined in both files, and large enough to be called out of line as well. */
static inline int twist(int x)
{
	int sum = 0;
	for (int i = 0; i < (x & 15); i++)
		sum += i ^ x;
	return sum;
}

#define DEEPER(name, inner)                                                                        \
	static inline __attribute__((always_inline)) int name(int x) { return inner(x) + inner(x ^ 3); }

/* Each level twice on one line of the level above. */
DEEPER(level_1, twist)
DEEPER(level_2, level_1)
DEEPER(level_3, level_2)

int unwind_knot(int x);
int threaded(const unsigned char *code, int count);
