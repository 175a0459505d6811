# What the tests of script frames share; to be sourced behind prelude.bash.
#   INTERPRETERS    those to try, instead of the system's, and
#   SYMFS           where their files are: tests/languages/check_languages.sh sets both
#   FIGURES         a file: what is measured is written there, too, a line each

# The interpreters to try, a line each, or the end of the test. list=$(interpreters ruby) || exit $?
interpreters() { # PROGRAM
	local found=() interpreter
	for interpreter in ${INTERPRETERS-$(PATH=/usr/bin:/bin command -v "$1")}; do
		[[ -x $interpreter ]] && found+=("$(realpath "$interpreter")")
	done
	[[ ${#found[@]} != 0 ]] || skip "no ${INTERPRETERS-$1} here"
	[[ $(uname -m) == x86_64 ]] || skip "script frames are found on x86-64 only"
	printf '%s\n' "${found[@]}"
}

# Samples of stacks in the recording by what `awk` makes of them: $0 is the stack, n its samples.
# Programs that only start the interpreter do not count.
count() { # FILE AWK
	"$EBPROF" convert --folded ${SYMFS:+--symfs "$SYMFS"} -i "$1" -o named >/dev/null 2>err ||
		fail "convert: $(cat err)"
	grep -vE '^(bash|chroot|mkdir|mount|realpath|sh|unshare);' named >stacks
	awk "function add(k) { c[k] += n } { n = \$NF; sub(/ [0-9]+\$/, \"\") } $2" stacks
}

figure() { echo "$*" >>"${FIGURES:-/dev/null}"; }

percent() { # WHAT PART WHOLE AT_LEAST
	figure "${1%: *}: $2 of $3"
	awk -v part="$2" -v whole="$3" -v least="$4" 'BEGIN { exit !(whole > 0 && 100 * part >= least * whole) }' ||
		fail "$1: $2 of $3 samples, less than $4 %"
}

near() { # WHAT PART WHOLE PERCENT [POINTS]
	awk -v part="$2" -v whole="$3" -v want="$4" -v by="${5-3}" \
		'BEGIN { got = 100 * part / whole; exit !(got > want - by && got < want + by) }' ||
		fail "$1: $2 of $3 samples, not $4 %"
}

# Records a process for the judge below, for as many seconds of its CPU: what writes a map of it is called
# before and after. Then there is the file end, for which the process waits.
sample_names() { # PID SECONDS WRITE_MAP
	local sampler recorder until
	$3 "$1" 1
	"$WORKLOADS/ip_sampler" "$1" 600 9973 >addresses </dev/null &
	sampler=$!
	"$EBPROF" record -q -F 1499 -o names.data -p "$1" 2>err </dev/null &
	recorder=$!
	wait_until "the recording" test -e names.data
	until=$(($(cpu_ms_of "$1") + $2 * 1000))
	wait_until "$2 s of CPU" has_cpu_ms "$1" "$until"
	kill -INT "$recorder"
	wait "$recorder" || fail "record: $(cat err)"
	kill "$sampler"
	$3 "$1" 2
	touch end
	wait
}

# Judges the names of the recording names.data by the runtime's own word, the files map.*, beside what
# ip_sampler wrote into addresses and the program, of its shares of time, into clocked.
names_are_right() { # WHAT SECONDS
	local judged wrong unnamed not points
	"$EBPROF" convert --perf-script -i names.data -o names.txt >/dev/null 2>err || fail "convert: $(cat err)"
	read -r judged wrong unnamed not points < <(python3 "$here/judge_names.py" names.txt addresses clocked map.* 2>judge.err)
	figure "$1: names of addresses: $wrong of $judged wrong, $unnamed without, $not not judged, shares off by $points points"
	[[ $judged -ge $(($2 * 300)) ]] || fail "$1: $judged samples judged, $not not"
	[[ $wrong == 0 ]] || fail "$1: $wrong of $judged samples have another function's name: $(cat judge.err)"
	percent "$1: names of addresses: $(cat judge.err)" $((judged - unnamed)) "$judged" 99.5
	# Two standard deviations of a share are 1.9 points with 1,000 samples.
	awk -v points="$points" -v samples="$judged" 'BEGIN { exit !(points <= (samples < 5000 ? 5 : 2)) }' ||
		fail "$1: a share is off by $points points"
}
