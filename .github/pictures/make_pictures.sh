#!/bin/bash
# Makes the pictures of the README from a real recording: `make pictures`, as root, with tmux, chromium,
# node and the interpreters of languages.sh.
#   make_pictures.sh EBPROF
set -euo pipefail
ebprof=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
socket=$work/tmux
trap 'tmux -S "$socket" kill-server 2>/dev/null || :; rm -rf "$work"' EXIT
cd "$work"
cp "$here/languages.sh" .

# A page as a picture, WIDTH x HEIGHT.
page() { # OUT WIDTH HEIGHT
	"$ebprof" convert --html --by process -o page.html languages.data </dev/null
	timeout -k 1 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/chromium" \
		--window-size="$2,$3" --virtual-time-budget=3000 --screenshot="$here/$1" "file://$work/page.html" </dev/null 2>/dev/null
}

# A terminal of 100 x 30, after these keys.
terminal() { # OUT KEY...
	local out=$1 key
	shift
	tmux -S "$socket" -f /dev/null new-session -d -x 100 -y 30 "TERM=tmux-256color LC_ALL=C.UTF-8 XDG_STATE_HOME=/dev/null $ebprof report languages.data"
	sleep 2
	for key; do
		tmux -S "$socket" send-keys "$key"
		sleep 0.5
	done
	tmux -S "$socket" capture-pane -e -N -p >screen
	tmux -S "$socket" kill-server
	node "$here/terminal_svg.js" <screen >"$here/$out"
}

timeout -k 1 120 "$ebprof" record -q -o languages.data -- bash languages.sh </dev/null >/dev/null
page page.png 1400 760
terminal top.svg
terminal flame.svg 4
terminal time.svg 5
ls -l "$here"/*.png "$here"/*.svg
