#!/bin/bash
# Does the check of unchecked errors bite? Each row is a header and the names that it must report.
set -u
check=$(cd "$(dirname "$0")" && pwd)/unchecked_errors.awk
header=$(mktemp) || exit 1
trap 'rm -f "$header"' EXIT
failed=0

try() { # NAME WANTED_NAMES; the header on standard input
	local said status got
	cat >"$header"
	said=$(awk -f "$check" "$header")
	status=$?
	got=$(sed -E 's/.*: [^(]*struct err \*(\(\*)?([a-z]+).*/\2/' <<<"$said" | tr '\n' ' ')
	if [[ ${got% } == "$2" && $status == $(($(wc -w <<<"$2") > 0)) ]]; then
		echo "ok unchecked: $1"
	else
		echo "not ok unchecked: $1: status $status, not \"$2\": $said"
		failed=1
	fi
}

try "a function" "a" <<'H'
struct err *a(int x);
struct err *b(int x) ERR_MUST_CHECK;
H
try "behind a preprocessor line" "a b" <<'H'
#include <stdint.h>
struct err *a(int x);
#define X 1
struct err *b(int x);
#undef X
struct err *c(int x) ERR_MUST_CHECK;
H
try "the second of two" "a b" <<'H'
struct err *a(int x); struct err *b(int x);
H
try "behind one that is right" "b" <<'H'
struct err *a(int x) ERR_MUST_CHECK;
struct err *b(int x);
H
try "in front of one that is right" "a" <<'H'
struct err *a(int x);
struct err *b(int x) ERR_MUST_CHECK;
H
try "over several lines" "a" <<'H'
struct err *a(int x,
	void (*callback)(void *context), struct err **ret);
struct err *b(
	int x) ERR_MUST_CHECK;
H
try "inline" "a" <<'H'
static inline struct err *a(int x)
{
	struct err *err = f(x);
	return err;
}
static inline ERR_MUST_CHECK struct err *b(int x)
{
	return f(x);
}
H
try "types of functions" "a c" <<'H'
typedef struct err *a(int x);
typedef struct err *b(int x) ERR_MUST_CHECK;
typedef struct err *(*c)(int x);
typedef struct err *(*d)(int x) ERR_MUST_CHECK;
H
try "members" "a" <<'H'
struct sink {
	void *context;
	struct err *err; /* struct err *x(void); */
	struct err *(*a)(void *context);
	struct err *(*b)(void *context) ERR_MUST_CHECK;
};
H
try "in a macro" "a" <<'H'
#define X(name, function) \
	struct err *a(int x, \
		int y);
#define Y(function) struct err *b(int x) ERR_MUST_CHECK;
#define try(expr) \
	do { \
		struct err *try_err_ = (expr); \
	} while (0)
H
try "on both sides of a condition" "b" <<'H'
#ifdef X
struct err *a(int x) ERR_MUST_CHECK;
#else
struct err *b(int x);
#endif
H
try "other functions" "" <<'H'
/* struct err *a(void); */
const char *b(const struct err *err);
void c(struct err *err, struct err *(*callback)(void));
const struct err *d(void);
H
exit $failed
