"""Writes ELF files that cost their readers much: code at 0x1000, and
  notes FILE      1,000,000 sections of notes, none of which is a build ID
  frames FILE     63 MB of .eh_frame
  circles FILE    section and segment tables, names and notes that are each other
Nothing of them is wrong enough to be refused at once."""
import struct
import sys

MACHINE, FUNCTION = 62, bytes.fromhex("554889e548ffcf75fb5dc3")  # x86-64; see mapped_code.c
CODE_AT = 0x1000
HEADER, SEGMENT, SECTION = "<16sHHIQQQIHHHHHH", "<IIQQQQQQ", "<IIQQQQIIQQ"
PT_LOAD, PT_NOTE, PT_GNU_EH_FRAME = 1, 4, 0x6474E550
SHT_PROGBITS, SHT_STRTAB, SHT_NOTE = 1, 3, 7


def header(segments, sections_at, sections, names):
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    return struct.pack(
        HEADER, ident, 3, MACHINE, 1, CODE_AT, 64, sections_at, 0, 64, 56, len(segments), 64, sections, names
    ) + b"".join(struct.pack(SEGMENT, *segment) for segment in segments)


def load(bytes_in_all):
    return (PT_LOAD, 5, 0, 0, 0, bytes_in_all, bytes_in_all, 0x1000)


def notes(file):
    count = 1000000
    note_at = 0x2000
    note = struct.pack("<III4s", 4, 0, 99, b"EVL\0")
    sections_at = 0x3000
    # More than 65,279 sections: their number stands in the first one.
    first = struct.pack(SECTION, 0, 0, 0, 0, 0, count, 0, 0, 0, 0)
    one = struct.pack(SECTION, 0, SHT_NOTE, 2, note_at, note_at, len(note), 0, 0, 4, 0)
    end = sections_at + 64 * count
    file.write(header([load(end)], sections_at, 0, 0))
    file.seek(CODE_AT)
    file.write(FUNCTION)
    file.seek(note_at)
    file.write(note)
    file.seek(sections_at)
    file.write(first + one * (count - 1))


def frames(file):
    text_bytes = 0x10000000  # what the rules claim to cover
    frames_at = 0x3000
    # Version 1, "zR", code alignment 1, data -8, return address 16, pcrel sdata4; CFA = rsp + 8.
    cie_body = struct.pack("<IB", 0, 1) + b"zR\0" + bytes([1, 0x78, 16, 1, 0x1B, 0x0C, 7, 8, 0x90, 1, 0, 0])
    out = [struct.pack("<I", len(cie_body)) + cie_body]
    at = len(out[0])
    fde_bytes = 4 + 4 + 4 + 4 + 1 + 3
    count = 63 * 1024 * 1024 // fde_bytes
    step = text_bytes // count
    for i in range(count):
        place = frames_at + at + 8
        out.append(
            struct.pack("<IIiIB", fde_bytes - 4, at + 4, CODE_AT + i * step - place, step, 0)
            + bytes([0x41 + i % 8, 0x0E, 16 + 8 * (i % 20)])
        )
        at += fde_bytes
    out.append(bytes(4))
    body = b"".join(out)
    names = b"\0.eh_frame\0.text\0.shstrtab\0"
    names_at = frames_at + len(body)
    sections_at = (names_at + len(names) + 7) & ~7
    sections = [
        (0,) * 10,
        (1, SHT_PROGBITS, 2, frames_at, frames_at, len(body), 0, 0, 8, 0),
        (11, SHT_PROGBITS, 6, CODE_AT, CODE_AT, 0x1000, 0, 0, 16, 0),
        (17, SHT_STRTAB, 0, 0, names_at, len(names), 0, 0, 1, 0),
    ]
    file.write(header([load(sections_at)], sections_at, len(sections), 3))
    file.seek(CODE_AT)
    file.write(FUNCTION)
    file.seek(frames_at)
    file.write(body + names)
    file.seek(sections_at)
    file.write(b"".join(struct.pack(SECTION, *section) for section in sections))


def circles(file):
    huge = 1 << 62
    segments = [load(0x4000)]
    segments += [(PT_NOTE, 4, 0, 0, 0, huge, huge, 4), (PT_NOTE, 4, 64, 64, 0, 0x4000, 0x4000, 4)] * 300
    segments += [(PT_GNU_EH_FRAME, 4, 0x1000, 0x1000, 0, huge, huge, 4)]
    sections = [(i, 1 + i % 18, 7, 0, 0, huge - i, i + 1, i, 1 << 63, 3) for i in range(200)]
    file.write(header(segments, 0x9000, len(sections), len(sections) - 1))
    file.seek(0x9000)
    file.write(b"".join(struct.pack(SECTION, *section) for section in sections))


def main():
    kind, path = sys.argv[1:]
    with open(path, "wb") as file:
        {"notes": notes, "frames": frames, "circles": circles}[kind](file)
        if kind == "circles":
            file.seek(CODE_AT)
            file.write(FUNCTION)


main()
