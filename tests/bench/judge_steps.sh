#!/bin/bash
# How many stacks are wrong, judged by stepping: static programs run one instruction at a time, so
# that each caller is known without any rule (tests/e2e/stepped.c), as they are ("rules") and with
# all unwind rules zeroed ("hidden"). Of each a line: samples, the share whose callers are all right
# ("right") or flagged ("guessed", "cut"), and how many are wrong with nothing to say so: at random
# moments, and at each instruction's first execution, which is where prologues and epilogues are.
# Callers of main() are left out: what calls it never returns, so its code does not tell.
#
# usage: judge_steps.sh EBPROF STEPPED FRAME_SHAPES.c
# JUDGE="sqlite lua"  only these; JUDGE_STOPS=1000 of each kind; JUDGE_SHOW=3 wrong stacks are shown
set -u
EBPROF=$(realpath "$1") STEPPED=$(realpath "$2") SHAPES=$(realpath "$3")
here=$(cd "$(dirname "$0")" && pwd)
STOPS=${JUDGE_STOPS:-1000}
PATH=/usr/bin:$PATH
WORK=$(mktemp -d /tmp/ebprof-judge.XXXXXX)
trap 'rm -rf "$WORK"' EXIT
cd "$WORK" || exit 1
[[ $(id -u) == 0 && $(uname -m) == x86_64 ]] || { echo "judge_steps.sh: needs root and x86-64"; exit 1; }

hide_rules() { # PROGRAM COPY
	local offset size
	read -r offset size < <(readelf -SW "$1" |
		sed -nE 's/.* \.eh_frame +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) .*/0x\1 0x\2/p')
	cp "$1" "$2"
	[[ -z $size ]] ||
		dd if=/dev/zero of="$2" bs=1 seek=$((offset)) count=$((size)) conv=notrunc 2>/dev/null
}

judge() { # PROGRAM WHAT OPTION...
	local program=$1 what=$2 main
	shift 2
	main=$(nm "$program" | awk '$3 == "main" || $3 == "_ada_a" && !m { m = $1 } END { print m }')
	timeout -k 2 180 "$EBPROF" record -q -F 2997 --no-vm all --unwind-cache none -o "$what.ebp" -- \
		"$STEPPED" -o "$what.known" -n "$STOPS" -x 400000 -a "$main" -m "$@" "./$program" </dev/null >out 2>err
	echo '{"samples": 0}' >"$what.json"
	[[ -s $what.ebp && -s $what.known ]] || {
		echo "$program, $what: nothing was recorded: $(tail -n 1 err)"
		return
	}
	python3 "$here/../e2e/judge_stacks.py" --json --show "${JUDGE_SHOW:-0}" "$what.known" "$what.ebp" \
		>"$what.json" || echo '{"samples": 0}' >"$what.json"
}

row() { # NAME COMPILE...
	local name=$1
	shift
	if [[ -n ${JUDGE:-} && " $JUDGE " != *" $name "* ]]; then
		return
	fi
	mkdir -p "$name" && cd "$name" || exit 1
	if "source_${name%%-*}" && "$@" >build.log 2>&1 && [[ -x a ]]; then
		hide_rules a hidden
		judge a rules -e "$every" -f 0
		judge hidden moments -e "$every" -f 0
		judge hidden each -e 0 -f 1
		python3 - "$name" <<'PY'
import json, sys
line = "%-14s" % sys.argv[1]
for what in "rules", "moments", "each":
    it = json.load(open(what + ".json"))
    all_samples = max(it["samples"], 1)
    share = lambda *keys: 100 * sum(it.get(key, 0) for key in keys) / all_samples
    line += " | %5d %6.2f%% %5.2f%% %5.2f%% %4d" % (
        it["samples"], share("exact"), share("guessed", "exact_guessed"), share("cut"),
        it.get("wrong", 0))
    with open("../all", "a", encoding="ascii") as file:
        file.write("%s %d %d\n" % (what, it["samples"], it.get("wrong", 0)))
print(line, flush=True)
PY
	else
		printf '%-14s could not be built: %s\n' "$name" "$(grep -v warning build.log | tail -n 1)"
	fi
	[[ -n ${JUDGE_KEEP:-} ]] && mkdir -p "$JUDGE_KEEP" && rm -rf "${JUDGE_KEEP:?}/$name" &&
		cp -r . "$JUDGE_KEEP/$name"
	cd .. && rm -rf "$name"
}

# ---- programs: each does its work within some million instructions ----

source_shapes() { cp "$SHAPES" a.c; }
source_sqlite() {
	cat >a.c <<'C'
#include <sqlite3.h>
static int each(void *c, int n, char **v, char **k) { (void)c; (void)k; return n < 1 || !v[0]; }
int main(void) {
	sqlite3 *db;
	sqlite3_open(":memory:", &db);
	sqlite3_exec(db, "create table t(a, b); with recursive c(x) as (select 1 union all select x+1 from c limit 3000) insert into t select x, x * 7919 % 103 from c; create index i on t(b);", 0, 0, 0);
	return sqlite3_exec(db, "select b, count(*), sum(a), group_concat(a) from t where a like '%7%' group by b order by 2 limit 30;", each, 0, 0);
}
C
}
source_zlib() {
	cat >a.c <<'C'
#include <stdio.h>
#include <string.h>
#include <zlib.h>
int main(void) {
	static char text[60000], packed[70000], back[60000];
	for (int i = 0, n = 0; n < 59000; i++) n += sprintf(text + n, "%d %x\n", i * 7919 % 997, i);
	uLongf len = sizeof(packed), out = sizeof(back);
	for (int level = 1; level < 10; level += 4) {
		len = sizeof(packed); out = sizeof(back);
		compress2((Bytef *)packed, &len, (Bytef *)text, sizeof(text), level);
		uncompress((Bytef *)back, &out, (Bytef *)packed, len);
	}
	return memcmp(text, back, sizeof(text)) != 0;
}
C
}
source_zstd() {
	cat >a.c <<'C'
#include <stdio.h>
#include <zstd.h>
int main(void) {
	static char text[60000], packed[70000], back[60000];
	for (int i = 0, n = 0; n < 59000; i++) n += sprintf(text + n, "%d %x\n", i * 7919 % 997, i);
	for (int level = 1; level < 16; level += 7) {
		size_t len = ZSTD_compress(packed, sizeof(packed), text, sizeof(text), level);
		ZSTD_decompress(back, sizeof(back), packed, len);
	}
	return 0;
}
C
}
source_lzma() {
	cat >a.c <<'C'
#include <lzma.h>
#include <stdio.h>
int main(void) {
	static unsigned char text[30000], packed[40000], back[30000];
	for (int i = 0, n = 0; n < 29000; i++) n += sprintf((char *)text + n, "%d %x\n", i * 7919 % 997, i);
	size_t len = 0, at = 0, out = 0;
	uint64_t limit = 1 << 28;
	lzma_easy_buffer_encode(6, LZMA_CHECK_SHA256, 0, text, sizeof(text), packed, &len, sizeof(packed));
	return lzma_stream_buffer_decode(&limit, 0, 0, packed, &at, len, back, &out, sizeof(back));
}
C
}
source_bzip2() {
	cat >a.c <<'C'
#include <bzlib.h>
#include <stdio.h>
int main(void) {
	static char text[30000], packed[40000], back[30000];
	for (int i = 0, n = 0; n < 29000; i++) n += sprintf(text + n, "%d %x\n", i * 7919 % 997, i);
	unsigned len = sizeof(packed), out = sizeof(back);
	BZ2_bzBuffToBuffCompress(packed, &len, text, sizeof(text), 9, 0, 30);
	return BZ2_bzBuffToBuffDecompress(back, &out, packed, len, 0, 0);
}
C
}
source_lua() {
	cat >a.c <<'C'
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
int main(void) {
	lua_State *L = luaL_newstate();
	luaL_openlibs(L);
	return luaL_dostring(L, "local t = {} for i = 1, 3000 do t[#t + 1] = ('%d-%s'):format(i * 7919 % 997, ('x'):rep(i % 7)) end table.sort(t, function(a, b) return a:reverse() < b:reverse() end) local n = 0 for k, v in ipairs(t) do n = n + #v:gsub('(%d+)-', '%1+') if k % 50 == 0 then pcall(error, v) end end local c = coroutine.wrap(function() for i = 1, 200 do coroutine.yield(i) end end) for i = 1, 100 do c() end");
}
C
}
source_pcre2() {
	cat >a.c <<'C'
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>
int main(void) {
	static const char *const patterns[] = {"(a|b)*c(d+)e?(\\w+\\s*)+z", "(?i)foo|b(a)r|x.*?y", "\\b(\\d{2,4})-(?<n>\\w+)\\b"};
	static char text[1000];
	for (int i = 0; i < 50; i++) strcat(text, "abcdd xyz Foo bar 2024-x ");
	int found = 0;
	for (int k = 0; k < 12; k++) {
		int error; PCRE2_SIZE at = 0;
		pcre2_code *code = pcre2_compile((PCRE2_SPTR)patterns[k % 3], PCRE2_ZERO_TERMINATED, 0, &error, &at, 0);
		pcre2_match_data *match = pcre2_match_data_create_from_pattern(code, 0);
		for (at = 0; at < 1000; at += 97) found += pcre2_match(code, (PCRE2_SPTR)text, strlen(text), at % strlen(text), 0, match, 0);
	}
	return found == 12345;
}
C
}
source_gmp() {
	cat >a.c <<'C'
#include <gmp.h>
int main(void) {
	mpz_t a, b, c;
	mpz_inits(a, b, c, NULL);
	for (unsigned n = 10; n < 3000; n = n * 3 / 2) {
		mpz_ui_pow_ui(a, 3, n * 20); mpz_ui_pow_ui(b, 7, n * 5);
		mpz_mul(c, a, b); mpz_tdiv_q(a, c, b); mpz_powm_ui(c, b, 17, a); mpz_sqrt(c, a); mpz_gcd(a, a, c);
	}
	return (int)mpz_sizeinbase(c, 10) == 3;
}
C
}
source_crypto() {
	cat >a.c <<'C'
#include <openssl/evp.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/obj_mac.h>
int main(void) {
	static unsigned char in[20000], out[20100], md[64];
	unsigned n; int len;
	const EVP_MD *digests[] = {EVP_sha256(), EVP_sha512(), EVP_sha1(), EVP_md5(), EVP_sha3_256()};
	for (int i = 0; i < 5; i++) EVP_Digest(in, sizeof(in), md, &n, digests[i], 0);
	const EVP_CIPHER *ciphers[] = {EVP_aes_128_cbc(), EVP_aes_256_ctr(), EVP_chacha20(), EVP_aes_128_gcm()};
	for (int i = 0; i < 4; i++) { EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new(); EVP_EncryptInit(c, ciphers[i], md, md); EVP_EncryptUpdate(c, out, &len, in, sizeof(in)); EVP_CIPHER_CTX_free(c); }
	BN_CTX *x = BN_CTX_new(); BIGNUM *a = BN_new(), *p = BN_new();
	BN_set_word(a, 7); BN_set_bit(p, 1023); BN_set_bit(p, 0); BN_mod_exp(a, a, p, p, x);
	EC_GROUP *g = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1); EC_POINT *q = EC_POINT_new(g);
	EC_POINT_mul(g, q, a, 0, 0, x);
	return 0;
}
C
}
source_expat() {
	cat >a.c <<'C'
#include <expat.h>
#include <string.h>
static int depth;
static void begin(void *c, const XML_Char *n, const XML_Char **a) { (void)c; (void)a; depth += (int)strlen(n); }
static void end(void *c, const XML_Char *n) { (void)c; depth -= (int)strlen(n); }
int main(void) {
	XML_Parser p = XML_ParserCreate(0);
	XML_SetElementHandler(p, begin, end);
	XML_Parse(p, "<all>", 5, 0);
	for (int i = 0; i < 300; i++) { static const char s[] = "<row a='1' b=\"two\"><c>text &amp; more</c><!-- note --><d/></row>"; XML_Parse(p, s, sizeof(s) - 1, 0); }
	return XML_Parse(p, "</all>", 6, 1) != XML_STATUS_OK;
}
C
}
source_tcl() {
	cat >a.c <<'C'
#include <tcl8.6/tcl.h>
int main(void) {
	Tcl_Interp *t = Tcl_CreateInterp();
	return Tcl_Eval(t, "proc fib n { if {$n < 2} { return $n }; expr {[fib [expr {$n-1}]] + [fib [expr {$n-2}]]} }; fib 11; set l {}; for {set i 0} {$i < 200} {incr i} { lappend l [string range [expr {$i * 7919 % 997}] 0 2] }; lsort -command {string compare} $l; regexp {(\\d+) (\\d+)} $l");
}
C
}
source_glibc() {
	cat >a.c <<'C'
#include <math.h>
#include <regex.h>
#include <search.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static jmp_buf back;
static int by_text(const void *a, const void *b) { return strcmp(a, b); }
__attribute__((noinline)) static void leave(int n) { if (n > 3) longjmp(back, n); }
int main(void) {
	static char rows[200][24]; char b[200]; regex_t r; double s = 0; time_t now = 1700000000;
	for (int i = 0; i < 200; i++) { sprintf(rows[i], "%d-%g-%s", i * 7919 % 311, i * 0.37, "x"); s += strtod(rows[i], 0) + sin(i) + pow(i, 0.3); }
	qsort(rows, 200, 24, by_text);
	for (int i = 0; i < 10; i++) if (!setjmp(back)) leave(i);
	regcomp(&r, "([0-9]+)-(.*)x$", REG_EXTENDED);
	for (int i = 0; i < 60; i++) s += regexec(&r, rows[i], 0, 0, 0);
	void *root = 0;
	for (int i = 0; i < 200; i++) tsearch(rows[i], &root, by_text);
	strftime(b, sizeof(b), "%c", localtime(&now));
	for (int i = 0; i < 100; i++) { char *p = malloc((size_t)i * 37); p = realloc(p, (size_t)i * 91 + 1); free(p); }
	return snprintf(b, sizeof(b), "%f %s %Lf", s, b, (long double)s) == 0;
}
C
}
source_maps() {
	cat >a.cc <<'C'
#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
struct shape { virtual ~shape() {} virtual double area() const = 0; };
struct square : virtual shape { double a; explicit square(double v) : a(v) {} double area() const override { return a * a; } };
int main() {
	std::map<std::string, int> m; std::unordered_map<int, std::string> u; std::vector<shape *> shapes; std::ostringstream o;
	for (int i = 0; i < 600; i++) { m[std::to_string(i * 7919 % 311)]++; u[i] = std::string((size_t)i % 50, 'x'); shapes.push_back(new square(i)); }
	std::sort(shapes.begin(), shapes.end(), [](shape *a, shape *b) { return a->area() * 7 > b->area() * 7; });
	for (auto &p : m) o << p.first << p.second << 1.5;
	std::regex r("([0-9]+)x?"); std::smatch s; std::string t = o.str().substr(0, 60);
	return std::regex_search(t, s, r) ? 0 : 1;
}
C
}
source_rust() {
	cat >a.rs <<'R'
use std::collections::{BTreeMap, HashMap};
fn main() {
    let mut b = BTreeMap::new(); let mut h = HashMap::new();
    for i in 0..2000u64 { *b.entry(i * 7919 % 1009).or_insert(0) += i; h.insert(format!("{}-{:?}", i, Some(i as f64 / 3.0)), vec![i; (i % 9) as usize]); }
    let mut k: Vec<_> = h.keys().cloned().collect(); k.sort_by(|a, b| a.len().cmp(&b.len()).then(b.cmp(a)));
    let d: Box<dyn Fn(u64) -> u64> = Box::new(move |n| k[n as usize % k.len()].len() as u64);
    println!("{}", b.values().map(|v| d(*v)).sum::<u64>());
}
R
}
source_ocaml() { echo 'module M = Map.Make(String) let rec fib n = if n < 2 then n else fib (n-1) + fib (n-2) let () = let m = ref M.empty in for i = 1 to 800 do m := M.add (string_of_int (i * 7919 mod 997)) i !m done; M.iter (fun k v -> if v > 790 then print_endline (Printf.sprintf "%s %f" k (float v))) !m; (try failwith "x" with Failure _ -> ()); ignore (List.sort compare (List.init 500 (fun i -> i * 7919 mod 503))); print_int (fib 16)' >a.ml; }
source_fortran() { printf 'program a\n real(8) :: x(12,12), y(12,12)\n integer :: i\n character(80) :: s\n call random_number(x)\n do i = 1, 12\n  y = matmul(x, x)\n  x = y / maxval(y)\n  write(s, *) x(1,1), i\n end do\n print *, s\nend program\n' >a.f90; }
source_ada() { printf 'with Ada.Text_IO; use Ada.Text_IO;\nprocedure A is\n  function Fib (N : Integer) return Integer is\n  begin\n    if N < 2 then return N; end if;\n    return Fib (N - 1) + Fib (N - 2);\n  end Fib;\nbegin\n  for I in 1 .. 200 loop Put_Line (Integer (I)'"'"'Image); end loop;\n  Put_Line (Fib (17)'"'"'Image);\nend A;\n' >a.adb; }
source_d() { printf 'import core.stdc.stdio;\nint fib(int n) { return n < 2 ? n : fib(n-1) + fib(n-2); }\nvoid main() { int[string] m; foreach (i; 0 .. 500) { char[] k = "k".dup; k ~= cast(char)(i %% 90 + 33); m[k.idup] += i; } printf("%%d %%d\\n", fib(16), cast(int)m.length); }\n' >a.d; }
source_nim() { printf 'import std/[tables, strutils, algorithm]\nvar t = initTable[string, int]()\nfor k in 0 .. 900: t[intToStr(k * 7919 mod 499)] = k\nvar s: seq[string]\nfor k in t.keys: s.add k.toUpperAscii.repeat(2)\ns.sort()\necho s.join(",").len\n' >a.nim; }
source_pascal() { printf 'program a;\nuses sysutils;\nfunction fib(n: longint): longint; begin if n < 2 then fib := n else fib := fib(n-1)+fib(n-2); end;\nvar i: longint; s: string;\nbegin s := %s; for i := 1 to 300 do s := copy(s + inttostr(i * 7919 mod 997), 1, 200); writeln(s, fib(16)); end.\n' "''" >a.pas; }

echo "                    rules: right guessed  cut wrong | hidden, random moments         | hidden, each instruction"
every=300
row shapes-O2 gcc -w -D_GNU_SOURCE -O2 -static a.c -o a
row shapes-O3 gcc -w -D_GNU_SOURCE -O3 -static a.c -o a
row shapes-Os gcc -w -D_GNU_SOURCE -Os -static a.c -o a
row shapes-O0 gcc -w -D_GNU_SOURCE -O0 -fomit-frame-pointer -static a.c -o a
row shapes-fp gcc -w -D_GNU_SOURCE -O2 -fno-omit-frame-pointer -static a.c -o a
row shapes-hard gcc -w -D_GNU_SOURCE -O2 -fcf-protection=full -fstack-clash-protection -fstack-protector-all -static a.c -o a
row shapes-clang2 clang -w -D_GNU_SOURCE -O2 -static a.c -o a
row shapes-clangs clang -w -D_GNU_SOURCE -Os -static a.c -o a
row shapes-clang0 clang -w -D_GNU_SOURCE -O0 -fomit-frame-pointer -static a.c -o a
row glibc gcc -w -O2 -static a.c -o a -lm
every=300
row sqlite gcc -w -O2 -static a.c -o a -lsqlite3 -lm -lz
row zlib gcc -w -O2 -static a.c -o a -lz
row zstd gcc -w -O2 -static a.c -o a -lzstd
row lzma gcc -w -O2 -static a.c -o a -llzma -lpthread
row bzip2 gcc -w -O2 -static a.c -o a -lbz2
row lua gcc -w -O2 -static -I/usr/include/lua5.4 a.c -o a -llua5.4 -lm
row pcre2 gcc -w -O2 -static a.c -o a -lpcre2-8
row gmp gcc -w -O2 -static a.c -o a -lgmp
row crypto gcc -w -O2 -static a.c -o a -lcrypto -lpthread
row expat gcc -w -O2 -static a.c -o a -lexpat
row tcl gcc -w -O2 -static a.c -o a -ltcl8.6 -lz -lm -lpthread
row maps g++ -w -O2 -static a.cc -o a
row maps-clang clang++ -w -O3 -static a.cc -o a
row rust rustc -O -C target-feature=+crt-static -C relocation-model=static a.rs -o a
row ocaml ocamlopt -ccopt -static a.ml -o a
row fortran gfortran -O2 -static a.f90 -o a
row ada gnatmake -O2 a.adb -bargs -static -largs -static
row d ldc2 -O -static -of=a a.d
row nim nim c -d:release --nimcache:nimcache --hints:off --passL:-static a.nim
row pascal fpc -O2 -Xs- a.pas

awk '{ all[$1] += $2; wrong[$1] += $3 } END { n = split("rules moments each", k)
	for (i = 1; i <= n; i++) printf "%-8s %6d samples, wrong %d (%.3f %%)\n", k[i], all[k[i]],
		wrong[k[i]], 100 * wrong[k[i]] / (all[k[i]] ? all[k[i]] : 1) }' all
