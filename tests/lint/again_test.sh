#!/bin/bash
# Does a test that failed get its second chance, and only that? A tree with a suite of each kind, in
# which tests fail always, once and never, is run by run.sh, and what it prints is read.
#   O   the build folder: the unit tests' main is linked with its format.a
set -u
tests=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath "${O:-$tests/../build}")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0

write_scripts() {
	mkdir -p tree/tests/e2e tree/build/tests
	cp "$tests/run.sh" tree/tests/
	cp "$tests/e2e/prelude.bash" tree/tests/e2e/
	cat >tree/tests/e2e/shaky.sh <<-'END'
		#!/bin/bash
		. "$(dirname "$0")/prelude.bash"
		test_always() { fail "it never works"; }
		test_dies() { kill -KILL $BASHPID; }
		test_never() { :; }
		test_once() { [[ -e $TRIED/script ]] || { touch "$shared_folder/script" "$TRIED/script" && fail "not yet"; }
			[[ ! -e $shared_folder/script ]] || fail "what the first run shared"; }
		test_skipped() { skip "so be it"; }
		test_then_skipped() { [[ -e $TRIED/skip ]] && skip "now"; touch "$TRIED/skip" && fail "before"; }
		run_tests "${JOBS-1}"
	END
	chmod +x tree/tests/e2e/shaky.sh
	ln -s /bin/true tree/build/ebprof # of which the prelude asks whether it can record
}

write_program() {
	cat >shaky.c <<-'END'
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		#include "tests/unit/unit.h"

		static bool is_first(const char *name)
		{
			char path[4096];
			snprintf(path, sizeof(path), "%s/%s", getenv("TRIED"), name);
			return open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0;
		}
		TEST(always) { CHECK_INT(1 + 1, 3); }
		TEST(never) { CHECK(1 + 1 == 2); }
		TEST(once) { CHECK_INT(is_first("once"), 0); }
		TEST(once_by_signal) { if (is_first("signal")) abort(); }
		TEST(skipped) { unit_skip("so be it"); }
	END
	"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -I "$tests/.." ${SAN:+-fsanitize=address,undefined} \
		-o tree/build/tests/unit_shaky shaky.c "$tests/unit/unit.c" "$build/format.a" >cc.log 2>&1
}

run_tree() { # VARIABLE=VALUE... PATTERN
	rm -rf tried && mkdir tried
	env -u EBPROF TRIED="$dir/tried" O="$dir/tree/build" "${@:1:$#-1}" tree/tests/run.sh "${@: -1}" >said 2>&1
	status=$?
}

# As a log's end has them.
failed_again() { # LINE...
	printf '%s\n' "$@" | sed -n -e '/: not ok /p' -e 's|^FAIL |unit/shaky: &|p'
}

# Exactly these lines, whatever their order, and once more those that failed; seconds count as 0.
want() { # NAME LINE...
	local name=$1
	shift
	if [[ $status == 1 ]] && diff <({ printf '%s\n' "$@" && failed_again "$@"; } | sort) \
		<(sed -E 's/\([0-9]+ s, CPU [0-9]+ s\)/(0 s)/; s/:[0-9]+: /:N: /; s/  */ /g; s/ $//' said | sort) >difference; then
		echo "ok $name"
	else
		echo "not ok $name: status $status, $(tr '\n' ' ' <difference)"
		failed=1
	fi
}

script_lines=(
	"e2e/shaky: not ok always: it never works"
	"e2e/shaky: not ok dies: ended with status 137:"
	"e2e/shaky: skip skipped: so be it"
)
once="e2e/shaky: again once: passed in a second run; first: not yet"

write_scripts
if [[ $(id -u) == 0 ]]; then
	for jobs in 1 3; do
		run_tree JOBS=$jobs 'e2e/*'
		want "scripts_with_jobs_$jobs" "${script_lines[@]}" "$once" \
			"e2e/shaky: not ok then_skipped: before, and a second run was skipped: now" \
			"e2e/shaky: 2 passed, 3 failed, 1 skipped, 1 again (0 s)" "2 passed, 3 failed, 1 skipped"
	done
	if grep -q 'once more at the end: once: not yet' tree/build/tests/log/e2e_shaky.log; then
		echo "ok first_failure_is_logged"
	else
		echo "not ok first_failure_is_logged: $(tr '\n' ' ' <tree/build/tests/log/e2e_shaky.log)"
		failed=1
	fi
	run_tree AGAIN=0 'e2e/*'
	want scripts_without "${script_lines[@]}" "e2e/shaky: not ok once: not yet" \
		"e2e/shaky: not ok then_skipped: before" \
		"e2e/shaky: 1 passed, 4 failed, 1 skipped (0 s)" "1 passed, 4 failed, 1 skipped"
else
	echo "skip scripts: end-to-end tests need root"
fi

program_lines=(
	" shaky.c:N: 1 + 1 is 2, not 3" "FAIL shaky.c: always"
	" skipped: so be it" "SKIP shaky.c: skipped"
)
if write_program; then
	run_tree 'unit/*'
	want programs "${program_lines[@]}" \
		"unit/shaky: again shaky.c: once: passed in a second run; first: shaky.c:N: is_first(\"once\") is 1, not 0" \
		"unit/shaky: again shaky.c: once_by_signal: passed in a second run; first: killed by signal 6 (Aborted)" \
		"unit/shaky: 3 passed, 1 failed, 1 skipped, 2 again (0 s)" "3 passed, 1 failed, 1 skipped"
	run_tree AGAIN=0 'unit/*'
	want programs_without "${program_lines[@]}" \
		" shaky.c:N: is_first(\"once\") is 1, not 0" "FAIL shaky.c: once" \
		" killed by signal 6 (Aborted)" "FAIL shaky.c: once_by_signal" \
		"unit/shaky: 1 passed, 3 failed, 1 skipped (0 s)" "1 passed, 3 failed, 1 skipped"
else
	echo "skip programs: cannot build one: $(tail -n 1 cc.log)"
fi
exit $failed
