# The programs of the zoo. What includes this has a function
#   row NAME LANGUAGE PACKAGE TOOL COMMAND [PREPARE]
# that is called for each: the tool is what has to be there, the command is a shell's, and
# prepare_PREPARE, in the program's folder, makes what it needs.
# shellcheck shell=bash disable=SC2016 # programs of other languages stand in quotes

# ---- what is compiled, or written, ahead ----

prepare_nothing() { :; }

FIB_C='int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { volatile int s = 0; for (int i = 0; i < 90; i++) s += fib(38); return s; }'
prepare_c() { echo "$FIB_C" >fib.c && gcc -O1 fib.c -o fib; }
prepare_c_static() { echo "$FIB_C" >fib.c && gcc -O1 -static fib.c -o fib; }
prepare_c_bare() { # neither rules nor frame pointers
	cat >bare.c <<'C'
#include <stdlib.h>
static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) int sum(int *v, int n) { volatile int s = 0; for (int i = 0; i < n; i++) s += v[i]; return s; }
int main(void) { static int v[100000]; for (int k = 0; k < 10000; k++) { for (int i = 0; i < 100000; i++) v[i] = rand();
	qsort(v, 100000, sizeof(int), by_number); sum(v, 100000); } }
C
	gcc -O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables bare.c -o fib
}
prepare_cxx() {
	cat >a.cc <<'C'
#include <map>
#include <string>
int main() { for (int k = 0; k < 1000; k++) { std::map<std::string, int> m; for (int i = 0; i < 100000; i++) m[std::to_string(i * 7919 % 100003)]++; } }
C
	g++ -O2 a.cc -o a
}
prepare_big_c() { for i in $(seq 1 3000); do echo "int f$i(int a, int b) { for (int i = 0; i < a; i++) b += i * $i ^ a; return b; }"; done >big.c; }
prepare_big_cxx() { printf '#include <map>\n#include <regex>\n#include <string>\n#include <vector>\nint main() { std::regex r("a+b"); std::map<int, std::string> m; std::vector<std::string> v; return m.size() + v.size(); }\n' >big.cc; }
prepare_haskell() {
	cat >a.hs <<'H'
import qualified Data.Map as M
import Data.List
collatz :: Int -> Int
collatz n = go n 0 where go 1 a = a; go k a = go (if even k then k `div` 2 else 3*k+1) (a+1)
main = mapM_ (\r -> print (r, M.size (foldl' (\m n -> M.insertWith (+) (collatz n `mod` 97) n m) M.empty [1..1000000]))) [1..100]
H
	ghc -O1 a.hs -o a
}
prepare_pascal() {
	cat >a.pas <<'P'
program a;
function fib(n: longint): longint; begin if n < 2 then fib := n else fib := fib(n-1)+fib(n-2); end;
var i: longint;
begin for i := 1 to 90 do writeln(fib(41)); end.
P
	fpc -O2 -Xs- a.pas # keeps its symbols
}
prepare_fib_scm() { printf '(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))\n(define (loop i) (if (> i 0) (begin (fib 32) (loop (- i 1)))))\n(loop 1000)\n' >a.scm; }
prepare_racket() { printf '#lang racket/base\n(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))\n(for ([i 100]) (fib 35))\n' >a.rkt; }
prepare_lisp() { printf '(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))\n(compile (quote fib))\n(dotimes (i 200) (fib 32))\n' >a.lisp; }
prepare_cs() {
	echo 'using System; class F { static int Fib(int n) { return n < 2 ? n : Fib(n-1) + Fib(n-2); } static void Main() { for (int i = 0; i < 90; i++) Console.WriteLine(Fib(40)); } }' >F.cs
	mcs F.cs
}
prepare_java() {
	echo 'public class Fib { static int fib(int n) { return n < 2 ? n : fib(n-1) + fib(n-2); } public static void main(String[] a) { long s = 0; for (int i = 0; i < 300; i++) s += fib(40); System.out.println(s); } }' >Fib.java
	javac Fib.java
}
prepare_js() { echo 'function fib(n) { return n < 2 ? n : fib(n-1) + fib(n-2) } let s = 0; for (let i = 0; i < 600; i++) s += fib(35); console.log(s);' >a.js; }
prepare_php() { echo '<?php function fib($n) { return $n < 2 ? $n : fib($n-1) + fib($n-2); } for ($i = 0; $i < 1000; $i++) fib(30);' >a.php; }
prepare_php_regex() { echo '<?php for (;;) preg_match("/(a|b)*c(d+)e?(\w+\s*)+z/", str_repeat("abcdd xyz foo bar ", 20), $m);' >a.php; }
prepare_python() { printf 'def fib(n):\n    return n if n < 2 else fib(n-1) + fib(n-2)\nfor i in range(1000):\n    fib(27)\n' >a.py; }
prepare_ruby() { printf 'def fib(n) n < 2 ? n : fib(n-1) + fib(n-2) end\n1000.times { fib(27) }\n' >a.rb; }
prepare_perl() { echo 'sub fib { my $n = shift; $n < 2 ? $n : fib($n-1) + fib($n-2) } fib(24) while 1;' >a.pl; }
prepare_lua() { printf 'local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end\nfor i = 1, 10000 do fib(30) end\n' >a.lua; }
prepare_tcl() { printf 'proc fib n { if {$n < 2} { return $n }; expr {[fib [expr {$n-1}]] + [fib [expr {$n-2}]]} }\nwhile 1 { fib 22 }\n' >a.tcl; }
prepare_r() { printf 'fib <- function(n) if (n < 2) n else fib(n-1) + fib(n-2)\nrepeat { fib(22) }\n' >a.r; }
prepare_octave() { printf 'a = rand(300);\nwhile true\n  b = inv(a) * a;\n  for i = 1:1000\n    b(1,1) += i;\n  end\nend\n' >a.m; }
prepare_erlang() {
	printf -- '-module(a).\n-export([main/0]).\nfib(N) when N < 2 -> N;\nfib(N) -> fib(N-1) + fib(N-2).\nmain() -> fib(30), main().\n' >a.erl
	erlc a.erl
}
prepare_ocaml() {
	echo 'let rec fib n = if n < 2 then n else fib (n-1) + fib (n-2) let () = for _ = 1 to 90 do ignore (fib 40); ignore (List.sort compare (List.init 100000 (fun i -> i * 7919 mod 100003))) done' >a.ml
	ocamlopt a.ml -o a
}
prepare_ada() {
	printf 'procedure A is\n  function Fib (N : Integer) return Integer is\n  begin\n    if N < 2 then return N; end if;\n    return Fib (N - 1) + Fib (N - 2);\n  end Fib;\n  S : Integer := 0;\nbegin\n  for I in 1 .. 90 loop S := S mod 1000 + Fib (40); end loop;\nend A;\n' >a.adb
	gnatmake -O1 a.adb
}
prepare_fortran() {
	printf 'program a\n real(8) :: x(400,400), y(400,400)\n integer :: i\n call random_number(x)\n do i = 1, 10000\n  y = matmul(x, x)\n  x = y / maxval(y)\n end do\n print *, x(1,1)\nend program\n' >a.f90
	gfortran -O2 a.f90 -o a
}
prepare_go() {
	printf 'package main\nimport "sort"\nfunc fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }\nfunc main() { for { fib(38); v := make([]int, 1000000); for i := range v { v[i] = i * 7919 %% 1000003 }; sort.Ints(v) } }\n' >a.go
	HOME=$PWD GOCACHE=$PWD/cache.go GO111MODULE=off go build -o a a.go
}
prepare_rust() {
	printf 'use std::collections::BTreeMap;\nfn main() { loop { let mut m = BTreeMap::new(); for i in 0..1000000u64 { *m.entry(i * 7919 %% 100003).or_insert(0) += i; } std::hint::black_box(m); } }\n' >a.rs
	rustc -O a.rs -o a
}
prepare_d() {
	printf 'int fib(int n) { return n < 2 ? n : fib(n-1) + fib(n-2); }\nvoid main() { int s; foreach (i; 0 .. 90) s += fib(40) %% 7; import std.stdio; writeln(s); }\n' >a.d
	"$1" -O a.d "$2"
}
prepare_gdc() { prepare_d gdc -oa; }
prepare_ldc() { prepare_d ldc2 -of=a; }
prepare_nim() {
	printf 'import std/[tables, strutils]\nproc fib(n: int): int =\n  if n < 2: n else: fib(n-1) + fib(n-2)\nfor i in 0 .. 1000:\n  var t = initTable[string, int]()\n  for k in 0 .. 100000: t[intToStr(k)] = fib(5)\n' >a.nim
	nim c -d:release --nimcache:nimcache --hints:off a.nim
}
prepare_prolog() { printf 'fib(0, 0).\nfib(1, 1).\nfib(N, F) :- N > 1, A is N-1, B is N-2, fib(A, X), fib(B, Y), F is X+Y.\nloop :- fib(21, _), loop.\n' >a.pl; }
prepare_forth() { printf ': fib dup 2 < if exit then dup 1- recurse swap 2 - recurse + ;\n: loop begin 30 fib drop again ;\nloop\n' >a.fs; }
prepare_sml() { printf 'fun fib n = if n < 2 then n else fib (n-1) + fib (n-2);\nfun loop () = (fib 35; loop ());\nloop ();\n' >a.sml; }
prepare_text() { seq 1 4000000 | md5sum >/dev/null && seq 1 3000000 >text; }
prepare_povray() { printf 'camera { location <0,2,-5> look_at 0 }\nlight_source { <5,9,-5> rgb 1 }\n#declare i = 0;\n#while (i < 200)\n  sphere { <mod(i,10)-5, div(i,10)/5, mod(i,7)>, .4 pigment { rgb <1,.5,0> } finish { reflection .4 } }\n  #declare i = i + 1;\n#end\n' >a.pov; }
prepare_gmp() { printf 'import gmpy2\nx = gmpy2.mpz(3) ** 400000\nwhile True:\n    x * x\n' >a.py; }

# ---- the programs ----

row c C gcc gcc 'exec ./fib' c
row c-static C gcc gcc 'exec ./fib' c_static
row c-bare C gcc gcc 'exec ./fib' c_bare
row c++ C++ g++ g++ 'exec ./a' cxx
row gcc C gcc gcc 'while :; do gcc -O2 -c big.c -o /dev/null; done' big_c
row clang C++ clang clang++ 'while :; do clang++ -O2 -c big.cc -o /dev/null; done' big_cxx
row bash shell bash bash 'while :; do for i in 1 2 3; do /bin/true; x=$(echo $i); done; done'
row make shell make make 'yes "true $RANDOM" | head -n 200000 | bash'
row ffmpeg C+asm ffmpeg ffmpeg 'exec ffmpeg -v quiet -f lavfi -i testsrc2=s=1280x720:d=60 -c:v libx264 -f null -'
row xz C xz-utils xz 'exec xz -9 -c text' text
row zstd C zstd zstd 'exec zstd -19 -f -q text -o /dev/null' text
row openssl C+asm openssl openssl 'exec openssl speed -seconds 1 sha256 rsa2048 ecdsap256'
row git C git git 'git init -q . && cp ../xz/text . 2>/dev/null; seq 1 2000000 >t; while :; do git hash-object t; git add t; git gc -q; done'
row sqlite C sqlite3 sqlite3 'exec sqlite3 :memory: "create table t(a, b); with recursive c(x) as (select 1 union all select x+1 from c limit 3000000) insert into t select x, x * 7919 % 100003 from c; select count(*), sum(a) from t group by b order by 2 limit 3;"'
row gawk awk gawk gawk 'exec gawk "{ n[\$1 % 1000] += length(\$0) } END { for (k in n) print k, n[k] }" text text text text' text
row gdb C++ gdb gdb 'while :; do gdb -nx -batch -ex "info functions zzz" -ex quit $(command -v node || command -v gdb); done'
row povray C++ povray povray 'exec povray +Ia.pov -D +W1600 +H1200 +A0.01 -GA' povray
row gmp C+asm python3-gmpy2 python3 'exec python3 a.py' gmp
row python Python python3 python3 'exec python3 a.py' python
row ruby Ruby ruby ruby 'exec ruby a.rb' ruby
row perl Perl perl perl 'exec perl a.pl' perl
row php PHP php-cli php 'exec php a.php' php
row php-jit PHP php-cli php 'exec php -d opcache.enable_cli=1 -d opcache.jit_buffer_size=64M -d opcache.jit=1255 a.php' php
row php-regex PHP php-cli php 'exec php a.php' php_regex
row lua Lua lua5.4 lua5.4 'exec lua5.4 a.lua' lua
row luajit Lua luajit luajit 'exec luajit a.lua' lua
row tcl Tcl tcl tclsh 'exec tclsh a.tcl' tcl
row r R r-base-core Rscript 'exec Rscript a.r' r
row octave Octave octave octave-cli 'exec octave-cli a.m' octave
row node JavaScript nodejs node 'exec node a.js' js
# Built without unwind tables: nearly all frames are read. What is left is guessed, where the machine
# is so busy that the recorder falls behind.
row chromium JavaScript chromium chromium 'while :; do chromium --headless --no-sandbox --disable-gpu --user-data-dir=$PWD/user --screenshot=s.png "data:text/html,<script>for(let i=0;i<3e7;i++)Math.sqrt(i)</script><h1>hello</h1>"; done'
row java Java default-jdk java 'exec java Fib' java
row java-int Java default-jdk java 'exec java -Xint Fib' java
row mono 'C#' mono-mcs mcs 'exec mono F.exe' cs
row erlang Erlang erlang-base erl 'exec erl -noshell -s a main' erlang
row ghc Haskell ghc ghc 'exec ./a' haskell
row ocaml OCaml ocaml-nox ocamlopt 'exec ./a' ocaml
row guile Scheme guile-3.0 guile 'exec guile --no-auto-compile a.scm' fib_scm
# Chez Scheme keeps its frames on a stack of its own, which nothing here walks: that the C stack leads
# to the root is told as a guess.
row racket Racket racket racket 'exec racket a.rkt' racket
row sbcl Lisp sbcl sbcl 'exec sbcl --script a.lisp' lisp
row clisp Lisp clisp clisp 'exec clisp a.lisp' lisp
row ecl Lisp ecl ecl 'exec ecl --shell a.lisp' lisp
row go Go golang-go go 'exec ./a' go
row rust Rust rustc rustc 'exec ./a' rust
row rustc Rust rustc rustc 'while :; do rustc -O a.rs -o b; done' rust
row gdc D gdc gdc 'exec ./a' gdc
row ldc D ldc ldc2 'exec ./a' ldc
row nim Nim nim nim 'exec ./a' nim
row ada Ada gnat gnatmake 'exec ./a' ada
row fortran Fortran gfortran gfortran 'exec ./a' fortran
row fpc Pascal fp-compiler fpc 'exec ./a' pascal
row prolog Prolog swi-prolog-nox swipl 'exec swipl -q -g loop a.pl' prolog
row gforth Forth gforth gforth 'exec gforth a.fs' forth
row polyml ML polyml poly 'exec poly --script a.sml' sml
row qemu-user C qemu-user qemu-x86_64 'exec qemu-x86_64 ./fib' c_static
row qemu-system asm qemu-system-x86 qemu-system-x86_64 'exec qemu-system-x86_64 -accel tcg -nographic -no-reboot -display none -serial none -monitor none'
