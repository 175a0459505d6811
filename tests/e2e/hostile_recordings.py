#!/usr/bin/env python3
"""Recordings that are made to take a reader's time, memory and output.

hostile_recordings.py FOLDER SEED COUNT FILE...: writes into FOLDER some that are small and ask for
much, and COUNT copies of the FILEs with damage behind sound checksums: payloads with other bytes,
chunks that are cut, missing, doubled or elsewhere.
"""
import os
import random
import struct
import sys
import zlib

from read_recording import chunk_at

META, STRINGS, OBJECTS, PROCESSES, THREADS, MAPPINGS, FRAMES, STACKS = range(1, 9)
SAMPLES, SYMBOLS, COUNTERS, EVENTS, CLOCKS, END, SNAPSHOTS, CODE = range(9, 17)
LABELS = 23
KERNEL, ANONYMOUS = 2, 5
MAX_DEPTH, MAX_TEXT = 4096, 1 << 20


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varints(*values):
    return b"".join(varint(value) for value in values)


def zigzag(value):
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def blob(data):
    return varint(len(data)) + data


def file_header():
    head = b"\x89EBPROF\n" + struct.pack("<HH", 1, 4)
    return head + struct.pack("<I", zlib.crc32(head))


def chunk(kind, sequence, payload):
    stored, encoding = zlib.compress(payload, 9), 1
    if len(stored) >= len(payload):
        stored, encoding = payload, 0
    header = struct.pack("<HHIII", kind, encoding, len(stored), len(payload), sequence)
    crc = zlib.crc32(stored, zlib.crc32(header))
    return b"EBCK" + header + struct.pack("<I", crc) + stored


def recording(chunks):
    return file_header() + b"".join(
        chunk(kind, sequence, payload) for sequence, (kind, payload) in enumerate(chunks))


# ---- small ones that ask for much ----

def shaped(names, frames, parents, stacks, threads=1, cpus=1, step=1000, texts=(), labels=()):
    """Functions of the kernel by name, FRAMES (function), PARENTS (node), STACKS (samples' nodes);
    LABELS (rest, key, value, both of TEXTS): the samples have these sets by turns."""
    strings = [b"cpu-clock", b"ns", b"[kernel]", b"thread"] + names + list(texts)
    out = [(META, blob(b"target") + blob(b"system"))]
    lengths = varints(1, len(strings)) + varints(*map(len, strings))
    out.append((STRINGS, lengths + b"".join(strings)))
    out.append((EVENTS, varints(1, 1) + blob(varints(1, 1000, 0, 2))))
    kernel = varints(KERNEL, 0, 3) + blob(b"") + varints(0, 0, 0, 0, 0, 0)
    out.append((OBJECTS, varints(1, 1) + blob(kernel)))
    out.append((PROCESSES, varints(1, 1) + blob(varints(7, 0, 1, 1, 0, 0, 0))))
    out.append((THREADS, varints(1, threads) + b"".join(
        blob(varints(1, 7 + i, 4)) for i in range(threads))))
    out.append((SYMBOLS, b"".join(
        varints(1, 1000 * i, 1000, 5 + i) for i in range(len(names)))))
    offsets, last = [], 0
    for function in frames:
        offsets.append(zigzag(1000 * function + 10 - last))
        last = 1000 * function + 10
    out.append((FRAMES, varints(1, len(frames)) + varints(*[1] * len(frames)) + b"".join(offsets)))
    backs = [node + 1 - parent if parent else 0 for node, (parent, _) in enumerate(parents)]
    deltas, last = [], 0
    for _, frame in parents:
        deltas.append(zigzag(frame - last))
        last = frame
    out.append((STACKS, varints(1, len(parents)) + varints(*backs) + b"".join(deltas)))
    first = 5 + len(names)
    if labels:
        out.append((LABELS, varints(1, len(labels)) + b"".join(
            blob(varints(rest, first + key, 0, first + value)) for rest, key, value in labels)))
    sets = [1 + i % len(labels) if labels else 0 for i in range(len(stacks))]
    user = []
    for i, node in enumerate(stacks):
        user.append(zigzag(node - (stacks[i - 1] if i else 0)))
    count = len(stacks)
    out.append((CLOCKS, varints(1, 1)))
    out.append((SAMPLES, varints(1, count, 1000, 1) + b"".join((
        varint(1), blob(zigzag(step) * count),
        varint(2), blob(b"".join(varint(1 + i % threads) for i in range(count))),
        varint(3), blob(b"".join(varint(i % cpus) for i in range(count))),
        varint(4), blob(b"".join(user)),
        varint(14), blob(b"".join(zigzag(it - (sets[i - 1] if i else 0))
                                  for i, it in enumerate(sets)))))))
    out.append((COUNTERS, varints(1, 0, count, 4, 0, count)))
    out.append((END, varints(1, 1 << 40)))
    return recording(out)


def chain(depth, nr_frames):
    return [(node, 1 + node % nr_frames) for node in range(depth)]


def comb(nr_nodes, length):
    """Chains of a length that part in the middle of the first."""
    nodes = chain(length, 2)
    while len(nodes) < nr_nodes:
        for i in range(length):
            nodes.append((len(nodes) if i else length // 2, 1 + (len(nodes) // length + i) % 2))
    return nodes


def demanding():
    two = [b"even", b"odd"]
    yield "deep", shaped(two, [0, 1], chain(MAX_DEPTH, 2), [MAX_DEPTH])
    every = list(range(1, MAX_DEPTH + 1))
    yield "deep_each_sampled", shaped(two, [0, 1], chain(MAX_DEPTH, 2), every)
    yield "deep_often", shaped(two, [0, 1], chain(MAX_DEPTH, 2), [MAX_DEPTH] * 20000)
    many = [b"f%d" % i for i in range(MAX_DEPTH)]
    yield "deep_of_many", shaped(many, range(MAX_DEPTH), chain(MAX_DEPTH, MAX_DEPTH), every)
    long = [b"a" * MAX_TEXT, b"b" * MAX_TEXT]
    yield "long_names", shaped(long, [0, 1], chain(200, 2), list(range(1, 201)))
    yield "long_name_deep", shaped(long, [0, 1], chain(MAX_DEPTH, 2), [MAX_DEPTH])
    nested = [b"<" * MAX_TEXT, b"_ZN" + b"1aI" * 300000 + b"E", b"(" * MAX_TEXT]
    yield "nested_names", shaped(nested, [0, 1, 2], chain(30, 3), list(range(1, 31)))
    yield "long_names_many", shaped(
        [b"%05d" % i + b"x" * 5000 for i in range(3000)], range(3000), chain(3000, 3000),
        list(range(1, 3001)))
    tree = comb(60000, 2000)
    yield "comb", shaped(two, [0, 1], tree, list(range(1, len(tree) + 1)))
    yield "threads", shaped(two, [0, 1], chain(100, 2), [100] * 30000, threads=30000)
    yield "cpus", shaped(two, [0, 1], chain(100, 2), [100] * 30000, cpus=30000)
    keys = [b"k%d" % i for i in range(80)]
    yield "labels_deep", shaped(two, [0, 1], chain(9, 2), [9] * 20000, texts=keys, labels=[
        (i, i % 80, i % 80) for i in range(20000)])
    yield "labels_long", shaped(
        two, [0, 1], chain(9, 2), [9] * 20000, threads=100, texts=keys + [b"x" * MAX_TEXT], labels=[
            (i - i % 60 if i % 60 == 0 else i, i % 60, 80) for i in range(20000)])
    yield "labels_twins", shaped(
        two, [0, 1], chain(9, 2), [9] * 5000, texts=[b"a" * 99999 + b"%d" % i for i in range(60)],
        labels=[(i if i % 60 else 0, i % 60, i % 60) for i in range(5000)])
    yield "long_time", shaped(two, [0, 1], chain(9, 2), [9] * 1000, step=1 << 50)


# ---- damage behind sound checksums ----

def chunks_of(data):
    pos, found = 16, []
    while pos < len(data):
        it = chunk_at(data, pos)
        if it is None:
            break
        kind, _, payload, pos = it
        if payload is not None:
            found.append((kind, payload))
    return found


def change_payload(dice, payload):
    out = bytearray(payload)
    for _ in range(dice.randint(1, 4)):
        if not out:
            break
        at = dice.randrange(len(out))
        how = dice.randrange(5)
        if how == 0:
            out[at] ^= 1 << dice.randrange(8)
        elif how == 1:
            out[at:at + 1] = varint(dice.choice((0, 1, 127, 1 << 16, 1 << 31, 1 << 32, (1 << 64) - 1)))
        elif how == 2:
            del out[at:at + dice.randint(1, 16)]
        elif how == 3:
            out[at:at] = out[at:at + dice.randint(1, 64)] * dice.choice((1, 2, 100))
        else:
            out = out[:at]
    return bytes(out)


def damaged(dice, data):
    chunks = chunks_of(data)
    if not chunks or dice.randrange(8) == 0:
        return data[:dice.randrange(len(data) + 1)] if data else data
    for _ in range(dice.randint(1, 3)):
        at, how = dice.randrange(len(chunks)), dice.randrange(8)
        if how == 0 and len(chunks) > 1:
            del chunks[at]
        elif how == 1:
            chunks.insert(dice.randrange(len(chunks)), chunks[at])
        elif how == 2:
            chunks.insert(dice.randrange(len(chunks)), chunks.pop(at))
        else:
            chunks[at] = chunks[at][0], change_payload(dice, chunks[at][1])
    return recording(chunks)


def main():
    folder, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    seeds = []
    for path in sys.argv[4:]:
        with open(path, "rb") as file:
            seeds.append(file.read())
    os.makedirs(folder, exist_ok=True)
    made = list(demanding())
    dice = random.Random(seed)
    for i in range(count):
        made.append(("damaged%05d" % i, damaged(dice, dice.choice(seeds))))
    for name, data in made:
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


main()
