#!/bin/bash
# What a repository's workflows do by ebprof: they are valid, and their steps run as they stand; and
# the package that a release holds.
# Beside others: a page fault is a page fault.
. "$(dirname "$0")/prelude.bash"
. "$here/npm.bash"

github=$here/../../.github

validate() { # FILE
	run node "$npm_folder/node_modules/.bin/action-validator" "$1"
}

test_workflows_are_valid() {
	need_npm @action-validator/core@0.6.0 @action-validator/cli@0.6.0
	local file
	for file in "$github"/workflows/*.yml "$github"/actions/*/action.yml; do
		validate "$file"
		want_status 0 "$file"
	done
	sed 's/runs-on:/runs_on:/' "$github/workflows/check.yml" >check.yml
	validate check.yml
	[[ $status != 0 ]] || fail "the validator lets anything pass"
}

# A step's script, as a runner starts one that says "shell: bash".
run_step() { # NAME [VARIABLE=VALUE...]
	local name=$1
	shift
	NODE_PATH=$npm_folder/node_modules node -e '
		const steps = require("yaml").parse(require("fs").readFileSync(process.argv[1], "utf8")).runs.steps;
		process.stdout.write(steps.find((step) => step.name === process.argv[2]).run);
	' "$github/actions/profile/action.yml" "$name" >step.sh || fail "no step $name"
	run env "$@" bash --noprofile --norc -eo pipefail step.sh
}

test_action_fails_a_job_that_became_slower() {
	need_npm yaml@2.8.1
	export RUNNER_TEMP=$PWD/temp GITHUB_OUTPUT=$PWD/outputs GITHUB_STEP_SUMMARY=$PWD/summary.md
	local counted=$WORKLOADS/counted options='--runs 3 -e page-faults/period=5/'
	run_step 'Install ebprof' EBPROF="$EBPROF"
	want_status 0 "install: $(cat err)"
	run_step Compare BASE="$counted faults 3000" COMMAND="$counted faults 4500" OPTIONS="$options" PAGE=page.html
	want_status 1 "more faults: $(cat err)"
	grep -q '^::error ' out || fail "no annotation: $(cat out)"
	grep -q 'touch_pages' summary.md || fail "the summary names no function: $(cat summary.md)"
	grep -q '<html' page.html || fail "no page"
	[[ $(cat outputs) == page=page.html ]] || fail "outputs: $(cat outputs)"
	run_step Compare BASE="$counted faults 3000" COMMAND="$counted faults 3000" OPTIONS="$options" PAGE=same.html
	[[ $status == [03] ]] || fail "as many faults: status $status: $(cat out err)"
}

# What cannot be downloaded is named, with what to do.
test_action_without_a_release() {
	need_npm yaml@2.8.1
	export RUNNER_TEMP=$PWD/temp
	command -v curl >/dev/null || skip "no curl"
	run_step 'Install ebprof' EBPROF= RELEASES=http://127.0.0.1:9/releases/download VERSION=main
	want_status 1 "no release"
	grep -q '^::error::no ebprof-main-linux-.* name a tag' out || fail "$(cat out err)"
}

test_debian_package() {
	command -v dpkg-shlibdeps >/dev/null || skip "no dpkg-shlibdeps"
	local objects deb
	objects=$(dirname "$EBPROF")
	[[ -z ${SAN-} ]] || skip "a build with sanitizers is not packaged"
	deb=$(cd "$here/../.." && .github/release/make_deb.sh "$objects" 1.2.3 "$OLDPWD/deb" 2>"$OLDPWD/err") || fail "$(tail -n 2 err)"
	dpkg-deb -x "$deb" root
	[[ $(root/usr/bin/ebprof --version) == "$("$EBPROF" --version)" ]] || fail "it does not run"
	[[ -e root/usr/share/man/man1/ebprof-record.1.gz && -e root/usr/lib/systemd/system/ebprof.service ]] ||
		fail "$(find root -type f)"
	dpkg-deb -f "$deb" Depends | grep -q 'libbpf1.*libc6' || fail "depends on $(dpkg-deb -f "$deb" Depends)"
	command -v lintian >/dev/null || skip "no lintian; the package itself is right"
	run lintian --allow-root --fail-on error,warning "$deb"
	want_status 0 "lintian: $(cat out)"
}

run_tests 2
