#!/bin/bash
# How many stacks are wrong whose code was read: a static program and its copy with all unwind rules
# zeroed run alike, so a caller and callee that the program never shows one above the other is an
# error of reading. What two recordings of the program itself differ by is printed beside it.
# Stacks below main() are left out: what calls main() never returns, so its code does not tell.
#
# usage: hidden_rules.sh EBPROF
set -eu
EBPROF=$(realpath "$1")
WORK=$(mktemp -d /tmp/ebprof-hidden.XXXXXX)
trap 'rm -rf "$WORK"' EXIT
cd "$WORK"
cat >a.cc <<'C'
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>
int main()
{
	for (int k = 0; k < 30; k++) {
		std::map<std::string, int> m;
		for (int i = 0; i < 100000; i++) {
			char b[50];
			snprintf(b, sizeof(b), "%d-%g", i * 7919 % 100003, i * 0.1);
			m[b]++;
		}
		std::vector<std::string> v;
		for (auto &p : m)
			v.push_back(p.first);
		std::sort(v.begin(), v.end(), [](const std::string &a, const std::string &b) {
			return strcmp(a.c_str() + 2, b.c_str() + 2) < 0;
		});
	}
}
C
g++ -O2 -static -fno-inline-functions a.cc -o judged
cp judged hidden
read -r offset size < <(readelf -SW judged |
	sed -nE 's/.* \.eh_frame +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) .*/0x\1 0x\2/p')
dd if=/dev/zero of=hidden bs=1 seek=$((offset)) count=$((size)) conv=notrunc 2>/dev/null

record() { # NAME PROGRAM
	"$EBPROF" record -q -F 1997 --unwind-cache "$WORK/cache" -o "$1.ebp" -- "$2"
	"$EBPROF" convert --folded "$1.ebp" -o "$1.folded" >/dev/null 2>&1
}
for i in 1 2 3 4; do record "judged$i" ./judged; done
record hidden ./hidden
python3 - <<'PY'
def stacks(name):
    for line in open(name + ".folded", errors="replace"):
        stack, count = line.rsplit(" ", 1)
        frames = [it for it in stack.split(";")[1:] if not it.endswith(("_[k]", "_[i]"))]
        yield frames, int(count)

def from_main(frames):
    return frames[frames.index("main"):] if "main" in frames else []

known = set()
for i in "123":
    for frames, _ in stacks("judged" + i):
        known.update(zip(frames, frames[1:]))
for name, what in ("judged4", "with its rules"), ("hidden", "without rules"):
    all_samples = strange = outside = 0
    for frames, count in stacks(name):
        all_samples += count
        outside += count * ("main" not in frames)
        frames = from_main(frames)
        strange += count * any(edge not in known for edge in zip(frames, frames[1:]))
    print("stacks %-15s %6d, %5.2f%% with a call that the program was not seen to make, "
          "%5.2f%% without main()" % (what, all_samples, 100 * strange / all_samples,
                                      100 * outside / all_samples))
PY
