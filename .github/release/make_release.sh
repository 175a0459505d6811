#!/bin/bash
# make_release.sh VERSION FOLDER: what a release holds, from what `make release` has built: static
# programs of both machines, the Debian package, manual pages as HTML, and their checksums.
set -euo pipefail
version=$1 folder=$2

program() { # BUILT STRIP MACHINE
	"$2" -o "$folder/ebprof-$version-linux-$3" "$1"
	chmod 755 "$folder/ebprof-$version-linux-$3"
}

manual() {
	local page
	mkdir "$folder/man"
	for page in man/*.[157]; do
		mandoc -T html -O style=man.css,man=%N.%S.html "$page" >"$folder/man/$(basename "$page").html"
	done
	cat >"$folder/man/man.css" <<-CSS
		:root { color-scheme: light dark; }
		body { font: 16px/1.5 system-ui, sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em; }
		pre, code { font-family: ui-monospace, monospace; font-size: 0.9em; }
		pre { overflow-x: auto; }
		table.head, table.foot { width: 100%; }
		td.head-vol { text-align: center; }
		td.head-rtitle, td.foot-os { text-align: right; }
		.Bl-tag > dd { margin-left: 2.5em; }
	CSS
	tar -C "$folder" --sort=name --owner=0 --group=0 --numeric-owner \
		--mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" -czf "$folder/ebprof-$version-man-html.tar.gz" man
	rm -r "$folder/man"
}

mkdir -p "$folder"
rm -rf "${folder:?}"/*
program build-static/ebprof strip x86_64
program build-arm64-static/ebprof aarch64-linux-gnu-strip aarch64
.github/release/make_deb.sh build "$version" "$folder/deb" >/dev/null
mv "$folder"/deb/*.deb "$folder/"
rmdir "$folder/deb"
manual
(cd "$folder" && sha256sum -- * >SHA256SUMS)
ls -l "$folder"
