#!/bin/bash
# Functions, inlined ones too, files and lines: what a report says against what other symbolizers
# say, by vote, over programs of several compilers, languages and kinds.
#   COUNT=N         so many addresses of each program
#   ROWS=all        those rows as well that differ from another only by a version or an optimization:
#                   make check-symbols
#   VOTE_LOG=FILE   the sums of each program are added there, known faults of others by class
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

SYMBOLS=$(realpath -m "$WORKLOADS/../oracle/symbols")
VOTE=$here/../oracle/vote.py
: "${COUNT:=120}"

need() {
	for tool in "$@"; do
		command -v "$tool" >/dev/null || skip "no $tool here"
	done
	[[ -x $SYMBOLS ]] || skip "$SYMBOLS is not built"
}

# ---- programs ----

# Makes ./program of the sources of a kind, which are copied here.
build() { # KIND COMPILER OPTION...
	local kind=$1 sources
	shift
	need "$1"
	cp "$here"/../oracle/corpus/* .
	case $kind in
	c) sources="knot.c knot_more.c bare.S" ;;
	cpp) sources="a.cc b.cc" ;;
	rust) sources=tangle.rs ;;
	d) sources=twine.d ;;
	go)
		sources=braid.go
		# shellcheck disable=SC2031
		export GO111MODULE=off GOFLAGS=''
		;;
	esac
	compile "$sources" "$@"
	cp program whole
	[[ ! -e program.dwp ]] || cp program.dwp whole.dwp
}

# What several tests are about is compiled once, in a folder that stays: debug information names it.
# But of a program that is split the rest must not be found there, once it has moved elsewhere.
compile() { # SOURCES COMPILER OPTION...
	local sources=$1 shared
	shift
	shared=$PWD/../built-$(printf '%s ' "$@" "$sources" | cksum | cut -d' ' -f1)
	[[ $* != *split-d* ]] || shared=.
	(
		flock 9
		[[ ! -e $shared/program ]] || exit 0
		mkdir -p "$shared"
		[[ $shared == . ]] || cp -- * "$shared"
		# shellcheck disable=SC2086
		cd "$shared" && "$@" -o program $sources
	) >build.log 2>&1 9>"$shared.lock" || skip "cannot build with $*: $(head -n 1 build.log)"
	[[ $shared == . ]] || cp "$shared/program" .
}

# ---- what becomes of them; the original stays as ./whole ----

compressed() { objcopy --compress-debug-sections="$1" program; }
compressed_zlib() { compressed zlib; }
compressed_zlib_gnu() { compressed zlib-gnu; }
compressed_zstd() { compressed zstd; }

dwz_alone() { dwz program; }

dwz_moved() {
	cp program another
	dwz -m moved program another
}

debug_alone() {
	objcopy --only-keep-debug whole program
}

debug_linked() {
	objcopy --only-keep-debug whole program.debug && strip program &&
		objcopy --add-gnu-debuglink=program.debug program
}

debug_linked_compressed() {
	compressed_zlib && mv program packed && objcopy --only-keep-debug packed program.debug && rm packed &&
		strip -o program whole && objcopy --add-gnu-debuglink=program.debug program
}

# elfutils keeps other headers than binutils.
debug_linked_by_elfutils() {
	need eu-strip
	eu-strip -f program.debug program
}

# What dwz moved out is found beside the debug file, which is found beside the program.
debug_linked_dwz() {
	cp whole another && dwz_moved && mkdir .debug && objcopy --only-keep-debug program .debug/program.debug &&
		mv moved .debug && strip -o program whole &&
		objcopy --add-gnu-debuglink=.debug/program.debug program
}

packed_dwo() { dwp -e program -o program.dwp && rm ./*.dwo && cp program.dwp whole.dwp; }

# binutils' dwp 2.40 crashes on DWARF 5, LLVM 14's never ends on gcc's.
packed_by_llvm() { timeout 120 llvm-dwp -e program -o program.dwp && rm ./*.dwo && cp program.dwp whole.dwp; }

# Functions that .dynsym lacks, as Fedora's packages have them.
minidebug() {
	nm -D whole --format=posix --defined-only | cut -d' ' -f1 | sort >dynamic
	nm whole --format=posix --defined-only | awk '$2 ~ /[TtWw]/ { print $1 }' | sort >all
	comm -13 dynamic all >kept
	objcopy --only-keep-debug whole mini && objcopy -S --remove-section .comment --keep-symbols=kept mini &&
		xz mini && strip program && objcopy --add-section .gnu_debugdata=mini.xz program && rm mini.xz
}

become() { # CHANGE
	[[ $1 == - ]] && return
	need objcopy
	"$1" >change.log 2>&1 || skip "$1: $(head -n 1 change.log)"
}

# ---- rows: NAME KIND CHANGE COMPILER OPTION..., each a test ----

vote() { # KIND CHANGE COMPILER OPTION...
	local kind=$1 change=$2
	shift 2
	need llvm-symbolizer eu-addr2line addr2line gdb python3 nm objdump
	build "$kind" "$@"
	become "$change"
	"$VOTE" -c "$COUNT" -o whole -- "$SYMBOLS" program "$kind" "$@" >result.txt 2>&1 ||
		fail "$(head -n 2 result.txt | cut -c1-1500; grep -E ' agree|known faults|no known reason: [0-9]' result.txt)"
	[[ -z ${VOTE_LOG-} ]] || sed "s/^/$name: /" result.txt >>"$VOTE_LOG"
}

row() {
	eval "test_$1() { vote $(printf '%q ' "${@:2}"); }"
}

more_row() {
	[[ ${ROWS-} != all ]] || row "$@"
}

# A file that is not linked yet, as kernel modules are, against itself linked to the addresses that
# elf_relocate.c gives its sections: a page and what it takes for each, from 0x1000 on.
linked_where_laid_out() {
	local name size flags next=0x1000
	{
		echo 'SECTIONS {'
		while read -r name _ _ _ size _ flags _; do
			[[ $flags == *A* ]] || continue
			printf '  %s %#x : SUBALIGN(1) { *(%s) }\n' "$name" "$next" "$name"
			next=$(((next + 16#$size + 4096) & ~4095))
		done
		for name in info abbrev line str line_str aranges rnglists loclists ranges loc; do
			echo "  .debug_$name 0 : { *(.debug_$name) }"
		done
		echo '}'
	} < <(readelf -SW program | sed -nE 's/^ *\[ *[1-9][0-9]*\] +(.*)/\1/p') >layout.lds
	ld -T layout.lds -e 0 --unresolved-symbols=ignore-all --noinhibit-exec -o whole program
}

relocatable() { # COMPILER OPTION...
	need llvm-symbolizer eu-addr2line addr2line gdb python3 nm objdump ld readelf
	cp "$here"/../oracle/corpus/* .
	"$@" -c knot.c knot_more.c >build.log 2>&1 || skip "cannot build with $*: $(head -n 1 build.log)"
	ld -r -o program knot.o knot_more.o || fail "ld -r"
	linked_where_laid_out >link.log 2>&1 || skip "cannot link: $(head -n 1 link.log)"
	"$VOTE" -c "$COUNT" -o whole -r dwarf -- "$SYMBOLS" program c "$@" >result.txt 2>&1 ||
		fail "$(head -n 2 result.txt | cut -c1-1500; grep -E ' agree|known faults|no known reason: [0-9]' result.txt)"
	[[ -z ${VOTE_LOG-} ]] || sed "s/^/$name: /" result.txt >>"$VOTE_LOG"
}

test_c_gcc_relocatable() { relocatable gcc -w -gdwarf-5 -O2 -ffunction-sections; }
test_c_gcc_relocatable_4() { relocatable gcc -w -gdwarf-4 -O2; }
test_c_clang_relocatable() { relocatable clang -w -g -O2 -ffunction-sections; }

more_row c_gcc_4_O0 c - gcc -w -gdwarf-4 -O0
more_row c_gcc_4_O2 c - gcc -w -gdwarf-4 -O2
row c_gcc_5_O0 c - gcc -w -gdwarf-5 -O0
row c_gcc_5_O2 c - gcc -w -gdwarf-5 -O2
more_row c_gcc_O3_unrolled c - gcc -w -g -O3 -funroll-loops
row c_gcc_lto c - gcc -w -g -O2 -flto
row c_gcc_split c - gcc -w -g -O2 -gsplit-dwarf
row c_gcc_no_views c - gcc -w -g -O2 -gno-variable-location-views -gno-column-info
row c_gcc_lines_alone c - gcc -w -g1 -O2
row c_gcc_relative_folder c - gcc -w -gdwarf-5 -O2 -ffile-prefix-map=/=src/
more_row c_clang_4_O0 c - clang -w -gdwarf-4 -O0
more_row c_clang_4_O2 c - clang -w -gdwarf-4 -O2
row c_clang_5_O0 c - clang -w -gdwarf-5 -O0
more_row c_clang_5_O2 c - clang -w -gdwarf-5 -O2
row c_clang_lto c - clang -w -g -O2 -flto -fuse-ld=lld

row gcc_2 cpp - g++ -gdwarf-2 -gstrict-dwarf -O2
row gcc_3 cpp - g++ -gdwarf-3 -gstrict-dwarf -O2
more_row gcc_4_O0 cpp - g++ -gdwarf-4 -O0
row gcc_4_O2 cpp - g++ -gdwarf-4 -O2
row gcc_5_O0 cpp - g++ -gdwarf-5 -O0
row gcc_5_O2 cpp - g++ -gdwarf-5 -O2
row gcc_64 cpp - g++ -g -gdwarf64 -O2
more_row gcc_64_4 cpp - g++ -gdwarf-4 -gdwarf64 -O2
row gcc_types cpp - g++ -g -O2 -fdebug-types-section
more_row gcc_types_4 cpp - g++ -gdwarf-4 -O2 -fdebug-types-section
row gcc_types_split cpp - g++ -g -O2 -fdebug-types-section -gsplit-dwarf
more_row gcc_lto_4 cpp - g++ -gdwarf-4 -O2 -flto
row gcc_lto_5 cpp - g++ -gdwarf-5 -O2 -flto
row gcc_no_pie cpp - g++ -g -O2 -no-pie
more_row gcc_other_base cpp - g++ -g -O2 -Wl,-Ttext-segment=0x5000000
more_row gcc_separate_code cpp - g++ -g -O2 -Wl,-z,separate-code
row gcc_code_at_0 cpp - g++ -g -O2 -ffunction-sections -Wl,--gc-sections -Wl,-z,noseparate-code
more_row gcc_split_4 cpp - g++ -gdwarf-4 -O2 -gsplit-dwarf
row gcc_split_5 cpp - g++ -gdwarf-5 -O2 -gsplit-dwarf
row gcc_split_dwp_4 cpp packed_dwo g++ -gdwarf-4 -O2 -gsplit-dwarf
row gcc_split_dwp_5 cpp packed_dwo g++ -gdwarf-5 -O2 -gsplit-dwarf
row gcc_packed cpp compressed_zlib g++ -g -O2
row gcc_packed_old cpp compressed_zlib_gnu g++ -g -O2
row gcc_packed_zstd cpp compressed_zstd g++ -g -O2
more_row gcc_dwz_4 cpp dwz_alone g++ -gdwarf-4 -O2
row gcc_dwz_5 cpp dwz_alone g++ -gdwarf-5 -O2
more_row gcc_dwz_moved_4 cpp dwz_moved g++ -gdwarf-4 -O2
row gcc_dwz_moved_5 cpp dwz_moved g++ -gdwarf-5 -O2
row gcc_dwz_lto cpp dwz_alone g++ -g -O2 -flto
row gcc_debug_file cpp debug_alone g++ -g -O2
row gcc_debuglink cpp debug_linked g++ -g -O2
row gcc_debuglink_by_elfutils cpp debug_linked_by_elfutils g++ -g -O2
row gcc_debuglink_by_crc cpp debug_linked g++ -g -O2 -Wl,--build-id=none
more_row gcc_debuglink_packed cpp debug_linked_compressed g++ -g -O2
row gcc_debuglink_dwz cpp debug_linked_dwz g++ -g -O2

more_row clang_4_O0 cpp - clang++ -gdwarf-4 -O0
more_row clang_4_O2 cpp - clang++ -gdwarf-4 -O2
more_row clang_5_O0 cpp - clang++ -gdwarf-5 -O0
row clang_5_O2 cpp - clang++ -gdwarf-5 -O2
row clang_64 cpp - clang++ -gdwarf-5 -gdwarf64 -O2
more_row clang_types cpp - clang++ -g -O2 -fdebug-types-section
row clang_lines_alone cpp - clang++ -gline-tables-only -O2
more_row clang_gc cpp - clang++ -g -O2 -ffunction-sections -Wl,--gc-sections
row clang_lld_gc cpp - clang++ -g -O2 -ffunction-sections -fuse-ld=lld -Wl,--gc-sections -Wl,--icf=all
row clang_lto_5 cpp - clang++ -gdwarf-5 -O2 -flto -fuse-ld=lld
more_row clang_lto_thin cpp - clang++ -g -O2 -flto=thin -fuse-ld=lld
more_row clang_split_4 cpp - clang++ -gdwarf-4 -O2 -gsplit-dwarf
row clang_split_5 cpp - clang++ -gdwarf-5 -O2 -gsplit-dwarf
row clang_split_dwp_4 cpp packed_by_llvm clang++ -gdwarf-4 -O2 -gsplit-dwarf
row clang_split_dwp_5 cpp packed_by_llvm clang++ -gdwarf-5 -O2 -gsplit-dwarf
more_row clang_debuglink cpp debug_linked clang++ -g -O2

row go go - go build
more_row go_O0 go - go build -gcflags=all=-N

more_row d_O0 d - gdc -g -O0
row d_O2 d - gdc -g -O2
row d_lto d - gdc -g -O2 -flto
more_row d_debuglink d debug_linked gdc -g -O2

more_row rust_O0 rust - rustc -g
row rust_O2 rust - rustc -g -O
row rust_5 rust - rustc -g -O -C dwarf-version=5
row rust_v0 rust - rustc -g -O -C symbol-mangling-version=v0
more_row rust_lto rust - rustc -g -C opt-level=3 -C lto=fat -C codegen-units=1
row rust_split rust - rustc -g -O -C split-debuginfo=unpacked
row rust_split_packed rust - rustc -g -O -C split-debuginfo=packed
more_row rust_debuglink rust debug_linked rustc -g -O

# ---- names alone ----

# The outermost functions, by address; whose address no symbol covers is left out.
names() { # FILE
	READER=report "$SYMBOLS" "$1" <addresses 2>err | awk '
		/^0x[0-9a-f]+$/ { address = $0; n = 0; next }
		NF == 0 { if (address && last != "??") print address, last; address = ""; next }
		{ if (n++ % 2 == 0) last = $0 }'
}

test_minidebug_names() {
	need nm comm xz strip
	build cpp g++ -g -O2
	become minidebug
	"$SYMBOLS" whole random 5000 7 >addresses || fail "no addresses"
	names whole >before
	names program >after
	[[ $(wc -l <before) -gt 2000 ]] || fail "$(wc -l <before) of 5000 addresses are named"
	cmp before after || fail "other names: $(diff before after | head -n 3)"
}

# What has no linkage name, since no other unit can call it, has the scopes that the source says, as
# the linker's names have them; with what dwz moved to another unit, too, and as a report shows it.
test_scopes_of_inlined_functions() {
	need g++ nm dwz
	cat >scopes.cc <<-'END'
		volatile unsigned long sink;
		#define INLINED inline __attribute__((always_inline))
		#define BODY { for (unsigned long i = 0; i < n; i++) sink = sink * 31 + (i ^ sink >> 7); return sink; }
		namespace app { namespace {
		struct Cursor { INLINED unsigned long step(unsigned long n) BODY };
		template <typename T> INLINED unsigned long walk(T n) BODY
		}
		static INLINED unsigned long own(unsigned long n) BODY
		INLINED unsigned long open(unsigned long n) BODY
		__attribute__((noinline)) unsigned long run(unsigned long n)
		{
			struct Local { static INLINED unsigned long go(unsigned long n) BODY };
			auto twist = [](unsigned long n) __attribute__((always_inline)) BODY;
			return Cursor().step(n) + walk<long>(n) + own(n) + open(n) + Local::go(n) + twist(n);
		}
		}
		extern "C" { static INLINED unsigned long plain(unsigned long n) BODY }
		int main() { return (app::run(1000) + plain(1000)) & 1; }
	END
	g++ -g -O1 -o program scopes.cc || fail g++
	cat >wanted <<-'END'
		_ZN3app3runEm
		_ZN3app4openEm
		app::(anonymous namespace)::Cursor::step
		app::(anonymous namespace)::walk<long int>
		app::own
		app::run::Local::go
		app::run::{lambda}::operator()
		main
		plain
	END
	local change
	for change in true 'dwz program'; do
		$change || skip "$change failed"
		nm -S program | awk '$4 ~ /^(main|_ZN3app3runEm)$/ { print $1, $2 }' | while read -r start size; do
			for ((i = 16#$start; i < 16#$start + 16#$size; i++)); do printf '0x%x\n' $i; done
		done >addresses
		"$SYMBOLS" program <addresses 2>symbols.err | grep -vE '^$|^0x|:[0-9?]+$' | LC_ALL=C sort -u >names
		# Lambdas have names from some compilers on: {lambda(long unsigned int)}.
		sed -i 's/{lambda([^)]*)}/{lambda}/' names
		cmp wanted names || fail "$change: other names: $(diff wanted names)"
	done
}

# ---- a recording: the program it was made of is replaced by one with less in it ----

folded() { # OUTPUT OPTION...
	run "$EBPROF" convert --folded --symbol-cache none -o "$@"
	want_status 0 convert
}

record_knot() {
	build c gcc -w -g -O2
	run "$EBPROF" record -F 2999 -- ./program 500000
	want_status 0 record
	[[ $(field ebprof.data samples) -gt 300 ]] || fail "$(field ebprof.data samples) samples"
}

# Says the same names for the recording once the program has become another.
recorded() { # CHANGE OPTION...
	local change=$1
	shift
	record_knot
	folded before "$@"
	grep -q 'twist\|variable' before || fail "no names: $(head -n 3 before)"
	become "$change"
	folded after "$@"
	cmp before after || fail "$change: other names: $(diff before after | head -n 3)"
}

test_recorded_debuglink() { recorded debug_linked; }
test_recorded_debuglink_dwz() { recorded debug_linked_dwz; }
test_recorded_minidebug() {
	need nm comm xz strip
	recorded minidebug --no-inline
}

# What is remembered is what was found: without a memo, the first and the second time with one.
test_memo() {
	record_knot
	mkdir memo
	local memo time
	for time in none first second; do
		memo=memo
		[[ $time != none ]] || memo=none
		"$EBPROF" report --stdio -g --percent-limit 0 --symbol-cache $memo >report.$time 2>err || fail "$(cat err)"
		"$EBPROF" convert --folded --symbol-cache $memo >folded.$time 2>err || fail "$(cat err)"
		"$EBPROF" convert --pprof --symbol-cache $memo -o - 2>err | gzip -dc >pprof.$time || fail "$(cat err)"
	done
	[[ -n $(find memo -type f) ]] || fail "nothing was remembered"
	for kind in report folded pprof; do
		cmp $kind.none $kind.first && cmp $kind.first $kind.second || fail "$kind: other answers with a memo"
	done
}

run_tests 2
