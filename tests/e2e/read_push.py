#!/usr/bin/env python3
"""What a body that was pushed holds, by a reader of Protocol Buffers that knows nothing of ours.

read_push.py push|ingest|parca FILE: "LABEL=VALUE..." and the sum of the profile's first values.
"""
import base64
import gzip
import json
import sys


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        assert key & 7 in (0, 2)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def each(data, field):
    return [value for number, value in fields(data) if number == field]


def samples(pprof):
    message = gzip.decompress(pprof)
    for table in (3, 4, 5):  # what Parca demands of ids
        ids = [each(element, 1)[0] for element in each(message, table)]
        assert ids == list(range(1, len(ids) + 1)), "ids with holes"
    return sum(varint(each(sample, 2)[0], 0)[0] for sample in each(message, 2))


kind, body = sys.argv[1], open(sys.argv[2], "rb").read()
labels = {}
if kind == "push":
    (series,) = each(body, 1)
    for pair in each(series, 1):
        labels[each(pair, 1)[0].decode()] = each(pair, 2)[0].decode()
    (sample,) = each(series, 2)
    assert len(each(sample, 2)[0]) == 36
    body = each(sample, 1)[0]
elif kind == "parca":
    request = json.loads(body)
    assert request["normalized"] is True
    (series,) = request["series"]
    labels = {label["name"]: label["value"] for label in series["labels"]["labels"]}
    body = base64.b64decode(series["samples"][0]["raw_profile"], validate=True)
print(*(f"{name}={value}" for name, value in sorted(labels.items())), samples(body))
