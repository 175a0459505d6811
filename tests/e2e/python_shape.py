# A program of known shape for python.sh, for any Python 3: heavy(), medium() and light() take
# about 60, 30 and 10 % of the time (the program prints what it was), and every other way to be called has a function of its own.
import re
import sys
import threading
import time


def spin(n):
    x = 0
    for i in range(n):
        x += i * i  # hot
    return x


def heavy():
    return spin(6000)


def medium():
    return spin(3000)


def light():
    return spin(1000)


def recurse(depth):
    if depth:
        return recurse(depth - 1)
    return spin(400)


def produce():
    for _ in range(3):
        yield spin(100)


def generate():
    return sum(produce())


def key(x):
    return spin(30) + x


def by_sort():
    return sorted(range(30), key=lambda x: key(x))


def by_sub():
    return re.sub("a", lambda match: str(key(1)), "a" * 30)


class Größe:
    def method(self):
        return spin(300)


spent = [0, 0, 0]


def clock():
    return time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)


def run(end):
    while time.process_time() < end:
        for _ in range(5):
            start = clock()
            heavy()
            then = clock()
            medium()
            later = clock()
            light()
            spent[0] += then - start
            spent[1] += later - then
            spent[2] += clock() - later
        recurse(40)
        generate()
        by_sort()
        by_sub()
        Größe().method()


def run_in_thread(end):
    run(end)


if __name__ == "__main__":
    thread = threading.Thread(target=run_in_thread, args=(float(sys.argv[1]),))
    thread.start()
    run(float(sys.argv[1]))
    thread.join()
    print(*[100 * part / sum(spent) for part in spent])
