/*
 * Unit tests that register themselves: TEST(name) { CHECK(...); }
 * Each test runs in a process and in an empty folder of its own, so a crash is one red line, and
 * the files it writes go away. One that fails is run once more when all others are through: a busy
 * machine is no bug of ours.
 */
#ifndef EBPROF_UNIT_H
#define EBPROF_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unit_test {
	const char *file, *name;
	void (*run)(void);
	struct unit_test *next;
	char *first_why; /* it failed once and gets a second chance; else NULL */
};

void unit_register(struct unit_test *test);
void unit_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Ends the running test as skipped, with the reason. */
void unit_skip(const char *reason) __attribute__((noreturn));

void unit_check_int(const char *file, int line, const char *expr, long long got, long long want);
void unit_check_str(
	const char *file, int line, const char *expr, const char *got, const char *want);

#define TEST(test_name) \
	static void test_name(void); \
	__attribute__((constructor)) static void test_name##_register(void) \
	{ \
		static struct unit_test test = {__FILE__, #test_name, test_name, NULL, NULL}; \
		unit_register(&test); \
	} \
	static void test_name(void)

#define CHECK(condition) \
	do { \
		if (!(condition)) \
			unit_fail(__FILE__, __LINE__, "%s", #condition); \
	} while (0)
#define CHECK_INT(got, want) \
	unit_check_int(__FILE__, __LINE__, #got, (long long)(got), (long long)(want))
#define CHECK_STR(got, want) unit_check_str(__FILE__, __LINE__, #got, (got), (want))
/* For functions that return a struct err *. */
#define CHECK_OK(call) \
	do { \
		struct err *check_err_ = (call); \
		if (check_err_) { \
			unit_fail(__FILE__, __LINE__, "%s: %s", #call, err_message(check_err_)); \
			err_destroy(check_err_); \
		} \
	} while (0)
/* The call must fail with this code and with a message that holds `part`. */
#define CHECK_ERR(call, code, part) \
	unit_check_err(__FILE__, __LINE__, #call, (call), (code), (part))

struct err;
void unit_check_err(
	const char *file, int line, const char *expr, struct err *err, int code, const char *part);

#endif
