"""What gdb knows of the addresses in $ADDRESSES; for gdb -batch -x ask_gdb.py FILE.

As vote.py reads it: 0xADDRESS, then for each level FUNCTION and FILE:LINE, where "-" stands for what
gdb's Python does not tell, the line of a call that was inlined.
"""
import os
import re

import gdb


def name(function):
    """As others have it, or ?? for what gdb made of it where it has no linkage name: scope::f(int)."""
    name = function.linkage_name or function.name
    return "??" if re.search(r"[(<:]", name) else name


def begins_symbol(block):
    symbol = gdb.execute(f"info symbol {block.start:#x}", to_string=True).split(" in section ")[0]
    return symbol.split(".")[0] == block.function.name


def functions(pc):
    """Up to the function that has a symbol: a function within another one is not inlined there."""
    names, block = [], gdb.block_for_pc(pc)
    while block and not block.is_static and not block.is_global:
        if block.function:
            names.append(name(block.function))
            if begins_symbol(block):
                break
        block = block.superblock
    return names or ["??"]


def main():
    with open(os.environ["ADDRESSES"]) as addresses:
        for text in addresses:
            pc = int(text, 16)
            place = gdb.find_pc_line(pc)
            file = place.symtab.fullname() if place.symtab else "??"
            print(f"{pc:#x}")
            for level, function in enumerate(functions(pc)):
                print(f"{function}\n{f'{file}:{place.line}' if level == 0 else '-:0'}")
            print()


main()
