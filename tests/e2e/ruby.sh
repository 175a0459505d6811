#!/bin/bash
# Ruby programs: the whole stack of script frames among native ones, of threads and fibers, also of
# short-lived processes and when nothing is known of the interpreter yet.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"
. "$here/script_frames.bash"

rubies() { interpreters ruby; }

record_shape() { # RUBY SECONDS OPTION...
	local ruby=$1 seconds=$2
	shift 2
	"$EBPROF" record -q -F 1499 -o shape.data "$@" -- "$ruby" "$here/ruby_shape.rb" "$seconds" >spent 2>err ||
		fail "record $ruby: $(cat err)"
}

# One recording does for all tests that want nothing else.
shared_shape() { # RUBY
	local shared=$shared_folder/shape.${1##*/}
	if [[ ! -e $shared.data ]]; then
		record_shape "$1" 2
		cp spent "$shared.spent"
		cp shape.data "$shared.data"
	fi
	cp "$shared.spent" spent
	cp "$shared.data" shape.data
}

# Of "all" samples, those of the time when the recorder did not know yet that there is an
# interpreter do not count; how many they are is a matter of how busy the machine is.
pending='/unnamed: runtime_pending/'

want_known() { # RUBY PENDING ALL
	percent "$1: samples in a known interpreter" $(($3 - $2)) "$3" 50
}

# Up to the program's beginning, or to that of the interpreter's own programs, or of a fiber.
whole='/<main>|<internal:|in_fiber|in_method|produce/'

whole_stacks() { # RUBY
	local all late whole_ones h m l sort sub deep times next fiber thread method defined single want_h want_m want_l
	read -r want_h want_m want_l <spent
	read -r all late whole_ones h m l sort sub deep times next fiber thread method defined single < <(count shape.data '
		'"$pending"' { add("late"); next }
		/^ruby/ { add("all") }
		'"$whole"' { add("whole") }
		/heavy;.*spin/ { add("h") } /medium;.*spin/ { add("m") } /light;.*spin/ { add("l") }
		/by_sort;[^;]*sort_by;.*each;.*;block in .*by_sort;.*key;.*spin/ { add("sort") }
		/in_sub;[^;]*gsub;.*;block in .*in_sub;.*key;.*spin/ { add("sub") }
		/recurse/ { copy = $0; if (gsub(/recurse/, "", copy) == 41) add("deep") }
		/each_of;[^;]*times;.*block in .*each_of;.*spin/ { add("times") }
		/block in .*produce;.*;block \(2 levels\) in .*produce;.*spin/ { add("next") }
		/block in .*in_fiber;.*spin/ { add("fiber") }
		/block in <main>;.*run_in_thread;/ { add("thread") }
		/;[^;]*method;[^;]*spin/ { add("method") }
		/;block in <class:Größe>;[^;]*spin/ { add("defined") }
		/;[^;]*single;[^;]*spin/ { add("single") }
		END { print c["all"] + 0, c["late"] + 0, c["whole"] + 0, c["h"] + 0, c["m"] + 0, c["l"] + 0, c["sort"] + 0,
			c["sub"] + 0, c["deep"] + 0, c["times"] + 0, c["next"] + 0, c["fiber"] + 0, c["thread"] + 0,
			c["method"] + 0, c["defined"] + 0, c["single"] + 0 }')
	want_known "$1" "$late" $((all + late))
	percent "$1: stacks up to the program's beginning" "$whole_ones" "$all" 95
	near "$1: heavy" "$h" $((h + m + l)) "$want_h"
	near "$1: medium" "$m" $((h + m + l)) "$want_m"
	near "$1: light" "$l" $((h + m + l)) "$want_l"
	percent "$1: the second thread" "$thread" "$all" 20
	for found in "sort_by {}: $sort" "gsub {}: $sub" "times {}: $times" "an Enumerator: $next" "a fiber: $fiber" \
		"a method: $method" "define_method: $defined" "a method of a class: $single" \
		"41 frames of recursion: $deep"; do
		[[ ${found##*: } != 0 ]] || fail "$1: no sample of ${found%: *}"
	done
}

test_whole_stacks() {
	local ruby list
	list=$(rubies) || exit $?
	for ruby in $list; do
		shared_shape "$ruby"
		whole_stacks "$ruby"
		want_whole shape.data
		want_exact shape.data
		"$EBPROF" convert --folded --no-native -o stacks shape.data 2>err || fail "convert: $(cat err)"
		! grep -E ';<main>;(.*;)?<main>[; ]' stacks || fail "$ruby: <main> calls <main>"
	done
}

# From 3.3 on names have the classes of methods.
test_classes() {
	local ruby list version want plain classes
	list=$(rubies) || exit $?
	for ruby in $list; do
		shared_shape "$ruby"
		version=$("$ruby" --disable-gems -e 'print RUBY_VERSION') || fail "$ruby has no version"
		read -r plain classes < <(count shape.data '
			function see(kind) { if (!seen[kind]++) kinds++ }
			/;(spin|run|method|single);/ { add("plain") }
			/;Object#run;/ && /;Object#spin;/ { see("object") }
			/;Größe#method;/ { see("method") }
			/;Größe[.]single;/ { see("single") }
			/;(Array|Range)#each;/ { see("C") }
			/;block in Object#by_sort;/ { see("block") }
			END { print c["plain"] + 0, kinds + 0 }')
		case $version in
		2.* | 3.[0-2].*) want=0 ;;
		*) want=5 ;;
		esac
		[[ $classes == "$want" ]] || fail "$ruby: $classes kinds of names with classes, not $want"
		[[ $want == 0 || $plain == 0 ]] || fail "$ruby: $plain samples without classes"
	done
}

# Nothing is known of any file when the program begins.
test_cold() {
	local ruby list all late whole_ones
	list=$(rubies) || exit $?
	for ruby in $list; do
		record_shape "$ruby" 1.5 --unwind-cache none
		read -r all late whole_ones < <(count shape.data '
			'"$pending"' { add("late"); next }
			/^ruby/ { add("all") }
			'"$whole"' { add("whole") }
			END { print c["all"] + 0, c["late"] + 0, c["whole"] + 0 }')
		want_known "$ruby" "$late" $((all + late))
		percent "$ruby: stacks up to the program's beginning" "$whole_ones" "$all" 93
	done
}

test_lines() {
	local ruby list line hot all
	line=$(grep -n '# hot' "$here/ruby_shape.rb" | cut -d: -f1)
	command -v go >/dev/null || skip "no go here, whose pprof shows lines"
	list=$(rubies) || exit $?
	for ruby in $list; do
		shared_shape "$ruby"
		"$EBPROF" convert --pprof -i shape.data -o shape.pb.gz >/dev/null 2>&1 || fail "convert"
		go tool pprof -lines -top -nodecount=2000 shape.pb.gz >top 2>/dev/null || fail "pprof"
		# The loop's condition is another line, and no less work.
		hot=$(awk -v at="ruby_shape.rb:" -v line="$line" '/spin / && (i = index($0, at)) {
			here = substr($0, i + length(at)) + 0
			if (here >= line - 1 && here <= line + 1) hot += $4
		} END { print int(hot) }' top)
		all=$(awk '/spin / { all += $4 } END { print int(all) }' top)
		percent "$ruby: lines of the loop in spin" "$hot" "$all" 90
	done
}

# Processes of 0.4 s, one after the other, on a busy machine as well. Some of each runs before there
# is any code of Ruby.
test_short_lived() {
	local ruby list all late named unnamed
	list=$(rubies) || exit $?
	cat >"$PWD/short.rb" <<'RB'
def work
  (1..1000).sum { |i| i * i }
end
def main(till)
  work while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < till
end
main(0.4)
RB
	for ruby in $list; do
		"$EBPROF" record -q -a -F 999 -o short.data -- \
			bash -c 'for i in {1..6}; do "$0" --disable-gems "$PWD/short.rb"; done' "$ruby" 2>err || fail "$(cat err)"
		read -r all late named unnamed < <(count short.data '
			/^ruby/ && /libruby/ {
				add("all")
				if ('"$pending"') add("late")
				else if (/unnamed:/) add("unnamed")
				else if (/<main>|<internal:/) add("named")
			}
			END { print c["all"] + 0, c["late"] + 0, c["named"] + 0, c["unnamed"] + 0 }')
		[[ $named -gt 500 ]] || fail "$ruby: only $named samples in programs"
		want_known "$ruby" "$late" "$all"
		percent "$ruby: named, but for the interpreter's own beginnings" "$named" $((all - late)) 85
		percent "$ruby: named where there is code" "$named" $((named + unnamed)) 97
	done
}

# Compiled code has no rules to unwind it by. Of Debian's Rubies 3.1 has YJIT, and 3.3 RJIT.
test_jit() {
	local ruby list option all whole_ones jit spin found=
	list=$(rubies) || exit $?
	for ruby in $list; do
		for option in --yjit --rjit; do
			[[ $("$ruby" "$option" -v 2>&1) == *+[YR]JIT* ]] || continue
			"$EBPROF" record -q -o shape.data -- "$ruby" "$option" "$here/ruby_shape.rb" 2 >spent 2>err ||
				fail "record $ruby $option: $(cat err)"
			read -r all whole_ones jit spin < <(count shape.data '
				'"$pending"' { next }
				/^ruby/ && !/ruby_options/ { add("all") } # where 256 MiB are cleared
				!/ruby_options/ && '"$whole"' { add("whole") }
				/spin;\[ruby jit\]/ { add("jit") }
				/(heavy|medium|light);[^;]*spin;\[ruby jit\]/ && /<main>/ { add("spin") }
				END { print c["all"] + 0, c["whole"] + 0, c["jit"] + 0, c["spin"] + 0 }')
			percent "$ruby $option: stacks up to the program's beginning" "$whole_ones" "$all" 90
			percent "$ruby $option: compiled code" "$jit" "$all" 40
			percent "$ruby $option: compiled code with all its callers" "$spin" "$jit" 70
			found=1
		done
	done
	[[ $found ]] || skip "no Ruby here that has YJIT or RJIT"
}

test_counted() {
	local ruby list
	list=$(rubies) || exit $?
	shared_shape "${list%%$'\n'*}"
	"$EBPROF" info --json shape.data | grep -qE '"script_frames": \{"\[ruby\]": \{"frames": [1-9]' ||
		fail "info does not count: $("$EBPROF" info --json shape.data | grep script)"
	record_shape "${list%%$'\n'*}" 0.5 --no-vm ruby
	count shape.data '/heavy|unnamed/ { add("x") } END { print c["x"] + 0 }' | grep -qx 0 ||
		fail "script frames in spite of --no-vm"
}

run_tests
