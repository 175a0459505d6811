#!/bin/bash
# Script frames of runtimes that no process had when recording began: the programs that find them
# are loaded while samples come.
. "$(dirname "$0")/prelude.bash"
. "$here/script_frames.bash"

python=$(PATH=/usr/bin:/bin command -v python3) perl=$(PATH=/usr/bin:/bin command -v perl)

write_scripts() {
	cat >spin.py <<-'EOF'
		import time
		def spin_python(n):
		    return sum(i * i for i in range(n))
		end = time.process_time() + 1.5
		while time.process_time() < end: spin_python(10000)
	EOF
	cat >spin.pl <<-'EOF'
		sub spin_perl { my $s = 0; $s += $_ * $_ for 1 .. 10000; $s }
		spin_perl() while (times)[0] < 1.5;
	EOF
}

# Of all samples of the interpreter, also those before its programs were loaded.
want_frames() { # FILE PROCESS FUNCTION
	local all found
	read -r all found < <(count "$1" "/^$2;/ { add(\"all\") } /^$2;.*;$3/ { add(\"found\") }
		END { print c[\"all\"] + 0, c[\"found\"] + 0 }")
	percent "$2: $3()" "$found" "$all" 85
}

test_an_interpreter_that_a_shell_starts_later() {
	[[ -n $python ]] || skip "no python3 here"
	write_scripts
	echo "sleep 0.3; $python spin.py; true" >started
	run "$EBPROF" record -q -o data -- sh started
	want_status 0 "record"
	want_frames data python3 spin_python
}

# The second one is found beside the first, by programs that know both.
test_one_after_the_other() {
	[[ -n $python && -n $perl ]] || skip "no python3 or no perl here"
	write_scripts
	echo "$perl spin.pl; $python spin.py; $perl spin.pl" >started
	run "$EBPROF" record -q -o data -- sh started
	want_status 0 "record"
	want_frames data python3 spin_python
	want_frames data perl main::spin_perl
}

# Of a program that the command line names nothing waits.
test_one_that_the_command_line_names() {
	[[ -n $python ]] || skip "no python3 here"
	write_scripts
	run "$EBPROF" record -q -o data -- sh -c "cd . && $python spin.py; true"
	want_status 0 "record"
	want_frames data python3 spin_python
}

test_a_process_that_runs_already() {
	[[ -n $python ]] || skip "no python3 here"
	write_scripts
	"$python" spin.py &
	run "$EBPROF" record -q -o data -p $!
	want_status 0 "record"
	want_frames data python3 spin_python
}

test_the_whole_system() {
	[[ -n $perl ]] || skip "no perl here"
	[[ $(id -u) == 0 ]] || skip "recording the whole system needs root"
	write_scripts
	run "$EBPROF" record -q -a -F 499 -o data -- "$perl" spin.pl
	want_status 0 "record"
	want_frames data perl main::spin_perl
}

run_tests
