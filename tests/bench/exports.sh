#!/bin/bash
# What each export format takes: wall and processor time, the least of RUNS warm runs (of one where
# nothing is promised of the format: some write gigabytes), memory, bytes written. Nothing is
# asserted, a person reads it; on a machine that is busy CPU is what counts.
#   make bench-exports [SAMPLES=1000000] [RUNS=3] [MERGED=20] [RECORDING=FILE]
# Of a template-heavy clang++ -O2 -g at 999 Hz where this can be recorded, of a synthetic recording,
# of one that was merged of MERGED parts, and of RECORDING; then bytes for each of those that
# `go tool pprof` takes for the same profile.
set -u
: "${BUILD:=build}" "${EBPROF:=$BUILD/ebprof}" "${SAMPLES:=1000000}" "${RUNS:=3}" "${MERGED:=20}" "${RECORDING:=}"
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-bench.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
[[ -x /usr/bin/time ]] || { echo "needs /usr/bin/time (apt-get install time)"; exit 1; }

target() { # FORMAT SAMPLES
	case $1-$2 in
	pprof-1000000 | folded-1000000) echo "<= 2 s, 300 MB" ;;
	html-1000000) echo "<= 3 s, 300 MB" ;;
	html-clang) echo "<= 2 MB" ;;
	html-baseline-1000000) echo "<= 5 s" ;;
	esac
}

bench_format() { # FORMAT NAME FILE OPTION...
	local format=$1 name=$2 file=$3 runs=1 target
	shift 3
	target=$(target "$format" "$name")
	[[ -z $target ]] || runs=$RUNS
	for ((i = 0; i < runs; i++)); do
		rm -f "$work/out" # replacing a large file waits for the disk
		if ! /usr/bin/time -a -o "$work/$format.times" -f '%e %U %S %M' \
			"$EBPROF" convert "--${format%-baseline}" "$@" -o "$work/out" "$file" 2>"$work/err"; then
			echo "$format of $name failed: $(tail -n 1 "$work/err")"
			rm -f "$work/$format.times"
			return
		fi
	done
	awk -v what="$format of $name" -v bytes="$(stat -c %s "$work/out")" -v target="$target" '
		NR == 1 || $1 < wall { wall = $1 }
		NR == 1 || $2 + $3 < cpu { cpu = $2 + $3 }
		NR == 1 || $4 > kb { kb = $4 }
		END { printf "%-32s %9.2f %9.2f %9.0f %12.0f   %s\n", what, wall, cpu, kb / 1024, bytes, target }
	' "$work/$format.times"
	rm -f "$work/$format.times" "$work/out"
}

bench() { # NAME FILE [FORMAT...]
	local name=$1 file=$2 format
	shift 2
	# shellcheck disable=SC2046
	[[ $# != 0 ]] || set -- $("$EBPROF" convert --list | cut -d' ' -f1)
	for format; do
		bench_format "$format" "$name" "$file"
	done
}

compare_to_go() { # NAME FILE
	"$EBPROF" convert --pprof -o "$work/ours.pb.gz" "$2" 2>/dev/null &&
		go tool pprof -proto -output "$work/go.pb.gz" "$work/ours.pb.gz" >/dev/null 2>&1 || return
	awk -v name="$1" -v ours="$(stat -c %s "$work/ours.pb.gz")" -v go="$(stat -c %s "$work/go.pb.gz")" \
		'BEGIN { printf "%-32s %9.3f%43s   <= 1.1\n", "pprof of " name " / go tool pprof", ours / go, "" }'
}

library=$(find /usr/lib -name 'libLLVM-*.so*' -o -name libc.so.6 2>/dev/null | head -n 1)

generate() { # FILE SAMPLES SEED
	"$BUILD/tests/bench/gen_recording" "$1" "$2" 20000 30 "$3" "$library"
}

bench_synthetic() {
	local part parts=()
	generate "$work/synthetic.data" "$SAMPLES" 1 || return
	bench "$SAMPLES" "$work/synthetic.data"
	for ((part = 0; part < MERGED; part++)); do
		parts+=("$work/part$part.data")
		generate "${parts[part]}" $((SAMPLES / MERGED)) $((part + 1)) || return
	done
	"$EBPROF" merge -q -f -o "$work/merged.data" "${parts[@]}" || return
	bench "$MERGED merged" "$work/merged.data" pprof folded html
}

printf '%-32s %9s %9s %9s %12s   %s\n' export "wall s" "CPU s" "RSS MiB" bytes target
if command -v clang++ >/dev/null && "$EBPROF" record -q -F 999 -o "$work/clang.data" -- \
	clang++ -std=c++17 -O2 -g -c "$here/templates.cpp" -o /dev/null 2>/dev/null; then
	bench clang "$work/clang.data"
else
	echo "clang: not recorded, there is no clang++ or recording needs root"
fi
bench_synthetic
# Of two that have few stacks in common.
generate "$work/other.data" "$SAMPLES" 2 &&
	for format in html svg; do
		bench_format "$format-baseline" "$SAMPLES" "$work/synthetic.data" --baseline "$work/other.data"
	done
[[ -z $RECORDING ]] || bench "${RECORDING##*/}" "$RECORDING"
go tool pprof -h >/dev/null 2>&1
if [[ $? -gt 2 ]]; then
	echo "no comparison with go tool pprof: it is not installed"
	exit 0
fi
for name in clang synthetic merged; do
	[[ ! -f $work/$name.data ]] || compare_to_go "$name" "$work/$name.data"
done
