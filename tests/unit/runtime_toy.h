/* Runtimes that only this test has: two rows, beside those of ebprof. */
#ifndef EBPROF_RUNTIME_TOY_H
#define EBPROF_RUNTIME_TOY_H

#define RUNTIMES_OF_TEST(X)  X(RUNTIME_TOY, 30, toy)
#define COMPILERS_OF_TEST(X) X(RUNTIME_TOY_COMPILER, 31, toy_compiler)

/* Where the address of the thread's innermost frame is, from the file's beginning on. A frame is
 * two words: its caller, and the name of its function. */
struct toy_row {
	unsigned long long frame;
};

#endif
