// A program of known shape for tests of labels: goroutines that burn in functions of their own,
// spinNAME(), with the label fn=NAME, or with none. Takes the seconds to run, and a file for the
// profile that the runtime itself makes of it.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"
)

var sinks [8]uint32

func turn(x uint32, n int) uint32 {
	for i := 0; i < n; i++ {
		x = (x*1664525 + 1013904223) ^ x>>3
	}
	return x
}

//go:noinline
func spinPlain(x uint32) uint32 { return turn(x, 100000) }

//go:noinline
func spinFirst(x uint32) uint32 { return turn(x, 100000) }

//go:noinline
func spinMany(x uint32) uint32 { return turn(x, 70000) }

//go:noinline
func spinStep(x uint32) uint32 { return turn(x, 60000) }

//go:noinline
func spinAllocates(x uint32) uint32 {
	for i := 0; i < 100; i++ {
		x += uint32(len(strings.Repeat("x", int(x%64)+1000)))
	}
	return turn(x, 10000)
}

//go:noinline
func spinCalls(x uint32) uint32 {
	for i := 0; i < 50; i++ {
		x += uint32(os.Getppid())
	}
	return turn(x, 5000)
}

func forever(sink *uint32, spin func(uint32) uint32) {
	for {
		*sink = spin(*sink)
	}
}

func begin(sink *uint32, spin func(uint32) uint32, labels ...string) {
	go func() {
		if len(labels) == 0 {
			forever(sink, spin)
		}
		pprof.Do(context.Background(), pprof.Labels(labels...), func(context.Context) {
			forever(sink, spin)
		})
	}()
}

// Each set of labels is garbage soon, and its memory another one's.
func beginSteps(sink *uint32) {
	go func() {
		for i := 0; ; i++ {
			step := strconv.Itoa(i % 997)
			labels := pprof.Labels("fn", "Step", "step", step, "twice", step+step)
			pprof.Do(context.Background(), labels, func(context.Context) { *sink = spinStep(*sink) })
		}
	}()
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	runtime.GOMAXPROCS(2)
	if len(os.Args) > 2 {
		file, err := os.Create(os.Args[2])
		if err != nil {
			panic(err)
		}
		pprof.StartCPUProfile(file)
		defer pprof.StopCPUProfile()
	}
	begin(&sinks[0], spinPlain)
	begin(&sinks[1], spinFirst, "fn", "First", "zone", "a zone whose name is longer than sixty-four bytes, as names of zones are")
	many := []string{"fn", "Many"}
	for i := 0; i < 11; i++ {
		many = append(many, fmt.Sprint("key", i), fmt.Sprint("value", i))
	}
	begin(&sinks[2], spinMany, many...)
	begin(&sinks[3], spinAllocates, "fn", "Allocates")
	begin(&sinks[4], spinCalls, "fn", "Calls")
	beginSteps(&sinks[5])
	more()
	time.Sleep(time.Duration(seconds * 1e9))
}
