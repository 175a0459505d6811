#!/bin/sh
# Records a program of known shape and has pprof, and the rules of flamegraph.pl,
# judge what `ebprof convert` makes of it. EBPROF names the binary. Prints a line
# a check: ok NAME, not ok NAME REASON, skip NAME REASON; fails when a check did.
# Beside others: what else the machine does changes nothing here.
# shellcheck disable=SC2016,SC2317 # what stands in single quotes is for sh -c and awk

ebprof=${EBPROF:-build/ebprof}
case $ebprof in
*/*) ebprof=$(cd "$(dirname "$ebprof")" && pwd)/$(basename "$ebprof") ;;
esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export PPROF_TMPDIR="$dir" HOME="$dir"
failed=0

# check NAME REASON COMMAND...: the command must succeed.
check() {
	name=$1 reason=$2
	shift 2
	if "$@"; then
		echo "ok $name"
	else
		echo "not ok $name $reason"
		failed=1
	fi
}

skip_all() {
	echo "skip pprof $1"
	exit 0
}

[ "$(id -u)" = 0 ] || skip_all "recording needs root"
command -v "${CC:-cc}" >/dev/null || skip_all "there is no C compiler"

# hot() and cold() share the time 3 : 1, by a clock of this thread's CPU time,
# so that neither the machine's speed nor its other load change the shares.
cat >shape.c <<'END'
#include <time.h>

static volatile unsigned long sink;

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline)) static void hot(double end_s)
{
	while (cpu_s() < end_s)
		for (int i = 0; i < 100000; i++)
			sink += (unsigned long)i * sink;
	sink++;
}

__attribute__((noinline)) static void cold(double end_s)
{
	while (cpu_s() < end_s)
		for (int i = 0; i < 100000; i++)
			sink += (unsigned long)i * sink;
	sink++;
}

int main(void)
{
	for (int i = 0; i < 15; i++) {
		hot(cpu_s() + 0.075);
		cold(cpu_s() + 0.025);
	}
	return 0;
}
END
"${CC:-cc}" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o shape shape.c ||
	skip_all "the workload does not compile"
if ! "$ebprof" record -F 999 -o shape.data -- ./shape 2>record.log; then
	echo "not ok record $(tail -n 1 record.log)"
	exit 1
fi
echo "ok record"

# ---- folded ----

check folded "convert failed" "$ebprof" convert --folded -o shape.folded shape.data 2>/dev/null
check folded_has_lines "no line" test -s shape.folded

# What speedscope takes, and what flamegraph.pl does not ignore or take for two columns.
no_bad_line() {
	! grep -Evn '^[^;[:cntrl:]]+(;[^;[:cntrl:]]+)* [0-9]+$' shape.folded &&
		! grep -En ' [0-9.]+ [0-9]+$' shape.folded && ! grep -Fn ';;' shape.folded
}
check folded_rules "a line that readers would ignore" no_bad_line
check folded_is_sorted_and_distinct "twice the same stack" \
	sh -c '[ -z "$(sed "s/ [0-9]*$//" shape.folded | sort | uniq -d)" ]'
samples=$("$ebprof" info shape.data | sed -n 's/^samples *\([0-9]*\).*/\1/p')
check folded_counts_every_sample "the sum is not $samples" \
	awk -v want="$samples" '{ sum += $NF } END { exit sum != want }' shape.folded

# share FILE NAME: percent of the stacks through the function.
share() {
	awk -v name=";$2[; ]" '{ all += $NF } $0 ~ name { in_it += $NF }
		END { printf "%.2f", all ? 100 * in_it / all : 0 }' "$1"
}

# near PERCENT WANTED: within 3 points.
near() {
	awk -v got="$1" -v want="$2" 'BEGIN { exit !(got >= want - 3 && got <= want + 3) }'
}
hot=$(share shape.folded hot)
check folded_share "hot has $hot %, not 75" near "$hot" 75
check folded_gz "not what the plain one holds" sh -c \
	'"$1" convert --folded -o shape.folded.gz shape.data 2>/dev/null &&
		gzip -dc shape.folded.gz | cmp - shape.folded' - "$ebprof"
# Debian has it as a part of libdevel-nytprof-perl.
flamegraph=$(command -v flamegraph.pl || ls /usr/share/perl5/Devel/NYTProf/flamegraph.pl 2>/dev/null)
if [ -n "$flamegraph" ]; then
	perl "$flamegraph" shape.folded 2>flame.log >flame.svg
	check flamegraph "$(cat flame.log)" test ! -s flame.log
else
	echo "skip flamegraph flamegraph.pl is not installed (libdevel-nytprof-perl)"
fi

check folded_by_process "another root" sh -c '
	"$1" convert --folded --by process,cpu shape.data 2>/dev/null >by.folded
	[ -s by.folded ] && ! grep -Ev "^[^;]*:[0-9]+;CPU:[0-9]+[; ]" by.folded' - "$ebprof"
check by_is_checked "taken" sh -c '
	"$1" convert --folded --by process,moon shape.data >/dev/null 2>by.log
	[ $? = 2 ] && grep -q moon by.log' - "$ebprof"

# ---- pprof ----

check pprof_convert "convert failed" "$ebprof" convert --pprof -o shape.pb.gz shape.data 2>/dev/null
check pprof_is_gzip "gzip refuses it" gzip -t shape.pb.gz
check pprof_repeats "two conversions differ" sh -c \
	'"$1" convert --pprof -o - shape.data | cmp - shape.pb.gz' - "$ebprof"
go tool pprof -h >/dev/null 2>&1
if [ $? -gt 2 ] || ! command -v go >/dev/null; then
	echo "skip pprof go tool pprof is not installed"
	exit $failed
fi

# pprof_says NAME ARGUMENTS...: output in NAME.out, and not a word of warning.
pprof_says() {
	out=$1
	shift
	go tool pprof "$@" >"$out.out" 2>"$out.err" && [ ! -s "$out.err" ]
}
for view in top raw traces tags; do
	check "pprof_$view" "$(head -n 1 $view.err 2>/dev/null)" pprof_says $view -$view shape.pb.gz
done

top_share() {
	awk -v name="$2" '$6 == name { sub("%", "", $5); print $5 }' "$1"
}
hot=$(top_share top.out hot)
check pprof_share "hot has ${hot:-no} %, not 75" near "${hot:-0}" 75
check pprof_default_type "it is not cpu" grep -q '^Type: cpu$' top.out
check pprof_main_binary "it is not the program" grep -q '^File: shape$' top.out

# A driver that spawns programs, as gcc does: its child, which has the samples, is the main one.
cat >driver.c <<'END'
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

int main(void)
{
	for (int i = 0; i < 21; i++) {
		char *stage[] = {"./stage", 0}, *shape[] = {"./shape", 0};
		char **child = i == 10 ? shape : stage;
		pid_t pid;
		if (posix_spawn(&pid, child[0], 0, 0, child, environ))
			return 1;
		waitpid(pid, 0, 0);
	}
	return 0;
}
END
"${CC:-cc}" -o driver driver.c && echo 'int main(void) { return 0; }' >stage.c &&
	"${CC:-cc}" -o stage stage.c
check driver_record "recording failed" "$ebprof" record -q -F 9999 -o driver.data -- ./driver
check driver_convert "convert failed" "$ebprof" convert --pprof -o driver.pb.gz driver.data
pprof_says driver -top driver.pb.gz
check pprof_main_of_a_driver "$(grep ^File: driver.out)" grep -q '^File: shape$' driver.out
check pprof_tag_comm "the comm is missing" grep -q ': shape$' tags.out
check pprof_period "it is not that of 999 Hz" grep -q '^Period: 1001001$' raw.out
check pprof_samples "their sum is not $samples" awk -v want="$samples" '
	/^Samples:/ { on = 1; next } /^Locations/ { on = 0 }
	on && $2 ~ /:$/ { sum += $1 } END { exit sum != want }' raw.out
check pprof_address "nm has hot elsewhere" sh -c '
	start=$(nm shape | sed -n "s/ t hot$//p")
	size=$(nm -S shape | sed -n "s/^[0-9a-f]* \([0-9a-f]*\) t hot$/\1/p")
	addresses=$(grep " hot " raw.out | grep -o "0x[0-9a-f]*")
	[ -n "$addresses" ] || exit 1
	for address in $addresses; do
		[ $((address)) -ge $((0x$start)) ] &&
			[ $((address)) -lt $((0x$start + 0x$size)) ] || exit 1
	done'
pprof_says diff -top -diff_base shape.pb.gz shape.pb.gz
check pprof_diff "a profile differs from itself" grep -Eq '^Showing nodes accounting for 0,' diff.out
check pprof_cpu_label "no CPU" sh -c \
	'"$1" convert --pprof --labels cpu -o cpu.pb.gz shape.data 2>/dev/null &&
		go tool pprof -tags cpu.pb.gz 2>/dev/null | grep -q "cpu:"' - "$ebprof"

exit $failed
