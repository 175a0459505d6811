#!/bin/bash
# Wall time, processor time and memory of naming addresses, side by side with other symbolizers:
# the same addresses of one large debug file, each level of inlined functions with file and line.
#   make bench-symbols [DEBUG_FILE=PATH] [VMLINUX=PATH] [GO_FILE=PATH] [COUNT=10000] [SLOW_COUNT=100] [RUNS=3]
# Without DEBUG_FILE Debian's debug symbols of ceph-osd are fetched (0.5 GB) into
# ${XDG_CACHE_HOME:-~/.cache}/ebprof/bench and unpacked (another 1.2 GB); they are measured
# both plain and compressed, as the package has them. VMLINUX is by default one that
# `make check-kernel` was told to fetch (KERNEL_DEBUG). GO_FILE is a Go program for its own tables, go
# itself by default.
set -u
: "${BUILD:=build}" "${EBPROF:=$BUILD/ebprof}" "${COUNT:=10000}" "${SLOW_COUNT:=100}" "${DEBUG_FILE:=}" "${RUNS:=3}" "${VMLINUX:=}"
: "${GO_FILE:=$(command -v go)}"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ebprof/bench
NEEDED_KB=2500000
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

packed_file() { find "$cache/ceph" -name '*.debug' -printf '%s %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-; }

fetch() { # prints the path of a debug file without compression
	local plain=$cache/ceph-osd.plain.debug packed
	if [[ ! -s $plain ]]; then
		mkdir -p "$cache" || return 1
		(($(df -k --output=avail "$cache" | tail -n 1) > NEEDED_KB)) || {
			echo "less than $NEEDED_KB KB are free in $cache" >&2
			return 1
		}
		(cd "$cache" && apt-get -q download ceph-osd-dbg && dpkg -x ceph-osd-dbg_*.deb ceph) >&2 || return 1
		packed=$(packed_file)
		objcopy --decompress-debug-sections "$packed" "$plain.new" 2>/dev/null && mv "$plain.new" "$plain" || return 1
	fi
	echo "$plain"
}

# NAME ADDRESSES COMMAND...: the best of two runs, the first of which warms the caches.
measure() {
	local name=$1 addresses=$2 best=""
	shift 2
	command -v "$1" >/dev/null || { printf '%-28s not installed\n' "$name" && return; }
	for _ in 1 2; do
		/usr/bin/env bash -c 'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null 2>&1' - "$@" \
			<"$addresses" 2>"$work/time"
		if [[ -z $best ]] || awk -v a="$(cut -d' ' -f1 "$work/time")" -v b="${best%% *}" 'BEGIN { exit !(a < b) }'; then
			best=$(tail -n 1 "$work/time")
		fi
		[[ ${best%%.*} -ge 20 ]] && break
	done
	awk -v name="$name" -v n="$(wc -l <"$addresses")" '{
		printf "%-28s %9d %9.3f %9.3f %12.1f\n", name, n, $1, $2 + $3, $1 * 1e6 / n }' <<<"$best"
}

# Wall and processor time of one run, appended to a file.
run_once() { # TIMES ADDRESSES COMMAND...
	local times=$1 addresses=$2
	shift 2
	/usr/bin/env bash -c 'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null 2>&1' - "$@" \
		<"$addresses" 2>&1 | awk '{ print $1, $2 + $3 }' >>"$times"
}

# FILE ADDRESSES: ebprof and llvm-symbolizer by turns, so that what else the machine does meets both;
# the least of RUNS runs each, and how many times as long the other one takes.
beside() {
	local file=$1 addresses=$2
	command -v llvm-symbolizer >/dev/null || { echo "llvm-symbolizer: not installed" && return; }
	rm -f "$work/ours" "$work/one" "$work/llvm"
	for ((i = 0; i < RUNS; i++)); do
		run_once "$work/llvm" "$addresses" llvm-symbolizer --obj="$file" --functions=linkage \
			--inlines --no-demangle
		run_once "$work/ours" "$addresses" "$symbols" "$file"
		run_once "$work/one" "$addresses" env THREADS=1 "$symbols" "$file"
	done
	awk -v n="$(wc -l <"$addresses")" '
		FNR == 1 { k++; name[k] = k == 1 ? "llvm-symbolizer" : k == 2 ? "ebprof" : "ebprof, 1 thread" }
		FNR == 1 || $1 < wall[k] { wall[k] = $1 }
		FNR == 1 || $2 < cpu[k] { cpu[k] = $2 }
		END { for (i = 1; i <= k; i++)
			printf "%-28s %9d %9.3f %9.3f %12.1f %8.1fx %8.1fx\n", name[i], n, wall[i], cpu[i],
				wall[i] * 1e6 / n, wall[1] / wall[i], cpu[1] / cpu[i] }
		' "$work/llvm" "$work/ours" "$work/one"
	"$symbols" "$file" <"$addresses" 2>&1 >/dev/null | grep RssAnon
}

announce() { # FILE
	echo "$1: $(du -h "$1" | cut -f1), $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg)"
	printf '%-28s %9s %9s %9s %12s %9s %9s\n' "" addresses "wall s" "cpu s" "us/address" "llvm's" "its cpu"
}

announce_index() { # FILE
	echo "$1: index of all addresses"
	printf '%-28s %9s %9s %9s\n' "" "" "wall s" "cpu s"
}

file=${DEBUG_FILE:-$(fetch)} || exit 1
symbols=$BUILD/tests/oracle/symbols
"$symbols" "$file" random "$COUNT" 1 | sort -u >"$work/all" || exit 1
shuf -n "$SLOW_COUNT" --random-source="$work/all" "$work/all" | sort >"$work/few"
announce "$file"
beside "$file" "$work/all"
measure "ebprof" "$work/few" "$symbols" "$file"
measure "eu-addr2line -i" "$work/few" timeout 120 eu-addr2line -i -f -e "$file"
measure "addr2line -i" "$work/few" timeout 120 addr2line -i -f -e "$file"
packed=$([[ $DEBUG_FILE ]] || packed_file)
if [[ -s $packed ]]; then
	announce "$packed"
	beside "$packed" "$work/all"
	"$BUILD/tests/bench/kept_chains" "$work/kept.data" "$packed" "$work/kept" <"$work/all"
fi
"$BUILD/tests/bench/symbol_index" "$file"
for indexed in "$file" ${packed:+"$packed"}; do
	announce_index "$indexed"
	"$BUILD/tests/bench/address_index" "$indexed" "$COUNT"
done

kernels=${XDG_CACHE_HOME:-$HOME/.cache}/ebprof/kernels
VMLINUX=${VMLINUX:-$(find "$kernels"/*/debug -type f -name 'vmlinux-*' 2>/dev/null | head -n 1)}
if [[ -n $VMLINUX ]]; then
	"$symbols" "$VMLINUX" random "$COUNT" 1 | sort -u >"$work/kernel"
	announce "$VMLINUX"
	beside "$VMLINUX" "$work/kernel"
	"$BUILD/tests/bench/symbol_index" "$VMLINUX"
else
	echo "no vmlinux below $kernels: make check-kernel KERNELS=6.1 KERNEL_DEBUG=6.1 fetches one"
fi

# Go's own tables: what the resolver takes, without starting, reading and printing.
measure_go() { # COUNT
	"$symbols" "$GO_FILE" random "$1" 1 | sort -u >"$work/go"
	for _ in 1 2 3 4 5; do
		READER=go "$symbols" "$GO_FILE" <"$work/go" 2>&1 >/dev/null | grep addresses
	done | awk '{ wall = $5 / $2 * 1e6; cpu = $7 / $2 * 1e6; n = $2
		if (NR == 1 || wall < w) w = wall
		if (NR == 1 || cpu < c) c = cpu }
		END { printf "%-28s %9d %9.3f %9.3f\n", "Go, us/address: wall, cpu", n, w, c }'
}
if [[ -n $GO_FILE ]]; then
	echo "$GO_FILE: $(du -hL "$GO_FILE" | cut -f1)"
	measure_go "$COUNT"
	measure_go $((COUNT * 10))
fi

# A report of some 15,000 samples of a compiler, which looks for names, finds those it kept, or has
# them in the recording. Inlined functions are there as far as debug packages are installed.
measure_report() {
	local compiler recording=$work/compiler.data
	compiler=$(command -v clang++ || command -v clang++-14 || command -v g++) || return
	printf '#include <regex>\n#include <sstream>\n#include <functional>\nint main(int argc, char **argv) {
		return std::regex_match(argv[0], std::regex("a+b")); }\n' >"$work/source.cc"
	for seconds in 3 30; do # -F 4999: half a minute of samples in a few seconds
		"$EBPROF" record -q -F 4999 --duration "$seconds" -o "$recording" -- bash -c \
			"while $compiler -O2 -g -c '$work/source.cc' -o '$work/object.o' && ((SECONDS < $seconds)); do :; done" \
			2>/dev/null || return
		(($("$EBPROF" info --json "$recording" | grep -oE '"samples": [0-9]+' | grep -oE '[0-9]+' | head -n 1) > 14000)) && break
	done
	printf '%-28s %9s %9s\n' "$(basename "$compiler"), report --stdio" "wall s" "cpu s"
	for how in cold kept kept archived; do
		[[ $how == archived ]] && "$EBPROF" archive -q --symbol-cache "$work/answers" "$recording"
		local cache=$work/answers
		[[ $how == archived ]] && cache=none
		: >"$work/times"
		run_once "$work/times" /dev/null "$EBPROF" report --stdio --symbol-cache "$cache" "$recording"
		awk -v how="$how" '{ printf "%-28s %9.3f %9.3f\n", how, $1, $2 }' "$work/times"
	done
}
if ((EUID == 0)); then
	measure_report
else
	echo "report: recording needs root"
fi
