/*
 * Runs a fuzz target over files, each in a process of its own, without a fuzzer:
 * what once broke stays mended, on machines that have no clang.
 *   replay FOLDER...     every file in them, and the empty input
 */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SECONDS_AN_INPUT = 10,
	MAX_INPUT_BYTES = 16 << 20,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void run_bytes(const uint8_t *bytes, size_t len)
{
	/* A copy of its exact size, so that a sanitizer sees a read beyond the end. */
	uint8_t *copy = malloc(len ? len : 1);
	if (!copy)
		exit(1);
	memcpy(copy, bytes, len);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

static void run_file(const char *path)
{
	static uint8_t bytes[MAX_INPUT_BYTES];
	FILE *file = fopen(path, "re");
	if (!file) {
		perror(path);
		exit(1);
	}
	size_t len = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	run_bytes(bytes, len);
}

/* NULL: the empty input. True when it passed. */
static int passes(const char *path)
{
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		/* Of CPU time: the machine may have others to run. */
		setrlimit(RLIMIT_CPU, &(struct rlimit){SECONDS_AN_INPUT, 2 * SECONDS_AN_INPUT});
		if (path)
			run_file(path);
		else
			run_bytes((const uint8_t *)"", 0);
		exit(0); /* not _exit: the leak checker runs at exit */
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		return 0;
	}
	if (WIFSIGNALED(status))
		printf("FAIL %s: killed by signal %d (%s)\n", path ? path : "the empty input",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		printf("FAIL %s: exit status %d\n", path ? path : "the empty input",
			WEXITSTATUS(status));
	return status == 0;
}

int main(int argc, char **argv)
{
	int passed = 0, failed = 0;
	if (passes(NULL))
		passed++;
	else
		failed++;
	for (int i = 1; i < argc; i++) {
		struct dirent **names;
		int count = scandir(argv[i], &names, NULL, alphasort);
		for (int j = 0; j < count; j++) {
			char path[PATH_MAX];
			snprintf(path, sizeof(path), "%s/%s", argv[i], names[j]->d_name);
			if (names[j]->d_name[0] != '.') {
				if (passes(path))
					passed++;
				else
					failed++;
			}
			free(names[j]);
		}
		if (count >= 0)
			free(names);
	}
	printf("%d passed, %d failed, 0 skipped\n", passed, failed);
	return failed ? 1 : 0;
}
