package main

import (
	"context"
	"os"
	"runtime/pprof"
	"strconv"
	"time"
)

//go:noinline
func inner(until time.Time) (total int) {
	for time.Now().Before(until) {
		for i := 0; i < 200000; i++ {
			total += i * i % 7
		}
	}
	return
}

//go:noinline
func middle(until time.Time) int {
	return inner(until) + 1
}

//go:noinline
func outer(until time.Time) int {
	return middle(until) + 1
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	until := time.Now().Add(time.Duration(seconds * 1e9))
	pprof.Do(context.Background(), pprof.Labels("stage", "chained"), func(context.Context) { outer(until) })
}
