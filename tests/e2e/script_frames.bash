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
