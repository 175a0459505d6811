#!/bin/bash
# Programs of .NET: frames of methods that are compiled at run time and ahead of it, judged by a
# program of which every caller is known.
#   INTERPRETERS    programs to try, built of dotnet_shape.cs: tests/languages/check_languages.sh
. "$(dirname "$0")/prelude.bash"
. "$here/script_frames.bash"
. "$here/../dotnet_program.bash"

# The programs, a line each. Without any, one for the .NET that is here; its compiler needs no
# network.
shapes() { # [portable|embedded [PROGRAM]]: where the PDB is, beside it or within; another one
	local dotnet home framework compiler version libraries folder=../${2-shape}.${1-portable} source=dotnet_${2-shape}.cs
	[[ $(uname -m) == x86_64 ]] || skip "script frames are found on x86-64 only"
	if [[ -n ${INTERPRETERS-} ]]; then
		tr ' ' '\n' <<<"$INTERPRETERS"
		return
	fi
	dotnet=$(command -v dotnet) || skip "no dotnet here"
	home=$(dirname "$(realpath "$dotnet")")
	compiler=$(ls -d "$home"/sdk/*/Roslyn/bincore/csc.dll 2>/dev/null | tail -n 1)
	framework=$(ls -d "$home"/shared/Microsoft.NETCore.App/* 2>/dev/null | tail -n 1)
	[[ -n $compiler && -n $framework ]] || skip "no SDK of .NET here"
	version=$(basename "$framework")
	if [[ ! -e $folder/shape.dll ]]; then
		mkdir -p "$folder"
		mapfile -t libraries < <(printf -- '-r:%s\n' "$framework"/System*.dll)
		DOTNET_TieredPGO=0 "$dotnet" "$compiler" -nologo -optimize+ "-debug:${1-portable}" -unsafe+ -nowarn:CS0649 \
			"-out:$folder/shape.dll" "${libraries[@]}" \
			"$here/$source" >err 2>&1 || fail "csc: $(cat err)"
		printf '{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "%s"}}}\n' \
			"$version" >"$folder/shape.runtimeconfig.json"
	fi
	printf '%s\n' "$(realpath "$folder/shape.dll")"
}

record_shape() { # SHAPE SECONDS
	local command=("$1")
	[[ $1 != *.dll ]] || command=(dotnet "$1")
	# shellcheck disable=SC2086
	env ${VARIABLES:-} "$EBPROF" record -q -F 997 -o shape.data ${RECORD_OPTIONS:-} -- "${command[@]}" "$2" >out 2>err </dev/null ||
		fail "record $1: $(cat err)"
}

# Every stack with a step has all those ahead of it, each once, whether it is in a step's lambda or
# not; and whatever is between two of them is of .NET's own libraries. The finally of Step10() is a function
# that it calls, with its name.
exact_chains() { # WHAT
	local steps wrong whole
	read -r steps wrong whole < <(count shape.data '
		/;Shape[.][^;]*[.]Step[0-9][0-9]/ {
			add("steps")
			if (/_start.*[.]Step|start_thread.*[.]Step/) add("whole")
			n_frames = split($0, frame, ";"); want = finally = 0; is_wrong = !/[.]Turn;/
			for (i = 1; i <= n_frames; i++) {
				if (frame[i] !~ /^Shape[.]/ || !match(frame[i], /[.]Step[0-9][0-9]/)) continue
				if (frame[i] == "Shape.Steps.Step10" && frame[i - 1] == frame[i] && want == 11 && !finally++) continue
				number = substr(frame[i], RSTART + 5, 2) + 0
				if (frame[i] ~ /[.]Step[0-9][0-9](<[^;]*>)?$/) { if (number != want++) is_wrong = 1 }
				else if (number != want - 1) is_wrong = 1
			}
			if (is_wrong) { add("wrong"); print >"wrong" }
		}
		END { print c["steps"] + 0, c["wrong"] + 0, c["whole"] + 0 }')
	[[ $steps -ge 150 ]] || fail "$1: $steps samples with steps: $(sort -t' ' -k2 stacks | head -c 2000)"
	percent "$1: chains that are exact: $(head -n 1 wrong 2>/dev/null | tail -c 1500)" $((steps - wrong)) "$steps" 99.5
	percent "$1: stacks from the beginning of their threads on" "$whole" "$steps" 99
}

try_chains() { # VARIABLE=VALUE...
	local shape list
	list=$(shapes) || exit $?
	for shape in $list; do
		VARIABLES="$*" record_shape "$shape" 2
		exact_chains "$shape $*"
	done
}

test_tiers() { try_chains DOTNET_TieredPGO=1; }
test_optimized_at_once() { try_chains DOTNET_TieredCompilation=0; }
test_without_code_of_files() { try_chains DOTNET_ReadyToRun=0 DOTNET_TieredPGO=0; }
test_memory_mapped_once() { try_chains DOTNET_EnableWriteXorExecute=0; }

# Functions of .NET have names; those of its native libraries are stripped.
test_names() {
	local shape list all named
	list=$(shapes) || exit $?
	for shape in $list; do
		record_shape "$shape" 2
		exact_chains "$shape"
		read -r all named < <(count shape.data '
			{ n_frames = split($0, frame, ";")
			for (i = 1; i <= n_frames; i++)
				if (frame[i] ~ /^(\[unnamed|\[JIT\]|memfd)|[.]dll[+]|[.]dll fn_/) c["unnamed"] += n
				else if (frame[i] ~ /[.]/ && frame[i] !~ /[.]so/) c["named"] += n }
			END { print c["unnamed"] + c["named"] + 0, c["named"] + 0 }')
		percent "$shape: frames with names: $(grep -oE "\[unnamed[^;]*|[^;]*[.]dll[+ ][^;]*" stacks | sort | uniq -c | sort -rn | head -n 3)" \
			"$named" "$all" 99
		for name in 'Shape[.]Steps[.]Step05 lambda' 'Shape[.]Steps[.]Step06[.]Local' \
			'Shape[.]Holder<__Canon>[.]Step03' 'Shape[.]Steps[.]Step04<Shape[.]Pair,__Canon>' ';Emitted;' \
			'Shape[.]Program[.]Asynchronous' 'Array[.]Sort<int>|ArraySortHelper<int>'; do
			grep -qE "$name" stacks || fail "$shape: nothing is called $name"
		done
	done
}

# The lines of a loop of two.
try_lines() { # portable|embedded
	local shape list line all known
	list=$(shapes "$1") || exit $?
	command -v go >/dev/null || skip "no go, whose pprof shows lines"
	line=$(grep -n '// hot' "$here/dotnet_shape.cs" | cut -d: -f1)
	for shape in $list; do
		record_shape "$shape" 2
		"$EBPROF" convert --pprof -i shape.data -o shape.pb.gz >/dev/null 2>&1 || fail "convert"
		go tool pprof -lines -top -nodecount=2000 -sample_index=samples shape.pb.gz >top 2>/dev/null || fail "pprof"
		read -r all known < <(awk -v line="$line" '/ Shape[.]Steps[.]Spin / {
				all += $1
				if (match($0, /dotnet_shape[.]cs:[0-9]+/)) {
					number = substr($0, RSTART + 16, RLENGTH - 16)
					if (number >= line - 1 && number <= line) known += $1
				}
			} END { print all + 0, known + 0 }' top)
		percent "$shape: samples in lines of the loop: $(grep Spin top | head -n 5)" "$known" "$all" 90
	done
}

test_lines_by_pdb_beside() { try_lines portable; }
test_lines_by_pdb_within() {
	[[ -z ${INTERPRETERS-} ]] || skip "those of check-languages have it beside them"
	try_lines embedded
}

# Of code that was compiled ahead of time, which is not compiled anew here, the reader finds them.
test_lines_of_ready_code() {
	local cache=${LANGUAGE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ebprof/languages} home framework name why
	[[ -z ${INTERPRETERS-} ]] || skip "all tests are about the programs of check-languages"
	[[ $(uname -m) == x86_64 ]] || skip "script frames are found on x86-64 only"
	home=$(command -v dotnet) || skip "no dotnet here"
	framework=$(basename "$(ls -d "$(dirname "$(realpath "$home")")"/shared/Microsoft.NETCore.App/* | tail -n 1)")
	name=dotnet-$framework-ready
	mkdir -p "$cache" || skip "no room for a program of .NET"
	why=$(flock "$cache/$name.lock" bash -c '. "$0" && dotnet_program "$@"' "$here/../dotnet_program.bash" \
		"$cache/$name" "net${framework%.*}" "$framework" -p:PublishReadyToRun=true -p:SelfContained=false) ||
		skip "no program of .NET's that was compiled ahead of time: $why"
	INTERPRETERS=$cache/$name/out/shape.dll VARIABLES=DOTNET_TieredCompilation=0 try_lines portable
	"$EBPROF" report --stdio -i shape.data | grep -q 'shape[.]dll .* Shape[.]Steps[.]Spin' ||
		fail "the loop was compiled at run time: $(head -n 5 top)"
}

# A process that runs already when the recorder comes.
test_attached() {
	local shape list command pid
	list=$(shapes) || exit $?
	for shape in $list; do
		command=("$shape")
		[[ $shape != *.dll ]] || command=(dotnet "$shape")
		"${command[@]}" 30 >/dev/null </dev/null &
		pid=$!
		wait_until "$shape that runs" has_cpu_ms "$pid" 1000
		record_for_cpu_ms 3500 "$pid" -F 997 -o shape.data # of two threads
		kill "$pid"
		wait
		want_status 0 "record -p"
		exact_chains "$shape attached"
	done
}

# All of it in one file: the runtime, its libraries, which are mapped from there, and the program. Those of
# a compressed one are unpacked into memory of no file.
program_of_one_file() { # NAME PROPERTY...
	local cache=${LANGUAGE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ebprof/languages} name=$1 why
	shift
	[[ -z ${INTERPRETERS-} ]] || skip "all tests are about the programs of check-languages"
	[[ $(uname -m) == x86_64 ]] || skip "script frames are found on x86-64 only"
	mkdir -p "$cache" || skip "no room for a program of .NET"
	why=$(flock "$cache/$name.lock" bash -c '. "$0" && dotnet_program "$@"' "$here/../dotnet_program.bash" \
		"$cache/$name" net10.0 10.0.15 -p:PublishSingleFile=true "$@") || skip "no program of .NET's that is a single file: $why"
	INTERPRETERS=$cache/$name/out/shape
}

test_single_file() {
	program_of_one_file dotnet-10.0.15-single
	try_chains DOTNET_TieredPGO=1
	test_methods_while_tables_are_made
}

test_compressed_single_file() {
	program_of_one_file dotnet-10.0.15-compressed -p:EnableCompressionInSingleFile=true
	test_methods_while_tables_are_made
	grep -q 'System[.]Array[.]Sort<int>' stacks || fail "the library's methods have no names"
}

# While tables of the runtime and of its libraries are being made, the recorder goes on with the stacks
# that these cut, and finds methods itself.
test_methods_while_tables_are_made() {
	local shape list all named
	list=$(shapes) || exit $?
	for shape in $list; do
		RECORD_OPTIONS="--unwind-cache none" record_shape "$shape" 1
		exact_chains "$shape without tables"
		read -r all named < <(count shape.data '{ add("all") } !/\[JIT\]/ { add("named") } END { print c["all"] + 0, c["named"] + 0 }')
		percent "$shape: stacks without code of nobody: $(grep -m 1 '\[JIT\]' stacks | cut -c1-1500)" "$named" "$all" 99.7
	done
}

# The runtime writes it on and on; the last method is the last to be compiled.
copy_map() { # PID NUMBER
	local map=/tmp/perf-$1.map
	for _ in {1..300}; do
		! grep -q 'm15.*Tier1' "$map" 2>/dev/null || break
		sleep 0.1
	done
	cp "$map" "map.$2" || fail "no map"
	[[ $2 == 1 ]] || rm -f "$map" "/tmp/perfinfo-$1.map"
}

# Names by the runtime's own word: its perf map says of each address which method it is of. Names
# that the recorder took from there would have another form.
test_names_of_addresses() {
	local names seconds=${NAMES_SECONDS-3}
	[[ -z ${INTERPRETERS-} ]] || skip "all tests are about the programs of check-languages"
	names=$(shapes portable names) || exit $?
	DOTNET_PerfMapEnabled=1 dotnet "$names" "$PWD/end" 1000000 >clocked </dev/null &
	sample_names $! "$seconds" copy_map
	names_are_right "dotnet" "$seconds"
}

test_left_out() {
	local shape list
	list=$(shapes) || exit $?
	for shape in $list; do
		RECORD_OPTIONS="--no-vm dotnet" record_shape "$shape" 1
		[[ $(count shape.data '/;Shape[.].*[.]Step[0-9][0-9]/ { add("dotnet") } END { print c["dotnet"] + 0 }') == 0 ]] ||
			fail "$shape: methods in spite of --no-vm dotnet"
	done
}

run_tests
