# Ways of Python to run code for python.sh: tasks of asyncio, interpreters within one, threads.
#   python_ways.py tasks|interpreter|threads SECONDS
import sys
import time

INSIDE = """
import time
def spin(n):
    x = 0
    for i in range(n):
        x += i * i
def inside(end):
    while time.process_time() < end:
        spin(1000)
inside(%f)
"""


def spin(n):
    x = 0
    for i in range(n):
        x += i * i


async def innermost():
    spin(1000)


async def inner():
    import asyncio

    await innermost()
    await asyncio.sleep(0)
    await innermost()


async def outer(end):
    while time.process_time() < end:
        await inner()


async def both(end):
    import asyncio

    await asyncio.gather(outer(end), outer(end))


def run_tasks(end):
    import asyncio

    loop = asyncio.new_event_loop()
    loop.run_until_complete(both(end))
    loop.close()


def interpreters():
    try:
        import _interpreters
    except ImportError:
        import _xxsubinterpreters as _interpreters
    return _interpreters


def run_interpreter(end):
    module = interpreters()
    module.run_string(module.create(), INSIDE % end)


def spin_until(end):
    while time.process_time() < end:
        spin(1000)


def run_threads(end):
    import threading

    class Subclass(threading.Thread):
        def __init__(self):
            super().__init__(name="subclass")
            self.__dict__["more"] = 1

        def run(self):
            spin_until(end)

    names = "loader", "a long name of a thread", "Größe"
    threads = [threading.Thread(target=spin_until, args=(end,), name=name) for name in names]
    threads += [threading.Thread(target=spin_until, args=(end,)), Subclass()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


WAYS = {"tasks": run_tasks, "interpreter": run_interpreter, "threads": run_threads}
WAYS[sys.argv[1]](float(sys.argv[2]))
