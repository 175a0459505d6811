#!/bin/bash
# Script frames: how complete, what they cost in the kernel and beside it. A line a figure, and what
# is aimed at beside it; nothing is asserted.
#   LANGUAGES="python ruby"    instead of all that are installed
set -u
ebprof=${EBPROF:?path of the ebprof binary}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-bench.XXXXXX")
workload=() # ids of what runs beside
stop_workload() {
	[ ${#workload[@]} = 0 ] || kill "${workload[@]}" 2>/dev/null
	workload=()
}
trap 'stop_workload; sysctl -q kernel.bpf_stats_enabled=$stats_were; rm -rf "$work"' EXIT
stats_were=$(sysctl -n kernel.bpf_stats_enabled)
cd "$work" || exit 1
if [ "$(id -u)" != 0 ]; then echo "needs root"; exit 1; fi

line() { printf '%-58s %12s %-36s %s\n' "$1" "$2" "$3" "$4"; }
cold=(--unwind-cache none)
warm=(--unwind-cache "$work/cache")

# ---- programs: DEPTH SECONDS; they recurse as deep, and say what time it took them to begin ----

cat >deep.python <<'PY'
import sys, time
def spin(end):
    while time.process_time() < end:
        for i in range(2000):
            pass
def recurse(depth, end):
    return recurse(depth - 1, end) if depth else spin(end)
print(time.process_time(), flush=True)
recurse(int(sys.argv[1]), float(sys.argv[2]))
PY
cat >deep.ruby <<'RUBY'
def now = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
def spin(last)
  while now < last
    i = 0
    i += 1 while i < 2000
  end
end
def recurse(depth, last)
  depth > 0 ? recurse(depth - 1, last) : spin(last)
end
puts now
$stdout.flush
recurse(ARGV[0].to_i, ARGV[1].to_f)
RUBY
cat >deep.php <<'PHP'
<?php
function now() { $u = getrusage(); return $u["ru_utime.tv_sec"] + $u["ru_utime.tv_usec"] / 1e6
	+ $u["ru_stime.tv_sec"] + $u["ru_stime.tv_usec"] / 1e6; }
function spin($end) { while (now() < $end) for ($i = 0; $i < 2000; $i++); }
function recurse($depth, $end) { $depth ? recurse($depth - 1, $end) : spin($end); }
echo now(), "\n";
recurse((int)$argv[1], (float)$argv[2]);
PHP
cat >deep.perl <<'PERL'
no warnings "recursion";
sub now { my @t = times; return $t[0] + $t[1] }
sub spin { my $end = shift; while (now() < $end) { for (my $i = 0; $i < 2000; $i++) {} } }
sub recurse { my ($depth, $end) = @_; $depth ? recurse($depth - 1, $end) : spin($end) }
$| = 1;
print now(), "\n";
recurse(@ARGV);
PERL
cat >deep.lua <<'LUA'
local function spin(last)
  while os.clock() < last do
    for _ = 1, 2000 do end
  end
end
local function recurse(depth, last)
  if depth > 0 then recurse(depth - 1, last) else spin(last) end
end
print(os.clock())
io.stdout:flush()
recurse(tonumber(arg[1]), tonumber(arg[2]))
LUA
ln -s deep.lua deep.luajit
cat >deep.racket <<'RACKET'
#lang racket/base
(define (now) (/ (current-process-milliseconds) 1000.0))
(define (spin end) (when (< (now) end) (for ([i 2000]) (void)) (spin end)))
(define (recurse depth end) (if (> depth 0) (add1 (recurse (- depth 1) end)) (begin (spin end) 0)))
(define (begin_deep depth end) (add1 (recurse depth end)))
(set! recurse recurse) (set! begin_deep begin_deep) ; so they are not inlined
(define (argument i) (string->number (vector-ref (current-command-line-arguments) i)))
(printf "~a\n" (now))
(flush-output)
(void (begin_deep (argument 0) (argument 1)))
RACKET
cat >Deep.java <<'JAVA'
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

public class Deep {
	static final OperatingSystemMXBean os = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
	static volatile long sink;
	static double now() { return os.getProcessCpuTime() / 1e9; }
	static void spin(double end) {
		while (now() < end)
			for (int i = 0; i < 200000; i++)
				sink += i;
	}
	static void recurse(int depth, double end) {
		if (depth > 0)
			recurse(depth - 1, end);
		else
			spin(end);
	}
	public static void main(String[] arguments) {
		System.out.println(now());
		recurse(Integer.parseInt(arguments[0]), Double.parseDouble(arguments[1]));
	}
}
JAVA
cat >Deep.cs <<'CS'
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;

static class Deep
{
	static long sink;
	static double now() => Process.GetCurrentProcess().TotalProcessorTime.TotalSeconds;
	[MethodImpl(MethodImplOptions.NoInlining)]
	static void spin(double end)
	{
		while (now() < end)
			for (int i = 0; i < 2000000; i++)
				sink += i;
	}
	[MethodImpl(MethodImplOptions.NoInlining)]
	static void recurse(int depth, double end)
	{
		if (depth > 0)
			recurse(depth - 1, end);
		else
			spin(end);
		sink++;
	}
	static void Main(string[] arguments)
	{
		Console.WriteLine(now());
		recurse(int.Parse(arguments[0]), double.Parse(arguments[1]));
	}
}
CS
cat >Short.java <<'JAVA'
import java.util.HashMap;
import java.util.stream.IntStream;

public class Short {
	public static void main(String[] arguments) {
		long end = System.nanoTime() + 350000000L;
		HashMap<String, Integer> words = new HashMap<>();
		while (System.nanoTime() < end)
			words.merge("n" + IntStream.range(0, 50).filter(i -> i % 3 == 0).sum(), 1, Integer::sum);
	}
}
JAVA
cat >deep.erl <<'ERLANG'
-module(deep).
-export([main/2]).
now_ms() -> {Total, _} = statistics(runtime), Total.
spin(End) -> loop(2000), case now_ms() < End of true -> spin(End); false -> 0 end.
loop(0) -> ok;
loop(N) -> loop(N - 1).
recurse(0, End) -> spin(End) + 1;
recurse(Depth, End) -> recurse(Depth - 1, End) + 1.
main(Depth, Seconds) ->
	io:format("~.2f~n", [now_ms() / 1000]),
	recurse(Depth, round(Seconds * 1000)),
	halt(0, [{flush, false}]).
ERLANG
cat >deep.cjs <<'JS'
const now = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1e6; };
let sum = 0;
function spin(end) { while (now() < end) for (let i = 0; i < 200000; i++) sum = (sum + i) | 0; }
function recurse(depth, end) { if (depth > 0) recurse(depth - 1, end); else spin(end); }
function begin_deep() {
	require("fs").writeSync(1, now() + "\n");
	recurse(Number(process.argv[2]), Number(process.argv[3]));
}
begin_deep();
JS
cat >short.cjs <<'JS'
const work = (n) => JSON.stringify(Array.from({ length: n }, (_, i) => ({ i }))).length;
while (process.cpuUsage().user < 120e3) work(300);
JS
cat >short.python <<'PY'
import time
def work():
    return sum([i * i for i in range(1000)])
def main(end):
    while time.process_time() < end:
        work()
main(0.25)
PY

# The system's interpreter under a name of its own, so that no other process counts.
interpreter() { # LANGUAGE
	local found
	found=$(PATH=/usr/bin:/bin command -v "$(sed "s/^python$/python3/; s/^lua$/lua5.4/" <<<"$1")") || return
	ln -sf "$(realpath "$found")" "bench-$1"
}
# Java's program is compiled first, and what the language is called has the option with which it runs.
java_program() { # LANGUAGE
	command -v javac >/dev/null && javac -nowarn Deep.java Short.java 2>/dev/null || return
	ln -sf "$(realpath "$(command -v java)")" bench-jvm
	printf '#!/bin/sh\nshift\nexec ./bench-jvm %s -cp . Deep "$@"\n' "${1#java}" >"bench-$1"
	chmod +x "bench-$1"
}
node_program() {
	command -v node >/dev/null || return
	ln -sf "$(realpath "$(command -v node)")" bench-nodejs
	printf '#!/bin/sh\nshift\nexec ./bench-nodejs deep.cjs "$@"\n' >bench-node
	chmod +x bench-node
}
# Erlang's too; its threads have names of their own.
erlang_program() {
	command -v erlc >/dev/null && erlc deep.erl 2>/dev/null || return
	printf '#!/bin/sh\nexec erl -noshell -noinput -pa . -eval "deep:main($2, $3)."\n' >bench-erlang
	chmod +x bench-erlang
}
threads_of() { [[ $1 == erlang ]] && echo '^([0-9]+_scheduler|erts_sched_)' || echo '^bench-'; }
# The SDK's compiler, which needs no network.
dotnet_program() {
	local home compiler framework libraries
	command -v dotnet >/dev/null || return
	home=$(dirname "$(realpath "$(command -v dotnet)")")
	compiler=$(ls -d "$home"/sdk/*/Roslyn/bincore/csc.dll 2>/dev/null | tail -n 1)
	framework=$(ls -d "$home"/shared/Microsoft.NETCore.App/* 2>/dev/null | tail -n 1)
	mapfile -t libraries < <(printf -- '-r:%s\n' "$framework"/System*.dll)
	dotnet "$compiler" -nologo -optimize+ -out:Deep.dll "${libraries[@]}" Deep.cs >/dev/null 2>&1 || return
	printf '{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "%s"}}}\n' \
		"${framework##*/}" >Deep.runtimeconfig.json
	ln -sf "$home/dotnet" bench-clr
	printf '#!/bin/sh\nshift\nexec ./bench-clr Deep.dll "$@"\n' >bench-dotnet
	chmod +x bench-dotnet
}
# The same by Mono.
mono_program() {
	command -v mono mcs >/dev/null && mcs -optimize+ -out:DeepMono.exe Deep.cs >/dev/null 2>&1 || return
	ln -sf "$(realpath "$(command -v mono)")" bench-sgen
	printf '#!/bin/sh\nshift\nexec ./bench-sgen DeepMono.exe "$@"\n' >bench-mono
	chmod +x bench-mono
}
languages=()
for language in ${LANGUAGES-python ruby php perl lua luajit java java-Xint node erlang dotnet mono racket}; do
	if case $language in
		java*) java_program "$language" ;;
		node) node_program ;;
		erlang) erlang_program ;;
		dotnet) dotnet_program ;;
		mono) mono_program ;;
		*) interpreter "$language" ;;
		esac; then
		languages+=("$language")
	else
		line "$language" "-" "" "not installed"
	fi
done

# ---- whole stacks ----

share() { awk -v part="$1" -v all="$2" 'BEGIN { printf "%.2f%%", (all > 0 ? 100 * part / all : 0) }'; }

# Samples with all of the script's frames, of those since it began.
whole() { # LANGUAGE OPTION...
	local language=$1 depth=20 hz=997 began other
	shift
	began=$("$ebprof" record -q -F $hz "$@" -o deep.data -- "./bench-$language" "deep.$language" $depth 4)
	# Of Erlang those of its processes: schedulers without one look for work.
	[[ $language == erlang ]] && processes_only=(--label erlang-pid) || processes_only=()
	"$ebprof" convert --folded "${processes_only[@]}" -i deep.data -o deep.folded >/dev/null 2>&1
	# Of Racket those of its threads: what chooses one of them has a stack of its own.
	[[ $language == racket ]] && other=';call-with-empty-metacontinuation-frame-for-swap' || other='^$'
	awk -v frames=$((depth + 1)) -v other="$other" -v before="$(awk -v b="$began" -v hz=$hz 'BEGIN { print b * hz }')" \
		-v threads="$(threads_of "$language")" '
		$0 ~ other { next }
		$0 ~ threads { all += $NF; n = $NF }
		$0 ~ threads && /<module>|<main>|[{]main[}]|main chunk|Deep[.][mM]ain|deep:main|begin_deep/ && gsub(/recurse/, "") == frames { whole += n }
		END { printf "%d %d\n", whole, all - before }' deep.folded
}
for language in "${languages[@]}"; do
	read -r part all < <(whole "$language" "${cold[@]}")
	line "$language: whole script stacks, no cache" "$(share "$part" "$all")" "($part of $all)" ">= 99%"
	whole "$language" "${warm[@]}" >/dev/null
	read -r part all < <(whole "$language" "${warm[@]}")
	line "$language: whole script stacks, cached" "$(share "$part" "$all")" "($part of $all)" ">= 99%"
done

# ---- short lives ----

if [ -e bench-python ]; then
	# shellcheck disable=SC2016
	"$ebprof" record -q -a -F 99 "${cold[@]}" -o short.data -- \
		bash -c 'for i in {1..60}; do ./bench-python short.python; done'
	"$ebprof" convert --folded -i short.data -o short.folded >/dev/null 2>&1
	read -r part all pending < <(awk '
		/^bench-/ && /_PyEval_EvalFrameDefault|PyEval_EvalCode;|<module>|_bootstrap/ {
			all += $NF
			if (!/unnamed:|_PyEval_EvalFrameDefault(;_PyEval_EvalFrameDefault| [0-9]+$)/) named += $NF
			if (/unnamed: interpreter|table pending/) pending += $NF
		}
		END { printf "%d %d %d\n", named, all, pending }' short.folded)
	line "60 python3 of 0.3 s, -a 99 Hz, no cache: named in the loop" "$(share "$part" "$all")" \
		"($part of $all, $pending before tables)" ">= 97%"
fi

# Of stacks with code of a virtual machine, those without a piece that has no name.
if [ -e bench-jvm ]; then
	# shellcheck disable=SC2016
	"$ebprof" record -q -a -F 99 "${cold[@]}" -o short.data -- \
		bash -c 'for i in {1..60}; do ./bench-jvm -cp . Short; done'
	"$ebprof" convert --folded -i short.data -o short.folded >/dev/null 2>&1
	read -r part all < <(awk '
		/^bench-jvm/ && /\[JIT\]|\[unnamed|;call_stub|;[a-z][A-Za-z0-9]*[.]/ { all += $NF }
		/^bench-jvm/ && /\[JIT\]|\[unnamed/ { unnamed += $NF }
		END { printf "%d %d\n", all - unnamed, all }' short.folded)
	line "60 java of 0.5 s, -a 99 Hz, no cache: named" "$(share "$part" "$all")" "($part of $all)" ">= 97%"
fi

if [ -e bench-clr ]; then
	# shellcheck disable=SC2016
	"$ebprof" record -q -a -F 499 "${cold[@]}" -o short.data -- \
		bash -c 'for i in {1..60}; do ./bench-clr Deep.dll 10 0.09; done' >/dev/null
	"$ebprof" convert --folded -i short.data -o short.folded >/dev/null 2>&1
	read -r part all < <(awk '
		/^bench-clr/ && /\[JIT\]|\[unnamed|[.]dll|Deep[.]|;System[.]/ { all += $NF }
		/^bench-clr/ && /\[JIT\]|\[unnamed|[.]dll[+]|[.]dll fn_/ { unnamed += $NF }
		END { printf "%d %d\n", all - unnamed, all }' short.folded)
	line "60 dotnet of 0.1 s, -a 499 Hz, no cache: named" "$(share "$part" "$all")" "($part of $all)" ">= 95%"
fi

if [ -e bench-sgen ]; then
	# shellcheck disable=SC2016
	"$ebprof" record -q -a -F 499 "${cold[@]}" -o short.data -- \
		bash -c 'for i in {1..60}; do ./bench-sgen DeepMono.exe 10 0.09; done' >/dev/null
	"$ebprof" convert --folded -i short.data -o short.folded >/dev/null 2>&1
	read -r part all < <(awk '
		/^bench-sgen/ && /\[JIT\]|\[unnamed|;Deep[.]|;System[.]/ { all += $NF }
		/^bench-sgen/ && /\[JIT\]|\[unnamed/ { unnamed += $NF }
		END { printf "%d %d\n", all - unnamed, all }' short.folded)
	line "60 mono of 0.1 s, -a 499 Hz, no cache: named" "$(share "$part" "$all")" "($part of $all)" ">= 95%"
fi

if command -v erl >/dev/null; then
	# shellcheck disable=SC2016
	"$ebprof" record -q -a -F 499 "${cold[@]}" -o short.data -- bash -c 'for i in {1..60}; do
		erl -noshell -noinput -eval "lists:foldl(fun(X, A) -> X * 31 + A band 16777215 end, 0, lists:seq(1, 300000)), halt()."
	done' >/dev/null
	"$ebprof" convert --folded -i short.data -o short.folded >/dev/null 2>&1
	read -r part all < <(awk '
		!/^([0-9]+_scheduler|erts_|beam)/ { next }
		/\[JIT\]|\[unnamed|;[a-z_0-9]+:[a-z_0-9-]+\/[0-9]/ { all += $NF }
		/\[JIT\]|\[unnamed/ { unnamed += $NF }
		END { printf "%d %d\n", all - unnamed, all }' short.folded)
	line "60 erl -eval, -a 499 Hz, no cache: named" "$(share "$part" "$all")" "($part of $all)" ">= 95%"
fi

if [ -e bench-nodejs ]; then
	for hz in 99 499; do
		# shellcheck disable=SC2016
		"$ebprof" record -q -a -F $hz "${cold[@]}" -o short.data -- \
			bash -c 'for i in {1..60}; do ./bench-nodejs short.cjs; done'
		"$ebprof" convert --folded -i short.data -o short.folded >/dev/null 2>&1
		read -r part all < <(awk '
			/^(bench-nodejs|MainThread)/ && /Builtins_JSEntry|\[JIT\]|\[unnamed|;work/ { all += $NF }
			/^(bench-nodejs|MainThread)/ && /\[JIT\]|\[unnamed/ { unnamed += $NF }
			END { printf "%d %d\n", all - unnamed, all }' short.folded)
		line "60 node of 0.15 s, -a $hz Hz, no cache: named" "$(share "$part" "$all")" "($part of $all)" ">= 97%"
	done
fi

# ---- real programs ----

# Of other people's programs: whole stacks, and frames of its language that have a name, and a line.
real_program() { # LABEL FILES COMMAND...
	local label=$1 files=$2 frames named of_files with_lines
	shift 2
	"$ebprof" record -q -F 997 "${cold[@]}" --duration 10 -o real.data -- "$@" >/dev/null 2>&1 </dev/null
	read -r part all < <("$ebprof" info --json real.data | python3 -c 'import json, sys
info = json.load(sys.stdin)
print(info["stacks"]["complete"] + info["stacks"]["kernel_only"], info["samples"])')
	line "$label: whole stacks, no cache" "$(share "$part" "$all")" "($part of $all)" ">= 99%"
	"$ebprof" convert --json -i real.data -o real.json >/dev/null 2>&1
	read -r frames named of_files with_lines < <(python3 "$here/named_frames.py" real.json "$files")
	line "$label: frames with a name" "$(share "$named" "$frames")" "($named of $frames)" ">= 99.5%"
	line "$label: frames with a line" "$(share "$with_lines" "$of_files")" "($with_lines of $of_files)" ">= 97%"
}

if [ -e bench-jvm ]; then
	mkdir -p sources classes
	for i in {1..250}; do
		echo "public class C$i { java.util.Map<String, Integer> m = new java.util.HashMap<>();
			int f$i(int n) { return m.entrySet().stream().filter(e -> e.getValue() > n).mapToInt(e -> e.getKey().length() + $i).sum(); } }" >"sources/C$i.java"
	done
	real_program "javac of 250 files" '[.]java$' javac -d classes sources/*.java
fi
if [ -e bench-nodejs ]; then
	if why=$(
		# shellcheck disable=SC2317 # need_npm calls it
		skip() { echo "$*" && exit 1; }
		. "$here/../e2e/npm.bash"
		need_npm typescript@5.9.3 2>/dev/null
	); then
		compiler=${XDG_CACHE_HOME:-$HOME/.cache}/ebprof/npm/node_modules/typescript
		for i in {1..400}; do
			echo "interface P$i<T> { a: T; next?: P$i<T[]>; }
				function f$i<T extends { a: number }>(x: T, y: P$i<T>) { return [y].filter(z => z.a.a > x.a).map(z => ({ ...z, a: x })); }
				export const v$i = f$i({ a: $i }, { a: { a: 1 } });"
		done >big.ts
		real_program "tsc" '[.]js$|^node:' node "$compiler/lib/tsc.js" --noEmit --strict big.ts
		real_program "npm" '[.]js$|^node:' bash -c 'cd "$0" && for i in 1 2 3; do npm ls --all; npm pack --dry-run; done' "$compiler"
	else
		line "tsc, npm" "-" "" "$why"
	fi
fi

# ---- in the kernel ----

# What all threads of a process have run, ns.
run_ns() { awk '{ sum += $1 } END { printf "%.0f\n", sum }' /proc/"$1"/task/*/schedstat; }
# What the BPF programs of a recorder have, ns, since the kernel counts it: others may have it stop.
count_bpf() { sysctl -q kernel.bpf_stats_enabled=1; }
bpf_ns() { awk '/^run_time_ns/ { sum += $2 } END { printf "%.0f\n", sum }' /proc/"$1"/fdinfo/* 2>/dev/null; }
# Until the recording has its name: programs loaded, timers on, processes known.
wait_until_recording() { # FILE
	for _ in {1..600}; do
		[ -e "$1" ] && return
		sleep 0.1
	done
}
# The program that a recorder has begun; it has workers of its own, too. Erlang's has another name by then.
program_of() { pgrep -P "$1" -f '^(\./bench-|[^ ]*/beam\.smp )' | head -n 1; }

# ns of BPF for a sample of one program, by the time that it ran: the ticks of others cost next to
# nothing. The least of some windows, for what else runs on the machine only adds to it.
cost() { # LANGUAGE DEPTH OPTION...
	local language=$1 depth=$2 hz=997 recorder program bpf ran
	shift 2
	rm -f cost.data
	"$ebprof" record -q -F $hz "${warm[@]}" "$@" -o cost.data -- "./bench-$language" "deep.$language" "$depth" 1000 >/dev/null &
	recorder=$!
	wait_until_recording cost.data
	sleep 1 # it comes to its depth, and tables and names are sent
	program=$(program_of $recorder)
	for _ in {1..6}; do
		count_bpf
		bpf=$(bpf_ns $recorder) ran=$(run_ns "$program")
		sleep 0.7
		bpf=$(($(bpf_ns $recorder) - bpf)) ran=$(($(run_ns "$program") - ran))
		awk -v b=$bpf -v r=$ran -v hz=$hz 'BEGIN { if (r > 2e7) printf "%.0f\n", b / (r / 1e9 * hz) }'
	done | sort -n | head -n 1
	kill -KILL "$program" # Erlang's ends by no other signal while it works
	wait $recorder
}

# What a frame more costs: the slope of the line through the costs at some depths, so that nothing
# counts that each sample costs once.
slope() { awk '{ n++; x += $1; y += $2; xx += $1 * $1; xy += $1 * $2 }
	END { printf "%.0f", (n * xy - x * y) / (n * xx - x * x) }'; }

for language in "${languages[@]}"; do
	for depth in 10 60 110 160 210; do
		echo "$depth $(cost "$language" $depth)"
	done >costs
	without=$(cost "$language" 210 --no-vm all)
	line "BPF: $language: a script frame, ns" "$(slope <costs)" \
		"(sample: $(awk 'NR == 1 { printf "%d", $2 }' costs), $(awk 'END { printf "%d", $2 }' costs); --no-vm $without)" \
		"<= $([[ $language =~ ^(java|erlang|dotnet) ]] && echo 300 || echo 250)"
done

# The same where each frame is of another function, or class: as it is interpreted and compiled.
wide() { # LABEL COMMAND
	printf '#!/bin/sh\nshift\nexec %s "$@"\n' "$2" >bench-wide
	chmod +x bench-wide
	for depth in 10 60 110 160 210; do
		echo "$depth $(cost wide $depth)"
	done >costs
	line "BPF: $1: a frame, ns" "$(slope <costs)" \
		"(sample: $(awk 'NR == 1 { printf "%d", $2 }' costs), $(awk 'END { printf "%d", $2 }' costs))" "<= 300"
}

if [ -e bench-nodejs ]; then
	awk 'BEGIN {
		print "const now = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1e6; };"
		print "let sum = 0; function spin(end) { if (end) while (now() < end) for (let i = 0; i < 200000; i++) sum = (sum + i) | 0; }"
		for (i = 210; i >= 0; i--)
			printf "function f%d(end) { %s(end); sum = (sum + %d) | 0; }\n", i, i ? "f" i - 1 : "spin", i
		printf "const all = ["
		for (i = 0; i <= 210; i++)
			printf "f%d, ", i
		print "]; const first = all[process.argv[2]];"
		print "for (let i = 0; i < process.env.CALLS; i++) first(0);"
		print "first(Number(process.argv[3]));"
	}' >wide.cjs
	for way in "interpreted: 0" "baseline: 0 --no-opt --always-sparkplug" "optimized: 30000"; do
		read -r calls options <<<"${way#*: }"
		wide "node, each frame of another function, ${way%%:*}" \
			"env CALLS=$calls ./bench-nodejs $options --max-inlined-bytecode-size-cumulative=0 wide.cjs"
	done
fi
if [ -e bench-jvm ]; then
	awk 'BEGIN {
		for (i = 0; i <= 210; i++)
			printf "class W%d { static long sum; static void go(double end) { %s(end); sum += %d; } }\n", i, i ? "W" i - 1 ".go" : "Deep.spin", i
		print "public class Wide { public static void main(String[] arguments) {"
		print "for (int i = 0; i < Integer.getInteger(\"calls\"); i++) W210.go(0);"
		print "double end = Double.parseDouble(arguments[1]); switch (arguments[0]) {"
		for (i = 10; i <= 210; i += 50)
			printf "case \"%d\": W%d.go(end); break;\n", i, i
		print "} } }"
	}' >Wide.java
	if javac -nowarn Wide.java Deep.java 2>/dev/null; then
		wide "java, each frame of another class, interpreted" "./bench-jvm -Xint -Dcalls=0 -cp . Wide"
		wide "java, each frame of another class, compiled" "./bench-jvm -XX:-Inline -Dcalls=30000 -cp . Wide"
	fi
fi

# ---- labels ----

cat >labels.go <<'GO'
package main

import (
	"context"
	"fmt"
	"runtime/pprof"
)

var sink int

func main() {
	fmt.Println(0)
	labels := pprof.Labels("user", "alice", "page", "/index", "zone", "eu")
	pprof.Do(context.Background(), labels, func(context.Context) {
		for {
			sink++
		}
	})
}
GO
if command -v go >/dev/null &&
	HOME=$work GOCACHE=$work/go GO111MODULE=off GOTOOLCHAIN=local CGO_ENABLED=0 go build -o bench-go labels.go 2>/dev/null; then
	languages+=(go)
fi
for language in "${languages[@]}"; do
	[[ $language == go || $language == erlang ]] || continue
	with=$(cost "$language" 10)
	without=$(cost "$language" 10 --label-sources none)
	line "BPF: $language: labels, ns a sample" "$((with - without))" "(of $with)" ""
done

# ---- beside it ----

processes() { awk '/^processes/ { print $2 }' /proc/stat; }

# What a recorder of everything takes: to begin, and then in each of some windows of time, of which
# the least says most where others are at work too.
whole_system() { # LABEL
	local recorder begun ran bpf peak windows=8 seconds=4 others
	rm -f cpu.data
	"$ebprof" record -q -a -F 99 "${warm[@]}" -o cpu.data &
	recorder=$!
	wait_until_recording cpu.data
	begun=$(run_ns $recorder)
	sleep 3
	count_bpf
	others=$(processes)
	for ((i = 0; i < windows; i++)); do
		ran=$(run_ns $recorder) bpf=$(bpf_ns $recorder)
		sleep $seconds
		echo $(($(run_ns $recorder) - ran)) $(($(bpf_ns $recorder) - bpf))
	done | sort -n >windows
	others=$((($(processes) - others) / (windows * seconds)))
	peak=$(awk '/^VmHWM/ { print $2 }' /proc/$recorder/status)
	kill -INT $recorder
	wait $recorder
	line "-a 99 Hz, $1: recorder, steady, % of a core" \
		"$(awk -v s=$seconds 'NR == 1 { printf "%.2f", $1 / s / 1e7 }' windows)" \
		"$(awk -v s=$seconds -v n=$windows -v o=$others '
			{ at[NR] = $1 / s / 1e7; bpf[NR] = $2 / s / 1e7 }
			END { printf "(median %.2f; BPF %.2f; %d new processes/s)", at[int((n + 1) / 2)], bpf[1], o }' windows)" \
		"$2"
	line "... to begin, ms of CPU" "$((begun / 1000000))" "" ""
	line "... its peak RSS, MiB" "$((peak >> 10))" "" "<= 64"
}
whole_system "nothing else" "<= 1"
if [ -e bench-python ]; then
	for _ in {1..20}; do
		./bench-python deep.python 20 1000 >/dev/null &
		workload+=($!)
	done
	whole_system "20 busy python3" "<= 0.7"
	stop_workload
fi
if [ -e bench-jvm ] && [ -e bench-nodejs ]; then
	for _ in {1..10}; do
		./bench-jvm -XX:+UseSerialGC -cp . Deep 20 1000 >/dev/null &
		workload+=($!)
		./bench-nodejs deep.cjs 20 1000 >/dev/null &
		workload+=($!)
	done
	whole_system "10 busy java, 10 node" "<= 0.3"
	stop_workload
fi
