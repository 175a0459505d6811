#!/usr/bin/env python3
"""Reads an ebprof recording, knowing nothing but man/ebprof-data.5.

read_recording.py [--samples] FILE prints JSON: counts and counters, and with
--samples every sample with its stack as [object, offset] pairs, leaf first.
"""
import json
import struct
import sys
import zlib

META, STRINGS, OBJECTS, PROCESSES, THREADS, MAPPINGS, FRAMES, STACKS = range(1, 9)
SAMPLES, SYMBOLS, COUNTERS, EVENTS, CLOCKS, END, SNAPSHOTS, CODE = range(9, 17)
ORIGINS, VALUES, EVENT_COUNTERS, THREAD_TIMES, LABELS = 19, 20, 21, 22, 23
MAX_PAYLOAD = 16 << 20
COUNTER_NAMES = {
    1: "ticks", 2: "idle", 3: "filtered", 4: "samples", 5: "lost_ring",
    6: "lost_unresolved", 7: "lost_write", 8: "skipped", 9: "sideband_lost",
    10: "targets_full",
    11: "files_full", 12: "hits", 13: "hits_filtered", 14: "hit_samples", 15: "hits_lost_ring",
    16: "hits_lost_busy", 17: "hits_lost_unresolved", 18: "hits_lost_write",
    19: "gap_samples", 20: "code_given_up", 21: "mappings_full", 22: "cpus_back",
    23: "images_read", 24: "images_given_up", 25: "labels_unknown", 26: "labels_unread",
    27: "labels_cut", 28: "labels_left_out", 29: "waits_without_scripts",
    30: "programs_skipped", 31: "code_unread", 32: "heap_unseen_ms", 33: "ticks_due", 34: "heap_programs_missed",
}
EVENT_COUNTER_NAMES = {
    1: "events", 2: "samples", 3: "idle", 4: "filtered", 5: "lost_ring", 6: "lost_busy",
    7: "lost_unresolved", 8: "lost_write", 9: "skipped", 10: "below",
}
CAUSES = {
    1: "unknown", 2: "broken_frame_pointer", 3: "unreadable_stack", 4: "depth_limit",
    5: "no_user_registers", 6: "no_unwind_table", 7: "no_unwind_rule", 8: "unsupported_rule",
    9: "unknown_register", 10: "unclaimed_code", 11: "table_pending", 12: "no_mapping",
    13: "left_out",
}
REGISTERS, MAX_STACK = 34, 65536
U64 = (1 << 64) - 1


class Damage(Exception):
    pass


class Cursor:
    def __init__(self, data):
        self.data, self.pos = data, 0

    def left(self):
        return len(self.data) - self.pos

    def take(self, count):
        if count > self.left():
            raise Damage("a field behind the end")
        self.pos += count
        return self.data[self.pos - count:self.pos]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            if shift == 63 and byte > 1:
                raise Damage("a varint of more than 64 bits")
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
            shift += 7

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def blob(self):
        return self.take(self.varint())

    def record(self):
        return Cursor(self.blob())


class Recording:
    def __init__(self):
        self.meta, self.strings, self.events, self.objects = {}, {0: b""}, {}, {}
        self.processes, self.threads, self.mappings = {}, {}, []
        self.frames, self.nodes, self.samples, self.symbols = {}, {}, [], []
        self.code, self.origins = [], {}
        self.snapshots, self.found, self.labels = {}, {}, {}
        self.counters, self.clocks, self.end = {}, [], None
        self.event_counters = {}
        self.thread_times = []
        self.damaged_bytes = self.unknown_chunks = self.lost_chunks = 0


def each(cursor):
    first, count = cursor.varint(), cursor.varint()
    if count > cursor.left():
        raise Damage("more entities than bytes")
    return range(first, first + count)


def read_meta(rec, cursor):
    while cursor.left():
        key = cursor.blob().decode("utf-8", "replace")
        rec.meta[key] = cursor.blob().decode("utf-8", "replace")


def read_strings(rec, cursor):
    ids = each(cursor)
    lengths = [cursor.varint() for _ in ids]
    for string, length in zip(ids, lengths):
        rec.strings[string] = cursor.take(length)


def read_events(rec, cursor):
    for event in each(cursor):
        it = cursor.record()
        rec.events[event] = dict(
            name=it.varint(), period=it.varint(), frequency=it.varint(), unit=it.varint(),
            source=it.varint() if it.left() else 0)


def read_objects(rec, cursor):
    for number in each(cursor):
        it = cursor.record()
        out = dict(kind=it.varint(), flags=it.varint(), path=it.varint(), build_id=it.blob().hex())
        for key in ("base", "size", "inode", "mtime", "device"):
            out[key] = it.varint()
        out["segments"] = [[it.varint() for _ in range(5)] for _ in range(it.varint())]
        rec.objects[number] = out


def read_processes(rec, cursor):
    keys = ("pid", "ns_pid", "parent", "start", "exe", "cgroup", "container")
    for number in each(cursor):
        it = cursor.record()
        rec.processes[number] = {key: it.varint() for key in keys}
        rec.processes[number]["origin"] = it.varint() if it.left() else 0


def read_origins(rec, cursor):
    keys = ("flags", "reason", "monotonic", "realtime", "shift")
    for number in each(cursor):
        it = cursor.record()
        out = dict(name=it.blob().decode("utf-8", "replace"))
        out.update({key: it.varint() for key in keys})
        pairs = [(it.blob(), it.blob()) for _ in range(it.varint())]
        out["meta"] = {key.decode("utf-8", "replace"): value.decode("utf-8", "replace")
                       for key, value in pairs}
        rec.origins[number] = out


def read_threads(rec, cursor):
    for number in each(cursor):
        it = cursor.record()
        rec.threads[number] = {key: it.varint() for key in ("process", "tid", "name")}  # and what it stands for


def read_mappings(rec, cursor):
    keys = ("process", "object", "start", "length", "offset", "time")
    while cursor.left():
        it = cursor.record()
        rec.mappings.append({key: it.varint() for key in keys})


def read_frames(rec, cursor):
    ids = each(cursor)
    objects = [cursor.varint() for _ in ids]
    last = {}
    for frame, number in zip(ids, objects):
        last[number] = last.get(number, 0) + cursor.zigzag() & U64
        rec.frames[frame] = (number, last[number])
    while cursor.left():
        column, values = cursor.varint(), cursor.record()
        if column == 1:
            rec.found.update({frame: values.varint() & 3 for frame in ids})


def read_stacks(rec, cursor):
    ids = each(cursor)
    backs = [cursor.varint() for _ in ids]
    frame = 0
    for node, back in zip(ids, backs):
        frame = frame + cursor.zigzag() & U64
        if back >= node:
            raise Damage("a caller that cannot be")
        rec.nodes[node] = (node - back if back else 0, frame)


def read_samples(rec, cursor):
    event, count, time, unit = (cursor.varint() for _ in range(4))
    columns = {}
    while cursor.left():
        number = cursor.varint()
        columns[number] = cursor.record()
    if 1 not in columns or count > columns[1].left():
        raise Damage("more samples than times")
    stack = snapshot = labels = 0
    for _ in range(count):
        time = time + columns[1].zigzag() & U64
        if 4 in columns:
            stack = stack + columns[4].zigzag() & U64
        if 7 in columns:
            snapshot = snapshot + columns[7].zigzag() & U64
        if 14 in columns:
            labels = labels + columns[14].zigzag() & U64
        thread, cpu, kernel = (columns[i].varint() if i in columns else 0 for i in (2, 3, 5))
        weight = columns[6].varint() if 6 in columns else 1
        rec.samples.append(dict(event=event, time=time * unit & U64, thread=thread, cpu=cpu,
                                user=stack, kernel=kernel, weight=weight,
                                snapshot=snapshot, labels=labels))


def read_labels(rec, cursor):
    for number in each(cursor):
        it = cursor.record()
        out = {key: it.varint() for key in ("rest", "key", "kind", "value")}
        if out["rest"] >= number:
            raise Damage("a set of labels that cannot be")
        rec.labels[number] = out


def read_snapshots(rec, cursor):
    for number in each(cursor):
        it = cursor.record()
        out = {key: it.varint() for key in ("process", "time", "flags", "address", "known")}
        if out["known"] >> REGISTERS:
            raise Damage("a register that cannot be")
        out["registers"] = {register: struct.unpack("<Q", it.take(8))[0]
                            for register in range(REGISTERS) if out["known"] >> register & 1}
        out["stack"] = it.blob()
        if len(out["stack"]) > MAX_STACK:
            raise Damage("too much of a stack")
        rec.snapshots[number] = out


def read_symbols(rec, cursor):
    while cursor.left():
        rec.symbols.append([cursor.varint() for _ in range(4)])


def read_code(rec, cursor):
    while cursor.left():
        it = cursor.record()
        out = dict(object=it.varint(), offset=it.varint())
        out["start"] = out["offset"] - it.zigzag() & U64
        out.update({key: it.varint() for key in ("time", "name", "file", "line")})
        rec.code.append(out)


def read_counters(rec, cursor):
    while cursor.left():
        counter, cpu = cursor.varint(), cursor.varint()
        rec.counters[counter, cpu] = cursor.varint()


def read_event_counters(rec, cursor):
    while cursor.left():
        source, counter, cpu = cursor.varint(), cursor.varint(), cursor.varint()
        rec.event_counters[source, counter, cpu] = (cursor.varint(), cursor.varint())


def read_thread_times(rec, cursor):
    while cursor.left():
        keys = ("thread", "life", "queued", "blocked", "flags", "kernel_on", "kernel_queued", "voluntary", "involuntary")
        rec.thread_times.append({key: cursor.varint() for key in keys})


def read_clocks(rec, cursor):
    while cursor.left():
        rec.clocks.append((cursor.varint(), cursor.varint()))


def read_end(rec, cursor):
    rec.end = (cursor.varint(), cursor.varint())


DECODERS = {
    META: read_meta, STRINGS: read_strings, OBJECTS: read_objects, PROCESSES: read_processes,
    THREADS: read_threads, MAPPINGS: read_mappings, FRAMES: read_frames, STACKS: read_stacks,
    SAMPLES: read_samples, SYMBOLS: read_symbols, COUNTERS: read_counters, EVENTS: read_events,
    CLOCKS: read_clocks, END: read_end, SNAPSHOTS: read_snapshots,
    CODE: read_code, ORIGINS: read_origins, VALUES: read_samples,
    THREAD_TIMES: read_thread_times, EVENT_COUNTERS: read_event_counters, LABELS: read_labels,
}


def chunk_at(data, pos):
    """(type, sequence, payload or None, end) of the sound chunk there, or None."""
    header = data[pos:pos + 24]
    if len(header) < 24 or header[:4] != b"EBCK":
        return None
    kind, encoding, stored, raw, sequence, crc = struct.unpack("<HHIIII", header[4:])
    payload = data[pos + 24:pos + 24 + stored]
    if max(stored, raw) > MAX_PAYLOAD or len(payload) < stored:
        return None
    if zlib.crc32(payload, zlib.crc32(header[4:20])) != crc:
        return None
    end = pos + 24 + stored
    if encoding > 1:
        return kind, sequence, None, end
    if encoding == 1:
        decoder = zlib.decompressobj()
        try:
            payload = decoder.decompress(payload, raw + 1)
        except zlib.error:
            return None
    return (kind, sequence, payload, end) if len(payload) == raw else None


def read(data):
    if data[:8] != b"\x89EBPROF\n" or len(data) < 16:
        raise Damage("not a recording")
    major, _, crc = struct.unpack("<HHI", data[8:16])
    if zlib.crc32(data[:12]) == crc and major != 1:
        raise Damage("format version %d" % major)
    rec, pos, expected = Recording(), 16, 0
    while pos < len(data):
        chunk = chunk_at(data, pos)
        if not chunk:
            found = data.find(b"EBCK", pos + 1)
            behind = found if found >= 0 else len(data)
            rec.damaged_bytes += behind - pos
            pos = behind
            continue
        kind, sequence, payload, pos = chunk
        rec.lost_chunks += max(0, sequence - expected)
        expected = sequence + 1
        if payload is None or kind not in DECODERS:
            rec.unknown_chunks += 1
            continue
        DECODERS[kind](rec, Cursor(payload))
    return rec


def frames_of(rec, sample):
    for node in (sample["kernel"], sample["user"]):
        while node in rec.nodes:
            node, frame = rec.nodes[node]
            if frame in rec.frames:
                yield rec.frames[frame]


def cause_of(rec, sample):
    """None: no user stack; 0: complete; else why it is cut."""
    node, frame = sample["user"], None
    while node in rec.nodes:
        node, frame = rec.nodes[node]
    if frame is None:
        return None
    number, offset = rec.frames.get(frame, (0, 1))
    return 0 if number else offset if offset in CAUSES else 1


def has_guess(rec, sample):
    node = sample["user"]
    while node in rec.nodes:
        node, frame = rec.nodes[node]
        if rec.found.get(frame, 0) & 1:
            return True
    return False


def count_frames(rec):
    """Frames of the samples' user stacks by how they were found."""
    counts = [0] * 4
    for sample in rec.samples:
        node = sample["user"]
        while node in rec.nodes:
            node, frame = rec.nodes[node]
            if rec.frames.get(frame, (0, 0))[0]:
                counts[rec.found.get(frame, 0)] += 1
    return dict(rule=counts[0], code=counts[2], frame_pointer=counts[1], scan=counts[3])


def labels_of(rec, sample):
    """The labels of a sample: places as [object, offset]."""
    out, node = {}, sample["labels"]
    while node in rec.labels:
        it = rec.labels[node]
        value = it["value"]
        if it["kind"] == 0:
            value = rec.strings.get(value, b"[damaged]").decode("utf-8", "replace")
        elif it["kind"] == 2:
            value = rec.frames.get(value, (0, 1))
        out.setdefault(rec.strings.get(it["key"], b"").decode("utf-8", "replace"), value)
        node = it["rest"]
    return out


def sources(rec):
    """Each source that EVENTS names: name -> counter -> (count, sum), over all CPUs."""
    out = {it["source"]: dict.fromkeys(EVENT_COUNTER_NAMES.values(), (0, 0))
           for it in rec.events.values() if it["source"]}
    for (source, counter, _), (count, total) in rec.event_counters.items():
        if source in out and counter in EVENT_COUNTER_NAMES:
            name = EVENT_COUNTER_NAMES[counter]
            old = out[source][name]
            out[source][name] = (old[0] + count, old[1] + total)
    return {rec.strings.get(source, b"[damaged]").decode("utf-8", "replace"): counters
            for source, counters in out.items()}


def summary(rec):
    counters = dict.fromkeys(COUNTER_NAMES.values(), 0)
    for (counter, _), value in rec.counters.items():
        if counter in COUNTER_NAMES:
            counters[COUNTER_NAMES[counter]] += value
    stacks = dict(complete=0, by_guesses=0, truncated=0, kernel_only=0)
    truncated_by = {}
    for sample in rec.samples:
        cause = cause_of(rec, sample)
        stacks["kernel_only" if cause is None else "truncated" if cause else
               "by_guesses" if has_guess(rec, sample) else "complete"] += 1
        if cause:
            truncated_by[CAUSES[cause]] = truncated_by.get(CAUSES[cause], 0) + 1
    processes = {(it["origin"], it["pid"], it["start"]) for it in rec.processes.values()}
    threads = set()
    for it in rec.threads.values():
        process = rec.processes.get(it["process"], dict(origin=0, pid=0, start=0))
        threads.add((process["origin"], process["pid"], process["start"], it["tid"]))
    return dict(
        samples=len(rec.samples), ticks=counters["ticks"], idle=counters["idle"],
        filtered=counters["filtered"],
        lost=sum(value for name, value in counters.items() if "lost_" in name) +
        sum(count for of in sources(rec).values() for name, (count, _) in of.items()
            if "lost_" in name),
        sources=sources(rec),
        origins=[dict(name=it["name"], meta=it["meta"]) for it in rec.origins.values()],
        processes=len(processes), threads=len(threads), mappings=len(rec.mappings),
        build_ids=sum(bool(it["build_id"]) for it in rec.objects.values()),
        stacks=stacks, truncated_by=truncated_by, counters=counters, meta=rec.meta,
        objects=[dict(path=rec.strings.get(it["path"], b"[damaged]").decode("utf-8", "replace"),
                      build_id=it["build_id"]) for it in rec.objects.values()],
        snapshots=len(rec.snapshots),
        snapshot_bytes=sum(len(it["stack"]) for it in rec.snapshots.values()),
        frames=count_frames(rec),
        guessed_stacks=sum(has_guess(rec, sample) for sample in rec.samples),
        ended=rec.end is not None, damaged_bytes=rec.damaged_bytes)


def main(args):
    with open(args[-1], "rb") as file:
        rec = read(file.read())
    out = summary(rec)
    if "--samples" in args:
        for sample in rec.samples:
            sample["stack"] = list(frames_of(rec, sample))
            sample["labels"] = labels_of(rec, sample)
        out["all_samples"] = rec.samples
    json.dump(out, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
