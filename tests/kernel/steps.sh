#!/bin/sh
# What is done on each kernel, by busybox in a guest or by the shell here. Judges nothing: prints
# sections, "@@@ NAME", the output, "@@@ status N", for check_kernel.sh to look at.
#   steps.sh PROGRAMS WORK [guest]
#                    folder of ebprof, shape_*, limited, usdt, script, waits, counted, context*; an empty folder;
#                    whether the machine is ours alone, whose CPUs and clock may be changed
programs=$1 work=$2 machine=${3:-}
ebprof=$programs/ebprof

section() { # NAME COMMAND...
	echo "@@@ $1"
	shift
	"$@" 2>&1
	echo "@@@ status $?"
}

# What the verifier says of the programs, which differ by what they are to look at.
verify() {
	verify_for command -- true && verify_for process -p $$ && verify_for thread -t $$ && verify_for system -a &&
		verify_for usdt -e "usdt:$programs/usdt:ebtest:plain" -- true
}

verify_for() { # WHAT TARGET...
	what=$1
	shift
	rm -f "$work/stats"
	EBPROF_BPF_STATS=$work/stats "$ebprof" record --dry-run -o "$work/dry.data" "$@" &&
		sed "s/^/program $what /" "$work/stats"
}

section kernel uname -r
section check "$ebprof" check
section verify verify
# All runtimes at once, since a shell may start any interpreter, and none of them.
section "verify runtimes" verify_for runtimes -- sh
section "verify none" verify_for none --no-vm all -- sh
for shape in shape_fp shape_static shape_dynamic shape_bare; do
	data=$work/$shape.data
	section "record $shape" "$ebprof" record -F 199 -o "$data" -- "$programs/$shape"
	section "report $shape" "$ebprof" report --stdio -i "$data"
	section "info $shape" "$ebprof" info --json -i "$data"
	section "folded $shape" "$ebprof" convert --folded -i "$data" -o -
done
# Hits are counted exactly; of more than one probe where the kernel can tell them apart.
usdt=$programs/usdt
section "record usdt" "$ebprof" record -m 64M -o "$work/usdt.data" -e "usdt:$usdt:ebtest:plain" -- "$usdt" plain 2000
section "info usdt" "$ebprof" info --json -i "$work/usdt.data"
section "folded usdt" "$ebprof" convert --folded -i "$work/usdt.data" -o -
section "record semaphore" "$ebprof" record -m 64M -o "$work/semaphore.data" -F 999 -e cpu-clock \
	-e "usdt:$usdt:ebtest:guarded" -- "$usdt" guarded 2000
section "info semaphore" "$ebprof" info --json -i "$work/semaphore.data"
# From 5.15 on.
script=$programs/script
section "verify script" verify_for script --usdt-stacks "python:$script" -- true
section "record script" "$ebprof" record -v -F 199 -o "$work/script.data" --usdt-stacks "python:$script" -- "$script" 1500
section "folded script" "$ebprof" convert --folded -i "$work/script.data" -o -
# Of tasks that switch, before Linux 6.16 by an interrupt; and of those that sleep all the time.
section "verify waits" verify_for waits -e wall -- true
section "verify sleepers" verify_for sleepers -e offcpu --no-vm all -- sh
section "verify scripts asleep" verify_for scripts -e offcpu -- sh # of all runtimes
section "record waits" "$ebprof" record -o "$work/waits.data" -e offcpu -e runq --wait-period 1ms -- \
	"$programs/waits" long_sleeps 20 pipe_reads 20
section "info waits" "$ebprof" info --json -i "$work/waits.data"
section "folded offcpu" "$ebprof" convert --folded --event offcpu -i "$work/waits.data" -o -
section "folded runq" "$ebprof" convert --folded --event runq -i "$work/waits.data" -o -
"$programs/waits" sleepers 50 >"$work/asleep" &
sleeper=$!
until grep -q asleep "$work/asleep"; do sleep 0.2; done
section "record sleepers" "$ebprof" record -o "$work/sleepers.data" -e offcpu --duration 1 -p $sleeper
kill $sleeper
section "info sleepers" "$ebprof" info --json -i "$work/sleepers.data"
# Events that the kernel counts, and a tracepoint, one at a time, since cookies need 5.15.
getppid=110
[ "$(uname -m)" = x86_64 ] || getppid=173
section "verify counted" verify_for counted -e page-faults -e raw_syscalls:sys_enter --filter "id == $getppid || id == 5000" -- true
section "record faults" "$ebprof" record -m 64M -o "$work/faults.data" -e page-faults -c 1 -- "$programs/counted" faults 500
section "folded faults" "$ebprof" convert --folded -i "$work/faults.data" -o -
section "verify group" verify_for group -e '{cpu-clock,page-faults,cs}:S' -- true
section "record group" "$ebprof" record -o "$work/group.data" -e '{cpu-clock,page-faults,cs}:S' -- \
	"$programs/counted" faults 50000 switches 50
section "info group" "$ebprof" info --json -i "$work/group.data"
section "record calls" "$ebprof" record -m 64M -o "$work/calls.data" -e raw_syscalls:sys_enter \
	--filter "id == $getppid || id == 5000" -- "$programs/counted" calls 300
section "folded calls" "$ebprof" convert --folded -i "$work/calls.data" -o -
# Durations of calls, system calls and locks, who ends waits, allocations: or a word that this kernel
# is too old.
section "verify calls" verify_for calls -e syscalls -e "duration:$programs/counted:do_calls" -- true
section "verify wakers" verify_for wakers -e offcpu --wakers -- true
section "verify lock" verify_for lock -e lock -- true
section "verify block" verify_for block -e blk-io -- true
section "verify heap" verify_for heap --heap -- "$programs/shape_dynamic"
section "record getppid" "$ebprof" record -m 64M -o "$work/getppid.data" -e syscall:getppid -- \
	"$programs/counted" calls 300
section "folded getppid" "$ebprof" convert --folded -i "$work/getppid.data" -o -
section "info getppid" "$ebprof" info --json -i "$work/getppid.data"
section "data shape_fp" base64 "$work/shape_fp.data"
section "record system" "$ebprof" record -a -F 199 -o "$work/system.data" -- "$programs/shape_fp" 100
section "info system" "$ebprof" info --json -i "$work/system.data"
# One program in the group, another outside.
groups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=/ebprof-kernel-$$.slice
mkdir -p "$groups$group/below"
section "verify cgroup" verify_for cgroup -e wall --wakers --cgroup $group -- true
sh -c 'echo $$ >"$1/cgroup.procs" && exec "$2" 20000' sh "$groups$group/below" "$programs/shape_fp" &
inside=$!
"$programs/shape_fp" 20000 &
outside=$!
section "record cgroup" "$ebprof" record -F 199 -o "$work/cgroup.data" --cgroup $group -- sleep 1
section "groups of cgroup" "$ebprof" report --stdio -s cgroup -i "$work/cgroup.data"
kill $inside $outside
wait $inside $outside
rmdir "$groups$group/below" "$groups$group"
# Script frames between native ones, of interpreters that are in a folder of their own; and Go's.
chain_for() { # SECONDS NAME COMMAND...
	seconds=$1 name=$2
	shift 2
	section "record chain $name" "$ebprof" record -F 199 -o "$work/$name.data" -- "$@" "$seconds"
	section "folded chain $name" "$ebprof" convert --folded -i "$work/$name.data" -o -
	section "info chain $name" "$ebprof" info --json -i "$work/$name.data"
}
chain() { # NAME COMMAND...
	chain_for 2 "$@"
}
script_chain() { # NAME PATTERN FILE
	for interpreter in /languages/usr/bin/$2; do
		[ ! -x "$interpreter" ] || chain "$1" chroot /languages "${interpreter#/languages}" "/chains/$3"
	done
}
script_chain python 'python3.[0-9][0-9]' chain.py
script_chain ruby 'ruby3.[0-9]' chain.rb
script_chain perl perl chain.pl
script_chain php 'php8.[0-9]' chain.php
script_chain lua lua5.4 chain.lua
script_chain node node chain.js
node=/languages/usr/bin/node
if [ -x $node ]; then
	set -- chroot /languages "${node#/languages}"
	! "$@" --v8-options | grep -q '^ *--wasm-inlining ' || set -- "$@" --no-wasm-inlining
	chain_for 6 wasm "$@" /chains/wasm.js # an emulated machine takes seconds to compile it
fi
luajit=/languages/usr/bin/luajit
if [ -x $luajit ]; then
	set -- chroot /languages "${luajit#/languages}"
	chain luajit "$@" /chains/chain.lua
	chain luajit_interpreted "$@" -joff /chains/chain.lua
	chain luajit_inlined "$@" /chains/chain_inlined.lua
fi
for java in /languages/usr/lib/jvm/java-[0-9][0-9]-openjdk-*/bin/java; do
	[ -x "$java" ] || continue
	set -- chroot /languages "${java#/languages}" -Xmx64m -XX:+UseSerialGC -cp /chains
	chain java "$@" Chain
	chain java_interpreted "$@" -Xint Chain
done
for bin in /languages/usr/lib/erlang/erts-*/bin; do
	[ -x "$bin/beam.smp" ] || continue
	export ROOTDIR=/usr/lib/erlang BINDIR="${bin#/languages}" EMU=beam PROGNAME=erl
	chain erlang chroot /languages "$BINDIR/beam.smp" -- -root $ROOTDIR -bindir "$BINDIR" -progname erl -- \
		-home /tmp -- -noshell -noinput -pa /chains -s chain start
	section "labels erlang" "$ebprof" report --stdio --percent-limit 0 -s label:erlang-pid,label:erlang-process,sym -i "$work/erlang.data"
done
racket=/languages/usr/bin/racket
[ ! -x $racket ] || chain racket chroot /languages "${racket#/languages}" /chains/chain.rkt
dotnet=/languages/dotnet/shape
[ ! -x $dotnet ] || chain dotnet chroot /languages "${dotnet#/languages}"
# Code that a process tells debuggers of, and libgcc alone.
registered=/languages/chains/registered
if [ -x $registered ]; then
	for registry in relocatable frames; do
		section "record registered $registry" "$ebprof" record -F 199 -o "$work/registered.data" -- \
			chroot /languages "${registered#/languages}" $registry 3
		section "folded registered $registry" "$ebprof" convert --folded -i "$work/registered.data" -o -
		section "info registered $registry" "$ebprof" info --json -i "$work/registered.data"
	done
fi
if [ -x "$programs/chain_go" ]; then
	chain go "$programs/chain_go"
	section "labels go" "$ebprof" report --stdio -s label:stage -i "$work/go.data"
fi
for place in own library; do
	program=$programs/context library=$programs/context.so
	[ $place = library ] || program=${program}_own library=-
	section "record context $place" "$ebprof" record -F 199 -o "$work/context.data" -- "$program" 3 4 $library
	section "rows of context $place" "$ebprof" report --stdio --percent-limit 0 -s label:half,trace,span,sym -i "$work/context.data"
done
# Before 5.11 BPF memory is locked memory.
little=65536 enough=67108864
section "soft limit" "$programs/limited" $little $enough "$ebprof" record -o "$work/soft.data" -- sh -c 'ulimit -l'
section "hard limit" "$programs/limited" $little $little "$ebprof" record -o "$work/hard.data" -- true
if [ "$machine" = guest ]; then
	for target in changes moved; do # the whole system; a command
		all=
		[ $target = moved ] || all=-a
		section "record $target" "$ebprof" record $all -F 199 -o "$work/$target.data" -- sh /change_machine.sh "$programs"
		section "info $target" "$ebprof" info --json -i "$work/$target.data"
		section "cpus of $target" "$ebprof" report --stdio --sort cpu -i "$work/$target.data"
		section "folded $target" "$ebprof" convert --folded -i "$work/$target.data" -o -
	done
fi
