#!/bin/bash
# Does the check of circles bite? Lines as `nm -A` prints them.
set -u
check=$(cd "$(dirname "$0")" && pwd)/circles.awk
failed=0

try() { # NAME WANTED_STATUS WANTED_PATTERN; lines on standard input
	local said status
	said=$(awk -f "$check")
	status=$?
	if [[ $status == "$2" ]] && grep -qE "$3" <<<"$said"; then
		echo "ok circles: $1"
	else
		echo "not ok circles: $1: status $status, not $2, or not '$3': $said"
		failed=1
	fi
}

try "a chain is none" 0 '^$' <<E
a.o:0000000000000000 T a
a.o:                 U b
b.o:0000000000000000 T b
b.o:                 U c
c.o:0000000000000000 D c
c.o:                 U malloc
E
try "two files" 1 '^a\.o -> b\.o \(b\)$' <<E
a.o:0000000000000000 T a
a.o:                 U b
b.o:0000000000000000 T b
b.o:                 U a
E
try "by way of a table of a third" 1 '^rows\.o -> row\.o \(row\)$' <<E
rows.o:0000000000000000 R rows
rows.o:                 U row
row.o:0000000000000000 R row
row.o:                 U find
find.o:0000000000000000 T find
find.o:                 U rows
E
try "what leads to a circle is not shown" 1 '^a\.o -> b\.o' <<E
main.o:0000000000000000 T main
main.o:                 U a
a.o:0000000000000000 T a
a.o:                 U b
b.o:0000000000000000 T b
b.o:                 U a
b.o:                 U leaf
leaf.o:0000000000000000 T leaf
E
exit $failed
