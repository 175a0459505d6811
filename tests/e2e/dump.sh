#!/bin/bash
# What every thread does now: ebprof dump, of programs whose threads are known.
# Beside others: what a thread waits for does not depend on what else the machine does.
. "$(dirname "$0")/prelude.bash"

begin_sleepers() { # N: threads that sleep for ever; $pid
	"$WORKLOADS/waits" sleepers "$1" >said 2>/dev/null &
	pid=$!
	local i
	for ((i = 0; i < 200; i++)); do
		(($(ls "/proc/$pid/task" | wc -l) > $1)) && return
		sleep 0.05
	done
	fail "the threads did not begin"
}

test_threads_with_one_stack() {
	begin_sleepers 5
	run "$EBPROF" dump -p "$pid"
	want_status 0 dump
	grep -q "^# pid $pid waits: 6 threads, 6 waiting\$" out || fail "$(cat out err)"
	grep -qE '^5 threads wait \([a-z]+\), for more than [0-9.]+ ms: waits [0-9]+(, [0-9]+){4}$' out || fail "$(cat out)"
	grep -qE '^    start_thread ' out || fail "no root: $(cat out)"
	run "$EBPROF" dump -t "$pid"
	want_status 0 "dump -t"
	grep -q "^# pid $pid waits: 1 thread, 1 waiting\$" out || fail "-t: $(cat out err)"
}

# Those that wait are met in the wait, not where they are when their stacks are read.
test_threads_that_go_on() {
	"$WORKLOADS/waits" contenders 4 >/dev/null &
	local pid=$! i
	sleep 0.5
	for i in 1 2 3 4; do
		run "$EBPROF" dump -p $pid --json
		want_status 0 dump
		python3 -c 'import json; d = json.load(open("out"))
stacks = [s for s in d["processes"][0]["stacks"] if any(f["name"] == "contend" for f in s["frames"])]
assert stacks
for stack in stacks:
	names = [f["name"] for f in stack["frames"]]
	if stack["state"] == "waiting":
		assert stack["reason"] == "futex" and names.index("contend") > 3, stack
	elif stack["state"] == "running":
		assert names[0] == "contend" or "futex_wake" in names, stack' || fail "$(cat out err)"
	done
}

# Its number in /proc has neither mappings nor files, and it waits for nothing.
test_a_first_thread_that_has_ended() {
	"$WORKLOADS/waits" leaderless 2 &
	local pid=$!
	wait_until "the end of the first thread" grep -q zombie "/proc/$pid/status"
	run "$EBPROF" dump -p $pid
	want_status 0 dump
	grep -qE "^# pid $pid waits: 2 threads, 1 (running|ready), 1 waiting\$" out || fail "$(cat out err)"
	grep -qE '^    compute ' out || fail "$(cat out)"
	run "$EBPROF" record -e wall -p $pid --duration 0.5 -o x.data
	want_status 0 record
	run "$EBPROF" convert --folded -e cpu-clock -i x.data -o -
	awk '{ all += $NF } /;start_thread;compute/ { good += $NF } END { exit !(good > 0.95 * all) }' out ||
		fail "$(cat out err)"
	run "$EBPROF" report --stdio -e wall -s tid --percent-limit 0 x.data
	[[ $(grep -vc '^#' out) -eq 2 ]] || fail "$(cat out)"
}

# Two threads that wait for each other's lock for ever: nothing of the process runs.
test_names_of_threads_that_hang() {
	/usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || skip "no Python 3.8 or later"
	/usr/bin/python3 -c 'import threading, time
a, b = threading.Lock(), threading.Lock()
def take(first, second):
    with first:
        time.sleep(0.2)
        with second:
            pass
threading.Thread(target=take, args=(a, b), name="alice").start()
threading.Thread(target=take, args=(b, a), name="bob").start()' &
	local pid=$!
	sleep 1
	run "$EBPROF" dump -p $pid
	kill -9 $pid
	want_status 0 dump
	grep -qE '^[0-9] threads? waits? .*alice [0-9]+' out && grep -qE '^[0-9] threads? waits? .*bob [0-9]+' out ||
		fail "$(grep -E '^(#|[0-9])' out; cat err)"
}

# Threads that come and go: those that there are, and how many others there were.
test_threads_that_have_ended() {
	[[ -x /usr/bin/python3 ]] || skip "no /usr/bin/python3"
	/usr/bin/python3 -c 'import threading, time
while True:
    thread = threading.Thread(target=time.sleep, args=(0.02,))
    thread.start()
    thread.join()' &
	local pid=$!
	sleep 0.3
	run "$EBPROF" dump -p $pid --duration 500ms
	want_status 0 dump
	grep -qE "^# pid $pid python3: [12] threads?, .*; [0-9]+ ended meanwhile\$" out || fail "$(cat out err)"
	(($(grep -cE '^[0-9]+ threads? ' out) <= 2)) || fail "$(cat out)"
	run "$EBPROF" dump -p $pid --duration 500ms --json
	[[ $(jq '.processes[0].ended > 3 and ([.processes[0].stacks[].threads[]] | length) <= 2' out) == true ]] ||
		fail "$(cat out err)"
	kill $pid
}

test_who_runs() {
	"$WORKLOADS/workload" 60 >/dev/null &
	run "$EBPROF" dump -p $! --json
	want_status 0 dump
	python3 -c 'import json; d = json.load(open("out"))
stacks = d["processes"][0]["stacks"]
assert len(stacks) == 1 and stacks[0]["state"] in ("running", "ready"), stacks
assert len(stacks[0]["threads"]) == 1
assert stacks[0]["frames"][-1]["name"] == "_start", stacks[0]["frames"]
assert int(d["watched_ns"]) > 0 and int(d["time_ns"]) > 0' || fail "$(cat out err)"
}

# Of a program that only its container sees, and of one whose file is deleted.
test_names_of_files_that_are_not_there() {
	mkdir hidden
	unshare -m true 2>/dev/null || skip "no mount namespaces here"
	unshare -m sh -c "mount -t tmpfs tmpfs hidden && cp '$WORKLOADS/workload' hidden/ && exec hidden/workload 60" >/dev/null &
	local contained=$!
	cp "$WORKLOADS/workload" deleted
	./deleted 60 >/dev/null &
	local deleted=$!
	wait_until "it computes" has_cpu_ms $deleted 100
	wait_until "it computes in there" grep -q workload "/proc/$contained/comm"
	rm deleted
	run "$EBPROF" dump -p $contained,$deleted
	want_status 0 dump
	[[ $(grep -c '^    main ' out) == 2 ]] || fail "no names: $(cat out err)"
}

test_scripts() {
	command -v python3 >/dev/null || skip "no python3"
	printf 'import threading, time\ndef busy():\n    while True: sum(range(1000))\nthreading.Thread(target=busy, daemon=True).start()\ntime.sleep(60)\n' >both.py
	python3 both.py &
	local pid=$!
	wait_until "it computes" has_cpu_ms $pid 200
	run "$EBPROF" dump -p $pid
	want_status 0 dump
	grep -q '^    busy  *.*both.py:3$' out || fail "$(cat out)"
	grep -qE '^1 thread waits \(sleep\), for more than' out || fail "$(cat out)"
	grep -q '^    <module>  *.*both.py:5$' out || fail "no script asleep: $(cat out)"
}

# The process has used no CPU for so long, since it said that it will sleep.
sleeps_for_ms() { # PID MS
	local before
	[[ -s "said.$1" ]] || return 1
	before=$(cut -d' ' -f14,15 "/proc/$1/stat")
	sleep "$(awk "BEGIN { print $2 / 1000 }")"
	[[ $before == "$(cut -d' ' -f14,15 "/proc/$1/stat")" ]]
}

put_python_that_sleeps() {
	printf 'import os, time\ndef inner():\n open("said.%%d" %% os.getpid(), "w").write("x")\n time.sleep(60)\ndef middle(): inner()\ndef outer(): middle()\nouter()\n' >a.py
}

# Of programs that nobody has met awake.
test_scripts_asleep() {
	local command pid pids=() names
	put_python_that_sleeps
	printf 'def inner; File.write("said.#$$", "x"); sleep 60; end\ndef middle; inner; end\ndef outer; middle; end\nouter\n' >a.rb
	printf 'sub inner { open(my $f, ">", "said.$$"); print $f "x"; close $f; sleep 60; }\nsub middle { inner(); }\nsub outer { middle(); }\nouter();\n' >a.pl
	printf 'function inner() { require("fs").writeFileSync("said." + process.pid, "x"); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60000) }\nfunction middle() { inner() }\nfunction outer() { middle() }\nouter()\n' >a.js
	printf '<?php function inner() { file_put_contents("said." . getmypid(), "x"); sleep(60); }\nfunction middle() { inner(); }\nfunction outer() { middle(); }\nouter();\n' >a.php
	for command in 'python3 a.py' 'ruby a.rb' 'perl a.pl' 'node a.js' 'php a.php'; do
		command -v "${command%% *}" >/dev/null || continue
		$command >/dev/null 2>&1 &
		pids+=($!)
	done
	((${#pids[@]})) || skip "no interpreter"
	for pid in "${pids[@]}"; do
		wait_until "$pid sleeps" sleeps_for_ms "$pid" 100
	done
	run "$EBPROF" dump -p "$(IFS=,; echo "${pids[*]}")"
	want_status 0 dump
	! grep -q 'not readable asleep' out || fail "$(cat out)"
	names=$(grep -oE '^    (main::)?(inner|middle|outer) ' out | sed 's/.*://' | tr -d ' \n')
	[[ $names == "$(printf 'innermiddleouter%.0s' "${pids[@]}")" ]] || fail "$names: $(cat out)"
}

test_waits_of_a_script_asleep() {
	command -v python3 >/dev/null || skip "no python3"
	put_python_that_sleeps
	python3 a.py &
	local pid=$!
	wait_until "it sleeps" sleeps_for_ms $pid 100
	run "$EBPROF" record -q -e offcpu -p $pid --duration 0.3 -o waits.data
	want_status 0 record
	run "$EBPROF" convert --folded waits.data -o -
	want_status 0 convert
	grep -q 'outer;.*middle;.*inner;' out || fail "$(cat out err)"
}

# Of Erlang's processes it is who waits in code of the machine that a thread sleeps for: it opens a FIFO
# that nobody writes to.
test_erlang_asleep() {
	[[ $(uname -m) == x86_64 ]] || skip "Erlang's frames are found on x86-64 only"
	command -v erl >/dev/null && command -v erlc >/dev/null || skip "no Erlang here"
	mkfifo fifo
	printf -- '-module(nap).\n-export([outer/0, inner/1]).\nouter() -> X = inner("fifo"), {X, 1}.\ninner(N) ->\n  {ok, D} = prim_file:read_file(N), {ok, D}.\n' >nap.erl
	erlc nap.erl || fail "erlc"
	erl -noshell -noinput -pa . -eval 'nap:outer().' </dev/null >/dev/null 2>&1 &
	local pid=$!
	opens_fifo() { grep -q 'fifo' /proc/$pid/task/*/stack 2>/dev/null || grep -qs wait_for_partner /proc/$pid/task/*/wchan; }
	wait_until "it opens the FIFO" opens_fifo
	run "$EBPROF" dump -p $pid
	want_status 0 dump
	grep -A1 '^    nap:inner/1 .*nap.erl:5$' out | grep -q '^    nap:outer/0 ' || fail "$(grep -B8 -A8 nap out)"
}

test_dotnet_asleep() {
	[[ $(uname -m) == x86_64 ]] || skip ".NET's frames are found on x86-64 only"
	local dotnet home compiler framework
	dotnet=$(command -v dotnet) || skip "no dotnet here"
	home=$(dirname "$(realpath "$dotnet")")
	compiler=$(ls -d "$home"/sdk/*/Roslyn/bincore/csc.dll 2>/dev/null | tail -n 1)
	framework=$(ls -d "$home"/shared/Microsoft.NETCore.App/* 2>/dev/null | tail -n 1)
	[[ -n $compiler && -n $framework ]] || skip "no SDK of .NET here"
	cat >nap.cs <<-'END'
		using System.IO; using System.Threading; using System.Runtime.CompilerServices;
		static class Nap {
		  [MethodImpl(MethodImplOptions.NoInlining)] static int Inner(int n) { File.WriteAllText("said", "x"); Thread.Sleep(60000); return n + 1; }
		  [MethodImpl(MethodImplOptions.NoInlining)] static int Outer(int n) { return Inner(n) + 1; }
		  static int Main() { return Outer(1); }
		}
	END
	local libraries
	mapfile -t libraries < <(printf -- '-r:%s\n' "$framework"/System*.dll)
	dotnet "$compiler" -nologo -optimize+ -debug:portable -out:nap.dll "${libraries[@]}" nap.cs >err 2>&1 || fail "csc: $(cat err)"
	printf '{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "%s"}}}\n' \
		"$(basename "$framework")" >nap.runtimeconfig.json
	dotnet nap.dll &
	local pid=$!
	wait_until "it sleeps" [ -s said ]
	run "$EBPROF" dump -p $pid
	want_status 0 dump
	[[ $(grep -oE '^    Nap\.[A-Za-z]+ .*nap.cs:[0-9]' out | awk '{ print $1 substr($2, length($2)) }' | xargs) == \
		"Nap.Inner3 Nap.Outer4 Nap.Main5" ]] || fail "$(cat out)"
}

test_refusals() {
	run "$EBPROF" dump
	want_status 2 "no target"
	run "$EBPROF" dump -p 1 -a
	want_status 2 "two targets"
	sleep 0 &
	local gone=$!
	wait $gone
	run "$EBPROF" dump -p $gone
	want_status 2 "no process"
	grep -q "there is no process $gone" err || fail "$(cat err)"
	python3 -c 'import os, time
pid = os.fork() or os._exit(0)
print(pid, flush=True); time.sleep(60)' >zombie &
	wait_until "a zombie" test -s zombie
	wait_until "its end" grep -q zombie "/proc/$(<zombie)/status"
	run "$EBPROF" dump -p "$(<zombie)"
	want_status 2 "a zombie"
	grep -q "process $(<zombie) has ended" err || fail "$(cat err)"
}

test_to_a_file() {
	begin_sleepers 1
	run "$EBPROF" dump -p "$pid" -o dumped
	want_status 0 '-o'
	[[ ! -s out ]] && grep -q '2 waiting' dumped || fail "$(cat out err dumped)"
}

run_tests
