#!/bin/bash
# Wall time, processor time and memory of naming addresses, side by side with other symbolizers:
# the same addresses of one large debug file, each level of inlined functions with file and line.
#   make bench-symbols [DEBUG_FILE=PATH] [COUNT=10000] [SLOW_COUNT=100]
# Without DEBUG_FILE Debian's debug symbols of ceph-osd are fetched (0.5 GB) into
# ${XDG_CACHE_HOME:-~/.cache}/ebprof/bench and unpacked (another 1.2 GB).
set -u
: "${BUILD:=build}" "${COUNT:=10000}" "${SLOW_COUNT:=100}" "${DEBUG_FILE:=}"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ebprof/bench
NEEDED_KB=2500000
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fetch() { # prints the path of a debug file without compression
	local plain=$cache/ceph-osd.plain.debug packed
	if [[ ! -s $plain ]]; then
		mkdir -p "$cache" || return 1
		(($(df -k --output=avail "$cache" | tail -n 1) > NEEDED_KB)) || {
			echo "less than $NEEDED_KB KB are free in $cache" >&2
			return 1
		}
		(cd "$cache" && apt-get -q download ceph-osd-dbg && dpkg -x ceph-osd-dbg_*.deb ceph) >&2 || return 1
		packed=$(find "$cache/ceph" -name '*.debug' -printf '%s %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)
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

file=${DEBUG_FILE:-$(fetch)} || exit 1
symbols=$BUILD/tests/oracle/symbols
"$symbols" "$file" random "$COUNT" 1 | sort -u >"$work/all" || exit 1
shuf -n "$SLOW_COUNT" --random-source="$work/all" "$work/all" | sort >"$work/few"
echo "$file: $(du -h "$file" | cut -f1), $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg)"
printf '%-28s %9s %9s %9s %12s\n' "" addresses "wall s" "cpu s" "us/address"
measure "ebprof" "$work/all" "$symbols" "$file"
measure "ebprof, 1 thread" "$work/all" env THREADS=1 "$symbols" "$file"
measure "llvm-symbolizer" "$work/all" llvm-symbolizer --obj="$file" --functions=linkage --inlines --no-demangle
measure "ebprof" "$work/few" "$symbols" "$file"
measure "eu-addr2line -i" "$work/few" timeout 120 eu-addr2line -i -f -e "$file"
measure "addr2line -i" "$work/few" timeout 120 addr2line -i -f -e "$file"
"$symbols" "$file" <"$work/all" 2>&1 >/dev/null | grep -E 'RssAnon|addresses'
