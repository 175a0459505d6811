#!/bin/bash
# The documents say what the program does: option rows and man pages list the same options, the
# man pages' examples run.
#   EBPROF=build/ebprof tests/e2e/docs.sh
# Prints "ok NAME", "not ok NAME: why" or "skip NAME: why".
#
# Each line in a .Bd block below .Sh EXAMPLES of man/*.1 is a command, run by bash in a folder that
# holds ./program, ebprof.data and server.data, while a process "server" runs. Comments in front
# of a line, which no reader of the page sees:
#   .\" skip: WHY        not run
#   .\" needs: PROGRAM   skipped where there is no such program
#   .\" may fail         its exit status does not count
#
# Not built on prelude.bash: what needs no recording runs without privileges, too.
# Beside others: what else the machine does changes nothing here.
set -u
export LC_ALL=C.UTF-8 TERM=dumb
tree=$(cd "$(dirname "$0")/../.." && pwd)
EBPROF=$(realpath "${EBPROF:-$tree/build/ebprof}")
export EBPROF
work=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-docs.XXXXXX") || exit 1
server=
cleanup() {
	[[ -n $server ]] && kill "$server" 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
bad=0

ok() { echo "ok $1"; }
not_ok() { # NAME WHY
	echo "not ok $1: $(tr '\n' ' ' <<<"$2")"
	bad=1
}
skip() { echo "skip $1: $2"; }

commands() { "$EBPROF" help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }'; }

# ---- options: rows and pages as lines "short long argument" ----

rows_of() { "$EBPROF" help --rows "$1" | cut -f 1-3 | tr '\t' ' ' | sort; }

# .It Fl i , Fl -input Ar FILE|-     .It Fl -switch-output Ns Op = Ns Ar signal|SIZE|TIME
# Every command has --help, which is no row.
page_of() {
	sed -nE 's/^\.It Fl //p' "$1" |
		sed -E 's/^([^-]) , Fl -/\1 /; t; s/^-/- /' |
		sed -E 's/ Ns Op = Ns Ar (.*)$/ [\1]/; t; s/ Ar / /; t; s/$/ -/' |
		grep -vx 'h help -' | sort
}

check_options() { # COMMAND
	local page=$tree/man/ebprof-$1.1 difference
	if [[ ! -f $page ]]; then
		not_ok "page_$1" "there is no man/ebprof-$1.1"
		return
	fi
	difference=$(diff <(rows_of "$1") <(page_of "$page"))
	if [[ -n $difference ]]; then
		not_ok "options_$1" "< only among the rows, > only in the page: $(grep '^[<>]' <<<"$difference")"
	elif ! grep -qx '\.It Fl h , Fl -help' "$page" && [[ $1 != check ]]; then
		not_ok "options_$1" "--help is missing in the page"
	else
		ok "options_$1"
	fi
}

# The overview names every command.
check_overview() {
	local name missing=
	while read -r name; do
		grep -q "Xr ebprof-$name 1" "$tree/man/ebprof.1" || missing+=" $name"
	done < <(commands)
	if [[ -n $missing ]]; then
		not_ok overview "man/ebprof.1 does not name$missing"
	else
		ok overview
	fi
}

# Pages of commands that are gone.
check_strays() {
	local page name strays=
	for page in "$tree"/man/ebprof-*.1; do
		name=${page##*/ebprof-}
		commands | grep -qx "${name%.1}" || strays+=" ${page##*/}"
	done
	if [[ -n $strays ]]; then
		not_ok strays "no command of that name:$strays"
	else
		ok strays
	fi
}

# Words that have two spellings, and percents, are written one way: grey, colours, 5%.
check_spelling() {
	local other='[0-9] %([^0-9A-Za-z(]|$)|\<[Cc]olor(s|ed|ing)?\>|\<[Gg]ray\>' found name
	found=$(
		cd "$tree" && grep -nE "$other" README.md .github/*.md man/*
		grep -nE '(title|aria-label)="[^"]*\<[Cc]olors?\>|>[^<]*\<[Cc]olors?\>' report/write/export/html/page.html
		while read -r name; do
			"$EBPROF" "$name" --help | grep -nE "$other"
		done < <(commands)
	)
	if [[ -n $found ]]; then
		not_ok spelling "$found"
	else
		ok spelling
	fi
}

check_json_keys() {
	local page=$tree/man/ebprof-info.1 keys key missing=
	keys=$("$EBPROF" info --json "$work/ebprof.data" | grep -oE '"[a-z_.]+":' | tr -d '":' | sort -u)
	for key in $keys; do
		grep -qE "(^|[ ,])$(sed 's/\./\\./g' <<<"$key")( |$)" "$page" || missing+=" $key"
	done
	if [[ -z $keys || -n $missing ]]; then
		not_ok json_keys "keys that man/ebprof-info.1 does not explain:${missing:- no JSON}"
	else
		ok json_keys
	fi
}

# The section KEYS: .It Ic KEYS, the help below it.
check_keys() {
	local difference
	difference=$(diff <("$EBPROF" help --rows keys) <(awk '
		/^\.Sh / { on = /^\.Sh KEYS/ }
		on && /^\.It Ic / { keys = substr($0, 8); getline; print keys "\t" $0 }
	' "$tree/man/ebprof-report.1" | sed 's/\\&//g; s/\\e/\\/g'))
	if [[ -n $difference ]]; then
		not_ok keys "< only in the table, > only in the page: $(grep '^[<>]' <<<"$difference")"
	else
		ok keys
	fi
}

# The items of the section SIGNALS: the last one's are ignored, the recorder waits for all others.
check_signals() {
	local page=$tree/man/ebprof-record.1 pid status number bits difference
	if [[ -n $no_recording ]]; then
		skip signals "$no_recording"
		return
	fi
	(cd "$work" && exec "$EBPROF" record -p $$ -o signals.data 2>signals.err) &
	pid=$!
	for ((number = 0; number < 1200; number++)); do
		grep -qs 'Ctrl-C to stop' "$work/signals.err" && break || sleep 0.05
	done
	status=$(cat /proc/$pid/status)
	bits=$(cat /proc/$pid/fdinfo/* 2>/dev/null | sed -n 's/^sigmask:\t//p')
	kill $pid
	wait $pid
	difference=$(diff <({
		for ((number = 1; number < 32; number++)); do
			((0x${bits:-0} >> (number - 1) & 1)) && echo "taken SIG$(kill -l $number)"
		done
		bits=$(sed -n 's/^SigIgn:\t//p' <<<"$status")
		for number in $(kill -l PIPE) $(kill -l XFSZ); do
			((0x$bits >> (number - 1) & 1)) && echo "ignored SIG$(kill -l "$number")"
		done
	} | sort) <(awk '
		/^\.Sh / { on = /^\.Sh SIGNALS/ }
		on && /^\.It Dv / { items[++count] = substr($0, 8) }
		END { for (i = 1; i <= count; i++) print (i < count ? "taken , " : "ignored , ") items[i] }
	' "$page" | awk '{ for (i = 3; i <= NF; i += 2) print $1, $i }' | sort))
	if [[ -n $difference ]]; then
		not_ok signals "< only the recorder, > only the page: $(grep '^[<>]' <<<"$difference")"
	else
		ok signals
	fi
}

check_mandoc() {
	local said
	if ! command -v mandoc >/dev/null; then
		skip mandoc "not installed"
		return
	fi
	# That a page is not installed says nothing about ours.
	said=$(mandoc -T lint "$tree"/man/*.[1-9] 2>/dev/null | grep -v 'referenced manual not found')
	if [[ -n $said ]]; then not_ok mandoc "$said"; else ok mandoc; fi
}

# ---- examples ----

# "skip: WHY", "needs: PROGRAM", "server: PORT", "may fail" or nothing, a tab, the command.
examples_of() {
	awk '
		/^\.Sh / { in_examples = /^\.Sh EXAMPLES/ }
		/^\.Ed/ { in_block = 0 }
		in_block && /^\.\\" / { note = substr($0, 5); next }
		in_block { print note "\t" $0; note = "" }
		in_examples && /^\.Bd/ { in_block = 1 }
	' "$1" | sed 's/\\e/\\/g'
}

prepare() {
	mkdir "$work/bin"
	ln -s "$EBPROF" "$work/bin/ebprof"
	printf '#!/bin/sh\nexec "$@"\n' >"$work/bin/sudo"
	printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >"$work/bin/ssh"
	# Debian has it as a part of libdevel-nytprof-perl.
	local flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl
	[[ ! -e $flamegraph ]] || printf '#!/bin/sh\nexec perl %s "$@"\n' "$flamegraph" >"$work/bin/flamegraph.pl"
	cat >"$work/program" <<-'PROGRAM'
		#!/bin/bash
		for ((i = 0; i < 30000; i++)); do :; done
	PROGRAM
	# In a network that has nothing but a server at this port, which takes all that it gets; the command
	# must have sent something.
	cat >"$work/bin/with-server" <<-SERVER
		#!/bin/bash
		[[ \$# == 2 ]] && exec unshare -n "\$0" "\$1" "\$2" in-there
		rm -rf requests port state
		export XDG_STATE_HOME=\$PWD/state # what was pushed before is not pushed again
		"$tree/tests/e2e/push_server.py" requests --port "\$1" 200 >port 2>server.err &
		for ((i = 0; i < 1200; i++)); do [[ -s port ]] && break || sleep 0.05; done
		bash -o pipefail -c "\$2" && [[ -s requests/1.body ]]
		status=\$?
		kill \$!
		exit \$status
	SERVER
	chmod +x "$work/bin"/* "$work/program"
	printf 'all:\n\t./program\n' >"$work/Makefile"
	cp "$tree/tests/fuzz/corpus/recording/small" "$work/ebprof.data"
	# Another one, not a copy: merge refuses those.
	cp "$tree/tests/fuzz/corpus/recording/code" "$work/server.data"
}

why_no_recording() {
	if [[ $(id -u) != 0 ]]; then
		echo "recording needs root"
	elif ! "$EBPROF" check >"$work/check" 2>&1; then
		echo "cannot record here: $(grep MISSING "$work/check" | head -n 1)"
	fi
}

start_server() {
	cp "$(command -v bash)" "$work/server"
	# Ends by itself when the test is killed.
	"$work/server" -c 'while ((SECONDS < 300)); do :; done' &
	server=$!
}

why_no_server() {
	if ! command -v python3 >/dev/null; then
		echo "no python3 here, which serves"
	elif ! unshare -n true 2>/dev/null; then
		echo "no network namespaces here"
	fi
}

run_example() { # NAME NOTE COMMAND
	local name=$1 note=$2 command=$3 why
	case $note in
	skip:*)
		skip "$name" "${note#skip: }: $command"
		return
		;;
	needs:*)
		PATH=$work/bin:$PATH command -v "${note#needs: }" >/dev/null || {
			skip "$name" "no ${note#needs: } here: $command"
			return
		}
		;;
	server:*)
		why=$(why_no_server)
		if [[ -n $why ]]; then
			skip "$name" "$why: $command"
			return
		fi
		command="with-server ${note#server: } $(printf %q "$command")"
		;;
	esac
	if [[ $command == *"sudo ebprof"* && -n $no_recording ]]; then
		skip "$name" "$no_recording"
		return
	fi
	# Half a minute for each would be too long.
	local short
	short=$(sed -E 's/--duration [0-9]+[smh]?/--duration 1/; s/sleep [0-9]+/sleep 1/' <<<"$command")
	if succeeds "$short" || [[ $note == "may fail" ]]; then
		ok "$name"
	elif [[ ${AGAIN:-1} != 0 ]]; then
		failed+=("$name")
		failing+=("$short")
		reasons+=("$why")
		echo "once more at the end: $name: $why"
	else
		not_ok "$name" "$why"
	fi
}

succeeds() { # COMMAND: else says in $why what is wrong
	local status
	(cd "$work" && PATH=$work/bin:$PATH timeout -k 5 300 bash -o pipefail -c "$1") \
		>"$work/out" 2>"$work/err" </dev/null
	status=$?
	why="status $status of \"$1\": $(tail -n 3 "$work/err" | tr '\n' ' ')"
	# 128 + SIGPIPE: who reads, as head, has had enough.
	[[ $status == 0 || $status == 141 ]]
}

# As run_tests of the prelude does it.
failed=() failing=() reasons=()
run_failed_examples() {
	local i why
	for i in "${!failed[@]}"; do
		if succeeds "${failing[i]}"; then
			echo "again ${failed[i]}: passed in a second run; first: ${reasons[i]}"
		else
			not_ok "${failed[i]}" "$why"
		fi
	done
}

run_examples() {
	local page name number note command
	for page in "$tree"/man/*.1; do
		name=$(basename "$page" .1)
		number=0
		while IFS= read -r line; do
			note=${line%%$'\t'*} command=${line#*$'\t'}
			number=$((number + 1))
			run_example "example_${name}_$number" "$note" "$command"
		done < <(examples_of "$page")
		[[ $number -gt 0 ]] || not_ok "example_$name" "no examples in man/$name.1"
	done
}

prepare
while read -r name; do
	check_options "$name"
done < <(commands)
check_overview
check_strays
check_spelling
check_json_keys
check_keys
check_mandoc
no_recording=$(why_no_recording)
if [[ -z $no_recording ]] && ! command -v pgrep >/dev/null; then
	no_recording="no pgrep here"
fi
check_signals
[[ -n $no_recording ]] || start_server
run_examples
run_failed_examples
exit $bad
