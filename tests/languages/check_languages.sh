#!/bin/bash
# The end-to-end tests of script frames, with each interpreter that Debian's suites have. Those of
# other suites run in a folder of their own by chroot; nothing is installed.
#   tests/languages/check_languages.sh [PATTERN...]    rows whose name matches: 'python*', '*-trixie'
# LANGUAGE_CACHE=DIR    where the suites' folders are kept, ${XDG_CACHE_HOME:-~/.cache}/ebprof/languages
# Needs root. The last line is "N passed, M failed, K skipped".
set -uo pipefail

die() { echo "check-languages: $*" >&2; exit 1; }

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../debian_suite.bash"
. "$here/../dotnet_program.bash"
cache=${LANGUAGE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ebprof/languages}
patterns=("$@")
[[ ${#patterns[@]} -gt 0 ]] || patterns=('*')
[[ $(id -u) == 0 ]] || die "needs root, for chroot and to record"
[[ $(uname -m) == x86_64 ]] || die "knows x86-64 only, this is $(uname -m)"
mkdir -p "$cache"
passed=0 failed=0 skipped=0

is_wanted() { # NAME
	local pattern
	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2053
		[[ $1 == $pattern ]] && return
	done
	return 1
}

# Runs tests/e2e/LANGUAGE.sh, whose variable INTERPRETERS names what it tries. Versions that are in one
# suite share its folder, and are rows of their own: java-21-trixie.
row() { # LANGUAGE SUITE INTERPRETER PACKAGE...
	local language=$1 suite=$2 interpreter=$3 name=$3-$2 row root
	name=${name##*/} row=$name
	[[ ! $interpreter =~ /([a-z]+-[0-9.]+)[^/]*/bin/ ]] || row=${BASH_REMATCH[1]}-$suite
	is_wanted "$name" || is_wanted "$row" || return 0
	shift 3
	root=$cache/$name
	if ! debian_root "$root" "$suite" "$@" 2>"$cache/$row.log"; then
		echo "skip $row: $(tail -n 2 "$cache/$row.log" | tr '\n' ' ')"
		skipped=$((skipped + 1))
		return
	fi
	debian_wrapper "$cache/$row.run" "$root" "$interpreter"
	SYMFS=$root INTERPRETERS=$cache/$row.run "$here/../e2e/$language.sh" >"$cache/$row.log" 2>&1
	count_row "$row"
}

# Adds up what the tests of a row printed. What passed in a second run is named.
count_row() { # NAME
	local name=$1 good bad without
	good=$(grep -cE '^(ok|again) ' "$cache/$name.log")
	bad=$(grep -c '^not ok ' "$cache/$name.log")
	without=$(grep -c '^skip ' "$cache/$name.log")
	grep -E '^(not ok|skip|again) ' "$cache/$name.log" | sed "s|^|$name: |"
	printf '%-28s %3d passed, %d failed, %d skipped\n' "$name:" "$good" "$bad" "$without"
	[[ $((good + bad + without)) != 0 ]] || bad=1
	passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + without))
}

# The same of a Node.js that npm installs: MAJOR, which is one of those that are built by the project.
node_of_npm() {
	local major=$1 name=node$1-npm folder node
	folder=$cache/$name node=$folder/node_modules/node/bin/node
	is_wanted "$name" || return 0
	[[ -x $node ]] || { mkdir -p "$folder" && npm install --silent --prefix "$folder" "node@$major" >"$cache/$name.log" 2>&1; }
	if ! [[ -x $node ]]; then
		echo "skip $name: $(command -v npm >/dev/null && tail -n 1 "$cache/$name.log" || echo "no npm here")"
		skipped=$((skipped + 1))
		return
	fi
	SYMFS='' INTERPRETERS=$node "$here/../e2e/node.sh" >"$cache/$name.log" 2>&1
	count_row "$name"
}

# The program of e2e/dotnet with a .NET of NuGet's in it: dotnet-VERSION-KIND.
dotnet_of_nuget() { # VERSION KIND PROPERTY...
	local version=$1 name=dotnet-$1-$2 why
	shift 2
	is_wanted "$name" || return 0
	if ! why=$(dotnet_program "$cache/$name" "net${version%.*}" "$version" "$@"); then
		echo "skip $name: $why"
		skipped=$((skipped + 1))
		return
	fi
	# Of NativeAOT nothing is compiled at run time: there is one way to run it.
	ONLY_TEST=$([[ $name != *-native ]] || echo tiers) INTERPRETERS=$cache/$name/out/shape \
		"$here/../e2e/dotnet.sh" >"$cache/$name.log" 2>&1
	count_row "$name"
}

row python bullseye /usr/bin/python3.9 python3.9-minimal libpython3.9-stdlib
row python bookworm /usr/bin/python3.11 python3.11-minimal libpython3.11-stdlib
row python trixie /usr/bin/python3.13 python3.13-minimal libpython3.13-stdlib
row python sid /usr/bin/python3.14 python3.14-minimal libpython3.14-stdlib
row python sid /usr/bin/python3.15 python3.15-minimal libpython3.15-stdlib
row php bullseye /usr/bin/php7.4 php7.4-cli php7.4-opcache
row php bookworm /usr/bin/php8.2 php8.2-cli php8.2-opcache
row php trixie /usr/bin/php8.4 php8.4-cli php8.4-opcache
row php sid /usr/bin/php8.4 php8.4-cli php8.4-opcache
row ruby bullseye /usr/bin/ruby2.7 ruby2.7
row ruby bookworm /usr/bin/ruby3.1 ruby3.1
row ruby trixie /usr/bin/ruby3.3 ruby3.3
row ruby sid /usr/bin/ruby3.3 ruby3.3
row perl bullseye /usr/bin/perl perl
row perl bookworm /usr/bin/perl perl
row perl trixie /usr/bin/perl perl
row perl sid /usr/bin/perl perl
row lua bullseye /usr/bin/lua5.1 lua5.1
row lua bullseye /usr/bin/lua5.2 lua5.2
row lua bullseye /usr/bin/lua5.3 lua5.3
row lua bullseye /usr/bin/lua5.4 lua5.4
row lua bookworm /usr/bin/lua5.1 lua5.1
row lua bookworm /usr/bin/lua5.2 lua5.2
row lua bookworm /usr/bin/lua5.3 lua5.3
row lua bookworm /usr/bin/lua5.4 lua5.4
row lua trixie /usr/bin/lua5.1 lua5.1
row lua trixie /usr/bin/lua5.2 lua5.2
row lua trixie /usr/bin/lua5.3 lua5.3
row lua trixie /usr/bin/lua5.4 lua5.4
row lua sid /usr/bin/lua5.1 lua5.1
row lua sid /usr/bin/lua5.2 lua5.2
row lua sid /usr/bin/lua5.3 lua5.3
row lua sid /usr/bin/lua5.4 lua5.4
row lua sid /usr/bin/lua5.5 lua5.5
row lua bookworm /usr/bin/luajit luajit
row lua trixie /usr/bin/luajit luajit
row lua sid /usr/bin/luajit luajit
row java bullseye /usr/lib/jvm/java-11-openjdk-amd64/bin/java openjdk-11-jre-headless
row java bookworm /usr/lib/jvm/java-17-openjdk-amd64/bin/java openjdk-17-jre-headless
row java trixie /usr/lib/jvm/java-21-openjdk-amd64/bin/java openjdk-21-jre-headless openjdk-25-jre-headless
row java trixie /usr/lib/jvm/java-25-openjdk-amd64/bin/java openjdk-21-jre-headless openjdk-25-jre-headless
row java sid /usr/lib/jvm/java-26-openjdk-amd64/bin/java openjdk-26-jre-headless
row node bookworm /usr/bin/node nodejs
row node trixie /usr/bin/node nodejs
row node sid /usr/bin/node nodejs
for major in 18 20 22 24 26; do
	node_of_npm $major
done
row erlang bookworm /usr/bin/erl erlang-base dash
row erlang trixie /usr/bin/erl erlang-base dash
row erlang sid /usr/bin/erl erlang-base dash
row mono bookworm /usr/bin/mono mono-runtime mono-mcs dash
row mono trixie /usr/bin/mono mono-runtime mono-mcs dash
row go_labels bullseye /usr/lib/go-1.15/bin/go golang-1.15-go gcc libc6-dev
row go_labels bookworm /usr/lib/go-1.19/bin/go golang-1.19-go gcc libc6-dev
row go_labels trixie /usr/lib/go-1.24/bin/go golang-1.24-go gcc libc6-dev
row go_labels sid /usr/lib/go-1.26/bin/go golang-1.26-go golang-1.27-go gcc libc6-dev
row go_labels sid /usr/lib/go-1.27/bin/go golang-1.26-go golang-1.27-go gcc libc6-dev
for version in 8.0.29 8.0.34 9.0.18 9.0.23 10.0.11 10.0.15; do
	dotnet_of_nuget $version contained
done
for version in 8.0.34 9.0.23 10.0.15; do
	dotnet_of_nuget $version single -p:PublishSingleFile=true
done
for version in 8.0.34 9.0.23; do # of 10 NuGet has no NativeAOT runtime
	dotnet_of_nuget $version native -p:PublishAot=true
done

echo "$passed passed, $failed failed, $skipped skipped"
[[ $failed == 0 ]]
