//go:build !sampled

package main

func useSamples() {}
