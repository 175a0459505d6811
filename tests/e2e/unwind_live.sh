#!/bin/bash
# Threads of running programs, stopped at random and unwound by the tables of their files:
# their stacks are complete.
. "$(dirname "$0")/prelude.bash"

oracle=$(dirname "$WORKLOADS")/oracle/unwind_live

# A goroutine that is moved or stopped meanwhile, a thread that is just being made: 1 in 100.
unwind_live() { # COMMAND...
	[[ -x $oracle ]] || skip "built without libdw-dev"
	"$@" >/dev/null 2>&1 &
	local pid=$!
	sleep 0.3
	"$oracle" "$pid" 150 >out 2>&1
	kill "$pid"
	wait "$pid" 2>/dev/null
	local complete all
	complete=$(sed -n 's/^complete \([0-9]*\),.*/\1/p' out)
	all=$(grep '^complete' out | grep -o '[0-9]\+' | head -n 6 | awk '{ n += $1 } END { print n }')
	((all >= 100)) || skip "ptrace is not allowed, or the program ended: $(tail -n 1 out)"
	((complete * 100 >= all * 99)) || fail "$(tail -n 1 out)"
}

build_go() { # OUTPUT FLAGS...
	command -v go >/dev/null || skip "no go here"
	cat >main.go <<'GO'
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
)

type node struct{ left, right *node }

//go:noinline
func tree(n int) *node {
	if n == 0 {
		return &node{}
	}
	return &node{tree(n - 1), tree(n - 1)}
}

//go:noinline
func deep(n int) int {
	var big [32]int
	if n == 0 {
		return len(fmt.Sprint(big[0]))
	}
	big[n%32] = deep(n - 1)
	return big[n%32] + 1
}

func main() {
	if len(os.Args) > 1 { // SIGPROF interrupts it all the time
		runtime.SetCPUProfileRate(500)
		pprof.StartCPUProfile(io.Discard)
	}
	for i := 0; i < 3; i++ {
		go func() {
			for {
				deep(150)
				tree(8)
				runtime.Gosched()
			}
		}()
	}
	select {}
}
GO
	local output=$1
	shift
	HOME=$PWD GO111MODULE=off GOFLAGS='' go build -o "$output" "$@" main.go >go.log 2>&1 ||
		skip "go build $*: $(tail -n 1 go.log)"
}

test_c() { unwind_live "$WORKLOADS/workload" 60; }
test_shell() { unwind_live bash -c 'while :; do x=$((x + 1)); done'; }
test_python() {
	command -v python3 >/dev/null || skip "no python3 here"
	unwind_live python3 -c 'while True: sorted(str(i) for i in range(1000))'
}
test_go() { build_go program && unwind_live ./program; }
test_go_stripped() { build_go program -ldflags=-s && unwind_live ./program; }
test_go_pie() { build_go program -buildmode=pie && unwind_live ./program; }
test_go_signals() { build_go program && unwind_live ./program profile; }
test_go_and_c() {
	command -v go >/dev/null || skip "no go here"
	cat >main.go <<'GO'
package main

/*
extern int goCallback(int);
static int spin(int n) { volatile int s = 0; for (int i = 0; i < n; i++) s += i; return s; }
static int viaC(int n) { return goCallback(n) + spin(20000); }
*/
import "C"

//export goCallback
func goCallback(n C.int) C.int {
	if n <= 0 {
		return burn(30000)
	}
	return C.viaC(n - 1)
}

//go:noinline
func burn(n int) C.int {
	s := 0
	for i := 0; i < n; i++ {
		s += i * i
	}
	return C.int(s)
}

func main() {
	for {
		C.viaC(3)
	}
}
GO
	HOME=$PWD GO111MODULE=off GOFLAGS='' go build -o program main.go >go.log 2>&1 ||
		skip "no cgo: $(tail -n 1 go.log)"
	unwind_live ./program
}

run_tests
