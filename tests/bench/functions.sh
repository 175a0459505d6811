#!/bin/bash
# Functions of stripped files: how many leaves have none, of programs as Debian ships them, without
# debug files; and whether the hottest function of a stripped file has the share that it has by the
# symbols, in the same recording, of 20 programs. A line a figure, and what is aimed at beside it;
# nothing is asserted.
#   EBPROF=PATH functions.sh
set -u
ebprof=${EBPROF:?path of the ebprof binary}
seconds=${FUNCTIONS_SECONDS:-2}
work=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
if [ "$(id -u)" != 0 ]; then echo "needs root"; exit 1; fi
export DEBUGINFOD_URLS=

line() { printf '%-58s %12s %-36s %s\n' "$1" "$2" "$3" "$4"; }

# The recorder ends as the command does; the shell need not tell.
record() ( # FILE COMMAND...
	file=$1
	shift
	"$ebprof" record -q -F 997 --duration "$seconds" -o "$file" -- timeout -s KILL "$((seconds + 1))" "$@" \
		</dev/null >/dev/null 2>&1
	:
) 2>/dev/null

# ---- leaves without a function ----

head -c 20000000 /dev/urandom | base64 >text
seq 1 2000000 | shuf --random-source=text >numbers
git init -q repository && cp text repository && git -C repository add text 2>/dev/null

# "ALL WITHOUT": samples of the program's own leaves, and those of an address that no function has.
leaves() { # COMM COMMAND...
	local comm=$1
	shift
	record leaves.data "$@"
	"$ebprof" convert --folded --no-kernel -i leaves.data -o leaves.folded >/dev/null 2>&1 ||
		"$ebprof" convert --folded -i leaves.data -o leaves.folded >/dev/null 2>&1
	awk -v comm="$comm" '
		$0 ~ "^" comm { n = $NF; sub(/ [0-9]+$/, ""); leaf = $0; sub(/.*;/, "", leaf)
			all += n; if (leaf ~ /[+]0x[0-9a-f]+$|^0x[0-9a-f]+$|\[unknown\]/) without += n }
		END { printf "%d %d\n", all, without }' leaves.folded
}
all_leaves=0 all_without=0 # of all programs
programs() {
	cat <<-'LIST'
		xz xz -T1 -9 -k -c text
		zstd zstd -19 -T1 -c text
		gzip gzip -9 -c text
		bzip2 bzip2 -9 -c text
		openssl openssl speed -seconds 9 sha256
		git git -C repository gc --aggressive --quiet
		sort sort --parallel=1 numbers
		awk awk '{ s += length($0) } END { print s }' text text text text text text
		sed sed -E s/(a|b)*c/x/g text
		grep grep -cE (ab|cd)+ef text
		perl perl -e 1 while "x" x 1000 =~ /(x+x+)+y/
		sqlite3 sqlite3 :memory: WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 90000000) SELECT sum(x) FROM c
		md5sum md5sum text text text text text text text text text text text text text text text text
		base64 base64 text
	LIST
}
while read -r comm tool rest; do
	if ! command -v "$tool" >/dev/null; then
		line "$comm: leaves without a function" "-" "" "not installed"
		continue
	fi
	# Words of the list are arguments, but for those that belong together.
	case $comm in
	awk) set -- "$tool" '{ for (i = 0; i < 50; i++) s += length($0 i) } END { print s }' text ;;
	sqlite3 | perl) set -- "$tool" "${rest%% *}" "${rest#* }" ;;
	*) read -r -a words <<<"$rest"; set -- "$tool" "${words[@]}" ;;
	esac
	read -r all without < <(leaves "$comm" "$@")
	[ "$all" -gt 0 ] || { line "$comm: leaves without a function" "-" "" "no samples"; continue; }
	all_leaves=$((all_leaves + all)) all_without=$((all_without + without))
	line "$comm: leaves without a function" \
		"$(awk -v a="$all" -v w="$without" 'BEGIN { printf "%.2f%%", 100 * w / a }')" "($without of $all)" "<= 1%"
done < <(programs)
line "all of them" "$(awk -v a=$all_leaves -v w=$all_without 'BEGIN { printf "%.2f%%", a ? 100 * w / a : 0 }')" \
	"($all_without of $all_leaves)" "<= 1%"

# ---- the hottest function ----

cat >sort.c <<'C'
#include <stdlib.h>
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void fill(int *v, int n) { unsigned x = 1; for (int i = 0; i < n; i++) v[i] = (int)((x = x * 1664525 + 1013904223) >> 8); }
static void insert(int *v, int n) { for (int i = 1; i < n; i++) { int x = v[i], k = i; for (; k && v[k - 1] > x; k--) v[k] = v[k - 1]; v[k] = x; } }
int main(void) { static int v[3000]; for (;;) { fill(v, 3000); insert(v, 3000); fill(v, 3000); qsort(v, 3000, sizeof(*v), order); } }
C
cat >matrix.c <<'C'
static double a[120][120], b[120][120], c[120][120];
__attribute__((noinline)) static void multiply(void) { for (int i = 0; i < 120; i++) for (int k = 0; k < 120; k++) for (int j = 0; j < 120; j++) c[i][j] += a[i][k] * b[k][j]; }
__attribute__((noinline)) static void turn(void) { for (int i = 0; i < 120; i++) for (int j = 0; j < 120; j++) a[i][j] = c[j][i] * 0.5 + 1; }
int main(void) { for (;;) { multiply(); turn(); for (int i = 0; i < 40; i++) turn(); } }
C
cat >hash.c <<'C'
static unsigned long table[1 << 16];
__attribute__((noinline)) static unsigned long mix(unsigned long x) { for (int i = 0; i < 8; i++) { x ^= x >> 31; x *= 0x9e3779b97f4a7c15UL; } return x; }
__attribute__((noinline)) static void put(unsigned long x) { unsigned long i = x & 0xffff; for (int k = 0; k < 64 && table[i] != x && table[i]; k++) i = (i + 1) & 0xffff; table[i] = x; }
int main(void) { for (unsigned long i = 0;; i++) { unsigned long h = mix(i); put(h); } }
C
cat >sieve.c <<'C'
static unsigned char marks[1 << 20];
__attribute__((noinline)) static void mark(int n) { for (int i = 2 * n; i < 1 << 20; i += n) marks[i] = 1; }
__attribute__((noinline)) static int count(void) { int n = 0; for (int i = 2; i < 1 << 20; i++) n += !marks[i]; return n; }
__attribute__((noinline)) static void clear(void) { for (int i = 0; i < 1 << 20; i++) marks[i] = 0; }
int main(void) { volatile int sink = 0; for (;;) { clear(); for (int i = 2; i < 1024; i++) if (!marks[i]) mark(i); sink += count(); } }
C
cat >text.c <<'C'
#include <string.h>
static char text[1 << 14];
__attribute__((noinline)) static int words(void) { int n = 0, in = 0; for (unsigned i = 0; i < sizeof(text); i++) { int is = text[i] != ' '; n += is && !in; in = is; } return n; }
__attribute__((noinline)) static void turn(void) { for (unsigned i = 0, j = sizeof(text) - 1; i < j; i++, j--) { char c = text[i]; text[i] = text[j]; text[j] = c; } }
__attribute__((noinline)) static int find(void) { int n = 0; for (unsigned i = 0; i + 3 < sizeof(text); i++) n += text[i] == 'a' && text[i + 1] == 'b' && text[i + 2] == 'c'; return n; }
int main(void) { volatile int sink = 0; for (unsigned i = 0; i < sizeof(text); i++) text[i] = "abc de "[i * 7 % 7]; for (;;) { sink += words() + find(); turn(); } }
C

# "NAME SHARE" of the hottest function of the program itself, in the recording.
hottest() { # PROGRAM OPTION...
	"$ebprof" convert --folded "${@:2}" -i hot.data -o hot.folded >/dev/null 2>&1
	awk -v comm="$1" '
		$0 ~ "^" comm ";" && !/_\[k\] [0-9]+$/ { n = $NF; sub(/ [0-9]+$/, ""); leaf = $0; sub(/.*;/, "", leaf)
			sub(/_\[i\]$/, "", leaf); all += n; of[leaf] += n }
		END { for (f in of) if (of[f] > most) { most = of[f]; name = f }
			sub("^" comm " ", "", name); printf "%s %.2f\n", name, all ? 100 * most / all : 0 }' hot.folded
}
programs=0 near=0 worst=0
for source in sort matrix hash sieve text; do
	for way in "gcc -O1" "gcc -O2" "gcc -O3 -flto" "clang -O2"; do
		command -v "${way%% *}" >/dev/null || continue
		name=$source-$(tr -dc 'a-zO0-9' <<<"$way")
		$way -o "${name:0:13}" $source.c 2>/dev/null || continue
		name=${name:0:13}
		strip -o "$name.s" "$name"
		mkdir -p "symbols$PWD" && mv "$name" "symbols$PWD/$name.s"
		record hot.data "./$name.s"
		read -r symbol share < <(hottest "$name.s" --symfs "$PWD/symbols")
		read -r found share_of_copy < <(hottest "$name.s")
		start=$(nm "symbols$PWD/$name.s" | awk -v s="$symbol" '$3 == s { sub(/^0+/, "", $1); print "fn_" $1 }')
		apart=$(awk -v a="$share" -v b="$share_of_copy" 'BEGIN { d = a - b; printf "%.2f", d < 0 ? -d : d }')
		programs=$((programs + 1))
		is_same=no
		[[ $found == "$start" ]] && is_same=yes
		if [[ $is_same == yes ]] && awk -v d="$apart" 'BEGIN { exit !(d <= 1) }'; then
			near=$((near + 1))
		else
			line "$name: $symbol $share%, stripped $found $share_of_copy%" "$apart" "(the same: $is_same)" "<= 1"
		fi
		worst=$(awk -v w="$worst" -v d="$apart" 'BEGIN { print(d > w ? d : w) }')
	done
done
line "the hottest function, stripped: the same, within a point" "$near" "(of $programs; most apart $worst points)" "all"
