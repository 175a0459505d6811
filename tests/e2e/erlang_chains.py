"""Judges the chains of erlang_shape.erl by folded stacks: python3 erlang_chains.py FOLDED.

The last line is "JUDGED WRONG UNNAMED WHOLE ALL": stacks with functions of the program, those of
them whose chain cannot be; of all stacks of Erlang, those with a frame without a name, those that
lead to the scheduler's frames and end there, and how many there are. Wrong ones stand ahead of it."""
import re
import sys

M = "erlang_shape:"
SAME = "(same/1 )?"
# From the outermost on, functions of the program alone; those of libraries are left out.
CHAINS = {
    "fibonacci/0": "fibonacci/0 (fibonacci_top/1 (" + SAME + "|(fibonacci_of/1 )*))?",
    "recursion/0": "recursion/0 (recursion_top/1 (" + SAME + "|(recursion_down/1 )*))?",
    "sorting/0": r"sorting/0 (-sorting/0-lc\S+ )*(sorting_top/1 (-\S+ )?(sorting_order/2 )?)?",
    "mapping/0": r"mapping/0 (mapping_top/2 )*(" + SAME + r"|(mapping_put/2 )?|(-\S+ )?(mapping_add/3 )?)",
    "bytes/0": "bytes/0 (bytes_top/1 (bytes_make/2 |bytes_sum/2 )?)?",
    "tables/0": "tables/0 ",
    "tables_loop/1": "tables_loop/1 (tables_top/2 )*",
    "garbage/0": r"garbage/0 (garbage_top/1 (garbage_make/2 )*(-garbage_make/2-lc\S+ )*)?",
    "packing/0": "packing/0 (packing_top/1 )*(packing_do/1 )?",
    "matching/0": "matching/0 (matching_top/1 )*",
    "throwing/0": "throwing/0 (throwing_top/1 )*(throwing_down/1 )*",
    "guarding/0": "guarding/0 (guarding_top/1 (guarding_down/1 )*)?",
    "formatting/0": "formatting/0 (formatting_top/1 )*",
    "terms/0": "terms/0 (terms_top/1 )*",
    "variables/0": "variables/0 (variables_top/3 )?(variables_loop/4 )*(variables_few/2 )?" + SAME,
    "calling/0": r"calling/0 ((-\S+ )?calling_each/2 (calling_inner/1 )?" + SAME + ")?",
    "ring/1": "ring/1 (ring_pass/1 )?" + SAME,
    "reading/0": "reading/0 (reading_top/1 )?",
    "steps/0": "steps/0 "
    + "".join("(step%d/1 " % i for i in range(10))
    + "(steps_mix/2 )?"
    + ")?" * 10,
}
COMPILED = {k: re.compile(v) for k, v in CHAINS.items()}
ERLANG = re.compile(r"^[a-z_][\w@]*:\S+/\d+$")
OWN = ("run/1 ", "run/2 ", "-run/2-")


def judge(lines):
    judged = wrong = unnamed = whole = total = 0
    for line in lines:
        stack, count = line.rstrip("\n").rsplit(" ", 1)
        frames, count = stack.split(";"), int(count)
        erlang = [i for i, f in enumerate(frames) if ERLANG.match(f) or "[unnamed" in f]
        if not erlang:
            continue
        total += count
        unnamed += count * any("[unnamed" in f for f in frames)
        whole += count * (erlang[0] > 2 and "[truncated" not in stack)
        own = [f[len(M) :] for f in frames if f.startswith(M)]
        if not own or "[truncated" in stack:
            continue
        chain = "".join(f + " " for f in own)
        if chain.startswith(OWN):
            continue
        judged += count
        known = COMPILED.get(own[0])
        if not known or not known.fullmatch(chain):
            wrong += count
            print(count, chain[:300], "|", " ".join(frames[-3:])[:300])
    print(judged, wrong, unnamed, whole, total)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8", errors="replace") as folded:
        judge(folded)
