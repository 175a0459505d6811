#!/usr/bin/env python3
"""Judges the labels of a recording of go_shape: judge_go_labels.py JSON [CREATOR]

Each sample with a function main.spinNAME has to have the labels of that goroutine, and no other.
Prints "RIGHT right, WRONG wrong, MISSING missing, N without a goroutine" and what is wrong.
"""
import json
import sys
from collections import Counter

ZONE = "a zone whose name is longer than sixty-four bytes, as names of zones are"
OURS = {"comm", "thread", "pid", "tid", "container", "cgroup", "origin", "goroutine", "go-creator"}


def wanted(name, labels):
    """The labels that the program has set in this function; of Step, those that fit each other."""
    if name == "Plain":
        return {}
    want = {"fn": name}
    if name == "First":
        want["zone"] = ZONE
    if name == "Many":
        want.update({"key%d" % i: "value%d" % i for i in range(11)})
    if name == "Step":
        step = labels.get("step", "?")
        want.update(step=step, twice=step * 2)
    return want


def main(path, creator=None):
    with open(path) as file:
        profile = json.load(file)
    names = [function["name"] for function in profile["functions"]]
    frames = [names[frame["function"]] for frame in profile["frames"]]
    result, wrong, goroutines = Counter(), [], {}
    for sample in profile["samples"]:
        spins = {frames[frame].rsplit(".spin", 1)[1] for frame in profile["stacks"][sample["stack"]]
                 if frames[frame].startswith("main.spin")}
        all_labels = profile["labels"][sample["labels"]]
        labels = {key: value for key, value in all_labels.items() if key not in OURS}
        if len(spins) != 1:
            result["none"] += sample["samples"]
            continue
        name = spins.pop()
        goroutine = all_labels.get("goroutine")
        known = goroutines.setdefault(name, goroutine) if goroutine else None
        is_right = labels == wanted(name, labels) and goroutine == known
        if creator and all_labels.get("go-creator") != (
                "main.beginSteps" if name == "Step" else "main.begin"):
            is_right = False
        if "goroutine" not in all_labels and not labels:
            result["missing"] += sample["samples"]
        elif is_right:
            result["right"] += sample["samples"]
        else:
            result["wrong"] += sample["samples"]
            wrong.append((name, all_labels))
    print("%d right, %d wrong, %d missing, %d without a goroutine" % (
        result["right"], result["wrong"], result["missing"], result["none"]))
    if len(set(goroutines.values())) != len(goroutines):
        print("goroutines share a number:", goroutines)
    for it in wrong[:5]:
        print(*it)


if __name__ == "__main__":
    main(*sys.argv[1:])
