#!/usr/bin/env python3
"""judge_call_sites.py JSON SOURCE [PREFIX [OUTERMOST]]: judges a recording of JavaSites or of node_sites.cjs.
Prints the samples of work(), those whose callers or their lines are not what the source says, and how many
came by the longer of two calls in inner(), and by the first in middle().
"""
import json
import sys

FUNCTIONS = ["turn", "outer", "middle", "inner", "work"]
CALLS = {
    "turn": ["// always"],
    "outer": ["// always"],
    "middle": ["// the first half", "// the second"],
    "inner": ["// three times", "// as here"],
}


def main(json_path, source_path, prefix="", *outermost):
    recording = json.load(open(json_path))
    source = list(enumerate(open(source_path), 1))
    lines = {word: [n for n, text in source if word in text] for words in CALLS.values() for word in words}
    want = [*outermost, *FUNCTIONS]
    samples = wrong = longer = first = 0
    for sample in recording["samples"]:
        frames = [recording["frames"][i] for i in recording["stacks"][sample["stack"]]]
        chain = [(recording["functions"][f["function"]]["name"], f.get("line")) for f in frames]
        chain = [(name[len(prefix) :], line) for name, line in chain if name.startswith(prefix)]
        chain = [(name, line) for name, line in chain if name in want]
        at = dict(chain)
        if "work" not in at:
            continue
        samples += sample["samples"]
        is_right = [name for name, _ in chain] == want and all(
            at[name] in sum((lines[word] for word in words), []) for name, words in CALLS.items()
        )
        if not is_right:
            print("wrong:", chain, file=sys.stderr)
            wrong += sample["samples"]
            continue
        longer += sample["samples"] * (at["inner"] in lines["// three times"])
        first += sample["samples"] * (at["middle"] in lines["// the first half"])
    print(samples, wrong, longer, first)


main(*sys.argv[1:])
