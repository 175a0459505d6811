#!/bin/bash
# Call frame information of real libraries: every rule equals what elfutils says of it.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

oracles=$(dirname "$WORKLOADS")/oracle

compare_by() { # ORACLE FILE...
	local oracle=$oracles/$1 file found=()
	[[ -x $oracle ]] || skip "built without libdw-dev"
	shift
	for file in "$@"; do
		file=$(realpath -e "$file" 2>/dev/null) && found+=("$file")
	done
	((${#found[@]})) || skip "none of $* is here"
	"$oracle" "${found[@]}" >out 2>&1 || fail "$(head -n 12 out)"
}
compare() { # FILE...: row by row, and the table made of them
	compare_by cfi "$@"
	compare_by unwind_table "$@"
}

test_libc() { compare /lib/*/libc.so.6; }
test_loader() { compare /lib/*/ld-linux-*.so.?; }
test_libstdcxx() { compare /usr/lib/*/libstdc++.so.6; }
test_libcrypto() { compare /usr/lib/*/libcrypto.so.3; }
test_python() { compare /usr/bin/python3; }
test_compiler() { compare /usr/lib/gcc/*/*/cc1; }
test_node() { compare /usr/bin/node; }
test_llvm() { compare /usr/lib/*/libLLVM-*.so.1; }
test_ourselves() { compare "$EBPROF"; }

# .debug_frame for our own code, packed; .eh_frame for what the C library adds.
compare_packed() { # FORM PATTERN: how gcc packs it, and readelf shows it
	gcc -O2 -g -gz="$1" -fno-asynchronous-unwind-tables -fno-unwind-tables -pthread -o debug_frame \
		"$(dirname "$0")/workload.c" || skip "no gcc that packs .debug_frame"
	readelf -SW debug_frame | grep -q "$2" || skip "no packed .debug_frame"
	compare_by unwind_table debug_frame
	(($(sed 's/.*: \([0-9]*\) places.*/\1/' out) > 100)) || fail "$(cat out)"
}
test_debug_frame() { compare_packed zlib '\.debug_frame.* C '; }
test_debug_frame_packed_the_old_way() { compare_packed zlib-gnu '\.zdebug_frame'; }

run_tests
