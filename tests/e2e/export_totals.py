#!/usr/bin/env python3
"""Adds up what `ebprof convert` wrote and compares it, function by function, with a report.

usage: export_totals.py PREFIX

PREFIX.report is what `report --stdio --percent-limit 0 -s sym` printed, and PREFIX.csv,
PREFIX.json, PREFIX.speedscope.json, PREFIX.firefox.json, PREFIX.trace.json are the exports.
Prints nothing when all agree.
"""
import collections
import csv
import json
import re
import sys

prefix = sys.argv[1]


def load(suffix):
    with open(prefix + suffix, encoding="utf-8") as file:
        return json.load(file)


class Sums:
    """Self and total of each function in ns; a recursive one counts once a sample."""

    def __init__(self):
        self.self_ns = collections.Counter()
        self.total_ns = collections.Counter()

    def add(self, stack, value):
        names = [re.sub(r"_\[k\]$", "", name) for name in stack]
        self.self_ns[names[-1]] += value
        for name in set(names):
            self.total_ns[name] += value

    def rounded(self):
        return {
            name: (round(self.self_ns[name]), round(self.total_ns[name]))
            for name in self.total_ns
        }


def from_json():
    doc, sums = load(".json"), Sums()
    names = [function["name"] for function in doc["functions"]]
    for sample in doc["samples"]:
        frames = [doc["frames"][i] for i in doc["stacks"][sample["stack"]]]
        sums.add([names[frame["function"]] for frame in frames], int(sample["value"]))
    return sums


def from_speedscope():
    doc, sums = load(".speedscope.json"), Sums()
    names = [frame["name"] for frame in doc["shared"]["frames"]]
    for profile in doc["profiles"]:
        assert profile["endValue"] == sum(profile["weights"]), profile["name"]
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            sums.add([names[i] for i in stack], weight)
    return sums


def from_firefox():
    doc, sums = load(".firefox.json"), Sums()
    shared = doc["shared"]
    for table in shared.values():
        if isinstance(table, dict):
            for column in table.values():
                assert not isinstance(column, list) or len(column) == table["length"]
    stacks, frames, functions = shared["stackTable"], shared["frameTable"], shared["funcTable"]
    for thread in doc["threads"]:
        samples = thread["samples"]
        assert samples["time"] == sorted(samples["time"])
        for at, weight in zip(samples["stack"], samples["weight"], strict=True):
            names = []
            while True:
                function = functions["name"][frames["func"][stacks["frame"][at]]]
                names.append(shared["stringArray"][function])
                if not stacks["prefixOffset"][at]:
                    break
                at -= stacks["prefixOffset"][at]
            sums.add(names[::-1], weight * 1e6)
    return sums


def from_chrome():
    profiles, sums = collections.defaultdict(lambda: ({}, [], [])), Sums()
    for event in load(".trace.json"):
        if event["name"] == "ProfileChunk":
            nodes, samples, deltas = profiles[event["id"]]
            data = event["args"]["data"]
            nodes.update((node["id"], node) for node in data["cpuProfile"]["nodes"])
            samples += data["cpuProfile"]["samples"]
            deltas += data["timeDeltas"]
    for nodes, samples, deltas in profiles.values():
        assert len(samples) == len(deltas)
        for sample, delta in zip(samples, deltas[1:]):
            names, node = [], nodes[sample]
            while "parent" in node:
                names.append(node["callFrame"]["functionName"])
                node = nodes[node["parent"]]
            if names != ["(idle)"]:
                sums.add(names[::-1], delta * 1e3)
    return sums


def from_csv():
    with open(prefix + ".csv", newline="", encoding="utf-8") as file:
        assert file.readline() == "self,total,samples,dso,symbol,file,line,unit\r\n"
        file.seek(0)
        rows = list(csv.DictReader(file, strict=True))
    sums = {}  # of the files: no stack has one name of two
    assert all(row["unit"] == "ns" for row in rows)
    for row in rows:
        self_ns, total_ns = sums.get(row["symbol"], (0, 0))
        sums[row["symbol"]] = (self_ns + int(row["self"]), total_ns + int(row["total"]))
    return sums, sum(int(row["samples"]) for row in rows)


def from_report():
    """Rows are "self% total% samples symbol"."""
    rows = {}
    with open(prefix + ".report", encoding="utf-8") as file:
        for line in file:
            row = re.match(r" *([0-9.]+)% +([0-9.]+)% +([0-9]+) +\[.\] (.*)", line)
            if row:
                rows[row[4]] = (float(row[1]), float(row[2]), int(row[3]))
    return rows


def main():
    want, samples = from_csv()
    report = from_report()
    assert sum(row[2] for row in report.values()) == samples
    whole = sum(self_ns for self_ns, _ in want.values())
    for name, (self_percent, total_percent, _) in report.items():
        self_ns, total_ns = want[name]
        assert abs(100 * self_ns / whole - self_percent) < 0.006, name
        assert abs(100 * total_ns / whole - total_percent) < 0.006, name
    for read in from_json, from_speedscope, from_firefox, from_chrome:
        got = {name: row for name, row in read().rounded().items() if not name.startswith("[tr")}
        bad = [name for name in got.keys() | want.keys() if not close(got.get(name), want.get(name))]
        if bad:
            print(read.__name__, [(name, got.get(name), want.get(name)) for name in bad[:3]])


def close(got, want):
    """Sums of fractions of ms and us in doubles."""
    return got and want and all(abs(g - w) <= 1e-9 * w + 1 for g, w in zip(got, want))


main()
