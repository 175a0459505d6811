#!/bin/bash
# What an unprivileged user can do to a recorder of the whole system: the short form of make
# check-hostile, a test for each attack that it has time for.
# Alone: what is lost under attack says little where other tests want the CPUs, too.
. "$(dirname "$0")/prelude.bash"

ATTACK=$here/../hostile/check_hostile.py
HOSTILE=$WORKLOADS/../hostile
export HOSTILE

attack() { # NAME
	[[ -x /usr/bin/python3 ]] || skip "no python3"
	run "$ATTACK" --short --once --only "$1"
	[[ $status != 77 ]] || skip "$(cat out)"
	want_status 0 "$(cat out)"
	cat out
}

attacks=()
if [[ -x /usr/bin/python3 ]]; then
	mapfile -t attacks < <("$ATTACK" --short --list)
fi
for name in "${attacks[@]}"; do
	test=${name//[ ,]/_}
	eval "test_${test//./} () { attack '$name'; }"
done

run_tests
