#!/bin/bash
# Java programs: frames of methods that are interpreted, compiled and inlined in each other, judged
# by a program of which every caller is known.
#   CHAINS=20000    that many samples of it for each Java, which takes minutes
. "$(dirname "$0")/prelude.bash"
. "$here/script_frames.bash"

javas() { interpreters java; }

# The program, compiled for the oldest Java that there is; the folder is the test's own.
compile() {
	command -v javac >/dev/null || skip "no javac here"
	[[ -e ../classes/JavaShape.class ]] ||
		javac -Xlint:none -nowarn --release 11 -d ../classes "$here"/Java{Back,Inlined,Names,Shape,Sites,Threads,Turns,TurnsPlugin00,Virtual}.java 2>err ||
		fail "javac: $(cat err)"
	mkdir -p classes
	cp ../classes/*.class classes/
}

record_shape() { # JAVA SECONDS OPTION_OF_JAVA...
	local java=$1 seconds=$2
	shift 2
	compile
	"$EBPROF" record -q -F 997 -o shape.data ${RECORD_OPTIONS:-} -- "$java" "$@" -cp "$PWD/classes" JavaShape "$seconds" \
		>spent 2>err || fail "record $java: $(cat err)"
}

# Every stack with a step has all those ahead of it, each once, in a row, behind turn(). Those that
# a virtual machine goes by while it takes a compiled frame apart are the only ones that may differ.
# Prints how many stacks have steps, are wrong, and have code of no name.
judge_chains() {
	count shape.data '
		/\[JIT\]/ { add("early") }
		/JavaShape[.]step/ {
			add("steps")
			split($0, frame, ";"); want = 0; is_wrong = 0; last = 0
			for (i in frame) last = i > last ? i : last
			for (i = 1; i in frame; i++)
				if (frame[i] ~ /^JavaShape[.]step/) {
					if (substr(frame[i], 15, 2) + 0 != want++) is_wrong = 1
					if (want == 1 ? frame[i - 1] !~ /^JavaShape[.]turn/ : !before) is_wrong = 1
					before = 1
				} else before = 0
			if (is_wrong) { add("wrong"); print >"wrong" }
		}
		END { print c["steps"] + 0, c["wrong"] + 0, c["early"] + 0 }'
}

exact_chains() { # WHAT
	local steps wrong early
	read -r steps wrong early < <(judge_chains)
	[[ $steps -ge 150 ]] || fail "$1: $steps samples with steps"
	percent "$1: chains that are exact: $(head -n 1 wrong 2>/dev/null | tail -c 400)" $((steps - wrong)) "$steps" 99.5
	percent "$1: stacks without code of no name" $((steps - early)) "$steps" 80
}

# The kernel keeps 15 bytes of a thread's name; Java has all of it, also by numbers of another pid
# namespace.
test_thread_names() {
	local java list run name cut
	list=$(javas) || exit $?
	compile
	for java in $list; do
		for run in "" "unshare --pid --fork --mount-proc"; do
			# shellcheck disable=SC2086
			"$EBPROF" record -q -F 499 -o threads.data -- $run "$java" -cp "$PWD/classes" JavaThreads 2 2>err ||
				fail "record $java: $(cat err)"
			"$EBPROF" report --stdio --percent-limit 0 -s comm -i threads.data >names 2>/dev/null
			for name in connection-acceptor-a connection-acceptor-b verarbeitung-der-äpfel short \
				'ForkJoinPool-1-worker-[12]'; do
				grep -qE " $name\$" names || fail "$java: no thread is called $name: $(grep -v '^#' names | tr '\n' '|')"
			done
			cut=$(grep -E ' (connection-acce|connect[.][.].*|verarbeitung-de|ForkJoinPool-1-|ForkJoi[.][.].*)$' names)
			[[ -z $cut ]] || fail "$java: names are cut: $cut"
		done
	done
}

try_chains() { # OPTION_OF_JAVA
	local java list
	list=$(javas) || exit $?
	for java in $list; do
		# shellcheck disable=SC2086
		record_shape "$java" 2 $1
		exact_chains "$java $1"
	done
}

test_tiers() { try_chains ""; }
test_interpreter() { try_chains -Xint; }
test_first_compiler() { try_chains -XX:TieredStopAtLevel=1; }
test_second_compiler() { try_chains -XX:-TieredCompilation; }
test_serial_collector() { try_chains -XX:+UseSerialGC; }

# With the layout that compilers written in Java want; check-languages tries it.
test_jvmci() {
	local options="-XX:+UnlockExperimentalVMOptions -XX:+EnableJVMCI" java list
	[[ -n ${INTERPRETERS-} ]] || skip "for check-languages"
	list=$(javas) || exit $?
	for java in $list; do
		# shellcheck disable=SC2086
		"$java" $options -version >/dev/null 2>&1 || skip "$java has no JVMCI"
	done
	try_chains "$options"
}

# So many samples, of programs of 10 s that run each way by turns: nothing is known of the files before.
if [[ -n ${CHAINS-} ]]; then
	test_many_chains() {
		local java list options steps wrong early all bad
		list=$(javas) || exit $?
		for java in $list; do
			all=0 bad=0
			while ((all < CHAINS)); do
				for options in "" -Xint -XX:TieredStopAtLevel=1 -XX:-TieredCompilation -XX:+UseSerialGC -XX:+UseParallelGC \
					"-XX:+UnlockExperimentalVMOptions -XX:+UseZGC" "-XX:+UnlockExperimentalVMOptions -XX:+UseShenandoahGC"; do
					# shellcheck disable=SC2086
					RECORD_OPTIONS="--unwind-cache none" record_shape "$java" 10 $options
					read -r steps wrong early < <(judge_chains)
					((steps >= 150)) || fail "$java $options: $steps samples with steps"
					figure "$java $options: $((steps - wrong)) of $steps exact, $early with code of no name"
					((wrong * 200 <= steps)) || figure "... of which one: $(head -n 1 wrong | cut -c1-2000); given up: $(field shape.data code_given_up)"
					((all += steps, bad += wrong))
				done
			done
			figure "$java: chains: $((all - bad)) of $all"
			percent "$java: chains: $(head -n 1 wrong 2>/dev/null | tail -c 400)" $((all - bad)) "$all" 99.5
		done
	}
fi

test_shares_and_lines() {
	local java list line h m l lines want_h want_m want_l
	line=$(grep -n '// hot' "$here/JavaShape.java" | cut -d: -f1)
	list=$(javas) || exit $?
	for java in $list; do
		record_shape "$java" 3
		read -r want_h want_m want_l <spent
		read -r h m l < <(count shape.data '
			/JavaShape[.]heavy/ { add("h") } /JavaShape[.]medium/ { add("m") } /JavaShape[.]light/ { add("l") }
			END { print c["h"] + 0, c["m"] + 0, c["l"] + 0 }')
		[[ $((h + m + l)) -ge 100 ]] || fail "$java: $h $m $l samples"
		near "$java: heavy" "$h" $((h + m + l)) "$want_h" 8
		near "$java: medium" "$m" $((h + m + l)) "$want_m" 8
		near "$java: light" "$l" $((h + m + l)) "$want_l" 8
		command -v go >/dev/null || continue
		"$EBPROF" convert --pprof -i shape.data -o shape.pb.gz >/dev/null 2>&1 || fail "convert"
		go tool pprof -lines -top -nodecount=2000 shape.pb.gz >top 2>/dev/null || fail "pprof"
		lines=$(sed -n 's/.*JavaShape[.]heavy .*JavaShape[.]java:\([0-9]*\).*/\1/p' top |
			awk -v line="$line" '$1 >= line - 1 && $1 <= line { n++ } END { print n + 0 }')
		[[ $lines -ge 1 ]] || fail "$java: no line of the loop in heavy(): $(grep heavy top | head -3)"
	done
}

# A process that runs already when the recorder comes.
test_attached() {
	local java list pid
	list=$(javas) || exit $?
	compile
	for java in $list; do
		"$java" -cp "$PWD/classes" JavaShape 30 >/dev/null </dev/null &
		pid=$!
		wait_until "$java that runs" has_cpu_ms "$pid" 1500
		record_for_cpu_ms 2000 "$pid" -F 997 -o shape.data
		kill "$pid"
		wait
		want_status 0 "record -p"
		exact_chains "$java attached"
	done
}

# Of a leaf in methods that are inlined: a guess is flagged, and without one the shares are right.
test_inlined_leaves() {
	local java list guessed first second
	list=$(javas) || exit $?
	compile
	for java in $list; do
		"$EBPROF" record -q -F 997 -o guess.data -- "$java" -cp "$PWD/classes" JavaInlined 1 >/dev/null 2>err ||
			fail "record: $(cat err)"
		guessed=$(field guess.data guessed_inlined)
		[[ $guessed -ge 100 ]] || fail "$java: $guessed guesses, though most leaves are inlined"
		"$EBPROF" convert --json --labels unwind -i guess.data -o guess.json >/dev/null 2>&1 || fail convert
		grep -q '"unwind":"inlined"' guess.json || fail "no stack is said to be guessed"
		"$EBPROF" record -q -F 997 -o shape.data -- "$java" -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints \
			-cp "$PWD/classes" JavaInlined 2 >/dev/null 2>err || fail "record: $(cat err)"
		[[ $(field shape.data guessed_inlined) == 0 ]] || fail "guesses in spite of DebugNonSafepoints"
		read -r first second < <(count shape.data '
			/JavaInlined[.]turn;JavaInlined[.]first/ { add("first") } /JavaInlined[.]turn;JavaInlined[.]second/ { add("second") }
			END { print c["first"] + 0, c["second"] + 0 }')
		near "$java: first(), inlined" "$first" $((first + second)) 75 8
	done
}

# Of methods that the compiler says it inlined, where one of them calls another that it did not.
test_inlined_call_sites() {
	local java list method samples wrong longer first
	command -v python3 >/dev/null || skip "no python3 here"
	list=$(javas) || exit $?
	compile
	for java in $list; do
		"$EBPROF" record -q -F 997 -o sites.data -- "$java" -XX:CompileCommand=quiet -XX:CompileCommand=dontinline,JavaSites.work \
			-XX:+UnlockDiagnosticVMOptions -XX:+PrintInlining -cp "$PWD/classes" JavaSites 3 >inlined 2>err ||
			fail "record $java: $(cat err)"
		for method in outer middle inner; do
			grep -qE "@ [0-9]+ +JavaSites::$method .* inline" inlined || fail "$java: $method() is not inlined: $(grep JavaSites inlined)"
		done
		"$EBPROF" convert --json ${SYMFS:+--symfs "$SYMFS"} -i sites.data -o sites.json >/dev/null 2>&1 || fail convert
		read -r samples wrong longer first < <("$here/judge_call_sites.py" sites.json "$here/JavaSites.java" JavaSites. main 2>judge.err)
		[[ $samples -ge 150 ]] || fail "$java: $samples samples"
		percent "$java: calls in inlined methods: $(head -n 1 judge.err)" $((samples - wrong)) "$samples" 99.5
		near "$java: by the longer call" "$longer" "$samples" 75 10
		near "$java: by the first call" "$first" "$samples" 50 10
	done
}

# Stubs have names of their own, and are no part of the program.
test_stubs() {
	local java list
	list=$(javas) || exit $?
	for java in $list; do
		record_shape "$java" 2
		[[ $(count shape.data '/;call_stub;JavaShape[.]main/ { add("named") } END { print c["named"] + 0 }') -gt 100 ]] ||
			fail "$java: the stub that calls main() has no name"
		"$EBPROF" report --stdio -g --no-native --percent-limit 0 -i shape.data >tree 2>&1 || fail "report"
		! grep -E ' call_stub| vtable stub' tree || fail "stubs are there in spite of --no-native"
		grep -q 'JavaShape.main' tree || fail "main() is missing"
	done
}

# Every hop once and in order, the first behind turn(); of a class that is one of many at the same
# place in memory, one after the other, class and method have the same number.
exact_turns() { # JAVA KIB OPTION_OF_JAVA...
	local java=$1 kib=$2 hops wrong
	shift 2
	compile
	"$EBPROF" record -q -F 997 -o turns.data -- "$java" "$@" -cp "$PWD/classes" JavaTurns "${TURNS_SECONDS-2}" "$kib" \
		>/dev/null 2>err || fail "record $java $*: $(cat err)"
	read -r hops wrong < <(count turns.data '
		/JavaTurns[.]hop/ {
			add("hops")
			split($0, frame, ";"); want = 0; is_wrong = 0
			for (i = 1; i in frame; i++) {
				if (frame[i] ~ /^JavaTurns[.]hop/ && (substr(frame[i], 14, 2) + 0 != want++ ||
					(want == 1 && frame[i - 1] !~ /^JavaTurns[.]turn/))) is_wrong = 1
				if (frame[i] ~ /^JavaTurnsPlugin..[.]run/ && substr(frame[i], 16, 2) != substr(frame[i], 22, 2)) is_wrong = 1
				# Of all of them go() has this one name, so it is told by its class alone.
				if (frame[i] ~ /^JavaTurnsPlugin..[.]run/ && frame[i - 1] != substr(frame[i], 1, 17) ".go") is_wrong = 1
			}
			if (is_wrong && !/truncated/) { add("wrong"); print >"wrong" }
		}
		END { print c["hops"] + 0, c["wrong"] + 0 }')
	[[ $hops -ge 50 ]] || fail "$java $*: $hops samples with hops"
	percent "$java $*: $(head -n 1 wrong 2>/dev/null | tail -c 400)" $((hops - wrong)) "$hops" 99.5
}

# A heap too small, each collector, no counters, a small code cache, reflection by native methods, wide class
# pointers. The system's Java alone is tried with the first here, and with classes that take each
# other's place in memory many times; check-languages tries all.
test_turns() {
	local java list options
	list=$(javas) || exit $?
	for java in $list; do
		exact_turns "$java" 0
		exact_turns "$java" 512 -Xint -Xmx64m -XX:+UseSerialGC
		[[ -n ${INTERPRETERS-} ]] || continue
		for options in -Xint "-Xint -XX:-UsePerfData" -XX:TieredStopAtLevel=1 -XX:-TieredCompilation \
			"-XX:ReservedCodeCacheSize=3m -XX:InitialCodeCacheSize=2496k" -XX:-UseCompressedClassPointers \
			"-Dsun.reflect.inflationThreshold=2147483647 -Djdk.reflect.useNativeAccessorOnly=true"; do
			# shellcheck disable=SC2086
			exact_turns "$java" 0 $options
		done
		for options in "-XX:+UseG1GC -Xmx64m" "-XX:+UseParallelGC -Xmx64m" "-XX:+UseSerialGC -Xmx64m" \
			"-XX:+UnlockExperimentalVMOptions -XX:+UseZGC" "-XX:+UnlockExperimentalVMOptions -XX:+UseShenandoahGC"; do
			# shellcheck disable=SC2086
			TURNS_SECONDS=4 exact_turns "$java" 512 $options
		done
	done
}

# Virtual threads, of which a part may be in the heap: behind the carrier's frames there are those that are
# back on the stack, with the stub that brings the others in their place.
test_virtual_threads() {
	local java list hops wrong parts tried=0
	list=$(javas) || exit $?
	compile
	for java in $list; do
		[[ $("$java" -version 2>&1) =~ \"([0-9]+) && ${BASH_REMATCH[1]} -ge 21 ]] || continue
		((++tried))
		"$EBPROF" record -q -F 997 -o virtual.data -- "$java" -cp "$PWD/classes" JavaVirtual 3 >/dev/null 2>err ||
			fail "record $java: $(cat err)"
		read -r hops wrong parts < <(count virtual.data '
			/JavaVirtual[.]hop/ {
				add("hops")
				n_frames = split($0, frame, ";"); want = -1
				is_wrong = !/thread_native_entry.*Continuation[.]run;/ || /truncated/
				for (i = 1; i <= n_frames; i++)
					if (frame[i] ~ /^JavaVirtual[.]hop/) {
						number = substr(frame[i], 16) + 0
						is_part = want < 0 && frame[i - 1] ~ /^[Cc]ont[ _]thaw/
						if (is_part) add("parts")
						else if (want < 0 ? number || frame[i - 1] != "JavaVirtual.go" : number != want || !before) is_wrong = 1
						want = number + 1; before = 1
					} else before = 0
				if (is_wrong) { add("wrong"); print >"wrong" }
			}
			END { print c["hops"] + 0, c["wrong"] + 0, c["parts"] + 0 }')
		[[ $hops -ge 150 && $parts -ge 10 ]] || fail "$java: $hops samples with hops, $parts of them with frames in the heap"
		percent "$java: virtual threads: $(head -n 1 wrong 2>/dev/null | tail -c 600)" $((hops - wrong)) "$hops" 99.5
	done
	((tried)) || skip "no Java here that has virtual threads"
}

# A method in C that calls back into Java, several times in each other: every frame on the way, and none
# of another kind between them but the virtual machine's own.
test_native_methods_call_back() {
	local java list headers option chains wrong
	headers=$(dirname "$(realpath "$(command -v javac)" 2>/dev/null)")/../include
	[[ -e $headers/jni.h ]] || skip "no jni.h here"
	compile
	cat >back.c <<-'C'
		#include <jni.h>
		static jlong work(jlong x)
		{
			for (int i = 0; i < 900; i++)
				x = x * 31 + (i ^ x >> 7);
			return x;
		}
		JNIEXPORT jlong JNICALL Java_JavaBack_down(JNIEnv *env, jobject self, jint depth, jlong x)
		{
			static jmethodID up;
			if (!up)
				up = (*env)->GetMethodID(env, (*env)->GetObjectClass(env, self), "up", "(IJ)J");
			x = work(x);
			return (*env)->CallLongMethod(env, self, up, depth, x) + 1;
		}
	C
	cc -shared -fPIC -O2 -I"$headers" -I"$headers/linux" -o classes/libjavaback.so back.c 2>err ||
		fail "cc: $(cat err)"
	list=$(javas) || exit $?
	for java in $list; do
		for option in -XX:+TieredCompilation -Xint -XX:TieredStopAtLevel=1; do
			[[ $option == -XX:+T* || -n ${INTERPRETERS-} ]] || continue
			"$EBPROF" record -q -F 997 -o back.data -- "$java" $option -Djava.library.path="$PWD/classes" \
				-cp "$PWD/classes" JavaBack "${BACK_SECONDS-2}" >/dev/null 2>err || fail "record $java: $(cat err)"
			read -r chains wrong < <(count back.data '
				# Of a turn the n-th frame of these is known, to where the leaf is.
				/JavaBack[.]turn/ {
					add("chains")
					split($0, frame, ";"); at = -1; is_wrong = 0
					for (i = 1; i in frame; i++) {
						kind = frame[i] ~ /^Java_JavaBack_down/ ? 3 : -1
						if (frame[i] ~ /^JavaBack[.]/)
							kind = index("tud", substr(frame[i], 10, 1)) - 1 # turn, up, down
						if (kind < 0) {
							# Between C and Java there is the virtual machine; elsewhere it is the leaf.
							gap = at < 0 || at == 3 ? 0 : gap + 1
							continue
						}
						want = at < 0 ? 0 : at == 3 ? 1 : at == 0 ? 2 : at + 1
						if (kind != want || gap) is_wrong = 1
						at = kind; gap = 0
					}
					if (is_wrong) { add("wrong"); print >"wrong" }
				}
				END { print c["chains"] + 0, c["wrong"] + 0 }')
			[[ $chains -ge 150 ]] || fail "$java $option: $chains samples"
			percent "$java $option, called back: $(head -n 1 wrong 2>/dev/null | tail -c 400)" $((chains - wrong)) "$chains" 99.5
		done
	done
}

# Names by the virtual machine's own word: its perf map, looked at several times while it runs, says of
# each address which method it is of. Long enough for 10,000 samples where check-languages runs it.
test_names_of_addresses() {
	local java list pid seconds=2 tried=0
	command -v jcmd >/dev/null || skip "no jcmd here"
	command -v python3 >/dev/null || skip "no python3 here"
	[[ -z ${INTERPRETERS-} ]] || seconds=14
	list=$(javas) || exit $?
	compile
	for java in $list; do
		[[ $("$java" -version 2>&1) != *'"11.'* ]] || continue # its jcmd knows no perf maps
		rm -f end
		"$java" -cp "$PWD/classes" JavaNames "$PWD/end" 700000 >clocked </dev/null &
		pid=$!
		wait_until "$java that runs" has_cpu_ms "$pid" 1500
		sample_names "$pid" "$seconds" write_map
		[[ -z ${SYMFS-} ]] || rm -f "/tmp/.java_pid$pid"
		((tried++))
		names_are_right "$java" "$seconds"
	done
	((tried)) || skip "no virtual machine here that writes perf maps"
}

# jcmd looks for the socket of a process with another root in the wrong folder, and so never has it made.
open_socket() { # PID
	local tmp=/proc/$1/root/tmp
	[[ -n ${SYMFS-} && ! -e /tmp/.java_pid$1 ]] || return 0
	touch "$tmp/.attach_pid$1"
	kill -QUIT "$1"
	for _ in {1..100}; do
		[[ ! -S $tmp/.java_pid$1 ]] || break
		sleep 0.1
	done
	rm -f "$tmp/.attach_pid$1"
	ln -s "$tmp/.java_pid$1" "/tmp/.java_pid$1"
}

write_map() { # PID NUMBER
	open_socket "$1"
	jcmd "$1" Compiler.perfmap >jcmd.log 2>&1
	mv "/proc/$1/root/tmp/perf-$1.map" "map.$2" || fail "no map: $(cat jcmd.log)"
}

test_left_out() {
	local java list
	list=$(javas) || exit $?
	for java in $list; do
		RECORD_OPTIONS="--no-vm java" record_shape "$java" 1
		[[ $(count shape.data '/JavaShape/ { add("java") } END { print c["java"] + 0 }') == 0 ]] ||
			fail "$java: methods in spite of --no-vm java"
	done
}

run_tests
