#!/bin/bash
# Builds a real OpenTelemetry Collector from the packages of Debian unstable, for
# tests/e2e/otlp.sh and tests/e2e/push.sh: nothing is installed, all stays below FOLDER.
#   tests/oracle/otel_collector.sh PROGRAM FOLDER
# Downloads 0.35 GB, unpacks 2.6 GB, which go again, and compiles for some minutes.
# COLLECTOR_MIRROR=URL   http://deb.debian.org; below it /debian
set -euo pipefail
program=$(realpath -m "$1") folder=$(realpath -m "$2")
here=$(cd "$(dirname "$0")" && pwd)
release=1.26
mirror=${COLLECTOR_MIRROR:-http://deb.debian.org}

die() { echo "otel-collector: $*" >&2; exit 1; }

for tool in apt-get dpkg-deb; do
	command -v "$tool" >/dev/null || die "needs $tool"
done
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[[ -r $keyring ]] || die "needs debian-archive-keyring"

private_apt() { # COMMAND...
	local command=$1
	shift
	"$command" -qq -o Dir::State="$folder/apt/state" -o Dir::State::status="$folder/apt/status" \
		-o Dir::Cache="$folder/apt/cache" -o Dir::Etc::sourcelist="$folder/apt/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User= "$@"
}

rm -rf "$folder"
mkdir -p "$folder"/{apt/state/lists/partial,apt/cache/archives/partial,debs,root} "$(dirname "$program")"
: >"$folder/apt/status"
echo "deb [arch=$(dpkg --print-architecture) signed-by=$keyring] $mirror/debian unstable main" \
	>"$folder/apt/sources.list"
private_apt apt-get -o Acquire::Languages=none -o APT::Update::Error-Mode=any update

# The compiler needs nothing beside itself where there is no C.
mapfile -t packages < <(private_apt apt-cache depends --recurse --no-recommends --no-suggests \
	--no-conflicts --no-breaks --no-replaces --no-enhances golang-opentelemetry-collector-dev "golang-$release-go" |
	grep -E '^golang-' | grep -vE '^golang-(go|[0-9.]+-doc)(:|$)' | sort -u)
[[ ${#packages[@]} -gt 100 ]] || die "Debian unstable has no golang-opentelemetry-collector-dev any more"
(cd "$folder/debs" && private_apt apt-get download "${packages[@]}")
for deb in "$folder"/debs/*.deb; do
	dpkg-deb -x "$deb" "$folder/root"
	rm "$deb"
done

export GOROOT=$folder/root/usr/lib/go-$release GOPATH=$folder/root/usr/share/gocode GO111MODULE=off
export GOCACHE=$folder/cache CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=
mkdir -p "$GOPATH/src/ebprof.test"
cp -r "$here/otel_collector" "$GOPATH/src/ebprof.test/"
"$GOROOT/bin/go" build -p 2 -o "$program" ebprof.test/otel_collector
rm -rf "$folder"
echo "$program"
