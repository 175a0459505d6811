#include "tests/unit/unit.h"

#include <ftw.h>
#include <stdarg.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/err.h"

enum {
	EXIT_FAILED = 1,
	EXIT_SKIPPED = 77,
	WHY_BYTES = 256,
};

static struct unit_test *tests;
static int failures; /* of the running test, in its own process */
static char *why;    /* the first of them, shared with who runs the tests */

void unit_register(struct unit_test *test)
{
	test->next = tests;
	tests = test;
}

void unit_fail(const char *file, int line, const char *fmt, ...)
{
	char what[4096];
	va_list args;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	printf("    %s:%d: %s\n", file, line, what);
	if (!failures++ && why)
		snprintf(why, WHY_BYTES, "%s:%d: %.200s", file, line, what);
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

static bool enter_folder(char *path)
{
	if (mkdtemp(path) && !chdir(path))
		return true;
	perror(path);
	return false;
}

/*
 * UNIT_SKIPS=FILE: what cannot run where these tests are run, a line "NAME: REASON" for each, see
 * qemu_user.skips. "": it can.
 */
static const char *reason_to_skip(const struct unit_test *test)
{
	static char line[WHY_BYTES];
	const char *path = getenv("UNIT_SKIPS");
	FILE *file = path ? fopen(path, "re") : NULL;
	size_t len = strlen(test->name);
	const char *reason = "";
	while (file && !*reason && fgets(line, sizeof(line), file))
		if (strncmp(line, test->name, len) == 0 && strncmp(line + len, ": ", 2) == 0) {
			line[strcspn(line, "\n")] = '\0';
			reason = line + len + 2;
		}
	if (file)
		fclose(file);
	return reason;
}

/* In a folder of its own, which goes away with the folder of them all. */
static int run_forked(const struct unit_test *test)
{
	const char *reason = reason_to_skip(test);
	if (*reason) {
		printf("    skipped: %s\n", reason);
		return EXIT_SKIPPED;
	}
	snprintf(why, WHY_BYTES, "it ended with a status of its own");
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		char folder[] = "test.XXXXXX";
		if (!enter_folder(folder))
			_exit(EXIT_FAILED);
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
		snprintf(why, WHY_BYTES, "killed by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
		printf("    %s\n", why);
		return EXIT_FAILED;
	}
	return WEXITSTATUS(status);
}

struct sums {
	int passed, failed, skipped;
};

static void count(struct sums *sums, const struct unit_test *test, int result)
{
	sums->passed += result == 0;
	sums->skipped += result == EXIT_SKIPPED;
	sums->failed += result != 0 && result != EXIT_SKIPPED;
	if (result)
		printf("%s %s: %s\n", result == EXIT_SKIPPED ? "SKIP" : "FAIL", test->file,
			test->name);
}

/* When all others are through; a test that is skipped now has failed all the same. */
static void run_again(struct sums *sums, const struct unit_test *test)
{
	int result = run_forked(test);
	count(sums, test, result == EXIT_SKIPPED ? EXIT_FAILED : result);
	if (result == 0)
		printf("again %s: %s: passed in a second run; first: %s\n", test->file, test->name,
			test->first_why);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

/*
 * With an argument, only the tests whose name or file holds it. A test that failed is run a second
 * time, unless AGAIN=0 says otherwise.
 */
int main(int argc, char **argv)
{
	char folder[] = "/tmp/ebprof-unit.XXXXXX";
	const char *again = getenv("AGAIN");
	bool has_second_run = !again || strcmp(again, "0") != 0;
	struct sums sums = {0};
	why = mmap(NULL, WHY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (why == MAP_FAILED) {
		perror("mmap");
		return EXIT_FAILED;
	}
	if (!enter_folder(folder))
		return EXIT_FAILED;
	for (struct unit_test *test = tests; test; test = test->next) {
		if (argc > 1 && !strstr(test->name, argv[1]) && !strstr(test->file, argv[1]))
			continue;
		int result = run_forked(test);
		bool is_failed = result && result != EXIT_SKIPPED;
		if (!is_failed || !has_second_run) {
			count(&sums, test, result);
			continue;
		}
		test->first_why = strdup(why);
		printf("once more at the end: %s: %s\n", test->file, test->name);
	}
	for (const struct unit_test *test = tests; test; test = test->next)
		if (test->first_why)
			run_again(&sums, test);
	nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	printf("%d passed, %d failed, %d skipped\n", sums.passed, sums.failed, sums.skipped);
	return sums.failed ? EXIT_FAILED : 0;
}
