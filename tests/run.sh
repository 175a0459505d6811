#!/bin/bash
# Runs every suite of tests; prints what failed or was skipped, a line a suite, and at last
# the sum "N passed, M failed, K skipped". Exit status 1 when something failed.
#   tests/run.sh [PATTERN]     only suites whose name matches: unit/*, golden, e2e/kill, fuzz/*
# Logs are in $O/tests/log.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$PWD
: "${O:=build}"
O=$(realpath "$O") || exit 1
pattern=${1-*}
export EBPROF=${EBPROF:-$(realpath "$O/ebprof")}
export WORKLOADS
WORKLOADS=$(realpath -m "$O/tests/e2e")
log=$O/tests/log
rm -rf "$log"
mkdir -p "$log"

# Sanitizers: every finding is a failure. Leaks of other people's libraries, with the reason,
# stand in tests/lsan.supp.
export ASAN_OPTIONS=detect_leaks=1:halt_on_error=1:abort_on_error=0:exitcode=99:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
[[ -f tests/lsan.supp ]] && export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp:print_suppressions=0

passed=0 failed=0 skipped=0

# A suite prints lines "ok NAME", "not ok NAME: why", "skip NAME: why" ("lines"), or, as the unit
# tests do, FAIL and SKIP lines and a sum ("sum").
# It runs in an empty folder of its own, so what it leaves behind goes away with that.
suite() { # NAME KIND SECONDS COMMAND...
	local name=$1 kind=$2 limit=$3
	# shellcheck disable=SC2053
	[[ $name == $pattern ]] || return 0
	shift 3
	local out=$log/${name//\//_}.log began=$SECONDS empty
	empty=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-suite.XXXXXX") || exit 1
	(cd "$empty" && exec timeout -k 10 "$limit" "$@") >"$out" 2>&1 </dev/null
	local status=$? good=0 bad=0 without=0
	rm -rf "$empty"
	if [[ $kind == lines ]]; then
		good=$(grep -c '^ok ' "$out")
		bad=$(grep -c '^not ok ' "$out")
		without=$(grep -c '^skip ' "$out")
		grep -E '^(not ok|skip) ' "$out" | sed "s|^|$name: |"
	else
		read -r good bad without < <(sed -n \
			's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$out" | tail -n 1)
		grep -E -B 8 '^(FAIL|SKIP) ' "$out" | grep -E '^(FAIL|SKIP|    )'
	fi
	if [[ $status == 124 || $status == 137 ]]; then
		echo "$name: not ok: stopped after $limit s"
		bad=$((${bad:-0} + 1))
	elif [[ $status != 0 && ${bad:-0} == 0 ]]; then
		echo "$name: not ok: ended with status $status, see $out"
		tail -n 5 "$out" | sed 's/^/    /'
		bad=1
	elif [[ $((${good:-0} + ${bad:-0} + ${without:-0})) == 0 ]]; then
		echo "$name: not ok: no test ran, see $out"
		bad=1
	fi
	printf '%-24s %4d passed, %d failed, %d skipped (%d s)\n' "$name:" \
		"${good:-0}" "${bad:-0}" "${without:-0}" $((SECONDS - began))
	passed=$((passed + ${good:-0})) failed=$((failed + ${bad:-0})) skipped=$((skipped + ${without:-0}))
}

for program in "$O"/tests/unit_*; do
	[[ -x $program ]] && suite "unit/${program##*/unit_}" sum 600 "$program"
done
suite lint/law lines 60 "$root/tests/lint/layers_test.sh"
suite golden lines 300 "$root/tests/golden/run"
for program in "$O"/tests/replay_*; do
	[[ -x $program ]] || continue
	name=${program##*/replay_}
	suite "fuzz/$name" sum 600 "$program" "$root/tests/fuzz/corpus/$name"
done
for script in tests/e2e/*.sh; do
	suite "e2e/$(basename "$script" .sh)" lines $((600 + 5 * ${KILLS:-0})) "$root/$script"
done

echo "$passed passed, $failed failed, $skipped skipped"
[[ $failed == 0 ]]
