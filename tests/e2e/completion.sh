#!/bin/bash
# The completion scripts complete, each in its shell.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

# ---- bash ----

in_bash() { # WORD...: what would be offered for the last one
	"$EBPROF" help --completion bash >script
	bash -c 'source ./script && COMP_WORDS=(ebprof "$@") && COMP_CWORD=$# && _ebprof
		echo "${COMPREPLY[@]}"' bash "$@" 2>&1
}

want_in_bash() { # WANTED WORD...
	local wanted=$1 got
	shift
	got=$(in_bash "$@")
	[[ $got == "$wanted" ]] || fail "\"$*\" gave \"$got\", not \"$wanted\""
}

test_bash() {
	mkdir folder
	touch some_recording
	want_in_bash record rec
	want_in_bash --duration record --du
	want_in_bash --percent-limit report --per
	want_in_bash --max-size record -F 99 --max-s
	want_in_bash max record -F ''
	want_in_bash 'lines' report --debuginfod l
	want_in_bash 'function' diff --by fu
	want_in_bash 'abba abab' ci --order ab
	want_in_bash 'templates' report --demangle = t
	want_in_bash signal record --switch-output =
	want_in_bash signal record --switch-output = s
	want_in_bash folder report --symfs f
	want_in_bash some_recording report some_
	want_in_bash some_recording report -i some_
	want_in_bash '' report --comms f
	want_in_bash root record --uid roo
	want_in_bash report help rep
	want_in_bash some_recording record -- ./x some_
}

# ---- zsh ----

# What stands behind "ebprof ..." when Tab was pressed once, in a real line editor: a key writes
# that line to a file.
in_zsh() { # LINE
	rm -f line
	cat >ask.zsh <<-'ZSH'
		zmodload zsh/zpty
		zpty -b shell "TERM=dumb PS1=% zsh -f -i"
		zpty -w shell 'unset zle_bracketed_paste; autoload -Uz compinit && compinit -u -D'
		zpty -w shell 'source ./script; setopt no_beep'
		zpty -w shell 'tell() { print -r -- $BUFFER >line.new && mv line.new line; }'
		zpty -w shell 'zle -N tell; bindkey "^X" tell; bindkey "^I" complete-word; : >ready'
		wait_for() { for ((i = 0; i < 600 && ! $+commands[none]; i++)); do
			[[ -e $1 ]] && return; zpty -r -t shell said; sleep 0.1; done; exit 1; }
		wait_for ready
		zpty -w -n shell "$1"$'\t\x18'
		wait_for line
		zpty -d shell
	ZSH
	zsh -f ask.zsh "$1" >said 2>&1 || fail "zsh did not answer: $(tail -n 3 said | tr '\n' ' ')"
	cat line
}

want_in_zsh() { # LINE WANTED
	local got
	got=$(in_zsh "$1") || exit
	[[ ${got% } == "$2" ]] || fail "\"$1\" became \"$got\", not \"$2\""
}

test_zsh() {
	command -v zsh >/dev/null || skip "no zsh here"
	"$EBPROF" help --completion zsh >script
	touch some_recording
	want_in_zsh 'ebprof rec' 'ebprof record'
	want_in_zsh 'ebprof record --dur' 'ebprof record --duration='
	want_in_zsh 'ebprof report --debuginfod=l' 'ebprof report --debuginfod=lines'
	want_in_zsh 'ebprof report some_' 'ebprof report some_recording'
	want_in_zsh 'ebprof report -i some_' 'ebprof report -i some_recording'
	want_in_zsh 'ebprof record --uid roo' 'ebprof record --uid root'
	want_in_zsh 'ebprof help bas' 'ebprof help baseline'
	want_in_zsh 'ebprof record -- mkfif' 'ebprof record -- mkfifo'
}

# As it is found in the folder that install puts it into.
test_zsh_finds_it() {
	command -v zsh >/dev/null || skip "no zsh here"
	mkdir functions
	"$EBPROF" help --completion zsh >functions/_ebprof
	zsh -f -c 'fpath=($PWD/functions $fpath); autoload -Uz compinit && compinit -u -D
		print -r -- $_comps[ebprof]' >out 2>err || fail "$(cat err)"
	[[ $(cat out) == _ebprof ]] || fail "ebprof is completed by \"$(cat out)\": $(cat err)"
}

# ---- fish ----

want_in_fish() { # LINE WANTED: the words, without what is said of them
	local got
	got=$(HOME=$PWD fish --no-config -c 'source ./script; complete -C $argv[1]' "$1" 2>err |
		cut -f 1 | tr '\n' ' ')
	[[ ${got% } == "$2" ]] || fail "\"$1\" gave \"$got\", not \"$2\": $(head -n 3 err)"
}

test_fish() {
	command -v fish >/dev/null || skip "no fish here"
	"$EBPROF" help --completion fish >script
	mkdir some_folder
	touch some_recording
	want_in_fish 'ebprof rec' record
	want_in_fish 'ebprof record --dur' --duration
	want_in_fish 'ebprof report --debuginfod l' lines
	want_in_fish 'ebprof diff --by fu' function
	want_in_fish 'ebprof report some_r' some_recording
	want_in_fish 'ebprof report --symfs some_' some_folder/
	want_in_fish 'ebprof record --uid roo' root
	want_in_fish 'ebprof help bas' baseline
	want_in_fish 'ebprof record mkfif' mkfifo
}

test_other_shells_are_refused() {
	run "$EBPROF" help --completion tcsh
	want_status 2 "help --completion tcsh"
	grep -q 'none of bash, zsh, fish' err || fail "$(cat err)"
}

run_tests
