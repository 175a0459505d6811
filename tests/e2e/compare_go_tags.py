#!/usr/bin/env python3
"""compare_go_tags.py OWN OURS: the label fn, by pprof -tags, of two profiles of one program.

Shares have to agree within four standard deviations of what was sampled, and the 8 % by which the
runtime's own profile is off: its timer beats with the 10 ms after which it switches goroutines.
"""
import math
import re
import sys

UNITS = {"ms": 1e-3, "s": 1, "mins": 60, "us": 1e-6}


def shares(path):
    """The share of each value, and the samples that there are about (100 a second)."""
    values, is_fn = {}, False
    with open(path) as file:
        for line in file:
            head = re.match(r"\s*(\S+): Total ", line)
            if head:
                is_fn = head[1] == "fn"
            value = re.match(r"\s*([\d.]+)(ms|s|mins|us) \(.*\): (\w+)$", line)
            if is_fn and value:
                values[value[3]] = float(value[1]) * UNITS[value[2]]
    total = sum(values.values())
    return {name: it / total for name, it in values.items()}, total * 100


def main(own_path, our_path):
    own, count = shares(own_path)
    ours, _ = shares(our_path)
    if count < 50 or set(own) != set(ours):
        sys.exit("%d samples of the runtime: %s; %s" % (count, own, ours))
    for name, share in own.items():
        deviation = math.sqrt(2 * max(share * (1 - share), 0.01) / count)
        print("%-10s %5.1f%% %5.1f%%" % (name, 100 * share, 100 * ours[name]))
        if abs(share - ours[name]) > 4 * deviation + 0.08:
            sys.exit("%s: %s; %s" % (name, own, ours))


if __name__ == "__main__":
    main(*sys.argv[1:])
