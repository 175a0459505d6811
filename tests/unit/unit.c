#include "tests/unit/unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/err.h"

enum {
	EXIT_FAILED = 1,
	EXIT_SKIPPED = 77,
};

static struct unit_test *tests;
static int failures; /* of the running test, in its own process */

void unit_register(struct unit_test *test)
{
	test->next = tests;
	tests = test;
}

void unit_fail(const char *file, int line, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	printf("    %s:%d: ", file, line);
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
	failures++;
}

void unit_skip(const char *reason)
{
	printf("    skipped: %s\n", reason);
	fflush(stdout);
	_exit(EXIT_SKIPPED);
}

void unit_check_int(const char *file, int line, const char *expr, long long got, long long want)
{
	if (got != want)
		unit_fail(file, line, "%s is %lld, not %lld", expr, got, want);
}

void unit_check_str(const char *file, int line, const char *expr, const char *got, const char *want)
{
	if (!got || strcmp(got, want) != 0)
		unit_fail(file, line, "%s is \"%s\", not \"%s\"", expr, got ? got : "(null)", want);
}

void unit_check_err(
	const char *file, int line, const char *expr, struct err *err, int code, const char *part)
{
	if (!err) {
		unit_fail(file, line, "%s succeeded", expr);
		return;
	}
	if ((int)err_code(err) != code || !strstr(err_message(err), part))
		unit_fail(file, line, "%s: %s error \"%s\"", expr, err_code_word(err_code(err)),
			err_message(err));
	err_destroy(err);
}

static int run_forked(const struct unit_test *test)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		test->run();
		fflush(stdout);
		exit(failures ? EXIT_FAILED
			      : 0); /* exit, not _exit: the leak checker runs at exit */
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		return EXIT_FAILED;
	}
	if (WIFSIGNALED(status)) {
		printf("    killed by signal %d (%s)\n", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
		return EXIT_FAILED;
	}
	return WEXITSTATUS(status);
}

/* With an argument, only the tests whose name or file holds it. */
int main(int argc, char **argv)
{
	int passed = 0, failed = 0, skipped = 0;
	for (const struct unit_test *test = tests; test; test = test->next) {
		if (argc > 1 && !strstr(test->name, argv[1]) && !strstr(test->file, argv[1]))
			continue;
		int result = run_forked(test);
		passed += result == 0;
		skipped += result == EXIT_SKIPPED;
		failed += result != 0 && result != EXIT_SKIPPED;
		if (result)
			printf("%s %s: %s\n", result == EXIT_SKIPPED ? "SKIP" : "FAIL", test->file,
				test->name);
	}
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed ? 1 : 0;
}
