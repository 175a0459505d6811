#!/bin/bash
# Programs that Node.js runs: functions of JavaScript among native ones, as they are interpreted and
# compiled, judged by a program of which every caller is known.
#   CHAINS=20000    that many samples of it for each Node.js, which takes minutes
. "$(dirname "$0")/prelude.bash"
. "$here/script_frames.bash"

# It need not be Debian's.
unset NODE_EXTRA_CA_CERTS # or node reads certificates first

nodes() {
	[[ -n ${INTERPRETERS-} ]] || INTERPRETERS=$(command -v node)
	interpreters node
}

record_shape() { # NODE SECONDS OPTION_OF_NODE...
	local node=$1 seconds=$2
	shift 2
	# shellcheck disable=SC2086
	"$EBPROF" record -q -F 997 -o shape.data ${RECORD_OPTIONS:-} -- "$node" "$@" "$here/node_shape.mjs" "$seconds" \
		>out 2>err || fail "record $node: $(cat err)"
}

# Every stack with a step has all those ahead of it, each once. Prints how many there are, and are wrong.
judge_chains() {
	count shape.data '
		/;step[0-9]/ {
			add("steps")
			n_frames = split($0, frame, ";"); want = 0; is_wrong = 0
			for (i = 1; i <= n_frames; i++)
				if (frame[i] ~ /^step[0-9][0-9]$/ && substr(frame[i], 5) + 0 != want++) is_wrong = 1
			if (is_wrong) { add("wrong"); print >"wrong" }
		}
		END { print c["steps"] + 0, c["wrong"] + 0 }'
}

exact_chains() { # WHAT
	local steps wrong
	read -r steps wrong < <(judge_chains)
	[[ $steps -ge 150 ]] || fail "$1: $steps samples with steps"
	percent "$1: chains that are exact: $(head -n 1 wrong 2>/dev/null | tail -c 400)" $((steps - wrong)) "$steps" 99.5
}

major_of() { # NODE
	"$1" -p 'process.versions.node.split(".")[0]'
}

options_of() { # NODE WHAT
	local major
	major=$(major_of "$1")
	case $2 in
	interpreter) printf -- '--no-opt --no-sparkplug' ;;
	baseline) printf -- '--no-opt --always-sparkplug' ;;
	optimizing) printf -- '--max-inlined-bytecode-size=0 --max-inlined-bytecode-size-cumulative=0' ;;
	esac
	[[ $major -lt 22 ]] || printf -- ' --no-maglev'
}

try_chains() { # WHAT
	local node list
	list=$(nodes) || exit $?
	for node in $list; do
		# shellcheck disable=SC2046
		record_shape "$node" 2 $(options_of "$node" "$1")
		exact_chains "$node $1"
	done
}

test_interpreter() { try_chains interpreter; }
test_baseline() { try_chains baseline; }
test_optimizing() { try_chains optimizing; }

# As it runs without options.
test_inlining() {
	local node list
	list=$(nodes) || exit $?
	for node in $list; do
		record_shape "$node" 2
		exact_chains "$node"
	done
}

# So many samples, of programs of 10 s that run each way by turns: nothing is known of the files before.
if [[ -n ${CHAINS-} ]]; then
	test_many_chains() {
		local node list what steps wrong all bad
		list=$(nodes) || exit $?
		for node in $list; do
			all=0 bad=0
			while ((all < CHAINS)); do
				for what in interpreter baseline optimizing as_it_is; do
					# shellcheck disable=SC2046
					RECORD_OPTIONS="--unwind-cache none" record_shape "$node" 10 \
						$([[ $what == as_it_is ]] || options_of "$node" "$what")
					read -r steps wrong < <(judge_chains)
					((steps >= 150)) || fail "$node $what: $steps samples with steps"
					figure "$node $what: $((steps - wrong)) of $steps exact"
					((wrong * 200 <= steps)) || figure "... of which one: $(head -n 1 wrong | cut -c1-2000); given up: $(field shape.data code_given_up)"
					((all += steps, bad += wrong))
				done
			done
			figure "$node: chains: $((all - bad)) of $all"
			percent "$node: chains: $(head -n 1 wrong 2>/dev/null | tail -c 400)" $((all - bad)) "$all" 99.5
		done
	}
fi

# A process that runs already when the recorder comes.
test_attached() {
	local node list pid
	list=$(nodes) || exit $?
	for node in $list; do
		# shellcheck disable=SC2046
		"$node" $(options_of "$node" optimizing) "$here/node_shape.mjs" 30 >/dev/null </dev/null &
		pid=$!
		wait_until "$node that runs" has_cpu_ms "$pid" 1000
		record_for_cpu_ms 2000 "$pid" -F 997 -o shape.data
		kill "$pid"
		wait
		want_status 0 "record -p"
		exact_chains "$node attached"
	done
}

test_whole_and_named() {
	local node list all modules unnamed
	list=$(nodes) || exit $?
	for node in $list; do
		# shellcheck disable=SC2046
		record_shape "$node" 2 $(options_of "$node" interpreter)
		read -r all modules unnamed < <(count shape.data '
			/;turn;/ { add("all") } /;turn;/ && /\[unnamed/ { add("unnamed") }
			/;turn;/ && /_start.*turn|start_main.*turn/ { add("whole") }
			END { print c["all"] + 0, c["whole"] + 0, c["unnamed"] + 0 }')
		percent "$node: stacks up to the beginning of the program" "$modules" "$all" 98
		percent "$node: stacks whose functions have names" $((all - unnamed)) "$all" 98
	done
}

# Lines where calls return to: turn() is one, and the step that calls another one. Those of a script
# whose beginning is long, so that places that are wrong are so by many lines.
test_lines() {
	local node list what all wrong
	list=$(nodes) || exit $?
	cat >lines.mjs <<-'JS'
		function spin(n) { let sum = 0; for (let i = 0; i < n; i++) sum = (sum * 31 + i) | 0; return sum; }
		let total = 0;
		const one = () => spin(2000);
		const end = 1.5e6; // microseconds of CPU time
	JS
	yes 'total += [1, 2, 3].length;' | head -n 400 >>lines.mjs
	printf 'while (process.cpuUsage().user < end)\n\ttotal += one(); // line 406\nconsole.log(total);\n' >>lines.mjs
	for node in $list; do
		for what in interpreter baseline; do
			# shellcheck disable=SC2046
			"$EBPROF" record -q -F 997 -o lines.data -- "$node" $(options_of "$node" $what) "$PWD/lines.mjs" \
				>out 2>err || fail "record $node: $(cat err)"
			"$EBPROF" convert --json -i lines.data -o lines.json >/dev/null 2>&1 || fail "convert"
			read -r all wrong < <(python3 "$here/node_lines.py" lines.json "$PWD/lines.mjs")
			[[ $all -ge 300 ]] || fail "$node, $what: $all samples of one()"
			percent "$node, $what: lines of calls" $((all - wrong)) "$all" 97
		done
	done
}

# Lines of optimized code where it is interrupted, of an inlined function as well: two loops of each
# function take known shares. The compiler knows no calls there.
test_lines_of_leaves() {
	local node list first two wrong three inlined
	list=$(nodes) || exit $?
	cat >leaves.mjs <<-'JS'
		function two(x, n) {
			let a = x | 0;
			for (let i = 0; i < 3 * n; i++)
				a = (a * 31 + i) | 0;
			for (let i = 0; i < n; i++)
				a = (a * 31 + i) | 0;
			return a;
		}
		const small = (a, i) => (a * 37 ^ i >> 1) | 0;
		function three(x, n) {
			for (let i = 0; i < 3 * n; i++)
				x = small(x, i);
			for (let i = 0; i < n; i++)
				x = (x * 41 + i) | 0;
			return x;
		}
		let x = 0;
		while (process.cpuUsage().user < 2.5e6) x = three(two(x, 100000), 100000);
		console.log(x);
	JS
	for node in $list; do
		"$EBPROF" record -q -F 997 -o leaves.data -- "$node" "$PWD/leaves.mjs" >out 2>err || fail "record: $(cat err)"
		"$EBPROF" convert --json -i leaves.data -o leaves.json >/dev/null 2>&1 || fail "convert"
		read -r first two wrong three inlined < <(python3 - leaves.json <<-'PY'
			import json, sys
			r = json.load(open(sys.argv[1]))
			n = dict.fromkeys(("first", "second", "other", "three", "small"), 0)
			for s in r["samples"]:
			    frames = [r["frames"][i] for i in r["stacks"][s["stack"]]]
			    at = [(r["functions"][f["function"]]["name"], f.get("line")) for f in frames]
			    for name, line in at:
			        if name == "two":
			            n["first" if line in (3, 4) else "second" if line in (5, 6) else "other"] += s["samples"]
			        if name == "three":
			            n["small" if ("small", 9) in at else "three"] += s["samples"]
			print(n["first"], n["first"] + n["second"], n["other"], n["three"], n["small"])
		PY
		)
		percent "$node: lines of leaves" "$two" $((two + wrong)) 97
		near "$node: the first loop" "$first" "$two" 75 8
		percent "$node: a leaf in an inlined function" "$inlined" $((three + inlined)) 30
	done
}

# Of functions that the compiler says it inlined, where one of them calls another that it did not.
test_inlined_call_sites() {
	local node list option function samples wrong longer first
	list=$(nodes) || exit $?
	for node in $list; do
		option=$([[ $(major_of "$node") -lt 22 ]] || echo --no-maglev) # which does not say it
		"$EBPROF" record -q -F 997 -o sites.data -- "$node" ${option:+"$option"} --trace-turbo-inlining "$here/node_sites.cjs" 3 \
			>inlined 2>err || fail "record $node: $(cat err)"
		for function in outer middle inner; do
			grep -qE "^Inlining .*SharedFunctionInfo $function> *}? into .*SharedFunctionInfo( turn)?>" inlined ||
				fail "$node: $function() is not inlined: $(grep Inlining inlined)"
		done
		"$EBPROF" convert --json ${SYMFS:+--symfs "$SYMFS"} -i sites.data -o sites.json >/dev/null 2>&1 || fail convert
		read -r samples wrong longer first < <("$here/judge_call_sites.py" sites.json "$here/node_sites.cjs" 2>judge.err)
		[[ $samples -ge 150 ]] || fail "$node: $samples samples"
		percent "$node: calls in inlined functions: $(head -n 1 judge.err)" $((samples - wrong)) "$samples" 99.5
		near "$node: by the longer call" "$longer" "$samples" 75 10
		near "$node: by the first call" "$first" "$samples" 50 10
	done
}

# Constructors of classes, which are functions of another type, compiled and interpreted.
test_constructors() {
	local node list option all wrong
	list=$(nodes) || exit $?
	cat >classes.mjs <<-'JS'
		let sum = 0;
		function work(n) { for (let i = 0; i < n; i++) sum = (sum * 31 + i) | 0; }
		class Base { constructor(n) { work(n); } }
		class Derived extends Base { #x = 1; constructor(n) { super(n); sum += this.#x; work(n); } }
		class Empty extends Derived { y = 5; }
		function create(n) { return new Empty(n); }
		while (process.cpuUsage().user < 1.5e6) create(3000);
	JS
	for node in $list; do
		for option in --opt --no-opt; do
			"$EBPROF" record -q -F 997 -o classes.data -- "$node" $option "$PWD/classes.mjs" >out 2>err ||
				fail "record: $(cat err)"
			read -r all wrong < <(count classes.data '
				/;create;.*;work(;|$)/ { add("all") }
				/;create;.*;work(;|$)/ && (!/;create;(.*;)?Empty;(.*;)?Derived;/ || /\[JIT\]|\[unnamed/) { add("wrong"); print >"wrong" }
				END { print c["all"] + 0, c["wrong"] + 0 }')
			percent "$node $option: constructors: $(head -n 1 wrong 2>/dev/null | tail -c 300)" $((all - wrong)) "$all" 99
		done
	done
}

# Node writes it on and on; the last function is the last to be compiled. Until Node 18 what is compiled
# is called LazyCompile there.
copy_map() { # PID NUMBER
	local map=/proc/$1/root/tmp/perf-$1.map
	for _ in {1..300}; do
		! grep -qE '^[^ ]+ [^ ]+ (JS|LazyCompile):.*[*+]m15 ' "$map" 2>/dev/null || break
		sleep 0.1
	done
	cp "$map" "map.$2" || fail "no map"
	[[ $2 == 1 ]] || rm -f "$map"
}

# Names by V8's own word: its perf map says of each address which function it is of. Code of the
# interpreter and of the first compiler is not judged: it works in builtins.
test_names_of_addresses() {
	local node list seconds=3 options
	list=$(nodes) || exit $?
	[[ -z ${INTERPRETERS-} ]] || seconds=10 # for 10,000 samples
	for node in $list; do
		for options in "" --no-turbofan; do
			[[ -z $options || (-n ${INTERPRETERS-} && $(major_of "$node") -ge 24) ]] || continue # another compiler
			rm -f end
			"$node" --perf-basic-prof ${options:+"$options"} "$here/node_names.mjs" "$PWD/end" 700000 >clocked </dev/null &
			sample_names $! "$seconds" copy_map
			names_are_right "$node $options" "$seconds"
		done
	done
}

# Three that were passed on as they were written, of 60, 30 and 10 %: by their lines, which move when
# the file is edited; comparisons take all of a file for one.
test_nameless() {
	local node list line
	list=$(nodes) || exit $?
	{
		echo 'const list = []'
		for line in 6 3 1; do
			echo "list.push((n) => { let s = 0; for (let i = 0; i < n * $line; i++) { s = (s * 31 + i) % 1000003 } return s })"
		done
		echo 'const end = Date.now() + 1500; while (Date.now() < end) for (const it of list) it(100000)'
	} >handlers.js
	(echo && cat handlers.js) >edited.js
	for node in $list; do
		"$EBPROF" record -q -F 997 -o before.data -- "$node" handlers.js 2>err || fail "record $node: $(cat err)"
		cp edited.js handlers.js
		"$EBPROF" record -q -F 997 -o after.data -- "$node" handlers.js 2>err || fail "record $node: $(cat err)"
		"$EBPROF" report --stdio before.data >report 2>&1
		# Shares of the three, not of all samples: on a loaded machine, Node's start takes an eighth of them.
		for line in 2:60 3:30 4:10; do
			awk -v name="(anonymous:${line%:*})" -v want="${line#*:}" '$NF ~ /^[(]anonymous:[234][)]$/ { all += $1; if ($NF == name) own = $1 + 0 }
				END { exit !(own > (want - 6) / 100 * all && own < (want + 6) / 100 * all) }' report || fail "$node: $line % $(cat report)"
		done
		"$EBPROF" diff before.data after.data >changes 2>&1
		! grep 'anonymous' changes | grep -q 'removed\|new' || fail "$node: $(cat changes)"
		grep -q '(anonymous) ' changes || fail "$node: $(cat changes)"
	done
}

# Processes of 0.1 s: names are copied when functions are seen, whatever becomes of the process.
test_short_lives() {
	local node list all unnamed
	list=$(nodes) || exit $?
	cat >short.mjs <<-'JS'
		const work = (n) => JSON.stringify(Array.from({ length: n }, (_, i) => ({ i }))).length;
		while (process.cpuUsage().user < 120e3) work(300);
	JS
	for node in $list; do
		# shellcheck disable=SC2016
		"$EBPROF" record -q -F 497 -o short.data -- \
			bash -c 'for i in {1..8}; do "$1" "$PWD/short.mjs"; done' - "$node" >out 2>err || fail "record: $(cat err)"
		read -r all unnamed < <(count short.data '
			/Builtins_JSEntry|;work/ { add("all") } /;work.*\[unnamed|\[unnamed.*;work/ { add("unnamed") }
			END { print c["all"] + 0, c["unnamed"] + 0 }')
		percent "$node: short lives: stacks whose functions have names" $((all - unnamed)) "$all" 97
	done
}

# Functions of three modules of WebAssembly with as many functions: two with names, one without. Where V8
# inlines functions in others, they have no frames.
test_webassembly() {
	local node list options all wrong
	list=$(nodes) || exit $?
	cat >wasm.mjs <<-'JS'
		const section = (id, ...body) => [id, body.length, ...body];
		const text = (s) => [s.length, ...Buffer.from(s)];
		const functions = 6, numbers = Array.from({ length: functions }, (_, i) => i);
		// Each calls the next one, the last one the first of the two imported.
		const bodies = numbers.flatMap((i) => i < functions - 1 ? [6, 0, 0x20, 0, 0x10, i + 3, 0x0b] : [4, 0, 0x10, 0, 0x0b]);
		const module = (name) => {
			const names = [functions, ...numbers.flatMap((i) => [i + 2, ...text(name + i)])];
			return new WebAssembly.Module(Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
				...section(1, 2, 0x60, 0, 0, 0x60, 1, 0x7f, 0),
				...section(2, 3, ...text("m"), ...text("f"), 0, 0, ...text("m"), ...text("t"), 1, 0x70, 0, 1,
					...text("m"), ...text("f"), 0, 0),
				...section(3, functions, ...numbers.map(() => 1)), ...section(7, 1, ...text("run"), 0, 2),
				...section(10, functions, ...bodies),
				...(name ? section(0, ...text("name"), ...section(1, ...names)) : [])]));
		};
		let sum = 0;
		function alpha() { for (let i = 0; i < 3000; i++) sum = (sum * 31 + i) | 0; }
		function beta() { for (let i = 0; i < 3000; i++) sum = (sum * 31 + i) | 0; }
		function gamma() { for (let i = 0; i < 3000; i++) sum = (sum * 31 + i) | 0; }
		const t = new WebAssembly.Table({ element: "anyfunc", initial: 1 });
		const runs = [["of_alpha_", alpha], ["of_beta_", beta], ["", gamma]].map(([name, f]) =>
			new WebAssembly.Instance(module(name), { m: { f, t } }).exports.run);
		function outer() { for (const run of runs) run(5); }
		while (process.cpuUsage().user < 1.5e6) outer();
	JS
	for node in $list; do
		options=$("$node" --v8-options | grep -oE '^ *--wasm-inlining ') && options=--no-wasm-inlining
		"$EBPROF" record -q -F 997 -o wasm.data -- "$node" ${options:+"$options"} "$PWD/wasm.mjs" >out 2>err || fail "record: $(cat err)"
		read -r all wrong < <(count wasm.data '
			BEGIN {
				for (i = 0; i < 6; i++) {
					chain["alpha"] = chain["alpha"] ";of_alpha_" i
					chain["beta"] = chain["beta"] ";of_beta_" i
					chain["gamma"] = chain["gamma"] (i ? ";wasm-function[" i + 2 "]" : ";run")
				}
			}
			/;(alpha|beta|gamma)(;|$)/ && /;outer;/ {
				add("all"); stack = $0
				of = /;alpha/ ? "alpha" : /;beta/ ? "beta" : "gamma"
				if (!index($0, chain[of] ";") || gsub(/;of_|;wasm-function/, "") != (of == "gamma" ? 5 : 6)) {
					add("wrong"); print stack >"wrong"
				}
			}
			END { print c["all"] + 0, c["wrong"] + 0 }')
		[[ $all -ge 100 ]] || fail "$node: $all samples behind WebAssembly"
		percent "$node: WebAssembly: $(head -n 1 wrong 2>/dev/null | tail -c 300)" $((all - wrong)) "$all" 97
		# Which functions these are V8 says in its own map, as the manual has it.
		"$EBPROF" record -q -F 997 --no-vm node -o wasm.data -- "$node" --perf-basic-prof ${options:+"$options"} "$PWD/wasm.mjs" \
			>out 2>err || fail "record: $(cat err)"
		read -r all wrong < <(count wasm.data '
			/[:*^~+\047]gamma/ { add("all"); if (gsub(/wasm-function\[[2-7]\]/, "") != 6) add("wrong") }
			END { print c["all"] + 0, c["wrong"] + 0 }')
		[[ $all -ge 50 ]] || fail "$node: $all samples of gamma() by the map"
		percent "$node: WebAssembly by the map" $((all - wrong)) "$all" 97
	done
}

test_left_out() {
	local node list
	list=$(nodes) || exit $?
	for node in $list; do
		RECORD_OPTIONS="--no-vm node" record_shape "$node" 1
		[[ $(count shape.data '/;step[0-9]/ { add("js") } END { print c["js"] + 0 }') == 0 ]] ||
			fail "$node: functions in spite of --no-vm node"
	done
}

run_tests
