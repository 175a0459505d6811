#!/bin/bash
# Runs every suite of tests; prints what failed or was skipped, a line a suite, at last once more
# what failed, and the sum "N passed, M failed, K skipped". Exit status 1 when something failed.
#   tests/run.sh [PATTERN]     only suites whose name matches: unit/*, golden, e2e/kill, fuzz/*
# Logs are in $O/tests/log. RUNNER=qemu-aarch64 runs unit tests of another machine.
#
# Suites run in three lanes at once. In the first run those that sample and judge what was sampled, one
# after the other. In the others runs what does not care what else the machine does: in the second unit
# tests, golden tests, replays, and the end-to-end suites that say so by a line "# Beside others: ...";
# in the third those of a line "# Mostly waits: ...", which leave most of a CPU to the others. What says
# "# Alone: ..." runs after all.
#
# A test that fails gets a second chance, alone, after everything else of its suite: what ran on a
# busy machine beside others may have met what no test can wait for. If it passes then, it counts as
# passed, and a line "again NAME: passed in a second run; first: WHY" says so; the suite's line has
# the number of those. That is no excuse for a test that fails now and then, it is how one hears of
# it without losing the rest. AGAIN=0 gives no second chance. The programs of the suites do it
# (e2e/prelude.bash, unit/unit.c); golden tests and replays are the same each time and need none.
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

# The CPU time of the processes that this lane has waited for, in seconds, goes into $cpu_seconds.
read_cpu_seconds() {
	local file=$log/times.$BASHPID
	times >"$file" # not in a pipe: its subshell has waited for none
	cpu_seconds=$(awk 'NR == 2 { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4) }' "$file")
}

# A suite prints lines "ok NAME", "not ok NAME: why", "skip NAME: why" ("lines"), or, as the unit
# tests do, FAIL and SKIP lines and a sum ("sum"); both kinds print "again NAME: ...".
# It runs in an empty folder of its own, so what it leaves behind goes away with that.
suite() { # NAME KIND SECONDS COMMAND...
	local name=$1 kind=$2 limit=$3
	# shellcheck disable=SC2053
	[[ $name == $pattern ]] || return 0
	shift 3
	local out=$log/${name//\//_}.log began=$SECONDS empty cpu_seconds cpu_began
	read_cpu_seconds
	cpu_began=$cpu_seconds
	empty=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-suite.XXXXXX") || exit 1
	(cd "$empty" && exec timeout -k 10 "$limit" "$@") >"$out" 2>&1 </dev/null
	local status=$? good=0 bad=0 without=0 again
	again=$(grep -c '^again ' "$out")
	rm -rf "$empty"
	if [[ $kind == lines ]]; then
		good=$(grep -cE '^(ok|again) ' "$out")
		bad=$(grep -c '^not ok ' "$out")
		without=$(grep -c '^skip ' "$out")
		grep -E '^(not ok|skip|again) ' "$out" | sed "s|^|$name: |"
		grep '^not ok ' "$out" | sed "s|^|$name: |" >>"$log/failed"
	else
		read -r good bad without < <(sed -n \
			's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$out" | tail -n 1)
		# What it says of a test stands in front of its line.
		awk '/^    / { if (count < 8) said = said $0 "\n"; count++; next }
			/^(FAIL|SKIP) / { printf "%s%s\n", said, $0 } { said = ""; count = 0 }' "$out"
		grep '^again ' "$out" | sed "s|^|$name: |"
		grep '^FAIL ' "$out" | sed "s|^|$name: |" >>"$log/failed"
	fi
	if [[ $status == 124 || $status == 137 ]]; then
		echo "$name: not ok: stopped after $limit s" | tee -a "$log/failed"
		bad=$((${bad:-0} + 1))
	elif [[ $status != 0 && ${bad:-0} == 0 ]]; then
		echo "$name: not ok: ended with status $status, see $out" | tee -a "$log/failed"
		tail -n 5 "$out" | sed 's/^/    /'
		bad=1
	elif [[ $((${good:-0} + ${bad:-0} + ${without:-0})) == 0 ]]; then
		echo "$name: not ok: no test ran, see $out" | tee -a "$log/failed"
		bad=1
	fi
	read_cpu_seconds
	printf '%-24s %4d passed, %d failed, %d skipped%s (%d s, CPU %d s)\n' "$name:" "${good:-0}" "${bad:-0}" \
		"${without:-0}" "$( ((again)) && echo ", $again again")" $((SECONDS - began)) $((cpu_seconds - cpu_began))
	echo "${good:-0} ${bad:-0} ${without:-0}" >>"$log/sums"
}

end_to_end_suites() { # KIND: what the script says of itself, see above; "" where it says nothing
	local script
	for script in tests/e2e/*.sh; do
		[[ $(sed -nE 's/^# (Beside others|Mostly waits|Alone):.*/\1/p' "$script") == "$1" ]] || continue
		suite "e2e/$(basename "$script" .sh)" lines $((1800 + 10 * ${KILLS:-0} + 10 * ${BOUNDS:-0} + ${SWITCHES:-0} * ${SWITCH_MS:-0} / 1000)) "$root/$script"
	done
}

suites_beside_others() {
	local program name
	for program in "$O"/tests/unit_*; do
		# shellcheck disable=SC2086
		[[ -x $program ]] && suite "unit/${program##*/unit_}" sum 1800 ${RUNNER:-} "$program"
	done
	suite lint/law lines 60 "$root/tests/lint/layers_test.sh"
	suite lint/back_edges lines 60 "$root/tests/lint/back_edges_test.sh"
	suite lint/again lines 300 "$root/tests/lint/again_test.sh"
	suite golden lines 1800 "$root/tests/golden/run"
	for program in "$O"/tests/replay_*; do
		[[ -x $program ]] || continue
		name=${program##*/replay_}
		suite "fuzz/$name" sum 1800 "$program" "$root/tests/fuzz/corpus/$name"
	done
	end_to_end_suites "Beside others"
}

: >"$log/sums"
# Each lane is a process of its own, so that its suites' CPU time is not that of another lane which
# ends meanwhile.
suites_beside_others &
end_to_end_suites "Mostly waits" &
end_to_end_suites "" &
wait
end_to_end_suites Alone

# They stand far above, and a log that is shown in part may lack them.
[[ ! -s $log/failed ]] || sort -u "$log/failed" | cut -c 1-2000
awk '{ passed += $1; failed += $2; skipped += $3 }
	END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped; exit failed > 0 }' "$log/sums"
