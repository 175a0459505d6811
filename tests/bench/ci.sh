#!/bin/bash
# What `ebprof diff` promises, measured: how often it reports what is not so, whether it sees a
# slowdown of 5 % where it says that it would, and how long it takes. Nothing is asserted, a person
# reads it. Needs root, to record.
#   make bench-ci [TRIALS=1000] [REAL=30] [SAMPLES=1000000] [RECORDING=FILE]
# The trials are drawn from a real recording, of compiling C files, or RECORDING.
set -u
: "${BUILD:=build}" "${EBPROF:=$BUILD/ebprof}" "${TRIALS:=1000}" "${REAL:=30}" "${SAMPLES:=1000000}" "${RECORDING:=}"
here=$(cd "$(dirname "$0")" && pwd)
slower=$BUILD/tests/e2e/slower
work=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-bench.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

verdict_of() { # DIFF_ARGUMENT...: prints the first line; the status is that of --fail-on regression
	"$EBPROF" diff --fail-on regression "$@" 2>>"$work/err" >"$work/out"
	local status=$?
	head -n 1 "$work/out"
	return $status
}

# ---- trials of known truth ----

if [[ -z $RECORDING ]]; then
	RECORDING=$work/real.data
	"$EBPROF" record -q -F 4999 -o "$RECORDING" -- bash -c \
		"cd '$here/../..' && for file in report/analyse/*.c; do cc -O2 -std=gnu11 -D_GNU_SOURCE -I. -c \$file -o /dev/null; done" || exit 1
fi
echo "== $TRIALS trials of each kind; false alarms: the verdict is a regression, and there is none"
"$BUILD/tests/bench/ab_trials" "$RECORDING" "$TRIALS" 1

# ---- real runs ----

record_real() { # NAME HZ PERCENT ROUNDS
	"$EBPROF" record -q -F "$2" -o "$work/$1.data" -- "$slower" "$3" "$4" || exit 1
}

echo "== $REAL real recordings of the same program, each with the next, and five by five"
for ((i = 0; i < REAL; i++)); do record_real "same$i" 1999 100 3000; done
alarms=0 pairs=0
for ((i = 0; i < REAL; i++)); do
	verdict_of --min-effect 0 "$work/same$i.data" "$work/same$(((i + 1) % REAL)).data" >>"$work/verdicts"
	[[ $? == 1 ]] && alarms=$((alarms + 1))
	pairs=$((pairs + 1))
done
echo "$alarms of $pairs pairs, where every change counts (nominal 1 %)"
alarms=0 groups=0
for ((i = 0; i + 10 <= REAL; i += 5)); do
	base=() new=()
	for ((k = 0; k < 5; k++)); do
		base+=("$work/same$((i + k)).data")
		new+=("$work/same$((i + 5 + k)).data")
	done
	verdict_of --min-effect 0 "${base[@]}" -- "${new[@]}" >>"$work/verdicts"
	[[ $? == 1 ]] && alarms=$((alarms + 1))
	groups=$((groups + 1))
done
echo "$alarms of $groups groups"
grep '^REGRESSION' "$work/verdicts"

# Some 20,000 samples a run, which is enough for a tenth; 1,000 say that they cannot tell.
echo "== the same program at another frequency, and three times as long: no change of 10 %"
record_real usual 4999 100 10000
record_real often 9999 100 10000
record_real long 4999 100 30000
for other in often long; do
	verdict_of --min-effect 10% "$work/usual.data" "$work/$other.data"
	echo "status $? (0)"
done
echo "== the same from half a second: too little to tell"
verdict_of --min-effect 2% "$work/same0.data" "$work/same1.data"
echo "status $? (3)"

echo "== a real slowdown of one function by 5 %: medium() first"
for i in 1 2 3; do
	record_real "fast$i" 19999 100 5000
	record_real "slow$i" 19999 105 5000
done
verdict_of --min-effect 2% "$work/fast1.data" "$work/slow1.data"
verdict_of --min-effect 2% "$work"/fast[123].data -- "$work"/slow[123].data
tail -n 1 "$work/out"

# ---- time ----

library=$(find /usr/lib -name 'libLLVM-*.so*' -o -name libc.so.6 2>/dev/null | head -n 1)
echo "== diff of two recordings of $SAMPLES samples, wall, user, system s, KB (<= 2 s)"
for seed in 1 2; do
	"$BUILD/tests/bench/gen_recording" "$work/$seed.data" "$SAMPLES" 100000 40 "$seed" "$library" || exit 1
done
for ((i = 0; i < 4; i++)); do
	/usr/bin/time -f '%e %U %S %M' "$EBPROF" diff "$work/1.data" "$work/2.data" 2>&1 >/dev/null | tail -n 1
done
