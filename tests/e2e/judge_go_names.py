#!/usr/bin/env python3
"""judge_go_names.py JSON PROGRAM GO: the names of a recording against the runtime's own table.

Asks `GO tool addr2line`, which reads that table, for each address of the program that was sampled. It
has the functions as they were compiled: of frames that are inlined in each other the outermost is judged.
Prints "RIGHT right, WRONG wrong" and what is wrong. The program is linked to 0x400000.
"""
import json
import os
import subprocess
import sys
from collections import Counter

BASE = 0x400000


def main(path, program, go):
    with open(path) as file:
        profile = json.load(file)
    objects = [item["path"] for item in profile["objects"]]
    names, counts = [item["name"] for item in profile["functions"]], Counter()
    own = [objects[profile["functions"][frame["function"]]["object"]].endswith("/program")
           for frame in profile["frames"]]
    for sample in profile["samples"]:
        stack = profile["stacks"][sample["stack"]]
        for at, frame in enumerate(stack):  # the root is first
            offset = profile["frames"][frame]["offset"]
            is_inlined = at and profile["frames"][stack[at - 1]]["offset"] == offset
            if own[frame] and not is_inlined:
                counts[(offset, names[profile["frames"][frame]["function"]])] += 1
    offsets = sorted({offset for offset, _ in counts})
    # A call's return address may be the next function's first: the byte before it is of the call.
    asked = [BASE + offset - back for offset in offsets for back in (0, 1)]
    answer = subprocess.run([go, "tool", "addr2line", os.path.abspath(program)], check=True, text=True, capture_output=True,
                            input="".join("0x%x\n" % address for address in asked)).stdout.splitlines()[::2]
    known = {offset: set(answer[2 * i:2 * i + 2]) for i, offset in enumerate(offsets)}
    result, wrong = Counter(), []
    for (offset, name), count in counts.items():
        is_right = name in known[offset]
        result[is_right] += count
        if not is_right:
            wrong.append("0x%x: %s, not %s" % (BASE + offset, name, known[offset]))
    print("%d right, %d wrong" % (result[True], result[False]), *wrong[:5], sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
