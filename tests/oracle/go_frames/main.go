// Command go_frames names addresses of its own code by Go's runtime, as a judge of those who read
// the same tables from the file: what tests/oracle/symbols prints, for the same addresses on
// standard input.
package main

import (
	"bufio"
	"debug/elf"
	"fmt"
	"io/ioutil"
	"os"
	_ "os/user" // by cgo, where there is one: for linking by C
	"runtime"
	_ "runtime/pprof"
	"strconv"
	"strings"
	_ "unsafe"
)

// Appends the callers of the last address, if that is in inlined code.
//
//go:linkname expand runtime/pprof.runtime_expandFinalInlineFrame
func expand(stack []uintptr) []uintptr

// What the loader added to the file's addresses.
func bias() uintptr {
	file, err := elf.Open("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	if file.Type != elf.ET_DYN {
		return 0
	}
	var first uint64 // Go's own linker does not begin at 0
	for _, prog := range file.Progs {
		if prog.Type == elf.PT_LOAD {
			first = prog.Vaddr &^ 0xfff
			break
		}
	}
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		panic(err)
	}
	maps, err := ioutil.ReadFile("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	for _, line := range strings.Split(string(maps), "\n") {
		if !strings.HasSuffix(line, " "+self) {
			continue
		}
		base, err := strconv.ParseUint(strings.Split(line, "-")[0], 16, 64)
		if err != nil {
			panic(err)
		}
		return uintptr(base - first)
	}
	panic("/proc/self/maps does not tell of " + self)
}

// The runtime wants the address behind a call, and cannot be asked for a function's last byte.
func isLastByte(pc uintptr) bool {
	function, next := runtime.FuncForPC(pc), runtime.FuncForPC(pc+1)
	return function != nil && (next == nil || function.Entry() != next.Entry())
}

func put(out *bufio.Writer, pc uintptr) {
	if runtime.FuncForPC(pc) == nil {
		fmt.Fprintln(out, "??\n??:0")
		return
	}
	for _, pc := range expand([]uintptr{pc + 1}) {
		frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
		file, line := frame.File, frame.Line
		if file == "?" || file == "" {
			file, line = "??", 0
		}
		name := frame.Function
		if name == "" { // the first function's name is at offset 0, which counts as none
			name = "??"
		}
		fmt.Fprintf(out, "%s\n%s:%d\n", name, file, line)
	}
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	added := bias()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		address, err := strconv.ParseUint(strings.TrimPrefix(in.Text(), "0x"), 16, 64)
		if err != nil || isLastByte(uintptr(address)+added) {
			continue
		}
		fmt.Fprintf(out, "0x%x\n", address)
		put(out, uintptr(address)+added)
		fmt.Fprintln(out)
	}
}
