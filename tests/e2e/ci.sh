#!/bin/bash
# `ci run` records, compares, gates and keeps baselines, and says plainly what went wrong.
# Mostly waits: for programs that take turns.
. "$(dirname "$0")/prelude.bash"

# Its temporary folders are below our own.
mkdir_tmp() { mkdir -p tmp && export TMPDIR=$PWD/tmp; }
want_nothing_left() { [[ -z $(ls -A tmp) ]] || fail "left behind: $(ls -AR tmp)"; }

ci() { # OPTION... -- COMMAND
	run "$EBPROF" ci run -F 499 "$@"
}

# hot() takes so much of 100 parts of 0.6 s of CPU time.
build_shape() { # NAME HOT
	cat >"$1.c" <<-C
		#include <time.h>
		static double now(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
			return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
		}
		#define SPIN(name) __attribute__((noinline)) void name(double until) \\
			{ while (now() < until) for (volatile int i = 0; i < 200000; i++); }
		SPIN(hot) SPIN(cold)
		int main(void)
		{
			double began = now();
			for (int i = 1; i <= 10; i++) {
				hot(began + .06 * (i - 1) + .06 * $2 / 100);
				cold(began + .06 * i);
			}
			return 0;
		}
	C
	${CC:-cc} -O2 -g -o "$1" "$1.c" 2>cc.err || skip "no compiler: $(head -n 1 cc.err)"
}

test_both_take_turns() {
	mkdir_tmp
	ci --runs 3 --fail-on none --base "echo A >>order; $WORKLOADS/workload 0.1" -- \
		sh -c 'echo B >>order; "$WORKLOADS/workload" 0.1'
	want_status 0 "ci run"
	[[ $(tr -d '\n' <order) == ABBAAB ]] || fail "order $(tr -d '\n' <order)"
	[[ $(grep -c '^ebprof: run [123]/3 \(base\|new\): [0-9.]* s, [0-9 ]* samples$' err) == 6 ]] || fail "$(cat err)"
	want_nothing_left
	rm order
	ci --runs 2 --order aabb --fail-on none -q --base "echo A >>order; $WORKLOADS/workload 0.1" -- \
		sh -c 'echo B >>order; "$WORKLOADS/workload" 0.1'
	want_status 0 "ci run"
	[[ $(tr -d '\n' <order) == AABB ]] || fail "order $(tr -d '\n' <order)"
	[[ ! -s err ]] || fail "not quiet: $(cat err)"
}

test_a_regression_ends_with_1() {
	mkdir_tmp
	build_shape before 10
	build_shape after 90
	ci --runs 3 --json report.json --base ./before -- ./after
	want_status 1 "a function that takes much longer"
	grep -q 'hot' out || fail "it is not named: $(cat out)"
	grep -q hot report.json || fail "not in the report"
	want_nothing_left
	# Kept, they are what diff says of them.
	ci --runs 3 --keep kept --fail-on none --base ./before -- ./after
	want_status 0 "--fail-on none"
	[[ $(ls kept) == $'base1.data\nbase2.data\nbase3.data\nnew1.data\nnew2.data\nnew3.data' ]] || fail "$(ls kept)"
	run "$EBPROF" diff --fail-on regression kept/base*.data -- kept/new*.data
	want_status 1 diff
}

# Whatever is sampled: here page faults, half of them more.
test_a_regression_of_another_event() {
	mkdir_tmp
	ci --runs 3 -e page-faults/period=5/ --base "exec $WORKLOADS/counted faults 3000" -- "$WORKLOADS/counted" faults 4500
	want_status 1 "more faults: $(cat err)"
	grep -q '^REGRESSION: ' out || fail "$(cat out)"
	grep -q 'touch_pages' out || fail "the function is not named: $(cat out)"
	! grep -q 'of CPU' out || fail "faults are no time: $(cat out)"
	want_nothing_left
}

test_baselines_come_and_are_compared_with() {
	mkdir_tmp
	build_shape before 10
	build_shape after 90
	ci --runs 2 --job shape -- touch ran
	want_status 2 "no baseline, and none saved"
	[[ ! -e ran ]] || fail "run all the same"
	grep -q 'no baseline of shape on main yet.*: --save' err || fail "$(cat err)"
	[[ ! -e ebprof-baselines ]] || fail "saved all the same"
	ci --runs 3 --job shape --save -- ./before
	want_status 0 "the first one"
	[[ $("$EBPROF" baseline list | wc -l) == 1 ]] || fail "$("$EBPROF" baseline list)"
	rm before # it is not needed any more
	ci --runs 3 --job shape --branch fix --base-branch main --save -- ./after
	want_status 1 "a regression"
	grep -q 'compared with the baseline of shape on main, 3 runs' err || fail "$(cat err)"
	grep -q 'not saved.*slower' err || fail "$(cat err)"
	grep -q hot out || fail "$(cat out)"
	ci --runs 3 --job shape --branch fix --base-branch main --save --fail-on inconclusive --min-share 100% -- ./after
	want_status 3 "nothing has such a share"
	grep -q 'not saved.*the comparison is inconclusive' err || fail "$(cat err)"
	ci --runs 3 --job shape --branch fix --base-branch main --save --fail-on regression --min-share 100% -- ./after
	want_status 0 "--fail-on regression, and nothing has such a share"
	grep -q 'not saved.*the comparison is inconclusive' err || fail "$(cat err)"
	[[ $("$EBPROF" baseline list | wc -l) == 1 ]] || fail "a regression became a baseline"
	ci --runs 3 --job shape --branch fix --base-branch main --save --fail-on none -- ./after
	want_status 0 "--fail-on none"
	ci --runs 1 --job shape --branch fix --base-branch main --fail-on none -- ./after
	grep -q 'baseline of shape on fix' err || fail "not its own: $(cat err)"
	want_nothing_left
}

# Before anything is run.
test_bad_baselines_are_refused() {
	local object
	mkdir_tmp
	ci --runs 1 --job job --save -- "$WORKLOADS/workload" 0.2
	want_status 0 "the first one"
	object=$(find ebprof-baselines/objects -type f)
	cp "$object" whole
	printf 'X' | dd of="$object" bs=1 seek=50 conv=notrunc status=none
	ci --runs 1 --job job -- touch ran
	want_status 2 "a damaged one"
	grep -q "$(basename "$object").*damaged" err || fail "$(cat err)"
	rm "$object"
	ci --runs 1 --job job -- touch ran
	want_status 2 "a missing one"
	cp whole "$object"
	mv ebprof-baselines/refs/job/main/* ebprof-baselines/refs/job/main/Other
	sed -i 's/^cpu .*/cpu Other/' ebprof-baselines/refs/job/main/Other
	ci --runs 1 --job job -- touch ran
	want_status 2 "that of another CPU model"
	grep -q 'another CPU model, Other' err || fail "$(cat err)"
	[[ ! -e ran ]] || fail "it was run"
	want_nothing_left
}

test_failures_are_errors() {
	mkdir_tmp
	ci --runs 2 --job job --save -- sh -c 'echo said; exit 3'
	want_status 2 "a command that fails"
	grep -q 'run 1/2: the command failed with status 3' err || fail "$(cat err)"
	[[ $(cat out) == said ]] || fail "its output: $(cat out)"
	# shellcheck disable=SC2016
	ci --runs 2 --job job --save -- sh -c 'kill -SEGV $$'
	want_status 2 "a command that dies"
	grep -q 'died of signal 11' err || fail "$(cat err)"
	ci --runs 2 --job job --save -- ./there-is-none
	want_status 2 "no such command"
	ci --runs 2 --job job --save --base 'exit 4' -- "$WORKLOADS/workload" 0.1
	want_status 2 "a base command that fails"
	grep -q 'base command: the command failed with status 4' err || fail "$(cat err)"
	run "$EBPROF" ci run -F 1 --runs 1 --job job --save -- true
	if [[ $status != 0 ]]; then # unless the one tick hit it
		want_status 2 "no samples"
		grep -q 'no samples' err || fail "$(cat err)"
		[[ -z $("$EBPROF" baseline list) ]] || fail "saved all the same"
	fi
	want_nothing_left
}

# ---- the recipes of ebprof-ci(7) ----

# The block number N of the page, and of YAML what its shell lines are.
recipe() { # N
	awk -v wanted="$1" '
		/^\.Bd/ { in_block = 1; count++; next }
		/^\.Ed/ { in_block = 0 }
		in_block && count == wanted { gsub(/\\&/, ""); gsub(/\\e/, "\\"); print }
	' "$here/../../man/ebprof-ci.7"
}
github_lines() { awk '/^ *- run: \|/ { on = 1; next } /^ *- / { on = 0 } on { sub(/^ +/, ""); print }'; }
# Below "script:", an item each; what is indented further goes on with the line above.
gitlab_lines() {
	awk '/^  script:/ { on = 1; next } /^  [a-z]/ { on = 0 }
		on && /^    - / { sub(/^    - /, ""); printf "%s%s", (any++ ? "\n" : ""), $0; next }
		on { sub(/^ +/, " "); printf "%s", $0 } END { print "" }'
}

# A repository with a benchmark, and what recipes call.
prepare_recipes() {
	command -v git >/dev/null || skip "no git"
	mkdir_tmp
	mkdir bin work work/ci
	printf '#!/bin/sh\n[ "$1" != -E ] || shift\nexec "$@"\n' >bin/sudo
	# What a container would leave it: these capabilities and no others.
	cat >bin/docker <<-'DOCKER'
		#!/bin/bash
		kept=-all
		while [[ $1 != debian:* ]]; do
			case $1 in --cap-add=*) kept+=,+$(tr 'A-Z' 'a-z' <<<"${1#*=}") ;; esac
			shift
		done
		shift
		exec setpriv --bounding-set="$kept" --inh-caps=-all "$@"
	DOCKER
	chmod +x bin/*
	cp "$EBPROF" work/ci/ebprof
	printf 'bench: Makefile\n\tcp "$(WORKLOADS)/workload" run\n' >work/Makefile
	printf '\tprintf "#!/bin/sh\\nexec \\$$(dirname \\$$0)/run 0.1\\n" >bench\n\tchmod +x bench\n' >>work/Makefile
	(
		cd work && git init -q -b main && git add Makefile &&
			git -c user.name=x -c user.email=x@y commit -qm x && git clone -q --bare . ../origin &&
			git remote add origin ../origin && git fetch -q origin
	) >git.out 2>&1 || fail "git: $(cat git.out)"
	export PATH=$PWD/bin:$PATH HOME=$PWD GITHUB_BASE_REF=main CI_COMMIT_BRANCH=main CI_COMMIT_REF_NAME=main
	export GITHUB_STEP_SUMMARY=$PWD/summary.md
}

# That samples are too few, or something was found by chance, is the recipe's business.
run_recipe() { # NAME
	cp "$1.sh" work/recipe.sh
	(cd work && bash -e recipe.sh) >out 2>err
	status=$?
	[[ $status == [013] ]] || fail "$1: status $status: $(tail -n 3 err)"
}

test_recipes_run_as_written() {
	prepare_recipes
	recipe 2 | github_lines >github.sh
	recipe 3 | gitlab_lines >gitlab.sh
	recipe 1 | sed 's/$/ || [ $? != 2 ]/' >shell.sh
	[[ $(grep -c ebprof github.sh) == 1 && $(grep -c ebprof gitlab.sh) == 1 ]] || fail "$(cat git*.sh)"
	run_recipe github
	[[ -s summary.md && -s work/bench.html ]] || fail "GitHub: no report"
	run_recipe gitlab
	run_recipe gitlab # the first one had nothing to compare with
	[[ -s work/bench.json && -s work/bench.xml ]] || fail "GitLab: no report"
	run_recipe shell
	grep -q 'compared with the baseline of bench on main' err || fail "shell: $(cat err)"
}

test_container_recipe_has_the_capabilities_it_needs() {
	command -v setpriv >/dev/null || skip "no setpriv"
	(($(cat /proc/sys/kernel/perf_event_paranoid) <= 2)) || skip "perf_event_paranoid is above 2"
	prepare_recipes
	(cd work && make bench && mkdir base && cp run bench base) >make.out 2>&1 || fail "$(cat make.out)"
	recipe 4 >container.sh
	grep -q '^docker run' container.sh || fail "$(cat container.sh)"
	run_recipe container
	grep -q heavy out || fail "no names: $(cat out)"
}

test_wrong_usage_is_2() {
	local words
	for words in '' 'walk -- true' 'run' 'run --job j' 'run -- true' 'run --base true --save -- true' \
		'run --job j --runs 0 -- true' 'run --job j --order ba -- true' 'run --job j --min-effect x -- true'; do
		# shellcheck disable=SC2086
		run "$EBPROF" ci $words
		want_status 2 "ci $words"
		[[ -s err ]] || fail "ci $words says nothing"
	done
}

# A copy that nobody can reach, since checkouts are often below a closed home.
as_nobody() { # ARGUMENT...
	command -v setpriv >/dev/null || skip "no setpriv"
	chmod 755 .
	install -m 755 "$EBPROF" ./ebprof
	run setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all env TMPDIR=/tmp ./ebprof "$@"
}

test_not_permitted_is_77() {
	as_nobody ci run --job job --baseline-dir store -- sh -c 'echo ran'
	[[ $status != 126 ]] || skip "nobody cannot reach $PWD"
	want_status 77 "without privileges"
	grep -q 'not permitted to profile: .*CAP_BPF' err || fail "$(cat err)"
	[[ ! -s out ]] || fail "it was run"
	as_nobody ci run --allow-unprofiled --job job --baseline-dir store -- sh -c 'echo ran; exit 7'
	want_status 7 "its own status"
	[[ $(cat out) == ran ]] || fail "it was not run: $(cat out)"
	grep -q 'nothing is compared' err || fail "$(cat err)"
}

# In the background, ended by a signal amid its first run: the command says when that is.
start_long() { # JOB
	rm -f began
	# shellcheck disable=SC2016
	"$EBPROF" ci run -F 499 --runs 2 --job "$1" --save -- sh -c \
		'"$WORKLOADS/workload" 300 & echo $! >workload_pid; touch began; wait' >out 2>err &
	pid=$!
	wait_until "the first run" test -e began
}

test_signals_leave_nothing_behind() {
	local signal number
	mkdir_tmp
	for signal in TERM HUP; do
		number=$(kill -l $signal)
		start_long job
		kill "-$signal" "$pid"
		wait "$pid" 2>/dev/null
		status=$?
		want_status $((128 + number)) "$signal"
		is_gone "$(cat workload_pid)" 2>/dev/null || fail "$signal: the benchmark goes on"
		want_nothing_left
		[[ -z $("$EBPROF" baseline list) ]] || fail "saved all the same"
	done
}

# Whichever of its processes is killed.
test_killed_it_leaves_nothing_running() {
	command -v pgrep >/dev/null || skip "no pgrep"
	local victim
	mkdir_tmp
	for victim in first second recorder; do
		start_long job
		case $victim in
		first) kill -KILL "$pid" ;;
		second) kill -KILL "$(pgrep -P "$pid")" ;;
		recorder) kill -KILL "$(pgrep -P "$(pgrep -P "$pid")")" ;;
		esac
		wait "$pid" 2>/dev/null
		status=$?
		wait_until "the end of the benchmark, the $victim being killed" is_gone "$(cat workload_pid)"
		# shellcheck disable=SC2016
		wait_until "no temporary folder, the $victim being killed" sh -c '[ -z "$(ls -A tmp)" ]'
		[[ $status != 0 ]] || fail "the $victim being killed, all is well"
		[[ -z $("$EBPROF" baseline list) ]] || fail "saved all the same"
	done
}

# Amid comparing: the report waits for a reader of its pipe.
test_killed_when_comparing_it_leaves_nothing_behind() {
	command -v pgrep >/dev/null || skip "no pgrep"
	local victim compared
	mkdir_tmp
	mkfifo full
	exec 9<>full
	dd if=/dev/zero of=full bs=4096 conv=notrunc oflag=nonblock 2>/dev/null # until it is
	for victim in first second third; do
		rm -f report.json
		# shellcheck disable=SC2016
		"$EBPROF" ci run -F 499 --runs 1 --json report.json --base '"$WORKLOADS/workload" 0.2 >/dev/null' -- \
			sh -c '"$WORKLOADS/workload" 0.2 >/dev/null' >full 2>err &
		pid=$!
		wait_until "a report" test -e report.json
		compared=$(pgrep -P "$(pgrep -P "$pid")")
		case $victim in
		first) kill -KILL "$pid" ;;
		second) kill -KILL "$(pgrep -P "$pid")" ;;
		third) kill -KILL "$compared" ;;
		esac
		wait "$pid" 2>/dev/null
		status=$?
		[[ $status != 0 ]] || fail "the $victim being killed, all is well"
		wait_until "the end of comparing, the $victim being killed" is_gone "$compared"
		# shellcheck disable=SC2016
		wait_until "no temporary folder, the $victim being killed" sh -c '[ -z "$(ls -A tmp)" ]'
	done
	exec 9<&-
}

test_killed_it_leaves_a_whole_folder() {
	mkdir_tmp
	ci --runs 1 --job job --save -- "$WORKLOADS/workload" 0.2
	want_status 0 "the first one"
	start_long job
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	run "$EBPROF" baseline get -k job -o base.data
	want_status 0 "get"
	want_whole base.data
	[[ $("$EBPROF" baseline list | wc -l) == 1 ]] || fail "$("$EBPROF" baseline list)"
}

run_tests
