#!/bin/bash
# make_deb.sh OBJECTS VERSION FOLDER: a Debian package of what `make install O=OBJECTS` installs, for
# the system that it is built on, whose versions of libraries it depends on. Run it from the
# checkout's root. The same commit gives the same bytes.
set -euo pipefail
objects=$1 version=$2 folder=$(realpath -m "$3")
architecture=$(dpkg --print-architecture)
root=$folder/ebprof
docs=$root/usr/share/doc/ebprof
maintainer="${DEBFULLNAME:-the ebprof authors} <${DEBEMAIL:-ebprof@users.noreply.github.com}>"
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
export SOURCE_DATE_EPOCH

rm -rf "$folder"
mkdir -p "$folder/debian" "$root/DEBIAN" "$docs"
chmod 755 "$folder" "$root" "$root/DEBIAN"
make -s install O="$objects" -o "$objects/ebprof" DESTDIR="$root" PREFIX=/usr
strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root/usr/bin/ebprof"
find "$root/usr/share/man" -type f -exec gzip -9n {} +

cat >"$docs/copyright" <<TEXT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ebprof

Files: *
Copyright: $(sed -nE 's/^Copyright \(c\) (.*)/\1/p' LICENSE | head -n 1)
License: BSD-2-Clause
$(sed '1,/^Copyright/d; s/^$/./; s/^/ /' LICENSE | sed '1{/^ \.$/d}')
TEXT
gzip -9n >"$docs/changelog.gz" <<TEXT
ebprof ($version) unstable; urgency=medium

  * Built from the sources of this version.

 -- $maintainer  $(date -R -u -d "@$SOURCE_DATE_EPOCH")
TEXT

# dpkg-shlibdeps wants a source package around it.
printf 'Source: ebprof\n\nPackage: ebprof\nArchitecture: any\nDescription: x\n' >"$folder/debian/control"
depends=$(cd "$folder" && dpkg-shlibdeps -O "$root/usr/bin/ebprof" 2>/dev/null | sed 's/^shlibs:Depends=//')
cat >"$root/DEBIAN/control" <<TEXT
Package: ebprof
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -k -s --apparent-size --exclude=DEBIAN "$root" | cut -f 1)
Depends: $depends
Recommends: binutils, xz-utils
Suggests: debuginfod
Section: devel
Priority: optional
Description: sampling profiler by eBPF, for whole stacks of all languages
 ebprof records where programs spend their time, and what they wait for, of a
 command, of processes or of the whole system, into a small file. Stacks lead
 from Python, Java, Node.js, Ruby, PHP or C# through C++, Rust and Go down into
 the kernel, without frame pointers and without an agent.
 .
 Recordings are shown in the terminal, compared with statistics, and converted
 to pprof, flame graphs, OTLP and others, on any machine.
TEXT
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
dpkg-deb --root-owner-group -Zxz --build "$root" "$folder/ebprof_${version}_$architecture.deb" >/dev/null
rm -rf "$root" "$folder/debian"
echo "$folder/ebprof_${version}_$architecture.deb"
