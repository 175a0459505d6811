#!/bin/bash
# Programs on a file system that stops answering: the recorder opens none of them, unless they are
# its own user's, ends when it should, and says what is missing.
# Mostly waits: and what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

as_nobody() { exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

# Mounts the files of the folder "source" on the folder "mounted".
serve() {
	[[ $(id -u) == 0 ]] || skip "not root"
	[[ -w /dev/fuse ]] || skip "no /dev/fuse"
	chmod 755 .
	mkdir -p source mounted
	FUSE_OWNER=65534 FUSE_LOG=requests python3 "$here/fuse_server.py" source mounted >ready 2>server_err &
	server=$!
	wait_until "a FUSE mount: $(cat server_err)" grep -q ready ready
}

fall_silent() {
	kill -USR1 $server
	sleep 0.2 # the signal reaches it, and what was asked before is answered
	: >requests
}

end_server() {
	kill $server
	wait $server
	wait_until "unmounting" test ! -e mounted/workload
}

# No recording waits for the server, and none asks it for anything.
want_unasked() { # RECORD_OPTION...
	timeout --foreground -k 1 60 "$EBPROF" record -o hung.data "$@" >out 2>err ||
		fail "record $*: $?: $(tail -n 3 err)"
	[[ ! -s requests ]] || fail "record $*: the server was asked: $(sort requests | uniq -c)"
	[[ -n $(field hung.data ended) ]] || fail "record $*: the file has no end"
	want_exact hung.data
}

test_a_program_that_cannot_be_read() {
	mkdir source
	cp "$WORKLOADS/workload" source
	serve
	as_nobody mounted/workload 100 &
	target=$!
	wait_until "CPU time" has_cpu_ms $target 50
	fall_silent
	want_unasked --duration 2 -p $target
	grep -q 'hint: 1 file was not opened, on remote or FUSE' err || fail "not told: $(cat err)"
	"$EBPROF" info --mappings hung.data | grep -q 'workload.*(not opened: remote or FUSE' ||
		fail "info does not tell"
	want_unasked --duration 2 -a
	grep -q 'not opened, on remote or FUSE' err || fail "not told: $(cat err)"
	want_unasked --duration 2 -p $target --archive
	want_unasked --duration 2 -p $target --call-graph dwarf
	kill $target
	end_server
}

test_a_signal_ends_it() {
	mkdir source
	cp "$WORKLOADS/workload" source
	serve
	as_nobody mounted/workload 100 &
	target=$!
	wait_until "CPU time" has_cpu_ms $target 50
	fall_silent
	"$EBPROF" record -a -o hung.data >out 2>err &
	recorder=$!
	wait_ready err
	sleep 1
	kill -INT $recorder
	wait_until "the recorder's end" is_gone $recorder
	wait $recorder
	[[ -n $(field hung.data ended) ]] || fail "the file has no end"
	kill $target
	end_server
}

# The recorder's own user is not protected against itself.
test_files_of_ones_own_are_read() {
	mkdir source
	cp "$WORKLOADS/workload" source
	serve
	run "$EBPROF" record -o own.data -- mounted/workload 0.5
	want_status 0 record
	! grep -q 'not opened' err || fail "refused: $(cat err)"
	"$EBPROF" report --stdio -i own.data 2>err | grep -q '\] heavy' || fail "no names: $(cat err)"
	mounted/workload 100 &
	target=$!
	record_for_cpu_ms 300 $target -o own.data
	! grep -q 'not opened' err || fail "refused: $(cat err)"
	as_nobody mounted/workload 100 &
	target=$!
	export SUDO_UID=65534 SUDO_GID=65534
	record_for_cpu_ms 300 $target -o sudo.data
	! grep -q 'not opened' err || fail "refused under sudo: $(cat err)"
	end_server
}

# What a process maps in a mount namespace of its own, where it has mounted what it likes.
test_a_namespace_of_ones_own() {
	[[ $(id -u) == 0 ]] || skip "not root"
	chmod 755 .
	mkdir source mounted
	cp "$WORKLOADS/workload" source
	chmod 777 source mounted
	mknod -m 666 fuse c 10 229
	cat >inside.sh <<-'END'
		FUSE_DEVICE=fuse FUSE_ALLOW_OTHER=0 FUSE_LOG=/dev/null python3 "$1" source mounted >ready2 &
		server=$!
		until [ -s ready2 ]; do kill -0 $server || exit 77; sleep 0.05; done
		mounted/workload 100 &
		echo $! $server >&3
		sleep 100
	END
	mkfifo pids
	: >ready2
	chmod 666 ready2
	as_nobody unshare -Urm sh inside.sh "$here/fuse_server.py" 3>pids 2>inside_err &
	inside=$!
	read -r target server <pids
	[[ -n $target ]] || skip "no user namespaces, or no FUSE in them: $(cat inside_err)"
	wait_until "CPU time" has_cpu_ms "$target" 50
	kill -USR1 "$server"
	sleep 0.2
	: >requests # is only there for want_unasked
	want_unasked --duration 2 -p "$target"
	grep -q 'hint: 1 file was not opened, on remote or FUSE' err || fail "not told: $(cat err)"
	want_unasked --duration 2 -a
	kill -9 "$target" "$server" $inside
}

run_tests
