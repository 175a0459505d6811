#!/bin/bash
# The terminal interface in a real terminal, which tmux plays: sizes, kinds of terminals, keys,
# mouse, signals; whatever ends it gives the terminal back as it was.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"
. "$(dirname "$0")/terminal.bash"

evil=$'evil\033]0;PWN\007\033[31m\xc2\x9b\xe2\x80\xae\x9b日本語🔥e\xcc\x81'

# Waits until a second has passed in which nothing was sent to the file bytes.
wait_quiet() {
	local before=
	while [[ $before != "$(stat -c %s bytes)" ]]; do
		before=$(stat -c %s bytes)
		sleep 1
	done
}

# The modes of the terminal, as the shell finds them when a program has ended.
note_modes() { # FILE
	rm -f "$1"
	type_line "stty -a >$1.new; mv $1.new $1; echo noted"
	wait_until "modes in $1" test -s "$1"
	type_line clear
	wait_gone noted
}

want_given_back() { # WHAT
	note_modes after
	diff before after >modes.diff || fail "$1: other modes: $(cat modes.diff)"
	local got
	got=$(flags '#{alternate_on} #{mouse_any_flag}#{mouse_button_flag} #{cursor_flag}')
	[[ $got == "0 00 1" ]] || fail "$1: alternate screen, mouse, cursor are $got"
}

# The interface over a recording of known shape. Its process ID is in $pid.
open_report() {
	type_line "$EBPROF report"
	wait_for 'heavy' "function heavy"
	local tty
	tty=$(flags '#{pane_tty}')
	pid=$(pgrep -n -t "${tty#/dev/}") || fail "no process"
}

ready() { # TERM WIDTH HEIGHT [VARIABLE=VALUE...]
	shared_recording
	begin "$@"
	note_modes before
	open_report
}

# ---- kinds and sizes ----

show_in() { # TERM WIDTH HEIGHT
	ready "$@"
	[[ $(screen | wc -L) -le $2 ]] ||
		fail "lines are wider than $2"
	[[ $(flags '#{alternate_on}') == 1 ]] || [[ $1 == vt* || $1 == linux ]] || fail "no alternate screen"
	keys '?'
	wait_for 'Moving' 'help'
	keys G
	wait_for 'no name|known' 'end of the help'
	keys q
	wait_gone '─ [0-9]|- [0-9]'
	keys q
	wait_for '^\$ *$' 'shell'
	want_given_back "q in $1"
}

test_xterm_256color_80x24() { show_in xterm-256color 80 24; }
test_xterm_256color_200x50() { show_in xterm-256color 200 50; }
test_xterm_256color_20x5() { show_in xterm-256color 20 5; }
test_xterm_80x24() { show_in xterm 80 24; }
test_vt100_80x24() { show_in vt100 80 24; }
test_vt100_20x5() { show_in vt100 20 5; }
test_vt220_200x50() { show_in vt220 200 50; }
test_linux_80x24() { show_in linux 80 24; }
test_screen_256color_80x24() { show_in screen-256color 80 24; }

test_locale_without_utf8() {
	shared_recording
	begin xterm-256color 80 24 LC_ALL=C
	in_tmux pipe-pane -O "cat >'$PWD/bytes'"
	open_report
	keys '?'
	wait_for Moving
	! LC_ALL=C grep -qP '[\x80-\xff]' bytes || fail "bytes beyond ASCII in the locale C"
}

# What a terminal with colours gets to see.
want_colours() { # TERM PATTERN
	shared_recording
	begin "$1" 80 24
	in_tmux pipe-pane -O "cat >'$PWD/bytes'"
	open_report
	wait_until "colours in $1" grep -qaP "\\x1b\\[[0-9;]*\\b$2[0-9;]*m" bytes
}

test_256_colours() { want_colours xterm-256color '(38|48);5;[0-9]+'; }
test_8_colours() { want_colours xterm '[34][0-7]'; }

test_no_color() {
	shared_recording
	begin xterm-256color 80 24 NO_COLOR=1
	in_tmux pipe-pane -O "cat >'$PWD/bytes'"
	open_report
	wait_quiet
	! grep -qaP '\x1b\[[0-9;]*\b(3[0-7]|4[0-7]|38;5|48;5)[0-9;]*m' bytes || fail "colours in spite of NO_COLOR"
}

# ---- where it cannot be ----

want_text() { # WHAT
	wait_for '^# .*samples' "text ($1)"
	[[ $(flags '#{alternate_on}') == 0 ]] || fail "$1: a screen"
}

test_dumb() {
	shared_recording
	begin dumb 100 24
	type_line "$EBPROF report"
	want_text dumb
	screen | grep -q 'TERM=dumb cannot place its cursor: text instead' || fail "it does not say why"
}

test_unknown_terminal() {
	shared_recording
	begin xterm 120 24
	type_line "TERM=no-such-terminal $EBPROF report"
	want_text unknown
	screen | grep -q 'TERM=no-such-terminal is not known' || fail "it does not say why"
}

test_pipe() {
	shared_recording
	begin xterm 100 24
	type_line "$EBPROF report | cat"
	want_text pipe
	type_line "clear; $EBPROF report </dev/null"
	want_text 'no standard input'
}

# ---- what ends it ----

end_by_signal() { # SIGNAL STATUS
	ready xterm-256color 80 24
	kill -"$1" "$pid"
	wait_for '^\$ *$' 'shell'
	type_line 'echo status $?'
	wait_for "status $2\$"
	type_line clear
	wait_gone status
	want_given_back "SIG$1"
}

test_sigterm() { end_by_signal TERM 143; }
test_sighup() { end_by_signal HUP 129; }
test_sigint() { end_by_signal INT 130; }
test_sigquit() { end_by_signal QUIT 131; }

crash_by_signal() { # SIGNAL
	shared_recording
	begin xterm-256color 80 24
	type_line 'ulimit -c 0'
	note_modes before
	open_report
	kill -"$1" "$pid"
	wait_for '\$ *$' 'shell'
	wait_gone 'medium'
	type_line clear
	want_given_back "SIG$1"
}

test_sigsegv() { crash_by_signal SEGV; }
test_sigabrt() { crash_by_signal ABRT; }
test_sigbus() { crash_by_signal BUS; }

# The shell that has it goes away, and so does the terminal.
test_terminal_gone() {
	ready xterm-256color 80 24
	in_tmux kill-server
	is_soon is_gone "$pid" || fail "it outlives its terminal"
}

test_terminal_gone_and_nohup() {
	shared_recording
	begin xterm-256color 80 24
	type_line "trap '' HUP"
	open_report
	in_tmux kill-server
	is_soon is_gone "$pid" || fail "without SIGHUP it outlives its terminal"
}

test_interrupt_quits() {
	ready xterm-256color 80 24
	keys C-c
	sleep 0.3
	keys C-c
	wait_for '^\$ *(\^C)?' 'shell'
	wait_gone medium
	want_given_back '^C'
}

# ---- stopping ----

# Until it is seen, the key may not be read: what stops would leave it to the shell.
select_next() {
	want_selected heavy "at first"
	keys j
	is_soon has_left heavy || fail "j selects nothing else"
}

stop_and_go_on() { # HOW...
	ready xterm-256color 80 24
	select_next
	"$@"
	wait_for 'Stopped' 'the message that it was stopped'
	[[ $(flags '#{alternate_on} #{mouse_any_flag}#{mouse_button_flag}') == "0 00" ]] ||
		fail "a stopped program keeps the screen"
	note_modes stopped
	diff before stopped >modes.diff || fail "stopped: other modes: $(cat modes.diff)"
	type_line fg
	wait_for '1 Top' 'the screen again'
	[[ $(flags '#{alternate_on}') == 1 ]] || fail "no alternate screen behind fg"
	keys '?'
	wait_for Moving 'help behind fg'
	keys q q
	wait_gone '1 Top'
	want_given_back 'q behind fg'
}

test_stop_key() { stop_and_go_on keys C-z; }
test_sigtstp() { stop_and_go_on eval 'kill -TSTP "$pid"'; }
test_sigstop() {
	ready xterm-256color 80 24
	kill -STOP "$pid"
	wait_for 'Stopped' 'the message that it was stopped'
	type_line fg
	wait_for '1 Top' 'the screen again'
	keys q
	wait_gone '1 Top'
	want_given_back 'q behind SIGSTOP'
}

# ---- size, mouse, paste, keys ----

test_resize() {
	ready xterm-256color 80 24
	select_next
	local before
	before=$(selected)
	in_tmux resize-window -x 40 -y 12
	want_selected "$before" "a smaller screen"
	in_tmux resize-window -x 10 -y 3
	wait_for 'too small'
	in_tmux resize-window -x 80 -y 24
	wait_for "heavy"
	want_selected "$before" "a larger screen"
	keys q
	wait_gone '1 Top'
	want_given_back 'q behind resizing'
}

# What a terminal sends for the mouse, by its numbers: ESC [ < button ; x ; y M
mouse() { # BUTTON X Y M|m
	# shellcheck disable=SC2046
	raw $(printf '\033[<%d;%d;%d%s' "$@" | od -An -tx1 -v)
}


test_mouse() {
	local term
	for term in xterm-256color screen-256color tmux-256color linux; do
		infocmp $term >/dev/null 2>&1 || continue
		ready $term 80 24
		local line
		line=$(screen | grep -n 'medium' | head -n 1 | cut -d : -f 1)
		mouse 0 50 "$line" M
		mouse 0 50 "$line" m
		want_selected medium "$term: press"
		mouse 64 50 10 M
		want_selected heavy "$term: wheel"
		mouse 2 50 "$line" M
		wait_for 'this help' "$term: menu by the right button"
		mouse 2 50 "$line" m
		sleep 0.3
		has 'this help' || fail "$term: the menu goes when the button is let go"
		keys Escape
		wait_gone 'this help'
		want_selected medium "$term: right button"
		local server
		server=$(flags '#{pid}')
		in_tmux kill-server
		wait_until "the end of tmux" is_gone "$server"
	done
}

top_row_is() { screen | sed -n 4p | grep -q " $1\$"; } # FUNCTION

# Whatever view one comes from, Top shows what is at the top, and so does another order.
test_top_shows_the_top() {
	ready xterm-256color 80 24
	keys 3
	wait_for 'callees' 'tree'
	keys G
	keys 1
	wait_for 'self▼' 'Top'
	is_soon top_row_is heavy || fail "Top behind Tree begins with $(screen | sed -n 4p)"
	keys '>'
	wait_for 'total▼' 'order by total'
	screen | grep -qE '^ +[0-9.]+% +100\.00%|^ +[0-9.]+% +9[0-9]\.' || fail "the largest total is not seen"
}

# How far from the program the rows are that took nothing themselves, in their order: 0 its own functions, 1 those of
# libraries, 2 those of the kernel.
distances() {
	screen | sed '1,3d' | awk '$1 == "0.00%" && $2 ~ /%$/ { print $3 == "workload" ? 0 : /\[kernel/ ? 2 : 1 }'
}
is_at_the_end() { # the last of all rows is the selected one; where all fit in there are no numbers
	local rows
	rows=$(screen | sed -n '3s/.* [0-9]*-\([0-9]*\) of \([0-9]*\) *$/\1 \2/p')
	[[ ${rows% *} == "${rows#* }" ]] && screen | head -n -2 | grep . | tail -n 1 | grep -qF " $(selected)"
}

# Of rows that took nothing themselves the program's own come first, then libraries', then the kernel's; by G and g
# one gets to both ends of that.
test_rows_without_self() {
	# half a second of the workload alone may have no kernel function at all
	run "$EBPROF" record -F 499 -o ebprof.data -- \
		sh -c '"$1" 0.5; dd if=/dev/zero of=/dev/null bs=1 count=100000' sh "$WORKLOADS/workload"
	want_status 0 record
	begin xterm-256color 120 100
	open_report
	local first last part
	first=$(distances)
	[[ $(head -n 1 <<<"$first") == 0 ]] || fail "behind what took time comes: $(screen | grep ' 0\.00% ' | head -n 5)"
	keys G
	is_soon is_at_the_end || fail "G leads to $(selected): $(screen | tail -n 4)"
	last=$(distances)
	[[ $(tail -n 1 <<<"$last") == 2 ]] || fail "at the end is no function of the kernel: $(screen | tail -n 4)"
	for part in "$first" "$last"; do
		sort -nc <<<"$part" || fail "not in this order: ${part//$'\n'/ }"
	done
	keys g
	want_selected heavy 'g'
	is_soon top_row_is heavy || fail "Top behind g begins with $(screen | sed -n 4p)"
}

# Esc goes back, view by view; q quits from anywhere.
test_back_and_quit() {
	ready xterm-256color 80 24
	keys 3
	wait_for 'callees' 'tree'
	keys 2
	wait_for 'callers ▲ function' 'butterfly'
	keys BSpace
	wait_for 'function ▼ callees' 'tree again'
	keys Escape
	wait_for 'self▼' 'Top again'
	keys Escape
	wait_for 'q quits' 'how to leave'
	keys 4
	wait_for 'callers on top' 'flame'
	keys q
	wait_gone '1 Top'
}

test_groups() {
	ready xterm-256color 80 24
	keys b
	wait_for 'Group by'
	keys Down Enter
	wait_for 'self.*total process' "a column of processes"
	keys 3
	wait_for '\[process\]' "processes in the tree"
	keys I
	wait_for 'callers'
	wait_for '\[process\]' "processes ahead of leaves"
	keys 4
	wait_for 'leaves on top|callers on top' 'flames'
	keys b Home Enter
	wait_gone '\[process\]'
	keys q
	wait_for '^\$ *$' 'shell'
}

# From the start of the program to where it divides is one row, in the tree and in the text.
test_chains() {
	ready xterm-256color 100 24
	keys 3
	wait_for '_start > .* > work( |$)' 'a chain in one row'
	keys g F
	wait_gone '_start > .* > work( |$)'
	wait_for '__libc_start_call_main +libc' 'the chain unfolded'
	keys F
	wait_for '_start > .* > work( |$)' 'the chain folded again'
	keys / '^' m a i n '$' Enter
	wait_for '_start > .* > main ' 'what is gone to ends its row'
	keys q
	wait_for '^\$ *$' 'shell'
	type_line "clear; $EBPROF report --stdio -g --percent-limit 40"
	wait_for '_start > .* > work($| )' 'the same in text'
}

test_inlined_frames() {
	command -v gcc >/dev/null || skip "no gcc here"
	cat >inlined.c <<-'END'
		static volatile unsigned long sum;
		static inline __attribute__((always_inline)) void inner(long i) { sum += sum % (i | 1); }
		static inline __attribute__((always_inline)) void middle(long i) { inner(i); }
		static inline __attribute__((always_inline)) void outer(long i) { middle(i); }
		__attribute__((noipa)) static void work(long n) { for (long i = 0; i < n; i++) outer(i); }
		int main(void) { work(20000000); return sum == 1; }
	END
	gcc -g -O2 -o inlined inlined.c || fail "gcc"
	run "$EBPROF" record -o ebprof.data -- ./inlined
	want_status 0 record
	begin xterm-256color 100 24
	type_line "$EBPROF report"
	wait_for ' inner$' Top
	keys / '^' w o r k '$' Enter # the kernel's task_mm_cid_work() may be there
	wait_for '/\^work\$: 1/1' 'the search'
	keys 2
	wait_for '▸ [23] inlined frames +(outer > )?middle > inner' 'inlined functions in one row'
	keys j Enter
	wait_for 'inner +\(inlined\)' 'them opened'
	keys h
	wait_for '▸ [23] inlined frames' 'them closed'
	keys q
	wait_for '^\$ *$' 'shell'
}

# In views whose rows are no functions it is rows that are searched: threads, files.
test_search_in_other_views() {
	ready xterm-256color 80 24
	keys 6
	wait_for 'container or cgroup'
	keys / '^' w o r k l o a d Enter
	wait_for '/\^workload: 1/1' 'which row it is'
	is_soon is_selected workload || fail "selected is $(selected)"
	keys n
	wait_for 'no other match'
	keys 9
	wait_for 'build ID|state +file'
	keys / l i b c Enter
	wait_for '/libc: 1/1' 'a file'
	screen | tail -n 2 | head -n 1 | grep -q '/libc' || fail "selected is $(screen | tail -n 2)"
	keys / h e a v y Enter
	wait_for 'nothing matches' 'no file is called so'
	keys 5
	wait_for '/heavy: 0 matches'
	keys / w o r k l Enter
	wait_for '/workl: 1/1' 'a row of the timeline'
	keys 2
	wait_for 'callers ▲ function'
	keys / l i g h t Enter
	want_selected light 'a function that is no relative of this one comes into the middle'
	keys q
	wait_for '^\$ *$' 'shell'
}

# Of several lists: another order is seen from its top.
test_other_orders_begin_at_the_top() {
	ready xterm-256color 120 24
	local view
	for view in 6 9; do
		keys "$view"
		wait_for 'samples +CPU|build ID' "view $view"
		keys G
		sleep 0.2
		keys '>'
		wait_for '(samples|named)▼' 'another order'
		screen | grep -qE ' [2-9][0-9]*-[0-9]+ of [0-9]+ *$' && fail "view $view begins below its top: $(screen | sed -n 3p)"
		keys s s
	done
	keys q
	wait_for '^\$ *$' 'shell'
}

# What the last line says of keys are buttons, so is the first line's word on missing names.
test_buttons() {
	ready xterm-256color 80 24
	local line column
	line=$(screen | wc -l)
	column=$(screen | tail -n 1 | grep -ob '? help' | cut -d : -f 1)
	mouse 0 $((column + 3)) "$line" M
	mouse 0 $((column + 3)) "$line" m
	wait_for Moving 'the help, clicked on'
	keys Escape
	wait_gone Moving
	mouse 0 3 "$line" M
	mouse 0 3 "$line" m
	wait_for 'callers ▲ function' 'what Enter does, clicked on'
	keys M
	wait_for 'Enter +centre' "the view's own word for Enter in the menu"
	keys Escape
	wait_gone 'this help'
	column=$(screen | tail -n 1 | grep -ob 'q quit' | cut -d : -f 1)
	mouse 0 $((column + 1)) "$line" M
	wait_for '^\$ *$' 'shell'
}

selected_row() { # as 256 colours show it
	in_tmux capture-pane -e -p | grep '48;5;25m' | grep -oE '[0-9]+\.[0-9]{2}%' | head -n 1
}

# Until the user moves, each layout of Source has its hottest row selected: the hottest line need not have the hottest
# instruction.
test_source_begins_at_the_hottest() {
	command -v gcc >/dev/null && command -v objdump >/dev/null || skip "no gcc or no objdump here"
	local wide='a += b; b ^= a; c += b; d ^= c; a += d; b ^= c; c += a; d ^= b; a += c; b ^= d; c += d; d ^= a;' want
	cat >wide.c <<-END
		static volatile unsigned long sink;
		__attribute__((noipa)) static unsigned long hot(unsigned long n)
		{
			unsigned long a = n, b = n | 1, c = 3, d = 7;
			for (long i = 0; i < 6000000; i++) {
				$wide $wide $wide $wide $wide $wide $wide $wide
				sink = a / (d | 1);
			}
			return a + b + c + d;
		}
		int main(void) { return hot(5) == 1; }
	END
	gcc -O1 -g -o wide wide.c || fail "gcc"
	run "$EBPROF" record -o ebprof.data -- ./wide
	want_status 0 record
	run "$EBPROF" annotate -i ebprof.data hot --layout assembly
	want=$(awk '$1 ~ /%$/ { print $1 }' out | sort -rn | head -n 1)
	begin xterm-256color 100 30
	type_line "$EBPROF report"
	wait_for ' hot$' Top
	keys 7
	wait_for 'source; % of function' 'its lines'
	is_soon eval '[[ $(selected_row) == [3-9]?.??% ]]' || fail "the selected line has $(selected_row)"
	keys e
	wait_for 'assembly; % of function' 'its instructions'
	[[ $(selected_row) == "$want" ]] || fail "selected is an instruction with $(selected_row), not $want"
	keys q
	wait_for '^\$ *$' 'shell'
}

functions_in_order() { awk '$1 ~ /%$/ && $2 ~ /%$/' "$@"; }

# The text has the functions in the order in which Top has them, by self and by total.
test_one_order() {
	ready xterm-256color 120 40
	local order option
	for order in self total; do
		[[ $order == self ]] || keys '>'
		wait_for "$order▼"
		keys P C-u
		keys -l "top-$order.txt"
		keys Enter
		wait_for "written|top-$order" 'the list in a file'
		wait_until "top-$order.txt" test -s "top-$order.txt"
		option=--no-children
		[[ $order == self ]] || option=--children
		"$EBPROF" report --stdio -s sym,file -F self,total $option --percent-limit 0 >"text-$order.txt" 2>err || fail "$(cat err)"
		functions_in_order "top-$order.txt" | awk '{ print $1, $2, $4 }' >tui.names
		functions_in_order "text-$order.txt" | awk '{ print $1, $2, $4 }' >text.names
		[[ -s tui.names ]] || fail "no rows: $(head -n 5 "top-$order.txt")"
		diff tui.names text.names >names.diff || fail "by $order: $(head -n 20 names.diff)"
	done
	keys q
	wait_for '^\$ *$' 'shell'
}

test_first_run() {
	shared_recording
	begin xterm-256color 80 24 XDG_STATE_HOME="$PWD/state"
	open_report
	has '^New here\?.* q quits$' || fail "no word for who is here for the first time"
	keys j
	wait_gone 'New here'
	keys q
	wait_for '^\$ *$' 'shell'
	open_report
	! has 'New here' || fail "it is said twice"
}

# Names that are shortened until they are the same get what tells them apart.
test_distinct_names() {
	command -v g++ >/dev/null || skip "no g++ here"
	cat >alike.cc <<-'END'
		namespace linear_algebra { namespace dense {
		template <class T> struct Matrix {
			__attribute__((noipa)) static T multiply(long n)
			{
				volatile T sum = 1;
				for (long i = 0; i < n; i++)
					sum = sum * 3 + 1;
				return sum;
			}
		};
		} }
		using namespace linear_algebra::dense;
		int main() { return Matrix<int>::multiply(70000000) + Matrix<long>::multiply(50000000) == 1; }
	END
	g++ -g -O1 -o alike alike.cc || fail "g++"
	run "$EBPROF" record -o ebprof.data -- ./alike
	want_status 0 record
	begin xterm-256color 80 24
	type_line "$EBPROF report"
	wait_for 'Matrix<...>::multiply \{int\}' 'one of them'
	wait_for 'Matrix<...>::multiply \{long\}' 'the other'
	in_tmux resize-window -x 160 -y 24
	wait_for 'Matrix<long>::multiply\(long\)' 'whole names'
	wait_gone '\{long\}'
}

# Files of other profilers to compare with, named at the start or by D.
test_foreign_baseline() {
	shared_recording
	local kind
	for kind in folded pprof perf-data; do
		run "$EBPROF" convert --$kind -i ebprof.data -o base.$kind
		want_status 0 "convert --$kind"
	done
	echo 'no profile' >none
	begin xterm-256color 120 30
	type_line "$EBPROF report --baseline base.folded"
	keys 8
	wait_for 'heavy' 'the comparison with folded stacks'
	for kind in pprof perf-data; do
		keys D
		wait_for 'compare with' 'a prompt'
		keys C-u
		keys -l base.$kind
		keys Enter
		wait_for "base\.$kind" "the name of $kind"
		wait_for 'heavy' "the comparison with $kind"
	done
	keys D C-u
	keys -l none
	keys Enter
	wait_for 'none: .*neither an ebprof recording' 'a refusal'
	keys q
	wait_for '^\$ *$' 'shell'
}

test_list_beside_butterfly() {
	ready xterm-256color 200 60
	keys 2
	wait_for '^ +[0-9.]+% medium ' 'the functions beside the one in the middle'
	wait_for '█.? +(▾ |▸ )?heavy +workload' 'the one in the middle'
	keys ']'
	wait_for '█.? +(▾ |▸ )?medium +workload' 'the next of them'
	local line
	line=$(screen | grep -n '^ *[0-9.]*% light ' | head -n 1 | cut -d : -f 1)
	mouse 0 12 "$line" M
	mouse 0 12 "$line" m
	wait_for '(▉|█).? +(▾ |▸ )?light +workload' 'the one that was clicked on'
	keys Escape
	wait_gone ' light +workload'
}

test_enter_goes_to_the_hottest_match() {
	ready xterm-256color 80 24
	keys / '^(call_)?light' Enter # the kernel has things in flight
	want_selected light 'search'
	wait_for 'light: 1/2, ' 'which match it is'
	keys '&'
	wait_for '[0-9]+ of [0-9]+ samples' 'a filter'
	keys Escape
	wait_gone '[0-9]+ of [0-9]+ samples'
	keys / n o t h i n g l i k e i t Enter
	wait_for 'nothing matches' 'a word on it'
	keys 3
	keys / m e d i u m Enter
	want_selected call_medium 'the hottest place in the tree'
}

# Presses that come at once are a double click, which opens what Enter opens. Should they have been
# read apart, they have selected the line, and come again.
test_double_click() {
	ready xterm-256color 80 24
	local line press i
	line=$(screen | grep -n 'medium' | head -n 1 | cut -d : -f 1)
	press=$(printf '\033[<0;50;%dM\033[<0;50;%dm' "$line" "$line")
	for ((i = 0; i < 20; i++)); do
		# shellcheck disable=SC2046
		raw $(printf '%s%s' "$press" "$press" | od -An -tx1 -v)
		sleep 0.5
		screen | grep -q 'callers ▲ function' && break
	done
	wait_for 'callers ▲ function' 'butterfly'
	want_selected medium 'double click'
	keys Escape
	wait_for 'self.*total.*file' 'Top again'
}

# Pasted text is no commands; at a prompt it is typed.
test_paste() {
	ready xterm-256color 80 24
	in_tmux set-buffer 'qqq?'
	in_tmux paste-buffer -p
	sleep 0.5
	screen | grep -q '1 Top' || fail "pasted text is taken for commands"
	! screen | grep -q Moving || fail "pasted text opens the help"
	keys /
	in_tmux set-buffer 'med.um'
	in_tmux paste-buffer -p
	wait_for '^/med.um.*2 found'
}

test_prompt() {
	ready xterm-256color 80 24
	keys / x Left m Right BSpace
	wait_for '^/m '
	keys C-u
	keys -l 'heavy light'
	keys C-w
	wait_for '^/heavy '
	keys Enter / Up
	wait_for '^/heavy '
	keys Escape
	wait_gone '^/heavy ' # else the next key may be one together with it: Alt
	keys '\'
	keys -l heavy
	keys Enter
	wait_for '/heavy/'
	wait_for 'of [0-9]+ samples'
	# The first step of the trail, clicked on, undoes what came later.
	keys '!'
	keys -l call_heavy
	keys Enter
	wait_for 'not /call_heavy/'
	mouse 0 4 3 M
	mouse 0 4 3 m
	wait_gone 'not /call_heavy/'
	screen | grep -q '/heavy/' || fail "the first step is gone, too"
}

test_screen_drawn_again() {
	ready xterm-256color 80 24
	printf 'GARBAGE' >"$(flags '#{pane_tty}')"
	wait_for GARBAGE
	keys C-l
	wait_gone GARBAGE
}

# ---- names of other people's making ----

test_hostile_names() {
	cp "$WORKLOADS/workload" "$evil"
	run "$EBPROF" record -o ebprof.data -- "./$evil" 0.3
	want_status 0 recording
	mv ebprof.data "$evil.data"
	begin xterm-256color 80 24
	in_tmux pipe-pane -O "cat >'$PWD/bytes'"
	type_line "clear; $EBPROF report *.data"
	wait_for heavy
	keys w
	wait_for Name
	keys q i
	wait_for Recording
	keys PageDown q d
	wait_quiet
	keys y
	wait_quiet
	# The clipboard's sequence is ours, what it holds is in base64.
	LC_ALL=C sed -i -E 's/\x1b\]52;c;[A-Za-z0-9+\/=]*\x07//g' bytes
	! LC_ALL=C grep -qaP '\x1b\]0;|\x1b\[31m|\xc2[\x80-\x9f]|\xe2\x80\xae|\x07' bytes ||
		fail "a name's bytes reach the terminal: $(LC_ALL=C grep -aoP '.{20}(\x1b\]0;|\x1b\[31m|\xc2[\x80-\x9f]|\xe2\x80\xae|\x07)' bytes | head -n 2 | cat -v)"
	[[ $(flags '#{pane_title}') != PWN* ]] || fail "the title is another one"
	wait_for 'evil\\x1b' 'escaped name'
}

# ---- how much is sent ----

test_little_output() {
	ready xterm-256color 80 24
	wait_gone 'reading|naming|computing'
	in_tmux pipe-pane -O "cat >'$PWD/bytes'"
	wait_until "a file" test -e bytes
	wait_quiet
	local bytes
	bytes=$(stat -c %s bytes)
	select_next
	wait_quiet
	bytes=$(($(stat -c %s bytes) - bytes))
	[[ $bytes -gt 0 && $bytes -lt 1500 ]] || fail "a step down sends $bytes bytes"
	bytes=$(stat -c %s bytes)
	keys F7
	wait_quiet
	[[ $(stat -c %s bytes) == "$bytes" ]] || fail "a key without a meaning sends $(($(stat -c %s bytes) - bytes)) bytes"
}

# ---- scripts ----

test_no_native() {
	local python=/usr/bin/python3
	[[ -x $python ]] || skip "no $python here"
	[[ $(uname -m) == x86_64 ]] || skip "script frames are found on x86-64 only"
	"$EBPROF" record -q -o script.data -- "$python" "$here/python_shape.py" 2 >spent 2>err ||
		fail "record $python: $(cat err)"
	begin xterm-256color 120 40
	type_line "$EBPROF report --no-native script.data"
	wait_for '\[no native\]' 'native frames hidden from the beginning'
	wait_for '\[python\] .* spin' 'a function of the script'
	keys S
	wait_gone '\[no native\]'
	wait_for 'S no native' 'the hint'
	keys S
	wait_for '\[no native\]' 'native frames hidden'
	keys q
	wait_for '^\$ *$' 'shell'
}

run_tests 4
