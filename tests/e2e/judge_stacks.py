#!/usr/bin/env python3
"""Compares the stacks of a recording with those that are known of the same instants.

judge_stacks.py [--show N] [--json] [--chain REGEX] KNOWN RECORDING

KNOWN has a line an instant: the first and the last ns (CLOCK_MONOTONIC) in which a thread had this
stack, its tid, and the addresses, leaf first; '!' marks those that are no return addresses, '~'
those that should be but stand behind no call (the list is good up to there), '?' as the last word
says that the root was not reached, so that other addresses may be right, too; '...' that there are
more, which are not judged. All samples of the thread within these times are judged.

Where that does not come to a root, or is another list, REGEX tells: names of functions with their
files, outermost first, as "main@a;fib@a".
"""
import bisect
import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import read_recording  # noqa: E402

VERDICTS = (
    "exact",          # the same callers up to the root, none of them guessed
    "exact_guessed",  # the same, some of them flagged as guessed
    "guessed",        # others, but only from one that is flagged on
    "cut",            # those that are there are right, and the cause of the cut is said
    "wrong",          # others, and nothing says so
    "unknown",        # others, but what is known does not come to a root
)


class Mappings:
    """Where the addresses of a process are in files."""

    def __init__(self, rec):
        self.rec, self.of = rec, collections.defaultdict(list)
        for it in rec.mappings:
            pid = rec.processes.get(it["process"], {}).get("pid")
            self.of[pid].append(it)

    def place(self, pid, address, time):
        best = None
        for it in self.of[pid]:
            if it["start"] <= address < it["start"] + it["length"] and (
                    best is None or best["time"] <= it["time"] <= time):
                best = it
        if not best:
            return 0, address
        return best["object"], best["offset"] + address - best["start"]


class Names:
    """Functions of files, as nm has them, to show what was wrong."""

    def __init__(self, rec):
        self.rec, self.of = rec, {}

    def symbols(self, number):
        if number in self.of:
            return self.of[number]
        thing, out = self.rec.objects.get(number), []
        path = self.rec.strings.get(thing["path"], b"").decode() if thing else ""
        if thing and os.path.exists(path):
            for option in [], ["-D"]:
                text = subprocess.run(["nm", "-n", "--defined-only", *option, path],
                                      capture_output=True, text=True, check=False).stdout
                for line in text.splitlines():
                    words = line.split()
                    if len(words) == 3 and words[1] in "tTwWiuVv":
                        out.append((int(words[0], 16), words[2]))
            out.sort()
        self.of[number] = out
        return out

    def chain(self, frames):
        """Outermost first, as --chain has it."""
        out = []
        for number, offset, _ in reversed(frames):
            words = self.name(number, offset).split()
            out.append("%s@%s" % (words[0].rsplit("+", 1)[0],
                                  words[1].lstrip("[") if len(words) > 1 else ""))
        return ";".join(out)

    def name(self, number, offset):
        thing = self.rec.objects.get(number)
        if not thing:
            return "%x" % offset
        virtual = offset
        for start, at, size, _, flags in thing["segments"]:
            if at <= offset < at + size and flags & 1:
                virtual = offset - at + start
        symbols = self.symbols(number)
        i = bisect.bisect(symbols, (virtual, "\x7f")) - 1
        path = self.rec.strings.get(thing["path"], b"").decode()
        base = os.path.basename(path)
        if i < 0:
            return "%s+%x" % (base, virtual)
        return "%s+%x [%s %x]" % (symbols[i][1], virtual - symbols[i][0], base, virtual)


def read_known(path):
    of_thread = collections.defaultdict(list)
    with open(path, encoding="ascii") as file:
        for line in file:
            words = line.split()
            if len(words) < 4 or not line.endswith("\n"):
                continue  # what wrote it was killed
            last = words[-1]
            unsure = last == "?"
            if last in ("?", "..."):
                words.pop()
            chain = [(int(it.rstrip("!~"), 16), it[-1] if it[-1] in "!~" else "")
                     for it in words[3:]]
            lost = next((i for i, it in enumerate(chain) if it[1] == "~"), len(chain))
            unsure |= lost < len(chain)
            del chain[lost:]
            of_thread[int(words[2])].append(
                (int(words[0]), int(words[1]), chain, unsure, last == "..."))
    for instants in of_thread.values():
        instants.sort(key=lambda it: it[0])
    return of_thread


def frames_of(rec, sample):
    """User frames, leaf first, as (object, offset, flags), and the cause of a cut or 0."""
    frames, node = [], sample["user"]
    while node in rec.nodes:
        node, frame = rec.nodes[node]
        number, offset = rec.frames.get(frame, (0, 1))
        if not number:
            return frames, offset
        frames.append((number, offset, rec.found.get(frame, 0)))
    return frames, 0


def judge(frames, cause, chain, unsure):
    """(verdict, the first frame that differs)"""
    guessed_from = next((i for i, it in enumerate(frames) if it[2] & 1), len(frames))
    is_guessed = guessed_from < len(frames)
    for i, (frame, known) in enumerate(zip(frames, chain)):
        number, offset, mark = known
        same = frame[0] == number and (
            frame[1] == offset or (not (mark == "!" and i == 0) and frame[1] == offset - 1))
        if not same and i >= guessed_from:
            return "guessed", i
        if not same:
            return ("unknown" if unsure else "wrong"), i
    if len(frames) == len(chain) and not cause:
        return ("exact_guessed" if is_guessed else "exact"), len(frames)
    if len(frames) > len(chain):
        if unsure:
            return "unknown", len(chain)
        return ("guessed" if guessed_from <= len(chain) else "wrong"), len(chain)
    if cause:
        return "cut", len(frames)
    return ("guessed" if is_guessed else "wrong"), len(frames)


def judge_all(rec, known, show=0, chain_regex=""):
    mappings, names = Mappings(rec), Names(rec)
    counts, shown = collections.Counter(dict.fromkeys(VERDICTS, 0)), collections.Counter()
    judged_instants = set()
    begins = {tid: [it[0] for it in instants] for tid, instants in known.items()}
    for sample in rec.samples:
        thread = rec.threads.get(sample["thread"], {})
        instants = known.get(thread.get("tid"), [])
        i = bisect.bisect(begins.get(thread.get("tid"), []), sample["time"]) - 1
        if i < 0 or sample["time"] > instants[i][1] or not sample["user"]:
            continue
        begin, _, chain, unsure, goes_on = instants[i]
        pid = rec.processes[thread["process"]]["pid"]
        places = [mappings.place(pid, address, sample["time"]) + (mark,)
                  for address, mark in chain]
        frames, cause = frames_of(rec, sample)
        if goes_on and len(frames) >= len(chain):
            frames, cause = frames[:len(chain)], 0
        verdict, at = judge(frames, cause, places, unsure)
        if verdict in ("unknown", "wrong") and chain_regex:
            is_right = not cause and re.fullmatch(chain_regex, names.chain(frames))
            verdict = "exact" if is_right else "wrong"
            counts["by_chain"] += 1
        counts[verdict] += 1
        judged_instants.add((thread["tid"], begin))
        if verdict == "wrong":
            text = describe(names, frames, cause, places, at)
            shown[text] += 1
    for text, count in shown.most_common(show):
        print("---- %d times wrong:\n%s" % (count, text), file=sys.stderr)
    counts["samples"] = sum(counts[it] for it in VERDICTS)
    counts["instants"] = len(judged_instants)
    return counts


def describe(names, frames, cause, places, at):
    lines, first = [], max(0, at - 2)
    for i in range(first, min(at + 3, max(len(frames), len(places)))):
        has = names.name(*frames[i][:2]) + " <%d>" % frames[i][2] if i < len(frames) else (
            "cut: %s" % read_recording.CAUSES.get(cause) if cause else "(whole)")
        should = names.name(*places[i][:2]) if i < len(places) else "(the root was before)"
        lines.append("  %s%3d %-60s should be %s" % ("*" if i == at else " ", i, has, should))
    return "\n".join(lines)


def main(args):
    show = 0
    if "--show" in args:
        at = args.index("--show")
        show = int(args[at + 1])
        del args[at:at + 2]
    chain = ""
    if "--chain" in args:
        at = args.index("--chain")
        chain = args[at + 1]
        del args[at:at + 2]
    as_json = "--json" in args
    known, recording = [it for it in args if it != "--json"]
    with open(recording, "rb") as file:
        rec = read_recording.read(file.read())
    counts = judge_all(rec, read_known(known), show, chain)
    if as_json:
        print(json.dumps(counts))
    else:
        print("  ".join("%s %d" % (key, counts[key])
                        for key in ("instants", "samples") + VERDICTS))


if __name__ == "__main__":
    main(sys.argv[1:])
