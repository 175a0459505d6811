#!/usr/bin/env python3
"""Judges the labels of a recording of erlang_shape: judge_erlang_labels.py JSON PROCESSES

A line of PROCESSES is "process NAME PID", as the program itself has them. Each sample with one of their
functions has to have the labels of that process. Prints "N right, N wrong, N missing, N processes, N idle"
and what is wrong; idle are samples of schedulers without a process, none of which may have functions."""
import json
import sys
from collections import Counter

M = "erlang_shape:"
AGAIN = {"tables_loop/1": "tables/0", "run/1": None, "run/2": None, "ring/1": None}


def main(path, processes):
    with open(path) as file:
        profile = json.load(file)
    pids = {}
    with open(processes) as file:
        for line in file:
            if line.startswith("process "):
                _, name, pid = line.split()
                pids.setdefault(name, set()).add(pid)
    names = [function["name"] for function in profile["functions"]]
    frames = [names[frame["function"]] for frame in profile["frames"]]
    result, wrong, seen = Counter(), [], set()
    for sample in profile["samples"]:
        labels = profile["labels"][sample["labels"]]
        stack = [frames[frame] for frame in profile["stacks"][sample["stack"]]]
        ours = [name[len(M):] for name in stack if name.startswith(M)]
        pid, process = labels.get("erlang-pid"), labels.get("erlang-process")
        if process and process.startswith("("):
            result["idle"] += sample["samples"]
            if ours:
                wrong.append((labels, stack))
            continue
        if not ours or AGAIN.get(ours[0], "") is None:
            continue
        name = AGAIN.get(ours[0], ours[0])
        if name.split("/")[0] not in pids:
            continue
        wanted = {M + name} | ({"shape_of_library"} if name == "calling/0" else set())
        if not pid or not process:
            result["missing"] += sample["samples"]
        elif process in wanted and pid in pids["shape_of_library" if process == "shape_of_library"
                                              else name.split("/")[0]]:
            result["right"] += sample["samples"]
            seen.add(pid)
        else:
            wrong.append((labels, stack[-8:]))
    print("%d right, %d wrong, %d missing, %d processes, %d idle" % (
        result["right"], len(wrong), result["missing"], len(seen), result["idle"]))
    for it in wrong[:5]:
        print(*it)


if __name__ == "__main__":
    main(*sys.argv[1:])
