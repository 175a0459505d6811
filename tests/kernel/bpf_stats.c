/*
 * What the verifier has to say of each program that ebprof loads. Linked into it in front of
 * syscall(2), by --wrap=syscall. With EBPROF_BPF_STATS=FILE every BPF_PROG_LOAD of a program with
 * debugging information, as ours have and libbpf's probes have not, asks for the verifier's
 * statistics and appends a line: NAME INSTRUCTIONS VERIFIED MICROSECONDS ERRNO.
 * struct bpf_prog_info tells the verified instructions too, but not before 5.16.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

enum {
	NR_ARGUMENTS = 6,
	VERIFIER_STATISTICS = 4, /* BPF_LOG_STATS, include/linux/bpf_verifier.h */
};

/* ld's names. NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static int64_t now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Why the verifier refuses it: the end of what it says of the path that it was on. */
static void print_refusal(union bpf_attr *attr, unsigned size)
{
	enum {
		MAX_LOG_BYTES = (1 << 24) - 1, /* UINT_MAX >> 8, the most before Linux 5.17 */
		SHOWN_BYTES = 4000,
	};
	char *log = calloc(1, MAX_LOG_BYTES);
	if (!log)
		return;
	attr->log_level = 1; /* BPF_LOG_LEVEL1 */
	attr->log_buf = (uintptr_t)log;
	attr->log_size = MAX_LOG_BYTES;
	__real_syscall(SYS_bpf, BPF_PROG_LOAD, attr, size);
	size_t len = strlen(log), first = len > SHOWN_BYTES ? len - SHOWN_BYTES : 0;
	fprintf(stderr, "%s is refused:\n%s\n", attr->prog_name, log + first);
	free(log);
}

/* Of all functions; Linux 7.2 has a line with the figure of each before it. 0: it is not told. */
static unsigned long find_verified(const char *log)
{
	static const char words[] = "processed ";
	const char *last = NULL;
	for (const char *at = log; (at = strstr(at, words)); at += strlen(words))
		last = at;
	return last ? strtoul(last + strlen(words), NULL, 10) : 0;
}

static long load_program(const char *path, union bpf_attr *attr, unsigned size)
{
	static char log[1 << 20]; /* for all functions that are verified by themselves */
	log[0] = '\0';
	attr->log_level = VERIFIER_STATISTICS;
	attr->log_buf = (uintptr_t)log;
	attr->log_size = sizeof(log);
	int64_t began_us = now_us();
	long fd = __real_syscall(SYS_bpf, BPF_PROG_LOAD, attr, size);
	int64_t took_us = now_us() - began_us;
	int error = fd < 0 ? errno : 0;
	if (error)
		print_refusal(attr, size);
	attr->log_level = attr->log_size = 0;
	attr->log_buf = 0;
	unsigned long verified = find_verified(log);
	FILE *file = fopen(path, "ae");
	if (file) {
		fprintf(file, "%s %u %lu %lld %d\n", attr->prog_name, attr->insn_cnt, verified,
			(long long)took_us, error);
		fclose(file);
	}
	errno = error;
	return fd;
}

long __wrap_syscall(long number, ...)
{
	long argument[NR_ARGUMENTS];
	va_list arguments;
	va_start(arguments, number);
	for (int i = 0; i < NR_ARGUMENTS; i++)
		argument[i] = va_arg(arguments, long);
	va_end(arguments);
	const char *path = getenv("EBPROF_BPF_STATS");
	if (path && number == SYS_bpf && argument[0] == BPF_PROG_LOAD) {
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		union bpf_attr *attr = (union bpf_attr *)argument[1];
		/* libbpf's probes pass, and initialise, only the front of it. */
		bool is_ours = (size_t)argument[2] > offsetof(union bpf_attr, func_info_cnt) &&
			       attr->func_info_cnt;
		if (is_ours && !attr->log_level)
			return load_program(path, attr, (unsigned)argument[2]);
	}
	return __real_syscall(number, argument[0], argument[1], argument[2], argument[3],
		argument[4], argument[5]);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
