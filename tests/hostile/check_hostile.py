#!/usr/bin/python3
"""Attacks by an unprivileged user on a recorder that root runs for the whole system.

    check_hostile.py [--short] [--only PATTERN] [--list] [--once] [--seconds N]
    EBPROF=FILE       the program
    WORKLOADS=DIR     what is compiled of tests/e2e/*.c;  HOSTILE=DIR  of tests/hostile/*.c

Each attack runs beside a victim, a program of known shape, while `ebprof record -v -a` records. What
is measured then stands in a line of a table, and what must not happen in LIMITS. A row that misses one
of them runs a second time, alone: these machines are noisy. --short: those attacks that make check has
time for, for a shorter time. Attacks run in a mount namespace of their own with an empty /tmp.
Attack, victim and recorder are sessions of their own, among which the scheduler shares the CPUs (see
autogroup in sched(7)), as those of several people are.
"""
import argparse
import dataclasses
import fnmatch
import json
import multiprocessing
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
BUILD = os.path.join(HERE, "../../build")
EBPROF = os.path.realpath(os.environ.get("EBPROF", BUILD + "/ebprof"))
WORKLOADS = os.path.realpath(os.environ.get("WORKLOADS", BUILD + "/tests/e2e"))
HOSTILE = os.path.realpath(os.environ.get("HOSTILE", BUILD + "/tests/hostile"))
NOBODY = "65534"
HZ = 499
PATIENCE_S = 60  # what takes longer has stopped
LIFE_S = 300  # of an attack that is not ended

LIMITS = {  # figure: the most that it may be, how it is shown, its name in the table
    "turn_ms": (200, "{:.0f}", "turn ms"),  # of the main loop: computing or blocked
    "turn_cpu_ms": (200, "{:.0f}", "of CPU"),
    "exit_s": (2, "{:.2f}", "Ctrl-C s"),  # without waiting for a CPU
    "peak_mb": (256, "{:.0f}", "MB"),  # of the recorder and its children
    "lost_percent": (0.1, "{:.2f}", "lost %"),  # of all samples
    "wrong_percent": (0.1, "{:.2f}", "wrong %"),  # of the victim's: their stacks are not its own
    "missing_percent": (15, "{:.1f}", "miss %"),  # of the victim's, by its CPU time; ticks are random
    "kill_s": (1, "{:.2f}", "kill s"),  # that kill -9 costs
    "read_s": (10, "{:.1f}", "read s"),  # the slowest of the commands that read the file
    "read_mb": (1024, "{:.0f}", "read MB"),
}
READERS = [["info"], ["report", "--stdio"], ["report", "-g"], ["convert", "--folded", "-o", "-"]]


@dataclasses.dataclass
class Attack:
    name: str
    command: str  # for sh, in an empty folder; prints "ready" when it has begun; T: seconds
    tells: str = ""  # a counter that is not 0 then
    is_short: bool = False
    needs_root: bool = False  # to begin; it gives that up


def beside(*commands):
    return " & ".join(commands) + " & echo ready; wait"


def interpreted(script):
    """An interpreter whose memory becomes garbage, over and over."""
    loop = f"while :; do LD_PRELOAD=$A/garbage_memory.so {script}; done >/dev/null 2>&1"
    return beside(loop, loop)


def runtimes(*kinds):
    """Processes that look like Node.js, Mono, .NET, a virtual machine of Java or Erlang's."""
    return beside(*[f"false_{kind.split()[0]} T {kind.split()[1]}" for kind in kinds])


STORM = "while :; do false_node 0 names; false_jvm 0 names; false_beam 0 names; done >/dev/null 2>&1"
DEEP_PYTHON = "import os\\ndef f(n):\\n  return f(n - 1) if n else os.getppid()\\nf(300)"
ATTACKS = [
    Attack("mmap storm", beside("mmap_storm T", "mmap_storm T /bin/true"), is_short=True),
    Attack("fork storm", beside("fork_storm T 300", "fork_storm T 300"), is_short=True),
    Attack("6,000 processes", "fork_storm T 6000 & wait", is_short=True),
    Attack("thread storm", beside("thread_storm T 10000")),
    Attack("exec storm", "cp $A/exec_storm one; cp $A/exec_storm two; "
           + beside("./one T ./two", "./two T ./one")),
    Attack("huge command lines", "cp $A/exec_storm one; cp $A/exec_storm two; "
           + beside("./one T ./two 1900000", "./two T ./one 1900000")),
    Attack("memory that never comes", beside(*["/usr/bin/python3 $A/hung_memory.py nobody >/dev/null"] * 6)
           + "; sleep 1", tells="code_given_up", is_short=True, needs_root=True),
    Attack("1,000,000 sections of notes", "hostile_elf.py notes notes; " + beside("mapped_code T file notes"),
           is_short=True),
    Attack("8 huge .eh_frame", "for i in 1 2 3 4 5 6 7 8; do hostile_elf.py frames f$i; done; "
           + beside("mapped_code T file f1 f2 f3 f4 f5 f6 f7 f8")),
    Attack("ELF in circles", "hostile_elf.py circles c; " + beside("mapped_code T file c")),
    Attack("perf maps", beside(*[f"jit_files T {kind}" for kind in ("fifo", "link", "sparse", "lines")]),
           is_short=True),
    Attack("a perf map without an end", beside("jit_files T growing")),
    Attack("jitdumps", beside(*[f"jit_files T {kind}" for kind in ("dump", "dump_sparse")])),
    Attack("a jitdump of six", beside("jit_files T dump_shared")),
    Attack("names", beside("hostile_names T"), is_short=True),
    Attack("60,000 mappings", "mapped_code T many 60000 1 & sleep 2; echo ready; wait"),
    Attack("600,000 mappings", "mapped_code T many 60000 10 & sleep 3; echo ready; wait"),
    Attack("memfds", beside("mapped_code T memfd", "mapped_code T memfd"), is_short=True),
    Attack("deleted files", beside("mapped_code T deleted", "mapped_code T deleted")),
    Attack("huge line tables", "/usr/bin/python3 $A/huge_line_table.py T & wait", is_short=True),
    Attack("signal storm", beside("signal_storm T")),
    Attack("garbage in Python", f"printf '{DEEP_PYTHON}' >x.py; " + interpreted("/usr/bin/python3 x.py"),
           is_short=True),
    Attack("garbage in Ruby", interpreted("ruby -e 'def f(n) n == 0 ? Process.ppid : f(n - 1) end; f(300)'")),
    Attack("garbage in PHP", interpreted(
        "php -r 'function f($n) { return $n ? f($n - 1) : posix_getppid(); } f(300);'")),
    Attack("garbage in Perl", interpreted("perl -e 'sub f { my $n = shift; $n ? f($n - 1) : getppid() } f(90)'")),
    Attack("garbage in Lua", interpreted(
        "lua5.4 -e 'local function f(n) if n == 0 then return 0 + os.clock() end return 0 + f(n - 1) end f(150)'")),
    Attack("garbage in LuaJIT", interpreted(
        "luajit -e 'local function f(n) if n == 0 then return 0 + os.clock() end return 0 + f(n - 1) end f(150)'")),
    Attack("false V8: circles, names", runtimes("node circle", "node names"), is_short=True),
    Attack("false V8: code everywhere", runtimes("node search", "node search")),
    Attack("false V8: inlined functions", runtimes("node inlined", "node inlined")),
    Attack("false V8: mappings", runtimes("node maps", "node maps")),
    Attack("false HotSpot: tables", runtimes("jvm endless", "jvm unmapped"), is_short=True),
    Attack("false HotSpot: circles, hops", runtimes("jvm circle", "jvm search")),
    Attack("false HotSpot: names", runtimes("jvm names", "jvm names")),
    Attack("false BEAM: tables, slots", runtimes("beam endless", "beam unmapped", "beam slots"), is_short=True),
    Attack("false BEAM: names, labels", runtimes("beam names", "beam labels")),
    Attack("false Mono: methods", runtimes("mono methods", "mono methods")),
    Attack("false Mono: search, circles", runtimes("mono search", "mono circle", "mono endless"), is_short=True),
    Attack("false CoreCLR: circles, hops", runtimes("clr circle", "clr search")),
    Attack("false CoreCLR: names, types", runtimes("clr names", "clr types"), is_short=True),
    Attack("false runtimes, a storm", beside(STORM, STORM)),
]


def everything():
    unprivileged = [attack for attack in ATTACKS if not attack.needs_root]
    commands = [f"(mkdir '{attack.name}'; cd '{attack.name}'; {attack.command})" for attack in unprivileged]
    return Attack("all at once", " & ".join(commands) + " & sleep 8; echo ready; wait")


# ---- /proc ----


def read_text(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def starved_s(pid):
    """How long the main thread of a process was ready to run and did not get a CPU."""
    words = read_text(f"/proc/{pid}/schedstat").split()
    return int(words[1]) / 1e9 if len(words) > 1 else 0


def cpu_s(pid):
    words = read_text(f"/proc/{pid}/schedstat").split()
    return int(words[0]) / 1e9 if words else 0


def kb_of(pid, key):
    found = re.search(rf"^{key}:\s+(\d+) kB", read_text(f"/proc/{pid}/status"), re.M)
    return int(found.group(1)) if found else 0


def children_of(pid):
    found = []
    for child in read_text(f"/proc/{pid}/task/{pid}/children").split():
        found += [child] + children_of(child)
    return found


def private_kb(pid):
    """What a child does not share with the recorder that forked it, whose pages are in its RssAnon as well."""
    found = re.findall(r"^Private_\w+:\s+(\d+) kB", read_text(f"/proc/{pid}/smaps_rollup"), re.M)
    return sum(map(int, found))


def memory_mb(pid):
    """Its own peak, and what its children do not share with it."""
    return (kb_of(pid, "VmHWM") + sum(private_kb(child) for child in children_of(pid))) / 1024


# ---- processes ----


class Ended(Exception):
    """Why an attack's run is a miss, whatever was measured."""


class Attackers:
    """An attack that runs; a context."""

    def __init__(self, attack):
        self.attack = attack

    def __enter__(self):
        user = "" if self.attack.needs_root else f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups "
        script = self.attack.command.replace(" T", f" {LIFE_S}")
        begin = (f"mount -t tmpfs -o mode=1777,size=6g none /tmp; mkdir -m 777 /tmp/own; cd /tmp/own; "
                 f"exec {user} sh -c \"$0\"")
        environment = dict(os.environ, A="/mnt", PATH=f"/mnt:{os.environ['PATH']}", HOME="/tmp/own")
        # What is attacked with is seen at /mnt: the build folder may be closed to others.
        self.process = subprocess.Popen(
            ["unshare", "-m", "sh", "-c", f"mount --bind '{self.tools()}' /mnt; {begin}", script],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
            start_new_session=True, env=environment)
        try:
            self.wait_ready()
        except Ended:
            self.__exit__()
            raise
        return self

    @staticmethod
    def tools():
        return os.path.join(os.environ["HOSTILE_WORK"], "tools")

    def wait_ready(self):
        text, until = b"", time.monotonic() + PATIENCE_S
        while b"ready" not in text:
            left = until - time.monotonic()
            if left < 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Ended("the attack did not begin")
            more = os.read(self.process.stdout.fileno(), 4096)
            if not more:
                raise Ended("the attack ended at once")
            text += more

    def __exit__(self, *_):
        # A fork storm has new ones until none is left.
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                break
            self.process.poll()
            time.sleep(0.01)
        self.process.wait()
        self.process.stdout.close()


class Recorder:
    def __init__(self, path):
        self.path = path
        self.err = path + ".err"
        environment = dict(os.environ, XDG_CACHE_HOME=os.path.dirname(path) + "/cache")
        with open(self.err, "w") as err:
            self.process = subprocess.Popen(
                [EBPROF, "record", "-v", "-a", "-F", str(HZ), "-o", path], stderr=err,
                stdin=subprocess.DEVNULL, env=environment, start_new_session=True)
        self.pid = self.process.pid
        self.peak_mb = 0
        self.usage = None
        self.wait_ready()

    def wait_ready(self):
        until = time.monotonic() + PATIENCE_S
        while "Ctrl-C to stop" not in read_text(self.err):
            self.look()
            if self.process.poll() is not None or time.monotonic() > until:
                self.kill()
                raise Ended("the recorder did not begin: " + read_text(self.err)[-200:].strip())
            time.sleep(0.02)

    def look(self):
        self.peak_mb = max(self.peak_mb, memory_mb(self.pid))

    def watch(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.look()
            time.sleep(0.1)

    def interrupt(self):
        """Seconds until it has ended, without those that it waited for a CPU."""
        before = starved = starved_s(self.pid)
        began = time.monotonic()
        os.kill(self.pid, signal.SIGINT)
        while True:
            ended, status, self.usage = os.wait4(self.pid, os.WNOHANG)
            took = time.monotonic() - began
            if ended:
                break
            if took > PATIENCE_S:
                self.kill()
                raise Ended(f"Ctrl-C does not end it in {PATIENCE_S} s")
            starved = max(starved, starved_s(self.pid))
            self.look()
            time.sleep(0.005)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.peak_mb = max(self.peak_mb, self.usage.ru_maxrss / 1024)
        if self.process.returncode != 0:
            raise Ended(f"status {self.process.returncode}: " + read_text(self.err)[-200:].strip())
        return max(0, took - (starved - before))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def longest_turn_ms(self):
        """Of the main loop: all, of it on a CPU."""
        found = re.search(r"look at signals: ([0-9.]+) ms \(([0-9.]+) ms CPU", read_text(self.err))
        if not found:
            raise Ended("no summary")
        return float(found.group(1)), float(found.group(2))


def run_reader(arguments):
    """Output, errors, seconds, megabytes of one command that reads a recording."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([EBPROF, *arguments], stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        timer = threading.Timer(PATIENCE_S, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        out.seek(0)
        err.seek(0)
        text, errors = out.read(), err.read()
    if process.returncode:
        raise Ended(f"{' '.join(arguments)}: status {process.returncode}: {errors[-200:]!r}")
    return text, errors, seconds, usage.ru_maxrss / 1024


# ---- one attack ----


def check_readers(path, figures):
    figures["read_s"] = figures["read_mb"] = 0
    for command in READERS:
        text, errors, seconds, megabytes = run_reader([*command, "-i", path])
        text += errors
        figures["read_s"] = max(figures["read_s"], seconds)
        figures["read_mb"] = max(figures["read_mb"], megabytes)
        found = re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", text)
        if found:
            raise Ended(f"{' '.join(command)} prints {text[found.start() - 20:found.end() + 20]!r}")


def check_victim(path, victim, victim_cpu_s, info, figures):
    """Its stacks all go through work(), and there are as many as its CPU time makes."""
    text = run_reader(["convert", "--folded", "-o", "-", "--pid", str(victim), "-i", path])[0].decode()
    good = wrong = 0
    for stack, count in re.findall(r"^(.*) (\d+)$", text, re.M):
        if ";main;work" in stack:
            good += int(count)
        else:
            wrong += int(count)
    ticks = info["counters"]["ticks"]
    due = HZ * victim_cpu_s * ticks / (ticks + info["counters"]["skipped"])
    figures["wrong_percent"] = 100 * wrong / max(1, good + wrong)
    figures["missing_percent"] = 100 * max(0, 1 - (good + wrong) / max(1, due))
    figures["victim_samples"] = good + wrong


def check_info(attack, path, figures):
    info = json.loads(run_reader(["info", "--json", "-i", path])[0])
    counters = info["counters"]
    figures["lost_percent"] = 100 * info["lost"] / max(1, info["ticks"])
    figures["file_mb"] = os.stat(path).st_size / (1 << 20)
    if info["ticks"] != info["samples"] + info["idle"] + info["filtered"] + info["lost"]:
        raise Ended("the ticks do not add up")
    is_cut = info["damage"] and not counters["sideband_lost"]  # which is told there, too
    if is_cut or not info["ended"]:
        raise Ended(f"damaged: {info['damage']}")
    if attack.tells and not counters[attack.tells]:
        raise Ended(f"info does not tell what was given up: {attack.tells} is 0")
    names = ("sideband_lost", "targets_full", "files_full", "code_given_up", "mappings_full")
    figures["told"] = " ".join(f"{name}={counters[name]}" for name in names if counters[name])
    return info


def measure_kill(path, seconds):
    """Seconds of its life that are missing after kill -9, without those that it waited for a CPU."""
    recorder = Recorder(path)
    began, starved = time.monotonic(), starved_s(recorder.pid)
    recorder.watch(seconds)
    starved = starved_s(recorder.pid) - starved
    recorder.kill()
    lived = time.monotonic() - began
    info = json.loads(run_reader(["info", "--json", "-i", path])[0])
    return max(0, lived - info["duration_s"] - starved)


def left_behind(path):
    """Processes of a recorder that has ended."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if path in read_text(f"/proc/{pid}/cmdline").split("\0"):
            found.append(pid)
    return found


def run_attack(attack, folder, seconds, kill_seconds):
    """Figures by their names in LIMITS; an Ended says what else was wrong."""
    figures = {}
    path = folder + "/x.data"
    victim = subprocess.Popen([WORKLOADS + "/workload", "100000"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        with Attackers(attack):
            recorder = Recorder(path)
            victim_cpu_s = cpu_s(victim.pid)
            recorder.watch(seconds)
            victim_cpu_s = cpu_s(victim.pid) - victim_cpu_s
            figures["exit_s"] = recorder.interrupt()
            figures["turn_ms"], figures["turn_cpu_ms"] = recorder.longest_turn_ms()
            figures["peak_mb"] = recorder.peak_mb
            if kill_seconds:
                figures["kill_s"] = measure_kill(folder + "/killed.data", kill_seconds)
    finally:
        victim.kill()
        victim.wait()
    if left_behind(path):
        time.sleep(1)
        left = left_behind(path)
        if left:
            raise Ended(f"left behind: {' '.join(left)}")
    info = check_info(attack, path, figures)
    check_readers(path, figures)
    check_victim(path, victim.pid, victim_cpu_s, info, figures)
    return figures


def misses_of(figures):
    return [f"{name} {form.format(figures[key])} > {most}" for key, (most, form, name) in LIMITS.items()
            if key in figures and figures[key] > most]


def cells_of(figures):
    cells = [form.format(figures[key]) if key in figures else "-" for key, (_, form, _) in LIMITS.items()]
    return " ".join(f"{cell:>8}" for cell in cells)


def try_attack(attack, seconds, kill_seconds):
    """The line of the table, and whether it passed."""
    folder = tempfile.mkdtemp(dir=os.environ["HOSTILE_WORK"])
    try:
        figures = run_attack(attack, folder, seconds, kill_seconds)
        misses = misses_of(figures)
    except Ended as why:
        figures, misses = {}, [str(why)]
    finally:
        if not os.environ.get("KEEP"):
            shutil.rmtree(folder)
    text = f"{'FAIL' if misses else 'PASS'} {attack.name:<28}{cells_of(figures)}  {figures.get('told', '')}"
    return text + (f"  [{'; '.join(misses)}]" if misses else ""), not misses


def try_apart(*arguments):
    """The same in a process of its own: what is started counts the memory of who started it as its own,
    and readers may print much."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(try_attack, arguments)


def copy_tools():
    """What attacks run, for everybody to read."""
    tools = os.environ["HOSTILE_WORK"] + "/tools"
    os.mkdir(tools)
    sources = [os.path.join(HOSTILE, name) for name in os.listdir(HOSTILE) if not name.endswith((".d", ".o"))]
    sources += [WORKLOADS + "/mmap_storm", HERE + "/hostile_elf.py", HERE + "/huge_line_table.py",
                HERE + "/../e2e/hung_memory.py"]
    for source in sources:
        shutil.copy(source, tools)
        os.chmod(os.path.join(tools, os.path.basename(source)), 0o755)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--only", default="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--once", action="store_true", help="no second run")
    parser.add_argument("--seconds", type=float, help="of each recording")
    options = parser.parse_args()
    attacks = [attack for attack in ATTACKS + [everything()]
               if fnmatch.fnmatch(attack.name, options.only) and (attack.is_short or not options.short)]
    if options.list:
        print("\n".join(attack.name for attack in attacks))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # attacks are ended, too
    seconds, kill_seconds = (2, 0) if options.short else (6, 2.2)
    seconds = options.seconds or seconds
    failed = 0
    with tempfile.TemporaryDirectory(prefix="ebprof-hostile.") as work:
        os.chmod(work, 0o711)
        os.environ["HOSTILE_WORK"] = work
        copy_tools()
        print(" " * 33 + " ".join(f"{name:>8}" for _, _, name in LIMITS.values()) + "  what info tells")
        for attack in attacks:
            line, is_good = try_apart(attack, seconds, kill_seconds)
            print(line, flush=True)
            if not is_good and not options.once:
                line, is_good = try_apart(attack, seconds, kill_seconds)
                print("again: " + line, flush=True)
            failed += not is_good
    print(f"{len(attacks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
