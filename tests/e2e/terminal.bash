# A terminal for tests, which tmux plays: for suites that source prelude.bash first.
# shellcheck shell=bash

in_tmux() { tmux -f /dev/null -S "$PWD/socket" "$@"; }

# A shell in a terminal of this kind and size.
begin() { # TERM WIDTH HEIGHT [VARIABLE=VALUE...]
	local term=$1 width=$2 height=$3
	shift 3
	command -v tmux >/dev/null || skip "no tmux here"
	infocmp "$term" >/dev/null 2>&1 || skip "terminfo has no $term here"
	trap 'in_tmux kill-server 2>/dev/null' EXIT
	# Where nothing can be remembered there is no line for who sees the interface for the first time.
	in_tmux new-session -d -x "$width" -y "$height" \
		env -u NO_COLOR -u TMUX PS1='$ ' LC_ALL=C.UTF-8 XDG_STATE_HOME=/dev/null "$@" TERM="$term" bash --norc --noprofile -i
	wait_for '^\$' "a shell"
}

keys() { in_tmux send-keys "$@"; }
type_line() { keys -l "$1" && keys Enter; }
raw() { # HEX...
	in_tmux send-keys -H "$@"
}
screen() { in_tmux capture-pane -p; }
selected() { screen | tail -n 2 | head -n 1 | awk '{ print $1 }'; }
flags() { in_tmux display-message -p "$1"; }

has() { screen | grep -qE -- "$1"; }  # PATTERN
lacks() { local now && now=$(screen) && ! grep -qE -- "$1" <<<"$now"; } # PATTERN

wait_for() { # PATTERN [WHAT]
	is_soon has "$1" || fail "no ${2:-$1}: $(screen | grep . | head -n 30)"
}

wait_gone() { # PATTERN
	is_soon lacks "$1" || fail "$1 is still there: $(screen | grep . | head -n 30)"
}

is_selected() { [[ $(selected) == "$1" ]]; } # NAME
has_left() { # NAME
	local now
	now=$(selected)
	[[ -n $now && $now != "$1" ]]
}
want_selected() { # NAME WHAT
	is_soon is_selected "$1" || fail "$2: selected is $(selected), not $1"
}
