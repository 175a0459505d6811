# Programs whose every stack is known. To be sourced behind prelude.bash.

record() { # FILE COMMAND...
	local file=$1
	shift
	run "$EBPROF" record -q -F 997 -o "$file" -- "$@"
	want_status 0 "record $*"
	"$EBPROF" convert --folded "$file" >"$file.folded" 2>fold.err || fail "convert: $(cat fold.err)"
}

# How many samples' stacks match, of all.
want_stacks() { # FILE PERCENT PATTERN
	local all found
	all=$(awk '{ sum += $NF } END { print sum + 0 }' "$1.folded")
	found=$(grep -E -- "$3" "$1.folded" | awk '{ sum += $NF } END { print sum + 0 }')
	((all > 100 && found * 100 >= all * $2)) ||
		fail "$found of $all have $3: $(sort "$1.folded" | head -c 2000)"
}

frames() { # FILE KIND
	"$EBPROF" info --json "$1" | grep -oP "\"frames\": .*\"$2\": \K[0-9]+"
}
