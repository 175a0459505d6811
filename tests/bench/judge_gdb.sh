#!/bin/bash
# How many stacks are wrong, judged by gdb: programs are stopped at random moments, gdb says what
# the stack is, and while the thread has those very registers ebprof samples it (judge_gdb.py says
# how). Of each program a line: how many stops, samples, and of these
#   exact     gdb's frames up to the root, none of them guessed
#   guessed   flagged as reached by guesses, the same frames or others
#   cut       right as far as they go, and flagged as cut
#   gdb       gdb's chain cannot be: it has no rule there and shows what stands behind no call, or
#             says itself that it is lost
#   wrong     others than gdb's, and nothing says so
# Of programs with a chain of functions that is known, what differs is judged by that chain.
#
# usage: judge_gdb.sh EBPROF
# JUDGE="ffmpeg xz"  only these; JUDGE_SECONDS=5 of each; JUDGE_SHOW=3 wrong stacks are shown
set -u
EBPROF=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
SECONDS_EACH=${JUDGE_SECONDS:-5}
WORK=$(mktemp -d /tmp/ebprof-judge.XXXXXX)
trap 'rm -rf "$WORK"' EXIT
cd "$WORK" || exit 1
[[ $(id -u) == 0 ]] || { echo "judge_gdb.sh: needs root to record"; exit 1; }
command -v gdb >/dev/null || { echo "judge_gdb.sh: not here: apt-get install gdb"; exit 1; }

# gdb knows nothing of code that these make at run time, or what they start does the work.
left_out=" gcc clang bash make git gdb node chromium java java-int mono erlang sbcl guile racket clisp polyml luajit php-jit php-regex rustc qemu-system "

# The first that is a program; where a script comes first that would start it, that of the system.
program_of() { # FILE NAME
	local path
	for path in "$1" "$(command -v "$2")" "/usr/bin/$2"; do
		[[ -x $path && $(head -c 4 "$path" | tr -d '\0') == $'\x7fELF' ]] && realpath "$path" && return
	done
	command -v "$2"
}

# By the functions that can be on a stack, outermost first: "" for most.
chain_of() { # NAME
	case $1 in
	c-bare) echo '_start@fib(;[^;]*@libc.so.6){2};main@fib(;sum@fib|;_init@fib|(;[^;]*@libc.so.6)*(;by_number@fib)?)' ;;
	fpc) echo '_?_?[^;]*@a(;[^;]*@a)*;(PASCALMAIN|main)@a(;P.A_..[^;]*FIB[^;]*@a)*(;[^;]*@a){0,2}' ;;
	ghc) echo '_start@a(;[^;]*@libc.so.6){2};main@a;hs_main@a;[^;]*@a(;[^;]*)*' ;;
	esac
}

row() { # NAME LANGUAGE PACKAGE TOOL COMMAND [PREPARE]
	local name=$1 language=$2 package=$3 tool=$4 command=$5 program
	if [[ -n ${JUDGE:-} && " $JUDGE " != *" $name "* ]]; then
		return
	fi
	[[ -z ${JUDGE:-} && $left_out == *" $name "* ]] && return
	if ! command -v "$tool" >/dev/null; then
		printf '%-12s %-9s not here: apt-get install %s\n' "$name" "$language" "$package"
		return
	fi
	mkdir -p "$name"
	(cd "$name" && prepare_"${6:-nothing}" >prepare.log 2>&1) || {
		printf '%-12s %-9s could not be prepared: %s\n' "$name" "$language" \
			"$(tail -n 1 "$name/prepare.log")"
		return
	}
	eval "program=(${command#exec })"
	program[0]=$(program_of "$name/${program[0]}" "${program[0]}")
	(cd "$name" && JUDGE_EBPROF=$EBPROF JUDGE_KNOWN=known JUDGE_RECORDING=r.ebp \
		JUDGE_SECONDS=$SECONDS_EACH timeout -k 2 $((SECONDS_EACH + 60)) \
		gdb -nx -batch -x "$here/judge_gdb.py" --args "${program[@]}" </dev/null >out 2>&1)
	(cd "$name" && python3 "$here/../e2e/judge_stacks.py" --json --show "${JUDGE_SHOW:-0}" \
		--chain "$(chain_of "$name")" known r.ebp >counts.json) && python3 - "$name" "$language" <<'PY'
import json, sys
name, language = sys.argv[1:]
it = json.load(open(name + "/counts.json"))
print("%-12s %-9s %5d stops %6d samples  exact %6.2f%%  guessed %5.2f%%  cut %5.2f%%  gdb %5.2f%%  "
      "wrong %5.2f%% (%d)" % ((name, language, it["instants"], it["samples"]) + tuple(
          100 * sum(it[key] for key in keys) / max(it["samples"], 1) for keys in (
              ("exact",), ("exact_guessed", "guessed"), ("cut",), ("unknown",), ("wrong",))) +
                              (it["wrong"],)))
with open("all", "a", encoding="ascii") as file:
    file.write("%(instants)d %(samples)d %(unknown)d %(wrong)d\n" % it)
PY
	[[ -n ${JUDGE_KEEP:-} ]] && mkdir -p "$JUDGE_KEEP/$name" &&
		cp "$name"/{known,r.ebp,out} "$JUDGE_KEEP/$name/"
	rm -rf "$name"
}

prepare_deep() { # what qsort() calls recurses, without frame pointers
	cat >a.c <<'C'
#include <stdlib.h>
static volatile long sink;
__attribute__((noinline)) long deep(long n) { if (n) { long v = deep(n - 1); return v + n; } for (int i = 0; i < 100; i++) sink += i; return sink; }
static int by_depth(const void *a, const void *b) { return deep(*(const char *)a * 20) < deep(*(const char *)b * 20); }
int main(void) { for (;;) { char v[8] = {3, 1, 4, 1, 5, 9, 2, 6}; qsort(v, 8, 1, by_depth); } }
C
	gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls a.c -o a
}
prepare_throw() {
	cat >a.cc <<'C'
#include <stdexcept>
#include <string>
#include <vector>
struct kept { std::string s; explicit kept(int n) : s(n + 20, 'x') {} ~kept() { if (s.size() == 1) throw 1; } };
__attribute__((noinline)) int inner(int n) { kept k(n); if (n % 5 == 0) throw std::runtime_error(k.s); return n ? inner(n - 1) + 1 : 0; }
__attribute__((noinline)) int outer(int n) { try { kept k(n); return inner(n); } catch (const std::runtime_error &e) { return (int)e.what()[0]; } }
int main() { for (;;) { std::vector<int> v; for (int i = 0; i < 100; i++) v.push_back(outer(i)); } }
C
	g++ -O2 a.cc -o a
}
prepare_threads() {
	cat >a.c <<'C'
#include <pthread.h>
#include <stdio.h>
static volatile long sink;
__attribute__((noinline)) static long work(int n) { char b[64]; snprintf(b, sizeof(b), "%d %f", n, n / 3.0); return b[3] + (n ? work(n - 1) : 0); }
static void *run(void *p) { for (;;) sink += work((int)(long)p); return p; }
int main(void) { pthread_t t; for (long i = 1; i < 4; i++) pthread_create(&t, 0, run, (void *)(i * 7)); run((void *)3); }
C
	gcc -O2 -pthread a.c -o a
}

row c-deep C gcc gcc 'exec ./a' deep
row c-threads C gcc gcc 'exec ./a' threads
row c++-throw C++ g++ g++ 'exec ./a' throw
# shellcheck source=tests/bench/zoo_programs.bash
. "$here/zoo_programs.bash"

awk '{ stops += $1; all += $2; lost += $3; wrong += $4 } END {
	printf "%d programs, %d stops, %d samples; of the %d that gdb can judge are wrong: %d (%.3f %%)\n",
		NR, stops, all, all - lost, wrong, 100 * wrong / (all - lost ? all - lost : 1) }' all
