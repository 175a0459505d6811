#!/bin/bash
# Unwinding: how complete, what it costs in the kernel and beside it, how large. A line a figure,
# as in bench.sh, which calls this.
set -u
ebprof=${EBPROF:?path of the ebprof binary}
build=${BUILD:?build folder}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-bench.XXXXXX")
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
shapes=$build/tests/e2e/unwind_shapes

line() { printf '%-52s %14s %14s %10s   %s\n' "$1" "$2" "$3" "$4" "$5"; }
have() { command -v "$1" >/dev/null; }
# A number of info --json FILE by its key.
field() { "$ebprof" info --json "$1" | grep -oE "\"$2\": [0-9.]+" | head -n 1 | sed 's/.*: //'; }
# Complete stacks, of those that have a user part.
complete() {
	awk -v c="$(field "$1" complete)" -v t="$(field "$1" truncated)" \
		'BEGIN { printf "%.2f%%", c + t ? 100 * c / (c + t) : 0 }'
}
record() { "$ebprof" record -q "$@" >/dev/null 2>&1; }
cold=(--unwind-cache none)
warm=(--unwind-cache "$work/cache")

# ---- how complete ----

clang=(clang++ -std=c++17 -O2 -g -c "$here/templates.cpp" -o /dev/null)
if have clang++; then
	record -F 999 "${cold[@]}" -o clang.data -- "${clang[@]}"
	line "complete: clang++ -O2 -g, 999 Hz, no cache" "$(complete clang.data)" "" "" ">= 99.5%"
	record -F 999 "${warm[@]}" -o clang.data -- "${clang[@]}"
	record -F 999 "${warm[@]}" -o clang.data -- "${clang[@]}"
	line "complete: clang++ -O2 -g, 999 Hz, cached" "$(complete clang.data)" "" "" ">= 99.5%"
	line "bytes a sample, its stacks complete" \
		"$(awk -v b="$(field clang.data file_bytes)" -v s="$(field clang.data samples)" 'BEGIN { printf "%.1f", b / s }')" \
		"" "" "<= 32"
fi

# 120 compiles of tiny files: gcc, cc1, as, collect2, ld, each living for 5 to 50 ms.
compile_many() { # HZ
	local i recorder expected cpu
	for i in $(seq 120); do echo "int f$i(int x) { return x * $i; } int main(void) { return f$i(0); }" >"g$i.c"; done
	"$ebprof" record -q -a -F "$1" "${cold[@]}" -o gcc.data &
	recorder=$!
	sleep 0.7
	cpu=$(bash -c 'for i in $(seq 120); do gcc -O1 g$i.c -o g.out; done; times' |
		tail -n 1 | tr -d s | tr m ' ' | awk '{ print $1 * 60 + $2 + $3 * 60 + $4 }')
	sleep 0.2
	kill -INT $recorder
	wait $recorder
	"$ebprof" convert --folded -c gcc,cc1,as,collect2,ld gcc.data >gcc.folded 2>/dev/null
	expected=$(awk -v c="$cpu" -v hz="$1" 'BEGIN { print c * hz }')
	awk -v e="$expected" '/\[truncated: / { cut += $NF } { all += $NF }
		END { printf "%.1f %.1f", 100 * (all - cut) / e, 100 * all / e }' gcc.folded
}
for hz in 99 997; do
	read -r whole all < <(compile_many $hz; echo)
	line "120 gcc runs, -a $hz Hz, no cache: complete/expected" "$whole%" "($all% got)" "" ">= 99%"
done

if have clang++ && [ -x "$build/tests/oracle/both_ways" ]; then
	record -F 199 --call-graph both -m 16M "${warm[@]}" -o both.data -- "${clang[@]}"
	line "frames of clang that the report unwinds otherwise" \
		"$("$build/tests/oracle/both_ways" both.data | tail -n 1 | sed -E 's/.*frames ([0-9]+), different ([0-9]+)/\2 of \1/')" \
		"" "" "<= 0.1%"
fi

script='def f(n): return n if n < 2 else f(n - 1) + f(n - 2)'
language() { # NAME COMMAND...
	local name=$1
	shift
	have "$1" || { line "complete: $name" "-" "" "" "not installed"; return; }
	record -F 999 "${cold[@]}" -o language.data -- "$@"
	line "complete: $name ($(field language.data samples) samples)" "$(complete language.data)" "" "" ">= 99%"
}
language python3 python3 -c "$script
f(30)"
# shellcheck disable=SC2016
language perl perl -e 'sub f { my $n = shift; return $n < 2 ? $n : f($n - 1) + f($n - 2) } f(29)'
# shellcheck disable=SC2016
language php php -r 'function f($n) { return $n < 2 ? $n : f($n - 1) + f($n - 2); } f(34);'
language ruby ruby -e 'def f(n) n < 2 ? n : f(n - 1) + f(n - 2) end; f(32)'
language node node -e 'function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } f(40)'
if have go; then
	cat >main.go <<'GO'
package main

import (
	"fmt"
	"sort"
	"strings"
)

func main() {
	done := make(chan int)
	for i := 0; i < 4; i++ {
		go func() {
			for k := 0; k < 30; k++ {
				words := []string{}
				for j := 0; j < 20000; j++ {
					words = append(words, fmt.Sprint(j*7919%10007))
				}
				sort.Strings(words)
				_ = strings.Join(words, ",")
			}
			done <- 1
		}()
	}
	for i := 0; i < 4; i++ {
		<-done
	}
}
GO
	go build -o gomain main.go && language go ./gomain
fi
if have rustc; then
	cat >main.rs <<'RUST'
use std::collections::HashMap;
fn main() {
    let mut map = HashMap::new();
    for i in 0..6000000u64 { *map.entry(format!("{}", i % 5000)).or_insert(0) += i; }
    println!("{}", map.len());
}
RUST
	rustc -O main.rs -o rustmain && language rust ./rustmain
fi
language "recursion, 400 frames" "$shapes" recursion 3 400

# ---- processes that live for 10 ms ----

"$ebprof" record -q -a -F 997 "${cold[@]}" -o lives.data &
recorder=$!
sleep 0.7
"$shapes" lives 5 10 >lives.txt
kill -INT $recorder
wait $recorder
"$ebprof" convert --folded lives.data >lives.folded 2>/dev/null
wanted=$(awk '{ sum += $2 } END { print sum * 997 }' lives.txt)
line "10 ms lives: samples with the right name / expected" \
	"$(awk -v w="$wanted" '/^life-[0-9]+;.*main;live;spin/ { sum += $NF } END { printf "%.1f%%", 100 * sum / w }' lives.folded)" \
	"" "" ">= 99.9% kept"

line "10 ms lives: of those, whole from _start on" \
	"$(awk '/^life-[0-9]+;/ { all += $NF } /^life-[0-9]+;.truncated/ { cut += $NF } END { printf "%.2f%%", 100 - 100 * cut / all }' lives.folded)" \
	"$(field lives.data lost_ring)+$(field lives.data lost_unresolved) lost" "" ">= 99.9% kept"

# ---- in the kernel: one CPU, one program, so that every run of the program is a sample ----

sysctl -q kernel.bpf_stats_enabled=1
stats() { bpftool prog show name on_tick 2>/dev/null | grep -o 'run_time_ns.*' | awk '{ print $2, $4 }'; }
cost() { # FRAMES
	taskset -c 1 "$ebprof" record -q -F 997 -C 1 "${warm[@]}" -o cost.data -- "$shapes" recursion 4 "$1" &
	sleep 1.3
	local begin end
	begin=$(stats)
	sleep 2
	end=$(stats)
	wait $!
	echo "$begin $end" | awk '{ printf "%.0f", ($3 - $1) / ($4 - $2) }'
}
shallow=$(cost 0) deep=$(cost 400)
line "BPF: a sample of 6 frames, ns" "$shallow" "" "" "fixed part <= 1500"
line "BPF: each further frame, ns" "$(((deep - shallow) / 400))" "" "" "<= 120"
line "BPF: 99 Hz x 100 frames, % of a core" \
	"$(awk -v s="$shallow" -v d="$deep" 'BEGIN { printf "%.3f", 99 * (s + (d - s) / 4) / 1e7 }')" "" "" "<= 0.15"
if have clang++; then
	taskset -c 1 "$ebprof" record -q -F 999 -C 1 "${warm[@]}" -o cost.data -- "${clang[@]}" &
	sleep 2
	begin=$(stats)
	sleep 3
	end=$(stats)
	wait
	"$ebprof" convert --folded cost.data >cost.folded 2>/dev/null
	line "BPF: a sample of clang, ns / frames" \
		"$(echo "$begin $end" | awk '{ printf "%.0f", ($3 - $1) / ($4 - $2) }')" \
		"$(awk '{ n = $NF; sub(/ [0-9]+$/, ""); frames += n * gsub(/;/, ";"); all += n } END { printf "%.1f", frames / all }' cost.folded)" "" "<= 10000"
fi
sysctl -q kernel.bpf_stats_enabled=0

# ---- beside it ----

# Nanoseconds that all threads of a process have run.
run_ns() { awk '{ sum += $1 } END { print sum }' /proc/"$1"/task/*/schedstat; }
# The recorder's share of a CPU between its 3rd and its 13th second.
recorder_share() { # OPTION...
	local pid begin end
	"$ebprof" record -q "$@" --duration 14 -o cpu.data &
	pid=$!
	sleep 3
	begin=$(run_ns $pid)
	sleep 10
	end=$(run_ns $pid)
	wait $pid
	awk -v a="$begin" -v b="$end" 'BEGIN { printf "%.2f", (b - a) / 1e8 }'
}
"$shapes" callback 120 &
workload=$!
for hz in 99 997; do
	line "recorder's CPU at $hz Hz, % of the workload's" "$(recorder_share -F $hz -p $workload)" "" "" \
		"$([ $hz = 99 ] && echo '<= 0.5' || echo '<= 1.5')"
done
kill $workload
wait $workload 2>/dev/null
if have clang++; then # many different stacks, new ones all the time
	(while :; do "${clang[@]}"; done) &
	loop=$!
	for hz in 99 997; do
		line "recorder's CPU, clang in a loop, -a $hz Hz, %" "$(recorder_share -a -F $hz "${warm[@]}")" "" "" \
			"$([ $hz = 99 ] && echo '<= 0.5' || echo '<= 1.5')"
	done
	kill $loop
	wait $loop 2>/dev/null
fi
/usr/bin/time -o time.start -f '%e %U %S' "$ebprof" record --dry-run -a 2>/dev/null
line "start-up CPU of record -a, seconds" "$(tail -n 1 time.start | awk '{ print $2 + $3 }')" "" "" "<= 0.15"
begin=$(date +%s%N)
began=$("$ebprof" record -q -o first.data -- date +%s%N)
line "a command runs, sampled, after launch, seconds" \
	"$(awk -v a="$begin" -v b="$began" 'BEGIN { printf "%.3f", (b - a) / 1e9 }')" "" "" "<= 0.3"

# ---- memory: many libraries ----

if have cc; then
	for i in $(seq 200); do
		echo "int f$i(int x) { return x + $i; } void s$i(void) { volatile long n = 0; for (long k = 0; k < 400000; k++) n += k; }" >l.c
		cc -shared -fPIC -O2 -g0 -o "l$i.so" l.c
	done
	cat >many.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
	for (int round = 0; round < 20; round++)
		for (int i = 1; i <= 200; i++) {
			char path[32], name[16];
			snprintf(path, sizeof(path), "./l%d.so", i);
			snprintf(name, sizeof(name), "s%d", i);
			void *library = dlopen(path, RTLD_NOW);
			((void (*)(void))dlsym(library, name))();
		}
	return 0;
}
C
	cc -O2 -o many many.c -ldl
	/usr/bin/time -o time.many -f '%M' "$ebprof" record -q -a -F 997 "${cold[@]}" -o many.data -- ./many >/dev/null &
	sleep 3
	maps=$(bpftool map show 2>/dev/null | grep -oE 'memlock [0-9]+B' | awk '{ sum += $2 } END { print sum + 0 }')
	wait
	line "200 DSOs: peak RSS, KiB" "$(tail -n 1 time.many)" "" "" "<= 65536"
	line "200 DSOs: BPF maps, MiB" "$((maps >> 20))" "" "" "<= 48"
fi
