#!/bin/bash
# Call frame information of real libraries: every rule equals what elfutils says of it.
. "$(dirname "$0")/prelude.bash"

oracle=$(dirname "$WORKLOADS")/oracle/cfi

compare() { # FILE...
	[[ -x $oracle ]] || skip "built without libdw-dev"
	local file found=()
	for file in "$@"; do
		file=$(realpath -e "$file" 2>/dev/null) && found+=("$file")
	done
	((${#found[@]})) || skip "none of $* is here"
	"$oracle" "${found[@]}" >out 2>&1 || fail "$(head -n 12 out)"
}

test_libc() { compare /lib/*/libc.so.6; }
test_loader() { compare /lib/*/ld-linux-*.so.?; }
test_libstdcxx() { compare /usr/lib/*/libstdc++.so.6; }
test_libcrypto() { compare /usr/lib/*/libcrypto.so.3; }
test_python() { compare /usr/bin/python3; }
test_ourselves() { compare "$EBPROF"; }

run_tests
