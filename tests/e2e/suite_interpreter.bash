# An interpreter of another suite of Debian, for tests of what this system's one cannot do. To be
# sourced behind prelude.bash.
#   LANGUAGE_CACHE    where the suites' folders are kept, those of make check-languages
. "$here/../debian_suite.bash"

# Sets $interpreter, a program that takes the interpreter's arguments and finds files by absolute
# paths only, and $SYMFS, below which its own files are. It is downloaded once, some 20 MB, and not
# installed. Where that cannot be, the test is skipped.
suite_interpreter() { # SUITE PATH PACKAGE...
	local name=${2##*/}-$1 cache=${LANGUAGE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ebprof/languages}
	[[ $(uname -m) == x86_64 ]] || skip "no ${2##*/} here, and other suites' interpreters are x86-64's"
	unshare -m true 2>/dev/null || skip "no ${2##*/} here, and no mount namespaces for Debian $1's"
	mkdir -p "$cache" || skip "no ${2##*/} here, and no room for Debian $1's"
	(
		flock 9
		timeout 300 bash -c '. "$0" && debian_root "$@"' "$here/../debian_suite.bash" "$cache/$name" "$1" "${@:3}"
	) 9>"$cache/$name.lock" >unpack.log 2>&1 ||
		skip "no ${2##*/} here, and Debian $1's cannot be unpacked: $(tail -n 1 unpack.log)"
	interpreter=$PWD/${2##*/} SYMFS=$cache/$name
	# Perf maps, and where folders were mounted.
	find "$SYMFS/tmp" -xdev -mindepth 1 -mmin +60 -delete 2>/dev/null
	debian_wrapper "$interpreter" "$SYMFS" "$2"
}

# A Python with perf's trampolines, and with interpreters within one: 3.12 and later.
suite_python() { suite_interpreter trixie /usr/bin/python3.13 python3.13-minimal libpython3.13-stdlib; }
