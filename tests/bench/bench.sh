#!/bin/bash
# What ebprof must reach, measured beside `perf record -g` in one run. Prints a
# line a figure: what, ours, theirs, ratio, target. Nothing is asserted:
# machines are noisy, a person reads this.
set -u
ebprof=${EBPROF:?path of the ebprof binary}
build=${BUILD:?build folder}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-bench.XXXXXX")
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1

line() { printf '%-52s %14s %14s %10s   %s\n' "$1" "$2" "$3" "$4" "$5"; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2fx", a / b; else printf "-" }'; }
# Runs "$@" and leaves "wall user sys max_rss_kb" in $work/$name.time
timed() {
	name=$1
	shift
	/usr/bin/time -o "$work/$name.time" -f '%e %U %S %M' "$@"
}
field() { tail -n 1 "$work/$1.time" | cut -d' ' -f"$2"; }
cpu_of() { tail -n 1 "$work/$1.time" | awk '{ print $2 + $3 }'; }
json() { "$ebprof" info --json "$1" | awk -F'[:,]' -v key="\"$2\"" '$1 ~ key { print $2 + 0; exit }'; }

# -B: perf 6.1 now and then dies of its own build ID cache at the end.
perf_record=(perf record -B -q -g)

have_perf=0
perf record -q -o /dev/null true 2>/dev/null && have_perf=1
[ $have_perf = 1 ] || echo "perf is not usable here: its column stays empty"
[ -x /usr/bin/time ] || { echo "needs /usr/bin/time (apt-get install time)"; exit 1; }
if [ "$(id -u)" != 0 ]; then echo "needs root"; exit 1; fi

line "figure" "ebprof" "perf" "ratio" "target"

# ---- bytes a sample: a template-heavy clang++ -O2 -g at 999 Hz ----
compile=(clang++ -std=c++17 -O2 -g -c "$here/templates.cpp" -o /dev/null)
"$ebprof" record -q -F 999 -o clang.data -- "${compile[@]}"
ours=$(awk -v b="$(json clang.data file_bytes)" -v s="$(json clang.data samples)" 'BEGIN { print b / s }')
theirs=0
if [ $have_perf = 1 ]; then
	"${perf_record[@]}" -F 999 -o clang.perf "${compile[@]}" >perf.out 2>&1
	samples=$(perf report -i clang.perf --stats 2>/dev/null | awk '/SAMPLE events/ { print $3; exit }')
	theirs=$(awk -v b="$(stat -c %s clang.perf)" -v s="$samples" 'BEGIN { print b / s }')
fi
line "bytes a sample, clang++ -O2 -g, 999 Hz" "$ours" "$theirs" "$(ratio "$theirs" "$ours")" "perf >= 8x ours"

# ---- report of that recording ----
timed report "$ebprof" report --stdio clang.data >/dev/null
if [ $have_perf = 1 ]; then # it may die, as above: then there is no figure
	timed preport perf report -i clang.perf --stdio >/dev/null 2>&1 || rm -f "$work/preport.time"
fi
line "report --stdio of it, seconds" "$(field report 1)" "$(field preport 1 2>/dev/null)" \
	"$(ratio "$(field preport 1 2>/dev/null)" "$(field report 1)")" ""

# ---- ready to sample ----
for i in 1 2 3; do timed "ready$i" "$ebprof" record --dry-run -a 2>/dev/null; done
ours=$(for i in 1 2 3; do field ready$i 1; done | sort -n | sed -n 2p)
if [ $have_perf = 1 ]; then timed pready "${perf_record[@]}" -a -o x.perf true >/dev/null 2>&1; fi
line "set-up and tear-down of record -a, seconds" "$ours" "$(field pready 1 2>/dev/null)" "" "<= 0.2"

# ---- what it takes to record nothing: medians of five ----
for i in 1 2 3 4 5; do
	timed true "$ebprof" record -q -o true.data -- true 2>/dev/null
	echo "$(field true 1) $(cpu_of true)" >>true.ours
	[ $have_perf = 1 ] || continue
	timed ptrue "${perf_record[@]}" -F 999 -o true.perf true >/dev/null 2>&1
	echo "$(field ptrue 1) $(cpu_of ptrue)" >>true.theirs
done
median_of() { cut -d' ' -f"$2" "$1" 2>/dev/null | sort -n | sed -n 3p; }
line "record -- true, wall, seconds" "$(median_of true.ours 1)" "$(median_of true.theirs 1)" "" "<= 0.15"
line "record -- true, CPU, seconds" "$(median_of true.ours 2)" "$(median_of true.theirs 2)" "" "<= 0.12"
# All programs and the largest, with the runtimes of all interpreters that are here, and with none.
interpreters=()
for name in python3 perl php lua5.4 luajit ruby; do
	path=$(PATH=/usr/bin:/bin command -v $name) && interpreters+=("$path")
done
verified() { # OPTION... -- COMMAND...
	last=$("$build/tests/bench/verified_programs")
	"$ebprof" record -q -o verified.data "$@" &
	sleep 1
	"$build/tests/bench/verified_programs" "$last"
	wait
}
quiet=(sh -c 'sleep 2')
read -r sum largest < <(verified -- "${quiet[@]}")
line "instructions verified for it, the largest program" "$sum" "$largest" "" "<= 100000 each"
read -r sum largest < <(verified -- "${quiet[@]}" "${interpreters[@]}")
line "... with ${#interpreters[@]} interpreters' runtimes" "$sum" "$largest" "" "<= 100000 each"
read -r sum largest < <(verified --no-vm all -- "${quiet[@]}" "${interpreters[@]}")
line "... with them, but --no-vm all" "$sum" "$largest" "" "as without"

# ---- cost of recording a busy machine at 99 Hz: two runs of different length tell the steady part ----
busy=$build/tests/e2e/workload
load() {
	for _ in $(seq "$(nproc)"); do "$busy" "$1" >/dev/null & done
	end=$(($(date +%s) + $1))
	(while [ "$(date +%s)" -lt $end ]; do gcc -O1 -c "$here/small.c" -o /dev/null; done) &
}
load 33
timed short "$ebprof" record -q -a -F 99 -o short.data --duration 5
timed long "$ebprof" record -q -a -F 99 -o long.data --duration 25
wait
ours=$(awk -v l="$(cpu_of long)" -v s="$(cpu_of short)" 'BEGIN { printf "%.3f", 100 * (l - s) / 20 }')
theirs=0
if [ $have_perf = 1 ]; then
	load 33
	timed pshort "${perf_record[@]}" -a -F 99 -o short.perf sleep 5 >/dev/null 2>&1
	timed plong "${perf_record[@]}" -a -F 99 -o long.perf sleep 25 >/dev/null 2>&1
	wait
	theirs=$(awk -v l="$(cpu_of plong)" -v s="$(cpu_of pshort)" 'BEGIN { printf "%.3f", 100 * (l - s) / 20 }')
fi
line "recorder's CPU, -a 99 Hz, busy, % of a core" "$ours" "$theirs" "$(ratio "$ours" "$theirs")" "< 0.5"
line "recorder's CPU for the start, seconds" "$(awk -v s="$(cpu_of short)" -v p="$ours" 'BEGIN { printf "%.3f", s - 5 * p / 100 }')" "" "" ""
line "recorder's peak RSS, KiB" "$(field long 4)" "$(field plong 4 2>/dev/null)" "" "< 49152"

# ---- timers of tasks or of CPUs: strangers, switches ----
for _ in $(seq "$(nproc)"); do "$busy" 4 >/dev/null & done
"$ebprof" record -q -o calm.data -- "$busy" 1 >/dev/null
wait
line "ticks of strangers, of a command's samples" \
	"$(awk -v f="$(json calm.data filtered)" -v s="$(json calm.data samples)" 'BEGIN { printf "%.4f", f / s }')" \
	"" "" "< 0.01"
# The median of five, side by side: alone, recorded, recorded by perf.
switches() { "$@" "$build/tests/bench/switches" 300000 2>/dev/null | awk 'END { print $1 }'; }
for i in 1 2 3 4 5; do
	switches env >>switches.alone
	switches "$ebprof" record -q -o switches.data -- >>switches.ours
	[ $have_perf = 1 ] && switches "${perf_record[@]}" -F 999 -o switches.perf >>switches.theirs
done
median() { sort -n "$1" 2>/dev/null | sed -n 3p; }
line "us a switch, recorded (alone: $(median switches.alone))" "$(median switches.ours)" \
	"$(median switches.theirs)" "$(ratio "$(median switches.ours)" "$(median switches.alone)")" "<= 1.1x of alone"

# ---- unwind tables: from file to table, and from the cache ----
for file in /usr/lib/*/libLLVM-*.so.1 /usr/lib/*/libc.so.6 /usr/bin/node; do
	[ -e "$file" ] && "$build/tests/bench/unwind_table" "$file"
done

# ---- growth: 10k, 100k, 1M samples over the functions of a real library ----
library=$(ls /usr/lib/*/libLLVM-*.so* /usr/lib/*/libc.so.6 2>/dev/null | head -n 1)
for n in 10000 100000 1000000; do
	"$build/tests/bench/gen_recording" "g$n.data" $n 20000 30 1 "$library" || exit 1
	timed "report$n" "$ebprof" report --stdio "g$n.data" >/dev/null
	timed "folded$n" "$ebprof" convert --folded -o "g$n.folded" "g$n.data"
	timed "pprof$n" "$ebprof" convert --pprof -o "g$n.pb.gz" "g$n.data"
	for format in speedscope firefox chrome json csv; do
		timed "$format$n" "$ebprof" convert "--$format" -o - "g$n.data" >/dev/null
	done
	for what in report folded pprof speedscope firefox chrome json csv; do
		line "$what of $n samples, CPU s / RSS KiB" "$(cpu_of $what$n)" "$(field $what$n 4)" "" \
			"$([ $what$n = report1000000 ] && echo '< 1 s, 300 MB')"
	done
done
if command -v valgrind >/dev/null; then
	# Instructions do not depend on the machine's mood.
	for n in 10000 100000 1000000; do
		valgrind --tool=callgrind --callgrind-out-file=/dev/null "$ebprof" report --stdio "g$n.data" \
			>/dev/null 2>"ir$n"
	done
	ir() { awk '/Collected/ { print $4 }' "ir$1"; }
	# What does not depend on the number of samples (symbols) stands in all three: take differences.
	line "report: instructions for 90k more, 900k more samples" \
		"$(($(ir 100000) - $(ir 10000)))" "$(($(ir 1000000) - $(ir 100000)))" \
		"$(ratio $(($(ir 1000000) - $(ir 100000))) $(($(ir 100000) - $(ir 10000))))" "<= 11x"
fi
