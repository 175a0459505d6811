# What every end-to-end test begins with:   . "$(dirname "$0")/prelude.bash"
#
# A test is a function test_NAME. It runs in a shell and an empty folder of its own and passes
# when it returns; fail "why" and skip "why" end it. run_tests at the end runs them all and
# prints "ok NAME", "not ok NAME: why" or "skip NAME: why"; "again NAME: ..." where a test passed
# only when it was run a second time.
#   $EBPROF     the program, absolute         $WORKLOADS   folder of the compiled tests/e2e/*.c
#   $shared_folder   for recordings that several tests are about; a second run has one of its own,
#                    or it would judge once more what the first could not
# What a test leaves running is killed at its end; reap() ends and collects one process.
# The machine may be busy: compare with the CPU time that a workload got (want_rate), not with
# the clock.

set -u
status=0
export LC_ALL=C.UTF-8 TERM=dumb
here=$(cd "$(dirname "$0")" && pwd)
: "${EBPROF:=$here/../../build/ebprof}" "${WORKLOADS:=$here/../../build/tests/e2e}"
EBPROF=$(realpath "$EBPROF") WORKLOADS=$(realpath "$WORKLOADS")
export EBPROF WORKLOADS
# Of all suites one: Go compiles its library anew for each.
export GOCACHE=${GOCACHE:-$(dirname "$WORKLOADS")/gocache}

known_bug_why=
result_file=result # of a test an absolute path: it may go to another folder

fail() {
	if [[ -n $known_bug_why ]]; then
		echo "skip: known bug: $known_bug_why ($*)" >"$result_file"
		exit 77
	fi
	echo "not ok: $*" >"$result_file"
	exit 1
}

# What follows cannot pass yet; when it fails the test is skipped and says why.
known_bug() { known_bug_why=$1; }

skip() {
	echo "skip: $*" >"$result_file"
	exit 77
}

# Runs a command; its status is in $status, what it printed in the files out and err.
run() {
	"$@" >out 2>err
	status=$?
}

want_status() { # STATUS WHAT
	[[ $status == "$1" ]] || fail "$2: status $status, not $1: $(tail -n 3 err | tr '\n' ' ')"
}

# Runs a command in a control group of that path, of either version, in its own subshell.
in_cgroup() { # PATH COMMAND...
	local root=/sys/fs/cgroup
	[[ -d $root/memory ]] && root=$root/memory
	mkdir -p "$root$1" 2>/dev/null && echo "$BASHPID" >"$root$1/cgroup.procs" 2>/dev/null ||
		skip "no control group can be made in $root"
	shift
	exec "$@"
}

# Those that the test has made, which are empty by then.
remove_cgroups() { # PATH...
	local path
	for path; do
		rmdir "/sys/fs/cgroup/memory$path" "/sys/fs/cgroup$path" 2>/dev/null
	done
	return 0
}

# A number or a text of info --json FILE, by its key; the first one that is called so.
field() { # FILE KEY
	"$EBPROF" info --json "$1" 2>/dev/null |
		grep -oE "\"$2\": (\"([^\"\\\\]|\\\\.)*\"|[0-9.]+)" | head -n 1 | sed -E 's/^"[^"]*": //; s/^"(.*)"$/\1/'
}

want_readable() { # FILE
	"$EBPROF" info --json "$1" >info.json 2>info.err || fail "info cannot read $1: $(cat info.err)"
}

# Whole: ended as it should, nothing damaged.
want_whole() { # FILE
	want_readable "$1"
	[[ -n $(field "$1" ended) ]] || fail "$1 has no end"
	[[ -z $(field "$1" damage) ]] || fail "$1 is damaged: $(field "$1" damage)"
}

# Of the sources that the file names, the events that made no sample and were not lost, and all.
other_events() { # FILE
	"$EBPROF" info --json "$1" 2>/dev/null | sed -n '/^  "sources": \[/,/^  \],/p' | grep -oE '"[a-z_]+": \{"count": [0-9]+' |
		awk -F'[": ]+' '$2 == "events" { all += $NF } $2 ~ /^(idle|filtered|below)$/ { unsampled += $NF }
			END { print all + 0, unsampled + 0 }'
}

# Every tick, and every event of another source, is a sample in the file, idle, filtered, below or lost;
# no other way out.
want_exact() { # FILE
	local ticks samples idle filtered lost all unsampled
	ticks=$(field "$1" ticks) samples=$(field "$1" samples) idle=$(field "$1" idle)
	filtered=$(field "$1" filtered) lost=$(field "$1" lost)
	read -r all unsampled < <(other_events "$1")
	ticks=$((ticks + all)) filtered=$((filtered + unsampled))
	[[ $ticks == $((samples + idle + filtered + lost)) ]] ||
		fail "$1: $ticks ticks, but $samples samples + $idle idle + $filtered filtered + $lost lost"
}

want_no_control_bytes() { # FILE...
	# C0 but newline and tab, DEL, and C1 both as bytes and as UTF-8.
	! LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$@" ||
		fail "control bytes: $(LC_ALL=C grep -aP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$@" | head -n 2 | cat -v)"
}

# Waits until a command succeeds, a minute at most: whatever takes that long has stopped. Its output
# is not shown.
patience_s=60
is_soon() { # COMMAND...
	local i
	for ((i = 0; i < patience_s * 20; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05
	done
	return 1
}

wait_until() { # WHAT COMMAND...
	is_soon "${@:2}" || fail "$1: not within $patience_s s"
}

# Waits until a recorder that writes to FILE runs its timers, that is, has said so.
wait_ready() { # ERR_FILE
	is_soon grep -q 'Ctrl-C to stop' "$1" || fail "the recorder did not begin: $(cat "$1")"
}

is_gone() { ! kill -0 "$1"; } # PID

# CPU time of a process and of the children that it waited for.
cpu_ms_of() { # PID
	sed 's/.*) //' "/proc/$1/stat" | awk -v hz="$(getconf CLK_TCK)" '{ print int(($12 + $13 + $14 + $15) * 1000 / hz) }'
}

has_cpu_ms() { (($(cpu_ms_of "$1") >= $2)); } # PID MILLISECONDS

# Records running processes until each had so much CPU time, however long that takes: with a duration
# there is much to sample on one machine and nothing on a busy one. As run does otherwise.
record_for_cpu_ms() { # MILLISECONDS PID[,PID...] RECORD_OPTION...
	local recorder pid
	local -A wanted
	"$EBPROF" record -p "$2" "${@:3}" >out 2>err &
	recorder=$!
	wait_ready err
	for pid in ${2//,/ }; do
		wanted[$pid]=$(($(cpu_ms_of "$pid") + $1))
	done
	for pid in ${2//,/ }; do
		wait_until "CPU time of process $pid" has_cpu_ms "$pid" "${wanted[$pid]}"
	done
	reap $recorder INT
}

# In the background: a recorder of a command that lasts until there is a file "enough".
record_until_enough() { # RECORD_OPTION...
	exec "$EBPROF" record "$@" -- sh -c 'until [ -e enough ]; do "$WORKLOADS/workload" 0.1; done'
}

# A recording of the workload as ebprof.data: one does for all tests, which may run side by side.
# Names are looked up by each reader, which some of the tests are about.
shared_recording() { # RECORD_OPTION...
	(
		flock 9
		[[ -e ../shared.data ]] && exit
		run "$EBPROF" record --no-archive "$@" -o shared.data -- "$WORKLOADS/workload" 0.5
		want_status 0 record
		mv shared.data ..
	) 9>../shared.lock || exit
	cp ../shared.data ebprof.data
}

# Ends a background process with a signal; its status is in $status.
reap() { # PID SIGNAL
	kill -"$2" "$1" 2>/dev/null
	if ! is_soon is_gone "$1"; then
		kill -KILL "$1"
		wait "$1"
		fail "still runs $patience_s s after SIG$2"
	fi
	wait "$1"
	status=$?
}

# As many samples as HZ and the CPU time of the workload (the file cpu) make, within a fifth. Fewer
# by the share of ticks that never fired: an idle CPU's, or because the machine stood still.
want_rate() { # FILE HZ
	local samples ticks skipped
	samples=$(field "$1" samples) ticks=$(field "$1" ticks) skipped=$(field "$1" skipped)
	awk -v got="$samples" -v hz="$2" -v cpu="$(cat cpu)" -v ticks="$ticks" -v skipped="$skipped" \
		'BEGIN { want = hz * cpu; fired = ticks / (ticks + skipped)
		 exit !(got > 0.8 * want * fired - 20 && got < 1.2 * want + 20) }' ||
		fail "$samples samples at $2 Hz of $(cat cpu) s of CPU time, $ticks ticks, $skipped skipped"
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

has_command() { "$EBPROF" help "$1" >/dev/null 2>&1; }

# Runs one test in the folder $work; sets $verdict to ok, skip or "not ok", and $why.
run_test() { # NAME [SHARED]
	local name=$1 pid status shared_folder=$work/${2:-all}.shared
	mkdir -p "$work/$name" "$shared_folder"
	set -m # a process group of its own, so that nothing outlives the test
	(cd "$work/$name" && export WORKLOAD_CPU=$PWD/cpu result_file=$PWD/result && set +m && "test_$name") \
		>"$work/$name.log" 2>&1 </dev/null &
	pid=$!
	set +m
	wait $pid
	status=$?
	kill -KILL -- -$pid 2>/dev/null
	umount "$work/$name/mnt" 2>/dev/null
	why=
	[[ -s $work/$name/result ]] &&
		why=$(tr '\n' ' ' <"$work/$name/result" | sed -E 's/^(skip|not ok): //; s/ +$//')
	case $status in
	0) verdict=ok ;;
	77) verdict=skip ;;
	*)
		verdict="not ok"
		: "${why:=ended with status $status: $(tail -n 3 "$work/$name.log" | tr '\n' ' ')}"
		;;
	esac
	rm -rf "${work:?}/$name"
}

# How long a test took, and its time on the CPUs by what "times" printed behind it.
took() { # BEGAN_MS TIMES_FILE
	awk -v wall_ms=$(($(now_ms) - $1)) 'NR == 2 { gsub(/[ms]/, " ")
		printf "%.1f s, CPU %.1f s", wall_ms / 1000, $1 * 60 + $2 + $3 * 60 + $4 }' "$2"
}

# A test that failed gets a second chance when all others are through, alone (AGAIN=0: none). What
# fails twice has failed; the log has both reasons.
first_run() { # NAME
	local verdict why began_ms
	began_ms=$(now_ms)
	run_test "$1"
	if [[ $verdict == "not ok" && ${AGAIN:-1} != 0 ]]; then
		echo "$why" >"$work/$1.failed"
		echo "once more at the end: $1: $why"
	else
		times >"$work/$1.times" # in no subshell, which has waited for none
		[[ $verdict != ok ]] || why=$(took "$began_ms" "$work/$1.times")
		echo "$verdict $1${why:+: $why}"
		[[ $verdict != "not ok" ]] || : >"$work/bad"
	fi
}

second_run() { # NAME
	local verdict why
	run_test "$1" "$1"
	case $verdict in
	ok) echo "again $1: passed in a second run; first: $(cat "$work/$1.failed")" ;;
	skip) echo "not ok $1: $(cat "$work/$1.failed"), and a second run was skipped: $why" ;;
	*) echo "not ok $1: $why" ;;
	esac
	[[ $verdict == ok ]] || : >"$work/bad"
}

# With JOBS so many tests run at once: where nothing is sampled that others could disturb.
run_tests() { # [JOBS]
	local name work reason names=()
	work=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-e2e.XXXXXX") || exit 1
	# shellcheck disable=SC2064
	trap "umount '$work'/*/mnt 2>/dev/null; rm -rf '$work'" EXIT
	reason=
	if [[ $(id -u) != 0 ]]; then
		reason="recording needs root"
	elif ! "$EBPROF" check >"$work/check" 2>&1; then
		reason="cannot record here: $(grep MISSING "$work/check" | head -n 1)"
	fi
	for name in $(declare -F | sed -n 's/^declare -f test_//p'); do
		[[ ${ONLY_TEST:-$name} == "$name" ]] || continue
		if [[ -n $reason ]]; then
			echo "skip $name: $reason"
			continue
		fi
		while (($(jobs -rp | wc -l) >= ${1:-1})); do
			wait -n
		done
		first_run "$name" &
		names+=("$name")
	done
	wait
	for name in "${names[@]}"; do
		[[ ! -e $work/$name.failed ]] || second_run "$name"
	done
	[[ ! -e $work/bad ]]
	exit
}
