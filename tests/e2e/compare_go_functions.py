#!/usr/bin/env python3
"""compare_go_functions.py OWN OURS: functions' shares, by pprof -top -cum, of two profiles of one run.

Each of the program's own functions, and of the runtime's those of 2 % and more, has to have the same
share within 2 points, and where there are less than 9,000 samples three standard deviations more. Shares
are those of main.main's time: ours begins before the runtime's, and has what the kernel does between. Prints
how many samples the runtime's profile has, how many functions were compared, and the points of the worst.
"""
import math
import re
import sys


def read(path):
    """Functions with their share of the time, with what they call; and the time, ms."""
    shares, total = {}, 0
    with open(path) as file:
        for line in file:
            head = re.search(r"Total samples = ([\d.]+)(ms|s|mins)", line)
            if head:
                total = float(head[1]) * {"ms": 1, "s": 1000, "mins": 60000}[head[2]]
            row = re.match(r"\s*\S+\s+[\d.]+%\s+[\d.]+%\s+\S+\s+([\d.]+)%\s+(\S.*?)(?: \((?:partial-)?inline\))?$", line)
            if row:
                shares[row[2]] = float(row[1])
    return shares, total


def main(own_path, our_path):
    own, total = read(own_path)
    ours, _ = read(our_path)
    count = total # the program asks for a sample a ms
    of_program = {name for name in set(own) | set(ours) if name.startswith("main.")}
    names = of_program | {name for name, share in own.items() if name.startswith("runtime.") and share >= 2}
    worst = 0
    for shares in own, ours:
        whole = shares.get("main.main", 100) / 100
        shares.update({name: share / whole for name, share in shares.items()})
    names.discard("runtime.main")  # it calls main.main
    if len(of_program) < 7 or count < 200:
        sys.exit("%d functions, %d samples: %s; %s" % (len(of_program), count, own, ours))
    for name in names:
        share, our_share = own.get(name, 0), ours.get(name, 0)
        deviation = math.sqrt(max(share * (100 - share), 100) / count)
        worst = max(worst, abs(share - our_share))
        print("%-40s %6.2f%% %6.2f%%" % (name, share, our_share), file=sys.stderr)
        if abs(share - our_share) > 2 + (3 * deviation if count < 9000 else 0):
            sys.exit("%s: %.2f %% by the runtime, %.2f %% by us; %d samples" % (name, share, our_share, count))
    print("%d samples, %d functions, %.2f points" % (count, len(names), worst))


if __name__ == "__main__":
    main(*sys.argv[1:])
