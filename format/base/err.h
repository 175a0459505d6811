/*
 * Errors as values. A fallible function returns `struct err *`: NULL is
 * success, anything else is owned by the caller, who wraps, reports or
 * destroys it. Output parameters stay untouched on failure.
 *
 * "Not found" and "end of input" are results, never errors.
 */
#ifndef EBPROF_ERR_H
#define EBPROF_ERR_H

/* The one list of codes: name, and the word used in machine-readable output. */
#define ERR_CODES(X) \
	X(ERR_IO, "io")                   /* a system call failed; errnum says how */ \
	X(ERR_FORMAT, "format")           /* bytes at rest that break their format */ \
	X(ERR_USAGE, "usage")             /* the request itself makes no sense */ \
	X(ERR_PERMISSION, "permission")   /* a privilege is missing */ \
	X(ERR_UNSUPPORTED, "unsupported") /* the kernel or the file lacks a feature */ \
	X(ERR_UNAVAILABLE, "unavailable") /* what is needed is not ready; later it may be */

enum err_code {
#define X(code, word) code,
	ERR_CODES(X)
#undef X
};

struct err;

#ifndef ERR_MUST_CHECK /* lint: cppcheck 2.10 takes it behind a member for an error */
#define ERR_MUST_CHECK __attribute__((warn_unused_result))
#endif
#define ERR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* A new error with a formatted message and no errno. */
struct err *err_new(enum err_code code, const char *fmt, ...) ERR_PRINTF(2, 3) ERR_MUST_CHECK;

/* A failed system call: "<message>: <strerror(errnum)>". EPERM and EACCES become ERR_PERMISSION. */
struct err *err_sys(int errnum, const char *fmt, ...) ERR_PRINTF(2, 3) ERR_MUST_CHECK;

/* Puts "<message>: " before what `err` says, and passes it on. NULL stays NULL. */
struct err *err_wrap(struct err *err, const char *fmt, ...) ERR_PRINTF(2, 3) ERR_MUST_CHECK;

enum err_code err_code(const struct err *err);
const char *err_code_word(enum err_code code);
/* The errno behind the error, 0 where there was none. */
int err_errnum(const struct err *err);
/* Borrowed; may hold raw bytes of file names: escape it before a terminal sees it. */
const char *err_message(const struct err *err);

void err_destroy(struct err *err);

/* Passes a failure up: `try(f(x));` */
#define try(expr) \
	do { \
		struct err *try_err_ = (expr); \
		if (try_err_) \
			return try_err_; \
	} while (0)

#endif
