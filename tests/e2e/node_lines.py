"""node_lines.py JSON SCRIPT: how many samples have one() of the script below its module, and how many
of these not line 3 in one() and 406 in the module."""
import json
import sys

report = json.load(open(sys.argv[1]))
samples = wrong = 0
for sample in report["samples"]:
    lines = {}
    for frame in (report["frames"][i] for i in report["stacks"][sample["stack"]]):
        function = report["functions"][frame["function"]]
        if function.get("file") == sys.argv[2]:
            lines[function["name"]] = frame.get("line")
    if "one" in lines and "spin" in lines:
        samples += sample["samples"]
        if lines["one"] != 3 or lines.get("(anonymous:1)") != 406:
            wrong += sample["samples"]
print(samples, wrong)
