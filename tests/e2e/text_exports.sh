#!/bin/bash
# What the programs that `ebprof convert` writes for make of its text formats: callgrind_annotate
# (valgrind), speedscope's importer and stackcollapse-perf.pl for --perf-script, xmllint and
# Chromium for --svg.
# Beside others: what else the machine does changes nothing here.
# shellcheck disable=SC2317 # run_tests calls test_*
. "$(dirname "$0")/prelude.bash"

# Calls itself 20 deep by way of another one, and spends its time at the bottom.
make_recording() {
	command -v "${CC:-cc}" >/dev/null || skip "there is no C compiler"
	cat >shape.c <<-'END'
		#include <time.h>

		static volatile unsigned long sink;

		static double cpu_s(void)
		{
			struct timespec now;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
			return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
		}

		__attribute__((noinline)) static void bottom(double end_s)
		{
			while (cpu_s() < end_s)
				for (int i = 0; i < 100000; i++)
					sink += (unsigned long)i * sink;
			sink++;
		}

		static void even(int depth);
		__attribute__((noinline)) static void odd(int depth)
		{
			if (depth)
				even(depth - 1);
			sink++;
		}
		__attribute__((noinline)) static void even(int depth)
		{
			if (depth)
				odd(depth - 1);
			else
				bottom(cpu_s() + 0.8);
			sink++;
		}

		int main(void)
		{
			even(20);
			bottom(cpu_s() + 0.2);
			return 0;
		}
	END
	"${CC:-cc}" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o shape shape.c ||
		skip "the workload does not compile"
	"$EBPROF" record -F 999 -o shape.data -- ./shape 2>record.err || fail "$(cat record.err)"
	samples=$(field shape.data samples)
}

convert() { # FORMAT OUTPUT
	"$EBPROF" convert "--$1" -o "$2" shape.data 2>convert.err || fail "--$1: $(cat convert.err)"
}

near() { # GOT WANTED
	awk -v got="$1" -v want="$2" 'BEGIN { exit !(got >= want - 3 && got <= want + 3) }'
}

# ---- callgrind ----

annotate() {
	command -v callgrind_annotate >/dev/null || skip "callgrind_annotate (valgrind) is not installed"
	# From elsewhere: it takes the folder where it runs off the names of callers' files alone, which
	# makes two functions of one.
	(cd / && callgrind_annotate --auto=no "$@") >annotated 2>annotate.err || fail "it ends with an error: $(cat annotate.err)"
	! grep -i -E 'warning|malformed|not numeric' annotated annotate.err || fail "it warns: $(grep -ih -E 'warning|malformed' annotated annotate.err | head -n 1)"
}

# The second column: percent of the first event.
percent_of() { # FUNCTION
	sed -n -E "s/^ *[0-9,]+ \( *([0-9.]+)%\) .* \*? *[^ ]*:$1 \[.*/\1/p" annotated | head -n 1
}

test_callgrind_totals() {
	make_recording
	convert callgrind shape.callgrind
	annotate --threshold=100 "$PWD/shape.callgrind"
	grep -E 'PROGRAM TOTALS' annotated | tr -d , | grep -qE "\) +$samples \(" ||
		fail "not $samples samples: $(grep TOTALS annotated)"
	# The sum of what functions took themselves is the total: nothing was lost.
	awk '/file:function/ { on = 1; next } on && /^ *[0-9]/ { gsub(/,/, ""); sum += $1 }
		/PROGRAM TOTALS/ { gsub(/,/, ""); total = $1 } END { exit sum != total }' annotated ||
		fail "the functions' costs are not the total"
}

test_callgrind_recursion() {
	make_recording
	convert callgrind shape.callgrind
	annotate --inclusive=yes --tree=both --threshold=100 "$PWD/shape.callgrind"
	! grep -E '\( *(1[0-9][0-9]|[2-9][0-9][0-9])\.[0-9]+%\)' annotated | grep -v '(100\.0*%)' ||
		fail "more than all: $(grep -E '\( *(1[0-9][0-9]|[2-9][0-9][0-9])\.' annotated | grep -v '100\.0' | head -n 1)"
	near "$(percent_of even)" 80 || fail "even() has $(percent_of even) %, not 80"
	near "$(percent_of odd)" 80 || fail "odd() has $(percent_of odd) %, not 80"
	near "$(percent_of bottom)" 100 || fail "bottom() has $(percent_of bottom) %, not 100"
}

# Inclusive costs are those of the report, function by function.
test_callgrind_is_the_report() {
	command -v python3 >/dev/null || skip "python3 is not installed"
	make_recording
	convert callgrind shape.callgrind
	annotate --inclusive=yes --threshold=100 "$PWD/shape.callgrind"
	convert folded shape.folded
	python3 - <<-'END' >differences || fail "$(head -n 3 differences)"
		import collections, re, sys
		# Two functions of one name, as libc's and the vDSO's clock_gettime, may call each other.
		want, most = collections.Counter(), collections.Counter()
		for line in open("shape.folded"):
		    stack, count = line.rsplit(" ", 1)
		    frames = [re.sub("_\\[[ki]\\]$", "", f) for f in stack.split(";")[1:]]
		    for frame in set(frames):
		        want[frame] += int(count)
		        most[frame] += int(count) * frames.count(frame)
		got = collections.Counter()
		for line in open("annotated"):
		    found = re.match(r" *[\d,]+ \( *[\d.]+%\) +([\d,]+) \( *[\d.]+%\)  (\S.*?) \[.*\]$", line)
		    if found and not found[2].startswith("[process]:"):
		        name = re.sub(r" \([^()]*\)$", "", found[2].split(":", 1)[1])
		        got[name] += int(found[1].replace(",", ""))
		wrong = [name for name in want if not want[name] <= got[name] <= most[name]]
		for name in wrong:
		    print(f"{name}: {got[name]} samples, not {want[name]}")
		sys.exit(bool(wrong))
	END
}

# ---- perf script ----

# The text as the program itself adds it up.
test_perf_script_totals() {
	make_recording
	convert perf-script shape.perf
	[[ $(grep -c '^[^[:space:]].* cpu-clock:$' shape.perf) == "$samples" ]] || fail "not $samples records"
	[[ $(grep -c '^$' shape.perf) == "$samples" ]] || fail "not $samples blank lines"
	! grep -vnE '^$|^\S+ {1,2}[0-9]+/[0-9]+ \[[0-9]{3,}\] [0-9]+\.[0-9]{6}: [0-9]+ \S+:$|^\s+[0-9a-f]+ .+ \(\S+\)$' shape.perf ||
		fail "a line that readers cannot take apart"
	sed -nE 's/.* ([0-9]+\.[0-9]{6}): .*/\1/p' shape.perf | sort -c -n || fail "not by time"
}

test_perf_script_as_stackcollapse_reads_it() {
	local script
	script=$(command -v stackcollapse-perf.pl || command -v stackcollapse-perf) ||
		skip "stackcollapse-perf.pl is not installed (no package of Debian or npm has it)"
	make_recording
	convert perf-script shape.perf
	convert folded shape.folded
	"$script" --kernel shape.perf >collapsed || fail "it refuses the file"
	# It adds up periods, and drops what follows '(' of a name.
	[[ $(awk '{ sum += $NF } END { print sum / 1001001 }' collapsed) == "$samples" ]] || fail "not $samples samples"
	[[ $(awk '/;bottom /{ sum += $NF } END { print sum / 1001001 }' collapsed) == \
	$(awk '/;bottom /{ sum += $NF } END { print sum }' shape.folded) ]] || fail "bottom() differs"
}

# Its importer is a part of its page.
test_perf_script_in_speedscope() {
	command -v npm >/dev/null || skip "npm is not installed"
	command -v chromium >/dev/null || skip "chromium is not installed"
	make_recording
	convert perf-script shape.perf
	(npm_config_cache=$PWD/npm timeout 300 npm pack --silent speedscope && tar -xzf speedscope-*.tgz) \
		>npm.out 2>&1 || skip "npm cannot fetch speedscope: $(tail -n 1 npm.out)"
	# As its own command line hands a file to its page (bin/cli.mjs).
	echo "speedscope.loadFileFromBase64('shape.perf', '$(base64 -w 0 shape.perf)')" >shape.js
	timeout 300 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=15000 --dump-dom \
		"file://$PWD/package/dist/release/index.html#localProfilePath=${PWD#/}/shape.js" \
		>dom.html 2>chromium.err || skip "chromium does not run here: $(tail -n 1 chromium.err)"
	# Named after the file, or where there is but one thread, after that.
	grep -qE '<title>(shape\.perf|shape pid: [0-9]+ tid: [0-9]+) - speedscope</title>' dom.html ||
		fail "it did not load: $(grep -o '<title>.*</title>' dom.html)"
}

# ---- svg ----

test_svg_is_xml() {
	command -v xmllint >/dev/null || skip "xmllint is not installed"
	make_recording
	convert svg shape.svg
	xmllint --noout --nonet shape.svg 2>xml.err || fail "$(head -n 1 xml.err)"
	grep -q "<title>bottom (shape): " shape.svg || fail "bottom() is not in it"
	! grep -oE '(href|src)=|url\(|https?://' shape.svg | grep -v 'http://' || fail "it refers to something"
}

# A click, a search and keys, as a user of a browser does.
test_svg_in_chromium() {
	command -v chromium >/dev/null || skip "chromium is not installed"
	make_recording
	convert svg shape.svg
	cat >drive.js <<-'END'
		<script><![CDATA[
		const box = (name) => [...document.querySelectorAll("#boxes > g")]
			.find((g) => g.querySelector("title").textContent.startsWith(name + " ("));
		const width = (g) => g.querySelector("rect").getAttribute("width");
		const key = (name) => document.dispatchEvent(new KeyboardEvent("keydown", {key: name}));
		const before = width(box("odd"));
		box("odd").dispatchEvent(new MouseEvent("click", {bubbles: true}));
		const zoomed = Number(width(box("odd"))) + 20 === Number(document.documentElement.getAttribute("width"));
		key("Escape");
		const after = width(box("odd"));
		const field = document.querySelector("input");
		field.value = "^bottom$";
		field.dispatchEvent(new Event("input"));
		const hits = document.querySelectorAll("#boxes > g.hit").length;
		key("ArrowDown"); key("ArrowDown"); key("Enter");
		const result = document.createElementNS("http://www.w3.org/2000/svg", "desc");
		const above = document.querySelectorAll("#boxes > g.above").length;
		const depth = (box("odd").querySelector("rect").getAttribute("y") - 48) / 17;
		result.textContent = `result ${Number(before) < 1170} ${zoomed} ${before === after} ${hits} ${above - depth}`;
		document.documentElement.appendChild(result);
		]]></script>
		</svg>
	END
	sed '$d' shape.svg >driven.svg && cat drive.js >>driven.svg
	timeout 300 chromium --headless --no-sandbox --disable-gpu --dump-dom "file://$PWD/driven.svg" \
		>dom 2>chromium.err || skip "chromium does not run here: $(tail -n 1 chromium.err)"
	grep -qE 'result true true true 2 2' dom || fail "$(grep -oE '>result [^<]*' dom || tail -n 1 chromium.err)"
}

run_tests
