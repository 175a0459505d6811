#!/bin/bash
# How fast the terminal interface answers, with 1,000,000 samples of 100,000 functions. Prints a line
# a figure: what, measured, target. Nothing is asserted: machines are noisy, a person reads this.
#   make bench-tui [RECORDING=FILE] [RUNS=3]
# What is printed is the least of RUNS runs for each figure. Where other programs want the processors,
# too, only processor times and bytes mean anything.
set -u
: "${BUILD:=build}" "${EBPROF:=$BUILD/ebprof}" "${RUNS:=3}" "${RECORDING:=}"
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-bench.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
SAMPLES=1000000 FUNCTIONS=100000 DEPTH=30 SEED=1

command -v python3 >/dev/null || { echo "needs python3 for a terminal to type at"; exit 1; }

# The largest programs and libraries that are here, until they have functions enough.
largest_objects() {
	find -L /usr/bin /usr/lib/x86_64-linux-gnu /usr/lib/aarch64-linux-gnu -maxdepth 1 -type f -size +1M \
		\( -perm -u+x -o -name '*.so*' \) -printf '%s %p\n' 2>/dev/null | sort -rn | cut -d' ' -f2- |
		while read -r file; do
			[[ $(head -c 4 "$file" | tr -d '\0') == $'\x7fELF' ]] && echo "$file"
		done | head -n 12
}

if [[ -z $RECORDING ]]; then
	RECORDING=$work/million.data
	mapfile -t objects < <(largest_objects)
	"$BUILD/tests/bench/gen_recording" "$RECORDING" $SAMPLES $FUNCTIONS $DEPTH $SEED "${objects[@]}" || exit 1
fi

for ((i = 0; i < RUNS; i++)); do
	python3 "$here/drive_tui.py" "$EBPROF" "$RECORDING" >"$work/run$i" || exit 1
done

best() { # FIGURE
	sort -k2n <(awk -v f="$1" '$1 == f { print $1, $2 }' "$work"/run*) | head -n 1 | cut -d' ' -f2
}
# What was pressed, and in which view, in the run that was the fastest at it.
what() { # FIGURE
	sort -k2n <(awk -v f="$1" '$1 == f' "$work"/run*) | head -n 1 | cut -d' ' -f3-
}
line() { printf '%-58s %10s   %s\n' "$1" "$(best "$2")" "$3"; }

printf '%-58s %10s   %s\n' "figure" "measured" "target"
echo "# $("$EBPROF" info "$RECORDING" | awk '$1 == "samples" { print $2, "samples, " $6, "bytes" }'), $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg)"
line "first frame, ms" first_frame_ms "<= 20"
line "first table, ms" first_table_ms "<= 200"
line "  of which the thread that took longest computed" first_table_cpu_ms ""
line "a key while names are looked for, ms" key_while_naming_ms "<= 50"
line "all names, ms" all_names_ms ""
line "keys pressed that drew something" keys ""
line "a key, median, ms" key_median_ms "<= 50"
line "the slowest key, ms" key_max_ms "<= 50"
for rank in 1 2 3; do
	line "  $(what key_slow_$rank)" key_slow_$rank ""
done
line "the key that took most processor time, ms" key_cpu_max_ms "<= 50"
line "  $(what key_cpu_max_ms)" key_cpu_max_ms ""
line "a key while source is read, ms" key_while_reading_ms "<= 50"
line "a filter, until its numbers are there, ms" filter_ms "<= 500"
line "a key meanwhile, the slowest, ms" key_while_filter_ms "<= 50"
line "bytes drawn for a key, median" redraw_median_bytes ""
line "bytes drawn for a key, most" redraw_max_bytes "<= 50000"
line "  $(what redraw_max_of)" redraw_max_of ""
line "memory, MB" rss_mb "<= 400"
line "memory at its peak, MB" peak_mb "<= 400"
line "until it has left, ms" leave_ms "<= 100"
