#!/bin/bash
# Threads that publish what they work at by OpenTelemetry's contexts, and change it with each call of a
# function: each sample has to have what its thread published just then.
# Beside others: what a sample says and where it was taken have to agree, however many there are.
. "$(dirname "$0")/prelude.bash"

# Each row of a sample in a work function: its half is that of the function, its span is of that
# half, and the last byte of its trace is a thread's number. Few have none: those from before the
# recorder had found where they are.
judge() { # HOW
	"$EBPROF" report --stdio --percent-limit 0 -s label:half,trace,span,sym x.data >rows || fail "$1: report fails"
	awk '$NF ~ /^work_(even|odd)$/ && $1 !~ /^#/ {
			half = substr($NF, 6); samples = $3
			if ($4 == "-" && $5 == "-" && $6 == "-") { without += samples; next }
			last = index("0123456789abcdef", substr($6, 16)) - 1
			right = $4 == half && $5 ~ /^ab0+[0-3]$/ && length($5) == 32 && $6 ~ /^cd00000000/ && length($6) == 16 && last % 2 == (half == "odd")
			if (right) good += samples; else { bad += samples; print }
			seen[substr($5, 32)] = 1
		}
		END { n = 0; for (i in seen) n++
			print good + 0, bad + 0, without + 0, n; exit !(good > 20 && !bad && n == 4 && without <= good) }' rows >verdict ||
		fail "$1: $(head -c 600 verdict)"
	want_exact x.data
}

record_contexts() { # SECONDS LIBRARY|-
	local program=$WORKLOADS/thread_context_own library=$2
	[[ $2 == - ]] || program=$WORKLOADS/thread_context library=$WORKLOADS/thread_context_$2.so
	run timeout -k 1 60 "$EBPROF" record -q -F 999 -o x.data -- "$program" "$1" 4 "$library"
	want_status 0 "record $2"
	judge "$2"
}

test_a_program_and_what_becomes_of_it() {
	record_contexts 1.5 -
	run "$EBPROF" report --stdio -s label:service.name,label:service.version x.data
	grep -qE ' shop +1\.2$' out || fail "no resource: $(cat out)"
	local trace=ab000000000000000000000000000002
	"$EBPROF" report --stdio --percent-limit 0 --trace ${trace^^} -s trace x.data >of_trace || fail "--trace fails"
	[[ $(grep -cE " $trace$" of_trace) == 1 && $(grep -cE '^ +[0-9.]+%' of_trace) == 1 ]] || fail "--trace: $(cat of_trace)"
	run "$EBPROF" report --stdio --trace 123 x.data
	want_status 2 "an ID that is none"
	"$EBPROF" record -q -o y.data -- "$WORKLOADS/workload" 0.2
	"$EBPROF" merge -o merged.data x.data y.data 2>err || fail "merge: $(cat err)"
	cp x.data archived.data && "$EBPROF" archive archived.data 2>err || fail "archive: $(cat err)"
	local file
	for file in merged archived; do
		"$EBPROF" report --stdio --trace $trace -s trace $file.data | grep -qE " $trace$" || fail "$file lacks it"
	done
	"$EBPROF" convert --otlp -o x.otlp x.data && "$EBPROF" convert --pprof -o x.pb.gz x.data 2>/dev/null
	gzip -dc x.pb.gz | grep -aq trace_id && gzip -dc x.pb.gz | grep -aq $trace || fail "pprof lacks it"
	! grep -aq trace_id x.otlp || fail "OTLP has an attribute beside the link"
	LC_ALL=C grep -aqP '\xab\x00{14}\x02' x.otlp || fail "OTLP has no link"
	"$EBPROF" convert --rows -o - x.data 2>/dev/null | grep -q "\"trace_id\":\"$trace\"" || fail "rows lack it"
}

test_libraries() {
	local library
	for library in desc gd ie; do
		record_contexts 1.2 $library
	done
}

# musl's loader takes no initial-exec of a library that is opened later.
test_musl() {
	command -v musl-gcc >/dev/null || skip "no musl-gcc here (musl-tools)"
	mkdir musl
	musl_program -DIN_PROGRAM -rdynamic -o musl/thread_context_own
	musl_program -o musl/thread_context
	musl_program -fPIC -shared -DIN_LIBRARY -mtls-dialect=gnu2 -o musl/thread_context_desc.so
	musl_program -fPIC -shared -DIN_LIBRARY -mtls-dialect=gnu -o musl/thread_context_gd.so
	local WORKLOADS=$PWD/musl library
	for library in - desc gd; do
		record_contexts 1.2 $library
	done
}

musl_program() { # OPTION...
	musl-gcc -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -pthread "$@" "$here/thread_context.c" 2>cc.err ||
		fail "musl-gcc: $(head -n 3 cc.err)"
}

# One that ran before has them with its first samples.
test_a_running_program() {
	"$WORKLOADS/thread_context_own" 30 4 - &
	local busy=$!
	sleep 1.3
	run "$EBPROF" record -q -F 999 -p $busy --duration 1 -o x.data
	kill $busy
	want_status 0 record
	judge running
}

test_records_that_lie() {
	run timeout -k 1 60 "$EBPROF" record -q -F 999 -o x.data -- "$WORKLOADS/thread_context_own" 1 2 - hostile
	want_status 0 "record"
	want_exact x.data
	"$EBPROF" report --stdio -s sym x.data | grep -q work_ || fail "no samples"
	((unread = $(field x.data labels_unread), unread > 0)) || fail "what cannot be read is not counted"
}

run_tests
