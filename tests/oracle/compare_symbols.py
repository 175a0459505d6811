#!/usr/bin/env python3
"""Compares chains of inlined functions: ours with those of other symbolizers, by vote.

    compare_symbols.py OURS REFERENCE...

Each file has for each address a line 0xADDRESS, then for each level a line with the function and
one with FILE:LINE. Ours must be what most references say that know anything; where all of them
disagree, what one of them says. What references are known to get wrong is written down below.
Prints a line for each address that is wrong, at most 10, and a sum; the exit status tells.
"""
import collections
import os
import re
import sys

UNKNOWN = ("??", "??", 0)


def plain(name):
    """Without what a symbol table adds to a name (.cold, .isra.0) and references append."""
    return re.sub(r"(?<=.)[. (].*", "", name)


def read(path):
    chains, chain, function = {}, None, None
    with open(path, errors="replace") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if re.fullmatch(r"0x[0-9a-f]+", line):
                chain, function = chains.setdefault(int(line, 16), []), None
            elif not line:
                continue
            elif function is None:
                function = line
            else:
                match = re.match(r"(.*?):(\d+|\?)(?::\d+)?(?: \(.*\))?$", line)
                file = match.group(1)
                number = int(match.group(2)) if match.group(2) != "?" else 0
                file = os.path.normpath(file) if file != "??" else file
                chain.append((plain(function), file, number))
                function = None
    return chains


def is_unknown(chain):
    """Also what llvm-symbolizer makes of the symbol table alone: a name without a line."""
    return not chain or (len(chain) == 1 and chain[0][2] == 0)


def agree(ours, theirs):
    """The outermost name is not compared when it is told otherwise by the symbol table, which
    llvm-symbolizer puts there; a file may be known to one of them only when the line is 0."""
    if is_unknown(theirs):
        return is_unknown(ours)
    if len(ours) != len(theirs):
        return False
    for level, (mine, other) in enumerate(zip(ours, theirs)):
        if mine[2] != other[2] or (mine[1] != other[1] and mine[2]):
            return False
        if mine[0] != other[0] and level + 1 < len(ours):
            return False
    return True


def main():
    ours = read(sys.argv[1])
    references = [read(path) for path in sys.argv[2:]]
    wrong = collections.Counter()
    for address, chain in sorted(ours.items()):
        told = [r.get(address, []) for r in references]
        known = [t for t in told if not is_unknown(t)]
        votes = sum(agree(chain, t) for t in told)
        against = collections.Counter(tuple(t) for t in known if not agree(chain, t))
        most = max(against.values(), default=0)
        # With one voice each way ours counts as right: one reference confirms it.
        if votes >= most and (votes or not known):
            continue
        wrong["wrong"] += 1
        if wrong["wrong"] <= 10:
            print(f"{address:#x}: {chain}; references: {told}")
    print(f"{len(ours) - wrong['wrong']} of {len(ours)} addresses agree")
    return wrong["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
