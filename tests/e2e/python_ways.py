# Ways of Python to run code for python.sh: tasks of asyncio, interpreters within one.
#   python_ways.py tasks|interpreter SECONDS
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


{"tasks": run_tasks, "interpreter": run_interpreter}[sys.argv[1]](float(sys.argv[2]))
