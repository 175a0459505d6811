//go:build sampled

package main

import "runtime"

// Where nothing does this the linker sets the rate to 0.
func useSamples() {
	runtime.MemProfile(nil, false)
}
