#!/bin/bash
# What a newcomer sees: the last commit in minimal systems where nothing but make is installed.
#   tests/fresh/check_fresh.sh [SUITE...]      (bookworm trixie)
# FRESH_MIRROR=URL   instead of the Debian mirror of this system's apt
# FRESH_KEEP=1       leaves the folders for a look, below ${TMPDIR:-/var/tmp}
# Needs root and debootstrap. Everything is mounted in a mount namespace of its own, so nothing
# stays mounted however this ends.
set -euo pipefail

die() { echo "check-fresh: $*" >&2; exit 1; }

# ---- inside of the mount namespace: enter ROOT COMMAND ----

if [[ ${1-} == --enter ]]; then
	root=$2 command=$3
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs tmpfs "$root/dev/shm" 2>/dev/null || true
	carried=()
	for name in http_proxy https_proxy ftp_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
		[[ -n ${!name-} ]] && carried+=("$name=${!name}")
	done
	exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		LC_ALL=C.UTF-8 TERM=dumb "${carried[@]}" /bin/bash -c "$command"
fi

# ---- outside ----

[[ $(id -u) == 0 ]] || die "needs root: sudo make check-fresh"
command -v debootstrap >/dev/null || die "needs debootstrap: apt-get install debootstrap"
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
suites=("$@")
[[ ${#suites[@]} -gt 0 ]] || suites=(bookworm trixie)

# The first Debian archive that apt uses here, be it in the old format or the new.
host_mirror() {
	cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources \
		2>/dev/null | sed 's/#.*//' | grep -oE 'https?://[^ ]*/debian/?( |$)' | head -n 1
}
mirror=${FRESH_MIRROR:-$(host_mirror || true)}
mirror=${mirror:-http://deb.debian.org/debian}
mirror=${mirror% }

work=$(mktemp -d "${TMPDIR:-/var/tmp}/ebprof-fresh.XXXXXX")
running=
cleanup() {
	[[ -z $running ]] || kill -TERM -- "-$running" 2>/dev/null || true
	if [[ -n ${FRESH_KEEP-} ]]; then
		echo "check-fresh: left in $work"
	else
		rm -rf --one-file-system "$work"
	fi
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# What the new system needs in order to reach the network the way this one does.
carry_network() {
	local root=$1
	cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
	cp -L /etc/hosts "$root/etc/hosts" 2>/dev/null || true
	{ apt-config dump 2>/dev/null || true; } | grep -iE '^Acquire::(http|https|ftp)::(proxy|ca)' \
		>"$root/etc/apt/apt.conf.d/90host" || true
	if [[ -r /etc/ssl/certs/ca-certificates.crt ]]; then
		mkdir -p "$root/etc/ssl/certs"
		cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
	fi
}

inside() { # ROOT COMMAND
	unshare --mount --propagation private "$here/check_fresh.sh" --enter "$1" "$2"
}

check_suite() {
	local suite=$1 root=$work/$1
	echo "== $suite: debootstrap from $mirror"
	debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/$suite.log" 2>&1 ||
		{ tail -n 20 "$work/$suite.log"; return 1; }
	carry_network "$root"
	mkdir -p "$root/root/ebprof"
	(cd "$tree" && git archive HEAD) | tar -x -C "$root/root/ebprof"
	inside "$root" 'set -e; export DEBIAN_FRONTEND=noninteractive
		apt-get -qq update; apt-get -qq install -y --no-install-recommends make >/dev/null' \
		2>"$work/$suite.log" || { cat "$work/$suite.log"; return 1; }
	echo "== $suite: make without anything installed names make deps"
	local said
	said=$(inside "$root" 'cd /root/ebprof && make 2>&1' || true)
	grep -q 'run: make deps' <<<"$said" || { echo "$said"; return 1; }
	local target
	for target in "demo" "check WERROR=1" "lint" "-j2 STATIC=1" "install DESTDIR=/tmp/destination"; do
		echo "== $suite: make $target"
		inside "$root" "cd /root/ebprof && make $target" >"$work/$suite.log" 2>&1 ||
			{ tail -n 60 "$work/$suite.log"; return 1; }
		case $target in
		demo | check*) grep -vE "$noise" "$work/$suite.log" | tail -n 40 ;;
		lint) tail -n 20 "$work/$suite.log" ;;
		esac
	done
	echo "== $suite: what STATIC=1 and install made runs"
	inside "$root" 'cd /root/ebprof && build-static/ebprof --version &&
		! ldd build-static/ebprof >/dev/null 2>&1 &&
		strip -o /tmp/stripped build-static/ebprof && [ "$(wc -c </tmp/stripped)" -le $((5 << 20)) ] &&
		/tmp/destination/usr/local/bin/ebprof --version &&
		bash -n /tmp/destination/usr/local/share/bash-completion/completions/ebprof &&
		grep -q "^#compdef ebprof" /tmp/destination/usr/local/share/zsh/site-functions/_ebprof &&
		grep -q "^complete -c ebprof" \
			/tmp/destination/usr/local/share/fish/vendor_completions.d/ebprof.fish'
	echo "== $suite: make deps again has nothing to do"
	said=$(inside "$root" 'cd /root/ebprof && make deps 2>&1')
	[[ -z $said ]] || { echo "$said"; return 1; }
}

# Of compilers and of apt.
noise='^(cc|clang|llvm-strip|gzip|ar|rm|.*bpftool) |^	|^(Get|Selecting|Preparing|Unpacking|Setting|Processing)'

# Braces: bash reads all of it before it begins, so the script may change meanwhile.
{
	failed=()
	for suite in "${suites[@]}"; do
		# In the background, since a trap waits for what runs in the foreground; in a process
		# group of its own, so that the trap can end all of it.
		set -m +e
		(set -e; check_suite "$suite") &
		running=$!
		wait $running
		status=$?
		set +m -e
		running=
		[[ $status == 0 ]] || failed+=("$suite")
	done
	[[ ${#failed[@]} == 0 ]] || die "failed: ${failed[*]}"
	echo "check-fresh: ${suites[*]}: good"
	exit 0
}
