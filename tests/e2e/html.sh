#!/bin/bash
# The page of `convert --html` in a real browser: it runs without a word on the console, asks for
# nothing but itself, says what the report says, and hostile names are but text.
# Mostly waits: for the browser, and what else the machine does changes nothing here.
# shellcheck disable=SC2016
. "$(dirname "$0")/prelude.bash"

need_browser() {
	browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
		skip "no chromium here"
	command -v node >/dev/null || skip "no node here"
}

need_compiler() {
	command -v "${CC:-cc}" >/dev/null || skip "no C compiler here"
	command -v objcopy >/dev/null || skip "no objcopy here"
}

# Two threads, an inlined function; names of functions, of a thread and of the program that try to get out of the page.
build_hostile() {
	cat >hostile.c <<-'END'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <time.h>

		static double cpu_s(void)
		{
			struct timespec now;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
			return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
		}

		extern volatile unsigned long sink;
		void inlining(double end);

		__attribute__((noinline)) void spin_1(double seconds)
		{
			for (double end = cpu_s() + seconds; cpu_s() < end;)
				for (int i = 0; i < 100000; i++)
					sink += (unsigned long)i * sink;
			sink++;
		}
		__attribute__((noinline)) void spin_2(double seconds) { spin_1(seconds); sink++; }
		__attribute__((noinline)) void spin_3(double seconds) { spin_1(seconds); sink++; }
		__attribute__((noinline)) void again(int depth)
		{
			if (depth)
				again(depth - 1);
			else
				spin_1(0.3);
			sink++;
		}

		static void *run(void *unused)
		{
			pthread_setname_np(pthread_self(), "<img src=x>\"'&");
			spin_2(0.6);
			return unused;
		}

		int main(void)
		{
			pthread_t thread;
			pthread_create(&thread, NULL, run, NULL);
			spin_3(0.9);
			again(5);
			inlining(cpu_s() + 0.2);
			pthread_join(thread, NULL);
			return 0;
		}
	END
	cat >inlined.c <<-'END'
		#include <time.h>

		volatile unsigned long sink;

		static inline __attribute__((always_inline)) void within(void)
		{
			for (int i = 0; i < 100000; i++)
				sink += (unsigned long)i * sink;
		}

		void inlining(double end)
		{
			struct timespec now;
			do {
				within();
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
			} while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < end);
		}
	END
	local flags=(-O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls)
	"${CC:-cc}" "${flags[@]}" -c hostile.c && "${CC:-cc}" "${flags[@]}" -g -c inlined.c || skip "the workload does not compile"
	printf '%s %s\n' \
		spin_1 '</script><script>window.pwned=1;alert(1)</script>' \
		spin_2 '"><img/src=x/onerror=alert(2)>&lt;`${alert(3)}' \
		spin_3 $'bidi\u202e_line\u2028_c1\u0085_end' >names
	objcopy --redefine-syms=names hostile.o && "${CC:-cc}" -pthread -o '<u>x' hostile.o inlined.o ||
		skip "the linker refuses such names"
}

test_page() {
	need_browser
	need_compiler
	build_hostile
	run "$EBPROF" record -q -F 999 -o page.data -- './<u>x'
	want_status 0 record
	run "$EBPROF" convert --html -o page.html page.data
	want_status 0 convert
	! grep -qaE 'pwned|onerror|bidi' page.html || fail "a name stands in the page as it is"
	"$EBPROF" report --stdio --percent-limit 0 page.data >report || fail "report failed"
	tid=$("$EBPROF" report --stdio -s tid,comm --percent-limit 0 page.data | awk '/<img/ { print $4 }')
	[[ -n $tid ]] || fail "the thread is not in the report"
	# By its name, too: it has had another one before, for a sample or none.
	samples=$("$EBPROF" report --stdio --tid "$tid" -c '<img src=x>"'"'&" page.data | sed -nE '1s/.*, ([0-9]+) of .*/\1/p')
	timeout 600 node "$here/html.js" "$browser" "$PWD" "$tid" "$samples" >log 2>&1 ||
		fail "$(tail -n 4 log)"
	[[ $(tail -n 1 log) == "all is well" ]] || fail "$(tail -n 4 log)"
}

# A key that both have does the same: what is said of it has a word in common.
test_keys_are_those_of_the_terminal() {
	sed -nE 's/^\t\["(.)", "([^"]*)".*/\1\t\2/p' "$here/../../report/write/export/html/page_keys.js" >of_page
	[[ $(wc -l <of_page) -gt 20 ]] || fail "the page has few keys: $(cat of_page)"
	"$EBPROF" help keys --rows >of_terminal
	awk -F '\t' '
		function words(text, into, n, i, all) {
			delete into
			n = split(tolower(text), all, /[^a-z]+/)
			for (i = 1; i <= n; i++)
				if (length(all[i]) > 3)
					into[all[i]] = 1
		}
		NR == FNR {
			n = split($1, keys, " ")
			for (i = 1; i <= n; i++)
				means[keys[i]] = $2
			next
		}
		$1 in means {
			words(means[$1], there)
			words($2, here)
			is_same = 0
			for (word in here)
				is_same = is_same || word in there
			if (!is_same)
				print $1 ": " means[$1] " / " $2
		}' of_terminal of_page >others
	[[ ! -s others ]] || fail "a key of the page means something else in the terminal: $(cat others)"
}

# Two builds of a program: work() takes twice as long, one function vanished, one is new and takes so
# much less that it is no other name of that one. Their names try to get out of the page; so do the
# files' names.
build_versions() {
	mkdir old new
	cat >version.c <<-'END'
		#include <time.h>

		static volatile unsigned long sink;

		static double cpu_s(void)
		{
			struct timespec now;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
			return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
		}

		#define SPIN(name) \
			__attribute__((noinline, noclone)) void name(double seconds) \
			{ \
				for (double end = cpu_s() + seconds; cpu_s() < end;) \
					for (int i = 0; i < 100000; i++) \
						sink += (unsigned long)i * sink; \
				sink++; \
			}
		#ifdef OTHER_IS_HERE
		SPIN(other)
		#else
		void other(double seconds);
		#endif

		#ifdef WORK
		SPIN(work)
		SPIN(same)
		SPIN(also)

		int main(void)
		{
			for (int i = 0; i < 10; i++) {
				work(WORK);
				same(0.1);
				also(0.1);
				other(OTHER);
			}
			return 0;
		}
		#endif
	END
	local flags=(-fno-omit-frame-pointer -fno-optimize-sibling-calls)
	# The new one's stands in a library: of one object it would be taken for the old one, written anew.
	"${CC:-cc}" -O1 "${flags[@]}" -DWORK=0.1 -DOTHER=0.04 -DOTHER_IS_HERE -c -o old.o version.c &&
		"${CC:-cc}" -O1 "${flags[@]}" -DWORK=0.2 -DOTHER=0.02 -c -o new.o version.c &&
		"${CC:-cc}" -O1 "${flags[@]}" -fPIC -DOTHER_IS_HERE -c -o library.o version.c || skip "the workload does not compile"
	objcopy --redefine-sym other='gone</script><b>' old.o && objcopy --redefine-sym other='fresh"><img src=x>' new.o &&
		objcopy --redefine-sym other='fresh"><img src=x>' library.o &&
		"${CC:-cc}" -o old/program old.o && "${CC:-cc}" -shared -o new/library.so library.o &&
		"${CC:-cc}" -o new/program new.o "$PWD/new/library.so" || skip "the linker refuses such names"
}

# The picture has a box of each function, in the colour of its change, as `diff` says; what only has a smaller share
# because work takes longer is gray.
want_boxes() {
	local row
	"$EBPROF" diff --format csv '<i>old.data' new.data >diff.csv || fail "diff failed"
	grep -q '^regression,work,' diff.csv || fail "diff says of work: $(grep ,work, diff.csv)"
	! grep -qE '^(regression|improvement),(same|also),' diff.csv || fail "diff says: $(grep -E ',(same|also),' diff.csv)"
	for row in 'work more' 'same same' 'also same' 'gone&lt;/script&gt;&lt;b&gt; less' 'fresh&quot;&gt;&lt;img src=x&gt; more'; do
		grep -q "<title>${row% *} ([a-z.]*): [^<]* pp, [^<]* samples</title><rect class=\"${row##* }" diff.svg ||
			fail "no box of $row: $(grep -o "<title>${row% *} .*" diff.svg | head -c 200)"
	done
	! command -v xmllint >/dev/null || xmllint --noout --nonet diff.svg || fail "it is no XML"
}

# A baseline of new.data that had to become so small that it lost stacks.
make_cut_baseline() {
	local size
	"$EBPROF" baseline save -q -k new new.data && "$EBPROF" baseline get --force -k new -o cut.data || fail "baseline"
	for ((size = $(stat -c %s cut.data) * 97 / 100; size > 500; size = size * 97 / 100)); do
		"$EBPROF" baseline save -q -k new --max-size "$size" new.data 2>err || break
		"$EBPROF" baseline get --force -k new -o cut.data || fail "get"
		"$EBPROF" info cut.data | grep -q 'stacks that fewer' && return
	done
	fail "nothing was cut: $(cat err)"
}

test_differences() {
	need_browser
	need_compiler
	build_versions
	run "$EBPROF" record -q -F 999 -o '<i>old.data' -- old/program
	want_status 0 "record the old one"
	run "$EBPROF" record -q -F 499 -o new.data -- new/program
	want_status 0 "record the new one"
	run "$EBPROF" convert --html --baseline '<i>old.data' -i new.data -o diff.html
	want_status 0 convert
	run "$EBPROF" convert --html --baseline new.data -i new.data -o same.html
	want_status 0 "convert with itself"
	make_cut_baseline
	run "$EBPROF" convert --html --baseline cut.data -i new.data -o cut.html
	want_status 0 "convert with a baseline that was cut"
	run "$EBPROF" convert --svg --baseline cut.data -i new.data -o cut.svg
	want_status 0 "that as a picture"
	cp old/program lost && strip lost
	run "$EBPROF" record -q -F 999 -o lost.data -- ./lost
	want_status 0 "record one without names"
	rm lost
	run "$EBPROF" convert --html --baseline lost.data -i new.data -o lost.html
	want_status 0 "convert with a baseline without names"
	! grep -qE '</title><rect class="(more|less)' cut.svg || fail "what was left out is coloured: $(grep -oE '<title>[^<]*</title><rect class="(more|less)' cut.svg | head -n 3)"
	! grep -qaE 'gone<|src=x|<i>old' diff.html || fail "a name stands in the page as it is"
	run "$EBPROF" convert --svg --baseline '<i>old.data' -i new.data -o diff.svg
	want_status 0 "convert into a picture"
	want_boxes
	"$EBPROF" report --stdio --percent-limit 0 '<i>old.data' >report.old || fail "report failed"
	"$EBPROF" report --stdio --percent-limit 0 new.data >report.new || fail "report failed"
	timeout 180 node "$here/html_diff.js" "$browser" "$PWD" >log 2>&1 || fail "$(tail -n 4 log)"
	[[ $(tail -n 1 log) == "all is well" ]] || fail "$(tail -n 4 log)"
}

# Names that are shortened until they are alike: pages and pictures add what lists and texts do.
test_names() {
	command -v node >/dev/null || skip "no node here"
	node "$here/html_names.js" "$here/../.." >log 2>&1 || fail "$(tail -n 4 log)"
	[[ $(tail -n 1 log) == "all is well" ]] || fail "$(tail -n 4 log)"
}

# Chains without a branch are one row as in the terminal.
test_folds() {
	command -v node >/dev/null || skip "no node here"
	node "$here/html_fold.js" "$here/../.." >log 2>&1 || fail "$(tail -n 4 log)"
	[[ $(tail -n 1 log) == "all is well" ]] || fail "$(tail -n 4 log)"
}

test_ranges_have_parts_of_waits() {
	command -v node >/dev/null || skip "no node here"
	node "$here/html_ranges.js" "$here/../.." >log 2>&1 || fail "$(tail -n 4 log)"
	[[ $(tail -n 1 log) == "all is well" ]] || fail "$(tail -n 4 log)"
}

# Where several instances of a template have but little room, in terminals, pictures and pages.
test_alike() {
	need_browser
	command -v c++ >/dev/null || skip "no C++ compiler here"
	cat >alike.cc <<-'END'
		#include <time.h>
		static volatile unsigned long sink;
		static double cpu_s()
		{
			struct timespec now;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
			return double(now.tv_sec) + double(now.tv_nsec) / 1e9;
		}
		namespace engine { namespace storage {
		template <class T> struct Container {
			__attribute__((noinline)) void rebalance(double seconds)
			{
				for (double end = cpu_s() + seconds; cpu_s() < end;)
					for (int i = 0; i < 20000; i++)
						sink += i * sink + sizeof(T);
				sink++;
			}
		};
		}}
		int main()
		{
			engine::storage::Container<int>().rebalance(0.3);
			engine::storage::Container<long>().rebalance(0.3);
		}
	END
	c++ -O1 -fno-omit-frame-pointer -o alike alike.cc || skip "the workload does not compile"
	run "$EBPROF" record -q -F 999 -o alike.data -- ./alike
	want_status 0 record
	local form name columns
	for form in '76 --stdio' '56 --stdio -g'; do
		columns=${form%% *} form=${form#* }
		script -qec "stty cols $columns; '$EBPROF' report $form alike.data" /dev/null </dev/null >report 2>&1 || fail "report $form"
		for name in int long; do
			grep -qF "rebalance {$name}" report || fail "report $form has no {$name}: $(grep rebalance report)"
		done
	done
	"$EBPROF" report --stdio alike.data | grep -qF 'engine::storage::Container<long>::rebalance(double)' ||
		fail "what is no terminal has not the whole name"
	run "$EBPROF" convert --svg -o alike.svg alike.data
	want_status 0 "convert into a picture"
	run "$EBPROF" convert --html -o alike.html alike.data
	want_status 0 "convert into a page"
	timeout 180 node "$here/html_alike.js" "$browser" "$PWD" >log 2>&1 || fail "$(tail -n 4 log)"
	[[ $(tail -n 1 log) == "all is well" ]] || fail "$(tail -n 4 log)"
}

# A picture is as wide as the window, with letters as large and the search field in sight, light and dark.
test_picture() {
	need_browser
	run "$EBPROF" record -q -F 999 -o picture.data -- "$WORKLOADS/workload" 0.3
	want_status 0 record
	run "$EBPROF" convert --svg -o picture.svg picture.data
	want_status 0 convert
	run "$EBPROF" convert --svg --baseline picture.data -o changes.svg picture.data
	want_status 0 "convert with itself"
	timeout 180 node "$here/html_picture.js" "$browser" "$PWD" >log 2>&1 || fail "$(tail -n 4 log)"
	[[ $(tail -n 1 log) == "all is well" ]] || fail "$(tail -n 4 log)"
}

# Two threads of a script that run one after the other and wait; the one that comes first runs less.
test_threads() {
	need_browser
	command -v python3 >/dev/null || skip "no python3 here"
	cat >threads.py <<-'END'
		import threading, time

		def spin(seconds):
		    end = time.thread_time() + seconds
		    while time.thread_time() < end:
		        sum(range(1000))

		def first():
		    spin(0.25)
		    time.sleep(0.5)

		def second():
		    time.sleep(0.4)
		    spin(0.5)

		threads = [threading.Thread(target=each) for each in (first, second)]
		[each.start() for each in threads]
		[each.join() for each in threads]
	END
	run "$EBPROF" record -q -F 999 --off-cpu -o threads.data -- python3 threads.py
	want_status 0 record
	"$EBPROF" report --stdio --percent-limit 0 threads.data >report.whole || fail "report failed"
	"$EBPROF" report --stdio --percent-limit 0 --no-native threads.data >report.scripts || fail "report failed"
	"$EBPROF" report --stdio --percent-limit 0 --no-kernel threads.data >report.user || fail "report failed"
	grep -q 'second' report.scripts || skip "this python3 is none whose frames are known"
	run "$EBPROF" convert --html -o threads.html threads.data
	want_status 0 convert
	timeout 180 node "$here/html_threads.js" "$browser" "$PWD" >log 2>&1 || fail "$(tail -n 4 log)"
	[[ $(tail -n 1 log) == "all is well" ]] || fail "$(tail -n 4 log)"
}

# Lines of the hottest function with what each took, which is as much as the function; its instructions.
test_source() {
	need_browser
	need_compiler
	mkdir elsewhere
	cat >elsewhere/lines.c <<-'END'
		#include <time.h>
		volatile unsigned long sink;
		int main(void)
		{
			struct timespec now;
			do {
				for (int i = 0; i < 1000000; i++)
					sink += (unsigned long)i * sink; /* </script><script>window.pwned=1 */
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
			} while (now.tv_sec * 1e9 + now.tv_nsec < 4e8);
			return 0;
		}
	END
	(cd elsewhere && "${CC:-cc}" -O1 -g -fdebug-prefix-map="$PWD=/nowhere" -o ../lines lines.c) || skip "the workload does not compile"
	run "$EBPROF" record -q -F 999 -o lines.data -- ./lines
	want_status 0 record
	run "$EBPROF" convert --html --with-source --source-dir elsewhere -o lines.html lines.data
	want_status 0 convert
	! grep -qa pwned lines.html || fail "a line stands in the page as it is"
	run "$EBPROF" convert --folded --with-source lines.data
	want_status 2 "lines for --folded"
	grep -q 'with-source is for --html' err || fail "it says $(cat err)"
	run "$EBPROF" convert --html --source-dir elsewhere lines.data
	want_status 2 "a folder for nothing"
	timeout 180 node "$here/html_source.js" "$browser" "$PWD" >log 2>&1 || fail "$(tail -n 4 log)"
	[[ $(tail -n 1 log) == "all is well" ]] || fail "$(tail -n 4 log)"
}

# What cannot be compared, or with what it makes no sense.
test_baselines() {
	run "$EBPROF" record -q -F 999 -o a.data -- "$WORKLOADS/workload" 0.3
	want_status 0 record
	run "$EBPROF" convert --folded --baseline a.data a.data
	want_status 2 "a baseline for --folded"
	grep -q "for --html and --svg" err || fail "it says $(cat err)"
	run "$EBPROF" convert --html --baseline missing.data a.data
	want_status 1 "no baseline"
	run "$EBPROF" convert --html --baseline /dev/null a.data
	want_status 2 "a device as baseline"
	[[ ! -e ebprof.html ]] || fail "a page was written"
	run "$EBPROF" convert --html --time 0,0.000000001 --baseline a.data -o - a.data
	want_status 0 "nothing with nothing"
	run "$EBPROF" convert --html --event nothing a.data
	want_status 2 "no such event"
	grep -q 'the recording has no event "nothing" but c' err || fail "it says $(cat err)"
	run "$EBPROF" convert --html --lang perl a.data
	want_status 2 "no such language"
	grep -q 'the recording has no scripts in "perl", nor any other' err || fail "it says $(cat err)"
	run "$EBPROF" convert --html -c nothing a.data
	want_status 2 "no such thread"
	grep -q 'the recording has no thread called "nothing" but .*workload' err || fail "it says $(cat err)"
	for option in '--pid 4294967295' '--tid 4294967295' '-C 99' '--time 3600,'; do
		run "$EBPROF" report --stdio $option a.data
		want_status 2 "$option"
		grep -qE 'the recording has (no .* but [0-9]|[0-9.]+ s, and nothing from 3600)' err || fail "$option: $(cat err)"
	done
	run "$EBPROF" report --stdio -c nothing,/work/ a.data
	want_status 0 "one of two threads"
	grep -q 'the recording has no thread called "nothing"' err || fail "it says $(cat err)"
	grep -q workload out || fail "nothing of the other: $(cat out)"
	run "$EBPROF" report -d nothing a.data
	want_status 2 "no such file"
	grep -q 'the recording has no file "nothing" but .*workload' err || fail "it says $(cat err)"
	[[ $(wc -c <out) == 0 ]] || fail "a report of nothing: $(cat out)"
	run "$EBPROF" convert --html --container nothing a.data
	want_status 2 "no such container"
	grep -qE 'the recording has no container "nothing"( but |, nor any)' err || fail "it says $(cat err)"
	run "$EBPROF" convert --html --container /nothing a.data
	want_status 2 "no such cgroup"
	grep -qE 'the recording has no cgroup "/nothing"( but |, nor any)' err || fail "it says $(cat err)"
}

test_repeats() {
	run "$EBPROF" record -q -F 999 -o a.data -- "$WORKLOADS/workload" 0.3
	want_status 0 record
	"$EBPROF" convert --html -o a.html a.data && "$EBPROF" convert --html -o - a.data | cmp - a.html ||
		fail "two pages of one recording differ"
	[[ $(head -n 1 a.html) == '<!doctype html>' ]] || fail "it begins with $(head -c 40 a.html)"
	! grep -oE '(src|href|action)=' a.html || fail "the page refers to something outside"
}

run_tests
