"""Runs in gdb: stops a program at random moments and writes what gdb says its stack is.

At a stop the thread is made to run a system call of a millisecond (getrandom()), while the kernel
holds the registers of the stop as those of user space; so what ebprof samples meanwhile is the stack
that gdb has shown. See tests/e2e/judge_stacks.py for what is written.

  JUDGE_EBPROF, JUDGE_KNOWN, JUDGE_RECORDING, JUDGE_SECONDS   environment
"""
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time

import gdb

SYS_MMAP, SYS_GETRANDOM = 9, 318
SYSCALL_BYTES = 2
BURN_BYTES = 250000  # most of a millisecond
REGISTERS = ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11",
             "r12", "r13", "r14", "r15", "rip", "eflags")
ARGUMENTS = ("rdi", "rsi", "rdx", "r10", "r8", "r9")
MAX_FRAMES = 1100  # more than ebprof keeps
RESTARTS = range(-516, -511)  # what the kernel is about to begin again
WORD = (1 << 64) - 1
NO_FRAMES = (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME)  # which debug information tells of

# Interrupts a thread that runs, once for each line: the delay in seconds.
INTERRUPTER = """
import ctypes, os, random, sys, time
pid, libc = int(sys.argv[1]), ctypes.CDLL(None)
for line in sys.stdin:
    time.sleep(float(line))
    running = []
    for tid in os.listdir("/proc/%d/task" % pid):
        try:
            if open("/proc/%d/task/%s/stat" % (pid, tid)).read().rsplit(")", 1)[1].split()[0] == "R":
                running.append(int(tid))
        except OSError:
            pass
    libc.syscall(234, pid, random.choice(running or [pid]), 19)
"""


def run(command):
    return gdb.execute(command, to_string=True)


def is_alive():
    return gdb.selected_inferior().pid != 0


def registers():
    frame = gdb.newest_frame()
    return {name: int(frame.read_register(name)) & WORD for name in REGISTERS}


def set_registers(values, system_call):
    for name, value in values.items():
        run("set $%s = %d" % (name, value))
    run("set $orig_rax = %d" % system_call)


class Injector:
    """System calls amid what a thread does."""

    def __init__(self):
        run("catch syscall")
        self.catch = int(gdb.parse_and_eval("$bpnum"))
        run("disable %d" % self.catch)
        self.at = self.scratch = 0
        self.program = ""

    def look_around(self):
        """What is of this program: it may have executed another one."""
        program = os.readlink("/proc/%d/exe" % gdb.selected_inferior().pid)
        if program != self.program:
            self.program, self.scratch, self.at = program, 0, self.find_syscall()

    @staticmethod
    def find_syscall():
        inferior = gdb.selected_inferior()
        for line in open("/proc/%d/maps" % inferior.pid):
            if "[vdso]" in line:
                low, high = (int(it, 16) for it in line.split()[0].split("-"))
                image = bytes(inferior.read_memory(low, high - low))
                return low + image.index(b"\x0f\x05")
        raise gdb.GdbError("no system call in the vDSO")

    def run_to_syscall(self, number, ip):
        """Until this thread begins or ends the system call; other events may come first."""
        thread = gdb.selected_thread()
        for _ in range(8):
            run("continue")
            if not is_alive():
                raise gdb.GdbError("it ended in a system call of ours")
            if not thread.is_valid():
                break
            thread.switch()
            frame = gdb.newest_frame()
            if int(frame.read_register("rip")) & WORD == ip and int(
                    frame.read_register("orig_rax")) == number:
                return
        raise gdb.GdbError("a system call does not come to its end")

    def call(self, was, number, arguments, is_shown):
        """(result, begin, end in ns). While it runs the kernel has `was` as what user space had."""
        call = dict(was, rip=self.at, rax=number)
        call.update(zip(ARGUMENTS, arguments))
        behind = self.at + SYSCALL_BYTES
        run("set scheduler-locking on")
        run("enable %d" % self.catch)
        try:
            set_registers(call, -1)
            self.run_to_syscall(number, behind)
            if is_shown:
                # The kernel has read the arguments of a system call only once it goes on.
                shown = dict(was)
                shown.update(zip(ARGUMENTS[:3], arguments[:3]))
                set_registers(shown, number)
                behind = was["rip"]
            begin = time.monotonic_ns()
            self.run_to_syscall(number, behind)
            end = time.monotonic_ns()
            result = int(gdb.newest_frame().read_register("rax")) & WORD
            set_registers(was, -1)
        finally:
            run("disable %d" % self.catch)
            run("set scheduler-locking off")
        return result, begin, end

    def burn(self, was):
        self.look_around()
        if not self.scratch:
            self.scratch = self.call(
                was, SYS_MMAP, (0, BURN_BYTES, 3, 0x22, WORD, 0), False)[0]
        return self.call(was, SYS_GETRANDOM, (self.scratch, BURN_BYTES, 0), True)[1:]


def is_behind_call(address):
    if address < 7:
        return False
    try:
        code = bytes(gdb.selected_inferior().read_memory(address - 7, 7))
    except gdb.MemoryError:
        return False
    return code[2] == 0xe8 or any(
        code[7 - n] == 0xff and code[8 - n] >> 3 & 7 == 2 for n in (2, 3, 4, 6, 7))


# Go's mcall() begins anew on a stack of its thread, above what is left there of earlier calls.
ROOTS = re.compile(r"(_start|__?clone3?|__clone_internal.*|__start_context|"
                   r"runtime\.(goexit|mcall|mstart|rt0_go)\b.*)$")
ENTRY_BYTES = 64


def is_root(frame):
    """Whether it is the outermost of a program, or of a thread, that gdb knows by its name."""
    name = frame.name()
    return ROOTS.match(name) if name else any(
        entry and entry <= frame.pc() < entry + ENTRY_BYTES for entry in entries())


def entries():
    """Where the program and its dynamic linker begin."""
    with open("/proc/%d/auxv" % gdb.selected_inferior().pid, "rb") as file:
        pairs = dict(struct.iter_unpack("<QQ", file.read()))
    base, entry = pairs.get(7, 0), pairs.get(9, 0)  # AT_BASE, AT_ENTRY
    if base:
        base += struct.unpack("<Q", bytes(
            gdb.selected_inferior().read_memory(base + 24, 8)))[0]  # e_entry
    return entry, base


def chain():
    """gdb's frames, leaf first, as addresses with their marks."""
    out, frame, is_exact = [], gdb.newest_frame(), True
    sure = False
    while frame and not sure and len(out) < MAX_FRAMES:
        if frame.type() not in NO_FRAMES:
            pc = frame.pc()
            sure = is_root(frame)
            mark = "" if sure or is_behind_call(pc) else "~"
            if is_exact or frame.type() == gdb.SIGTRAMP_FRAME:
                mark = "!"
            if pc:
                out.append("%x%s" % (pc, mark))
            is_exact = frame.type() == gdb.SIGTRAMP_FRAME
        try:
            frame = frame.older()
        except gdb.error:
            break
    if not sure:
        out.append("?")
    return out


class Recorder:
    def __init__(self, pid):
        self.log = open("recorder.err", "w+")
        self.process = subprocess.Popen(
            [os.environ["JUDGE_EBPROF"], "record", "-F", "2997", "--no-vm", "all", "--unwind-cache", "none",
             "-p", str(pid), "-o", os.environ["JUDGE_RECORDING"]],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)
        until = time.monotonic() + 20
        while "Ctrl-C to stop" not in open("recorder.err").read():
            if time.monotonic() > until or self.process.poll() is not None:
                raise gdb.GdbError("the recorder did not begin: " + open("recorder.err").read())
            time.sleep(0.02)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=60)


def is_breakpoint(address):
    """Whether gdb has one of its own there: it would step over it, in the midst of our call."""
    return "0x%016x" % address in run("maint info breakpoints")


def stop_once(injector, interrupter, known):
    interrupter.stdin.write("%f\n" % random.uniform(0.001, 0.012))
    interrupter.stdin.flush()
    run("continue")
    if not is_alive():
        return
    was = registers()
    result = was["rax"] - (1 << 64 if was["rax"] >> 63 else 0)
    in_call = int(gdb.newest_frame().read_register("orig_rax")) >= 0 and result in RESTARTS
    if in_call or is_breakpoint(was["rip"]):
        return
    tid = gdb.selected_thread().ptid[1]
    addresses = chain()
    begin, end = injector.burn(was)
    known.write("%d %d %d %s\n" % (begin, end, tid, " ".join(addresses)))


def main():
    random.seed(7)
    for command in (
            "set pagination off", "set confirm off", "set height 0", "set width 0",
            "set backtrace past-main on", "set backtrace past-entry on",
            "set backtrace limit %d" % MAX_FRAMES, "set debuginfod enabled off",
            "set auto-load no", "set print thread-events off", "handle all nostop noprint pass",
            "handle SIGSTOP stop print nopass"):
        try:
            run(command)
        except gdb.error as error:
            print(command, error, file=sys.stderr)
    arguments = run("show args").split('"', 1)[1].rsplit('"', 1)[0]
    run("starti %s </dev/null >/dev/null 2>&1" % arguments)
    pid = gdb.selected_inferior().pid
    recorder = Recorder(pid)
    interrupter = subprocess.Popen(["python3", "-c", INTERRUPTER, str(pid)],
                                   stdin=subprocess.PIPE, text=True)
    until = time.monotonic() + float(os.environ["JUDGE_SECONDS"])
    try:
        with open(os.environ["JUDGE_KNOWN"], "w", encoding="ascii") as known:
            injector = Injector()
            while time.monotonic() < until and is_alive():
                stop_once(injector, interrupter, known)
    finally:
        interrupter.kill()
        recorder.end()
        if is_alive():
            run("kill")


main()
