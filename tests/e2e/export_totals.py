#!/usr/bin/env python3
"""Adds up what `ebprof convert` wrote and compares it, function by function, with a report.

Functions of two files may have one name, and one may call the other: libc's clock_gettime the
vDSO's. The CSV, which has a row for each file and name, is compared with the JSON's stacks by both;
what has only names, as the report with -s sym, by the name, which counts once a sample.

usage: export_totals.py PREFIX

PREFIX.report is what `report --stdio --percent-limit 0 -s sym` printed, and PREFIX.csv,
PREFIX.json, PREFIX.speedscope.json, PREFIX.firefox.json, PREFIX.trace.json are the exports.
Prints nothing when all agree.
"""
import collections
import csv
import json
import os
import re
import sys

prefix = sys.argv[1]


def load(suffix):
    with open(prefix + suffix, encoding="utf-8") as file:
        return json.load(file)


class Sums:
    """Self and total of each function, or what stands for it, in ns; once a sample."""

    def __init__(self):
        self.self_ns = collections.Counter()
        self.total_ns = collections.Counter()

    def add(self, stack, value):
        self.self_ns[stack[-1]] += value
        for key in set(stack):
            self.total_ns[key] += value

    def add_names(self, stack, value):
        self.add([re.sub(r"_\[k\]$", "", name) for name in stack], value)

    def rounded(self):
        return {
            name: (round(self.self_ns[name]), round(self.total_ns[name]))
            for name in self.total_ns
        }


def from_json():
    """By file and name, and by name."""
    doc, both, names = load(".json"), Sums(), Sums()
    functions = [(doc["objects"][function["object"]]["path"] if "object" in function else "",
                  function["name"]) for function in doc["functions"]]
    for sample in doc["samples"]:
        stack = [functions[doc["frames"][i]["function"]] for i in doc["stacks"][sample["stack"]]]
        both.add(stack, int(sample["value"]))
        names.add([name for _, name in stack], int(sample["value"]))
    return both.rounded(), names.rounded()


def from_speedscope():
    doc, sums = load(".speedscope.json"), Sums()
    names = [frame["name"] for frame in doc["shared"]["frames"]]
    for profile in doc["profiles"]:
        assert profile["endValue"] == sum(profile["weights"]), profile["name"]
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True):
            sums.add_names([names[i] for i in stack], weight)
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
            sums.add_names(names[::-1], weight * 1e6)
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
                sums.add_names(names[::-1], delta * 1e3)
    return sums


def name_with_file(row):
    """The CSV has the file beside a function without a symbol, the JSON has it in the name."""
    is_without_symbol = re.fullmatch(r"fn_[0-9a-f]+", row["symbol"])
    return f"{os.path.basename(row['dso'])} {row['symbol']}" if is_without_symbol else row["symbol"]


def from_csv():
    with open(prefix + ".csv", newline="", encoding="utf-8") as file:
        assert file.readline() == "self,total,samples,dso,symbol,file,line,unit\r\n"
        file.seek(0)
        rows = list(csv.DictReader(file, strict=True))
    assert all(row["unit"] == "ns" for row in rows)
    sums = {(row["dso"], name_with_file(row)): (int(row["self"]), int(row["total"])) for row in rows}
    assert len(sums) == len(rows), "a function has two rows"
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


def compare(what, got, want):
    def is_known(key):
        name = key if isinstance(key, str) else key[1]
        return not name.startswith("[tr")  # [truncated] is no function

    keys = {key for key in got.keys() | want.keys() if is_known(key)}
    bad = sorted(key for key in keys if not close(got.get(key), want.get(key)))
    if bad:
        print(what, [(key, got.get(key), want.get(key)) for key in bad[:3]])


def main():
    rows, samples = from_csv()
    by_file, by_name = from_json()
    report = from_report()
    assert sum(row[2] for row in report.values()) == samples
    whole = sum(self_ns for self_ns, _ in rows.values())
    for name, (self_percent, total_percent, _) in report.items():
        self_ns, total_ns = by_name[name]
        assert abs(100 * self_ns / whole - self_percent) < 0.006, name
        assert abs(100 * total_ns / whole - total_percent) < 0.006, name
    compare("CSV", rows, by_file)
    for read in from_speedscope, from_firefox, from_chrome:
        compare(read.__name__, read().rounded(), by_name)


def close(got, want):
    """Sums of fractions of ms and us in doubles."""
    return got and want and all(abs(g - w) <= 1e-9 * w + 1 for g, w in zip(got, want))


main()
