#!/bin/bash
# clang-tidy of one file, which is not looked at again while the file, all that it includes, the
# flags and the rules are the same as when it was tidy: FOLDER has an empty file for each such.
#   tests/lint/tidy_file.sh FOLDER FILE FLAG...
set -u
folder=$1 file=$2
shift 2
rules=(clang-tidy --quiet --warnings-as-errors='*' "$file" -- "$@")
key=$({
	echo "${rules[@]}"
	cat .clang-tidy
	"${CLANG:-clang}" -E -CC "$@" "$file" || echo "$RANDOM $RANDOM"
} 2>/dev/null | sha256sum)
tidy=$folder/${key%% *}
[[ -e $tidy ]] && exit
"${rules[@]}" 2>&1 && : >"$tidy"
