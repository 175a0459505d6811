"""1,000 functions that call each other, each with a line table of 700 KB: for so many seconds."""
import signal
import sys

sys.setrecursionlimit(5000)
signal.alarm(int(sys.argv[1]))
DEPTH, BYTES = 1000, 700000


def spin():
    for _ in range(100000):
        pass


def caller(inner):
    def call():
        inner()

    return call


def with_huge_table(function):
    code = function.__code__
    if hasattr(code, "co_linetable") and sys.version_info >= (3, 11):
        # Entries of one code unit each without a line, in front of what is true.
        table = {"co_linetable": b"\xf8" * BYTES + code.co_linetable}
    else:
        name = "co_linetable" if hasattr(code, "co_linetable") else "co_lnotab"
        table = {name: b"\x00\x01" * (BYTES // 2)}
    function.__code__ = code.replace(**table)
    return function


function = spin
for _ in range(DEPTH - 1):
    function = with_huge_table(caller(function))
print("ready", flush=True)
while True:
    function()
