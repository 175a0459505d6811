#!/bin/bash
# Recordings without an end: files that follow each other in a folder, and what is removed of it.
# Mostly waits: and what else the machine does changes nothing here.
# shellcheck disable=SC2034
. "$(dirname "$0")/prelude.bash"

# Every file of a ring is whole and balanced; the sum of their samples is in $samples.
want_ring() { # DIR
	local file
	samples=0
	for file in "$1"/ebprof-*.data; do
		want_whole "$file"
		want_exact "$file"
		samples=$((samples + $(field "$file" samples)))
	done
}

has_files() { # DIR COUNT
	(($(find "$1" -name 'ebprof-*' | wc -l) >= $2))
}

ring_bytes() { find "$1" -name 'ebprof-*' -printf '%s\n' | awk '{ sum += $1 } END { print sum + 0 }'; }

# The BPF programs, maps and timers that a process holds: numbers of the kernel's.
loaded_by() { # PID
	cat /proc/"$1"/fdinfo/* 2>/dev/null | grep -E '^(prog_id|map_id)' | sort -u
}

begin_ring() { # RECORD_OPTIONS...
	"$EBPROF" record -a -F 499 --ring ring "$@" 2>err &
	recorder=$!
	wait_ready err
}

end_ring() { # SIGNAL
	kill "-$1" "$recorder"
	wait "$recorder"
	status=$?
}

# What is loaded and known stays: the second file has as whole stacks as the last one, by the same
# programs and tables.
test_files_follow_each_other() {
	"$WORKLOADS/workload" 1000 &
	mkdir ring
	echo mine >ring/notes.txt
	begin_ring --keep 100M,1h --switch 0.5s
	wait_until "a second file" has_files ring 2
	loaded_by "$recorder" >before
	wait_until "a fifth file" has_files ring 5
	loaded_by "$recorder" >after
	end_ring INT
	want_status 0 record
	# More may come, for files that are new; none goes.
	[[ -z $(comm -23 before after) ]] || fail "programs or maps were loaded anew"
	[[ -s before ]] || fail "no programs are seen"
	[[ $(cat ring/notes.txt) == mine ]] || fail "a file of ours is gone"
	! find ring -name 'ebprof-*Z.data' | grep -q . || fail "a file has no end: $(ls ring)"
	want_ring ring
	grep -qE "^ebprof: .*$(sed -E ':a; s/([0-9])([0-9]{3})($| )/\1 \2\3/; ta' <<<"$samples") samples" err ||
		fail "the files have $samples samples: $(cat err)"
	# Until the next full minutes is until now.
	local since until all
	since=$(date -d '5 minutes ago' +%H:%M) until=$(date -d '5 minutes' +%H:%M) all=$("$EBPROF" report --stdio --ring ring 2>/dev/null | head -n 1)
	[[ $("$EBPROF" report --stdio --ring ring --since "$since" --until "$until" 2>&1 | head -n 1) == "$all" ]] ||
		fail "--since $since --until $until has not $all"
	[[ $("$EBPROF" report --stdio --ring ring --until "$until" 2>&1 | head -n 1) == "$all" ]] || fail "--until $until has not $all"
	"$EBPROF" report --stdio --ring ring --since "$until" --until "$since" >out 2>&1 && fail "yesterday's are there: $(head -n 1 out)"
	grep -q 'has nothing of that time, but from' out || fail "$(cat out)"
}

# An ended file is renamed, so the newest of them covers the time that the one before does not.
test_killed_recorder_leaves_files() {
	"$WORKLOADS/workload" 1000 &
	begin_ring --keep 100M --switch 0.7s
	wait_until "a third file" has_files ring 3
	sleep 0.8
	end_ring KILL
	local file cut=(ring/*Z.data)
	[[ -e ${cut[0]} && ${#cut[@]} == 1 ]] || fail "not one file was cut: $(ls ring)"
	for file in ring/*; do
		want_readable "$file"
		want_exact "$file"
	done
	begin_ring --keep 100M --switch 1m
	! [[ -e ${cut[0]} ]] || fail "the next recorder leaves it without an end"
	end_ring INT
	want_status 0 "the next recorder"
	has_files ring 4 || fail "files are gone: $(ls ring)"
}

test_one_recorder_a_ring() {
	begin_ring --keep 100M
	run "$EBPROF" record -a --ring ring --duration 1
	want_status 125 "a second recorder"
	grep -q 'ring: another ebprof record writes there' err || fail "$(cat err)"
	run "$EBPROF" record -a --ring other --duration 0.2
	want_status 0 "a recorder in another folder"
	end_ring TERM
	want_status 143 "the first one"
}

# Never more bytes than that, though the current file is among them; and what is old goes.
test_oldest_are_removed() {
	"$WORKLOADS/workload" 1000 &
	local i
	begin_ring --keep 100M,2s --switch 0.3s
	wait_until "some files" has_files ring 5
	sleep 1
	has_files ring 12 && fail "nothing is removed: $(ls ring)"
	end_ring INT
	want_ring ring
	"$EBPROF" record -a -e sched:sched_switch -c 1 --ring small --keep 4M --switch 1h 2>err &
	recorder=$!
	wait_ready err
	while :; do echo; done | cat >/dev/null &
	for ((i = 0; i < 150; i++)); do
		(($(ring_bytes small) <= 4 << 20)) || fail "$(ring_bytes small) bytes: $(ls -l small)"
		sleep 0.02
	done
	end_ring INT
	want_ring small
}

# A disk that is full: the oldest make room, and recording goes on.
test_disk_full_in_ring() {
	mkdir mnt
	mount -t tmpfs -o size=400k tmpfs mnt || skip "cannot mount a tmpfs"
	seq 100000 | xargs -n1 -P2 /bin/true &
	"$EBPROF" record -a -F 4999 --ring mnt/ring --keep 1G --switch 0.7s --duration 5 2>err
	status=$?
	want_status 0 "a full disk"
	grep -q 'the disk was full: [0-9]* files\? .* removed before' err || fail "$(cat err)"
	want_ring mnt/ring
}

# All that can be freed is not enough.
test_disk_of_others_is_full() {
	mkdir mnt
	mount -t tmpfs -o size=300k tmpfs mnt || skip "cannot mount a tmpfs"
	"$EBPROF" record -a -F 999 --ring mnt/ring --keep 1G --switch 0.5s --duration 30 2>err &
	recorder=$!
	wait_ready err
	wait_until "a second file" has_files mnt/ring 2
	while [[ -e /proc/$recorder/exe ]]; do cat /dev/zero; done >mnt/filler 2>/dev/null
	wait "$recorder"
	status=$?
	want_status 125 "a disk that stays full"
	grep -q 'No space left' err || fail "$(cat err)"
	local file
	for file in mnt/ring/*; do
		want_readable "$file"
		want_exact "$file"
	done
}

rss_kib() { awk '$1 == "VmRSS:" { print $2 }' /proc/"$1"/status; } # PID

# SWITCHES=1440 (make check-soak): a day of files of a minute; SWITCH_MS=2500 makes that an hour. Neither
# memory nor descriptors grow by it, and the files have every sample. What others do on the machine grows
# a recorder's memory, too: one beside it that writes a single file tells by how much.
test_switches_without_growth() {
	local switches=${SWITCHES:-60} every_ms=${SWITCH_MS:-100} fds kib beside_kib beside
	patience_s=$((60 + switches + switches * every_ms / 1000))
	"$EBPROF" record -a -F 499 -o whole.data 2>beside.err &
	beside=$!
	wait_ready beside.err
	begin_ring --keep 1G --switch "$(awk -v ms="$every_ms" 'BEGIN { print ms / 1000 }')s"
	wait_until "a third of the files" has_files ring $((switches / 3))
	fds=$(find /proc/"$recorder"/fd -type l | wc -l)
	kib=$(rss_kib "$recorder") beside_kib=$(rss_kib "$beside")
	wait_until "$switches files" has_files ring "$switches"
	fds=$(($(find /proc/"$recorder"/fd -type l | wc -l) - fds))
	kib=$(($(rss_kib "$recorder") - kib)) beside_kib=$(($(rss_kib "$beside") - beside_kib))
	kill -INT "$beside"
	end_ring INT
	want_status 0 record
	echo "$switches switches: $fds descriptors, $kib KiB more, $beside_kib KiB without switches"
	((fds <= 20)) || fail "$fds descriptors more"
	((kib <= beside_kib + 16384)) || fail "$kib KiB more, and $beside_kib without switches"
	"$EBPROF" info --json --ring ring >all.json 2>info.err || fail "info: $(cat info.err)"
	samples=$(grep -oE '"samples": [0-9]+' all.json | head -n 1 | grep -oE '[0-9]+$')
	[[ $(tr -d ' ' <err) == *":${samples}samples,"* ]] || fail "the files have $samples samples: $(cat err)"
}

test_hangup_begins_a_file() {
	begin_ring --keep 100M --switch 1h
	kill -HUP "$recorder"
	wait_until "a second file" has_files ring 2
	end_ring INT
	want_status 0 record
	want_ring ring
}

# ---- reading spans of it ----

samples_of() { # INFO_OPTION...
	"$EBPROF" info --json "$@" 2>/dev/null >span.json || fail "info $*"
	grep -oE '"samples": [0-9]+' span.json | head -n 1 | grep -oE '[0-9]+'
}

# A ring of six files or more, of $began and later.
shared_ring() {
	"$WORKLOADS/workload" 1000 &
	begin_ring --keep 100M --switch 0.5s
	began=$(date +%s.%N)
	wait_until "six files" has_files ring 6
}

test_spans_add_up() {
	local cut all
	shared_ring
	end_ring INT
	want_ring ring
	all=$(samples_of --ring ring)
	[[ $all == "$samples" ]] || fail "the ring has $all samples, its files $samples"
	for cut in 0.3 0.9 1.4; do
		cut=@$(awk -v at="$began" -v more=$cut 'BEGIN { printf "%.3f", at + more }')
		local before behind
		before=$(samples_of --ring ring --until "$cut")
		want_whole_span
		behind=$(samples_of --ring ring --since "$cut")
		want_whole_span
		((before > 0 && behind > 0 && before + behind == all)) ||
			fail "$before before $cut, $behind behind it, $all in all"
	done
	"$EBPROF" merge --ring ring --since "$cut" -o later.data 2>err || fail "merge: $(cat err)"
	want_whole later.data
	want_exact later.data
	[[ $(field later.data samples) == "$behind" ]] || fail "merge has $(field later.data samples)"
	"$EBPROF" convert --ring ring --since "$cut" --folded >folded 2>err || fail "convert: $(cat err)"
	[[ $(awk '{ sum += $NF } END { print sum }' folded) == "$behind" ]] || fail "convert has others"
	"$EBPROF" report --ring ring --stdio -s pid 2>err >table || fail "report: $(cat err)"
	[[ $(awk '/^ +[0-9.]+%/ { print $NF }' table | sort | uniq -d) == '' ]] || fail "a process comes twice: $(cat table)"
}

# In span.json.
want_whole_span() {
	grep -q '"damage": ""' span.json || fail "damaged: $(grep '"damage"' span.json)"
}

test_only_files_of_the_span_are_read() {
	command -v strace >/dev/null || skip "no strace here"
	shared_ring
	strace -f -o trace -e trace=openat "$EBPROF" info --ring ring --since 0.2s >/dev/null 2>err ||
		fail "info: $(cat err)"
	local opened
	opened=$(grep -cE '"(ring/)?ebprof-[^"]*"' trace)
	((opened >= 1 && opened <= 3)) || fail "$opened files were opened: $(ls ring)"
	end_ring INT
}

# The file that is being written is no damage; times that are not there are named.
test_ring_is_read_while_it_is_written() {
	shared_ring
	run "$EBPROF" report --ring ring --since 2s --stdio
	want_status 0 report
	[[ ! -s err ]] || fail "$(cat err)"
	grep -q 'workload' out || fail "$(head out)"
	run "$EBPROF" diff --ring ring "@$began..0.8s" 0.8s..
	want_status 0 diff
	grep -q '^before ring from' out || fail "$(head out)"
	run "$EBPROF" diff --ring ring "@$began..2s" 2s..1.5s -- 1.5s..1s 1s..
	want_status 0 "diff of runs"
	grep -qE '^before .* 2 runs' out || fail "$(head out)"
	run "$EBPROF" report --ring ring --since 3h --until 2h --stdio
	want_status 2 "another time"
	grep -q 'ring has nothing of that time, but from 20' err || fail "$(cat err)"
	end_ring INT
}

test_span_refusals() {
	mkdir empty
	local words
	while read -r words; do
		# shellcheck disable=SC2086
		run "$EBPROF" $words
		[[ $status == [12] ]] || fail "$words: status $status"
		[[ $(wc -l <err) == 1 ]] || fail "$words: $(cat err)"
	done <<-'END'
		info --ring empty
		info --ring nowhere
		info --ring empty x.data
		info --since 14:05
		info --ring empty --since 25:00
		info --ring empty --since 14:05x
		info --ring empty --since 2026-13-01
		info --ring empty --since 30m --until 1h
		info --ring empty --since 5
		merge --ring empty -o x.data --force
		merge --ring empty
		merge --since 14:05 -o x.data
		diff --ring empty
		diff --ring empty 14:05 14:06
	END
	[[ ! -e x.data ]] || fail "something was written"
}

# By the local clock, and by others.
test_moments() {
	local words want
	mkdir ring
	cp "$here/../golden/recordings/format_1_0.data" ring/ebprof-20261126T140500.000Z+60.000.data
	while read -r words; do
		# shellcheck disable=SC2086
		TZ=Europe/Berlin run "$EBPROF" info --ring ring $words
		[[ $(head -n 1 err) != *'nothing of that time'* ]] || fail "$words: $(cat err)"
	done <<-'END'
		--since 2026-11-26T15:05 --until 2026-11-26T15:06
		--since 2026-11-26T14:05Z --until 2026-11-26T14:05:30.5Z
		--since @1795701900 --until @1795701901
		--since 2026-11-26T00:00Z --until 2026-11-27
	END
	TZ=Europe/Berlin run "$EBPROF" info --ring ring --since 2026-11-26T14:00 --until 2026-11-26T15:04
	grep -q 'nothing of that time, but from 2026-11-26 15:05:00 to 2026-11-26 15:06:00' err || fail "$(cat err)"
}

test_ring_refusals() {
	local words
	while read -r words; do
		# shellcheck disable=SC2086
		run "$EBPROF" record -a --duration 0.1 $words
		want_status 125 "$words"
		grep -qE 'exclude|go(es)? with|is no|less than' err || fail "$words: $(cat err)"
	done <<-'END'
		--keep 1G
		--ring r -o x.data
		--ring r --max-size 1G
		--ring r --archive
		--ring r --keep 1M
		--ring r --keep 1x
		--ring r --keep 2G,0.5s
	END
	touch file
	run "$EBPROF" record -a --ring file --duration 0.1
	want_status 125 "a file as a folder"
	[[ ! -e r && ! -e x.data ]] || fail "something was written"
}

# Until there is something of the process to be recorded.
wait_more_cpu() { # PID
	wait_until "CPU time" has_cpu_ms "$1" $(($(cpu_ms_of "$1") + 200))
}

# Another recorder takes the ring over: every sample stands once, and little time is missing.
test_ring_is_taken_over() {
	"$WORKLOADS/workload" 1000 &
	local busy=$!
	"$EBPROF" record -a -F 997 --ring ring --switch 1h 2>first.err &
	local first=$!
	wait_ready first.err
	wait_more_cpu $busy
	"$EBPROF" record -a -F 997 --ring ring --switch 1h --take-over 2>second.err &
	local second=$!
	wait_ready second.err
	wait $first
	status=$?
	want_status 143 "the first one"
	wait_more_cpu $busy
	run "$EBPROF" record -a --ring ring --duration 0.1
	want_status 125 "a third one"
	kill -INT $second
	wait $second
	status=$?
	want_status 0 "the second one"
	kill $busy
	wait $busy 2>/dev/null
	local files=(ring/ebprof-*+*.data) file
	[[ ${#files[@]} == 2 ]] || fail "files: ${files[*]}"
	for file in "${files[@]}"; do
		want_exact "$file"
		"$EBPROF" convert --perf-script --pid $busy "$file" 2>/dev/null |
			grep -oE '[0-9]+\.[0-9]{6}: ' | tr -d ': ' | sort -n | sed -n '1p;$p'
	done >moments
	awk 'NR == 2 { end = $1 } NR == 3 { gap = $1 - end } END { print gap; exit !(NR == 4 && gap > -0.01 && gap < 2) }' moments >gap ||
		fail "between the files: $(cat gap) s, of $(tr '\n' ' ' <moments)"
	run "$EBPROF" record -a --ring other --take-over --duration 0.2
	want_status 0 "nobody is there"
	run "$EBPROF" record -a --take-over --duration 0.1
	want_status 125 "no ring"
}

run_tests 2
