// Inlined functions, closures, generics and deferred calls.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

type shape interface{ area() int }
type square struct{ side int }

func (s square) area() int { return mul(s.side, s.side) }

func mul(a, b int) int { return add(a*b, 1) - 1 }
func add(a, b int) int { return a + b }

//go:noinline
func total(shapes []shape) (sum int) {
	defer func() {
		if recover() != nil {
			sum = -1
		}
	}()
	for _, s := range shapes {
		sum += s.area() / len(shapes)
	}
	return
}

func main() {
	var shapes []shape
	for i := 0; i < len(os.Args)*10; i++ {
		shapes = append(shapes, square{mul(i, add(i, 3))})
	}
	words := strings.Fields("one two three")
	sort.Slice(words, func(i, j int) bool { return len(words[i]) < len(words[j]) })
	fmt.Println(total(shapes), words)
}
