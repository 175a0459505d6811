#!/usr/bin/env python3
"""Types at `ebprof report` in a terminal of 200x50 and times what it draws.

  drive_tui.py EBPROF RECORDING

Prints lines "KEY VALUE", some with what was pressed in which view behind it: milliseconds from a
key's write to the last byte of the frame that answers it; bytes drawn until the program is silent
for QUIET_S; the memory in use at the end. What is drawn after that frame (a listing that was read
meanwhile, names) made no user wait and is no part of a key's time.
"""
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

COLUMNS, LINES = 200, 50
QUIET_S = 0.04
FRAME_S = 0.01  # the writes of one frame are less apart
REST_S = 1      # nothing more comes of a view that was entered
FRAME_BEGINS, FRAME_ENDS = b"\x1b[?2026h", b"\x1b[?2026l"  # around all but the smallest
PATIENCE_S = 20

# Through the views that there are, as a user would look around.
KEYS = [("down", b"j"), ("down", b"j"), ("page down", b"\x1b[6~"), ("page up", b"\x1b[5~"),
        ("bottom", b"G"), ("top", b"g"), ("unit", b"%"), ("unit", b"%"), ("unit", b"%"),
        ("sort", b">"), ("sort", b"<"), ("help", b"?"), ("leave help", b"\x1b"),
        ("name", b"w"), ("leave name", b"\x1b")]
VIEWS = ["Top", "Butterfly", "Tree", "Flame", "Time", "Processes", "Source", "Diff", "Symbols"]
VIEW_KEYS = [("down", b"j"), ("page down", b"\x1b[6~"), ("bottom", b"G"), ("top", b"g"),
             ("enter", b"\r")]


class Screen:
    def __init__(self, arguments):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8", XDG_STATE_HOME="/dev/null")
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
            os.execv(arguments[0], arguments)
        self.began = time.monotonic()
        self.bytes = b""
        self.last = self.began
        self.spent_ms = 0  # by the drawing thread for the last key

    def read(self, timeout):
        """False: nothing came."""
        if not select.select([self.fd], [], [], timeout)[0]:
            return False
        try:
            got = os.read(self.fd, 1 << 16)
        except OSError:
            got = b""
        self.bytes += got
        self.last = time.monotonic()
        return bool(got)

    def settle(self, quiet=QUIET_S):
        """What is drawn until it is quiet."""
        limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < limit and self.read(quiet):
            pass
        drawn, self.bytes = self.bytes, b""
        return drawn

    def until(self, *texts):
        """Milliseconds since the start until one of the texts was drawn; None: it never was."""
        limit = time.monotonic() + PATIENCE_S
        while time.monotonic() < limit:
            if any(text in self.bytes for text in texts):
                return (self.last - self.began) * 1000
            if not self.read(PATIENCE_S):
                break
        return None

    def frame(self):
        """Reads one to its end."""
        more = self.read(1)
        while more and not self.bytes.endswith(FRAME_ENDS):
            is_open = self.bytes.count(FRAME_BEGINS) > self.bytes.count(FRAME_ENDS)
            more = self.read(1 if is_open else FRAME_S)

    def press(self, key, rest=QUIET_S):
        """(milliseconds, bytes); 0 when nothing was drawn."""
        spent = self.processor_ms()[0]
        began = time.monotonic()
        self.last = began
        os.write(self.fd, key)
        self.frame()
        self.spent_ms = self.processor_ms()[0] - spent
        milliseconds = (self.last - began) * 1000
        return milliseconds, len(self.settle(rest))

    def processor_ms(self):
        """Of each thread, the drawing one first: what a busy machine makes no difference to."""
        threads = sorted(int(thread) for thread in os.listdir(f"/proc/{self.pid}/task"))
        spent = []
        for thread in threads:
            try:
                with open(f"/proc/{self.pid}/task/{thread}/schedstat", encoding="ascii") as stat:
                    spent.append(int(stat.read().split()[0]) / 1e6)
            except OSError:  # it has ended, or the kernel does not count
                spent.append(0)
        return spent

    def kilobytes(self, field):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith(field):
                    return int(line.split()[1])
        return 0


def say(key, value):
    print(key, round(value, 1) if value is not None else "-")


def time_keys(screen):
    times, sizes, spent = [], [], []
    steps = [("Top", *step) for step in KEYS]
    for number, view in enumerate(VIEWS):
        steps += [(view, *step) for step in [("enter the view", b"%d" % (number + 1))] + VIEW_KEYS]
    for view, name, key in steps:
        rest = REST_S if name == "enter the view" else QUIET_S
        milliseconds, size = screen.press(key, rest)
        if size:
            times.append((milliseconds, f"{view}: {name}"))
            sizes.append((size, f"{view}: {name}"))
            spent.append((screen.spent_ms, f"{view}: {name}"))
    times.sort()
    sizes.sort()
    say("keys", len(times))
    say("key_median_ms", times[len(times) // 2][0])
    say("key_max_ms", times[-1][0])
    say("redraw_median_bytes", sizes[len(sizes) // 2][0])
    say("redraw_max_bytes", sizes[-1][0])
    for rank in range(1, 4):
        print(f"key_slow_{rank}", f"{times[-rank][0]:.1f}", times[-rank][1])
    print("key_cpu_max_ms", f"{max(spent)[0]:.1f}", max(spent)[1])
    print("redraw_max_of", sizes[-1][0], sizes[-1][1])


def time_reading(screen):
    """A key while the source and the instructions of a function are looked for."""
    screen.press(b"1j", REST_S)
    os.write(screen.fd, b"7")
    screen.frame()
    milliseconds, _ = screen.press(b"?")
    say("key_while_reading_ms", milliseconds)
    screen.press(b"\x1b", REST_S)


def time_filter(screen):
    """From the end of a filter until its numbers are drawn; keys are pressed meanwhile."""
    screen.press(b"1")
    screen.settle(0.5)
    screen.press(b"\\")
    screen.press(b"v8::")
    began = time.monotonic()
    os.write(screen.fd, b"\r")
    slowest = 0
    for _ in range(5):
        screen.read(0.01)
        pressed = time.monotonic()
        os.write(screen.fd, b"j")
        if screen.read(1):
            slowest = max(slowest, (screen.last - pressed) * 1000)
    screen.settle(0.5)
    say("filter_ms", (screen.last - began) * 1000)
    say("key_while_filter_ms", slowest)


def main():
    screen = Screen([sys.argv[1], "report", "--symbol-cache", "none", sys.argv[2]])
    say("first_frame_ms", screen.until(b"reading", b"samples"))
    say("first_table_ms", screen.until(b"self"))
    say("first_table_cpu_ms", max(screen.processor_ms()))
    screen.settle(QUIET_S)
    milliseconds, _ = screen.press(b"j")
    say("key_while_naming_ms", milliseconds)
    screen.settle(1.5)
    say("all_names_ms", (screen.last - screen.began) * 1000)
    time_keys(screen)
    time_reading(screen)
    time_filter(screen)
    say("rss_mb", screen.kilobytes("VmRSS") / 1024)
    say("peak_mb", screen.kilobytes("VmHWM") / 1024)
    began = time.monotonic()
    os.write(screen.fd, b"\x03\x03qqqqqqqqqq")
    while screen.read(5):
        pass
    say("leave_ms", (time.monotonic() - began) * 1000)
    os.waitpid(screen.pid, 0)


main()
