#!/bin/bash
# What each export format takes: wall and processor time, the least of RUNS warm runs, memory, bytes
# written. Nothing is asserted, a person reads it.
#   make bench-exports [SAMPLES=1000000] [RUNS=3] [RECORDING=FILE]
# Of a template-heavy clang++ -O2 -g at 999 Hz where this can be recorded, of a synthetic recording,
# and of RECORDING.
set -u
: "${BUILD:=build}" "${EBPROF:=$BUILD/ebprof}" "${SAMPLES:=1000000}" "${RUNS:=3}" "${RECORDING:=}"
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-bench.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
[[ -x /usr/bin/time ]] || { echo "needs /usr/bin/time (apt-get install time)"; exit 1; }

target() { # FORMAT SAMPLES
	case $1-$2 in
	html-1000000) echo "<= 3 s, 300 MB" ;;
	html-clang) echo "<= 2 MB" ;;
	esac
}

bench() { # NAME FILE
	local format
	for format in $("$EBPROF" convert --list | cut -d' ' -f1); do
		for ((i = 0; i < RUNS; i++)); do
			/usr/bin/time -a -o "$work/$format.times" -f '%e %U %S %M' \
				"$EBPROF" convert "--$format" -o "$work/out" "$2" 2>/dev/null || return
		done
		awk -v what="$format of $1" -v bytes="$(stat -c %s "$work/out")" -v target="$(target "$format" "$1")" '
			NR == 1 || $1 < wall { wall = $1 }
			NR == 1 || $2 + $3 < cpu { cpu = $2 + $3 }
			NR == 1 || $4 > kb { kb = $4 }
			END { printf "%-32s %9.2f %9.2f %9.0f %12.0f   %s\n", what, wall, cpu, kb / 1024, bytes, target }
		' "$work/$format.times"
		rm -f "$work/$format.times" "$work/out"
	done
}

printf '%-32s %9s %9s %9s %12s   %s\n' export "wall s" "CPU s" "RSS MiB" bytes target
if command -v clang++ >/dev/null && "$EBPROF" record -q -F 999 -o "$work/clang.data" -- \
	clang++ -std=c++17 -O2 -g -c "$here/templates.cpp" -o /dev/null 2>/dev/null; then
	bench clang "$work/clang.data"
else
	echo "clang: not recorded, there is no clang++ or recording needs root"
fi
library=$(find /usr/lib -name 'libLLVM-*.so*' -o -name libc.so.6 2>/dev/null | head -n 1)
"$BUILD/tests/bench/gen_recording" "$work/synthetic.data" "$SAMPLES" 20000 30 1 "$library" &&
	bench "$SAMPLES" "$work/synthetic.data"
[[ -z $RECORDING ]] || bench "${RECORDING##*/}" "$RECORDING"
