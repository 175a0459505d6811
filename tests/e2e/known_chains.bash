# Programs whose every stack is known. To be sourced behind prelude.bash.

record() { # FILE COMMAND...
	local file=$1
	shift
	run "$EBPROF" record -q -F 997 -o "$file" -- "$@"
	want_status 0 "record $*"
	"$EBPROF" convert --folded "$file" >"$file.folded" 2>fold.err || fail "convert: $(cat fold.err)"
}

# How many samples' stacks match, of all, or of those that match another pattern.
want_stacks() { # FILE PERCENT PATTERN [OF]
	local all found
	all=$(grep -E -- "${4-.}" "$1.folded" | awk '{ sum += $NF } END { print sum + 0 }')
	found=$(grep -E -- "$3" "$1.folded" | awk '{ sum += $NF } END { print sum + 0 }')
	((all > 100 && found * 100 >= all * $2)) ||
		fail "$found of $all have $3, not: $(grep -E -- "${4-.}" "$1.folded" | grep -vE -- "$3" | awk '{ print $NF, $0 }' | sort -rn | head -c 2000)"
}

frames() { # FILE KIND
	"$EBPROF" info --json "$1" | grep -oP "\"frames\": .*\"$2\": \K[0-9]+"
}
