#!/bin/bash
# Labels of Go's goroutines: of a program of known shape each sample has to have those of the
# goroutine that ran, and together they have to be what the runtime's own profile says. So do functions.
# INTERPRETERS=PATH: the go that builds it, in more ways, instead of the one on the PATH.
. "$(dirname "$0")/prelude.bash"

HAS_SUITE=${INTERPRETERS:+yes}
: "${INTERPRETERS:=go}" "${SECONDS_RUN:=1}"

build() { # MORE FLAGS...: one of go_shape's two files of that name
	local more=$1
	shift
	mkdir source && cp "$here/go_shape/main.go" "$here/go_shape/$more.go" source
	build_source "$@"
}

build_source() { # FLAGS...
	command -v "$INTERPRETERS" >/dev/null || skip "no go here"
	HOME=$PWD GO111MODULE=off GOTOOLCHAIN=local GOFLAGS='' CGO_ENABLED=${CGO_ENABLED-0} \
		"$INTERPRETERS" build -o "$PWD/program" -ldflags="${LDFLAGS-}" "$@" "$PWD"/source/*.go \
		>go.log 2>&1 || skip "go build $*: $(tail -n 1 go.log)"
}

# Right for 99.8 % of the samples, and wrong for none: the program is known before its first one.
judge() { # [CREATOR]
	"$EBPROF" convert --json go.data >go.json 2>err || fail "convert: $(cat err)"
	"$here/judge_go_labels.py" go.json "$@" >verdict || fail "no verdict: $(cat verdict)"
	awk -v unknown="$(field go.data labels_unknown)" '{ right = $1; wrong = $3; missing = $5
			exit !(right > 50 && !wrong && missing <= 1 + unknown + 0.002 * (right + missing)) }' \
		verdict && [[ $(wc -l <verdict) == 1 ]] ||
		fail "labels: $(cat verdict), $(field go.data labels_unknown) before it was known"
}

labels() { # MORE FLAGS...
	command -v python3 >/dev/null || skip "no python3 here"
	build "$@"
	run "$EBPROF" record --label-sources go,goroutine,go-creator -o go.data -- ./program "$SECONDS_RUN"
	want_status 0 record
	judge creator
}

test_labels_stripped() { LDFLAGS='-s -w' labels no_more; }
test_labels_with_c_pie() { CGO_ENABLED=1 LDFLAGS='-s -w' labels more -buildmode=pie; }
if [[ $HAS_SUITE ]]; then
	test_labels_static() { labels no_more; }
	test_labels_pie() { LDFLAGS='-s -w' labels no_more -buildmode=pie; }
	test_labels_with_c() { CGO_ENABLED=1 labels more; }
fi

# A running program, by labels; what the report makes of them.
test_labels_of_a_running_program() {
	build no_more
	./program 60 </dev/null &
	local pid=$!
	sleep 0.3
	run "$EBPROF" record -p $pid --duration "$SECONDS_RUN" -o go.data
	kill $pid
	want_status 0 record
	judge
	run "$EBPROF" report --stdio -s label:fn,label:goroutine go.data
	grep -Eq ' First +[0-9]+$' out || fail "no row of First: $(cat out)"
	run "$EBPROF" report --stdio --label fn=First -s label:zone,sym go.data
	grep -Eq 'a zone whose name .* main\.(turn|spinFirst)' out || fail "filtered: $(cat out)"
	! grep -q spinMany out || fail "what is not First: $(cat out)"
	run "$EBPROF" convert --folded --by label:fn go.data
	grep -q '^fn=Many;.*main.spinMany' out || fail "no root: $(head out)"
	run "$EBPROF" info go.data
	grep -Eq '^labels +[0-9]+ sets of .*fn' out || fail "info: $(cat out)"
}

test_no_labels_where_none_are_wanted() {
	build no_more
	run "$EBPROF" record --label-sources none -o none.data -- ./program 0.5
	run "$EBPROF" record --no-vm go -o no_vm.data -- ./program 0.5
	local file
	for file in none.data no_vm.data; do
		run "$EBPROF" info "$file"
		! grep -q '^labels' out || fail "$file: $(cat out)"
	done
}

# The shares of labels are those of the profile that the runtime makes at the same time.
test_labels_as_the_runtime_has_them() {
	command -v python3 >/dev/null || skip "no python3 here"
	go tool pprof -h >/dev/null 2>&1
	(($? <= 2)) || skip "go tool pprof is not installed"
	build no_more
	run "$EBPROF" record -o go.data -- ./program $((4 * SECONDS_RUN)) own.pb.gz
	want_status 0 record
	"$EBPROF" convert --pprof -o ours.pb.gz go.data 2>err || fail "convert: $(cat err)"
	go tool pprof -tags own.pb.gz >own 2>/dev/null || fail "pprof: $(cat own)"
	go tool pprof -sample_index=cpu -tags ours.pb.gz >ours 2>err || fail "pprof: $(cat err)"
	"$here/compare_go_tags.py" own ours >result || fail "$(cat result)"
}

# Functions' shares are those of the profile that the runtime makes at the same time. Without preemption
# by signals: the runtime's own samples fall on the code of theirs, which come at the same time.
test_functions_as_the_runtime_has_them() {
	command -v python3 >/dev/null || skip "no python3 here"
	go tool pprof -h >/dev/null 2>&1
	(($? <= 2)) || skip "go tool pprof is not installed"
	local seconds=$((SECONDS_RUN * ${HAS_SUITE:+10*}4)) # 250 samples a second by a kernel of so many Hz
	mkdir source && cp "$here/go_functions/main.go" source
	build_source
	GODEBUG=asyncpreemptoff=1 run "$EBPROF" record -F 499 -o go.data -- ./program "$seconds" own.pb.gz
	want_status 0 record
	"$EBPROF" convert --pprof -o ours.pb.gz go.data 2>err || fail "convert: $(cat err)"
	go tool pprof -top -cum -nodefraction=0 own.pb.gz >own 2>/dev/null || fail "pprof: $(cat own)"
	go tool pprof -sample_index=cpu -top -cum -nodefraction=0 ours.pb.gz >ours 2>err || fail "pprof: $(cat err)"
	"$here/compare_go_functions.py" own ours >result 2>shares || fail "$(cat shares)"
	cat result shares
}

# Names as the runtime's own table has them, of each address that was sampled.
test_names_as_the_runtime_has_them() {
	command -v python3 >/dev/null || skip "no python3 here"
	local stripped
	for stripped in '' '-s -w'; do
		rm -rf source
		LDFLAGS=$stripped build no_more
		run "$EBPROF" record -F 1999 -o go.data -- ./program $((2 * SECONDS_RUN))
		want_status 0 record
		"$EBPROF" convert --json go.data >go.json 2>err || fail "convert: $(cat err)"
		HOME=$PWD GOTOOLCHAIN=local "$here/judge_go_names.py" go.json program "$INTERPRETERS" >verdict 2>&1 ||
			fail "no verdict: $(tail -n 1 verdict)"
		awk '{ exit !($1 > 1000 && !$3) }' verdict || fail "names${stripped:+ of a stripped program}: $(cat verdict)"
		cat verdict
	done
}

run_tests
