package main

/*
static unsigned turn(unsigned x, int n)
{
	for (int i = 0; i < n; i++)
		x = (x * 1664525u + 1013904223u) ^ x >> 3;
	return x;
}
*/
import "C"

//go:noinline
func spinC(x uint32) uint32 { return uint32(C.turn(C.uint(x), 100000)) }

func more() { begin(&sinks[6], spinC, "fn", "C") }
