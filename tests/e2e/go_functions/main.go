// Functions that take known parts of one goroutine's time, each for a while that changes from call to
// call. Takes the seconds to run, and a file for the profile that the runtime itself makes of it.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
)

var sink uint32

//go:noinline
func spinLong(x, n uint32) uint32 {
	for i := uint32(0); i < 5*n; i++ {
		x = (x*1664525 + 1013904223) ^ x>>3
	}
	return x
}

//go:noinline
func spinShort(x, n uint32) uint32 {
	for i := uint32(0); i < 2*n; i++ {
		x = (x*22695477 + 1) ^ x>>5
	}
	return x
}

//go:noinline
func spinShared(x, n uint32) uint32 {
	for i := uint32(0); i < 2*n; i++ {
		x = (x*134775813 + 1) ^ x>>7
	}
	return x
}

//go:noinline
func spinTexts(x, n uint32) uint32 {
	for i := uint32(0); i < n/512; i++ {
		x += uint32(len(strings.Repeat("x", int(x%64)+2000)))
	}
	return x
}

//go:noinline
func byFirst(x, n uint32) uint32 { return spinShared(x, n) + spinShort(x, n/2) }

//go:noinline
func bySecond(x, n uint32) uint32 { return spinShared(x, n/2) + spinTexts(x, n) }

func cpuTime() float64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	file, err := os.Create(os.Args[2])
	if err != nil {
		panic(err)
	}
	runtime.SetCPUProfileRate(1000) // pprof's own 100 would not replace it
	if err = pprof.StartCPUProfile(file); err != nil {
		panic(err)
	}
	x := uint32(1)
	for end := cpuTime() + seconds; cpuTime() < end; {
		for i := 0; i < 100; i++ {
			x ^= x << 13
			x ^= x >> 17
			x ^= x << 5
			n := 1000 + x%200000
			sink += spinLong(x, n) + spinShort(x, n) + byFirst(x, n) + bySecond(x, n)
		}
	}
	pprof.StopCPUProfile()
	fmt.Println(sink)
}
