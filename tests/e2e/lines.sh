#!/bin/bash
# Inlined functions, files and lines: what we read from debug information against what
# llvm-symbolizer and addr2line say, over programs of several compilers and kinds.
. "$(dirname "$0")/prelude.bash"

SYMBOLS=$(realpath -m "$WORKLOADS/../oracle/symbols")
COMPARE=$here/../oracle/compare_symbols.py
COUNT=1500

# Two files of C++ with what is hard: lambdas, templates, local classes, dead code, a header
# whose functions are inlined in both.
write_sources() {
	cat >shared.h <<'END'
static inline int helper(int x) { int r = 0; for (int i = 0; i < x; i++) r += i * i; return r; }
inline int scale(int x) { return helper(x & 7) + x; }
struct Base { virtual ~Base() {} virtual int go(int); };
END
	cat >a.cc <<'END'
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>
#include "shared.h"
namespace {
struct Local {
	int v;
	Local(int x) : v(x) { v += helper(x); }
	__attribute__((noinline)) int run(int n) {
		auto f = [this, n](int k) { int s = 0; for (int i = 0; i < k; i++) s += scale(i) * v + n; return s; };
		std::function<int(int)> g = f;
		return g(n) + f(n + 1);
	}
};
}
template <class T> __attribute__((noinline)) T sum(const std::vector<T> &v) { T t{}; for (auto &x : v) t = t + x; return t; }
int dead(int x) { return helper(x) * 3; }
int other(std::map<std::string, int> &m, int n);
int main(int argc, char **) {
	std::vector<int> v;
	for (int i = 0; i < argc * 100; i++) v.push_back(scale(i));
	std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
	std::map<std::string, int> m;
	for (int i : v) m[std::to_string(i)] = i;
	try { if (argc > 5) throw Local(2); } catch (Local &e) { return e.v; }
	printf("%d %d %d\n", sum(v), Local(argc).run(argc), other(m, argc));
	return 0;
}
END
	cat >b.cc <<'END'
#include <map>
#include <string>
#include "shared.h"
int Base::go(int x) { return scale(x); }
struct Derived : Base {
	int go(int x) override {
		struct In { static int deep(int y) { return scale(y) + helper(y); } };
		return In::deep(x) + Base::go(x);
	}
};
int other(std::map<std::string, int> &m, int n) {
	Derived d; Base *b = &d; int r = b->go(n);
	for (auto &p : m) if (p.second % 3 == n) r += scale(p.second); else if (p.first.find("7") != p.first.npos) r -= helper(n);
	return r;
}
END
}

need() {
	for tool in "$@"; do
		command -v "$tool" >/dev/null || skip "no $tool here"
	done
	[[ -x $SYMBOLS ]] || skip "$SYMBOLS is not built"
}

# addr2line prints what others do, but for the address's width.
by_addr2line() { # FILE
	addr2line -a -f -i -e "$1" <addresses 2>/dev/null | sed -E 's/^0x0*([0-9a-f]+)$/0x\1/'
}

compare() { # FILE [REFERENCE]: with both of them, or one
	"$SYMBOLS" "$1" random $COUNT 7 >drawn || fail "$1: no addresses"
	"$SYMBOLS" "$1" <drawn >ours 2>err || fail "$1: $(cat err)"
	grep '^0x' ours >addresses
	grep -q '^[^0].*:[1-9]' ours || fail "$1: no line is known"
	llvm-symbolizer --obj="$1" --functions=linkage --inlines --no-demangle --output-style=LLVM -a \
		<addresses >llvm 2>/dev/null
	by_addr2line "$1" >binutils
	if [[ ${2-} == llvm ]]; then
		"$COMPARE" ours llvm >result.txt
	else
		"$COMPARE" ours llvm binutils >result.txt
	fi || fail "$1: $(head -n 3 result.txt; tail -n 1 result.txt)"
}

build_and_compare() { # REFERENCE|"" COMPILER OPTION...
	local reference=$1
	shift
	need llvm-symbolizer addr2line python3 "$1"
	write_sources
	"$@" a.cc b.cc -o program 2>err || skip "cannot build with $*: $(head -n 1 err)"
	compare ./program "$reference"
}

test_gcc_4_O0() { build_and_compare "" g++ -gdwarf-4 -O0; }
test_gcc_4_O2() { build_and_compare "" g++ -gdwarf-4 -O2; }
test_gcc_5_O0() { build_and_compare "" g++ -gdwarf-5 -O0; }
test_gcc_5_O2() { build_and_compare "" g++ -gdwarf-5 -O2; }
test_gcc_2() { build_and_compare llvm g++ -gdwarf-2 -gstrict-dwarf -O2; }
test_gcc_3() { build_and_compare llvm g++ -gdwarf-3 -gstrict-dwarf -O2; }
test_gcc_lto() { build_and_compare llvm g++ -g -O2 -flto; }
test_gcc_no_pie() { build_and_compare "" g++ -g -O2 -no-pie; }
test_gcc_code_at_0() { build_and_compare llvm g++ -g -O2 -ffunction-sections -Wl,--gc-sections -Wl,-z,noseparate-code; }
test_gcc_types() { build_and_compare llvm g++ -g -O2 -fdebug-types-section; }
test_gcc_64() { build_and_compare llvm g++ -g -gdwarf64 -O2; }
test_gcc_packed() { build_and_compare llvm g++ -g -O2 -gz; }
test_gcc_packed_old() { build_and_compare llvm g++ -g -O2 -gz=zlib-gnu; }
test_gcc_split_4() { build_and_compare llvm g++ -gdwarf-4 -O2 -gsplit-dwarf; }
test_gcc_split_5() { build_and_compare llvm g++ -gdwarf-5 -O2 -gsplit-dwarf; }
test_clang_4_O0() { build_and_compare llvm clang++ -gdwarf-4 -O0; }
test_clang_4_O2() { build_and_compare llvm clang++ -gdwarf-4 -O2; }
test_clang_5_O0() { build_and_compare llvm clang++ -gdwarf-5 -O0; }
test_clang_5_O2() { build_and_compare llvm clang++ -gdwarf-5 -O2; }
test_clang_split_4() { build_and_compare llvm clang++ -gdwarf-4 -O2 -gsplit-dwarf; }
test_clang_split_5() { build_and_compare llvm clang++ -gdwarf-5 -O2 -gsplit-dwarf; }
test_clang_gc() { build_and_compare llvm clang++ -g -O2 -ffunction-sections -Wl,--gc-sections; }

# Only the sections' headers are left of the code.
test_debug_file() {
	need llvm-symbolizer addr2line python3 g++ objcopy
	write_sources
	g++ -g -O2 a.cc b.cc -o program && objcopy --only-keep-debug program program.debug
	compare ./program.debug ""
}

# What dwz moves out is the same as before; llvm-symbolizer does not read it.
test_dwz() {
	need dwz g++
	write_sources
	g++ -g -O2 a.cc b.cc -o one && g++ -g -O2 -no-pie a.cc b.cc -o two && cp one whole
	dwz -m moved one two 2>err || skip "dwz: $(head -n 1 err)"
	"$SYMBOLS" whole random $COUNT 7 >drawn
	"$SYMBOLS" whole <drawn >before 2>err
	"$SYMBOLS" one <drawn >after 2>err
	grep -q '^_Z' before || fail "no names"
	cmp before after || fail "dwz changed the answers"
}

run_tests
