#!/bin/bash
# Files of other profilers read as recordings: perf's own shares and ours of one file are equal.
# Mostly waits: for the programs that perf records.
. "$(dirname "$0")/prelude.bash"

# perf may be there without being able to record: then, and where it dies, there is nothing to compare.
record_by_perf() { # FILE OPTION...
	command -v perf >/dev/null || skip "no perf here"
	perf record -q --no-bpf-event -F 997 -e cpu-clock -o "$1" "${@:2}" -- "$WORKLOADS/workload" 0.6 >/dev/null 2>perf.err ||
		skip "perf record: $(head -n 1 perf.err)"
}

# Rows "percent symbol" of those functions of the workload that have a share worth telling.
shares_of_perf() { # FILE
	perf report --stdio --no-children -g none --percent-limit 2 -i "$1" 2>/dev/null |
		awk '/^ +[0-9]/ && $3 == "workload" { print $1, $NF }' | sort
}

shares_of_ours() { # FILE OPTION...
	"$EBPROF" report --stdio --percent-limit 2 -s file,sym -i "$@" 2>/dev/null |
		awk '/^ +[0-9]/ && $4 == "workload" { print $1, $NF }' | sort
}

# To perf an inlined function is the one that it is in.
want_same_shares() { # FILE
	shares_of_perf "$1" >theirs
	[[ -s theirs ]] || skip "perf does not read what it recorded"
	shares_of_ours "$1" --no-inline >ours
	cmp -s theirs ours || fail "$1: perf has $(tr '\n' ' ' <theirs), we have $(tr '\n' ' ' <ours)"
	[[ $(wc -l <ours) -ge 3 ]] || fail "$1: $(cat ours)"
}

test_perf_data_has_perfs_shares() {
	record_by_perf fp.data --buildid-mmap -g
	want_same_shares fp.data
	run "$EBPROF" report --stdio -g -i fp.data
	want_status 0 report
	grep -q '| heavy$' out || fail "no call chains: $(cat out)"
	"$EBPROF" info -i fp.data >info 2>&1
	grep -q '^made from  *perf.data' info || fail "it does not say from what it was made: $(cat info)"
	grep -q '^lost  *0 of' info || fail "$(grep lost info)"
	# The same bytes by other ways in.
	"$EBPROF" report --stdio -i - <fp.data >piped 2>&1
	"$EBPROF" report --stdio -i fp.data >named 2>&1
	cmp -s piped named || fail "standard input shows something else"
	"$EBPROF" merge -q -o own.data fp.data || fail "merge"
	[[ $(field own.data samples) == $("$EBPROF" info --json fp.data | jq -r .samples) ]] || fail "merge lost samples"
}

test_perf_data_without_build_ids_is_named_by_inodes() {
	record_by_perf plain.data -B -g
	shares_of_ours plain.data >ours
	grep -q ' heavy$' ours || fail "no names: $(cat ours; "$EBPROF" report --stdio -i plain.data 2>&1 | head -n 5)"
	cp "$WORKLOADS/workload" copy
	perf record -q --no-bpf-event -F 997 -e cpu-clock -B -o copied.data -- ./copy 0.3 >/dev/null 2>&1
	touch copy
	"$EBPROF" report --stdio -i copied.data >out 2>err
	grep -q 'no build IDs\? in it' err || fail "a file that was changed is not told: $(cat err)"
	! grep -q ' heavy$' out || fail "names of another file"
}

test_perf_data_of_dwarf_is_unwound_here() {
	record_by_perf dwarf.data --buildid-mmap --call-graph dwarf,4096
	"$EBPROF" report --stdio -g -i dwarf.data >out 2>err || fail "$(cat err)"
	grep -q '_start$' out || fail "not unwound to the outermost function: $(head -n 12 out)"
	grep -q '| call_heavy$' out || fail "$(head -n 12 out)"
}

test_perf_data_of_pipes_and_compressed() {
	record_by_perf packed.data -B -g -z
	shares_of_ours packed.data >ours
	grep -q ' heavy$' ours || fail "compressed: $(cat ours)"
	perf record -q --no-bpf-event -F 997 -e cpu-clock -B -g -o - -- "$WORKLOADS/workload" 0.3 2>/dev/null >piped.data
	shares_of_ours piped.data >ours
	grep -q ' heavy$' ours || fail "of a pipe: $(cat ours)"
}

# jit_code's alpha() has three quarters of the time, beta() one. Of a map that was written since, nothing is known.
test_perf_maps_name_what_perf_recorded() {
	local pid map time
	command -v perf >/dev/null || skip "no perf here"
	perf record -q --no-bpf-event -F 997 -e cpu-clock -B -o map.data -- "$WORKLOADS/jit_code" map 0.6 >/dev/null 2>perf.err ||
		skip "perf record: $(head -n 1 perf.err)"
	"$EBPROF" report --stdio -i map.data >out 2>err || fail "$(cat err)"
	awk '/ alpha \(made here\)$/ { alpha = $1 + 0 } $NF == "beta" { beta = $1 + 0 }
		END { exit !(alpha > 65 && alpha < 85 && beta > 15 && beta < 35) }' out || fail "$(head -n 8 out)"
	! grep -q 'perf-PID.map' err || fail "$(cat err)"
	grep -q 'had several functions: the last' err || fail "what stood there before is not told: $(cat err)"
	perf record -q --no-bpf-event -F 997 -e cpu-clock -B -o pair.data -- "$WORKLOADS/jit_code" pair 0.6 >/dev/null 2>&1
	"$EBPROF" report --stdio -i pair.data >out 2>err || fail "$(cat err)"
	[[ $(grep -cE '(ours|theirs)$' out) == 2 ]] || fail "two processes with one address: $(head -n 8 out)"
	pid=$("$EBPROF" report --stdio -s pid -i map.data | awk '/^ +[0-9]/ { print $4; exit }')
	map=/tmp/perf-$pid.map
	for time in now '3 days ago'; do
		touch -d "$time" "$map"
		"$EBPROF" report --stdio -i map.data >out 2>err || fail "$(cat err)"
		! grep -q 'alpha (made here)$' out || fail "names of a map of $time, which is another process's"
		grep -q 'perf-PID.map are not here, changed since, or are older' err || fail "it is not said: $(cat err)"
	done
	for pid in $(for file in map.data pair.data; do "$EBPROF" report --stdio -s pid -i $file; done | awk '/^ +[0-9]/ { print $4 }'); do
		rm -f "/tmp/perf-$pid.map"
	done
}

test_perf_data_with_an_injected_jitdump() {
	command -v perf >/dev/null || skip "no perf here"
	perf record -q --no-bpf-event -k mono -F 997 -e cpu-clock -B -o dump.data -- "$WORKLOADS/jit_code" dump 0.6 >/dev/null 2>perf.err ||
		skip "perf record: $(head -n 1 perf.err)"
	perf inject -j -i dump.data -o injected.data 2>perf.err || skip "perf inject: $(head -n 1 perf.err)"
	"$EBPROF" report --stdio -i injected.data >out 2>err || fail "$(cat err)"
	awk '/ alpha \(made here\)$/ { alpha = $1 + 0 } $NF == "beta" { beta = $1 + 0 }
		END { exit !(alpha > 65 && alpha < 85 && beta > 15 && beta < 35) }' out || fail "$(head -n 8 out; ls | head -n 5)"
}

test_several_events_are_apart() {
	record_by_perf events.data -B -g -e page-faults
	"$EBPROF" report --stdio -i events.data >out 2>err || fail "$(cat err)"
	grep -q '^# also recorded: page-faults' out || fail "$(head -n 3 out)"
	"$EBPROF" report --stdio --event page-faults -i events.data >out 2>err || fail "$(cat err)"
	head -n 1 out | grep -q 'page-faults' || fail "$(head -n 1 out)"
}

test_damage_is_said_with_its_place() {
	record_by_perf whole.data -B -g
	head -c 30000 whole.data >cut.data
	run "$EBPROF" report --stdio -i cut.data
	grep -q 'it is cut at offset\|perf was stopped' err || fail "a cut file is not told: $(cat err)"
	head -c 50 whole.data >short.data
	run "$EBPROF" report --stdio -i short.data
	want_status 1 "half a header"
	grep -q 'short.data: perf.data: the file ends at 50, in its header' err || fail "$(cat err)"
	printf 'PERFILE2\20\0\0\0\0\0\0\0\11\0\0\0\0\0\2\0' >bad.data
	run "$EBPROF" report --stdio -i bad.data
	want_status 1 "a record of 2 bytes"
	grep -q 'offset 16' err || fail "$(cat err)"
}

test_folded_stacks_come_back() {
	printf 'main;parse<int>;lex 30\nmain;parse<int>;lex;read_[k] 20\nmain;run;inner_[i] 40\nmain;run 10\n' >a.folded
	run "$EBPROF" report --stdio -n -i a.folded
	want_status 0 report
	grep -q '^ *40.00% *40.00% *40 .* inner$' out || fail "$(cat out)"
	grep -q '^ *20.00% .*\[k\] read$' out || fail "$(cat out)"
	"$EBPROF" convert --folded -i a.folded -o - | sort >back
	sort a.folded | cmp -s - back || fail "$(cat back)"
	sed 's/ 10$/ 90/' a.folded >b.folded
	"$EBPROF" diff a.folded -- b.folded >out 2>err
	grep -q 'run ' out || fail "diff: $(cat out err)"
	for format in pprof speedscope html json; do
		"$EBPROF" convert --$format -i a.folded -o "to.$format" 2>err || fail "$format: $(cat err)"
	done
	run "$EBPROF" archive a.folded
	want_status 2 "archive of what is no recording"
	grep -q 'ebprof merge' err || fail "no remedy: $(cat err)"
}

# Its own format back, and a program's of Go, whose pprof sums up the same.
test_pprof_profiles() {
	record_by_perf fp.data --buildid-mmap -g
	"$EBPROF" convert --pprof -i fp.data -o fp.pb.gz 2>err || fail "convert: $(cat err)"
	shares_of_ours fp.data >ours
	shares_of_ours fp.pb.gz >back
	cmp -s ours back || fail "$(cat ours) became $(cat back)"
	gzip -dc fp.pb.gz >fp.pb
	shares_of_ours fp.pb | cmp -s ours - || fail "uncompressed it is something else"
	"$EBPROF" diff fp.pb.gz -- fp.pb >out 2>&1
	grep -q 'heavy' out || fail "diff: $(cat out)"
	head -c 600 fp.pb.gz >cut.pb.gz
	run "$EBPROF" info -i cut.pb.gz
	want_status 1 "a profile that is cut"
	grep -q 'cut.pb.gz: pprof profile: .*offset' err || fail "$(cat err)"
	command -v go >/dev/null || return 0
	go tool pprof -top fp.pb.gz 2>/dev/null | awk '$1 ~ /s$/ && $2 ~ /%/ && $6 ~ /^(heavy|medium|light)$/ { print $2, $6 }' | sort >theirs
	cmp -s theirs ours || fail "pprof has $(tr '\n' ' ' <theirs), we have $(tr '\n' ' ' <ours)"
}

# What perf shows of ours, names and call chains, and what comes back.
test_perf_reads_what_convert_writes() {
	command -v perf >/dev/null || skip "no perf here"
	"$EBPROF" record -q -F 997 -o own.data -- "$WORKLOADS/workload" 0.6 >/dev/null 2>&1 || fail "record"
	"$EBPROF" convert --perf-data -i own.data -o own.perf.data 2>err || fail "convert: $(cat err)"
	want_same_shares own.perf.data
	shares_of_ours own.data --no-inline | cmp -s ours - || fail "the recording has other shares"
	perf report --stdio --no-children -G -i own.perf.data 2>/dev/null >chains
	tr -d '\n' <chains | tr -s ' ' | grep -q 'main work call_heavy heavy' || fail "call chains: $(head -n 30 chains)"
	perf script -F comm,tid,time,event,ip,sym -i own.perf.data 2>/dev/null >script
	[[ $(grep -c 'cpu-clock' script) == $(field own.data samples) ]] ||
		fail "perf script has $(grep -c cpu-clock script) of $(field own.data samples) samples"
	perf buildid-list -i own.perf.data 2>/dev/null | grep -q '/workload$' || fail "no build IDs"
	perf report --header-only -i own.perf.data 2>/dev/null | grep -q '^# cmdline : ebprof record -- .*/workload *$' ||
		fail "no command: $(perf report --header-only -i own.perf.data 2>&1 | grep cmdline)"
	[[ $("$EBPROF" info --json own.perf.data | jq -r '.meta["command.name"]') == "$WORKLOADS/workload" ]] || fail "the command does not come back"
	for data in own.data own.perf.data; do
		"$EBPROF" report --stdio -g -i $data 2>/dev/null | grep -v '^#' >tree.$data
	done
	cmp -s tree.own.data tree.own.perf.data || fail "it comes back as another: $(diff tree.own.data tree.own.perf.data | head -n 5)"
}

test_functions_of_the_vdso_have_names() {
	"$EBPROF" record -q -F 997 -o own.data -- "$WORKLOADS/unwind_shapes" vdso 0.4 >/dev/null 2>&1 || fail "record"
	"$EBPROF" convert --perf-data -i own.data -o own.perf.data 2>err || fail "convert: $(cat err)"
	"$EBPROF" report --stdio -i own.perf.data >table 2>err || fail "report: $(cat err)"
	grep -q '\[vdso\] *\[.\] clock_gettime$' table || fail "none is named: $(grep vdso table)"
	! grep -F '[vdso]+0x' table || fail "addresses: $(grep -F '[vdso]+' table)"
}

run_tests 2
