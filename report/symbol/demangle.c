/*
 * libiberty does the work; what is here keeps it in bounds.
 *
 * Output. Its C++ and Rust demanglers print through a callback that cannot
 * refuse, and go on printing for hours where a name says so. The callback
 * leaves them by longjmp() instead, which is sound when the frames it drops own
 * nothing. In libiberty of binutils 2.40 (2023-01) that holds:
 * - cp-demangle.c: cplus_demangle_v3_callback() keeps its components,
 *   substitutions and scopes in arrays on the stack; malloc and free occur
 *   only in the variants that return a string.
 * - rust-demangle.c: the one allocation is print_ident()'s, which decodes an
 *   identifier from Punycode, hands it to the callback in one call and frees it
 *   right after. Such a text, and nothing else that is printed, has bytes of
 *   0x80 and above, so a call with one never jumps; the next call does, and
 *   there always is one, since what repeats prints ", " or "::" in between.
 *
 * Stack. The arrays and the recursion grow with the name. libiberty refuses
 * C++ names of more than 1,024 bytes for that, which templates exceed in
 * earnest; without its limit (DMGL_NO_RECURSE_LIMIT) we must have the room. Its
 * printer in addition takes (templates x references) entries. The need is
 * bounded from the text; up to STACK_DIRECT the caller's stack is used, up to
 * STACK_MAX a thread with a stack of that size, and above the name stays mangled.
 *
 * D has no callback: dlang_demangle() returns a string. A back reference makes
 * it parse an earlier part again, so the steps it may take are counted first.
 */
#include "report/symbol/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"

enum {
	STACK_DIRECT = 2 << 20, /* of the 8 MiB that threads have */
	STACK_MAX = 128 << 20,
	STACK_BASE = 512 << 10, /* printing stops at 1,024 levels of some 400 bytes */
	/*
	 * A byte of a C++ name costs two components of 32 bytes, a substitution of 8,
	 * and recursion: 145 bytes measured in the worst case (FFFF...).
	 */
	CPLUS_BYTES_PER_CHAR = 512,
	CPLUS_BYTES_PER_SCOPE = 64,
	D_BYTES_PER_STEP = 512, /* 320 measured (also FFFF...) */
	D_STEPS_MAX = 64 << 10,
	D_INPUT_MAX = 8 << 10, /* it copies what it has at every level: quadratic */
};

/* One name being demangled into `out`, which holds `start` bytes of other text before. */
struct job {
	const char *mangled;
	struct str *out;
	size_t start;
	bool (*run)(struct job *job);
	bool ok;
	bool is_over;
	jmp_buf abort;
};

static bool has_high_byte(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] >= 0x80)
			return true;
	return false;
}

/* libiberty's demangle_callbackref. */
static void take_output(const char *text, size_t len, void *opaque)
{
	struct job *job = opaque;
	if (!job->is_over && len <= DEMANGLE_OUTPUT_MAX - (job->out->len - job->start)) {
		str_write(job->out, text, len);
		return;
	}
	job->is_over = true;
	if (!has_high_byte(text, len))
		longjmp(job->abort, 1);
}

static bool run_cplus(struct job *job)
{
	if (setjmp(job->abort))
		return false;
	int options = DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT;
	/*
	 * Templates' own return types are noise. libiberty drops the first one it
	 * prints, which in the name of a vtable or guard is that of an argument.
	 */
	if (job->mangled[2] != 'T' && job->mangled[2] != 'G')
		options |= DMGL_RET_DROP;
	return cplus_demangle_v3_callback(job->mangled, options, take_output, job) && !job->is_over;
}

static bool run_rust(struct job *job)
{
	if (setjmp(job->abort))
		return false;
	return rust_demangle_callback(job->mangled, 0, take_output, job) && !job->is_over;
}

static bool run_d(struct job *job)
{
	char *text = dlang_demangle(job->mangled, 0);
	size_t len = text ? strlen(text) : 0;
	bool ok = len > 0 && len <= DEMANGLE_OUTPUT_MAX;
	if (ok)
		str_write(job->out, text, len);
	free(text);
	return ok;
}

static void *run_in_thread(void *opaque)
{
	struct job *job = opaque;
	job->ok = job->run(job);
	return NULL;
}

/* Runs the job with `stack` bytes of stack at least; false when there is none to be had. */
static bool run_with_stack(struct job *job, uint64_t stack)
{
	if (stack <= STACK_DIRECT)
		return job->run(job);
	if (stack > STACK_MAX)
		return false;
	pthread_attr_t attr;
	pthread_t thread;
	if (pthread_attr_init(&attr) != 0)
		return false;
	bool started = pthread_attr_setstacksize(&attr, (size_t)stack) == 0 &&
		       pthread_create(&thread, &attr, run_in_thread, job) == 0;
	pthread_attr_destroy(&attr);
	if (!started)
		return false;
	pthread_join(thread, NULL);
	return job->ok;
}

/* ---- what a name may need ---- */

static uint64_t cplus_stack(const char *mangled, size_t len)
{
	/* Every template begins with an I, every reference that opens a scope with R or O. */
	uint64_t templates = 1, references = 1;
	for (size_t i = 0; i < len; i++) {
		templates += mangled[i] == 'I';
		references += mangled[i] == 'R' || mangled[i] == 'O';
	}
	return STACK_BASE + len * CPLUS_BYTES_PER_CHAR +
	       templates * references * CPLUS_BYTES_PER_SCOPE;
}

/*
 * How many bytes of text the D demangler may read: those of the name, and for
 * each back reference (Q and a distance in base 26, the last digit in lower
 * case) all that stands between its target and itself, with what that took.
 * steps[i] is what reading up to byte i takes. D_STEPS_MAX when it is more.
 */
static uint64_t d_steps(const char *mangled, size_t len)
{
	CLEANUP_FREE uint32_t *steps = mem_zalloc_array(len + 1, sizeof(*steps));
	for (size_t i = 0; i < len; i++) {
		uint64_t sum = (uint64_t)steps[i] + 1;
		size_t distance = 0;
		if (mangled[i] == 'Q') {
			size_t digit = i + 1;
			while (digit < len && isupper((unsigned char)mangled[digit]) &&
				distance <= len)
				distance = distance * 26 + (size_t)(mangled[digit++] - 'A');
			if (digit < len && islower((unsigned char)mangled[digit]))
				distance = distance * 26 + (size_t)(mangled[digit] - 'a');
			if (distance > 0 && distance <= i)
				sum += steps[i] - steps[i - distance];
		}
		if (sum >= D_STEPS_MAX)
			return D_STEPS_MAX;
		steps[i + 1] = (uint32_t)sum;
	}
	return steps[len];
}

/* ---- languages ---- */

static bool try_rust(struct job *job)
{
	const char *name = job->mangled;
	if (strncmp(name, "_ZN", 3) != 0 && strncmp(name, "_R", 2) != 0)
		return false;
	return run_rust(job); /* which stops at 1,024 levels */
}

static bool try_cplus(struct job *job)
{
	const char *name = job->mangled;
	if (strncmp(name, "_Z", 2) != 0 && strncmp(name, "_GLOBAL_", 8) != 0)
		return false;
	job->run = run_cplus;
	return run_with_stack(job, cplus_stack(name, strlen(name)));
}

static bool try_d(struct job *job)
{
	const char *name = job->mangled;
	if (strncmp(name, "_D", 2) != 0 ||
		(!isdigit((unsigned char)name[2]) && strcmp(name, "_Dmain") != 0))
		return false;
	size_t len = strlen(name);
	if (len > D_INPUT_MAX)
		return false;
	uint64_t steps = d_steps(name, len);
	if (steps >= D_STEPS_MAX)
		return false;
	job->run = run_d;
	return run_with_stack(job, STACK_BASE + steps * D_BYTES_PER_STEP);
}

/* In this order: a legacy Rust name is a valid C++ one too, with its hash as the last scope. */
static bool (*const languages[])(struct job *) = {try_rust, try_cplus, try_d};

/* ---- suffixes ---- */

/* How long the name is before a version or PLT mark: `foo@@GLIBC_2.2.5`, `foo@plt`. */
static size_t length_before_version(const char *name, size_t len)
{
	const char *at = memchr(name, '@', len);
	return at && at != name ? (size_t)(at - name) : len;
}

/*
 * How long the name is before its clone suffixes. They are dotted words of the
 * compiler's: .cold, .part.3, .constprop.0.isra.0, .llvm.8127361. Dots inside of
 * a legacy Rust name (`..` for `::`) come before its closing E, and no mangled
 * name but Rust's holds any, so the suffix starts at the first dot for which
 * only whole known words follow.
 */
static size_t length_before_clone(const char *name, size_t len)
{
	static const char *const words[] = {".cold", ".part", ".isra", ".constprop", ".lto_priv",
		".llvm", ".clone", ".localalias", ".resolver", ".specialized", ".warm", ".hot",
		".__uniq", ".destroy", ".resume", ".cleanup", ".actor", "._omp_fn"};
	size_t start = len;
	for (;;) {
		/* The last dotted word of what is left, and the number before it. */
		const char *dot = start ? memrchr(name, '.', start) : NULL;
		if (!dot || dot == name)
			return start;
		size_t word_start = (size_t)(dot - name);
		size_t digits = strspn(dot + 1, "0123456789ABCDEF"); /* .llvm.N is in either base */
		if (digits) {
			const char *before = memrchr(name, '.', word_start);
			if (word_start + 1 + digits != start || !before || before == name)
				return start;
			start = word_start;
			word_start = (size_t)(before - name);
		}
		bool known = false;
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			known |= strlen(words[i]) == start - word_start &&
				 strncmp(name + word_start, words[i], start - word_start) == 0;
		if (!known)
			return start;
		start = word_start;
	}
}

bool demangle(const char *mangled, struct str *out)
{
	/* Nearly all names of C end here. */
	if (mangled[0] != '_')
		return false;
	size_t len = strnlen(mangled, DEMANGLE_INPUT_MAX + 1);
	if (len > DEMANGLE_INPUT_MAX)
		return false;
	size_t proper = length_before_clone(mangled, length_before_version(mangled, len));
	CLEANUP_FREE char *name = mem_strndup(mangled, proper);
	struct job job = {.mangled = name, .out = out, .start = out->len};
	for (size_t i = 0; i < sizeof(languages) / sizeof(*languages); i++) {
		if (languages[i](&job) && out->len > job.start &&
			len - proper <= DEMANGLE_OUTPUT_MAX - (out->len - job.start)) {
			str_write(out, mangled + proper, len - proper);
			return true;
		}
		str_truncate(out, job.start);
		if (job.is_over)
			return false;
	}
	return false;
}
