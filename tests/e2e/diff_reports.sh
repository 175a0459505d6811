#!/bin/bash
# What `diff` writes for CI, of real recordings whose functions have hostile names: XML by a schema,
# markdown by GitHub's own parser, annotations by the runner's rules, the pages of convert, the TUI.
# Beside others: what else the machine does changes nothing here.
# shellcheck disable=SC2016
. "$(dirname "$0")/prelude.bash"
. "$here/terminal.bash"

# By the second: the same shares on a slow machine.
build_versions() {
	command -v "${CC:-cc}" >/dev/null || skip "no C compiler here"
	command -v objcopy >/dev/null || skip "no objcopy here"
	mkdir -p old new
	cat >version.c <<-'END'
		#include <time.h>

		static volatile unsigned long sink;

		static inline __attribute__((always_inline)) double cpu_s(void)
		{
			struct timespec now;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
			return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
		}

		#define SPINS(name) \
			__attribute__((noinline)) void name(double seconds) \
			{ \
				for (double end = cpu_s() + seconds; cpu_s() < end;) \
					for (int i = 0; i < 100000; i++) \
						sink += (unsigned long)i * sink; \
				sink++; \
			}

		#ifdef OTHER_IS_HERE
		SPINS(other)
		#else
		void other(double seconds);
		#endif

		#ifdef WORK
		SPINS(work)
		SPINS(same)
		SPINS(marked)
		SPINS(cell)
		SPINS(begins)

		int main(void)
		{
			for (int i = 0; i < 10; i++) {
				work(WORK);
				same(0.06);
				marked(0.03);
				cell(0.03);
				begins(0.03);
				other(OTHER);
			}
			return 0;
		}
		#endif
	END
	local flags=(-O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls)
	# other() has another name in the new one, and stands in a library: of one object it would be
	# taken for the old function, written anew (report/compare/replacement.h).
	"${CC:-cc}" "${flags[@]}" -DWORK=0.06 -DOTHER=0.03 -DOTHER_IS_HERE -c -o old.o "$PWD/version.c" &&
		"${CC:-cc}" "${flags[@]}" -DWORK=0.15 -DOTHER=0.015 -c -o new.o "$PWD/version.c" &&
		"${CC:-cc}" "${flags[@]}" -fPIC -DOTHER_IS_HERE -c -o library.o "$PWD/version.c" || skip "the workload does not compile"
	build_hostile old 'gone &&'
	objcopy --redefine-sym other='fresh %25' library.o && "${CC:-cc}" -shared -o new/library.so library.o ||
		skip "the linker refuses such names"
	build_hostile new 'fresh %25' "$PWD/new/library.so"
}

build_hostile() { # SIDE NAME [LIBRARY]
	objcopy --redefine-sym marked='a|b`c``d`<img src=x> [l](http://e.f) **x** www.e.f' \
		--redefine-sym cell='=HYPERLINK("http://e.f",1)' \
		--redefine-sym begins=$'y  ::error::z\n::error file=a::z##[error]v</failure>' \
		--redefine-sym other="$2" "$1.o" && "${CC:-cc}" -o "$1/program" "$1.o" ${3:+"$3"} ||
		skip "the linker refuses such names"
}

record_versions() {
	local side number
	for side in old new; do
		for number in '' 2; do
			run "$EBPROF" record -q -F 999 -o $side$number.data -- $side/program
			want_status 0 "record $side"
		done
	done
}

# old.data, new.data, old2.data, new2.data: once for all tests, beside whose folders the programs stay.
have_recordings() {
	(
		flock 9
		[[ -e "$shared_folder"/versions/recorded ]] && exit
		mkdir -p "$shared_folder"/versions
		cd "$shared_folder"/versions || exit
		build_versions && record_versions && : >recorded
	) 9>"$shared_folder"/versions.lock || {
		local why=$?
		[[ ! -e "$shared_folder"/versions/result ]] || cp "$shared_folder"/versions/result .
		exit $why
	}
	cp "$shared_folder"/versions/*.data .
	built=$(realpath "$shared_folder"/versions)
}

# No output of ours is a command for the reader of a job's log.
want_no_commands() { # FILE...
	! grep -nP '^[\s\x{80}-\x{ff}]*::|##\w*\[' "$@" || fail "a command in $*"
}

test_all_at_once() {
	have_recordings
	run "$EBPROF" diff --fail-on regression --json j.json --markdown m.md --junit j.xml --github=g.txt --gitlab q.json --csv c.csv \
		--html p.html --svg p.svg old.data new.data
	want_status 1 "a function that takes 2.5 times as long"
	grep -q '^REGRESSION: work takes' out || fail "it says $(head -n 2 out)"
	want_no_commands out err j.json q.json m.md j.xml c.csv
	want_no_control_bytes out j.json m.md j.xml g.txt p.svg
	for file in j.json q.json m.md j.xml g.txt c.csv p.html p.svg; do
		[[ -s $file ]] || fail "no $file"
	done
}

test_formats() {
	have_recordings
	local format
	for format in json markdown junit github gitlab csv; do
		run "$EBPROF" diff --format $format old.data new.data
		want_status 0 "$format"
		"$EBPROF" diff "--$format=file" -o text old.data new.data || fail "--$format failed"
		cmp -s out file || fail "--format $format and --$format differ"
	done
	run "$EBPROF" diff --github --limit 1 old.data new.data
	want_status 0 "annotations beside the text"
	grep -q '^::error ' out || fail "no annotation"
	grep -q '^REGRESSION: ' out || fail "no text"
}

test_junit() {
	command -v xmllint >/dev/null || skip "no xmllint here"
	have_recordings
	run "$EBPROF" diff --format junit old.data new.data
	want_status 0 diff
	mv out junit.xml
	xmllint --noout --nonet --schema "$here/junit.xsd" junit.xml 2>err || fail "$(head -n 3 err)"
	of() { xmllint --xpath "$1" junit.xml; }
	[[ $(of 'string(//testcase[starts-with(@name, "work (version.c, ")]/failure/@message)') == "takes "*" longer ("* ]] ||
		fail "work has not failed"
	[[ $(of 'string(//testcase[starts-with(@name, "fresh %25")]/failure/@message)') == "is new"* ]] ||
		fail "what is new has not failed"
	[[ $(of 'count(//testcase[starts-with(@name, "gone &&")]/*)') == 0 ]] 2>/dev/null || fail "gone is no pass"
	[[ $(of 'count(//testcase)') == "$(of 'number(//testsuite/@tests)')" ]] || fail "counts of tests differ"
	[[ $(of 'count(//failure)') == "$(of 'number(//testsuite/@failures)')" ]] || fail "counts of failures differ"
	[[ $(of 'count(//skipped)') == "$(of 'number(//testsuite/@skipped)')" ]] || fail "counts of skips differ"
	[[ $(of 'count(//testcase[contains(@name, "</failure>")])') == 1 ]] || fail "a name is not whole"
}

# GitHub renders markdown with this parser and these extensions.
test_markdown() {
	command -v cmark-gfm >/dev/null || skip "no cmark-gfm here"
	have_recordings
	run "$EBPROF" diff --format markdown old.data new.data
	want_status 0 diff
	mv out m.md
	[[ $(head -n 1 m.md) == '**REGRESSION**: `work` takes'* ]] || fail "it begins with $(head -n 1 m.md)"
	cmark-gfm --unsafe -e table -e autolink -e strikethrough m.md >m.html || fail "cmark-gfm failed"
	grep -oE '</?[a-zA-Z!][^ >]*' m.html | sort -u | tr -d '\n' >tags
	[[ $(sed 's|</|<|g; s|<|\n|g' tags | sort -u | tr '\n' ' ') == \
		" code details h3 p strong summary table tbody td th thead tr " ]] || fail "elements: $(cat tags)"
	[[ $(grep -c '<strong>' m.html) == 1 ]] || fail "a name is strong: $(grep '<strong>' m.html)"
	# Seven cells in each row, names in code.
	awk '/<tr>/ { cells = 0 } /<t[dh]/ { cells++ } /<\/tr>/ && cells != 7 { exit 1 }' m.html || fail "rows differ in cells"
	grep -qF '<code>a|b`c``d`&lt;img src=x&gt; [l](http://e.f) **x** www.e.f</code>' m.html ||
		fail "the name is not whole: $(grep -F 'img src' m.html)"
}

# Another command of the step has written there; any other file is replaced.
test_step_summary() {
	have_recordings
	echo 'of another command' | tee summary.md >other.md
	export GITHUB_STEP_SUMMARY=$PWD/summary.md
	run "$EBPROF" diff --markdown "$GITHUB_STEP_SUMMARY" old.data new.data
	want_status 0 diff
	[[ $(head -n 2 summary.md) == 'of another command' ]] || fail "replaced: $(head -n 2 summary.md)"
	[[ $(sed -n 3p summary.md) == '**REGRESSION**: '* ]] || fail "it begins with $(sed -n 3p summary.md)"
	run "$EBPROF" diff --markdown other.md old.data new.data
	[[ $(head -n 1 other.md) == '**REGRESSION**: '* ]] || fail "not replaced: $(head -n 1 other.md)"
	rm summary.md
	run "$EBPROF" diff --markdown "$GITHUB_STEP_SUMMARY" old.data new.data
	grep -q '^..REGRESSION' summary.md || fail "no report: $(cat err)"
	ln -sf other.md summary.md
	run "$EBPROF" diff --markdown "$GITHUB_STEP_SUMMARY" old.data new.data
	want_status 2 "a link"
}

test_github() {
	have_recordings
	run env GITHUB_WORKSPACE="$built" "$EBPROF" diff --format github old.data new.data
	want_status 0 diff
	! grep -vP '^::(error|notice) (file=[^:,\s]+,line=\d+,)?title=[^:,]+::[^\n]+$' out || fail "that is no command"
	grep -qP '^::error file=version\.c,line=\d+,title=work%3A [^:]*::work takes ' out || fail "work: $(cat out)"
	grep -qP '^::error file=version\.c,line=\d+,title=fresh %2525%3A new::fresh %2525 is new' out || fail "fresh: $(cat out)"
	grep -qP '^::notice file=version\.c,line=\d+,title=gone &&%3A removed::' out || fail "gone: $(cat out)"
	run env -u GITHUB_WORKSPACE "$EBPROF" diff --format github old.data new.data
	grep -qF "::error file=$built/version.c,line=" out || fail "elsewhere: $(cat out)"
	run env GITHUB_WORKSPACE="${built%?}" "$EBPROF" diff --format github old.data new.data
	grep -qF "::error file=$built/version.c,line=" out || fail "a folder that begins the same: $(cat out)"
}

test_gitlab() {
	command -v jq >/dev/null || skip "no jq here"
	have_recordings
	run env -u GITHUB_WORKSPACE CI_PROJECT_DIR="$built/" "$EBPROF" diff --format gitlab old.data new.data
	want_status 0 diff
	jq -e 'map(select(.description | startswith("work takes ")) | .location.path) == ["version.c"]' out >/dev/null ||
		fail "work: $(cat out)"
	jq -e 'all(.severity == "major" and .check_name != "" and .location.lines.begin > 0) and
		(map(.fingerprint) | length == (unique | length))' out >/dev/null || fail "it says $(cat out)"
}

test_csv() {
	command -v python3 >/dev/null || skip "no python3 here"
	have_recordings
	"$EBPROF" diff --format csv old.data new.data >c.csv || fail "diff failed"
	python3 - 2>err <<-'END' || fail "$(tail -n 1 err)"
		import csv, re
		rows = list(csv.reader(open("c.csv", newline="")))
		assert rows[0][0] == "verdict", rows[0]
		assert all(len(row) == len(rows[0]) for row in rows), "rows of several lengths"
		number = re.compile(r"-?[0-9.]+(e[+-]?[0-9]+)?$")
		bad = [cell for row in rows for cell in row if cell and cell[0] in "=+-@\t\r" and not number.match(cell)]
		assert not bad, bad
		assert [row[0] for row in rows if row[1] == "work"] == ["regression"], rows
	END
}

# The pages are those of convert, of one run a side and of several.
test_pages() {
	have_recordings
	run "$EBPROF" diff --html d.html --svg d.svg old.data new.data
	want_status 0 diff
	"$EBPROF" convert --html --baseline old.data -o c.html new.data 2>err || fail "convert: $(cat err)"
	"$EBPROF" convert --svg --baseline old.data -o c.svg new.data 2>err || fail "convert: $(cat err)"
	cmp c.html d.html || fail "another page than convert's"
	cmp c.svg d.svg || fail "another picture than convert's"
	run "$EBPROF" diff --html d.html --svg d.svg old.data old2.data -- new.data new2.data
	want_status 0 "several"
	grep -q '<title>work (program): [^<]* pp, [^<]* samples</title>' d.svg || fail "no box of work"
	grep -qF 'old.data + old2.data' d.svg || fail "the sides are not named"
}

test_usage() {
	have_recordings
	run "$EBPROF" diff --tui old.data new.data
	want_status 2 "--tui without a terminal"
	run "$EBPROF" diff --tui --json x old.data new.data
	want_status 2 "--tui with a report"
	run "$EBPROF" diff --tui --fail-on regression old.data new.data
	want_status 2 "--tui with a gate"
	grep -q -- '--tui.*--fail-on' err || fail "$(cat err)"
	run "$EBPROF" diff --junit new.data old.data new.data
	want_status 2 "a report in place of a recording"
	grep -q 'is the recording itself' err || fail "it says $(cat err)"
	run "$EBPROF" diff --format html old.data new.data
	want_status 2 "no such format"
}

test_tui() {
	have_recordings
	begin xterm-256color 120 30
	type_line "'$EBPROF' diff --tui old.data new.data"
	wait_for '^before old\.data: ' "the view of differences"
	wait_for 'work' "its functions"
	keys q
	wait_for '^\$ *$' "the shell"
	keys C-l
	type_line "'$EBPROF' diff --tui old.data old2.data -- new.data new2.data"
	wait_for '^before old\.data \+ old2\.data: ' "the view of several"
	wait_for 'work' "its functions"
}

run_tests
