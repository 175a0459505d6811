// heap_go N RATE: N times a thousand small allocations and a large one; prints "go BYTES" of them by
// the runtime's own count.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
)

type node struct {
	next *node
	data [10]uint64
}

var kept, last *node
var block []byte

//go:noinline
func small() {
	for i := 0; i < 1000; i++ {
		it := &node{}
		if i%100 == 0 {
			it.next = kept
			kept = it
		}
		last = it
	}
}

//go:noinline
func large(i int) {
	block = make([]byte, 100000+i%7)
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	rate, _ := strconv.Atoi(os.Args[2])
	runtime.MemProfileRate = rate
	useSamples()
	kept = &node{}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := 0; i < n; i++ {
		small()
		large(i)
		if i%100 == 0 {
			kept = &node{}
		}
	}
	runtime.ReadMemStats(&after)
	fmt.Println("go", after.TotalAlloc-before.TotalAlloc)
}
