#!/bin/bash
# Go programs: what we read from their own tables against what Go's runtime says of itself, and
# what the report makes of it, also where nothing but these tables is left in the file.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

SYMBOLS=$(realpath -m "$WORKLOADS/../oracle/symbols")
COUNT=20000

build() { # OUTPUT FOLDER FLAGS...
	command -v go >/dev/null || skip "no go here"
	local output=$1 folder=$2 minor extra=
	shift 2
	# From 1.23 on the linker refuses to let a program call the runtime's own functions.
	minor=$(go version | sed -E 's/.*go1\.([0-9]+).*/\1/')
	((minor < 23)) || extra=-checklinkname=0
	(cd "$folder" && HOME=$PWD GO111MODULE=off GOFLAGS='' go build -o "$output" "$@" \
		-ldflags="$extra ${LDFLAGS-}" .) >go.log 2>&1 || skip "go build $*: $(tail -n 1 go.log)"
}

# ---- each address as the runtime names it ----

frames() { # FLAGS...
	command -v python3 >/dev/null || skip "no python3 here"
	[[ -x $SYMBOLS ]] || skip "$SYMBOLS is not built"
	mkdir frames && cp "$here"/../oracle/go_frames/* frames
	build "$PWD/program" frames "$@"
	"$SYMBOLS" program random $COUNT 7 | sort -u >drawn || fail "no addresses"
	READER=go "$SYMBOLS" program <drawn >ours 2>err || fail "$(cat err)"
	./program <drawn >theirs 2>err || fail "the program: $(head -n 1 err)"
	"$here/../oracle/compare_go.py" ours theirs >result.txt ||
		fail "$(head -n 2 result.txt; tail -n 1 result.txt)"
}

test_frames() { frames; }
test_frames_stripped() { LDFLAGS='-s -w' frames; }
# Go comes without its library compiled for these: then with little of that.
test_frames_pie() { LDFLAGS=-s frames -tags few -buildmode=pie; }
test_frames_linked_by_c() { LDFLAGS='-s -linkmode=external' frames; }
test_frames_pie_linked_by_c() { LDFLAGS='-s -linkmode=external' frames -tags few -buildmode=pie; }
test_frames_nothing_inlined() { frames -tags few -gcflags=all=-l; }

# ---- the report ----

# outer() calls middle(), which calls inner(), which burns; the compiler inlines the latter two.
write_program() { # FOLDER
	mkdir "$1" && cat >"$1/main.go" <<'GO'
package main

import (
	"os"
	"syscall"
)

var sink uint32

func inner(x uint32) uint32 { // line 10
	return x*1664525 + 1013904223
}

func middle(x uint32) uint32 {
	return inner(x) ^ x
}

//go:noinline
func outer(x uint32) uint32 {
	for i := 0; i < 1000; i++ {
		x = middle(x) // line 21
	}
	return x
}

func main() {
	for cpuNs() < 1e9 {
		sink = outer(sink)
	}
	if sink == 7 {
		os.Exit(1)
	}
}

func cpuNs() int64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return used.Utime.Nano()
}
GO
}

record() {
	run "$EBPROF" record -o go.data -- ./program
	want_status 0 record
	run "$EBPROF" report --stdio -g --percent-limit 1 -i go.data
	want_status 0 report
	cp out tree
}

# The chain main.main, outer, middle, inner, each below the one before.
want_chain() {
	awk '/\| main\.outer$/ { outer = NR } /\| \| main\.middle$/ && outer { middle = NR }
		/\| \| \| main\.inner$/ && middle { found = 1 } END { exit !found }' tree ||
		fail "no chain of inlined functions: $(cat tree)"
	! grep -qE 'program(\+0x| fn_)' tree || fail "a function has no name: $(grep 'program+0x' tree)"
}

want_lines() {
	go tool pprof -h >/dev/null 2>&1
	(($? <= 2)) || skip "go tool pprof is not installed"
	"$EBPROF" convert --pprof -i go.data -o go.pb.gz 2>err || fail "convert: $(cat err)"
	go tool pprof -lines -top go.pb.gz >lines 2>err || fail "pprof: $(cat err)"
	grep -Eq ' main\.inner .*/main\.go:11' lines || fail "inner has no line: $(cat lines)"
	grep -Eq ' main\.outer .*/main\.go:(20|21)' lines || fail "outer has no line: $(cat lines)"
}

report() { # FLAGS...
	write_program source
	build "$PWD/program" source "$@"
	record
	want_chain
	want_lines
}

test_report() { report; }
test_report_stripped() { LDFLAGS='-s -w' report; }
test_report_pie_stripped() { LDFLAGS='-s -w' report -buildmode=pie; }

# C in a Go program has lines by DWARF, Go beside it by its own tables.
test_report_go_and_c() {
	mkdir source && cat >source/main.go <<'GO'
package main

/*
#cgo CFLAGS: -O2 -g
static inline unsigned scale(unsigned x, int n)
{
	for (int i = 0; i < n; i++)
		x = (x * 1664525u + 1013904223u) ^ (x >> 3);
	return x;
}
static __attribute__((noinline)) unsigned burn(unsigned x, int n) { return scale(x, n) + 1; }
*/
import "C"
import "syscall"

func main() {
	x := C.uint(1)
	for used := (syscall.Rusage{}); used.Utime.Nano() < 1e9; syscall.Getrusage(syscall.RUSAGE_SELF, &used) {
		x = C.burn(x, 1000000)
	}
	if x == 7 {
		panic(x)
	}
}
GO
	build "$PWD/program" source
	record
	grep -q '| burn$' tree || fail "no C function: $(cat tree)"
	awk '/\| burn$/ { burn = NR } /\| scale$/ && burn { found = 1 } END { exit !found }' tree ||
		fail "what was inlined into C is missing: $(cat tree)"
	grep -Eq '\| main\.main$' tree || fail "no Go function: $(cat tree)"
}

# Of GCC's functions .cold is a part, of Go's a name.
test_a_function_called_cold_is_compared() {
	mkdir source && cat >source/main.go <<'GO'
package main

//go:noinline
func cold(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += i*i ^ sum
	}
	return sum
}

func main() {
	for i := 0; i < 30; i++ {
		cold(10000000)
	}
}
GO
	build "$PWD/program" source
	local run
	for run in 1 2; do
		"$EBPROF" record -o $run.data -- ./program 2>err || fail "record: $(cat err)"
	done
	run "$EBPROF" diff 1.data 2.data
	grep -qE ' main\.cold  main\.go:[4-8]$' out || fail "$(cat out err)"
}

# None of them is a thread's wait, which is said.
test_goroutines_that_wait() {
	command -v go >/dev/null || skip "no go here"
	cat >waiting.go <<-'END'
		package main

		import "time"

		func main() {
			never := make(chan int)
			for i := 0; i < 5; i++ {
				go func() { <-never }()
			}
			time.Sleep(500 * time.Millisecond)
		}
	END
	GO111MODULE=off GOCACHE=$PWD/cache go build -o waiting waiting.go || skip "go cannot build here"
	run "$EBPROF" record -q -e offcpu -o waits.data -- ./waiting
	want_status 0 record
	"$EBPROF" report --stdio waits.data >report 2>&1
	grep -q '^# not among these: waits of goroutines' report || fail "it is not said: $(cat report)"
}

# Each goroutine's call is short of stack, and begins anew when it has some.
test_probes_are_hit_once_a_call() {
	mkdir source && cat >source/main.go <<'GO'
package main

import "sync"

//go:noinline
func worker(n int) int {
	var some [700]int
	for i := range some {
		some[i] = n * i
	}
	return some[n%700]
}

func main() {
	var group sync.WaitGroup
	for i := 0; i < 1000; i++ {
		i := i
		group.Add(1)
		go func() {
			worker(i)
			group.Done()
		}()
	}
	group.Wait()
}
GO
	build "$PWD/program" source
	local place
	for place in main.worker main.go:11; do
		"$EBPROF" record -e "uprobe:./program:$place" -o calls.data -- ./program 2>err || fail "record: $(cat err)"
		"$EBPROF" convert --folded -o calls calls.data 2>err || fail "convert: $(cat err)"
		awk '!/;main\.main\.func1;main\.worker [0-9]+$/ { exit 1 } { n += $NF } END { exit n != 1000 }' calls ||
			fail "$place: 1000 calls are: $(cat calls)"
	done
}

run_tests
