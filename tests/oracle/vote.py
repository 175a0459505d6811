#!/usr/bin/env python3
"""Functions, inlined ones too, files and lines: ours against what other symbolizers say, by vote.

    vote.py [-c COUNT] [-o ORIGINAL] [-r READER] [-v] SYMBOLS FILE [TRAIT...]

Draws COUNT addresses of FILE, half of them where rows of the line table begin and right before that.
SYMBOLS, our own symbolizer, is asked for those in FILE; llvm-symbolizer, eu-addr2line, addr2line and
gdb, those of them that are installed, in ORIGINAL, or in FILE too.

Each address has a vote on how many levels there are, and then one on the function, the file and
the line of each level. Ours must be what most say; where there is no majority, what one of them says.
gdb only breaks ties. What a reference is known to get wrong (FAULTS) loses it its vote. Who is outvoted
must be so for a reason that is known, too (DISSENTS): both are counted by reason, and what has none
is as wrong as an answer of ours that lost. Prints at most 10 of each, and the sums; the exit status
tells.
"""
import argparse
import bisect
import collections
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
UNTOLD = "-"


# ---- addresses ----


def code_ranges(path):
    """Where code is: (address, size) of the executable sections of a 64-bit ELF file."""
    with open(path, "rb") as file:
        data = file.read()
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    ranges = []
    for i in range(count):
        _, _, flags, address, _, length = struct.unpack_from("<IIQQQQ", data, offset + i * size)
        if flags & 4 and length:
            ranges.append((address, length))
    return ranges


class Rows:
    """The rows of the line table, as objdump tells them: (file's last part, line, is_stmt) by address. Line
    0 is also the end of a sequence."""

    def __init__(self, path):
        dump = subprocess.run(
            ["objdump", "-w", "--dwarf=decodedline", path], capture_output=True, text=True, errors="replace"
        ).stdout
        self.rows = collections.defaultdict(list)
        for file, line, address, stmt in re.findall(
            r"^(\S+) +(\d+|-) +(0x[0-9a-f]+|0)(?:\[\d+\])?(?: +\d+)?( +x)?(?: +END)?\s*$", dump, re.M
        ):
            number = int(line) if line != "-" else 0
            self.rows[int(address, 16)].append((os.path.basename(file), number, bool(stmt)))
        self.units = {os.path.basename(m) for m in re.findall(r"^(?:CU: )?(.+):\n+File name ", dump, re.M)}
        self.starts = sorted(self.rows)

    def backwards(self, address):
        """The rows of an address, then those of the addresses before."""
        for index in range(bisect.bisect_right(self.starts, address) - 1, -1, -1):
            yield self.rows[self.starts[index]]

    def is_told(self, address, file, line):
        """Whether a row of the address says so, or, where those begin no statement, of the one before."""
        for rows in self.backwards(address):
            if (os.path.basename(file), line) in [row[:2] for row in rows]:
                return True
            if any(number and is_stmt for _, number, is_stmt in rows):
                return False
        return False

    def is_gap(self, address):
        """Whether a sequence ended before the address, or a row of line 0 covers it."""
        rows = next(self.backwards(address), [])
        return not rows or any(number == 0 for _, number, _ in rows)


def draw(path, rows_of_file, count, seed=7):
    chance = random.Random(seed)
    ranges = code_ranges(path)
    starts = [r for r in rows_of_file.starts if any(a <= r < a + n for a, n in ranges)]
    rows = chance.sample(starts, min(len(starts), count // 4))
    drawn = set(rows) | {r - 1 for r in rows if any(a < r for a, _ in ranges)}
    weights = [n for _, n in ranges]
    while len(drawn) < min(count, sum(weights) // 2):
        address, length = chance.choices(ranges, weights)[0]
        drawn.add(address + chance.randrange(length))
    return sorted(drawn)


# ---- who is asked ----

LLVM = "llvm-symbolizer --obj={file} --functions=linkage --inlines --no-demangle --output-style=LLVM -a"
REFERENCES = {
    "llvm": LLVM,
    "eu": "eu-addr2line -a -f -i -e {file}",
    "binutils": "addr2line -a -f -i -e {file}",
    "gdb": "gdb -nx -batch -x {here}/ask_gdb.py {file}",
}
WEIGHT = {"llvm": 2, "eu": 2, "binutils": 2, "gdb": 1}


def plain(name):
    """Without what a symbol table adds to a name (.cold, .isra.0) and eu-addr2line appends."""
    return re.sub(r"(?<=.)(\.(cold|part|isra|constprop|lto_priv|llvm)\b.*|@@?[A-Z].*| inlined (at|in) .*)", "", name)


def read_place(text):
    if text.startswith("-:"):
        return UNTOLD, UNTOLD
    match = re.match(r"(.*?):(\d+|\?)(?::\d+)?(?: \(.*\))?$", text)
    file, line = match.group(1), match.group(2)
    return (os.path.normpath(file) if file != "??" else file, int(line) if line != "?" else 0)


def read_answers(text):
    chains, chain, function = {}, None, None
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            chain, function = chains.setdefault(int(line, 16), []), None
        elif not line or chain is None:
            continue
        elif function is None:
            function = line
        else:
            chain.append((plain(function),) + read_place(line))
            function = None
    return chains


def ask(commands, addresses):
    """Runs them all at once; answers by name."""
    running = {}
    with tempfile.NamedTemporaryFile("w", suffix=".addresses") as asked:
        asked.writelines(f"{a:#x}\n" for a in addresses)
        asked.flush()
        environment = dict(os.environ, ADDRESSES=asked.name, DEBUGINFOD_URLS="")
        for name, (command, extra) in commands.items():
            output = tempfile.TemporaryFile("w+", errors="replace")
            with open(asked.name) as stdin:
                process = subprocess.Popen(
                    command, stdin=stdin, stdout=output, stderr=subprocess.DEVNULL, env=dict(environment, **extra)
                )
            running[name] = process, output
        answers = {}
        for name, (process, output) in running.items():
            process.wait()
            output.seek(0)
            answers[name] = read_answers(output.read())
    return answers


# ---- what references are known to get wrong ----


class Case:
    """A difference: of what (levels, function, file, line), at which level, between which chains."""

    def __init__(self, vote, address, field, level, mine, other, deepest):
        self.traits, self.symbols, self.address = vote.traits, vote.symbols.at(address), address
        self.rows = vote.rows
        self.field, self.level, self.mine, self.other, self.deepest = field, level, mine, other, deepest

    def is_outermost(self):
        return self.level + 1 == len(self.mine)

    def names(self):
        return self.mine[self.level][0], self.other[self.level][0]


# reference: whose fault. holds(case) recognizes it.
Fault = collections.namedtuple("Fault", "reference name holds reason")


def is_other_symbol(case):
    return case.field == "function" and case.is_outermost() and set(case.names()) <= case.symbols


def is_short_name(case):
    """foo, foo<int> or operator() of what the linker calls _Z3fooIiEvv or foo.0."""
    if case.field != "function" or not case.is_outermost():
        return False
    own, other = case.names()
    if own not in case.symbols or other.startswith(("_Z", "_R")):
        return False
    word = re.match(r"\w*", other).group()
    return own.startswith(f"{other}.") or word == "operator" or f"{len(word)}{word}" in own


def is_scope_left_out(case):
    """step of app::(anonymous namespace)::Cursor::step, which has no linkage name."""
    return case.field == "function" and case.names()[0].endswith("::" + case.names()[1])


def is_padding(case):
    return case.field == "function" and len(case.mine) == 1 and case.names()[0] == "??"


def is_joined_twice(case):
    """src/src/a.c for src/a.c"""
    if case.field != "file":
        return False
    own, other = case.mine[case.level][1], case.other[case.level][1]
    directory = other[: -len(own)]
    return other.endswith(own) and bool(directory) and own.startswith(directory)


def lacks_levels(*traits):
    """In files that have one of these traits: the address's own line, but not all functions around it."""

    def holds(case):
        if case.field != "levels" or not case.traits.intersection(traits):
            return False
        return 0 < len(case.other) < len(case.deepest) and case.other[0][2] in (0, case.deepest[0][2])

    return holds


FAULTS = [
    Fault("llvm eu binutils gdb", "another symbol of the address", is_other_symbol,
          "constructors, and functions that were folded, have several; each is right"),
    Fault("eu binutils gdb", "name without scope", is_short_name,
          "what has no linkage name in DWARF, of local types or nested, has one in the symbol table"),
    Fault("llvm eu binutils gdb", "inlined function without scope", is_scope_left_out,
          "the name alone is printed of what no other unit can call; its scopes are the DIEs around its declaration"),
    Fault("llvm eu binutils gdb", "directory of the compilation twice", is_joined_twice,
          "it is also DWARF 5's directory 0 (6.2.4), and where it is relative is joined with itself; LLVM 19 is right"),
    Fault("binutils", "padding named", is_padding, "what is between functions counts to the one before"),
    Fault("eu", "no inlined functions", lacks_levels("rust", "-flto", "-gsplit-dwarf", "-gdwarf-2"),
          "elfutils 0.188: origins in other units and split units are not followed; before DWARF 3 "
          "there is no line of a call, by which levels are told"),
    Fault("eu", "nothing known", lambda case: not case.other and case.traits & {"clang", "clang++"},
          "elfutils 0.188 finds units by .debug_aranges alone, which clang does not write"),
    Fault("binutils", "no inlined functions",
          lacks_levels("-gsplit-dwarf", "-gdwarf-2", "-fdebug-types-section", "clang", "clang++", "split-debuginfo=unpacked",
                       "split-debuginfo=packed",
                       "dwarf-version=5"),
          "binutils 2.40: ranges by index (DW_FORM_rnglistx) and .dwo files are not read"),
    Fault("llvm", "no inlined functions", lacks_levels("-gsplit-dwarf"),
          "LLVM 14: ranges of a .dwo file count from the skeleton unit's DW_AT_low_pc, not from 0"),
]


# ---- why references are outvoted, where they have their say all the same ----


def place(chain, level=0):
    """File and line that a chain tells for a level, or None."""
    return chain[level][1:] if level < len(chain) and UNTOLD not in chain[level][1:] else None


def is_other_row(case):
    """The line, the file of it, or that there is a line at all."""
    told = place(case.other, case.level)
    if not told or case.level or case.field == "function" or case.field == "levels" and case.mine:
        return False
    return case.rows.is_told(case.address, *told)


def is_link_followed(case):
    told, own = place(case.other, case.level), place(case.mine, case.level)
    return case.field == "file" and os.path.realpath(own[0]) == os.path.realpath(told[0])


def is_units_file(case):
    if case.field != "file" or case.mine[case.level][2] != case.other[case.level][2]:
        return False
    return os.path.basename(case.other[case.level][1]) in case.rows.units


def lacks_folder(case):
    return case.field == "file" and case.mine[case.level][1].endswith("/" + case.other[case.level][1])


def is_symbol_instead(case):
    """The symbol that begins last before the address, which the function of the level is not."""
    if case.field != "function":
        return False
    own, other = case.names()
    return own not in case.symbols and other in case.symbols and not own.startswith(("_Z", "_R"))


def is_beyond_sequences(case):
    return case.field == "levels" and not case.mine and case.rows.is_gap(case.address)


def is_padding_inlined(case):
    """Inlined functions, around an address that no function holds."""
    return case.field == "levels" and [function for function, _, _ in case.mine] == ["??"] and case.other[0][0] == "??"


def is_other_branch(case):
    """The same place, but other calls around it, or lines of them, or not all."""
    if not case.mine or not case.other or case.field != "levels" and not case.level:
        return False
    own, other = case.mine[-1][0], case.other[-1][0]
    is_same = own == other or own in case.symbols and not other.startswith(("_Z", "_R"))
    return (is_same or len(case.other) < len(case.mine)) and case.mine[0][1:] == case.other[0][1:]


def is_second_section(case):
    return case.field == "function" and case.names()[1] == f"__second_sect_of_{case.names()[0]}"


def is_nested(case):
    """More levels than the function that the symbol is of."""
    if case.field != "levels" or not 0 < len(case.mine) < len(case.other):
        return False
    return case.mine[-1][0] in case.symbols and place(case.mine) == place(case.other)


def lacks_calls(case):
    return case.field == "levels" and "-gdwarf-2" in case.traits and 0 < len(case.other) < len(case.deepest)


DISSENTS = [
    Fault("gdb", "a link was followed", is_link_followed, "gdb says where /usr/lib/go leads to"),
    Fault("gdb", "another row of the address", is_other_row,
          "of rows that share an address, the last one counts, which gdb does not hold to; it leaves out rows that "
          "begin no statement, and those of line 0"),
    Fault("gdb", "no inlined functions", lacks_calls,
          "gdb shows none without the line of the call (read_func_scope), which there is not before DWARF 3"),
    Fault("binutils", "the unit's own file", is_units_file,
          "binutils 2.40 says it for some lines of files that are included; the line is that of the other file"),
    Fault("binutils", "file without its folder", lacks_folder,
          "binutils 2.40 reads lines once, for clang's units of types, which share them and have no DW_AT_comp_dir"),
    Fault("binutils llvm", "a symbol instead of the function", is_symbol_instead,
          "binutils: what has no linkage name is called by the symbol of the address; llvm: the assembler's labels "
          "within a function are taken for functions"),
    Fault("eu", "the last line before a gap", is_beyond_sequences,
          "elfutils 0.188 goes on with the row before the end of a sequence"),
    Fault("gdb", "nested functions as inlined ones", is_nested,
          "whether a block stands in another one because it was inlined or because the source has it there is told "
          "by its symbol, which gdb may call otherwise than the function"),
    Fault("eu", "other calls around", is_other_branch,
          "elfutils 0.188 tells inlined calls of which no range holds the address, and leaves out some that do"),
    Fault("eu", "second section", is_second_section,
          "gcc describes a .cold part as a function of this name where DWARF has no ranges of functions"),
    Fault("eu", "padding inlined", is_padding_inlined,
          "elfutils 0.188 tells inlined functions for what is between functions"),
]


def reason_of(faults, reference, case):
    for fault in faults:
        if reference in fault.reference.split() and fault.holds(case):
            return fault
    return None


# ---- the vote ----


class Symbols:
    """Names by address, as nm tells them: all of the last symbols that begin before it."""

    def __init__(self, path):
        listed = subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True).stdout
        self.names = collections.defaultdict(set)
        for address, kind, name in re.findall(r"^([0-9a-f]+) ([tTwWiuvV]) (.*)$", listed, re.M):
            self.names[int(address, 16)].add(plain(name))
        self.starts = sorted(self.names)

    def at(self, address):
        index = bisect.bisect_right(self.starts, address)
        return self.names[self.starts[index - 1]] if index else set()


def is_unknown(chain):
    """Also a name of the symbol table alone, without a line."""
    return not chain or (len(chain) == 1 and chain[0][2] == 0)


class Vote:
    def __init__(self, traits, symbols, rows, verbose):
        self.traits, self.symbols, self.rows, self.verbose = set(traits), symbols, rows, verbose
        self.levels, self.unexplained = 0, 0
        self.faults, self.dissents = collections.Counter(), collections.Counter()

    def note(self, reference, case, fault):
        """A reference that says otherwise, where ours won."""
        if fault:
            self.faults[f"{reference}: {fault.name}"] += 1
            return
        reason = reason_of(DISSENTS, reference, case)
        if reason:
            self.dissents[f"{reference}: {reason.name}"] += 1
            return
        self.unexplained += 1
        if self.verbose or self.unexplained <= 10:
            print(
                f"{case.address:#x}: {case.field} of level {case.level}: {reference} is outvoted for no known reason: "
                f"ours {case.mine}; {case.other}"
            )

    def decide(self, address, field, level, mine, others, values, ours):
        """Whether ours wins among values, by reference, with known faults left out."""
        votes, differing = collections.Counter(), []
        deepest = max([mine, *others.values()], key=len)
        for reference, value in values.items():
            # Who leaves out levels that others tell has no say about that, also where ours does too.
            if value != ours or field == "levels":
                case = Case(self, address, field, level, mine, others[reference], deepest)
                fault = reason_of(FAULTS, reference, case)
                if value == ours and not fault:
                    votes[value] += WEIGHT[reference]
                    continue
                differing.append((reference, case, fault))
                if is_other_symbol(case) or is_joined_twice(case) or is_scope_left_out(case):
                    value = ours  # all may say so
                elif fault:
                    continue
            votes[value] += WEIGHT[reference]
        if values and not 0 < votes[ours] >= max(votes.values()):
            return False
        for one in differing:
            self.note(*one)
        return True

    def levels_differ(self, address, mine, known):
        """What differs from those who tell as many levels as ours, or None. All have a say about the
        line of the address itself, however many levels they tell."""
        for level, own in enumerate(mine):
            self.levels += 1
            for field, at in (("line", 2), ("function", 0), ("file", 1)):
                if at == 1 and own[2] == 0:
                    continue  # it is of no file
                silent = (UNTOLD, "??") if own[at] != "??" else (UNTOLD,)
                others = {r: c for r, c in known.items() if len(c) == len(mine) or at and not level and c[0][2]}
                values = {r: c[level][at] for r, c in others.items() if c[level][at] not in silent}
                if not self.decide(address, field, level, mine, others, values, own[at]):
                    return f"{field} of level {level}"
        return None

    def differs(self, address, mine, others):
        """What of ours lost, or None. Who does not know has no say about those who do."""
        if is_unknown(mine):
            mine = []
        others = {r: [] if is_unknown(c) else c for r, c in others.items()}
        if mine and any(others.values()):
            others = {r: c for r, c in others.items() if c}
        if not self.decide(address, "levels", 0, mine, others, {r: len(c) for r, c in others.items()}, len(mine)):
            return "levels"
        return self.levels_differ(address, mine, {r: c for r, c in others.items() if c})


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("-c", "--count", type=int, default=600)
    parser.add_argument("-o", "--original")
    parser.add_argument("-r", "--reader", default="report")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("symbols")
    parser.add_argument("file")
    parser.add_argument("traits", nargs="*")
    return parser.parse_args()


def main():
    options = parse_options()
    original = options.original or options.file
    rows = Rows(original)
    addresses = draw(original, rows, options.count)
    commands = {"ours": ([options.symbols, options.file], {"READER": options.reader})}
    for name, template in REFERENCES.items():
        words = template.format(file=original, here=HERE).split()
        if shutil.which(words[0]):
            commands[name] = words, {}
    answers = ask(commands, addresses)
    ours = answers.pop("ours")
    if not any(not is_unknown(chain) for chain in ours.values()):
        print("ours knows no line")
        return 1
    vote = Vote(options.traits, Symbols(original), rows, options.verbose)
    wrong = 0
    for address in addresses:
        others = {reference: chains.get(address, []) for reference, chains in answers.items()}
        differs = vote.differs(address, ours.get(address, []), others)
        if differs:
            wrong += 1
            if wrong <= 10:
                print(f"{address:#x}: {differs}: ours {ours.get(address)}; {others}")
    print(f"{len(addresses) - wrong} of {len(addresses)} addresses agree, {vote.levels} levels")
    for title, sums in ("known faults", vote.faults), ("outvoted", vote.dissents):
        if sums:
            print(f"{title}: " + ", ".join(f"{name} {count}" for name, count in sorted(sums.items())))
    if vote.unexplained:
        print(f"outvoted for no known reason: {vote.unexplained}")
    return wrong > 0 or vote.unexplained > 0


if __name__ == "__main__":
    sys.exit(main())
