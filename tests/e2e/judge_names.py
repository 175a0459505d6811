#!/usr/bin/env python3
"""judge_names.py PERF_SCRIPT ADDRESSES SPENT MAP...: judges the names of a recording of JavaNames,
node_names.mjs, dotnet_names.cs or erlang_names.erl.

Each sample of the recording stands between two that the kernel took beside it (ip_sampler). Where
both of these, at most 0.4 ms apart, are in the same method by all of the virtual machine's own maps
(jcmd PID Compiler.perfmap; node --perf-basic-prof; DOTNET_PerfMapEnabled; erl +JPperf true), the sample
is in it, too; but where Erlang's scheduler runs, as it does between turns of one function: builds
whose symbols are stripped do not name it, but it is the one function that is called without any of
Erlang's beside it by the code that all modules share.
Prints judged samples, those with another method's name, those without one, those that cannot be
judged, and by how many points the methods' shares are off what the program clocked.
"""
import bisect
import collections
import re
import sys

NEAR_NS = 400000
METHOD = re.compile(
    r"(?:JavaNames\.|DotnetNames(?:\.|::)|erlang_names:)(m\d\d)\b"
    r"|^(?:(?:JS|LazyCompile|Function):o?\W+|\s+[0-9a-f]+ )(m\d\d)\b"
)


def method_in(text):
    found = METHOD.search(text)
    return (found.group(1) or found.group(2)) if found else None


def read_map(path):
    """Of code at the same addresses the later one is there."""
    starts, entries = [], []
    for line in open(path, errors="replace"):
        words = line.split(" ", 2)
        if len(words) < 3 or not line.endswith("\n"):
            continue  # it is being written
        start = int(words[0], 16)
        end = start + int(words[1], 16)
        first = bisect.bisect_left(starts, start)
        if first and entries[first - 1][1] > start:
            first -= 1
        last = bisect.bisect_left(starts, end)
        starts[first:last] = [start]
        entries[first:last] = [(start, end, method_in(words[2]))]
    return starts, entries


def look_up(map_, address):
    starts, entries = map_
    i = bisect.bisect_right(starts, address) - 1
    return entries[i][2] if i >= 0 and address < entries[i][1] else None


def read_samples(path):
    sample = None
    for line in open(path, errors="replace"):
        if line[0] not in "\t \n":
            words = line.split()
            tid = int(next(w for w in words if "/" in w).split("/")[1])
            time = next(w for w in words if re.fullmatch(r"\d+\.\d+:", w))
            seconds, micros = time[:-1].split(".")
            sample = (int(seconds) * 10**9 + int(micros) * 1000, tid, [])
        elif line.strip():
            sample[2].append(line)
        elif sample:
            yield sample
            sample = None


def called_by_shared_code(frames):
    """The function that Erlang's erts_beamasm has called; None: that is in no frame."""
    for inner, outer in zip(frames, frames[1:]):
        if " erts_beamasm+" in outer:
            return inner.split()[1].split("+")[0]
    return None


def main(script, addresses, spent_path, *map_paths):
    maps = [read_map(path) for path in map_paths]
    threads = {}
    for line in open(addresses):
        time, tid, address = line.split()
        threads.setdefault(int(tid), []).append((int(time), int(address, 16)))
    judged = wrong = unnamed = not_judged = named = 0
    shares = {}
    samples = list(read_samples(script))
    without = [frames for _, _, frames in samples if not any(map(method_in, frames))]
    called = collections.Counter(filter(None, map(called_by_shared_code, without)))
    scheduler = called.most_common(1)[0][0] if called else None
    for time, tid, frames in samples:
        found = next(filter(None, map(method_in, frames)), None)
        if found:
            shares[found] = shares.get(found, 0) + 1
            named += 1
        around = threads.get(tid, [])
        i = bisect.bisect_right(around, (time, 0))
        # A sample's time is known to a microsecond.
        is_between = 0 < i < len(around) and around[i][0] >= time + 1000
        if not is_between or around[i][0] - around[i - 1][0] > NEAR_NS:
            not_judged += 1
            continue
        # What an earlier map does not have yet was compiled behind it.
        at = [{look_up(m, around[k][1]) for m in maps} - {None} for k in (i - 1, i)]
        names = at[0] | at[1]
        is_scheduler = not found and scheduler and called_by_shared_code(frames) == scheduler
        if len(names) != 1 or not all(at) or is_scheduler:
            not_judged += 1
            continue
        judged += 1
        unnamed += not found
        wrong += bool(found) and {found} != names
        if {found} != names and wrong + unnamed < 4:
            print("wrong:", time, names, "".join(frames[:6]), file=sys.stderr)
    spent = dict(line.split() for line in open(spent_path) if re.match(r"m\d\d ", line))
    points = max(abs(100 * shares.get(m, 0) / max(named, 1) - float(s)) for m, s in spent.items())
    print(judged, wrong, unnamed, not_judged, "%.2f" % points)


main(*sys.argv[1:])
