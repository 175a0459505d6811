#!/bin/bash
# Root writes where another user may write, too: no file of that user is replaced, no link of that
# user is followed, whenever it is put there.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

nobody=65534

as_nobody() { setpriv --reuid $nobody --regid $nobody --clear-groups "$@"; }

prepare() {
	[[ $(id -u) == 0 ]] || skip "only root can write everywhere"
	command -v setpriv >/dev/null || skip "no setpriv here"
	unset SUDO_UID SUDO_GID
	"$EBPROF" record -o x.data -- "$WORKLOADS/workload" 0.3 2>/dev/null || fail "cannot record"
	chmod 755 .
	mkdir theirs precious
	chown $nobody:$nobody theirs
	echo precious >precious/ebprof.data
}

want_theirs() { # FILE WHAT
	[[ $(cat "$1") == theirs && $(stat -c %u "$1") == "$nobody" ]] || fail "$2: $1 was replaced"
}

put_theirs() { # FILE
	echo theirs >"$1"
	chown $nobody "$1"
}

want_nothing_left() { # FOLDER FILE...
	[[ $(ls -A "$1" | sort | tr '\n' ' ') == "${*:2} " ]] || fail "left: $(ls -A "$1")"
}

test_exports_replace_no_file_of_others() {
	local format
	prepare
	put_theirs theirs/out
	for format in pprof svg folded html firefox speedscope chrome json csv callgrind perf-script otlp; do
		run "$EBPROF" convert --$format -i x.data -o theirs/out
		[[ $status != 0 ]] || fail "convert --$format replaced another user's file"
		grep -q "theirs/out belongs to user $nobody" err || fail "$format: $(cat err)"
		want_theirs theirs/out "convert --$format"
	done
	for format in json html svg markdown; do
		run "$EBPROF" diff --$format theirs/out x.data x.data -f
		[[ $status == 2 ]] && grep -q "theirs/out belongs to user $nobody" err ||
			fail "diff --$format: status $status: $(cat err)"
		want_theirs theirs/out "diff --$format"
	done
	run "$EBPROF" merge -o theirs/out x.data
	want_theirs theirs/out merge
	want_nothing_left theirs out
}

test_the_old_recording_of_others_stays() {
	prepare
	echo before >theirs/x.data
	put_theirs theirs/x.data.old
	run "$EBPROF" record -o theirs/x.data -- touch ran
	want_status 125 "another user's .old"
	want_theirs theirs/x.data.old record
	[[ $(cat theirs/x.data) == before && ! -e ran ]] || fail "something was done all the same"
	want_nothing_left theirs x.data x.data.old
}

# A recorder looks at the names once before its command runs: what comes afterwards comes too late,
# unless it begins another file.
record_while() { # COMMAND...
	"$EBPROF" record --switch-output=signal -o theirs/out -p $$ >out 2>err &
	local recorder=$!
	wait_ready err
	"$@"
	kill -USR2 $recorder
	is_soon is_gone $recorder || kill -INT $recorder
	wait $recorder
	status=$?
}

swap_for_file() {
	rm -f theirs/out
	as_nobody sh -c 'echo theirs >theirs/out'
}

swap_for_link() {
	rm -f theirs/out
	as_nobody ln -s "$PWD/precious/ebprof.data" theirs/out
}

# Endless swaps, by the owner of the folder, while files are made in it.
swap_endlessly() { # FILE
	as_nobody bash -c 'cd theirs && while :; do
		echo theirs >mine
		mv -T mine "$1" 2>/dev/null
		ln -sfn ../precious/ebprof.data link
		mv -T link "$1" 2>/dev/null
		rm -f "$1"
	done' - "$1" &
	swapper=$!
}

# Whatever the swapper does: what is in the end at the name is the export or the swapper's, and a
# file of nobody's that was there is still somewhere only if nobody himself did not remove it. So what
# is watched is the one thing that nobody cannot touch.
test_races_of_exports_reach_nothing_else() {
	prepare
	swap_endlessly out
	for _ in $(seq 15); do
		"$EBPROF" convert --folded -i x.data -o theirs/out >/dev/null 2>&1
		"$EBPROF" merge -o theirs/out x.data >/dev/null 2>&1
	done
	kill $swapper
	wait $swapper 2>/dev/null
	[[ $(cat precious/ebprof.data) == precious ]] || fail "what the link points to was written"
	find theirs -mindepth 1 ! -name out ! -name out.old ! -name mine ! -name link >left
	[[ ! -s left ]] || fail "left: $(cat left)"
}

test_links_of_others_in_the_path_are_not_followed() {
	prepare
	as_nobody ln -s "$PWD/precious" theirs/folder
	run "$EBPROF" record -o theirs/folder/ebprof.data -- touch ran
	want_status 125 "a folder that is another user's link"
	grep -q "symbolic link of user $nobody" err || fail "$(cat err)"
	[[ ! -e ran ]] || fail "the command ran"
	run "$EBPROF" convert --folded -i x.data -o theirs/folder/new
	[[ $status != 0 && ! -e precious/new ]] || fail "convert followed the link"
	run "$EBPROF" ci run --keep theirs/folder/kept -- true
	[[ ! -e precious/kept ]] || fail "ci run --keep followed the link"
	run "$EBPROF" baseline save --baseline-dir theirs/folder/store -k job x.data
	[[ ! -e precious/store ]] || fail "baseline save followed the link"
	want_nothing_left precious ebprof.data
}

test_links_of_ones_own_are_followed() {
	prepare
	mkdir -p real/below
	ln -s "$PWD/real" absolute
	ln -s absolute/below relative
	run "$EBPROF" convert --folded -i x.data -o relative/../below/out.folded
	want_status 0 'links of its own'
	[[ -s real/below/out.folded ]] || fail "it is not there"
	ln -s loop loop
	run "$EBPROF" convert --folded -i x.data -o loop/out.folded
	[[ $status != 0 ]] || fail "a loop of links was followed"
}

test_files_belong_to_the_caller_of_sudo() {
	prepare
	export SUDO_UID=$nobody SUDO_GID=$nobody
	put_theirs theirs/out.json
	run "$EBPROF" convert --json -i x.data -o theirs/out.json
	want_status 0 "the caller's file"
	"$EBPROF" diff --json theirs/diff.json -f x.data x.data >/dev/null 2>&1
	"$EBPROF" merge -o theirs/merged.data x.data 2>/dev/null
	"$EBPROF" baseline save --baseline-dir theirs/store -k job x.data 2>/dev/null
	local file
	for file in out.json diff.json merged.data store; do
		[[ $(stat -c %u:%g theirs/$file) == "$nobody:$nobody" ]] ||
			fail "$file belongs to $(stat -c %u:%g theirs/$file)"
	done
	[[ $(stat -c %a theirs/out.json) == 644 && $(stat -c %a theirs/merged.data) == 600 ]] ||
		fail "modes: $(stat -c '%n %a' theirs/*)"
}

# The races themselves are in tests/unit/format_output_file.c; here a recorder begins another file.
test_a_file_that_comes_between_two_recordings_is_not_replaced() {
	local swap
	prepare
	for swap in swap_for_file swap_for_link; do
		record_while $swap
		[[ $status == 125 ]] || fail "$swap: record replaced it: status $status: $(cat err)"
		[[ $swap == swap_for_link || $(cat theirs/out) == theirs ]] || fail "the file is gone"
		[[ $swap == swap_for_file || -L theirs/out ]] || fail "the link is gone"
		[[ $(cat precious/ebprof.data) == precious ]] || fail "the link was followed"
		rm -f theirs/out*
	done
}

run_tests
