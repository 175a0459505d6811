#!/bin/bash
# A recording of one machine on the other: arm64/shape.data is of tests/kernel/shape.c, of Debian 13's C
# library, on Linux 6.12 of arm64; the program itself lies below arm64/root.
# Beside others: nothing is recorded.
# Made so, in a guest of tests/kernel: aarch64-linux-gnu-gcc -O2 -g -fomit-frame-pointer
# -mbranch-protection=standard -Wl,-z,max-page-size=4096,-z,noseparate-code; ebprof record -F 199.
. "$(dirname "$0")/prelude.bash"

DATA=$here/arm64/shape.data
ROOT=$here/arm64/root
OTHER=$(printf '%s\n' "$here"/../golden/recordings/*.data | sort -V | tail -n 1) # of x86-64
CACHE=(--symbol-cache none --offline)

# Samples of a folded stack that matches.
count() { # FILE REGEX
	grep -E -- "$2" "$1" | awk '{ sum += $NF } END { print sum + 0 }'
}

folded() { # FILE [OPTION...]
	run "$EBPROF" convert --folded -i "$@" "${CACHE[@]}" -o folded
	want_status 0 "$(cat err)"
}

test_stacks_have_names() {
	folded "$DATA" --symfs "$ROOT"
	[[ $(count folded ';main;a;b;c;spin;burn_\[i\] ') == 16 ]] || fail "$(cat folded)"
	[[ $(count folded ';main;(deep;){400}bottom;') -ge 15 ]] || fail "$(cat folded)"
	[[ $(count folded ';main;sorts;.*;compare;burn_\[i\] ') -ge 40 ]] || fail "$(cat folded)"
	[[ $(count folded ';raises;.*;__kernel_rt_sigreturn;on_signal;burn_\[i\] ') == 39 ]] || fail "$(cat folded)"
	run "$EBPROF" report --stdio -i "$DATA" --symfs "$ROOT" "${CACHE[@]}"
	want_status 0 "$(cat err)"
	grep -qE '134  shape_arm64 +\[\.\] burn' out || fail "$(cat out)"
	grep -qE '37  \[kernel.kallsyms\] +\[k\] __arch_clear_user' out || fail "$(cat out)"
}

test_pprof_has_names() {
	run "$EBPROF" convert --pprof -i "$DATA" --symfs "$ROOT" "${CACHE[@]}" -o out.pb.gz
	want_status 0 "$(cat err)"
	for name in burn main on_signal __arch_clear_user shape.c; do
		gunzip -c out.pb.gz | grep -qa "$name" || fail "no $name"
	done
}

test_instructions_are_that_machines() {
	command -v aarch64-linux-gnu-objdump llvm-objdump >/dev/null || skip "no objdump of arm64"
	run "$EBPROF" annotate -i "$DATA" --symfs "$ROOT" "${CACHE[@]}" --layout assembly burn
	want_status 0 "$(cat err)"
	grep -qE '\bldr\s+w[0-9]+, \[sp' out || fail "$(cat out)"
	if command -v llvm-objdump >/dev/null; then
		mkdir only
		ln -s "$(command -v llvm-objdump)" only/
		PATH=$PWD/only "$EBPROF" annotate -i "$DATA" --symfs "$ROOT" "${CACHE[@]}" --layout assembly burn >out 2>err
		grep -qE '\bldr\s+w[0-9]+, \[sp' out || fail "$(cat out)"
	fi
	run "$EBPROF" annotate -i "$DATA" --symfs "$ROOT" "${CACHE[@]}" --layout source --source-dir "$here/../.." burn
	want_status 0 "$(cat err)"
	grep -qE '^ +[0-9.]+% +[0-9.]+% +43 .*for \(volatile int i' out || fail "$(cat out)"
}

test_merged_with_the_other_machines() {
	run "$EBPROF" merge -o both.data "$DATA" "$OTHER"
	want_status 0 "$(cat err)"
	folded both.data --symfs "$ROOT" -e cpu-clock
	cp folded both
	[[ $(count both '^(shape_arm64|chroot);') == 213 ]] || fail "$(cat both)"
	run "$EBPROF" report --stdio -i both.data -s origin,sym --symfs "$ROOT" "${CACHE[@]}" --percent-limit 0
	want_status 0 "$(cat err)"
	[[ $(count both ';main;a;b;c;spin;burn_\[i\] ') == 16 ]] || fail "$(cat both)"
}

test_compared() {
	run "$EBPROF" diff "$DATA" "$OTHER" --symfs "$ROOT" "${CACHE[@]}"
	want_status 2
	grep -q 'different architectures, "aarch64" and "x86_64"' err || fail "$(cat err)"
	run "$EBPROF" diff --force "$DATA" "$OTHER" --symfs "$ROOT" "${CACHE[@]}"
	want_status 0 "$(cat err)"
	grep -q 'burn' out || fail "$(cat out)"
	run "$EBPROF" diff "$DATA" "$DATA" --symfs "$ROOT" "${CACHE[@]}"
	want_status 0 "$(cat err)"
}

test_archived_names_need_no_files() {
	cp "$DATA" kept.data
	run "$EBPROF" archive -i kept.data --symfs "$ROOT" "${CACHE[@]}"
	want_status 0 "$(cat err)"
	folded "$DATA" --symfs "$ROOT"
	cp folded wanted
	folded kept.data
	cmp wanted folded || fail "$(diff wanted folded | head -5)"
	run "$EBPROF" annotate -i kept.data "${CACHE[@]}" --layout source --source-dir "$here/../.." burn
	want_status 0 "$(cat err)"
	grep -qE ' 43 .*for \(volatile int i' out || fail "$(cat out)"
}

# The program of arm64, by an emulator, says of either recording what this one says.
test_arm64s_program_says_the_same() {
	local arm64=${EBPROF_ARM64:-$here/../../build-arm64-static/ebprof} data
	command -v qemu-aarch64 >/dev/null || skip "no qemu-aarch64"
	[[ -x $arm64 ]] || skip "no $arm64: make ARCH=arm64 STATIC=1 builds it"
	for data in "$DATA" "$OTHER"; do
		compare convert --folded -i "$data" --symfs "$ROOT" "${CACHE[@]}" -o -
		compare convert --pprof -i "$data" --symfs "$ROOT" "${CACHE[@]}" -o -
		compare report --stdio -i "$data" --symfs "$ROOT" "${CACHE[@]}"
		compare info --json -i "$data"
		compare diff --force "$DATA" "$data" --symfs "$ROOT" "${CACHE[@]}"
		compare merge -q -o - "$DATA" "$data" -f
	done
}

compare() { # ARGUMENT...
	"$EBPROF" "$@" >here.out 2>here.err || fail "$* here: $(cat here.err)"
	qemu-aarch64 "$arm64" "$@" >there.out 2>there.err || fail "$* of arm64: $(cat there.err)"
	[[ -s here.out ]] && cmp -s here.out there.out || fail "$*: $(diff -a here.out there.out | head -5)"
}

run_tests
