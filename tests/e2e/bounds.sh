#!/bin/bash
# What a recording can make its readers do: each command on each file ends within 10 s of CPU time
# and 1 GB of memory, without a crash, be the file damaged or made to ask for much.
#   BOUNDS=1000 tests/e2e/bounds.sh     that many damaged files instead of 24 (make check-bounds)
# Mostly waits: for one reader after the other, of small files.
. "$(dirname "$0")/prelude.bash"

cpu_seconds=10 memory_kb=$((1 << 20)) text_bytes=$((16 << 20))
[[ -z ${SAN-} ]] || memory_kb=unlimited # sanitizers reserve address space without end

diff_formats=(json csv html svg markdown junit github gitlab) nr_diffs=0

# Runs a command within the bounds; what it prints goes to /dev/null.
run_bounded() { # COMMAND...
	(ulimit -c 0 -t $cpu_seconds -v $memory_kb && exec "$@" >"${output-/dev/null}" 2>err </dev/null)
	status=$?
	if [[ $status != [0123] ]] || grep -q 'see ebprof' err; then
		fail "status $status of ${*:2}: $(tail -n 2 err | cut -c 1-300)"
	fi
}

# Every command that reads, in every format.
read_in_all_ways() { # FILE
	local file=$1 format
	for text in "report" "report -g" "report -G" "report --children" "report --stats" \
		"report -s comm,tid,cpu" "report --no-native -g" "info" "info --mappings" "info --json" \
		"annotate --symbol-cache none"; do
		# shellcheck disable=SC2086
		output=text run_bounded "$EBPROF" $text -i "$file"
		(($(stat -c %s text) <= text_bytes)) || fail "$text: $(stat -c %s text) bytes of $(stat -c %s "$file")"
	done
	for format in $formats; do
		run_bounded "$EBPROF" convert "--$format" --symbol-cache none -o - "$file"
	done
	run_bounded "$EBPROF" diff --force --fail-on none --symbol-cache none "$file" "$file"
	# All formats of the one comparison, in turns; each file meets three of them.
	for _ in 1 2 3; do
		format=${diff_formats[nr_diffs++ % ${#diff_formats[@]}]}
		run_bounded "$EBPROF" diff "--$format=-" --force --fail-on none --symbol-cache none small "$file"
	done
	run_bounded "$EBPROF" merge -f -o merged.data "$file" small
	rm -f merged.data
	cp "$file" archived.data
	run_bounded "$EBPROF" archive --symbol-cache none archived.data
	run_bounded "$WORKLOADS/../replay_views" "$(dirname "$file")/in/$(basename "$file")"
}

begin() { # PATTERN COUNT
	local seeds=("$here"/../fuzz/corpus/recording/*) file
	command -v python3 >/dev/null || skip "no python3 here"
	[[ -x $WORKLOADS/../replay_views ]] || skip "no $WORKLOADS/../replay_views"
	export XDG_CACHE_HOME=$PWD/cache
	formats=$("$EBPROF" convert --list | awk '{ print $1 }')
	[[ $(wc -w <<<"$formats") -gt 8 ]] || fail "formats: $formats"
	cp "$here/../fuzz/corpus/recording/small" small
	"$here/hostile_recordings.py" files "${SEED:=1}" "$2" "${seeds[@]}" || fail "no files were made"
	# The replay takes folders.
	for file in files/$1; do
		mkdir -p "files/in/$(basename "$file")"
		ln "$file" "files/in/$(basename "$file")/file"
	done
}

test_readers_of_small_files_that_ask_for_much() {
	local file
	begin '[!di]*' 0
	for file in files/*; do
		[[ ! -f $file ]] || read_in_all_ways "$file"
	done
}

test_readers_of_damaged_files() {
	local file
	begin 'damaged*' "${BOUNDS:-24}"
	for file in files/damaged*; do
		read_in_all_ways "$file"
	done
}

# Nothing is cut without a word: the tree says how much is missing, convert leaves no half of a file.
test_what_is_too_long_is_said() {
	begin long_name_deep 0
	run "$EBPROF" report -g files/long_name_deep
	want_status 0 'report -g'
	grep -qE '^# [0-9]+ more branches: the tree is longer than 8 MiB' out || fail "$(tail -n 3 out | cut -c 1-200)"
	run "$EBPROF" report -g --percent-limit 0.5 files/long_name_deep
	! grep -q 'more branches' out || fail "--percent-limit does not show all"
	[[ $(grep -c '%' out) -ge 4096 ]] || fail "$(grep -c '%' out) lines"
	run "$EBPROF" convert --folded --symbol-cache none -o x.folded files/long_names_many
	want_status 1 'a file of 42 KB as 22 GB'
	grep -q 'becomes more than' err || fail "$(cat err)"
	[[ ! -e x.folded ]] || fail "half of it was left"
}

run_tests 2
