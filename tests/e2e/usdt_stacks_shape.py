# The shape of usdt_stacks_shape.php. Python 3.11 tells of functions only while they are profiled.
import functools
import sys
import threading
import time


def spin(rounds):
    total = 0
    for i in range(rounds * 1000):
        total += i * i % 7
    return total


class Work:
    def heavy(self):
        return spin(30)

    @staticmethod
    def light():
        return spin(10)


def recurse(n):
    return recurse(n - 1) if n else spin(5)


def thrower(n):
    if n:
        return thrower(n - 1)
    raise ValueError("out of here")


def catcher():
    try:
        thrower(5)
    except ValueError:
        pass
    return quiet()


def quiet():
    return spin(10)


def generate():
    for i in range(3):
        spin(3)
        yield i


def consume():
    for _ in generate():
        spin(1)
    unfinished = generate()
    next(unfinished)
    del unfinished
    return quiet()


def by_reduce(total, _):
    return total + spin(5)


def run(seconds):
    while time.process_time() < seconds:
        Work().heavy()
        Work.light()
        recurse(40)
        catcher()
        consume()
        functools.reduce(by_reduce, [1, 2], 0)


def in_thread():
    spin(1000)


def ignore(*_):
    pass


if len(sys.argv) < 3:
    threading.setprofile(ignore)
    sys.setprofile(ignore)
run(float(sys.argv[1]))
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
