#!/usr/bin/env python3
"""named_frames.py JSON FILES: of a recording's frames of generated code, weighted by samples: how many
there are, how many have a name, and how many of those in a file that matches FILES have a line.
Prints: frames named of_files with_lines"""
import json
import re
import sys

report = json.load(open(sys.argv[1]))
files = re.compile(sys.argv[2])
weights = {}
for sample in report["samples"]:
    for frame in report["stacks"][sample["stack"]]:
        weights[frame] = weights.get(frame, 0) + sample["samples"]
unnamed = of_files = with_lines = 0
for index, weight in weights.items():
    frame = report["frames"][index]
    function = report["functions"][frame["function"]]
    if re.match(r"\[JIT\]|\[unnamed", function.get("name") or "[unnamed"):
        unnamed += weight
    elif files.search(function.get("file") or ""):
        of_files += weight
        with_lines += weight * bool(frame.get("line"))
print(of_files + unnamed, of_files, of_files, with_lines)
