#!/bin/bash
# Where a recording is written to: what may be replaced, and what happens when writing fails.
# Mostly waits: and what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

test_mode() {
	umask 0
	run "$EBPROF" record -- true
	[[ $(stat -c %a ebprof.data) == 600 ]] || fail "mode $(stat -c %a ebprof.data)"
}

test_name_of_another_format() {
	run "$EBPROF" record --save-only -o profile.svg -- "$WORKLOADS/workload" 0.1
	want_status 0 record
	grep -q 'profile.svg is a recording in spite of its name: ebprof convert --svg' err || fail "no hint: $(cat err)"
	# By the formats that there are, and by the longest of their suffixes.
	local name format
	while read -r name format; do
		run "$EBPROF" record --save-only -o "$name" -- "$WORKLOADS/workload" 0.1
		grep -q "$name is a recording in spite of its name: ebprof convert $format makes" err || fail "$name: $(cat err)"
	done <<-'END'
		x.json --json
		x.trace.json --chrome
		x.callgrind --callgrind
	END
	run "$EBPROF" record --format speedscope -- true
	want_status 125 --format
	grep -q 'ebprof convert makes' err || fail "--format: $(cat err)"
}

test_old_is_kept() {
	echo before >ebprof.data
	run "$EBPROF" record -- true
	want_status 0 'over a file'
	[[ $(cat ebprof.data.old) == before ]] || fail "ebprof.data.old is not what there was"
	want_whole ebprof.data
	local left=(ebprof.data*)
	[[ ${#left[@]} == 2 ]] || fail "temporary files are left: ${left[*]}"
}

test_symlink_is_refused() {
	echo precious >target
	ln -s target ebprof.data
	run "$EBPROF" record -- touch ran
	want_status 125 'a symbolic link'
	[[ $(cat target) == precious && -L ebprof.data ]] || fail "the link's target was touched"
	[[ ! -e ran ]] || fail "the command ran"
}

# The .old name is a link: it may go, what it points to may not.
test_symlink_of_old_is_not_followed() {
	echo precious >target
	ln -s target ebprof.data.old
	echo before >ebprof.data
	run "$EBPROF" record -- true
	want_status 0 'ebprof.data.old is a link'
	[[ $(cat target) == precious ]] || fail "the link's target was touched"
}

test_fifo_is_refused() {
	mkfifo ebprof.data
	run timeout 120 "$EBPROF" record -- true
	want_status 125 'a FIFO'
	[[ -p ebprof.data ]] || fail "the FIFO is gone"
}

test_directory_is_refused() {
	mkdir ebprof.data
	run "$EBPROF" record -- true
	want_status 125 'a folder'
}

# Else the command would run, and its recording be lost for want of a name.
test_directory_of_old_is_refused() {
	echo precious >ebprof.data
	mkdir ebprof.data.old
	run "$EBPROF" record -- touch ran
	want_status 125 'ebprof.data.old is a directory'
	[[ $(cat ebprof.data) == precious ]] || fail "the older file was overwritten"
	[[ ! -e ran ]] || fail "the command ran unprofiled"
}

test_foreign_owner_is_refused() {
	echo theirs >ebprof.data
	chown 65534 ebprof.data
	run "$EBPROF" record -- true
	want_status 125 "another user's file"
	[[ $(cat ebprof.data) == theirs ]] || fail "another user's file was replaced"
}

# ---- writing fails ----

# Quiet at first, then enough processes to fill a file. What does not fit is lost by the flush,
# that is, up to a second of it; what came before must be there.
busy_record() { # RECORD_OPTIONS...
	timeout -k 5 300 "$EBPROF" record -F 5000 "$@" -- sh -c '"$WORKLOADS/workload" 1.5
		for i in $(seq 60); do
			grep -q "stopped early" err && break
			seq 50 | xargs -n1 -P2 /bin/true
		done
		exit 7'
}

want_clean_stop() { # FILE
	[[ $status == 125 ]] || fail "status $status, not 125: $(tail -n 3 err)"
	grep -q 'stopped early' err || fail "it does not say that it stopped: $(cat err)"
	want_readable "$1"
	[[ $(field "$1" samples) -gt 0 ]] || fail "nothing can be read"
	want_exact "$1"
}

# What the recorder says it lost, all of its files together say, too.
want_loss() { # FILE...
	local said sum=0 file
	said=$(grep -oE '[0-9]+ samples? (was|were) lost, the output failed' err | grep -oE '^[0-9]+')
	for file in "$@"; do
		[[ -n $(field "$file" ended) ]] || fail "$file has no end"
		sum=$((sum + $(field "$file" lost_write)))
	done
	[[ $sum == "${said:-0}" ]] || fail "${said:-0} samples were lost, the file says $sum"
}

test_disk_full() {
	mkdir mnt
	mount -t tmpfs -o size=256k tmpfs mnt || skip "cannot mount a tmpfs"
	run busy_record -o mnt/full.data
	grep -q 'No space left' err || fail "the disk was not full: $(cat err)"
	want_clean_stop mnt/full.data
	want_loss mnt/full.data
	[[ $(field mnt/full.data ended) == 'write error' ]] || fail "ended: $(field mnt/full.data ended)"
}

has_grown() { (($(stat -c %s "$1") >= $2)); } # FILE BYTES

# Another program takes each page that gets free.
test_disk_that_others_fill() {
	mkdir mnt
	mount -t tmpfs -o size=256k tmpfs mnt || skip "cannot mount a tmpfs"
	: >filling
	(
		is_soon has_grown mnt/full.data 8192
		while [[ -e filling ]]; do cat /dev/zero; done >mnt/filler 2>/dev/null
	) &
	run busy_record -o mnt/full.data
	rm filling
	wait
	want_clean_stop mnt/full.data
	want_loss mnt/full.data
}

# Files are set aside until none fits any more; what was lost then is told by the last one.
test_disk_full_of_switched_files() {
	mkdir mnt
	mount -t tmpfs -o size=256k tmpfs mnt || skip "cannot mount a tmpfs"
	run busy_record --switch-output=64K -o mnt/full.data
	grep -q 'No space left' err || fail "the disk was not full: $(cat err)"
	[[ $status == 125 ]] || fail "status $status, not 125: $(tail -n 3 err)"
	local files=(mnt/full.data*) file
	((${#files[@]} > 1)) || fail "no file was set aside: $(ls mnt)"
	for file in "${files[@]}"; do
		want_readable "$file"
		want_exact "$file"
	done
	want_loss "${files[@]}"
}

# Not even the first bytes fit.
test_disk_full_at_once() {
	mkdir mnt
	mount -t tmpfs -o size=4k tmpfs mnt || skip "cannot mount a tmpfs"
	dd if=/dev/zero of=mnt/filler bs=4k count=1 2>/dev/null
	run timeout 300 "$EBPROF" record -o mnt/full.data -- "$WORKLOADS/workload" 1
	want_status 125 'no room at all'
}

test_file_size_limit() {
	run bash -c "ulimit -f 100; $(declare -f busy_record); busy_record -o limited.data"
	want_clean_stop limited.data
	want_loss limited.data
}

test_file_size_limit_of_switched_files() {
	run bash -c "ulimit -f 24; $(declare -f busy_record); busy_record --switch-output=1h -o limited.data"
	want_clean_stop limited.data
	want_loss limited.data
}

test_closed_standard_output() {
	run timeout 120 bash -c '"$EBPROF" record -o - -- touch ran >&-'
	want_status 125 'a closed standard output'
	grep -q 'standard output is closed' err || fail "$(cat err)"
	[[ ! -e ran ]] || fail "the command ran"
}

test_closed_pipe() {
	"$EBPROF" record -F 5000 -o - -- "$WORKLOADS/workload" 3 2>err | head -c 1000 >head.data
	status=${PIPESTATUS[0]}
	want_status 125 'head -c 1000'
	"$EBPROF" info head.data >/dev/null 2>&1 || fail "info cannot read the first 1000 bytes"
}

# The reader neither reads nor hangs up: the recorder must neither spin nor stay for ever after TERM.
test_dead_reader() {
	mkfifo pipe
	# shellcheck disable=SC2217 # it is there to hold the pipe open, not to read it
	sleep 1000 <pipe &
	"$WORKLOADS/workload" 1000 2 &
	"$EBPROF" record -F 20000 -a -o - >pipe 2>err &
	local pid=$! before after
	wait_ready err
	sleep 6
	before=$(awk '{ print $14 + $15 }' /proc/$pid/stat)
	sleep 2
	after=$(awk '{ print $14 + $15 }' /proc/$pid/stat)
	((after - before < 100)) || fail "spins: $((after - before)) ticks of CPU in 2 s"
	(($(awk '/VmRSS/ { print $2 }' /proc/$pid/status) < 400000)) || fail "memory grows without bound"
	reap $pid TERM
	[[ $status == 125 || $status == 143 ]] || fail "status $status"
}

# Everything that is written arrives, also through a slow pipe.
test_slow_pipe() {
	"$EBPROF" record -o - -- "$WORKLOADS/workload" 2 2>err |
		(while dd bs=512 count=1 2>/dev/null | tee -a slow.data | grep -q ''; do :; done)
	want_whole slow.data
	want_exact slow.data
}

# The recording has standard output for itself: what the command prints goes to standard error.
test_pipe_of_talkative_command() {
	"$EBPROF" record -o - -- sh -c 'echo first; sleep 1; echo second' 2>err >talk.data
	want_whole talk.data
	want_exact talk.data
	grep -q '^first$' err && grep -q '^second$' err || fail "what it printed is not in: $(cat err)"
}

test_pipe_is_whole() {
	"$EBPROF" record -o - -- "$WORKLOADS/workload" 1 2>err | cat >pipe.data
	[[ ${PIPESTATUS[0]} == 0 ]] || fail "status ${PIPESTATUS[0]}"
	want_whole pipe.data
	want_exact pipe.data
}

# What cannot be printed is said, be it much or little; a reader that leaves is no failure.
test_standard_output_is_full() {
	"$EBPROF" record -q -F 4999 -- "$WORKLOADS/workload" 0.3 >/dev/null
	for how in "report" "report --percent-limit 0 -g" "info" "info --json"; do
		# shellcheck disable=SC2086
		"$EBPROF" $how >/dev/full 2>err
		status=$?
		want_status 1 "$how to a full disk"
		grep -q 'No space left' err || fail "$how: $(cat err)"
	done
	(
		trap '' PIPE
		"$EBPROF" report 2>err
		echo $? >status.txt
	) | true
	[[ $(cat status.txt) == 0 && ! -s err ]] || fail "a reader that left: $(cat status.txt err)"
}

run_tests 2
